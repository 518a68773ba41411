// Package schemalock detects changes of declarations that stored items do not survive.
//
// A [Lock] is what the entities of a program keep on disk: tables, keys with the formats of their parts, attributes with their
// types, indexes, and the settings of features that stored items depend on. It is written to a file next to the code, one line for
// each fact, and a test compares the declarations with it:
//
//	func TestSchemaLock(t *testing.T) {
//		db := entity.Must(entity.Open(nil, config)) // no client is needed
//		entity.Must(entity.New[Employee](db))
//		entity.Must(timeseries.New[Telemetry](db))
//		schemalock.Check(t, db, "dynastrata.lock")
//	}
//
// DYNASTRATA_UPDATE_LOCK=1 go test writes the file, and accepts a change. docs/evolution.md has the rules by which a change is
// breaking or compatible.
//
// A lock knows types, not their code: a type with its own MarshalDynamoDBAttributeValue appears as custom. What does not affect
// stored items is left out: names in Go, defaults, generated ids, physical tables, and which events a series refuses. The names
// of indexes, the role secret and the keys of the read models of package timeline are in the file for programs that show stored
// items without the declarations, such as the command dynastrata. A change of these is compatible: a read model has its own version,
// and is rebuilt.
//
// The package is stable: before version 1.0.0 its API changes with a minor version only, and the change log says how.
package schemalock
