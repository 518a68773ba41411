// Package subject exports and erases the data of one person, or of whoever else data is about: of everything that is bound.
//
// A field with the role subject says whose data an item is:
//
//	type Order struct {
//		_ entity.Key       `name:"Order" pk:"$#{orderId}" sk:"$"`
//		_ versioned.Retain `ttl:"365d"`
//
//		OrderID  string `dynamodbav:"orderId"`
//		Customer string `dynamodbav:"customer" entity:"subject"`
//	}
//
// [Subjects.Export] writes what names a subject as lines of JSON, [Subjects.Erase] removes it, or with Request.DryRun says what it would remove.
// Both return a [Report] that can be filed: it holds no keys and no values.
//
// README.md says what is found and what becomes of it, what cannot be reached, and what it costs.
//
// The package is experimental: its API may change with every minor version.
package subject
