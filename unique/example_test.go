package unique_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/unique"
)

// User has a unique e-mail address, and a badge number that is unique at its site.
type User struct {
	_ entity.Key        `name:"User" pk:"$#{id}" sk:"$"`
	_ unique.Constraint `name:"email" fields:"email"`
	_ unique.Constraint `name:"badge" fields:"site,badge"`

	ID    string `dynamodbav:"id"`
	Email string `dynamodbav:"email,omitempty"`
	Site  string `dynamodbav:"site,omitempty"`
	Badge int    `dynamodbav:"badge,omitempty"`
}

// The database of the examples: none, so that plans can be printed, or a local one while a test runs them.
var (
	client entity.Client
	table  = "app"
)

func directory() *entity.DB { return entity.Must(entity.Open(client, entity.Config{Table: table})) }

// A value that an item has cannot be written to another one; the error names the owner. Absent values are not unique.
func ExampleConstraint() {
	ctx := context.Background()
	users := entity.Must(entity.New[User](directory()))

	_, err := users.Create(ctx, User{ID: "u-1", Email: "ada@x.org", Site: "north", Badge: 7})
	fmt.Println(err)
	_, err = users.Create(ctx, User{ID: "u-2", Site: "north", Badge: 7})
	var taken *unique.ViolationError
	if errors.As(err, &taken) {
		fmt.Println(taken.Constraint, "is that of", taken.Owner.PK)
	}
	_, err = users.Create(ctx, User{ID: "u-2", Site: "south", Badge: 7})
	fmt.Println(err)
	// prints
	// <nil>
	// badge is that of $app#v1#user#u-1
	// <nil>
}

// The item that has a value is found without an index, and strongly consistent.
func ExampleLookup_Find() {
	ctx := context.Background()
	users := entity.Must(entity.New[User](directory()))
	byBadge := entity.Must(unique.Of(users, "badge"))

	entity.Must(users.Create(ctx, User{ID: "u-3", Site: "east", Badge: 12}))
	found, err := byBadge.Find(ctx, User{Site: "east", Badge: 12})
	fmt.Println(found.ID, err)
	_, err = byBadge.Find(ctx, User{Site: "east", Badge: 13})
	fmt.Println(errors.Is(err, entity.ErrNotFound))
	// prints
	// u-3 <nil>
	// true
}

// A transaction moves a value from one item to another: at no moment do both have it, or neither.
func ExampleOf() {
	ctx, u := context.Background(), entity.Fields[User]()
	db := directory()
	users := entity.Must(entity.New[User](db))
	byEmail := entity.Must(unique.Of(users, "email"))

	bea := entity.Must(users.Create(ctx, User{ID: "u-4", Email: "sales@x.org"}))
	cleo := entity.Must(users.Create(ctx, User{ID: "u-5", Email: "cleo@x.org"}))
	fmt.Println(db.Transact(ctx,
		users.Op().Update(bea, entity.Set(&u.Email, "bea@x.org")),
		users.Op().Update(cleo, entity.Set(&u.Email, "sales@x.org")),
	))
	found, err := byEmail.Find(ctx, User{Email: "sales@x.org"})
	fmt.Println(found.ID, err)
	// prints
	// <nil>
	// u-5 <nil>
}

// The plan of a write that may change a value: the old one is given up and the new one claimed with the item.
func ExampleViolationError() {
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	users, u := entity.Must(entity.New[User](db)), entity.Fields[User]()

	fmt.Println(users.Op().Update(User{ID: "u-1"}, entity.Set(&u.Badge, 8)))
	// Output:
	// Update User on app
	//   read   pk="$app#v1#user#u-1" sk="$app#v1#user" consistently
	//   write  what follows from it, if it is unchanged
	//          SET badge = 8
}
