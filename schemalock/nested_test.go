package schemalock

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/stretchr/testify/require"
)

type tree struct {
	Name   string `dynamodbav:"name"`
	Leaves []tree `dynamodbav:"leaves,omitempty"`
}

type base struct {
	Inner string `dynamodbav:"inner,omitempty"`
}

// Home is embedded by its address, so that it can be nil.
type Home struct {
	Street string `dynamodbav:"street"`
	City   string `dynamodbav:"city,omitempty"`
}

type mixed struct {
	base
	*Home
	Skipped string `dynamodbav:"-"`
	hidden  string
	Dotted  int `dynamodbav:"a.b c"`
}

// What cannot be followed is named, and the names of nested attributes cannot be taken for paths.
func TestLock_FollowsNestedValuesAsFarAsTheyGo(t *testing.T) {
	t.Parallel()
	require.Empty(t, mixed{}.hidden)
	m := beat()
	m.fields = append(m.fields,
		field[tree]("Tree", `dynamodbav:"tree"`),
		field[mixed]("Mixed", `dynamodbav:"mixed"`),
		field[any]("Any", `dynamodbav:"any,omitempty"`),
		field[attributevalue.UnixTime]("Own", `dynamodbav:"own"`),
	)
	var got []string
	for _, f := range m.lock(t).Entities[0].Facts {
		got = append(got, f.What+" = "+f.Value)
	}
	i := slices.Index(got, "attribute any = any optional")
	require.Positive(t, i, "%v", got)
	for _, want := range []string{
		"attribute mixed = M always", "attribute mixed.a%2Eb%20c = N int64 always", "attribute mixed.city = S optional",
		"attribute mixed.inner = S optional", "attribute mixed.street = S optional", "attribute own = custom always",
		"attribute tree = M always", "attribute tree.leaves = L optional", "attribute tree.leaves[] = M recursive", "attribute tree.name = S always",
	} {
		require.Contains(t, got, want)
	}
	require.NotContains(t, m.lock(t).String(), "kipped")
	require.NotContains(t, m.lock(t).String(), "hidden")
}
