// Package timeseries keeps, for each key, the newest state of a thing and every event that led to it. It is for devices
// with clocks of their own, retries that arrive twice, and events that arrive late.
//
// Declare a struct with [Events] and tag the fields that events carry with entity:"append". [Series.Append] is one transaction: a
// conditional update of the current item and a put of an immutable event. An event that is not newer than the current item is dropped, or
// recorded if the declaration says so. That is not an error; the [Result] has the reason. Fields without the role append are enrichment:
// appends do not write them, so what a background job wrote remains.
//
// [Series.History] reads ranges of events, [Series.At] the state at a time; [Series.AppendAll] appends in bulk.
//
// The package is stable: before version 1.0.0 its API changes with a minor version only, and the change log says how.
package timeseries
