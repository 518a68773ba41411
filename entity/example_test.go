package entity_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/exampletest"
	"github.com/dynastrata/dynastrata/versioned"
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
	//          if attribute_exists(pk) AND (attribute_not_exists(copies) OR attribute_type(copies, "N")) AND copies > 0 AND attribute_not_exists(_pv)
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
	//          if attribute_exists(pk) AND (size(title) < 20 AND author <> "Ibsen") AND attribute_not_exists(_pv)
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

// Borrowing has two mistakes.
type Borrowing struct {
	_ entity.Key `name:"Borrowing" pk:"$#{reader}" sk:"$#{book}"`

	Reader string `dynamodbav:"reader"`
	Due    string `dynamodbav:"due" entity:"created_at"`
}

// All mistakes of a declaration are found at once, when the store is built.
func ExampleNew() {
	_, err := entity.New[Borrowing](library())
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

// A copy is lent if one is left, which is decided again if another was lent meanwhile.
func ExampleDB_TransactFunc() {
	ctx, b := context.Background(), entity.Fields[Book]()
	db := desk()
	books := entity.Must(entity.New[Book](db))
	entity.Must(books.Create(ctx, Book{ISBN: "0-31", Title: "Rosmersholm", Copies: 2}))

	none := errors.New("no copy left")
	lend := func() error {
		return db.TransactFunc(ctx, func(ctx context.Context) ([]entity.Op, error) {
			book, err := books.Get(ctx, Book{ISBN: "0-31"}) // strongly consistent
			if err == nil && book.Copies == 0 {
				err = none // ends the call
			}
			return []entity.Op{books.Op().Update(book, entity.Set(&b.Copies, book.Copies-1), entity.If(entity.Eq(&b.Copies, book.Copies)))}, err
		})
	}
	fmt.Println(lend(), lend())
	fmt.Println(errors.Is(lend(), none))
	// prints
	// <nil> <nil>
	// true
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

// Visits counts the visitors of a site by day.
type Visits struct {
	_ entity.Key `name:"Visits" pk:"$#{site}" sk:"$#{day}"`

	Site   string                `dynamodbav:"site"`
	Day    time.Time             `dynamodbav:"day" entity:"time=s"`
	Total  int                   `dynamodbav:"total"`
	Latest []string              `dynamodbav:"latest,omitempty"`
	ByPage map[string]PageVisits `dynamodbav:"byPage,omitempty"`
}

// PageVisits counts those of one page.
type PageVisits struct {
	Hits int `dynamodbav:"hits"`
}

// Counters begin and go on in one request, whether or not the item is there.
func ExampleStore_Upsert_counter() {
	visits := entity.Must(entity.New[Visits](library()))
	v, day := entity.Fields[Visits](), time.Date(2024, 5, 6, 0, 0, 0, 0, time.UTC)
	fmt.Println(visits.Op().Upsert(Visits{Site: "s-1", Day: day}, entity.Add(&v.Total, 1), entity.ListPrepend(&v.Latest, "ada")))
	// Output:
	// Upsert Visits on library
	//   update pk="$app#v1#visits#s-1" sk="$app#v1#visits#2024-05-06T00:00:00Z"
	//          SET site = "s-1", day = "2024-05-06T00:00:00Z", total = if_not_exists(total, 0) + 1, latest = list_append(["ada"], if_not_exists(latest, [])), __edd_e__ = "Visits", _w = "w1"
	//          if (attribute_not_exists(total) OR attribute_type(total, "N")) AND (attribute_not_exists(latest) OR attribute_type(latest, "L")) AND attribute_not_exists(_pv)
}

// A value inside a map or list is named by a path, which has every change and condition of a field.
func ExampleInside() {
	visits := entity.Must(entity.New[Visits](library()))
	v, day := entity.Fields[Visits](), time.Date(2024, 5, 6, 0, 0, 0, 0, time.UTC)
	hits := entity.Inside[int](entity.MapEntry(&v.ByPage, "home"), "hits")
	fmt.Println(visits.Op().Update(Visits{Site: "s-1", Day: day}, hits.Add(1), entity.Elem(&v.Latest, 0).Set("bea"), entity.If(hits.Lt(100))))
	// Output:
	// Update Visits on library
	//   update pk="$app#v1#visits#s-1" sk="$app#v1#visits#2024-05-06T00:00:00Z"
	//          SET byPage.home.hits = if_not_exists(byPage.home.hits, 0) + 1, latest[0] = "bea", _w = "w1"
	//          if attribute_exists(pk) AND attribute_type(byPage.home, "M") AND attribute_type(latest, "L") AND (attribute_not_exists(byPage.home.hits) OR attribute_type(byPage.home.hits, "N")) AND byPage.home.hits < 100 AND attribute_not_exists(_pv)
}

// A range of the sort key has two ends, each of which belongs to it or not.
func ExampleStore_Query_range() {
	visits := entity.Must(entity.New[Visits](library()))
	v, day := entity.Fields[Visits](), time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	fmt.Println(visits.Query(Visits{Site: "s-1"}, entity.Ge(&v.Day, day), entity.Lt(&v.Day, day.AddDate(0, 1, 0))))
	// Output:
	// Query Visits on library
	//   key    pk = "$app#v1#visits#s-1" AND sk BETWEEN "$app#v1#visits#2024-05-01T00:00:00Z" AND "$app#v1#visits#2024-06-01T00:00:00Z"
	//   filter (attribute_not_exists(_k) AND __edd_e__ = "Visits") AND (day >= "2024-05-01T00:00:00Z" AND day < "2024-06-01T00:00:00Z")
}

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

// A program that has just read an item need not read it again to write it. If another program had changed it meanwhile, the write
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
// One of sixteen workers prints what it will read.
func ExampleSegment() {
	db := library()
	books := entity.Must(entity.New[Book](db))
	fmt.Println(books.Scan(entity.Segment(3, 16), entity.Filter(entity.Gt(&entity.Fields[Book]().Copies, 100))))
	// Output:
	// Scan Book on library
	//   filter (begins_with(sk, "$app#v1#book") AND attribute_not_exists(_k) AND __edd_e__ = "Book") AND copies > 100
	//   part   segment 3 of 16
}

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

// Examples that need a database have no output that go test would compare, since there may be none. This test compares it.
func TestExamples_PrintWhatTheySay(t *testing.T) {
	shelves.client, shelves.table = localdb.Test(t)
	empty := desk()
	entity.Must(entity.New[Loan](empty))
	entity.Must(entity.New[Book](empty))
	entity.Must(entity.New[Author](empty))
	entity.Must(entity.New[Edition](empty))
	require.NoError(t, tables.Create(t.Context(), empty))
	require.NoError(t, exampletest.Run("example_test.go",
		ExampleStore_Purge, ExampleReturning, ExampleKeepImage, ExampleDB_Transact_merged, ExampleDB_TransactFunc, ExampleDB_GetCollection,
		ExampleDB_BatchGet, ExampleDB_BatchWrite, ExampleOnPage, ExampleUpgrade))
}

// WriterV1 is the first form of Writer.
type WriterV1 struct {
	_ entity.Key `name:"Writer" pk:"$#{id}" sk:"$"`

	ID   string `dynamodbav:"id"`
	Name string `dynamodbav:"name"`
}

// Writer is today's form.
type Writer struct {
	_ entity.Key `name:"Writer" pk:"$#{id}" sk:"$" payload:"2"`

	ID    string `dynamodbav:"id"`
	First string `dynamodbav:"first"`
	Last  string `dynamodbav:"last"`
}

// Reads return upgraded items. The first write of an item stores it upgraded.
func ExampleUpgrade() {
	ctx := context.Background()
	old := entity.Must(entity.New[WriterV1](desk()))
	entity.Must(old.Put(ctx, WriterV1{ID: "w-1", Name: "Ada Byron"}))

	writers := entity.Must(entity.New[Writer](desk(), entity.Upgrade(1, func(w WriterV1) (Writer, error) {
		first, last, _ := strings.Cut(w.Name, " ")
		return Writer{ID: w.ID, First: first, Last: last}, nil
	})))
	ada, err := writers.Get(ctx, Writer{ID: "w-1"})
	fmt.Println(ada.First, ada.Last, err)
	ada, err = writers.Update(ctx, ada, entity.Set(&entity.Fields[Writer]().Last, "Lovelace"))
	fmt.Println(ada.First, ada.Last, err)
	// prints
	// Ada Byron <nil>
	// Ada Lovelace <nil>
}
