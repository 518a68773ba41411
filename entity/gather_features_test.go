package entity_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/versioned"
)

// Contract leaves snapshots and deleted copies beside it; Reporter leaves events. Both lie in the partition of a customer.
type Contract struct {
	_ entity.Key `name:"Contract" pk:"pk=CUSTOMER#{customer}" sk:"$#{id}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete

	Customer string `dynamodbav:"customer"`
	ID       string `dynamodbav:"id"`
	Terms    int    `dynamodbav:"terms"`
	Version  int64  `dynamodbav:"version" entity:"version"`
}

type Reporter struct {
	_ entity.Key        `name:"Reporter" pk:"pk=CUSTOMER#{customer}" sk:"$#{meter}"`
	_ timeseries.Events `orderBy:"seq"`

	Customer string `dynamodbav:"customer"`
	Meter    string `dynamodbav:"meter"`
	Seq      int64  `dynamodbav:"seq"`
	Value    int    `dynamodbav:"value" entity:"append"`
}

// Current items, deleted copies and events are told apart, whatever a part asks for.
func TestGather_BinsAndHistoriesBesideCurrentItems(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	contracts := declare[Contract](t, l.db)
	pulses, err := timeseries.New[Reporter](l.db)
	require.NoError(t, err)
	l.create(t)
	bin, err := lifecycle.Of(contracts)
	require.NoError(t, err)
	past, err := versioned.Of(contracts)
	require.NoError(t, err)
	for i := range 4 {
		c := Contract{Customer: "c", ID: fmt.Sprint("k", i)}
		_, err := contracts.Create(t.Context(), c)
		require.NoError(t, err)
		_, err = contracts.Update(t.Context(), c, entity.Set(&entity.Fields[Contract]().Terms, i))
		require.NoError(t, err)
		if i%2 == 0 {
			require.NoError(t, contracts.Delete(t.Context(), c))
		}
		for seq := range 3 {
			_, err = pulses.Append(t.Context(), Reporter{Customer: "c", Meter: fmt.Sprint("m", i), Seq: int64(10*i + seq + 1), Value: seq})
			require.NoError(t, err)
		}
	}
	l.sent()
	f, key := entity.Fields[Reporter](), Reporter{Customer: "c"}
	groups := []group{
		groupOf(contracts.Query(Contract{Customer: "c"}, entity.Desc())),
		groupOf(bin.List(Contract{Customer: "c", ID: "k2"})),
		groupOf(pulses.Query(key, entity.Desc())),
		groupOf(pulses.History(Reporter{Customer: "c", Meter: "m1"}, entity.Desc(), entity.Ge(&f.Seq, 12))),
		groupOf(pulses.Query(Reporter{Customer: "c", Meter: "m3"}, entity.Desc())),
	}
	var parts []entity.CollectionPart
	for _, g := range groups {
		parts = append(parts, g.part)
	}
	require.NoError(t, l.db.GetCollection(t.Context(), parts...))
	require.Equal(t, []string{"Query"}, l.sent())
	for i, n := range []int{2, 1, 4, 2, 1} {
		require.Equal(t, n, groups[i].length(), groups[i].text)
		groups[i].compare(t, t.Context())
	}

	l.sent()
	var versions []versioned.Version[Contract]
	part := past.List(Contract{Customer: "c", ID: "k1"}).Into(&versions)
	requireInput(t, l.db.GetCollection(t.Context(), part), "EDD-9127", "")
	require.Contains(t, part.String(), "snapshots")
	require.Empty(t, l.sent())
}
