package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
)

// Account can be restored for 30 days after it was deleted.
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

// Only the handle of the deleted items still reads a deleted item; a restore returns it as it was.
func ExampleDeleted_Restore() {
	ctx := context.Background()
	accounts := entity.Must(entity.New[Account](bank()))
	deleted := entity.Must(lifecycle.Of(accounts))

	ada := entity.Must(accounts.Create(ctx, Account{ID: "a-1", Owner: "Ada"}))
	fmt.Println(accounts.Delete(ctx, ada))
	_, err := accounts.Get(ctx, ada)
	fmt.Println(errors.Is(err, entity.ErrNotFound))

	found, err := deleted.Get(ctx, ada)
	fmt.Println(found.Item.Owner, found.ExpiresAt.Sub(found.DeletedAt), err)
	restored, err := deleted.Restore(ctx, ada)
	fmt.Println(restored.Owner, restored.DeletedAt.IsZero(), err)
	_, err = deleted.Restore(ctx, ada)
	fmt.Println(errors.Is(err, entity.ErrNotDeleted))
	// prints
	// <nil>
	// true
	// Ada 720h0m0s <nil>
	// Ada true <nil>
	// true
}

// Without a history an item can be created again, and leave several copies. One of them is chosen.
func ExampleDeleted_RestoreCopy() {
	ctx, a := context.Background(), entity.Fields[Account]()
	accounts := entity.Must(entity.New[Account](bank()))
	deleted := entity.Must(lifecycle.Of(accounts))

	for _, owner := range []string{"Bea", "Cleo"} {
		account := entity.Must(accounts.Create(ctx, Account{ID: "a-2", Owner: owner}))
		fmt.Println(accounts.Delete(ctx, account))
	}
	copies, err := deleted.List(Account{ID: "a-2"}).Collect(ctx) // the newest first
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(copies[0].Item.Owner, copies[1].Item.Owner)

	// Conditions are about the copy.
	restored, err := deleted.RestoreCopy(ctx, copies[1], entity.If(entity.Eq(&a.Owner, "Bea")))
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
		fmt.Println("it is deleted and can be restored")
	case errors.Is(err, entity.ErrNotFound):
		fmt.Println("it never was")
	}
	// prints
	// <nil>
	// it is deleted and can be restored
}

// Everything of a person goes: the items with their histories and unique values, and what had been deleted before. It is repeated until
// nothing is found, since an item can be deleted or restored between the two passes. The copies of a key with another owner by now would go
// too. What else may hold data of the person: series (Series.Purge), rows of timelines (the next Rebuild), exports and backups.
func Example_erasePerson() {
	ctx, a := context.Background(), entity.Fields[Account]()
	accounts := entity.Must(entity.New[Account](bank()))
	deleted := entity.Must(lifecycle.Of(accounts))
	for _, id := range []string{"a-7", "a-8", "a-9"} {
		entity.Must(accounts.Create(ctx, Account{ID: id, Owner: "Fay"}))
	}
	fmt.Println(accounts.Delete(ctx, Account{ID: "a-9"}))

	mine := entity.Filter(entity.Eq(&a.Owner, "Fay")) // with an index by owner, query that instead of the whole table
	erase := func() (found int, err error) {
		done, err := accounts.PurgeAll(ctx, accounts.Scan(mine), "")
		if err != nil {
			return 0, err
		}
		copies, err := deleted.Scan(mine, entity.IncludeExpired()).Collect(ctx)
		for _, c := range copies {
			err = errors.Join(err, deleted.Purge(ctx, c.Item))
		}
		return done.Found + len(copies), err
	}
	for found := 1; found > 0; {
		var err error
		if found, err = erase(); err != nil {
			break // run it again later
		}
		fmt.Println(found)
	}
	// prints
	// <nil>
	// 3
	// 0
}

// File is one of many of a tenant, whose trash is an index of its own: a current item has no deletedAt and is not in it.
type File struct {
	_ entity.Key           `name:"File" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"trash" index:"gsi1" pk:"$#{tenant}" sk:"$#{deletedAt}"`
	_ lifecycle.SoftDelete `ttl:"30d"`

	ID        string    `dynamodbav:"id"`
	Tenant    string    `dynamodbav:"tenant"`
	DeletedAt time.Time `dynamodbav:"deletedAt,omitempty" entity:"deleted_at,time=s"`
}

// The trash page of a tenant, the newest delete first.
func ExampleDeleted_Index() {
	ctx := context.Background()
	files := entity.Must(entity.New[File](bank()))
	deleted := entity.Must(lifecycle.Of(files))
	trash := entity.Must(deleted.Index("trash"))

	for _, id := range []string{"f-1", "f-2", "f-3"} {
		entity.Must(files.Create(ctx, File{ID: id, Tenant: "acme"}))
	}
	fmt.Println(files.Delete(ctx, File{ID: "f-1"}), files.Delete(ctx, File{ID: "f-3"}))

	page, err := trash.Query(File{Tenant: "acme"}, entity.Desc(), entity.Limit(20)).Page(ctx, "")
	for _, c := range page.Items {
		fmt.Println(c.Item.ID, c.ExpiresAt.Sub(c.DeletedAt))
	}
	fmt.Println(page.Next == "", err)
	// prints
	// <nil> <nil>
	// f-3 720h0m0s
	// f-1 720h0m0s
	// true <nil>
}

// Without such an index, a query reads the deleted items of a partition, and a scan those of the table.
func ExampleDeleted_Query() {
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	deleted, a := entity.Must(lifecycle.Of(entity.Must(entity.New[Account](db)))), entity.Fields[Account]()

	fmt.Println(deleted.Query(Account{ID: "a-1"}, entity.Filter(entity.Eq(&a.Owner, "Ada")), entity.IncludeExpired()))
	fmt.Println(deleted.Scan(entity.Filter(entity.Eq(&a.Owner, "Ada")), entity.IncludeExpired()))
	// Output:
	// Deleted.Query Account on app
	//   key    pk = "$app#v1#account#a-1" AND begins_with(sk, "$app#v1#account#deleted#")
	//   filter (_k = "d" AND __edd_e__ = "Account") AND owner = "Ada"
	//   read   consistently
	// Deleted.Scan Account on app
	//   filter (begins_with(sk, "$app#v1#account") AND _k = "d" AND __edd_e__ = "Account") AND owner = "Ada"
	//   read   consistently
}

// The plans of a delete and of a restore.
func ExampleOf() {
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	accounts := entity.Must(entity.New[Account](db))
	deleted, a := entity.Must(lifecycle.Of(accounts)), entity.Fields[Account]()

	fmt.Println(accounts.Op().Delete(Account{ID: "a-1"}))
	fmt.Println(deleted.Op().Restore(Account{ID: "a-1"}, entity.If(entity.Eq(&a.Owner, "Ada"))))
	// Output:
	// Delete Account on app
	//   read   pk="$app#v1#account#a-1" sk="$app#v1#account" consistently
	//   write  what follows from it, if it is unchanged
	// Restore Account on app
	//   read   pk="$app#v1#account#a-1" sk="$app#v1#account" consistently
	//   write  what follows from it, if it is unchanged
	//          if owner = "Ada"
}

// Visit ends half an hour after it was last seen.
type Visit struct {
	_    entity.Key    `name:"Visit" pk:"visit"`
	_    lifecycle.TTL `attr:"ends" from:"seen" after:"30m"`
	ID   string        `dynamodbav:"visit"`
	Seen time.Time     `dynamodbav:"seen" entity:"time=s"`
}

// The end of an item is written with the attribute that it is counted from.
func ExampleTTL() {
	now := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	db := entity.Must(entity.Open(nil, entity.Config{Table: "visits", Clock: func() time.Time { return now }}))
	visits := entity.Must(entity.New[Visit](db))
	v := entity.Fields[Visit]()
	fmt.Println(visits.Op().Update(Visit{ID: "v-1"}, entity.Set(&v.Seen, now)))
	// Output:
	// Update Visit on visits
	//   update visit="v-1"
	//          SET seen = "2024-05-06T07:08:09Z", ends = 1714981089
	//          if attribute_exists(visit) AND (attribute_not_exists(ends) OR ends > 1714979289)
}

// Invite ends after a week. Until then, no other invite has its token.
type Invite struct {
	_     entity.Key        `name:"Invite" pk:"$#{id}" sk:"$"`
	_     lifecycle.TTL     `attr:"ends" after:"7d"`
	_     unique.Constraint `name:"token" fields:"token"`
	ID    string            `dynamodbav:"id"`
	Token string            `dynamodbav:"token"`
}

// The sentinel of a unique value ends with its item, and can take the place of one that has expired.
func ExampleTTL_unique() {
	now := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	db := entity.Must(entity.Open(nil, entity.Config{
		Table: "app", Clock: func() time.Time { return now }, NewID: func() string { return "write-1" },
	}))
	invites := entity.Must(entity.New[Invite](db))
	fmt.Println(invites.Op().Create(Invite{ID: "i-1", Token: "t-7"}))
	// Output:
	// Create Invite on app
	//   put    pk="$app#v1#invite#i-1" sk="$app#v1#invite"
	//          {__edd_e__="Invite", _w="write-1", ends=1715584089, id="i-1", token="t-7"}
	//          if attribute_not_exists(pk) OR ends <= 1714979289
	//   put    sentinel of token
}

// A time to live can come from a configuration.
func ExampleAfter() {
	retention := time.Minute
	now := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	db := entity.Must(entity.Open(nil, entity.Config{Table: "visits"}))
	visits := entity.Must(entity.New[Visit](db, lifecycle.After(retention)))
	fmt.Println(visits.Op().Create(Visit{ID: "v-1", Seen: now}))
}
