package migrate_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/unique"
)

// Order is the declaration of last year. Its items have no keys of the index of Purchase.
type Order struct {
	_ entity.Key `name:"Order" pk:"$#{id}" sk:"$"`

	ID       string `dynamodbav:"id"`
	Customer string `dynamodbav:"customer"`
}

// Purchase is the same entity today.
type Purchase struct {
	_ entity.Key `name:"Order" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byCustomer" index:"gsi1" pk:"$#{customer}" sk:"$#{id}"`

	ID       string `dynamodbav:"id"`
	Customer string `dynamodbav:"customer"`
}

// The database of the examples: none, or a local one while a test runs them.
var (
	client entity.Client
	table  = "app"
)

// shop returns a database as a program has it.
func shop() *entity.DB { return entity.Must(entity.Open(client, entity.Config{Table: table})) }

// lastYear makes the old program store orders.
func lastYear(ctx context.Context, ids ...string) {
	orders := entity.Must(entity.New[Order](shop()))
	for _, id := range ids {
		entity.Must(orders.Put(ctx, Order{ID: id, Customer: "ada"}))
	}
}

// A dry run shows what is to be done and what it costs. The run itself fills the new index.
func ExampleRewrite() {
	ctx := context.Background()
	lastYear(ctx, "o-1", "o-2")
	orders := entity.Must(entity.New[Purchase](shop()))

	plan, err := migrate.Rewrite(ctx, orders, migrate.DryRun())
	fmt.Println(plan, err)
	fmt.Println(plan.Examples[0].Reason, plan.Estimate.WriteUnits)

	done, err := migrate.Rewrite(ctx, orders, migrate.Checkpoint("byCustomer"), entity.Segments(4))
	fmt.Println(done.Rewritten, done.Done, err)
	found, err := entity.Must(orders.Index("byCustomer")).Query(Purchase{Customer: "ada"}, entity.Limit(2)).Collect(ctx)
	fmt.Println(len(found), err)
	// prints
	// 2 of 5 items rewritten (2 index keys) <nil>
	// index keys 4
	// 2 true <nil>
	// 2 <nil>
}

// A checkpoint lets a second run go on, or find that the work is done. It belongs to one declaration.
func ExampleCheckpoint() {
	ctx := context.Background()
	lastYear(ctx, "o-3", "o-4")
	orders := entity.Must(entity.New[Purchase](shop()))

	fmt.Println(migrate.Rewrite(ctx, orders, migrate.Checkpoint("fill-2026")))
	again, err := migrate.Rewrite(ctx, orders, migrate.Checkpoint("fill-2026"))
	fmt.Println(again.Resumed, again.Done, err)

	_, err = migrate.Rewrite(ctx, entity.Must(entity.New[Order](shop())), migrate.Checkpoint("fill-2026"))
	fmt.Println(errors.Is(err, migrate.ErrOtherWork))
	// prints
	// 2 of 3 items rewritten (2 index keys) <nil>
	// true true <nil>
	// true
}

// Invoice is a new entity, under the customer instead of the id.
type Invoice struct {
	_ entity.Key `name:"Invoice" pk:"$#{customer}" sk:"$#{id}"`

	ID       string `dynamodbav:"id"`
	Customer string `dynamodbav:"customer"`
}

// Orders become invoices under other keys: copied, followed, compared, and cut over.
func ExampleCopy() {
	ctx, db := context.Background(), shop()
	orders := entity.Must(entity.New[Order](db, entity.Named("Sale")))
	invoices := entity.Must(entity.New[Invoice](db))
	sell := func(ids ...string) {
		for _, id := range ids {
			entity.Must(orders.Put(ctx, Order{ID: id, Customer: "ada"}))
		}
	}
	sell("s-1", "s-2", "test")
	copier := entity.Must(migrate.Copy("invoices", orders, invoices, func(o Order) (Invoice, error) {
		if o.ID == "test" {
			return Invoice{}, migrate.Skip
		}
		return Invoice{ID: o.ID, Customer: o.Customer}, nil
	}))
	route := stream.On(orders, copier.Handle) // for stream.Handle, for as long as the old program writes
	_ = route

	fmt.Println(copier.Run(ctx, entity.Segments(4)))
	sell("s-3") // a change that the stream has not brought yet
	differences, err := copier.Verify(ctx)
	fmt.Println(differences, err)

	_, err = copier.CutOver(ctx) // when the old program has stopped
	fmt.Println(err)
	fmt.Println(copier.State(ctx))
	found, err := invoices.Query(Invoice{Customer: "ada"}).Collect(ctx)
	fmt.Println(len(found), err)
	_, err = copier.Run(ctx)
	fmt.Println(errors.Is(err, migrate.ErrCutOver))
	// prints
	// 2 of 3 items copied (2 missing) <nil>
	// 1 of 4 items differ (1 missing) <nil>
	// <nil>
	// cut over <nil>
	// 3 <nil>
	// true
}

// A check finds what does not belong in the table of a store.
func ExampleCheck() {
	ctx := context.Background()
	lastYear(ctx, "o-9")
	orders := entity.Must(entity.New[Purchase](shop()))

	done, err := migrate.Check(ctx, orders, func(f migrate.Finding) error {
		fmt.Println(f.Kind, f.Entity, f.Key, f.Reasons)
		return nil
	})
	fmt.Println(done.Findings[migrate.Outdated], err)
	entity.Must(migrate.Rewrite(ctx, orders))
	// prints
	// outdated Order pk="$app#v1#order#o-9" sk="$app#v1#order" [index keys]
	// 1 <nil>
}

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

// A check that is divided among programs: each compares some segments, and the suspects of a value meet in one of them.
func ExampleVerifyUniqueSegment() {
	ctx := context.Background()
	users := entity.Must(entity.New[User](shop()))
	byBadge := entity.Must(unique.Of(users, "badge"))
	entity.Must(users.Create(ctx, User{ID: "u-6", Site: "west", Badge: 3}))

	const segments = 4
	suspects := map[string][]migrate.Suspect{} // in the place of a shuffle
	for i := range segments {
		_, err := migrate.VerifyUniqueSegment(ctx, byBadge, i, segments, func(s migrate.Suspect) error {
			suspects[s.Value()] = append(suspects[s.Value()], s)
			return nil
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	for _, of := range suspects {
		found, damaged, err := migrate.ExamineUnique(ctx, byBadge, of...)
		fmt.Println(found, damaged, err)
	}
	fmt.Println(len(suspects), "suspects")
	// prints
	// 0 suspects
}

// A check of a large table that says how far it is.
func ExampleOnProgress() {
	ctx := context.Background()
	users := entity.Must(entity.New[User](shop()))
	byBadge := entity.Must(unique.Of(users, "badge"))
	entity.Must(users.Create(ctx, User{ID: "u-7", Site: "north", Badge: 4}))

	moved := false
	_, err := migrate.VerifyUnique(ctx, byBadge, entity.Segments(4), migrate.OnProgress(func(p migrate.Progress) { moved = p.Items > 0 }))
	fmt.Println(moved, err)
	// prints
	// true <nil>
}

// Repair after other programs have written to the table, or once after a constraint was declared for items that exist.
func ExampleRepairUnique() {
	repair := func(ctx context.Context, people *entity.Store[User]) error {
		emails, err := unique.Of(people, "email")
		if err != nil {
			return err
		}
		done, err := migrate.RepairUnique(ctx, emails, entity.Segments(8))
		fmt.Println(done) // fixed 3 orphaned, 12 missing claim; remaining 1 conflict
		for _, f := range done.Remaining {
			fmt.Println(f.Kind, f.Owners) // decide which of them keeps the value, and run it again
		}
		return err
	}
	_ = repair
}
