// Package versioned keeps the versions of entities: optimistic locking by version number, and a snapshot of every state
// that an item has had.
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
// *[ConflictError] unless the item has the expected version. With [Lock], every write of a struct expects the version
// in that struct. Without either, a write that lost a race reads the item again and is planned again.
//
// With [Retain], a write stores the state that it replaces in the same transaction, so no version is ever missing. [Of] opens that history.
//
// The package is stable: before version 1.0.0 its API changes with a minor version only, and the change log says how.
package versioned
