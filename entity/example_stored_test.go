package entity_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/versioned"
)

// Loan keeps its history, so that its writes read before they write, and leave snapshots behind.
type Loan struct {
	_ entity.Key `name:"Loan" pk:"$#{isbn}" sk:"$#{reader}"`
	_ versioned.Retain

	ISBN    string `dynamodbav:"isbn"`
	Reader  string `dynamodbav:"reader"`
	Renewed int    `dynamodbav:"renewed"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// shelves is the database of the examples below; a test runs them on a local one.
var shelves struct {
	client entity.Client
	table  string
}

// desk opens that database.
func desk() *entity.DB {
	return entity.Must(entity.Open(shelves.client, entity.Config{Table: shelves.table}))
}

// Purge removes an item with everything that it has left, and says how far it is.
func ExampleStore_Purge() {
	ctx, l := context.Background(), entity.Fields[Loan]()
	loans := entity.Must(entity.New[Loan](desk()))
	history := entity.Must(versioned.Of(loans))

	loan := entity.Must(loans.Create(ctx, Loan{ISBN: "0-19", Reader: "ada"}))
	entity.Must(loans.Update(ctx, loan, entity.Add(&l.Renewed, 1)))
	removed := 0
	err := loans.Purge(ctx, loan, entity.OnProgress(func(deleted int) { removed = deleted }))
	fmt.Println(removed, err) // the current item and the snapshot of version 1

	states, err := history.List(loan, versioned.WithCurrent()).Count(ctx)
	fmt.Println(states, err)
	fmt.Println(loans.Purge(ctx, loan)) // nothing is left: no error
	// prints
	// 2 <nil>
	// 0 <nil>
	// <nil>
}

// A program that has just read an item need not read it again to write it. Had somebody changed it meanwhile, the write
// would read it after all.
func ExampleKeep() {
	ctx, l := context.Background(), entity.Fields[Loan]()
	loans := entity.Must(entity.New[Loan](desk()))
	entity.Must(loans.Create(ctx, Loan{ISBN: "0-20", Reader: "bea"}))

	var kept entity.Handle
	loan, err := loans.Get(ctx, Loan{ISBN: "0-20", Reader: "bea"}, entity.Keep(&kept))
	if err != nil {
		fmt.Println(err)
		return
	}
	if loan.Renewed < 3 {
		loan, err = loans.Update(ctx, loan, entity.Add(&l.Renewed, 1), kept.From()) // one request
	}
	fmt.Println(loan.Renewed, loan.Version, err)
	// prints
	// 1 2 <nil>
}

// A check and a write of one item become one action; each has the error that it would have alone.
func ExampleDB_Transact_merged() {
	ctx, b := context.Background(), entity.Fields[Book]()
	db := desk()
	books := entity.Must(entity.New[Book](db))
	book := entity.Must(books.Create(ctx, Book{ISBN: "0-21", Title: "Vildanden", Copies: 1}))

	left := books.Op().Require(book, entity.Gt(&b.Copies, 0))
	lend := books.Op().Update(book, entity.Add(&b.Copies, -1))
	fmt.Println(db.Transact(ctx, left, lend))
	err := db.Transact(ctx, left, lend)
	fmt.Println(errors.Is(entity.FailureOf(err, left), entity.ErrCondition), entity.FailureOf(err, lend))
	// prints
	// <nil>
	// true <nil>
}

// What a table lacks of the declarations, as data. Here somebody has made it without the stream that tickets need, and
// with on demand billing.
func ExampleDB_Verify() {
	db := tickets(shelves.client, shelves.table)
	var found *entity.VerifyError
	if err := db.Verify(context.Background()); !errors.As(err, &found) {
		fmt.Println(err)
		return
	}
	for _, table := range found.Tables {
		for _, d := range table.Differences {
			fmt.Println(d.Kind == entity.DifferentStream, d)
		}
	}
	// prints
	// true stream: needs NEW_AND_OLD_IMAGES, has none
	// false billing: needs PROVISIONED, has PAY_PER_REQUEST
}
