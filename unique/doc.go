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
// Each claimed value is an item of its own, the sentinel, whose key contains the value. Every write of the entity puts
// and deletes sentinels in the same transaction as the item, under conditions on their owner, so two items can never
// have the same value. A write of a value that another item has fails with a *[ViolationError].
//
// [Of] opens a constraint, and [Lookup.Find] finds the item that has a value. VerifyUnique and RepairUnique of package migrate
// find and fix what other programs have damaged.
//
// The package is stable: before version 1.0.0 its API changes with a minor version only, and the change log says how.
package unique
