// Package lifecycle lets entities be deleted softly, restored, purged and expire.
//
//	type Employee struct {
//		_ entity.Key           `name:"Employee" pk:"$#{employeeId}" sk:"$"`
//		_ lifecycle.SoftDelete `ttl:"30d"`
//
//		EmployeeID string    `dynamodbav:"employeeId"`
//		DeletedAt  time.Time `dynamodbav:"deletedAt,omitempty" entity:"deleted_at"` // optional
//	}
//
// A deleted item becomes a copy beside where it was: it leaves Get, queries and every index at once, and [Of] lists and
// restores it until its time to live has passed. An index whose key has the field with the role deleted_at holds the copies,
// see [Deleted.Index]. [TTL] declares items that expire by themselves.
package lifecycle
