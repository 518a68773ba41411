// Package rules_test holds rules that span packages of the library, on a local database and on plans. They share a package because each
// test program is linked with the whole SDK. The files are named after what they are about:
//
//   - conditions: what conditions say of absent attributes, of what has no order, ranges with two ends, and items that an index would leave out
//   - context: what the context says of a write, and what a Delete changes and forgives
//   - counters: changes together with whole values, changes at paths, the item before a write, and what a Modify leaves as it is stored
//   - defaults: what completes a value before it is written: defaults, generated ids and Prepare methods
//   - keys: keys, cursors and secrets as a program meets them
//   - large: items that are too large, or do not fit their struct
//   - sets: sets that a struct holds as maps
//   - shards: indexes whose partitions are spread: a model of all verbs, and what queries take
//   - tables: what a DB makes of its declarations, prints and verifies, and what changes later
//   - validate, validator: what validates values before they are written: their own Validate methods, and the configured Validator
//   - when: indexes that hold items only while a condition holds
package rules_test

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// reading has a composed sort key, an index with a native number and one with a native text as sort keys.
type slotted struct {
	_    entity.Key `name:"Reading" pk:"$#{box}" sk:"$#{day}#{slot}"`
	_    entity.GSI `name:"byHeat" index:"gsi1" pk:"box" sk:"heat"`
	_    entity.GSI `name:"byWord" index:"gsi2" pk:"box" sk:"word"`
	Box  string     `dynamodbav:"box"`
	Day  time.Time  `dynamodbav:"day" entity:"time=s"`
	Slot int        `dynamodbav:"slot" entity:"zero"`
	Heat float64    `dynamodbav:"heat"`
	Word string     `dynamodbav:"word"`
}

// span is a range, as options and as the values in it.
type span[V any] struct {
	name string
	opts []entity.QueryOption
	in   func(V) bool
}

// spans are the ranges from lo to hi, with and without each end, one of them with the ends turned round.
func spans[V any](field *V, lo, hi V, compare func(a, b V) int) (all []span[V]) {
	for _, low := range []string{"Gt", "Ge"} {
		for _, high := range []string{"Lt", "Le"} {
			from := map[string]func(*V, V) entity.Cond{"Gt": entity.Gt[V], "Ge": entity.Ge[V]}[low](field, lo)
			to := map[string]func(*V, V) entity.Cond{"Lt": entity.Lt[V], "Le": entity.Le[V]}[high](field, hi)
			in := func(v V) bool {
				a, b := compare(v, lo), compare(v, hi)
				return (a > 0 || a == 0 && low == "Ge") && (b < 0 || b == 0 && high == "Le")
			}
			name := fmt.Sprintf("%s %v, %s %v", low, lo, high, hi)
			if low == "Ge" && high == "Lt" {
				all = append(all, span[V]{name + ", turned", []entity.QueryOption{to, from}, in})
			}
			all = append(all, span[V]{name, []entity.QueryOption{from, to}, in})
		}
	}
	return all
}

// ranges checks the items of every range between the values.
func ranges[T, V any](t *testing.T, b *dbtest.Bench, query func(...entity.QueryOption) entity.Query[T], all []T, field *V, get func(T) V, compare func(a, b V) int, values ...V) {
	t.Helper()
	for _, lo := range values {
		for _, hi := range values {
			for _, r := range spans(field, lo, hi, compare) {
				want := []T{}
				for _, v := range all {
					if r.in(get(v)) {
						want = append(want, v)
					}
				}
				b.Sent()
				q := query(r.opts...)
				got, err := q.Collect(t.Context())
				require.NoError(t, err, r.name)
				require.Equal(t, want, got, "%s: %s", r.name, q)
				require.LessOrEqual(t, len(b.Sent()), 1, r.name)
			}
		}
	}
}

func TestQuery_ARangeHasTwoEndsEachOpenOrClosed(t *testing.T) {
	b := standing(t)
	s, f := declare[slotted](b), entity.Fields[slotted]()
	day := func(n int) time.Time { return now.Add(time.Duration(n) * 24 * time.Hour) }
	words := []string{"a", "ab", "b"}
	var all []slotted
	for d := range 3 {
		for slot := range 2 {
			v := slotted{Box: "x", Day: day(d), Slot: slot, Heat: float64(d) + 0.5*float64(slot), Word: words[d]}
			b.OK(s.Create(t.Context(), v))
			all = append(all, v)
		}
	}
	byDay := func(opts ...entity.QueryOption) entity.Query[slotted] { return s.Query(slotted{Box: "x"}, opts...) }
	ranges(t, b, byDay, all, &f.Day, func(v slotted) time.Time { return v.Day }, time.Time.Compare, day(0), day(2), day(1).Add(1))
	bySlot := func(opts ...entity.QueryOption) entity.Query[slotted] {
		return s.Query(slotted{Box: "x", Day: day(1)}, opts...)
	}
	ranges(t, b, bySlot, all[2:4], &f.Slot, func(v slotted) int { return v.Slot }, cmp.Compare[int], 0, 1)
	index := func(name string) func(opts ...entity.QueryOption) entity.Query[slotted] {
		return func(opts ...entity.QueryOption) entity.Query[slotted] {
			return entity.Must(s.Index(name)).Query(slotted{Box: "x"}, opts...)
		}
	}
	ranges(t, b, index("byHeat"), all, &f.Heat, func(v slotted) float64 { return v.Heat }, cmp.Compare[float64], 0.5, 1.25, 2)
	byWord := entity.Must(index("byWord")().Collect(t.Context())) // in what order equal keys come is up to the database
	require.ElementsMatch(t, all, byWord)
	ranges(t, b, index("byWord"), byWord, &f.Word, func(v slotted) string { return v.Word }, cmp.Compare[string], "", "aa", "b")

	require.Contains(t, index("byHeat")(entity.Ge(&f.Heat, 0.5), entity.Lt(&f.Heat, 2)).String(), "keep   heat >= 0.5")
	for name, opts := range map[string][]entity.QueryOption{
		"two lower ends":        {entity.Gt(&f.Day, day(0)), entity.Ge(&f.Day, day(0))},
		"two upper ends":        {entity.Lt(&f.Day, day(0)), entity.Le(&f.Day, day(0))},
		"three ends":            {entity.Gt(&f.Day, day(0)), entity.Le(&f.Day, day(2)), entity.Lt(&f.Day, day(2))},
		"Between and an end":    {entity.Between(&f.Day, day(0), day(1)), entity.Lt(&f.Day, day(2))},
		"an end and Between":    {entity.Gt(&f.Day, day(0)), entity.Between(&f.Day, day(0), day(1))},
		"ends of other parts":   {entity.Gt(&f.Day, day(0)), entity.Lt(&f.Slot, 1)},
		"equality after an end": {entity.Gt(&f.Day, day(0)), entity.Eq(&f.Day, day(1))},
	} {
		require.Equal(t, "EDD-9004", dbtest.InputCode(dbtest.ErrorOf(s.Query(slotted{Box: "x"}, opts...).Collect(t.Context()))), name)
	}
}

func TestTimes_TooFineNameTheRemedy(t *testing.T) {
	b := standing(t)
	s, f, fine := declare[slotted](b), entity.Fields[slotted](), now.Add(1)
	_, err := s.Create(t.Context(), slotted{Box: "x", Day: fine})
	dbtest.RequireInput(t, err, "EDD-9102", "Day", "format s", "t.Truncate(time.Second)")
	dbtest.RequireInput(t, dbtest.ErrorOf(s.Get(t.Context(), slotted{Box: "x", Day: fine})), "EDD-9102", "Day", "t.Truncate(time.Second)")
	_, err = s.Scan(entity.Filter(entity.Eq(&f.Day, fine))).Collect(t.Context())
	dbtest.RequireInput(t, err, "EDD-9102", "Day", "t.Truncate(time.Second)")
	require.Empty(t, b.Sent())
}

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

	Exact  attributevalue.Number `dynamodbav:"exact,omitempty"`
	Digits int                   `dynamodbav:"digits,string,omitempty"`
}

type compartment struct {
	Name  string   `dynamodbav:"name,omitempty"`
	Doors []string `dynamodbav:"doors,omitempty,stringset"`
}

// pair is a condition and its opposite.
type pair struct{ eq, ne entity.Cond }

func same[V any](field *V, v V) pair { return pair{entity.Eq(field, v), entity.Ne(field, v)} }

func TestEq_WithAnEmptyValueMeansWhatSetLeaves(t *testing.T) {
	b := standing(t)
	s, f, one := declare[note](b), entity.Fields[note](), 1
	full := note{ID: "x", Text: "t", Count: 1, Done: true, At: now, Ptr: &one, List: []string{"a"}, Set: []string{"a"}, Bytes: []byte{1}, Map: map[string]int{"a": 1}, In: compartment{Name: "n"}, Plain: "p"}
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
	b := standing(t)
	s, f := declare[note](b), entity.Fields[note]()
	var none []entity.Cond
	dbtest.RequireInput(t, dbtest.ErrorOf(s.Update(t.Context(), note{ID: "x"}, entity.Set(&f.Plain, "p"), entity.If(none...))), "EDD-9108", "", "If")
	dbtest.RequireInput(t, s.Delete(t.Context(), note{ID: "x"}, entity.If()), "EDD-9108", "", "If")
	_, err := s.Create(t.Context(), note{ID: "x"}, entity.If(entity.NotExists(&f.Text)), entity.If())
	dbtest.RequireInput(t, err, "EDD-9108", "", "If")
	require.Empty(t, b.Sent())
}

// now is when the clock of a bench stands still.
var now = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func standing(t *testing.T) *dbtest.Bench {
	t.Helper()
	dbtest.Parallel(t)
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
	b := standing(t)
	s, f, ctx := declare[invoice](b), entity.Fields[invoice](), t.Context()
	whole := invoice{ID: "x", Customer: "c", Due: &now}
	noCustomer, noDue := whole, whole
	noCustomer.Customer, noDue.Due = "", nil
	for field, v := range map[string]invoice{"Customer": noCustomer, "Due": noDue} {
		dbtest.RequireInput(t, dbtest.ErrorOf(s.Create(ctx, v)), "EDD-9103", field, "byCustomer")
		dbtest.RequireInput(t, dbtest.ErrorOf(s.Put(ctx, v)), "EDD-9103", field, "byCustomer")
		dbtest.RequireInput(t, dbtest.ErrorOf(s.Upsert(ctx, v)), "EDD-9103", field, "byCustomer")
		dbtest.RequireInput(t, dbtest.ErrorOf(s.PutMany(ctx, []invoice{v})), "EDD-9103", field, "byCustomer")
	}
	for field, change := range map[string]entity.UpdateOption{"Customer": entity.Set(&f.Customer, ""), "Due": entity.Set(&f.Due, nil)} {
		dbtest.RequireInput(t, dbtest.ErrorOf(s.Update(ctx, whole, change)), "EDD-9103", field, "byCustomer")
	}
	dbtest.RequireInput(t, dbtest.ErrorOf(s.Update(ctx, whole, entity.Remove(&f.Due))), "EDD-9103", "Due", "byCustomer")
	require.Empty(t, b.Sent())

	require.NoError(t, dbtest.ErrorOf(s.Upsert(ctx, noCustomer, entity.Set(&f.Customer, "c"))), "a change together with the value gives it")
	_, err := s.Modify(ctx, whole, func(v *invoice) error { v.Customer = ""; return nil })
	dbtest.RequireInput(t, err, "EDD-9103", "Customer", "byCustomer")
	got := entity.Must(entity.Must(s.Index("byCustomer")).Query(invoice{Customer: "c"}).Collect(ctx))
	require.Equal(t, []invoice{whole}, got)
	got = entity.Must(s.Scan(entity.Filter(entity.Eq(&f.Mark, ""))).Collect(ctx))
	require.Len(t, got, 1, "an index without missing leaves items out, and an empty key of it is not stored")
}

type av = types.AttributeValue

func str(s string) av { return dbtest.S(s) }
func num(s string) av { return dbtest.N(s) }

func pointer[V any](v V) *V { return &v }

// DynamoDB refuses to order what has no order, whatever the item; so it is a mistake in the call.
func TestConditions_WithoutAnOrderAreRefusedBeforeARequest(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[note](t)
	f := entity.Fields[note]()
	for field, conds := range map[string][]entity.Cond{
		"Done":  {entity.Lt(&f.Done, true), entity.Le(&f.Done, true), entity.Gt(&f.Done, false), entity.Ge(&f.Done, false), entity.Between(&f.Done, false, true)},
		"Ptr":   {entity.Lt(&f.Ptr, nil), entity.Between(&f.Ptr, nil, pointer(1)), entity.Between(&f.Ptr, pointer(1), nil)},
		"Set":   {entity.Ge(&f.Set, []string{"a"})},
		"In":    {entity.Gt(&f.In, compartment{}), entity.Lt(&f.In.Doors, []string{"a"})},
		"Map":   {entity.Between(&f.Map, nil, nil)},
		"Exact": {entity.BeginsWith(&f.Exact, "1")},
	} {
		for _, c := range conds {
			dbtest.RequireInput(t, dbtest.ErrorOf(s.Update(t.Context(), note{ID: "x"}, entity.Set(&f.Count, 1), entity.If(c))), "EDD-9111", field)
			require.Empty(t, l.Operations())
			dbtest.RequireInput(t, dbtest.ErrorOf(s.Scan(entity.Filter(entity.Not(c))).Count(t.Context())), "EDD-9111", field)
			require.Empty(t, l.Operations())
		}
	}
	for _, c := range []entity.Cond{entity.Lt(&f.Ptr, pointer(0)), entity.Ge(&f.Bytes, []byte{}), entity.Lt(&f.Digits, 1), entity.Between(&f.Exact, "1", "2"), entity.Ne(&f.Done, true), entity.In(&f.Ptr, nil)} {
		l.OK(s.Scan(entity.Filter(c)).Count(t.Context()))
	}
}
