// Package entity maps structs onto DynamoDB items.
//
// # Declare
//
// A struct is an entity when a blank field of type [Key] gives its name and its primary key; [GSI] and [LSI] fields add
// indexes, and other packages add features by types of their own. The dynamodbav tag names a field's attribute, as
// everywhere in the Go ecosystem; the entity tag gives it a role:
//
//	type Employee struct {
//		_ entity.Key `name:"Employee" pk:"$#{employeeId}" sk:"$"`
//		_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenantId}" sk:"$#{department}#{employeeId}"`
//
//		EmployeeID string    `dynamodbav:"employeeId"`
//		TenantID   string    `dynamodbav:"tenantId" entity:"immutable"`
//		Department string    `dynamodbav:"department"`
//		Name       string    `dynamodbav:"name" entity:"required"`
//		Version    int64     `dynamodbav:"version" entity:"version"`
//		CreatedAt  time.Time `dynamodbav:"createdAt" entity:"created_at"`
//		UpdatedAt  time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
//	}
//
// [New] checks all of it when the program starts, without I/O, and reports every mistake at once.
//
// # Write
//
// [Store.Create], [Store.Put], [Store.Upsert], [Store.Update] and [Store.Delete] compile to the smallest safe set of
// requests: each has the condition that makes it safe, index keys are kept in step, and created_at, updated_at and
// version are the library's. Attributes are named by the addresses of a prototype's fields, so the compiler checks name
// and type:
//
//	e := entity.Fields[Employee]()
//	alice, err := employees.Update(ctx, Employee{EmployeeID: "alice"}, entity.Set(&e.Department, "Research"), entity.If(entity.Ne(&e.Name, "")))
//
// A key is a partly filled struct. A write is also a value: [Store.Op] builds it, printing shows its plan without a
// network, and [DB.Transact] applies several at one instant.
//
// # Read
//
// [Store.Get] reads one item, [Store.Query] and [Index.Query] a partition, [Store.Scan] a table. A [Query] is a value
// with All, Collect, First, One, Page and Count; [DB.GetCollection] reads several that share a partition in one pass. Reads are eventually consistent unless [Consistent] is given.
//
// # Fail
//
// Errors have a class for errors.Is ([ErrNotFound], [ErrExists], [ErrConditionFailed] …), data for errors.As, and the SDK's
// error behind them. Mistakes in declarations are *[SchemaError], mistakes in arguments *[InputError], found before any
// request. The library owns all retries; a write whose outcome stayed unknown says so: [IsAmbiguous].
package entity
