// Package versioned keeps the versions of entities: optimistic locking by version number, and a snapshot of every state
// that an item has been in.
//
//	type Employee struct {
//		_ entity.Key       `name:"Employee" pk:"$#{employeeId}" sk:"$"`
//		_ versioned.Retain `ttl:"90d"`
//
//		EmployeeID  string `dynamodbav:"employeeId"`
//		DisplayName string `dynamodbav:"displayName"`
//		Version     int64  `dynamodbav:"version" entity:"version"`
//	}
//
// A new item has version 1; each update, delete and restore adds one. [Expect] makes a write fail with a
// *[ConflictError] unless the item has the version that the caller has seen; with [Lock], every write of a struct that
// was read does so by itself. Without either, a write that lost a race reads again and is planned again.
//
// With [Retain] the state that a write replaces is put beside the item in the same transaction, so that no version is
// ever missing. [Of] opens that history.
package versioned
