package entity_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/dynastrata/dynastrata/entity"
)

// Book is declared by its tags: the key, one index, and what the fields are for.
type Book struct {
	_ entity.Key `name:"Book" pk:"$#{isbn}" sk:"$"`
	_ entity.GSI `name:"byAuthor" index:"gsi1" pk:"$#{author}" sk:"$#{published}"`

	ISBN      string    `dynamodbav:"isbn"`
	Author    string    `dynamodbav:"author,omitempty"`
	Title     string    `dynamodbav:"title" entity:"required"`
	Published time.Time `dynamodbav:"published,omitempty" entity:"time=s"`
	Copies    int       `dynamodbav:"copies"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at,time=s"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at,time=s"`
}

// library opens a database without a client: plans can be printed, and nothing can be sent. The clock and the write ids
// are fixed, so that the plans below come out the same each time.
func library() *entity.DB {
	return entity.Must(entity.Open(nil, entity.Config{
		Table: "library",
		Clock: func() time.Time { return time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC) },
		NewID: func() string { return "w1" },
	}))
}

// Open a database, declare a struct on it, and look at what a write will send.
func Example() {
	db, err := entity.Open(nil, entity.Config{ // a *dynamodb.Client instead of nil runs the plans
		Table: "library",
		Clock: func() time.Time { return time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC) },
		NewID: func() string { return "w1" },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	books, err := entity.New[Book](db) // every mistake in the tags is reported here
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(books.Op().Create(Book{ISBN: "0-19", Author: "Ibsen", Title: "Et dukkehjem", Copies: 3}))
	// Output:
	// Create Book on library
	//   put    pk="$app#v1#book#0-19" sk="$app#v1#book"
	//          {__edd_e__="Book", _w="w1", author="Ibsen", copies=3, createdAt="2024-05-06T07:08:09Z", gsi1pk="$app#v1#book#Ibsen", isbn="0-19", title="Et dukkehjem", updatedAt="2024-05-06T07:08:09Z", version=1}
	//          if attribute_not_exists(pk)
}

// The addresses of a prototype's fields name attributes: the compiler checks name and type.
func ExampleSet() {
	books := entity.Must(entity.New[Book](library()))
	b := entity.Fields[Book]()
	fmt.Println(books.Op().Update(Book{ISBN: "0-19"},
		entity.Set(&b.Title, "A Doll's House"),
		entity.Add(&b.Copies, -1),
		entity.If(entity.Gt(&b.Copies, 0)),
	))
	// Output:
	// Update Book on library
	//   update pk="$app#v1#book#0-19" sk="$app#v1#book"
	//          SET title = "A Doll's House", copies = if_not_exists(copies, 0) + -1, updatedAt = "2024-05-06T07:08:09Z", version = if_not_exists(version, 0) + 1, _w = "w1"
	//          if attribute_exists(pk) AND (attribute_not_exists(copies) OR attribute_type(copies, "N")) AND copies > 0
}

// Where takes a condition of the SDK's package expression. It is printed, joined and checked like any other.
func ExampleWhere() {
	books := entity.Must(entity.New[Book](library()))
	b := entity.Fields[Book]()
	short := entity.Where(expression.Name("title").Size().LessThan(expression.Value(20)))
	fmt.Println(books.Op().Update(Book{ISBN: "0-19"}, entity.Set(&b.Author, "Ibsen"), entity.If(short, entity.Ne(&b.Author, "Ibsen"))))
	fmt.Println(books.Scan(entity.Filter(entity.Where(expression.Name("titel").AttributeExists()))))
	// Output:
	// Update Book on library
	//   update pk="$app#v1#book#0-19" sk="$app#v1#book"
	//          SET author = "Ibsen", updatedAt = "2024-05-06T07:08:09Z", version = if_not_exists(version, 0) + 1, gsi1pk = "$app#v1#book#Ibsen", _w = "w1"
	//          if attribute_exists(pk) AND (size(title) < 20 AND author <> "Ibsen")
	// Scan Book on library: EDD-9105 entity_test.Book: Where names "titel", which is neither an attribute of the struct nor a key attribute of its indexes; an attribute has the name of its dynamodbav tag
}

// A query fixes the partition, bounds the next part of the sort key, and filters the rest.
func ExampleIndex_Query() {
	books := entity.Must(entity.New[Book](library()))
	byAuthor := entity.Must(books.Index("byAuthor"))
	b := entity.Fields[Book]()
	fmt.Println(byAuthor.Query(Book{Author: "Ibsen"},
		entity.Ge(&b.Published, time.Date(1879, 12, 4, 0, 0, 0, 0, time.UTC)),
		entity.Filter(entity.Gt(&b.Copies, 0)),
		entity.Desc(),
	))
	// Output:
	// Query Book on library index gsi1
	//   key    gsi1pk = "$app#v1#book#Ibsen" AND gsi1sk BETWEEN "$app#v1#book#1879-12-04T00:00:00Z" AND "$app#v1#book$"
	//   filter copies > 0
	//   order  descending
}

// All mistakes of a declaration are found at once, when the store is built.
func ExampleNew() {
	type Loan struct {
		_ entity.Key `name:"Loan" pk:"$#{reader}" sk:"$#{book}"`

		Reader string `dynamodbav:"reader"`
		Due    string `dynamodbav:"due" entity:"created_at"`
	}
	_, err := entity.New[Loan](library())
	var mistakes interface{ Unwrap() []error }
	if errors.As(err, &mistakes) {
		for _, err := range mistakes.Unwrap() {
			var mistake *entity.SchemaError
			if errors.As(err, &mistake) {
				fmt.Println(mistake.Code, mistake.Field)
			}
		}
	}
	// Unordered output:
	// EDD-9002 _ entity.Key
	// EDD-9035 Due
}

// What the declarations need of DynamoDB, as a value: to read, to compare, or to write a template from.
func ExampleDB_Spec() {
	db := library()
	entity.Must(entity.New[Book](db))
	fmt.Println(db.Spec())
	// Output:
	// table library
	//   logical  (default)
	//   entities Book
	//   key      pk (S) HASH, sk (S) RANGE
	//   gsi      gsi1: gsi1pk (S) HASH, gsi1sk (S) RANGE; ALL
	//   billing  PAY_PER_REQUEST
}

// Several writes, all or none; afterwards each has its result, or the reason why it failed.
func ExampleDB_Transact() {
	var ctx context.Context
	var db *entity.DB
	books := entity.Must(entity.New[Book](db))
	b := entity.Fields[Book]()

	lend := books.Op().Update(Book{ISBN: "0-19"}, entity.Add(&b.Copies, -1), entity.If(entity.Gt(&b.Copies, 0)))
	add := books.Op().Create(Book{ISBN: "0-20", Title: "Gengangere"})
	switch err := db.Transact(ctx, lend, add); {
	case err == nil:
		fmt.Println("added", add.Result().CreatedAt)
	case errors.Is(entity.FailureOf(err, lend), entity.ErrConditionFailed):
		fmt.Println("no copy left")
	case errors.Is(entity.FailureOf(err, add), entity.ErrExists):
		if book, ok := entity.StoredItem[Book](entity.FailureOf(err, add)); ok {
			fmt.Println("already there:", book.Title)
		}
	case entity.IsAmbiguous(err):
		fmt.Println("perhaps done: read before trying again")
	default:
		fmt.Println(err)
	}
}

// A page at a time, with a cursor that a client can hold.
func ExampleQuery() {
	var ctx context.Context
	var books *entity.Store[Book]
	byAuthor := entity.Must(books.Index("byAuthor"))

	cursor := ""
	for {
		page, err := byAuthor.Query(Book{Author: "Ibsen"}, entity.Limit(20)).Page(ctx, cursor)
		if err != nil {
			fmt.Println(err) // entity.ErrInvalidCursor for a cursor of another query
			return
		}
		for _, book := range page.Items {
			fmt.Println(book.Title)
		}
		if cursor = page.Next; cursor == "" {
			return
		}
	}
}
