package rules_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

// note has an optional field of each kind, and one that is always stored.
type note struct {
	_     entity.Key        `name:"Note" pk:"$#{id}" sk:"$"`
	ID    string            `dynamodbav:"id"`
	Text  string            `dynamodbav:"text,omitempty"`
	Count int               `dynamodbav:"count,omitempty"`
	Done  bool              `dynamodbav:"done,omitempty"`
	At    time.Time         `dynamodbav:"at,omitempty"`
	Ptr   *int              `dynamodbav:"ptr,omitempty"`
	List  []string          `dynamodbav:"list,omitempty"`
	Set   []string          `dynamodbav:"set,omitempty,stringset"`
	Bytes []byte            `dynamodbav:"bytes,omitempty"`
	Map   map[string]int    `dynamodbav:"map,omitempty"`
	In    compartment       `dynamodbav:"in"`
	Plain string            `dynamodbav:"plain"`
	More  map[string]string `dynamodbav:"more"`
}

type compartment struct {
	Name string `dynamodbav:"name,omitempty"`
}

// pair is a condition and its opposite.
type pair struct{ eq, ne entity.Cond }

func same[V any](field *V, v V) pair { return pair{entity.Eq(field, v), entity.Ne(field, v)} }

func TestEq_WithAnEmptyValueMeansWhatSetLeaves(t *testing.T) {
	t.Parallel()
	b := standing(t)
	s, f := declare[note](b), entity.Fields[note]()
	one := 1
	full := note{ID: "x", Text: "t", Count: 1, Done: true, At: now, Ptr: &one, List: []string{"a"}, Set: []string{"a"}, Bytes: []byte{1}, Map: map[string]int{"a": 1}, In: compartment{"n"}, Plain: "p"}
	empty := map[string]pair{
		"text": same(&f.Text, ""), "count": same(&f.Count, 0), "done": same(&f.Done, false), "at": same(&f.At, time.Time{}), "ptr": same(&f.Ptr, nil),
		"list": same(&f.List, nil), "empty list": same(&f.List, []string{}), "set": same(&f.Set, nil), "empty set": same(&f.Set, []string{}),
		"bytes": same(&f.Bytes, nil), "map": same(&f.Map, nil), "nested": same(&f.In.Name, ""),
		"in": {entity.In(&f.Text, "other", ""), entity.Not(entity.In(&f.Text, "other", ""))},
	}
	check := func(what string, holds bool, pairs map[string]pair) {
		t.Helper()
		for name, p := range pairs {
			_, err := s.Update(t.Context(), note{ID: "x"}, entity.Set(&f.Plain, "p"), entity.If(p.eq))
			if holds {
				require.NoError(t, err, "%s, %s", what, name)
			} else {
				require.ErrorIs(t, err, entity.ErrConditionFailed, "%s, %s", what, name)
			}
			got := entity.Must(s.Scan(entity.Filter(p.ne)).Collect(t.Context()))
			require.Equal(t, holds, len(got) == 0, "%s, filter %s", what, name)
		}
	}
	b.OK(s.Put(t.Context(), full))
	check("all there", false, empty)

	b.OK(s.Put(t.Context(), note{ID: "x"}))
	b.OK(s.Update(t.Context(), note{ID: "x"}, entity.Set(&f.Plain, "p")))
	check("absent", true, empty)
	check("never absent", true, map[string]pair{"plain": same(&f.Plain, "p")})
	check("a value", false, map[string]pair{"text": same(&f.Text, "t"), "count": same(&f.Count, 1), "ptr": same(&f.Ptr, &one), "pointee": same(f.Ptr, 0)})

	// Another program stores what is empty.
	null := func() av { return &types.AttributeValueMemberNULL{Value: true} }
	for what, attrs := range map[string]map[string]av{
		"null":  {"text": null(), "count": null(), "done": null(), "ptr": null(), "list": null(), "set": null(), "bytes": null(), "map": null()},
		"empty": {"text": &types.AttributeValueMemberS{}, "count": &types.AttributeValueMemberN{Value: "0.0"}, "done": &types.AttributeValueMemberBOOL{}, "list": &types.AttributeValueMemberL{}, "bytes": &types.AttributeValueMemberB{Value: []byte{}}, "map": &types.AttributeValueMemberM{Value: map[string]av{}}},
	} {
		b.ChangeItem("$app#v1#note#x", "$app#v1#note", attrs)
		check(what, true, empty)
	}
	// Where the empty value is stored, it is a value like others.
	check("no omitempty", false, map[string]pair{"plain": same(&f.Plain, ""), "map": same(&f.More, map[string]string{})})
}

func TestIf_WithoutAConditionIsAMistake(t *testing.T) {
	t.Parallel()
	b := standing(t)
	s, f := declare[note](b), entity.Fields[note]()
	var none []entity.Cond
	_, err := s.Update(t.Context(), note{ID: "x"}, entity.Set(&f.Plain, "p"), entity.If(none...))
	dbtest.RequireInput(t, err, "EDD-9108", "", "If")
	dbtest.RequireInput(t, s.Delete(t.Context(), note{ID: "x"}, entity.If()), "EDD-9108", "", "If")
	_, err = s.Create(t.Context(), note{ID: "x"}, entity.If(entity.NotExists(&f.Text)), entity.If())
	dbtest.RequireInput(t, err, "EDD-9108", "", "If")
	require.Empty(t, b.Sent())
}

// now is when the clock of a bench stands still.
var now = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func standing(t *testing.T) *dbtest.Bench {
	t.Helper()
	b := dbtest.Open(t)
	b.Clock.Set(now, 0)
	return b
}

func declare[T any](b *dbtest.Bench) *entity.Store[T] {
	b.T.Helper()
	s := dbtest.Declare[T](b.T, b.DB)
	b.CreateTables()
	return s
}

// invoice must be in its index, and need not be in the other one.
type invoice struct {
	_        entity.Key `name:"Invoice" pk:"$#{id}" sk:"$"`
	_        entity.GSI `name:"byCustomer" index:"gsi1" pk:"$#{customer}" sk:"$#{due}" missing:"error"`
	_        entity.GSI `name:"byMark" index:"gsi2" pk:"mark" sk:"gsi2sk={id}"`
	ID       string     `dynamodbav:"id"`
	Customer string     `dynamodbav:"customer"`
	Due      *time.Time `dynamodbav:"due,omitempty"`
	Mark     string     `dynamodbav:"mark"`
	Note     string     `dynamodbav:"note,omitempty"`
}

func TestMissing_AnItemThatAnIndexWouldLeaveOutIsRefused(t *testing.T) {
	t.Parallel()
	b := standing(t)
	s, f := declare[invoice](b), entity.Fields[invoice]()
	ctx := t.Context()
	whole := invoice{ID: "x", Customer: "c", Due: &now}
	noCustomer, noDue := whole, whole
	noCustomer.Customer, noDue.Due = "", nil
	for field, v := range map[string]invoice{"Customer": noCustomer, "Due": noDue} {
		_, err := s.Create(ctx, v)
		dbtest.RequireInput(t, err, "EDD-9103", field, "byCustomer")
		_, err = s.Put(ctx, v)
		dbtest.RequireInput(t, err, "EDD-9103", field, "byCustomer")
		_, _, err = s.Upsert(ctx, v)
		dbtest.RequireInput(t, err, "EDD-9103", field, "byCustomer")
		_, err = s.PutMany(ctx, []invoice{v})
		dbtest.RequireInput(t, err, "EDD-9103", field, "byCustomer")
	}
	for field, change := range map[string]entity.UpdateOption{"Customer": entity.Set(&f.Customer, ""), "Due": entity.Set(&f.Due, nil)} {
		_, err := s.Update(ctx, whole, change)
		dbtest.RequireInput(t, err, "EDD-9103", field, "byCustomer")
	}
	_, err := s.Update(ctx, whole, entity.Remove(&f.Due))
	dbtest.RequireInput(t, err, "EDD-9103", "Due", "byCustomer")
	require.Empty(t, b.Sent())

	_, _, err = s.Upsert(ctx, noCustomer, entity.Set(&f.Customer, "c"))
	require.NoError(t, err, "a change together with the value gives it")
	_, err = s.Modify(ctx, whole, func(v *invoice) error { v.Customer = ""; return nil })
	dbtest.RequireInput(t, err, "EDD-9103", "Customer", "byCustomer")
	got := entity.Must(entity.Must(s.Index("byCustomer")).Query(invoice{Customer: "c"}).Collect(ctx))
	require.Equal(t, []invoice{whole}, got)
	got = entity.Must(s.Scan(entity.Filter(entity.Eq(&f.Mark, ""))).Collect(ctx))
	require.Len(t, got, 1, "an index without missing leaves items out, and an empty key of it is not stored")
}
