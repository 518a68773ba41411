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
//   - validate: what validates values before they are written: their own Validate methods, and the configured Validator
//   - when: indexes that hold items only while a condition holds
package rules_test

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/versioned"
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
	l, s := opened[note](t)
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

// task has attributes of every kind, two of which are secret.
type task struct {
	_ entity.Key `name:"Task" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byOwner" index:"gsi1" pk:"gsi1pk=OWNER#{owner}" sk:"gsi1sk={id}"`
	_ entity.GSI `name:"byPin" index:"gsi3" pk:"gsi3pk=PIN#{pin}" sk:"gsi3sk={id}"`
	_ versioned.Retain

	ID      string            `dynamodbav:"id"`
	Owner   string            `dynamodbav:"owner"`
	Title   string            `dynamodbav:"title"`
	Spent   int               `dynamodbav:"spent"`
	Budget  int               `dynamodbav:"budget"`
	Done    bool              `dynamodbav:"done"`
	Due     time.Time         `dynamodbav:"due" entity:"time=unix"`
	Tags    []string          `dynamodbav:"tags,stringset"`
	Steps   []step            `dynamodbav:"steps"`
	Labels  map[string]string `dynamodbav:"labels"`
	Raw     []byte            `dynamodbav:"raw"`
	Note    *string           `dynamodbav:"note"`
	Gone    string            `dynamodbav:"gone,omitempty"`
	Pin     string            `dynamodbav:"pin" entity:"secret"`
	Codes   []string          `dynamodbav:"codes" entity:"secret"`
	Version int64             `dynamodbav:"version" entity:"version"`
}

type step struct {
	Name string `dynamodbav:"name"`
	Cost int    `dynamodbav:"cost"`
}

func aTask(b *dbtest.Bench) task {
	return task{
		ID: "t", Owner: "ada", Title: "write it down", Spent: 70, Budget: 100, Due: now, Tags: []string{"x", "y"},
		Steps: []step{{"one", 70}, {"two", 100}}, Labels: map[string]string{"a.b": "dotted", "kind": "chore", "x[0]": "bracketed"},
		Raw: []byte{1, 2, 3}, Pin: "1234", Codes: []string{"c0de"},
	}
}

var (
	name  = expression.Name
	value = expression.Value
)

// wheres are conditions on aTask with every function of the SDK's package that makes one, and what they say of it.
func wheres(b *dbtest.Bench) map[bool][]expression.ConditionBuilder {
	two := value(2)
	return map[bool][]expression.ConditionBuilder{
		true: {
			expression.Equal(name("spent"), value(70)), name("title").Equal(value("write it down")), value(70).Equal(name("spent")), name("tags").Size().Equal(two),
			name("spent").Equal(name("steps[0].cost")), name("due").Equal(value(attributevalue.UnixTime(now))), name("done").Equal(value(false)), name("note").Equal(value(nil)),
			name("labels.kind").Equal(value("chore")), expression.NameNoDotSplit("tags").Equal(value(&types.AttributeValueMemberSS{Value: []string{"y", "x"}})),
			name("labels").AppendName(expression.NameNoDotSplit("a.b")).Equal(value("dotted")),
			expression.NotEqual(name("spent"), name("budget")), name("gone").NotEqual(value("x")), value(1).NotEqual(name("spent")), name("title").Size().NotEqual(name("steps").Size()),
			expression.LessThan(name("spent"), name("budget")), name("spent").LessThan(value(71)), value(69).LessThan(name("spent")), name("steps").Size().LessThan(value(3)),
			expression.LessThanEqual(name("spent"), name("budget")), name("spent").LessThanEqual(value(70)), value(70).LessThanEqual(name("spent")), name("raw").Size().LessThanEqual(value(3)),
			expression.GreaterThan(name("budget"), name("spent")), name("title").GreaterThan(value("w")), value(71).GreaterThan(name("spent")), name("labels").Size().GreaterThan(two),
			expression.GreaterThanEqual(name("budget"), name("spent")), name("raw").GreaterThanEqual(value([]byte{1})), value(70).GreaterThanEqual(name("spent")), name("title").Size().GreaterThanEqual(value(13)),
			expression.Between(value(80), name("spent"), name("budget")), name("spent").Between(value(70), name("budget")), value(80).Between(value(1), name("budget")), name("title").Size().Between(value(1), value(20)),
			expression.In(name("spent"), value(1), value(70)), name("spent").In(name("steps[0].cost")), value(70).In(name("budget"), name("spent")), name("tags").Size().In(value(1), two),
			expression.AttributeExists(name("steps[1]")), name("note").AttributeExists(), name("gsi1pk").AttributeExists(), name("pk").AttributeExists(),
			expression.AttributeNotExists(name("steps[2].cost")), name("gone").AttributeNotExists(),
			expression.AttributeType(name("tags"), expression.StringSet), name("note").AttributeType(expression.Null), name("labels.kind").AttributeType(expression.String),
			expression.BeginsWith(name("title"), "write"), name("gsi1pk").BeginsWith("OWNER#a"),
			expression.Contains(name("title"), "it"), name("tags").Contains("x"), name("raw").Contains([]byte{2, 3}), name("steps").Contains(step{"one", 70}),
			expression.And(name("spent").LessThan(name("budget")), name("tags").Contains("x"), name("steps").Size().Equal(two)),
			name("done").Equal(value(false)).And(name("spent").Equal(value(70)).Or(name("spent").Equal(value(1)))),
			expression.Or(name("done").Equal(value(true)), name("spent").Equal(value(70)), name("spent").Equal(value(1))),
			expression.Not(name("gone").AttributeExists()), name("spent").GreaterThan(name("budget")).Not(),
		},
		false: {
			name("spent").Equal(name("budget")), name("gone").Equal(name("title")), name("gone").Size().LessThan(value(5)), name("spent").Size().Equal(two),
			name("title").Contains("zzz"), name("note").AttributeType(expression.String), name("title").Equal(name("spent")),
			expression.And(name("spent").Equal(value(70)), name("done").Equal(value(true))), name("gsi1pk").Equal(value("OWNER#x")), name("labels").Size().Equal(value(0)),
			expression.Not(name("tags").Size().Equal(two)),
		},
	}
}

// Every condition of the SDK's package means in If and in Filter what DynamoDB says of it.
func TestWhere_EveryConditionInIfAndFilter(t *testing.T) {
	b := standing(t)
	s := declare[task](b)
	b.OK(s.Create(t.Context(), aTask(b)))
	for want, list := range wheres(b) {
		for _, built := range list {
			c := entity.Where(built)
			op := s.Op().CheckExists(task{ID: "t"}, c)
			if err := b.DB.Transact(t.Context(), op); want {
				require.NoError(t, err, "%s", op)
			} else {
				require.ErrorIs(t, err, entity.ErrConditionFailed, "%s", op)
			}
			scan := s.Scan(entity.Filter(entity.Not(c)))
			n, err := scan.Count(t.Context())
			require.NoError(t, err, "%s", scan)
			require.Equal(t, want, n == 0, "%s", scan)
		}
	}
}

func TestWhere_PlansHideSecrets(t *testing.T) {
	b := standing(t)
	s := declare[task](b)
	for _, c := range []expression.ConditionBuilder{
		name("pin").Equal(value("hush")), value("hush").Equal(name("pin")), name("pin").Contains("hush"), name("pin").BeginsWith("hush"), name("codes[0]").Equal(value("hush")),
		name("title").Between(value("hush"), name("pin")), value("hush").In(name("title"), name("pin")), name("codes").AppendName(name("hush")).AttributeExists(),
		name("codes.hush").Size().Equal(name("spent")), name("pin").NotEqual(value("hush")).Not(), name("gsi3pk").Equal(value("hush")), name("codes").Size().Equal(value(987654)),
	} {
		for _, text := range []string{
			s.Op().Delete(task{ID: "t"}, entity.If(entity.Where(c))).String(), s.Scan(entity.Filter(entity.Where(c))).String(),
		} {
			require.Contains(t, text, "<hidden>")
			require.NotContains(t, text, "hush")
			require.NotContains(t, text, "987654")
		}
		_, err := s.Put(t.Context(), task{ID: "t", Owner: "o", Pin: "p", Codes: []string{"c"}}, entity.If(entity.Where(c), entity.Where(name("spent").Equal(value(987654)))))
		require.ErrorIs(t, err, entity.ErrConditionFailed)
		require.NotContains(t, err.Error(), "hush")
		require.NotContains(t, err.Error(), "987654")
	}
	require.Contains(t, s.Scan(entity.Filter(entity.Where(expression.And(name("tags").Size().LessThan(value(10)), value(80).Between(name("spent"), name("budget")))))).String(),
		"size(tags) < 10 AND 80 BETWEEN spent AND budget")
}

func TestWhere_MistakesAreFoundBeforeARequest(t *testing.T) {
	b := standing(t)
	s := declare[task](b)
	var none *types.AttributeValueMemberB
	many := make([]expression.OperandBuilder, 100)
	for i := range many {
		many[i] = value(i)
	}
	long := name("spent").Equal(value(0))
	for range 300 {
		long = long.Or(name("spent").Equal(value(0)))
	}
	for code, list := range map[string]map[string]expression.ConditionBuilder{
		"EDD-9105": {
			`"nothing"`: name("nothing").AttributeExists(), `"_w"`: name("_w").AttributeExists(), `"Spent"`: name("Spent").Equal(value(1)), `"spent "`: name("spent ").Size().Equal(value(1)),
			`"other"`: name("spent").LessThan(name("other.x")), `"in"`: expression.And(name("spent").Equal(value(1)), expression.Not(expression.NameNoDotSplit("in.it").AttributeExists())),
		},
		"EDD-9102": {
			"type is N": name("due").LessThan(value(now)), "value of type S": name("spent").Equal(value("1")), "type is S": name("gsi1pk").Equal(value(1)), "UTF-8": name("title").Equal(value("\xff")),
			"not a number": name("spent").Equal(value(&types.AttributeValueMemberN{Value: "NaN"})), "with a value of type N": name("title").In(value("a"), value(1)),
			"labels.a, whose DynamoDB type is S": name("labels.a").Equal(value(1)), "steps[0].cost, whose DynamoDB type is N": name("steps[0].cost").In(value(1), value("1")),
		},
		"EDD-9111": {
			"unset parameter: ConditionBuilder": {}, "unset parameter: NameBuilder": name("").AttributeExists(), "invalid parameter": name("a..b").AttributeExists(),
			"panicked": name("spent").Equal(nil), "is nil": name("raw").Equal(value(none)), "not part of a condition": name("spent").Equal(name("budget").Plus(value(1))),
			"with itself": name("spent").Equal(name("spent")), "In takes": name("spent").In(value(0), many...), "name of a DynamoDB type": name("spent").AttributeType("int"),
			"stored as strings, numbers or binaries": name("done").LessThan(value(true)), "different types": name("labels.a.x").Between(value(1), value("b")),
			"a size is a number": name("tags").Size().Equal(value("2")), "operators": long, "range of BETWEEN": value(5).Between(value(9), value(1)),
			"is empty": name("spent").Between(value(100), value(1)), "lower bound is above": name("title").Size().Between(value(9), value(1)),
		},
	} {
		for text, c := range list {
			cond := entity.Where(c)
			for _, cond := range []entity.Cond{cond, entity.Not(cond), entity.And(entity.Where(name("spent").Equal(value(1))), cond)} {
				requireWhere(t, dbtest.ErrorOf(s.Put(t.Context(), aTask(b), entity.If(cond))), code, text)
				requireWhere(t, dbtest.ErrorOf(s.Scan(entity.Filter(cond)).Collect(t.Context())), code, text)
				requireWhere(t, b.DB.Transact(t.Context(), s.Op().CheckExists(task{ID: "t"}, cond)), code, text)
			}
		}
	}
	require.Empty(t, b.Sent())
}

// requireWhere is requireInput for any field.
func requireWhere(t *testing.T, err error, code, part string) {
	t.Helper()
	input := dbtest.As[*entity.InputError](t, err, part)
	require.Equal(t, code, input.Code, input.Problem)
	require.Contains(t, input.Problem, part)
}

func TestWhere_IsNoConditionOnAKey(t *testing.T) {
	b := standing(t)
	s, other := declare[task](b), standing(t)
	byHeat, byOwner := entity.Must(declare[slotted](other).Index("byHeat")), entity.Must(s.Index("byOwner"))
	_, err := byHeat.Query(slotted{Box: "b"}, entity.Where(name("heat").Equal(value(1)))).Collect(t.Context())
	dbtest.RequireInput(t, err, "EDD-9006", "", "Where")
	_, err = byHeat.Query(slotted{Box: "b"}, entity.Filter(entity.Where(name("word").Size().Equal(name("heat"))))).Collect(t.Context())
	dbtest.RequireInput(t, err, "EDD-9112", "Heat")
	_, err = byOwner.Query(task{Owner: "ada"}, entity.Filter(entity.Where(name("gsi1sk").BeginsWith("a")))).Collect(t.Context())
	dbtest.RequireInput(t, err, "EDD-9112", "")
	h := entity.Must(versioned.Of(s))
	_, err = h.List(task{ID: "t"}, entity.Where(name("version").Equal(value(1)))).Collect(t.Context())
	dbtest.RequireInput(t, err, "EDD-9111", "", "Where")
	require.Zero(t, len(b.Sent())+len(other.Sent()))
}

// Where the library evaluates conditions itself, those of operators that it evaluates as DynamoDB does are taken, and others are
// refused.
func TestWhere_InMemory(t *testing.T) {
	b := standing(t)
	f, series := entity.Fields[task](), entity.Must(timeseries.New[sample](b.DB))
	s := declare[task](b)
	b.OK(s.Create(t.Context(), aTask(b)))
	b.OK(series.Append(t.Context(), sample{ID: "m", At: 1, N: 1}))
	byOwner, h := entity.Must(s.Index("byOwner")), entity.Must(versioned.Of(s))
	b.Sent()
	known := entity.Where(expression.And(name("title").Contains("it"), name("spent").Between(value(1), value(70)), value(100).Equal(name("budget")), name("tags").AttributeType("SS")))
	for op, c := range map[string]expression.ConditionBuilder{
		"size": name("tags").Size().Equal(value(2)), "< between attributes": name("spent").LessThan(name("budget")), "BETWEEN between attributes": expression.Not(value(1).Between(name("spent"), name("budget"))),
	} {
		cond := entity.And(known, entity.Or(entity.Eq(&f.Done, true), entity.Where(c)))
		var got []task
		err := b.DB.GetCollection(t.Context(), byOwner.Query(task{Owner: "ada"}, entity.Filter(cond)).Into(&got))
		dbtest.RequireInput(t, err, "EDD-9140", "", op, "GetCollection")
		dbtest.RequireInput(t, dbtest.ErrorOf(h.List(task{ID: "t"}, entity.Filter(cond)).Collect(t.Context())), "EDD-9140", "", op, "versions")
		err = b.DB.Transact(t.Context(), s.Op().CheckExists(task{ID: "t"}, cond), s.Op().CheckExists(task{ID: "t"}, entity.Eq(&f.Owner, "ada")))
		dbtest.RequireInput(t, err, "EDD-9140", "", op, "transaction")
		require.Empty(t, b.Sent())
	}
	high := entity.Where(name("at").LessThan(name("n")))
	err := b.DB.Transact(t.Context(), series.Op().Append(sample{ID: "m", At: 2, N: 2}, entity.If(high)), series.Op().Append(sample{ID: "m", At: 3, N: 3}))
	dbtest.RequireInput(t, err, "EDD-9140", "", "< between attributes")
	err = b.DB.TransactWithToken(t.Context(), entity.Token{ID: "x"}, series.Op().Append(sample{ID: "m", At: 2, N: 2}, entity.If(high)), series.Op().Append(sample{ID: "m", At: 3, N: 3}))
	dbtest.RequireInput(t, err, "EDD-9140", "", "< between attributes")
	require.Empty(t, b.Sent())
	r := entity.Must(series.Append(t.Context(), sample{ID: "m", At: 2, N: 2}, entity.If(high)))
	require.Equal(t, timeseries.ConditionFailed, r.Reason, "alone, DynamoDB decides")

	var got []task
	require.NoError(t, b.DB.GetCollection(t.Context(), byOwner.Query(task{Owner: "ada"}, entity.Filter(known)).Into(&got)))
	require.Len(t, got, 1)
	err = b.DB.Transact(t.Context(), s.Op().CheckExists(task{ID: "t"}, known), s.Op().CheckExists(task{ID: "t"}, entity.Eq(&f.Owner, "bob")))
	failed := dbtest.As[*entity.TransactError](t, err)
	require.Len(t, failed.Failed, 1, fmt.Sprint(failed))
	require.Equal(t, 1, failed.Failed[0].Index)
}
