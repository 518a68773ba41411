package rules_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// leaflet expires.
type leaflet struct {
	_ entity.Key    `name:"Leaflet" pk:"$#{id}" sk:"$"`
	_ lifecycle.TTL `attr:"_ttl" after:"1h"`

	ID    string `dynamodbav:"id"`
	State string `dynamodbav:"state"`
}

// record has every feature that takes part in a Delete.
type record struct {
	_ entity.Key           `name:"Record" pk:"$#{id}" sk:"$"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ versioned.Retain     `ttl:"90d"`
	_ unique.Constraint    `name:"number" fields:"number"`

	ID      string `dynamodbav:"id"`
	Number  string `dynamodbav:"number"`
	State   string `dynamodbav:"state"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

func TestIfPresent_AMissingItemIsASuccess(t *testing.T) {
	t.Parallel()
	b, store := dbtest.OpenStore[leaflet](t)
	key, f := leaflet{ID: "l1"}, entity.Fields[leaflet]()
	missing, old := false, leaflet{State: "?"}
	require.NoError(t, store.Delete(b.Ctx, key, entity.IfPresent(&missing)))
	require.True(t, missing)
	require.Equal(t, []string{"DeleteItem", "GetItem"}, b.Operations(), "the first refusal without an item is read for one")
	require.NoError(t, store.Delete(b.Ctx, key, entity.IfPresent(nil), entity.If(entity.Eq(&f.State, "open")), entity.Returning(&old)))
	require.Zero(t, old, "there was no item, whatever is required of one")
	require.ErrorIs(t, store.Delete(b.Ctx, key), entity.ErrNotFound)

	made := entity.Must(store.Create(b.Ctx, leaflet{ID: "l1", State: "open"}))
	require.ErrorIs(t, store.Delete(b.Ctx, key, entity.IfPresent(&missing), entity.If(entity.Eq(&f.State, "closed"))), entity.ErrConditionFailed)
	require.True(t, missing, "nothing was deleted")
	require.NoError(t, store.Delete(b.Ctx, key, entity.IfPresent(&missing), entity.Returning(&old)))
	require.False(t, missing)
	require.Equal(t, made, old)
	b.Sent()
	require.NoError(t, store.Delete(b.Ctx, key, entity.IfPresent(&missing)))
	require.Equal(t, []string{"DeleteItem"}, b.Operations(), "it costs what a Delete costs")
	require.Empty(t, b.Items())

	b.OK(store.Create(b.Ctx, leaflet{ID: "l1"}))
	b.Clock.Move(2 * time.Hour)
	require.NoError(t, store.Delete(b.Ctx, key, entity.IfPresent(&missing)))
	require.True(t, missing, "an item that has expired is not there")
	for range 2 {
		require.NoError(t, store.Delete(b.Ctx, leaflet{ID: "l2"}, entity.IfPresent(&missing), entity.Idempotent()))
		require.True(t, missing)
	}
}

func TestIfPresent_WithFeatures(t *testing.T) {
	t.Parallel()
	b, store := dbtest.OpenStore[record](t)
	key, missing := record{ID: "r1"}, false
	require.NoError(t, store.Delete(b.Ctx, key, entity.IfPresent(&missing), versioned.AnyVersion()))
	require.True(t, missing)
	require.Empty(t, b.Items(), "nothing is written")
	b.OK(store.Create(b.Ctx, record{ID: "r1", Number: "n1"}))
	require.NoError(t, store.Delete(b.Ctx, key, entity.IfPresent(&missing), versioned.AnyVersion()))
	require.False(t, missing)
	stored := len(b.Items())
	require.NoError(t, store.Delete(b.Ctx, key, entity.IfPresent(&missing), versioned.AnyVersion()))
	require.True(t, missing, "a deleted item is missing")
	require.Len(t, b.Items(), stored, "its copy stays as it is")
}

func TestIfPresent_InATransaction(t *testing.T) {
	t.Parallel()
	b, store := dbtest.OpenStore[record](t)
	missing := [2]bool{}
	ops := func() []entity.Op {
		return []entity.Op{
			store.Op().Delete(record{ID: "r1"}, entity.IfPresent(&missing[0]), versioned.AnyVersion()),
			store.Op().Delete(record{ID: "r2"}, entity.IfPresent(&missing[1]), versioned.AnyVersion()), store.Op().Put(record{ID: "r3", State: "put"}),
		}
	}
	b.OK(store.Create(b.Ctx, record{ID: "r1", Number: "n1"}))
	require.NoError(t, b.DB.Transact(b.Ctx, ops()...))
	require.Equal(t, [2]bool{false, true}, missing)
	require.NoError(t, b.DB.Transact(b.Ctx, ops()...))
	require.Equal(t, [2]bool{true, true}, missing)

	transact := func() func(faults.Request) bool { return dbtest.First(dbtest.Is("TransactWriteItems")) }
	other := b.Open(b.Raw)
	quiet := dbtest.Declare[record](t, other)
	require.NoError(t, b.Overtake(transact(), func() error { return b.DB.Transact(b.Ctx, ops()...) }, func() {
		b.OK(quiet.Create(b.Ctx, record{ID: "r2", Number: "n2"}))
	}))
	require.Equal(t, [2]bool{true, false}, missing, "an item that came meanwhile is deleted, too")
	b.OK(entity.Must(lifecycle.Of(quiet)).Restore(b.Ctx, record{ID: "r1"}))
	require.NoError(t, b.Overtake(transact(), func() error { return b.DB.Transact(b.Ctx, ops()...) }, func() {
		require.NoError(t, quiet.Delete(b.Ctx, record{ID: "r1"}, versioned.AnyVersion()))
	}))
	require.Equal(t, [2]bool{true, true}, missing, "an item that went meanwhile is missing")
}

// A Delete whose answer was lost is ambiguous with the option, too: a second one could remove an item created since.
func TestIfPresent_LostAnswers(t *testing.T) {
	t.Parallel()
	b, store := dbtest.OpenStore[leaflet](t)
	missing := true
	b.OK(store.Create(b.Ctx, leaflet{ID: "l1"}))
	b.Wire.Inject(faults.Nth(1, faults.Lost, "DeleteItem"))
	require.True(t, entity.IsAmbiguous(store.Delete(b.Ctx, leaflet{ID: "l1"}, entity.IfPresent(&missing))))
	require.True(t, missing, "it is not known")
	b.Wire.Inject(faults.Nth(1, faults.Throttle, "DeleteItem"))
	b.OK(store.Create(b.Ctx, leaflet{ID: "l1"}))
	require.NoError(t, store.Delete(b.Ctx, leaflet{ID: "l1"}, entity.IfPresent(&missing)))
	require.False(t, missing)
}
