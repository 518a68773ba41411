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

// The item as it was before a write comes with the write, without another request.
func ExampleReturning() {
	ctx, e := context.Background(), entity.Fields[Edition]()
	editions := entity.Must(entity.New[Edition](desk()))
	var old Edition

	now, created, err := editions.Upsert(ctx, Edition{ISBN: "0-31", Publisher: "OUP"}, entity.Add(&e.Year, 2001), entity.Returning(&old))
	fmt.Println(now.Year, created, old.ISBN == "", err) // there was none
	now, err = editions.Update(ctx, Edition{ISBN: "0-31"}, entity.Set(&e.Year, 2004), entity.Returning(&old))
	fmt.Println(now.Year, old.Year, err)
	fmt.Println(editions.Delete(ctx, Edition{ISBN: "0-31"}, entity.Returning(&old)), old.Year)
	// prints
	// 2001 true true <nil>
	// 2004 2001 <nil>
	// <nil> 2004
}

// A program that has just read an item need not read it again to write it. Had somebody changed it meanwhile, the write
// would read it after all.
func ExampleKeepImage() {
	ctx, l := context.Background(), entity.Fields[Loan]()
	loans := entity.Must(entity.New[Loan](desk()))
	entity.Must(loans.Create(ctx, Loan{ISBN: "0-20", Reader: "bea"}))

	var kept entity.Image
	loan, err := loans.Get(ctx, Loan{ISBN: "0-20", Reader: "bea"}, entity.KeepImage(&kept))
	if err != nil {
		fmt.Println(err)
		return
	}
	if loan.Renewed < 3 {
		loan, err = loans.Update(ctx, loan, entity.Add(&l.Renewed, 1), entity.FromImage(&kept)) // one request
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

	left := books.Op().CheckExists(book, entity.Gt(&b.Copies, 0))
	lend := books.Op().Update(book, entity.Add(&b.Copies, -1))
	fmt.Println(db.Transact(ctx, left, lend))
	err := db.Transact(ctx, left, lend)
	fmt.Println(errors.Is(entity.FailureOf(err, left), entity.ErrConditionFailed), entity.FailureOf(err, lend))
	// prints
	// <nil>
	// true <nil>
}

// Ticket is followed by a program that reads the table's stream and needs both images.
type Ticket struct {
	_ entity.Key `name:"Ticket" pk:"$#{id}" sk:"$" stream:"both"`

	ID string `dynamodbav:"id"`
}

// What a table lacks of the declarations, as data. Here somebody has made it without the stream that tickets need, and
// with on demand billing.
func ExampleDB_Verify() {
	db := entity.Must(entity.Open(shelves.client, entity.Config{
		Table:        shelves.table,
		TableOptions: map[string]entity.TableOptions{"": {Provisioned: &entity.Throughput{Read: 10, Write: 5}}},
	}))
	entity.Must(entity.New[Ticket](db))
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

// Author and Edition lie in one partition of an index: its key is the same text for both.
type Author struct {
	_ entity.Key `name:"Author" pk:"$#{name}" sk:"$"`
	_ entity.GSI `name:"byPublisher" index:"gsi2" pk:"gsi2pk=PUBLISHER#{publisher}" sk:"$#{name}"`

	Name      string `dynamodbav:"name"`
	Publisher string `dynamodbav:"publisher,omitempty"`
}

type Edition struct {
	_ entity.Key `name:"Edition" pk:"$#{isbn}" sk:"$"`
	_ entity.GSI `name:"byPublisher" index:"gsi2" pk:"gsi2pk=PUBLISHER#{publisher}" sk:"$#{year}#{isbn}"`

	ISBN      string `dynamodbav:"isbn"`
	Year      int    `dynamodbav:"year,omitempty"`
	Publisher string `dynamodbav:"publisher,omitempty"`
}

// One request reads what a publisher has, of each kind, and another one writes it.
func ExampleDB_GetCollection() {
	ctx, e := context.Background(), entity.Fields[Edition]()
	db := desk()
	authors, editions := entity.Must(entity.New[Author](db)), entity.Must(entity.New[Edition](db))
	_, err := db.BatchWrite(ctx,
		authors.Op().BatchPut(Author{Name: "Ibsen", Publisher: "Gyldendal"}),
		authors.Op().BatchPut(Author{Name: "Undset", Publisher: "Aschehoug"}),
		editions.Op().BatchPut(Edition{ISBN: "0-22", Year: 1867, Publisher: "Gyldendal"}),
		editions.Op().BatchPut(Edition{ISBN: "0-23", Year: 1879, Publisher: "Gyldendal"}),
	)
	fmt.Println(err)

	var people []Author
	var recent []Edition
	err = db.GetCollection(ctx,
		entity.Must(authors.Index("byPublisher")).Query(Author{Publisher: "Gyldendal"}).Into(&people),
		entity.Must(editions.Index("byPublisher")).Query(Edition{Publisher: "Gyldendal"}, entity.Ge(&e.Year, 1870)).Into(&recent),
	)
	fmt.Println(err, len(people), people[0].Name, len(recent), recent[0].ISBN)
	// prints
	// <nil>
	// <nil> 1 Ibsen 1 0-23
}

// Items of any kinds in one request; found says which of them are there.
func ExampleDB_BatchGet() {
	ctx := context.Background()
	db := desk()
	authors, editions := entity.Must(entity.New[Author](db)), entity.Must(entity.New[Edition](db))
	entity.Must(authors.Create(ctx, Author{Name: "Hamsun", Publisher: "Cappelen"}))

	author, edition := Author{Name: "Hamsun"}, Edition{ISBN: "0-99"}
	found, err := db.BatchGet(ctx, authors.Op().GetInto(&author, entity.Consistent()), editions.Op().GetInto(&edition))
	fmt.Println(found, err, author.Publisher)
	// prints
	// [true false] <nil> Cappelen
}

// What is not written for the time being is tried again.
func ExampleDB_BatchWrite() {
	ctx := context.Background()
	db := desk()
	authors, editions := entity.Must(entity.New[Author](db)), entity.Must(entity.New[Edition](db))

	ops := []entity.BatchOp{authors.Op().BatchPut(Author{Name: "Bull"}), editions.Op().BatchDelete(Edition{ISBN: "0-98"})}
	for range 3 {
		left, err := db.BatchWrite(ctx, ops...)
		fmt.Println(len(left), err)
		if ops = left; len(left) == 0 {
			break
		}
	}
	// prints
	// 0 <nil>
}

// A scan of a table in four parts says how far it is.
func ExampleOnPage() {
	ctx := context.Background()
	db := desk()
	authors := entity.Must(entity.New[Author](db))
	entity.Must(authors.Create(ctx, Author{Name: "Collett"}))

	var last entity.ScanProgress
	n := 0
	for _, err := range authors.Scan(entity.Segments(4), entity.OnPage(func(p entity.ScanProgress) { last = p })).All(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		n++
	}
	fmt.Println(n == last.Found, n <= last.Evaluated, last.SegmentsDone, last.ReadUnits > 0)
	// prints
	// true true 4 true
}
