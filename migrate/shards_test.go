package migrate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/timeseries"
)

// spread is a series with events in three partitions.
type spread struct {
	_ entity.Key        `name:"Spread" pk:"$#{device}" sk:"$"`
	_ timeseries.Events `orderBy:"at" shards:"3"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Place  *string   `dynamodbav:"place,omitempty" entity:"append"`
	Owner  string    `dynamodbav:"owner,omitempty"`
}

// logged is a series without a current item.
type logged struct {
	_ entity.Key        `name:"Logged" pk:"$#{device}" sk:"$"`
	_ timeseries.Events `orderBy:"at" shards:"3" current:"none"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Place  *string   `dynamodbav:"place,omitempty" entity:"append"`
}

func TestShards_AreCheckedAndRewritten(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	series, logs := entity.Must(timeseries.New[spread](b.DB)), entity.Must(timeseries.New[logged](b.DB))
	b.CreateTables()
	for i := range 9 {
		at := dbtest.Start.Add(time.Duration(i) * time.Second)
		b.OK(series.Append(b.Ctx, spread{Device: "d", At: at}))
		b.OK(logs.Append(b.Ctx, logged{Device: "d", At: at}))
	}
	check := func() (found []string) {
		t.Helper()
		b.OK(migrate.Check(b.Ctx, series, func(f migrate.Finding) error {
			found = append(found, fmt.Sprint(f.Kind, " ", f.Entity, " ", f.Problem, f.Reasons, f.Related))
			return nil
		}))
		return found
	}
	require.Empty(t, check(), "events of other partitions belong to their current item, and those of a log to none")

	var event dbtest.Item
	for _, it := range b.Items() {
		if strings.HasPrefix(dbtest.Text(it["pk"]), "$app#v1#spread#d#e#") {
			event = it
		}
	}
	bare := without(event, "_k", "__edd_e__")
	b.PutItem(bare)
	require.Equal(t, []string{"outdated Spread [marks]"}, check())
	b.OK(migrate.Rewrite(b.Ctx, series))
	require.Empty(t, check())
	require.Len(t, entity.Must(series.History(spread{Device: "d"}).Collect(b.Ctx)), 9)

	for _, pk := range []string{"$app#v1#spread#d", "$app#v1#spread#d#e#03", "$app#v1#spread#d#e#1"} {
		moved := without(event)
		moved["pk"] = dbtest.S(pk)
		b.PutItem(moved)
		assert.Equal(t, []string{"broken Spread key does not follow from its attributes[]"}, check(), pk)
		b.RemoveItem(b.Key(pk, dbtest.Text(event["sk"])))
	}
	b.RemoveItem(b.Key("$app#v1#spread#d", "$app#v1#spread"))
	found := check()
	assert.Len(t, found, 9)
	for _, f := range found {
		assert.Equal(t, "orphaned Spread []event", f)
	}
	require.NoError(t, series.Purge(b.Ctx, spread{Device: "d"}))
	require.Empty(t, check())
	r, err := migrate.Rewrite(b.Ctx, logs)
	require.NoError(t, err)
	assert.Equal(t, 0, r.Rewritten)
}
