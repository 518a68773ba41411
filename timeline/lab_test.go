package timeline_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/versioned"
)

// reading is a time series.
type reading struct {
	_ entity.Key        `name:"Reading" pk:"$#{device}" sk:"$"`
	_ timeseries.Events `orderBy:"at" late:"record"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Site   string    `dynamodbav:"site" entity:"append"`
	Value  int       `dynamodbav:"value" entity:"append"`
}

// message is a versioned entity that is deleted softly.
type message struct {
	_ entity.Key `name:"Message" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete

	ID      string    `dynamodbav:"id"`
	User    string    `dynamodbav:"user"`
	Channel string    `dynamodbav:"channel"`
	Text    string    `dynamodbav:"text"`
	Status  string    `dynamodbav:"status,omitempty"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Created time.Time `dynamodbav:"created" entity:"created_at"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

// totals is the state of a group of readings.
type totals struct {
	Count int        `dynamodbav:"count"`
	Sum   int        `dynamodbav:"sum"`
	Last  *time.Time `dynamodbav:"last"`
	Order []int      `dynamodbav:"order"` // values as they were applied
}

// clock is a clock that moves when it is told to.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

var noon = time.Date(2101, 4, 22, 12, 0, 0, 0, time.UTC)

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(time.Microsecond) // so that no two writes have one time
	return c.now
}

func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// lab is a table with a series and a versioned entity, on a connection that can be made to fail.
type lab struct {
	t        *testing.T
	ctx      context.Context
	raw      *dynamodb.Client
	table    string
	sent     *faults.Transport
	clock    *clock
	db       *entity.DB
	readings *timeseries.Series[reading]
	messages *entity.Store[message]
	bin      *lifecycle.Deleted[message]
	past     *versioned.History[message]
}

func newLab(t *testing.T, change ...func(*entity.Config)) *lab {
	t.Helper()
	raw, table := localdb.Test(t)
	l := &lab{t: t, ctx: t.Context(), raw: raw, table: table, sent: faults.New(raw.Options().HTTPClient), clock: &clock{now: noon}}
	l.connect(change...)
	require.NoError(t, l.db.CreateTables(l.ctx))
	l.sent.Reset()
	return l
}

// connect opens the database once more, as another program does.
func (l *lab) connect(change ...func(*entity.Config)) *lab {
	l.t.Helper()
	cfg := entity.Config{Table: l.table, Clock: l.clock.Now}
	for _, f := range change {
		f(&cfg)
	}
	client := dynamodb.New(l.raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = l.sent })
	var err error
	l.db, err = entity.Open(client, cfg)
	require.NoError(l.t, err)
	l.readings, err = timeseries.New[reading](l.db)
	require.NoError(l.t, err)
	l.messages, err = entity.New[message](l.db)
	require.NoError(l.t, err)
	l.bin, err = lifecycle.Of(l.messages)
	require.NoError(l.t, err)
	l.past, err = versioned.Of(l.messages)
	require.NoError(l.t, err)
	return l
}

// at is minutes after noon.
func at(minutes float64) time.Time { return noon.Add(time.Duration(minutes * float64(time.Minute))) }

// append adds readings of one device, each with its minute as value.
func (l *lab) append(device, site string, minutes ...float64) {
	l.t.Helper()
	for _, m := range minutes {
		_, err := l.readings.Append(l.ctx, reading{Device: device, Site: site, At: at(m), Value: int(m * 10)}, timeseries.WithoutCurrent())
		require.NoError(l.t, err)
	}
}

// sum is what handlers of readings do.
func sum(s *totals, e timeline.Event[reading]) error {
	s.Count++
	s.Sum += e.Payload.Value
	s.Last = &e.At
	s.Order = append(s.Order, e.Payload.Value)
	return nil
}

func bySite(r reading) string   { return r.Site }
func byDevice(r reading) string { return r.Device }

// sites is a fold of readings by site, which no partition has to itself.
func (l *lab) sites(change ...func(*timeline.Projection[string, totals])) timeline.Projection[string, totals] {
	f := timeline.Projection[string, totals]{
		Name: "sites", Version: 1, Source: timeline.Series(l.readings),
		Handlers: []timeline.Handler[string, totals]{timeline.On("reading.appended", bySite, sum)},
	}
	for _, c := range change {
		c(&f)
	}
	return f
}

// devices is a fold of readings by device, each in its partition.
func (l *lab) devices(change ...func(*timeline.Projection[string, totals])) timeline.Projection[string, totals] {
	f := timeline.Projection[string, totals]{
		Name: "devices", Version: 1,
		Source:   timeline.Series(l.readings, timeline.PartitionKey(func(device string) reading { return reading{Device: device} })),
		Handlers: []timeline.Handler[string, totals]{timeline.On("reading.appended", byDevice, sum)},
	}
	for _, c := range change {
		c(&f)
	}
	return f
}

func view[K comparable, S any](l *lab, f timeline.Projection[K, S]) *timeline.View[K, S] {
	l.t.Helper()
	v, err := timeline.New(l.db, f)
	require.NoError(l.t, err)
	return v
}

// rows are all rows of a view, by key.
func rows[K comparable, S any](l *lab, v *timeline.View[K, S], opts ...timeline.RowsOption) map[K]timeline.Row[K, S] {
	l.t.Helper()
	all := map[K]timeline.Row[K, S]{}
	for r, err := range v.All(l.ctx, opts...) {
		require.NoError(l.t, err)
		require.NotContains(l.t, all, r.Key, "a row comes once")
		all[r.Key] = r
	}
	return all
}

// rebuild is Rebuild where an error would be a failure of the test.
func rebuild[K comparable, S any](l *lab, v *timeline.View[K, S], opts ...timeline.BuildOption) timeline.Meta {
	l.t.Helper()
	m, err := v.Rebuild(l.ctx, opts...)
	require.NoError(l.t, err)
	return m
}

// scan is everything that lies in the table.
func (l *lab) scan() (all []map[string]types.AttributeValue) {
	l.t.Helper()
	in := &dynamodb.ScanInput{TableName: &l.table}
	for {
		out, err := l.raw.Scan(l.ctx, in)
		require.NoError(l.t, err)
		all = append(all, out.Items...)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return all
		}
	}
}
