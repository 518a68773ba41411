package timeseries_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Tracker has index keys of every kind that a series can have.
type Tracker struct {
	_ entity.Key        `name:"Tracker" pk:"$#{id}" sk:"$"`
	_ entity.GSI        `name:"byOwner" index:"gsi1" pk:"$#{tenant}#{owner}" sk:"$#{id}"`
	_ entity.GSI        `name:"byZone"  index:"gsi2" pk:"$#{zone}#{floor}" sk:"$#{at}#{id}"`
	_ entity.GSI        `name:"byBeacon" index:"gsi3" pk:"$#{beacon}" sk:"gsi3sk={createdAt}"`
	_ timeseries.Events `orderBy:"at"`

	ID string    `dynamodbav:"id"`
	At time.Time `dynamodbav:"at" entity:"time=s"`

	Zone   string  `dynamodbav:"zone" entity:"append"`
	Floor  int     `dynamodbav:"floor" entity:"append"`
	Beacon *string `dynamodbav:"beacon,omitempty" entity:"append"`

	Tenant    string    `dynamodbav:"tenant,omitempty"`
	Owner     string    `dynamodbav:"owner,omitempty"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at,time=s"`
}

const (
	trackerPK = "$app#v1#tracker#t"
	trackerSK = "$app#v1#tracker"
)

func TestIndex_KeysAreRightAfterEveryAppendAndEnrichment(t *testing.T) {
	t.Parallel()
	w := open[Tracker](t)
	f := entity.Fields[Tracker]()
	w.seed(Tracker{ID: "t", At: at(0), Zone: "hall", Floor: 1})
	want := map[string]string{
		"gsi1sk": "$app#v1#tracker#t",
		"gsi2pk": "$app#v1#tracker#hall#0000000000000000001", "gsi2sk": "$app#v1#tracker#2026-04-22T10:00:00Z#t",
		"gsi3sk": "2101-01-01T00:00:00Z",
	}
	require.Equal(t, want, w.indexKeys(trackerPK, trackerSK), "the first append")

	w.Clock.Move(time.Hour)
	w.seed(Tracker{ID: "t", At: at(1), Zone: "yard", Floor: 2, Beacon: ptr("b1")})
	want["gsi2pk"], want["gsi2sk"], want["gsi3pk"] = "$app#v1#tracker#yard#0000000000000000002", "$app#v1#tracker#2026-04-22T10:01:00Z#t", "$app#v1#tracker#b1"
	require.Equal(t, want, w.indexKeys(trackerPK, trackerSK), "a later append; the copy of created_at stays")

	w.seed(Tracker{ID: "t", At: at(2), Zone: "yard", Floor: 3})
	want["gsi2pk"], want["gsi2sk"] = "$app#v1#tracker#yard#0000000000000000003", "$app#v1#tracker#2026-04-22T10:02:00Z#t"
	require.Equal(t, want, w.indexKeys(trackerPK, trackerSK), "a field that was not reported keeps its key")

	entity.Must(w.Update(w.Ctx, Tracker{ID: "t"}, entity.Set(&f.Tenant, "acme")))
	require.Equal(t, want, w.indexKeys(trackerPK, trackerSK), "one of two parts is no key")
	entity.Must(w.Update(w.Ctx, Tracker{ID: "t"}, entity.Set(&f.Owner, "ann")))
	want["gsi1pk"] = "$app#v1#tracker#acme#ann"
	require.Equal(t, want, w.indexKeys(trackerPK, trackerSK), "the other part was read")
	entity.Must(w.Update(w.Ctx, Tracker{ID: "t"}, entity.Set(&f.Tenant, "zeta")))
	want["gsi1pk"] = "$app#v1#tracker#zeta#ann"
	require.Equal(t, want, w.indexKeys(trackerPK, trackerSK), "no old key remains")
	entity.Must(w.Update(w.Ctx, Tracker{ID: "t"}, entity.Remove(&f.Owner)))
	delete(want, "gsi1pk")
	require.Equal(t, want, w.indexKeys(trackerPK, trackerSK), "the key is removed with its part")

	w.seed(Tracker{ID: "t", At: at(3), Zone: "", Floor: 3, Beacon: ptr("")})
	delete(want, "gsi2pk")
	delete(want, "gsi3pk")
	want["gsi2sk"] = "$app#v1#tracker#2026-04-22T10:03:00Z#t"
	require.Equal(t, want, w.indexKeys(trackerPK, trackerSK), "an empty string is no key")
}

func TestIndex_KeysAreRightAfterABulkAppend(t *testing.T) {
	t.Parallel()
	w := open[Tracker](t)
	entity.Must(w.AppendAll(w.Ctx, []Tracker{
		{ID: "t", At: at(2), Zone: "yard", Floor: 2},
		{ID: "t", At: at(1), Zone: "hall", Floor: 1, Beacon: ptr("b1")},
	}))
	require.Equal(t, map[string]string{
		"gsi1sk": "$app#v1#tracker#t",
		"gsi2pk": "$app#v1#tracker#yard#0000000000000000002", "gsi2sk": "$app#v1#tracker#2026-04-22T10:02:00Z#t",
		"gsi3pk": "$app#v1#tracker#b1", "gsi3sk": "2101-01-01T00:00:00Z",
	}, w.indexKeys(trackerPK, trackerSK))
}

func TestIndex_QueriesFindCurrentItemsOnlyAndUnderNewKeysOnly(t *testing.T) {
	t.Parallel()
	w := open[Tracker](t)
	byZone := entity.Must(w.Index("byZone"))
	w.seed(Tracker{ID: "t", At: at(0), Zone: "hall", Floor: 1}, Tracker{ID: "u", At: at(5), Zone: "hall", Floor: 1})
	found := entity.Must(byZone.Query(Tracker{Zone: "hall", Floor: 1}).Collect(w.Ctx))
	require.Len(t, found, 2)
	require.Equal(t, "t", found[0].ID)

	w.seed(Tracker{ID: "t", At: at(9), Zone: "yard", Floor: 1})
	found = entity.Must(byZone.Query(Tracker{Zone: "hall", Floor: 1}).Collect(w.Ctx))
	require.Len(t, found, 1)
	require.Equal(t, "u", found[0].ID)
	late := entity.Must(byZone.Query(Tracker{Zone: "yard", Floor: 1}, entity.Gt(&entity.Fields[Tracker]().At, at(8))).Collect(w.Ctx))
	require.Len(t, late, 1)
	_, err := w.Index("byzone")
	var unknown *entity.SchemaError
	require.ErrorAs(t, err, &unknown)
}
