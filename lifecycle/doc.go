// Package lifecycle adds soft delete and expiry to entities: deleted items can be listed, restored and purged, and
// items can expire by themselves.
//
//	type Employee struct {
//		_ entity.Key           `name:"Employee" pk:"$#{employeeId}" sk:"$"`
//		_ lifecycle.SoftDelete `ttl:"30d"`
//
//		EmployeeID string    `dynamodbav:"employeeId"`
//		DeletedAt  time.Time `dynamodbav:"deletedAt,omitempty" entity:"deleted_at"` // optional
//	}
//
// Delete turns the item into a deleted copy in the same partition. Get, queries and indexes no longer return it. [Of]
// lists and restores deleted items until their time to live has passed. An index whose key contains the field with the
// role deleted_at holds deleted copies; see [Deleted.Index]. [TTL] declares items that expire by themselves.
//
// The package is stable: before version 1.0.0 its API changes with a minor version only, and the change log says how.
package lifecycle
