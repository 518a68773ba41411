package entity_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/exampletest"
)

// Chore is found by its state, through an index that carries keys only, and by its customer, together with payments.
type Chore struct {
	_ entity.Key `name:"Chore" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byState" index:"gsi1" pk:"$#{state}" sk:"$#{due}" project:"keys"`
	_ entity.GSI `name:"byCustomer" index:"gsi2" pk:"gsi2pk=CUSTOMER#{customer}" sk:"gsi2sk={due}"`

	ID       string `dynamodbav:"id"`
	State    string `dynamodbav:"state,omitempty"`
	Due      string `dynamodbav:"due,omitempty"`
	Customer string `dynamodbav:"customer,omitempty"`
	Title    string `dynamodbav:"title,omitempty"`
}

type Payment struct {
	_ entity.Key `name:"Payment" pk:"$#{number}" sk:"$"`
	_ entity.GSI `name:"byCustomer" index:"gsi2" pk:"gsi2pk=CUSTOMER#{customer}" sk:"gsi2sk={day}"`

	Number   string `dynamodbav:"number"`
	Day      string `dynamodbav:"day,omitempty"`
	Customer string `dynamodbav:"customer,omitempty"`
	Amount   int    `dynamodbav:"amount"`
}

// household is the database of the examples below; a test runs them on a local one.
var household struct {
	client   entity.Client
	db       *entity.DB
	chores   *entity.Store[Chore]
	payments *entity.Store[Payment]
}

// An index that carries keys only costs little to write; Hydrate reads the items that its entries stand for.
func ExampleHydrate() {
	byState := entity.Must(household.chores.Index("byState"))
	open := Chore{State: "open"}
	entries, err := byState.Query(open).Collect(context.Background())
	fmt.Printf("%s %q %v\n", entries[0].ID, entries[0].Title, err)
	whole, err := byState.Query(open, entity.Hydrate()).Collect(context.Background())
	fmt.Printf("%s %q %v\n", whole[0].ID, whole[0].Title, err)
	// prints
	// t-1 "" <nil>
	// t-1 "call Ada" <nil>
}

// Pages can be turned in both directions; the cursors are all that a program keeps.
func ExampleQuery_previousPage() {
	ctx := context.Background()
	q := entity.Must(household.chores.Index("byState")).Query(Chore{State: "open"}, entity.Limit(2))
	first, err := q.Page(ctx, "")
	fmt.Println(len(first.Items), first.Prev == "", err)
	second, err := q.Page(ctx, first.Next)
	fmt.Println(len(second.Items), second.Prev == "", err)
	again, err := q.Page(ctx, second.Prev)
	fmt.Println(again.Items[0].ID == first.Items[0].ID, again.Prev == "", err)
	// prints
	// 2 true <nil>
	// 1 false <nil>
	// true true <nil>
}

// The chores in one of several states, by due date.
func ExampleIndex_QueryAny() {
	byState := entity.Must(household.chores.Index("byState"))
	states := []Chore{{State: "open"}, {State: "blocked"}}
	for chore, err := range byState.QueryAny(states, entity.Limit(3)).All(context.Background()) {
		fmt.Println(chore.Due, chore.State, err)
	}
	// prints
	// 2026-01-03 open <nil>
	// 2026-01-04 blocked <nil>
	// 2026-01-05 open <nil>
}

// What a customer has, of several types, in the order of time.
func ExampleDB_GetCollection_visit() {
	chores, payments := entity.Must(household.chores.Index("byCustomer")), entity.Must(household.payments.Index("byCustomer"))
	err := household.db.GetCollection(context.Background(),
		chores.Query(Chore{Customer: "ada"}).Visit(func(t Chore) error {
			fmt.Println(t.Due, t.Title)
			return nil
		}),
		payments.Query(Payment{Customer: "ada"}).Visit(func(p Payment) error {
			fmt.Println(p.Day, p.Amount)
			if p.Amount > 50 {
				return entity.ErrStop // ends it without an error
			}
			return nil
		}),
	)
	fmt.Println(err)
	// prints
	// 2026-01-03 call Ada
	// 2026-01-04 20
	// 2026-01-05 visit Ada
	// 2026-01-06 70
	// <nil>
}

// A report uses every item that fits the struct, and says which do not.
func ExampleSkipUndecodable() {
	byCustomer := entity.Must(household.chores.Index("byCustomer"))
	chores, err := byCustomer.Query(Chore{Customer: "ada"}, entity.SkipUndecodable()).Collect(context.Background())
	if errors.Is(err, entity.ErrUndecodable) {
		fmt.Println("incomplete:", err) // names each item and attribute
		err = nil
	}
	fmt.Println(len(chores), err)
	// prints
	// 3 <nil>
}

// What a query finds is deleted page by page. A job that ends in the middle goes on from the cursor.
func ExampleStore_DeleteAll() {
	ctx, t := context.Background(), entity.Fields[Chore]()
	old := household.chores.Scan(entity.Filter(entity.Eq(&t.State, "done"), entity.Lt(&t.Due, "2026-01-01")))
	done, err := household.chores.DeleteAll(ctx, old, "", entity.Budget(0, 50)) // at most 50 write units per second
	if err != nil {
		fmt.Println("go on from", done.Cursor)
	}
	fmt.Println(done.Found, done.Deleted, err)
	// prints
	// 1 1 <nil>
}

// A program that serves tenants under credentials of their own declares its entities once. The DB of a request is made without
// compiling anything.
func ExampleDB_WithClient() {
	var clientOfTenant entity.Client = household.client // in production made of the tenant's credentials
	tenant := household.db.WithClient(clientOfTenant)
	chores, err := entity.New[Chore](tenant)
	if err != nil {
		fmt.Println(err)
		return
	}
	chore, err := chores.Get(context.Background(), Chore{ID: "t-1"})
	fmt.Println(chore.Title, err)
	// prints
	// call Ada <nil>
}

// A cache in front of DynamoDB serves eventually consistent reads. Writes, and what they are planned from, pass it by.
func ExampleConfig_readClient() {
	var cache entity.Client // such as one of a cache cluster
	db, err := entity.Open(household.client, entity.Config{Table: "app", ReadClient: cache})
	fmt.Println(db != nil, err)
	// prints
	// true <nil>
}

func TestExamplesOfReading_PrintWhatTheySay(t *testing.T) {
	client, table := localdb.Test(t)
	household.client = client
	household.db = entity.Must(entity.Open(client, entity.Config{Table: table}))
	household.chores, household.payments = entity.Must(entity.New[Chore](household.db)), entity.Must(entity.New[Payment](household.db))
	require.NoError(t, tables.Create(t.Context(), household.db))
	_, err := household.chores.PutMany(t.Context(), []Chore{
		{ID: "t-1", State: "open", Due: "2026-01-03", Customer: "ada", Title: "call Ada"},
		{ID: "t-2", State: "blocked", Due: "2026-01-04", Title: "write"},
		{ID: "t-3", State: "open", Due: "2026-01-05", Customer: "ada", Title: "visit Ada"},
		{ID: "t-4", State: "open", Due: "2026-01-09", Customer: "ada", Title: "thank Ada"},
		{ID: "t-5", State: "done", Due: "2025-12-09", Title: "tidy up"},
	}, entity.Unconditional())
	require.NoError(t, err)
	_, err = household.payments.PutMany(t.Context(), []Payment{
		{Number: "1", Day: "2026-01-04", Customer: "ada", Amount: 20}, {Number: "2", Day: "2026-01-06", Customer: "ada", Amount: 70},
	}, entity.Unconditional())
	require.NoError(t, err)
	require.NoError(t, exampletest.Run("example_reading_test.go",
		ExampleHydrate, ExampleQuery_previousPage, ExampleIndex_QueryAny, ExampleStore_DeleteAll, ExampleDB_GetCollection_visit,
		ExampleSkipUndecodable, ExampleDB_WithClient, ExampleConfig_readClient))
}
