package migrate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
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

// The cards are in an index that is spread over no, four, eight or two partitions.
type (
	card struct {
		ID      string    `dynamodbav:"id"`
		State   string    `dynamodbav:"state"`
		Removed time.Time `dynamodbav:"removed,omitempty" entity:"deleted_at"`
	}
	card1 struct {
		_ entity.Key `name:"Card" pk:"$#{id}" sk:"$"`
		_ entity.GSI `name:"byState" index:"gsi1" pk:"$#{state}" sk:"$#{id}"`
		_ entity.GSI `name:"gone" index:"gsi2" pk:"$#{state}" sk:"$#{removed}"`
		_ lifecycle.SoftDelete
		card
	}
	card4 struct {
		_ entity.Key `name:"Card" pk:"$#{id}" sk:"$"`
		_ entity.GSI `name:"byState" index:"gsi1" pk:"$#{state}" sk:"$#{id}" shards:"4"`
		_ entity.GSI `name:"gone" index:"gsi2" pk:"$#{state}" sk:"$#{removed}" shards:"4"`
		_ lifecycle.SoftDelete
		card
	}
	card8 struct {
		_ entity.Key `name:"Card" pk:"$#{id}" sk:"$"`
		_ entity.GSI `name:"byState" index:"gsi1" pk:"$#{state}" sk:"$#{id}" shards:"8"`
		_ entity.GSI `name:"gone" index:"gsi2" pk:"$#{state}" sk:"$#{removed}" shards:"8"`
		_ lifecycle.SoftDelete
		card
	}
	card2 struct {
		_ entity.Key `name:"Card" pk:"$#{id}" sk:"$"`
		_ entity.GSI `name:"byState" index:"gsi1" pk:"$#{state}" sk:"$#{id}" shards:"2"`
		_ entity.GSI `name:"gone" index:"gsi2" pk:"$#{state}" sk:"$#{removed}" shards:"2"`
		_ lifecycle.SoftDelete
		card
	}
)

// resharded rewrites the cards to T's number of shards, and requires that its queries give all of them then. found is how many items
// and deleted copies they give before.
func resharded[T any](t *testing.T, b *dbtest.Bench, found [2]int) {
	t.Helper()
	cards := dbtest.Declare[T](t, b.Open(b.Client))
	var on T
	dbtest.Embedded[card](&on).State = "on"
	query := func() (found [2]int) {
		found[0] = len(entity.Must(entity.Must(cards.Index("byState")).Query(on).Collect(b.Ctx)))
		found[1] = len(entity.Must(entity.Must(entity.Must(lifecycle.Of(cards)).Index("gone")).Query(on).Collect(b.Ctx)))
		return found
	}
	require.Equal(t, found, query())
	outdated := 0
	_, err := migrate.Check(b.Ctx, cards, func(f migrate.Finding) error {
		require.Equal(t, []any{migrate.Outdated, []migrate.Reason{migrate.IndexKeys}}, []any{f.Kind, f.Reasons})
		outdated++
		return nil
	})
	require.NoError(t, err)
	_, err = migrate.Rewrite(b.Ctx, cards, migrate.Checkpoint("shards"))
	require.ErrorIs(t, err, migrate.ErrOtherWork, "a checkpoint is of one number of shards")
	r, err := migrate.Rewrite(b.Ctx, cards, migrate.Checkpoint("shards"), migrate.Restart())
	require.NoError(t, err)
	require.Equal(t, outdated, r.Rewritten)
	require.Equal(t, [2]int{20, 4}, query())
	r, err = migrate.Rewrite(b.Ctx, cards)
	require.NoError(t, err)
	require.Zero(t, r.Rewritten)
}

func TestShards_OfAnIndexAreChangedByARewrite(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	cards := dbtest.Declare[card1](t, b.DB)
	b.CreateTables()
	for i := range 24 {
		v := card1{card: card{ID: fmt.Sprint("c-", i), State: "on"}}
		b.OK(cards.Create(b.Ctx, v))
		if i%6 == 0 {
			b.OK(cards.Delete(b.Ctx, v))
		}
	}
	b.OK(migrate.Rewrite(b.Ctx, cards, migrate.Checkpoint("shards")))
	resharded[card4](t, b, [2]int{0, 0})
	resharded[card8](t, b, [2]int{20, 4}) // more shards find what fewer have stored
	inTwo, gone := 0, 0
	for _, it := range b.Items() {
		for name, n := range map[string]*int{"gsi1pk": &inTwo, "gsi2pk": &gone} {
			text, current := dbtest.Text(it[name]), it["_k"] == nil
			if current == (name == "gsi1pk") && (strings.HasSuffix(text, "#00") || strings.HasSuffix(text, "#01")) {
				*n++
			}
		}
	}
	resharded[card2](t, b, [2]int{inTwo, gone})
	resharded[card1](t, b, [2]int{0, 0})
}
