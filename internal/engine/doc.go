// Package engine sends plans to DynamoDB, and holds what the public handles have in common. It does every retry itself: the
// SDK's retryer is off, because it hides lost answers and repeats additions. The files are in three layers, each of which uses
// only those before it:
//
//   - positions in queries as opaque text, encrypted under a key (cursor.go, places.go, seal.go)
//   - the runner: requests, retries, transactions, costs (runner.go and others)
//   - public handles without their type parameter, which embed Handle under an unexported name, so that only this module can
//     open them (core.go, operation.go), and the purge of an item (purge.go)
package engine
