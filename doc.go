// Package dynastrata is the root of a module that maps Go structs onto DynamoDB items. It exports nothing: begin with package entity.
//
//   - entity declares structs by tags, writes and reads their items, and joins writes in transactions;
//   - timeseries appends events to series, versioned keeps the states of items, lifecycle deletes softly, restores and lets items expire,
//     unique keeps values apart, and lease lets one process at a time work;
//   - stream reads changes, in Lambda or outside;
//   - tables creates what the declarations need, iac writes it for other tools, and schemalock finds changes that would break stored items;
//   - localdb starts a local database for development and tests.
//
// The modules timeline (read models), migrate (changes of live tables), contrib/vet (an analyzer of declarations), contrib/otel, contrib/beam and
// cmd/dynastrata are below it. The guide is docs/guide.md in the repository.
package dynastrata
