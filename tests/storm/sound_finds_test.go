package storm_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/dbtest"
)

// The checks have to find what they are for: each of these changes to a sound table is a defect that has a name.
func TestSound_FindsEveryKindOfDamage(t *testing.T) {
	t.Parallel()
	w := open[Reserve](t)
	w.add("a", "a@x", "1")
	w.update("a", w.email("b@x"), w.name("2"))
	w.update("a", w.name("3"))
	w.add("d", "d@x", "1")
	w.remove("d")
	w.sound()
	base := w.Items()
	s := dbtest.S
	find := func(items []item, pk, sk string) item {
		i := slices.IndexFunc(items, func(it item) bool { return text(it, "pk") == pk && text(it, "sk") == sk })
		require.GreaterOrEqual(t, i, 0, "%s %s", pk, sk)
		return items[i]
	}
	const a, sk, sentinels = "$app#v1#reserve#a", "$app#v1#reserve", "$app#v1#reserve.email"
	without := func(pk, sk string) func([]item) []item {
		return func(items []item) []item {
			find(items, pk, sk)
			return slices.DeleteFunc(items, func(it item) bool { return text(it, "pk") == pk && text(it, "sk") == sk })
		}
	}
	with := func(pk, sk string, change func(item)) func([]item) []item {
		return func(items []item) []item {
			change(find(items, pk, sk))
			return items
		}
	}
	for name, damage := range map[string]func([]item) []item{
		"a sentinel is lost":             without(sentinels+"#b@x", sentinels),
		"a reserved sentinel is lost":    without(sentinels+"#d@x", sentinels),
		"a snapshot is lost":             without(a, sk+"#v#0000002"),
		"the current item is lost":       without(a, sk),
		"a sentinel has another owner":   with(sentinels+"#b@x", sentinels, func(it item) { it["_entity_pk"] = s("$app#v1#reserve#d") }),
		"the current item expires":       with(a, sk, func(it item) { it["_ttl"] = s("1") }),
		"the current item is deleted":    with(a, sk, func(it item) { it["deletedAt"] = s("now") }),
		"a version is given twice":       with(a, sk, func(it item) { it["version"] = dbtest.N("2") }),
		"a version is left out":          with(a, sk, func(it item) { it["version"] = dbtest.N("5") }),
		"an update is lost":              with(a, sk, func(it item) { it["name"] = s("2") }),
		"a snapshot has another content": with(a, sk+"#v#0000001", func(it item) { it["name"] = s("x") }),
		"two items have one address":     with("$app#v1#reserve#d", find(base, "$app#v1#reserve#d", sk+"#v#0000001")["sk"].(*types.AttributeValueMemberS).Value, func(it item) { it["sk"], it["email"] = s(sk), s("b@x") }),
		"a snapshot is deleted":          with(a, sk+"#v#0000002", func(it item) { it["_deleted"] = &types.AttributeValueMemberBOOL{Value: true} }),
	} {
		var items []item
		for _, it := range base {
			items = append(items, maps.Clone(it))
		}
		d, err := sorted(damage(items))
		require.NoError(t, err, name)
		require.NotEmpty(t, append(d.problems(w.traits), d.missing(w.written)...), name)
	}
}
