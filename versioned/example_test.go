package versioned_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/versioned"
)

// Article keeps every state that it has been in.
type Article struct {
	_ entity.Key       `name:"Article" pk:"$#{slug}" sk:"$"`
	_ versioned.Retain `ttl:"90d"`

	Slug      string    `dynamodbav:"slug"`
	Title     string    `dynamodbav:"title"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at,time=s"`
}

// The database of the examples: none, so that plans can be printed, or a local one while a test runs them.
var (
	client entity.Client
	table  = "app"
)

// newsroom opens the database. Its clock moves on by an hour with each reading.
func newsroom() *entity.DB {
	at := time.Date(2101, 4, 22, 9, 0, 0, 0, time.UTC)
	return entity.Must(entity.Open(client, entity.Config{
		Table: table,
		Clock: func() time.Time { at = at.Add(time.Hour); return at },
	}))
}

// A write that expects the version that its author read does not overwrite a later change.
func ExampleExpect() {
	ctx, a := context.Background(), entity.Fields[Article]()
	articles := entity.Must(entity.New[Article](newsroom()))

	draft, err := articles.Create(ctx, Article{Slug: "tides", Title: "Tides"})
	fmt.Println(draft.Version, err)
	_, err = articles.Update(ctx, draft, entity.Set(&a.Title, "Spring tides")) // by another author
	fmt.Println(err)

	_, err = articles.Update(ctx, draft, entity.Set(&a.Title, "Neap tides"), versioned.Expect(draft.Version))
	var conflict *versioned.ConflictError
	if errors.As(err, &conflict) {
		fmt.Println("expected", conflict.Expected, "but it is", conflict.Actual)
	}
	// prints
	// 1 <nil>
	// <nil>
	// expected 1 but it is 2
}

// The states that an item was in, the newest first.
func ExampleHistory_List() {
	ctx, a := context.Background(), entity.Fields[Article]()
	articles := entity.Must(entity.New[Article](newsroom()))
	history := entity.Must(versioned.Of(articles))

	key := entity.Must(articles.Create(ctx, Article{Slug: "whales", Title: "Wales"}))
	entity.Must(articles.Update(ctx, key, entity.Set(&a.Title, "Whales")))
	entity.Must(articles.Update(ctx, key, entity.Set(&a.Title, "Whales sing")))
	for v, err := range history.List(key, versioned.WithCurrent(), entity.Desc()).All(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(v.Number, v.Item.Title)
	}
	n, err := history.List(key, entity.Le(&a.Version, 1)).Count(ctx) // a bound on the versions
	fmt.Println(n, err)
	// prints
	// 3 Whales sing
	// 2 Whales
	// 1 Wales
	// 1 <nil>
}

// The state that an item was in at some time, and the state of a number.
func ExampleHistory_At() {
	ctx, a := context.Background(), entity.Fields[Article]()
	articles := entity.Must(entity.New[Article](newsroom()))
	history := entity.Must(versioned.Of(articles))

	first := entity.Must(articles.Create(ctx, Article{Slug: "storks", Title: "Storks"}))
	entity.Must(articles.Update(ctx, first, entity.Set(&a.Title, "Storks return")))
	then, err := history.At(ctx, first, first.UpdatedAt.Add(time.Minute))
	fmt.Println(then.Number, then.Item.Title, err)
	_, err = history.At(ctx, first, first.UpdatedAt.Add(-time.Minute))
	fmt.Println(errors.Is(err, entity.ErrNotFound))
	second, err := history.Get(ctx, first, 2)
	fmt.Println(second.Number, second.Item.Title, err)
	// prints
	// 1 Storks <nil>
	// true
	// 2 Storks return <nil>
}

// What changed between two versions, and back to the first.
func ExampleHistory_Revert() {
	ctx, a := context.Background(), entity.Fields[Article]()
	articles := entity.Must(entity.New[Article](newsroom()))
	history := entity.Must(versioned.Of(articles))

	key := entity.Must(articles.Create(ctx, Article{Slug: "moss", Title: "Moss"}))
	entity.Must(articles.Update(ctx, key, entity.Set(&a.Title, "Mess")))
	changes, err := history.Diff(ctx, key, 1, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(changes[0].Field, "was", changes[0].Before, "and became", changes[0].After)

	reverted, err := history.Revert(ctx, key, 1, versioned.Expect(2))
	fmt.Println(reverted.Version, reverted.Title, err)
	// prints
	// Title was Moss and became Mess
	// 3 Moss <nil>
}

// The plans of an update and of a revert: the item is read, and goes with a snapshot of what it was.
func ExampleRetain() {
	db := entity.Must(entity.Open(nil, entity.Config{
		Table: "app",
		Clock: func() time.Time { return time.Date(2026, 4, 22, 10, 0, 0, 0, time.UTC) },
	}))
	articles, a := entity.Must(entity.New[Article](db)), entity.Fields[Article]()

	fmt.Println(articles.Op().Update(Article{Slug: "tides"}, entity.Set(&a.Title, "Ebb")))
	fmt.Println(entity.Must(versioned.Of(articles)).Op().Revert(Article{Slug: "tides"}, 1))
	// Output:
	// Update Article on app
	//   read   pk="$app#v1#article#tides" sk="$app#v1#article" consistently
	//   write  what follows from it, if it is unchanged
	//          SET title = "Ebb"
	// Revert Article on app
	//   read   pk="$app#v1#article#tides" sk="$app#v1#article" consistently
	//   write  what follows from it, if it is unchanged
}
