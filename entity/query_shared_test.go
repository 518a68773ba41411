package entity_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

// Invoice and Receipt share partitions of their table and of an index.
type Invoice struct {
	_ entity.Key `name:"Invoice" pk:"pk={customer}" sk:"$#{id}"`
	_ entity.GSI `name:"byDay" index:"gsi1" pk:"gsi1pk={day}" sk:"$#{id}"`

	Customer string `dynamodbav:"customer"`
	ID       string `dynamodbav:"id"`
	Day      string `dynamodbav:"day,omitempty"`
	Amount   int    `dynamodbav:"amount"`
	Paid     bool   `dynamodbav:"paid"`
}

type Receipt struct {
	_ entity.Key `name:"Receipt" pk:"pk={customer}" sk:"$#{id}"`
	_ entity.GSI `name:"byDay" index:"gsi1" pk:"gsi1pk={day}" sk:"$#{id}"`

	Customer string `dynamodbav:"customer"`
	ID       string `dynamodbav:"id"`
	Day      string `dynamodbav:"day,omitempty"`
	Amount   int    `dynamodbav:"amount"`
	Paid     bool   `dynamodbav:"paid"`
}

// crowdedPartition holds two invoices, two receipts, and what features store with an item: none of it may show up as
// another entity, or as a current item.
func crowdedPartition(t *testing.T) (*lab, *entity.Store[Invoice], *entity.Store[Receipt]) {
	t.Helper()
	l := newLab(t)
	invoices, receipts := dbtest.Declare[Invoice](t, l.DB), dbtest.Declare[Receipt](t, l.DB)
	l.CreateTables()
	for i, id := range []string{"1", "2"} {
		l.OK(invoices.Create(t.Context(), Invoice{Customer: "c", ID: id, Day: "mon", Amount: i, Paid: i == 0}))
		l.OK(receipts.Create(t.Context(), Receipt{Customer: "c", ID: id, Day: "mon", Amount: i, Paid: i == 0}))
	}
	const at = "$app#v1#invoice#1"
	for _, sk := range []string{at + "#e#2024-05-06T07:08:09.123456789Z", at + "#v#0000001", at + "#deleted#2024-05-06T07:08:09.123456789Z"} {
		it := keys("pk", "c", "sk", sk, "__edd_e__", "Invoice", "_k", sk[len(at)+1:len(at)+2], "customer", "c", "id", "1", "gsi1pk", "mon", "day", "mon")
		it["paid"] = &types.AttributeValueMemberBOOL{Value: true}
		l.PutItem(it)
	}
	l.PutItem(keys("pk", "c", "sk", "$app#v1#invoice#15", "__edd_e__", "Stranger", "id", "15"))
	l.PutItem(keys("pk", "c", "sk", "$app#v1#invoice#16", "id", "16"))
	l.PutItem(keys("pk", "c", "sk", "zzz"))
	l.Sent()
	return l, invoices, receipts
}

func invoiceIDs(all []Invoice) (out []string) {
	for _, v := range all {
		out = append(out, v.ID)
	}
	return out
}

// A query sees the current items of its own entity, and nothing else in its range.
func TestQuery_SeesOnlyCurrentItemsOfItsEntity(t *testing.T) {
	t.Parallel()
	_, invoices, receipts := crowdedPartition(t)
	f := entity.Fields[Invoice]()
	for name, q := range map[string]entity.Query[Invoice]{
		"partition":  invoices.Query(Invoice{Customer: "c"}),
		"descending": invoices.Query(Invoice{Customer: "c"}, entity.Desc()),
		"Gt":         invoices.Query(Invoice{Customer: "c"}, entity.Gt(&f.ID, "0")),
		"Le":         invoices.Query(Invoice{Customer: "c"}, entity.Le(&f.ID, "2")),
		"prefix":     invoices.Query(Invoice{Customer: "c"}, entity.BeginsWith(&f.ID, "")),
		"limited":    invoices.Query(Invoice{Customer: "c"}, entity.Limit(5)),
	} {
		got, err := q.Collect(t.Context())
		require.NoError(t, err, name)
		require.ElementsMatch(t, []string{"1", "2"}, invoiceIDs(got), name)
		n, err := q.Count(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, 2, n, name)
	}
	got := entity.Must(invoices.Query(Invoice{Customer: "c"}, entity.Gt(&f.ID, "1")).Collect(t.Context()))
	require.Equal(t, []string{"2"}, invoiceIDs(got), "what is stored with 1 is not greater than 1")
	one := entity.Must(invoices.Query(Invoice{Customer: "c", ID: "1"}).One(t.Context()))
	require.Equal(t, "1", one.ID)
	n := entity.Must(receipts.Query(Receipt{Customer: "c"}).Count(t.Context()))
	require.Equal(t, 2, n)
}

// A top-level Or is added to the entity's own filter and does not replace it.
func TestQuery_OrInAFilterDoesNotLetOtherEntitiesIn(t *testing.T) {
	t.Parallel()
	_, invoices, _ := crowdedPartition(t)
	f := entity.Fields[Invoice]()
	byDay := entity.Must(invoices.Index("byDay"))
	for name, query := range map[string]func(Invoice, ...entity.QueryOption) entity.Query[Invoice]{"table": invoices.Query, "index": byDay.Query} {
		key := Invoice{Customer: "c"}
		if name == "index" {
			key = Invoice{Day: "mon"}
		}
		got := entity.Must(query(key, entity.Filter(entity.Or(entity.Eq(&f.Paid, true), entity.Eq(&f.Amount, 99)))).Collect(t.Context()))
		require.Equal(t, []string{"1"}, invoiceIDs(got), name)
		got = entity.Must(query(key, entity.Filter(entity.Or(entity.Eq(&f.Paid, true), entity.Eq(&f.Amount, 1))), entity.Filter(entity.Gt(&f.Amount, 0))).Collect(t.Context()))
		require.Equal(t, []string{"2"}, invoiceIDs(got), "%s: two filters are both kept", name)
		got = entity.Must(query(key, entity.Filter(entity.Not(entity.Eq(&f.Paid, true)))).Collect(t.Context()))
		require.Equal(t, []string{"2"}, invoiceIDs(got), name)
	}
}

// Cat and Dog are verbatim and share a table: a discriminator distinguishes them.
type Cat struct {
	_ entity.Key `name:"Cat" pk:"owner" sk:"name" kind:"type=cat"`

	Owner string `dynamodbav:"owner"`
	Name  string `dynamodbav:"name"`
	Lives int    `dynamodbav:"lives,omitempty"`
}

type Dog struct {
	_ entity.Key `name:"Dog" pk:"owner" sk:"name" kind:"type=dog"`

	Owner string `dynamodbav:"owner"`
	Name  string `dynamodbav:"name"`
	Breed string `dynamodbav:"breed,omitempty"`
}

func TestKind_IsWrittenOnEveryPathAndSeparatesEntities(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	cats, dogs := dbtest.Declare[Cat](t, l.DB), dbtest.Declare[Dog](t, l.DB)
	l.CreateTables()
	l.OK(cats.Create(t.Context(), Cat{Owner: "o", Name: "a", Lives: 9}))
	l.OK(cats.Upsert(t.Context(), Cat{Owner: "o", Name: "b"}))
	l.OK(cats.Update(t.Context(), Cat{Owner: "o", Name: "b"}, entity.Set(&entity.Fields[Cat]().Lives, 1)))
	l.OK(dogs.Create(t.Context(), Dog{Owner: "o", Name: "c"}))
	require.Equal(t, map[string]raw{
		"o a": {"owner": `S"o"`, "name": `S"a"`, "type": `S"cat"`, "lives": "N9"},
		"o b": {"owner": `S"o"`, "name": `S"b"`, "type": `S"cat"`, "lives": "N1"},
		"o c": {"owner": `S"o"`, "name": `S"c"`, "type": `S"dog"`},
	}, l.everything())
	got := entity.Must(cats.Query(Cat{Owner: "o"}).Collect(t.Context()))
	require.Equal(t, []Cat{{Owner: "o", Name: "a", Lives: 9}, {Owner: "o", Name: "b", Lives: 1}}, got)
	f := entity.Fields[Dog]()
	found := entity.Must(dogs.Query(Dog{Owner: "o"}, entity.Filter(entity.Or(entity.NotExists(&f.Breed), entity.Eq(&f.Breed, "x")))).Collect(t.Context()))
	require.Equal(t, []Dog{{Owner: "o", Name: "c"}}, found)
}
