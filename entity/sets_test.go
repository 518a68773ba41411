package entity_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// Bag has a set of each kind in every place that a tag can name: at the top, in structs, and in structs inside lists and
// maps.
type Bag struct {
	_ entity.Key `name:"Bag" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byOwner" index:"gsi1" pk:"$#{owner}#{shelf}"`

	ID    string `dynamodbav:"id"`
	Owner string `dynamodbav:"owner,omitempty"`
	Shelf int    `dynamodbav:"shelf,omitempty"`
	Pouch
	In   Pouch            `dynamodbav:"in"`
	Ptr  *Pouch           `dynamodbav:"ptr,omitempty"`
	List []Pouch          `dynamodbav:"list,omitempty"`
	Map  map[string]Pouch `dynamodbav:"map,omitempty"`
}

type Pouch struct {
	S []string `dynamodbav:"s,stringset,omitempty"`
	N []int    `dynamodbav:"n,numberset,omitempty"`
	B [][]byte `dynamodbav:"b,binaryset,omitempty"`
}

func pouch(s string, n int) Pouch {
	return Pouch{[]string{s, "z"}, []int{n, 99}, [][]byte{{byte(n)}, {255}}}
}

func bag(s string, n int) Bag {
	p := pouch(s, n)
	return Bag{ID: "x", Owner: "o", Shelf: 1, Pouch: p, In: p, Ptr: &p, List: []Pouch{p}, Map: map[string]Pouch{"k": p}}
}

// contents is a pouch as it is stored.
func contents(s string, n int) string {
	return fmt.Sprintf("M{b=BS[%02x ff] n=NS[%d 99] s=SS[%s z]}", n, n, s)
}

// requireBag looks at what is stored, with a client that knows nothing of structs: sets of the right kind, everywhere.
func (l *lab) requireBag(t *testing.T, s string, n int, step string) {
	t.Helper()
	it := l.values(t, keys("pk", "$app#v1#bag#x", "sk", "$app#v1#bag"))
	require.NotNil(t, it, step)
	want := contents(s, n)
	require.Equal(t, want, text(document(map[string]av{"b": it["b"], "n": it["n"], "s": it["s"]})), step)
	require.Equal(t, []string{want, want, "L[" + want + "]", "M{k=" + want + "}"}, []string{text(it["in"]), text(it["ptr"]), text(it["list"]), text(it["map"])}, step)
}

func setBag(b Bag) []entity.UpdateOption {
	f := entity.Fields[Bag]()
	return []entity.UpdateOption{
		entity.Set(&f.S, b.S), entity.Set(&f.N, b.N), entity.Set(&f.B, b.B), entity.Set(&f.In, b.In),
		entity.Set(&f.Ptr.S, b.Ptr.S), entity.Set(&f.Ptr.N, b.Ptr.N), entity.Set(&f.Ptr.B, b.Ptr.B),
		entity.Set(&f.List, b.List), entity.MapEntry(&f.Map, "k").Set(b.Map["k"]),
	}
}

func TestSets_StaySetsOnEveryPath(t *testing.T) {
	t.Parallel()
	l, s := open[Bag](t)
	f, ctx := entity.Fields[Bag](), t.Context()
	n := 0
	next := func(step string, write func(Bag) error) {
		n++
		name := fmt.Sprintf("s%d", n)
		require.NoError(t, write(bag(name, n)), step)
		l.requireBag(t, name, n, step)
		got, err := s.Get(ctx, Bag{ID: "x"}, entity.Consistent())
		require.NoError(t, err, step)
		require.ElementsMatch(t, []string{name, "z"}, got.Map["k"].S, step)
		require.ElementsMatch(t, []int{n, 99}, got.List[0].N, step)
		require.ElementsMatch(t, [][]byte{{byte(n)}, {255}}, got.Ptr.B, step)
	}
	next("create", func(b Bag) error { _, err := s.Create(ctx, b); return err })
	next("put", func(b Bag) error { _, err := s.Put(ctx, b); return err })
	next("upsert", func(b Bag) error { _, _, err := s.Upsert(ctx, b); return err })
	next("set", func(b Bag) error { _, err := s.Update(ctx, b, setBag(b)...); return err })
	next("set after a read", func(b Bag) error {
		_, err := s.Update(ctx, b, append(setBag(b), entity.Set(&f.Shelf, 2))...)
		return err
	})
	next("modify", func(b Bag) error { _, err := s.Modify(ctx, b, func(v *Bag) error { *v = b; return nil }); return err })
	next("exactly", func(b Bag) error { _, err := s.Update(ctx, b, append(setBag(b), entity.Idempotent())...); return err })
	next("transaction", func(b Bag) error { return l.db.Transact(ctx, s.Op().Update(b, setBag(b)...)) })
	next("transaction with put", func(b Bag) error { return l.db.Transact(ctx, s.Op().Put(b)) })
	require.NoError(t, s.Delete(ctx, Bag{ID: "x"}))
	next("transaction with create", func(b Bag) error { return l.db.Transact(ctx, s.Op().Create(b)) })
}

func TestSets_ElementsAreAddedAndTakenOut(t *testing.T) {
	t.Parallel()
	l, s := open[Bag](t)
	f, ctx := entity.Fields[Bag](), t.Context()
	b := bag("s", 1)
	for name, more := range map[string][]entity.UpdateOption{"blind": nil, "after a read": {entity.Set(&f.Shelf, 3)}} {
		_, err := s.Put(ctx, b)
		require.NoError(t, err)
		swap := func(add bool, s string, n int) []entity.UpdateOption {
			if add {
				return append([]entity.UpdateOption{
					entity.AddToSet(&f.S, s), entity.AddToSet(&f.N, n), entity.AddToSet(&f.B, []byte{byte(n)}),
					entity.AddToSet(&f.In.S, s), entity.AddToSet(&f.In.N, n), entity.AddToSet(&f.In.B, []byte{byte(n)}),
					entity.AddToSet(&f.Ptr.S, s), entity.AddToSet(&f.Ptr.N, n), entity.AddToSet(&f.Ptr.B, []byte{byte(n)}),
				}, more...)
			}
			return append([]entity.UpdateOption{
				entity.DeleteFromSet(&f.S, s), entity.DeleteFromSet(&f.N, n), entity.DeleteFromSet(&f.B, []byte{byte(n)}),
				entity.DeleteFromSet(&f.In.S, s), entity.DeleteFromSet(&f.In.N, n), entity.DeleteFromSet(&f.In.B, []byte{byte(n)}),
				entity.DeleteFromSet(&f.Ptr.S, s), entity.DeleteFromSet(&f.Ptr.N, n), entity.DeleteFromSet(&f.Ptr.B, []byte{byte(n)}),
			}, more...)
		}
		_, err = s.Update(ctx, b, swap(true, "new", 2)...)
		require.NoError(t, err, name)
		require.NoError(t, l.db.Transact(ctx, s.Op().Update(b, swap(false, "s", 1)...)), name)
		it := l.values(t, keys("pk", "$app#v1#bag#x", "sk", "$app#v1#bag"))
		require.Equal(t, "M{b=BS[02 ff] n=NS[2 99] s=SS[new z]}", text(it["in"]), name)
		require.Equal(t, text(it["in"]), text(it["ptr"]), name)
		require.Equal(t, text(it["in"]), text(document(map[string]av{"b": it["b"], "n": it["n"], "s": it["s"]})), name)

		_, err = s.Update(ctx, b, append(more, entity.DeleteFromSet(&f.S, "new", "z"), entity.Remove(&f.N), entity.Set(&f.B, nil))...)
		require.NoError(t, err, name)
		it = l.values(t, keys("pk", "$app#v1#bag#x", "sk", "$app#v1#bag"))
		require.Equal(t, []av{nil, nil, nil}, []av{it["s"], it["n"], it["b"]}, "%s: an empty set is no attribute", name)
	}
}

// A set in a condition is a set: it equals the stored one whatever the order, and a list never does.
func TestSets_InConditionsAreSets(t *testing.T) {
	t.Parallel()
	_, s := open[Bag](t)
	f, ctx := entity.Fields[Bag](), t.Context()
	b := bag("s", 1)
	_, err := s.Create(ctx, b)
	require.NoError(t, err)
	p := Pouch{[]string{"z", "s"}, []int{99, 1}, [][]byte{{255}, {1}}}
	for name, c := range map[string]entity.Cond{
		"string": entity.Eq(&f.S, p.S), "number": entity.Eq(&f.N, p.N), "binary": entity.Eq(&f.B, p.B), "one of": entity.In(&f.S, []string{"q"}, p.S),
		"nested": entity.And(entity.Eq(&f.In.S, p.S), entity.Eq(&f.In.N, p.N), entity.Eq(&f.In.B, p.B)), "struct": entity.Eq(&f.In, p), "pointer": entity.Eq(&f.Ptr, &p),
		"list": entity.Eq(&f.List, []Pouch{p}), "map": entity.Eq(&f.Map, map[string]Pouch{"k": p}), "entry": entity.MapEntry(&f.Map, "k").Eq(p),
		"element": entity.And(entity.Contains(&f.S, "z"), entity.Contains(&f.N, 99), entity.Contains(&f.B, []byte{1}), entity.Contains(&f.Ptr.N, 1)),
		"other":   entity.Not(entity.Or(entity.Contains(&f.S, "q"), entity.Eq(&f.N, []int{1}), entity.Ne(&f.B, p.B))),
	} {
		_, err := s.Update(ctx, b, entity.Set(&f.Owner, "p"), entity.If(c))
		require.NoError(t, err, name)
		n, err := s.Query(Bag{ID: "x"}, entity.Filter(c)).Count(ctx)
		require.NoError(t, err, name)
		require.Equal(t, 1, n, name)
	}
}
