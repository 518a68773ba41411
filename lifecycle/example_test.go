package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// Account goes into the bin for 30 days when it is deleted.
type Account struct {
	_ entity.Key           `name:"Account" pk:"$#{id}" sk:"$"`
	_ lifecycle.SoftDelete `ttl:"30d"`

	ID        string    `dynamodbav:"id"`
	Owner     string    `dynamodbav:"owner"`
	DeletedAt time.Time `dynamodbav:"deletedAt,omitempty" entity:"deleted_at,time=s"` // optional: in copies only
}

// The database of the examples: none, so that plans can be printed, or a local one while a test runs them.
var (
	client entity.Client
	table  = "app"
)

// bank opens the database. Its clock moves on by an hour with each reading.
func bank() *entity.DB {
	at := time.Date(2101, 4, 22, 9, 0, 0, 0, time.UTC)
	return entity.Must(entity.Open(client, entity.Config{
		Table: table,
		Clock: func() time.Time { at = at.Add(time.Hour); return at },
	}))
}

// A deleted item is gone from every read but the bin's, and comes back as it was.
func ExampleBin_Restore() {
	ctx := context.Background()
	accounts := entity.Must(entity.New[Account](bank()))
	bin := entity.Must(lifecycle.Of(accounts))

	ada := entity.Must(accounts.Create(ctx, Account{ID: "a-1", Owner: "Ada"}))
	fmt.Println(accounts.Delete(ctx, ada))
	_, err := accounts.Get(ctx, ada)
	fmt.Println(errors.Is(err, entity.ErrNotFound))

	deleted, err := bin.Get(ctx, ada)
	fmt.Println(deleted.Item.Owner, deleted.ExpiresAt.Sub(deleted.DeletedAt), err)
	restored, err := bin.Restore(ctx, ada)
	fmt.Println(restored.Owner, restored.DeletedAt.IsZero(), err)
	_, err = bin.Restore(ctx, ada)
	fmt.Println(errors.Is(err, entity.ErrNotDeleted))
	// prints
	// <nil>
	// true
	// Ada 720h0m0s <nil>
	// Ada true <nil>
	// true
}

// Without a history an item can be created anew, and leave several copies. One of them is chosen.
func ExampleBin_RestoreCopy() {
	ctx, a := context.Background(), entity.Fields[Account]()
	accounts := entity.Must(entity.New[Account](bank()))
	bin := entity.Must(lifecycle.Of(accounts))

	for _, owner := range []string{"Bea", "Cleo"} {
		account := entity.Must(accounts.Create(ctx, Account{ID: "a-2", Owner: owner}))
		fmt.Println(accounts.Delete(ctx, account))
	}
	copies, err := bin.List(Account{ID: "a-2"}).Collect(ctx) // the newest first
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(copies[0].Item.Owner, copies[1].Item.Owner)

	// Conditions are about the copy.
	restored, err := bin.RestoreCopy(ctx, copies[1], entity.If(entity.Eq(&a.Owner, "Bea")))
	fmt.Println(restored.Owner, err)
	// prints
	// <nil>
	// <nil>
	// Cleo Bea
	// Bea <nil>
}

// An update of a deleted item says what has happened to it.
func ExampleSoftDelete() {
	ctx, a := context.Background(), entity.Fields[Account]()
	accounts := entity.Must(entity.New[Account](bank()))

	account := entity.Must(accounts.Create(ctx, Account{ID: "a-3", Owner: "Dora"}))
	fmt.Println(accounts.Delete(ctx, account))
	_, err := accounts.Update(ctx, account, entity.Set(&a.Owner, "Erin"))
	switch {
	case errors.Is(err, entity.ErrDeleted):
		fmt.Println("it is in the bin")
	case errors.Is(err, entity.ErrNotFound):
		fmt.Println("it never was")
	}
	// prints
	// <nil>
	// it is in the bin
}

// The plans of a delete and of a restore.
func ExampleOf() {
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	accounts := entity.Must(entity.New[Account](db))
	bin, a := entity.Must(lifecycle.Of(accounts)), entity.Fields[Account]()

	fmt.Println(accounts.Op().Delete(Account{ID: "a-1"}))
	fmt.Println(bin.Op().Restore(Account{ID: "a-1"}, entity.If(entity.Eq(&a.Owner, "Ada"))))
	// Output:
	// Delete Account on app
	//   read   pk="$app#v1#account#a-1" sk="$app#v1#account" consistently
	//   delete pk="$app#v1#account#a-1" sk="$app#v1#account"
	//          if unchanged since it was read
	//   put    the deleted copy
	// Restore Account on app
	//   read   the deleted copy consistently
	//   delete the deleted copy
	//          if unchanged since it was read AND (owner = "Ada")
	//   put    pk="$app#v1#account#a-1" sk="$app#v1#account"
	//          the item as it was deleted
	//          if attribute_not_exists(pk)
}
