// Package unique keeps values of entities unique across a table.
//
//	type Employee struct {
//		_ entity.Key        `name:"Employee" pk:"$#{employeeId}" sk:"$"`
//		_ unique.Constraint `name:"email" fields:"email"`
//
//		EmployeeID string `dynamodbav:"employeeId"`
//		Email      string `dynamodbav:"email,omitempty"`
//	}
//
// Each claimed value is an item of its own, the sentinel, whose key is the value. Every write of the entity puts and
// deletes sentinels in the same transaction as the item, under conditions on their owner, so that two items can never
// have one value, whatever happens at the same time. A value that another item has is a *[ViolationError]. [Of] finds
// the item that has a value, and finds and mends what other programs have left in disorder.
package unique
