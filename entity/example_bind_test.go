package entity_test

import (
	"fmt"

	"github.com/dynastrata/dynastrata/entity"
)

// Tables has the handles of a program.
type Tables struct {
	Books    *entity.Store[Book]
	ByAuthor *entity.Index[Book] `entity:"byAuthor"`
}

func ExampleBind() {
	db, err := entity.Open(nil, entity.Config{Table: "app"}) // with a client to run what is printed here
	if err != nil {
		fmt.Println(err)
		return
	}
	app, err := entity.Bind[Tables](db)
	if err != nil { // all mistakes in the declarations of all entities
		fmt.Println(err)
		return
	}
	fmt.Println(app.Books.Query(Book{ISBN: "0-19"}))
	fmt.Println(app.ByAuthor.Query(Book{Author: "Ibsen"}))
	// Output:
	// Query Book on app
	//   key    pk = "$app#v1#book#0-19" AND sk = "$app#v1#book"
	//   filter attribute_not_exists(_k) AND __edd_e__ = "Book"
	// Query Book on app index gsi1
	//   key    gsi1pk = "$app#v1#book#Ibsen" AND begins_with(gsi1sk, "$app#v1#book#")
}
