// Package timeseries keeps, for each key, the newest state of a thing and every event that led to it: devices that
// report on clocks of their own, retries that arrive twice, events that arrive late.
//
// Declare a struct with [Events] and tag the fields that events carry with entity:"append". [Series.Append] then
// compiles to one transaction: a compare-and-set update of the current item and a put of an immutable event. An event
// that is not newer than the current item is dropped (or recorded, if the declaration says so) and the [Result] says
// so; it is never an error. Fields without the role append are enrichment: appends do not name them, so what a
// background job wrote survives.
//
// [Series.History] reads ranges of events, [Series.At] the state at an instant, [Series.AppendAll] appends in bulk.
package timeseries
