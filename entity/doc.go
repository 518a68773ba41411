// Package entity maps structs onto DynamoDB items.
//
// # Declare
//
// A struct is an entity if a blank field of type [Key] declares its name and its primary key. [GSI] and [LSI] fields add indexes, and types
// of other packages add features. The dynamodbav tag names a field's attribute, as in the AWS SDK; the entity tag gives it a role:
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
// [New] checks the declarations when the program starts, without I/O, and reports all mistakes at once; [Bind] opens all handles
// of a program so. In a key, $ is a prefix that the library writes, {employeeId} the value of the attribute.
//
// # Declarations
//
// The tags of blank fields have these keys; docs/tags.md has their values and defaults. All types but Key can be left out.
//
//	entity.Key            name, pk, sk, table, kind, payload, reads, stream
//	entity.GSI            name, index, pk, sk, project, missing, shards, when
//	entity.LSI            name, index, sk, missing, when
//	timeseries.Events     orderBy, id, ttl, late, maxAhead, shards, current, digits
//	versioned.Lock        none
//	versioned.Retain      ttl
//	lifecycle.SoftDelete  ttl, unique
//	lifecycle.TTL         attr, after, from
//	unique.Constraint     name, fields, ttl
//
// # Roles
//
// Roles are the words of the entity tag, separated by commas: entity:"required,immutable".
//
//	created_at    a time: set when the item is created, never changed
//	updated_at    a time: set by every write
//	deleted_at    a time: set by a soft delete
//	version       an integer: 1 when the item is created, one more with every write
//	context=…     a string: every write stores what Config.FromContext has under this name
//	required      a whole value without it is refused; it cannot be removed
//	notnull       a nil map or list is stored as an empty one
//	immutable     set once; another value is refused
//	set_once      set once; another value is ignored
//	append        of a time series: written by Append and by no other verb
//	subject       a string, or a set or list of strings: whose data the item is, for contrib/subject
//	secret        its value appears in no message and no plan; cursors with it are encrypted
//	default=…     an empty field is stored with this constant
//	id=uuidv7     an empty string or [16]byte gets a new id; id=ulid is another form
//	zero          a key part whose zero value is a value
//	text          a type that marshals itself as text is stored as that text
//	text=ordered  the same, where texts sort as values do
//	time=…        how a time is stored: time=ns, time=us, time=ms or time=s as text, time=unix or time=unixms as a number
//
// # Write
//
// [Store.Create], [Store.Put], [Store.Upsert], [Store.Update] and [Store.Delete] compile to the smallest safe set of
// requests. Each has the condition that makes it safe; the library writes index keys, created_at, updated_at and version.
// A value that is written whole is first completed by a [Preparer], defaults and generated ids.
// Attributes are named by the addresses of a prototype's fields, so the compiler checks name and type:
//
//	e := entity.Fields[Employee]()
//	alice, err := employees.Update(ctx, Employee{EmployeeID: "alice"}, entity.Set(&e.Department, "Research"), entity.If(entity.Ne(&e.Name, "")))
//
// A key is a struct with its key fields set. A write can be a value: [Store.Op] builds it, printing it shows its plan
// without a network, and [DB.Transact] applies several atomically.
//
// # Read
//
// [Store.Get] reads one item, [Store.Query] and [Index.Query] a partition, [Store.Scan] a table. A [Query] is a value
// with All, Collect, First, One, Page and Count; [DB.GetCollection] reads several queries of one partition in one pass.
// Reads are eventually consistent unless [Consistent] is given.
//
// # Fail
//
// Errors have a class for errors.Is ([ErrNotFound], [ErrExists], [ErrConditionFailed] …) and data for errors.As, and wrap
// the SDK's error. A mistake in a declaration is a *[SchemaError]; a mistake in an argument is an *[InputError], found before
// any request. The library does all retries; [IsAmbiguous] reports a write whose outcome is unknown.
//
// The package is stable: before version 1.0.0 its API changes with a minor version only, and the change log says how.
package entity
