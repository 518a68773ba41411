package layout_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

type note struct {
	_ entity.Key `name:"Note" pk:"$#author_{author}" sk:"$#title_{title}"`

	Author string `dynamodbav:"author"`
	Title  string `dynamodbav:"title"`
}

type plain struct {
	_ entity.Key `name:"Plain" pk:"id"`

	ID string `dynamodbav:"id"`
}

func schemaOf[T any](t *testing.T, shared bool) *schema.Schema {
	t.Helper()
	s := entity.Must(schema.Build(reflect.TypeFor[T](), schema.Options{
		Namespace: "app", NamespaceVersion: 1, PK: "pk", SK: "sk", TTL: "_ttl", Precision: key.Milli, Profile: schema.NewProfile(shared),
	}))
	return s
}

// stored returns an item with the title t under a sort key. An empty kind leaves the attribute out.
func stored(title, sk, kind string) item.Item {
	it := item.Item{"pk": item.S("$app#v1#note#author_ann"), "sk": item.S(sk), "author": item.S("Ann"), "title": item.S(title)}
	if kind != "" {
		it[schema.KindAttr] = item.S(kind)
	}
	return it
}

func TestKindOf_ByAttributeOrInSharedTablesByKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		shared bool
		it     item.Item
		kind   string
		known  bool
		owner  string // sort key of the current item
	}{
		{"current", false, stored("One", "$app#v1#note#title_One", ""), layout.CurrentKind, true, "$app#v1#note#title_One"},
		{"copy", false, stored("One", "$app#v1#note#title_One#deleted#2026", "d"), layout.CopyKind, true, "$app#v1#note#title_One"},
		{"snapshot", false, stored("One", "$app#v1#note#title_One#v#0001", "v"), layout.SnapshotKind, true, "$app#v1#note#title_One"},
		{"of a newer version", false, stored("One", "$app#v1#note#title_One#z#1", "z"), "z", false, "$app#v1#note#title_One#z#1"},
		{"current", true, stored("One", "$app#v1#note#title_one", ""), layout.CurrentKind, true, "$app#v1#note#title_one"},
		{"copy", true, stored("One", "$app#v1#note#title_one#deleted#2026", ""), layout.CopyKind, true, "$app#v1#note#title_one"},
		{"whose title is like a copy's key", true, stored("a#deleted#b", "$app#v1#note#title_a#deleted#b", ""), layout.CurrentKind, true, "$app#v1#note#title_a#deleted#b"},
		{"copy of that", true, stored("a#deleted#b", "$app#v1#note#title_a#deleted#b#deleted#2026", ""), layout.CopyKind, true, "$app#v1#note#title_a#deleted#b"},
		{"of another key", true, stored("One", "$app#v1#note#title_two", ""), "", false, "$app#v1#note#title_two"},
		{"without a suffix", true, stored("One", "$app#v1#note#title_one#deleted#", ""), "", false, "$app#v1#note#title_one#deleted#"},
	} {
		s := schemaOf[note](t, c.shared)
		kind, known := layout.KindOf(s, c.it)
		require.Equal(t, c.known, known, "%s, shared: %t", c.name, c.shared)
		require.Equal(t, c.kind, kind, "%s, shared: %t", c.name, c.shared)
		owner, _, _ := layout.Owner(s, c.it)
		require.Equal(t, item.Item{"pk": c.it["pk"], "sk": item.S(c.owner)}, owner, "%s, shared: %t", c.name, c.shared)
	}
	kind, known := layout.KindOf(schemaOf[plain](t, true), item.Item{"id": item.S("a")})
	require.True(t, known)
	require.Equal(t, layout.CurrentKind, kind)
}

// element is a list element: id, name and qty are in the struct, extra is not, and qty has more digits than its type.
type element struct{ id, name, qty, extra string }

func (e element) stored() types.AttributeValue {
	m := item.Item{"id": item.S(e.id), "name": item.S(e.name), "qty": item.N(e.qty)}
	if e.extra != "" {
		m["extra"] = item.S(e.extra)
	}
	return &types.AttributeValueMemberM{Value: m}
}

// read is the element as the struct has it.
func (e element) read() types.AttributeValue {
	e.extra = ""
	if f, err := strconv.ParseFloat(e.qty, 64); err == nil {
		e.qty = strconv.FormatFloat(f, 'f', -1, 64)
	}
	return e.stored()
}

func values(list []element, as func(element) types.AttributeValue) []types.AttributeValue {
	out := make([]types.AttributeValue, len(list))
	for i, e := range list {
		out[i] = as(e)
	}
	return out
}

// Whatever a function does to a list: an element that it did not change is as stored, wherever it is, and one that it changed where it
// was keeps what the struct does not know. Nothing of another element is added to one.
func TestGraft_OfAListKeepsWhatBelongsToEachElement(t *testing.T) {
	t.Parallel()
	seed := testsize.Seed(t)
	for n := range testsize.Pick(2000, 60_000) {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		var before []element
		for i := range random.IntN(7) {
			e := element{id: "id" + strconv.Itoa(i), name: string(rune('a' + random.IntN(2))), qty: "90071992547409" + strconv.Itoa(10+i*10) + ".3"}
			if random.IntN(3) > 0 {
				e.extra = "of " + e.id
			}
			before = append(before, e)
		}
		after := slices.Clone(before) // with the extra that the result must have
		changed, moved := map[string]bool{}, map[string]bool{}
		for k := range 1 + random.IntN(4) {
			at := 0
			if len(after) > 0 {
				at = random.IntN(len(after))
			}
			switch random.IntN(5) {
			case 0: // a new one
				after = slices.Insert(after, at, element{id: "new" + strconv.Itoa(k), name: "new", qty: "0"})
			case 1: // one goes
				if len(after) > 0 {
					after = slices.Delete(after, at, at+1)
				}
			case 2: // one moves
				if len(after) > 1 {
					e := after[at]
					moved[e.id] = true
					after = slices.Insert(slices.Delete(after, at, at+1), random.IntN(len(after)), e)
				}
			default: // one changes
				if len(after) > 0 && after[at].name != "new" {
					after[at].name += "x"
					changed[after[at].id] = true
				}
			}
		}
		got := layout.Graft(&types.AttributeValueMemberL{Value: values(before, element.stored)}, &types.AttributeValueMemberL{Value: values(before, element.read)},
			&types.AttributeValueMemberL{Value: values(after, element.read)}).(*types.AttributeValueMemberL).Value
		require.Len(t, got, len(after))
		for j, e := range after {
			where := []any{"seed %d, list %d, element %s: %s of %s", seed, n, e.id, item.ValueText(got[j]), item.ValueText(e.stored())}
			require.Contains(t, []any{nil, item.S("of " + e.id)}, anyOf(got[j].(*types.AttributeValueMemberM).Value["extra"]), where...)
			switch {
			case e.name == "new":
				require.True(t, item.Equal(e.read(), got[j]), where...)
			case !changed[e.id], len(moved) == 0:
				require.True(t, item.Equal(e.stored(), got[j]), where...)
			}
		}
	}
}

func anyOf(av types.AttributeValue) any {
	if av == nil {
		return nil
	}
	return av
}
