package timeline_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tables/schemalock"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Timelines across what the database is configured with: Regions, a client of reads, expiry, secrets, the schema lock.

// A read model is rebuilt when it changes, so a change of it is compatible.
func TestLock_NamesReadModelsApart(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	samples := entity.Must(timeseries.New[reading](db))
	before := schemalock.Of(db)
	_, err := timeline.New(db, timeline.Projection[string, totals]{
		Name: "sums", Version: 1, Source: timeline.Series(samples), Start: func() totals { return totals{} },
		Handlers: []timeline.Handler[string, totals]{timeline.On("reading.appended", func(r reading) string { return r.Device },
			func(t *totals, e timeline.Event[reading]) error { t.Sum += e.Payload.Value; return nil })},
	})
	require.NoError(t, err)
	require.Greater(t, len(tables.Of(db).Tables[0].Entities), 1, "the view has items of its own")
	now := schemalock.Of(db)
	require.Equal(t, before.Entities, now.Entities)
	require.NotEmpty(t, now.Derived)
	require.Equal(t, "Timeline-sums", now.Derived[0].Name)
	require.Contains(t, now.Derived[0].Facts, schemalock.Fact{What: "sources", Value: "Reading"})
	parsed, err := schemalock.Parse([]byte(now.String()))
	require.NoError(t, err)
	require.Equal(t, now.String(), parsed.String())
	for _, change := range append(schemalock.Compare(before, now), schemalock.Compare(now, before)...) {
		require.False(t, change.Breaking, change.String())
	}
	require.Len(t, schemalock.Compare(before, now), len(now.Derived))
	require.Empty(t, schemalock.Compare(now, parsed))
}

func TestMultiRegion_TimelinesNeedTransactions(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "t"}))
	readings, err := timeseries.New[reading](db)
	require.NoError(t, err)
	strong := entity.Must(entity.Open(nil, entity.Config{Table: "t", MultiRegion: entity.MRSC}))
	_, err = timeline.New(strong, timeline.Projection[string, int]{
		Name: "sums", Version: 1, Retention: 24 * time.Hour, Source: timeline.Series(readings),
		Handlers: []timeline.Handler[string, int]{timeline.Ensure[reading, string, int]("reading.appended", func(r reading) string { return r.Device })},
	})
	require.Equal(t, "EDD-9089", dbtest.SchemaCode(err))
}

var errCache = errors.New("read from the cache")

// cache is a client of reads that answers none.
type cache struct{ entity.Client }

func (cache) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return nil, errCache
}

func (cache) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return nil, errCache
}

func (cache) Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return nil, errCache
}

func (cache) BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return nil, errCache
}

// Rows of timelines are not read from a cache, which could name rows that are gone.
func TestReadClient_TimelinesDoNotUseIt(t *testing.T) {
	t.Parallel()
	l := dbtest.Open(t, func(c *entity.Config) { c.ReadClient = cache{} })
	readings := entity.Must(timeseries.New[reading](l.DB))
	view, err := timeline.New(l.DB, timeline.Projection[string, int]{
		Name: "sums", Version: 1, Retention: 24 * time.Hour, Source: timeline.Series(readings),
		Handlers: []timeline.Handler[string, int]{timeline.Ensure[reading, string, int]("reading.appended", func(r reading) string { return r.Device })},
	})
	require.NoError(t, err)
	l.CreateTables()
	l.OK(readings.Append(l.Ctx, reading{Device: "d", At: l.Clock.Now(), Value: 1}))
	_, err = readings.Get(l.Ctx, reading{Device: "d"})
	require.ErrorIs(t, err, errCache, "others do")
	l.OK(view.Rebuild(l.Ctx))
	_, _, err = view.Get(l.Ctx, "d")
	require.NoError(t, err)
	page, err := view.Page(l.Ctx, 0, 10)
	require.NoError(t, err)
	require.Len(t, page.Rows, 1)
}

var dawn = time.Date(2101, 3, 4, 5, 6, 7, 0, time.UTC)

type pass struct {
	_       entity.Key        `name:"Pass" pk:"$#{id}" sk:"$"`
	_       lifecycle.TTL     `attr:"ends" after:"1h"`
	_       unique.Constraint `name:"code" fields:"code"`
	_       versioned.Retain  `ttl:"1d"`
	ID      string            `dynamodbav:"id"`
	Code    string            `dynamodbav:"code,omitempty"`
	Note    string            `dynamodbav:"note,omitempty"`
	Ends    int64             `dynamodbav:"ends,omitempty"`
	Version int64             `dynamodbav:"version" entity:"version"`
	Updated time.Time         `dynamodbav:"updated" entity:"updated_at"`
}

// An expiry is no event. The first state of a new life is created, whether or not DynamoDB has removed the old item.
func TestTimeline_OfItemsThatExpire(t *testing.T) {
	t.Parallel()
	for _, removed := range []bool{false, true} {
		l, store := dbtest.OpenStore[pass](t)
		l.Clock.Set(dawn, 0)
		ctx := t.Context()
		log := entity.Must(timeline.NewLog(l.DB, timeline.Log{Name: "passes", Source: timeline.Versions(entity.Must(versioned.Of(store)))}))
		events := func() (all []string) {
			t.Helper()
			for e, err := range log.All(ctx) {
				require.NoError(t, err)
				p := e.Payload.(pass)
				all = append(all, e.Name+" "+p.Note+" "+time.Unix(p.Ends, 0).UTC().Sub(dawn).String())
			}
			return all
		}
		l.OK(store.Create(ctx, pass{ID: "a", Code: "A1", Note: "one"}))
		l.Clock.Move(time.Minute)
		l.OK(store.Update(ctx, pass{ID: "a"}, entity.Set(&entity.Fields[pass]().Note, "two")))
		first := []string{"pass.updated two 1h0m0s", "pass.created one 1h0m0s"}
		require.Equal(t, first, events())
		l.Clock.Move(time.Hour)
		if removed {
			l.RemoveItem(l.Current("a"))
		}
		require.Equal(t, first, events(), "the history remains")
		l.OK(store.Put(ctx, pass{ID: "a", Note: "three"}))
		l.OK(store.Update(ctx, pass{ID: "a"}, entity.Set(&entity.Fields[pass]().Note, "four")))
		require.Equal(t, append([]string{"pass.updated four 2h1m0s", "pass.created three 2h1m0s"}, first...), events())
		page := entity.Must(log.Page(ctx, 0, 0))
		require.False(t, page.Meta.HistoryComplete, "what expires leaves no trace")
		l.Clock.Move(24 * time.Hour)
		require.Equal(t, []string{"pass.baseline four 2h1m0s"}, events(), "the states before have expired")
	}
}

type patient struct {
	_ entity.Key       `name:"Patient" pk:"$#{clinic}" sk:"$#{ssn}"`
	_ versioned.Retain `ttl:"1d"`

	Clinic  string    `dynamodbav:"clinic"`
	SSN     string    `dynamodbav:"ssn" entity:"secret"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

// Without a key a page of a log of items whose key is secret is refused before any request; with one, the cursor hides it.
func TestLog_ACursorOfSecretKeysNeedsAKey(t *testing.T) {
	t.Parallel()
	const hush = "hush-hush"
	l, s := dbtest.OpenStore[patient](t)
	for i := range 3 {
		l.OK(s.Create(t.Context(), patient{Clinic: "c", SSN: fmt.Sprint(hush, i)}))
	}
	log := func(db *entity.DB) *timeline.LogView {
		history := entity.Must(versioned.Of(dbtest.Declare[patient](t, db)))
		return entity.Must(timeline.NewLog(db, timeline.Log{Name: "log", Source: timeline.Versions(history)}))
	}
	l.Operations()
	_, err := log(l.DB).After(t.Context(), "", 1)
	dbtest.RequireInput(t, err, "EDD-9155", "SSN")
	require.NotContains(t, err.Error(), hush)
	require.Empty(t, l.Operations())

	keyed := log(l.Open(l.Client, func(c *entity.Config) { c.CursorKey = []byte(strings.Repeat("k", 16)) }))
	page := entity.Must(keyed.After(t.Context(), "", 1))
	body, err := base64.RawURLEncoding.DecodeString(page.Next)
	require.NoError(t, err)
	require.NotContains(t, string(body), hush)
	require.NotEqual(t, page.Next, entity.Must(keyed.After(t.Context(), page.Next, 1)).Next)
}
