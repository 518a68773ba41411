package layout_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"

	"github.com/dynastrata/dynastrata/internal/layout"
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
