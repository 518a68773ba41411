// Package schemalock notices when a change of a declaration breaks with the items that are there.
//
// A [Lock] is what the entities of a program keep on disk: tables, keys with the formats of their parts, attributes with their
// types, indexes, and the settings of features that stored items depend on. It is written to a file beside the code, one
// line for each fact, and a test compares the declarations with it:
//
//	func TestSchemaLock(t *testing.T) {
//		db := entity.Must(entity.Open(nil, config)) // no client is needed
//		entity.Must(entity.New[Employee](db))
//		entity.Must(timeseries.New[Telemetry](db))
//		schemalock.Check(t, db, "dynastrata.lock")
//	}
//
// The file is made, and a change accepted, with DYNASTRATA_UPDATE_LOCK=1 go test. The rules by which a change is breaking or
// compatible are in docs/tables.md.
//
// A lock knows types, not the code behind them: what a type with a MarshalDynamoDBAttributeValue of its own stores, it calls
// custom. What says nothing about stored items is not in it: names in Go, the names by which a program finds its indexes, the
// role secret, physical tables, and which events a series refuses. Nor are the read models of package timeline: they have a
// version of their own, and are built again.
package schemalock
