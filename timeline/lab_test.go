package timeline_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
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

var noon = time.Date(2101, 4, 22, 12, 0, 0, 0, time.UTC)

// lab is a table with a series and a versioned entity, on a connection that can be made to fail. Copies have a DB of their
// own.
type lab struct {
	dbtest.Bench
	readings *timeseries.Series[reading]
	messages *entity.Store[message]
	bin      *lifecycle.Deleted[message]
	past     *versioned.History[message]
}

func newLab(t *testing.T, change ...func(*entity.Config)) *lab {
	t.Helper()
	l := &lab{Bench: *dbtest.Open(t)}
	l.Clock.Set(noon, time.Microsecond) // so that no two writes have one time
	l.connect(change...)
	l.CreateTables()
	return l
}

// connect opens the database again, as another program does.
func (l *lab) connect(change ...func(*entity.Config)) *lab {
	l.T.Helper()
	l.DB = l.Open(l.Client, change...)
	var err error
	l.readings, err = timeseries.New[reading](l.DB)
	require.NoError(l.T, err)
	l.messages = dbtest.Declare[message](l.T, l.DB)
	l.bin, err = lifecycle.Of(l.messages)
	require.NoError(l.T, err)
	l.past, err = versioned.Of(l.messages)
	require.NoError(l.T, err)
	return l
}

// at returns the time that many minutes after noon.
func at(minutes float64) time.Time { return noon.Add(time.Duration(minutes * float64(time.Minute))) }

// append adds readings of one device, each with its minute as value.
func (l *lab) append(device, site string, minutes ...float64) {
	l.T.Helper()
	for _, m := range minutes {
		_, err := l.readings.Append(l.Ctx, reading{Device: device, Site: site, At: at(m), Value: int(m * 10)})
		require.NoError(l.T, err)
	}
}

// fill loads readings at minute 1, of n devices and as many sites, where only their presence matters.
func (l *lab) fill(n int, minutes ...float64) {
	l.T.Helper()
	var evs []reading
	for i := range n {
		for _, m := range minutes {
			evs = append(evs, reading{Device: fmt.Sprintf("d-%d", i), Site: fmt.Sprintf("s-%d", i), At: at(m), Value: int(m * 10)})
		}
	}
	l.load(evs)
}

// sum is the usual handler of readings.
func sum(s *totals, e timeline.Event[reading]) error {
	s.Count++
	s.Sum += e.Payload.Value
	s.Last = &e.At
	s.Order = append(s.Order, e.Payload.Value)
	return nil
}

func bySite(r reading) string { return r.Site }

func byDevice(r reading) string { return r.Device }

// sites returns a projection of readings by site, which spans partitions.
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

// devices returns a projection of readings by device, each in its own partition.
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

// view opens a view and fails the test on an error.
func view[K comparable, S any](l *lab, f timeline.Projection[K, S]) *timeline.View[K, S] {
	l.T.Helper()
	v := entity.Must(timeline.New(l.DB, f))
	return v
}

// rows returns all rows of a view by key.
func rows[K comparable, S any](l *lab, v *timeline.View[K, S], opts ...timeline.RowsOption) map[K]timeline.Row[K, S] {
	l.T.Helper()
	all := map[K]timeline.Row[K, S]{}
	for r, err := range v.All(l.Ctx, opts...) {
		require.NoError(l.T, err)
		require.NotContains(l.T, all, r.Key, "a row comes once")
		all[r.Key] = r
	}
	return all
}

// rebuild rebuilds a view and fails the test on an error.
func rebuild[K comparable, S any](l *lab, v *timeline.View[K, S], opts ...timeline.BuildOption) timeline.Meta {
	l.T.Helper()
	m, err := v.Rebuild(l.Ctx, append([]timeline.BuildOption{timeline.Segments(2)}, opts...)...)
	require.NoError(l.T, err)
	return m
}

// eachRoute runs f for a view by site, whose events are sorted, and one by device, whose partitions are read one by one.
func eachRoute(t *testing.T, f func(*testing.T, *lab, timeline.Projection[string, totals])) {
	t.Parallel()
	t.Run("sorted", func(t *testing.T) { t.Parallel(); l := newLab(t); f(t, l, l.sites()) })
	t.Run("partition", func(t *testing.T) { t.Parallel(); l := newLab(t); f(t, l, l.devices()) })
}

// journal is a list of what happened, as rows report it.
type journal struct {
	Lines []string `dynamodbav:"lines"`
}

// journals returns a projection that notes a line for each event in its group. Events are those of an entity, in lower case.
func journals[P any](name string, source timeline.Source, entity string, group func(P) string, line func(timeline.Event[P]) string, events ...string) timeline.Projection[string, journal] {
	f := timeline.Projection[string, journal]{Name: name, Version: 1, Source: source}
	for _, event := range events {
		f.Handlers = append(f.Handlers, timeline.On(entity+"."+event, group, func(j *journal, e timeline.Event[P]) error {
			j.Lines = append(j.Lines, line(e))
			return nil
		}))
	}
	return f
}

// failedAt requires that err is about an event, at a stage, and of a class.
func failedAt(t testing.TB, err error, stage timeline.Stage, class error) *timeline.EventError {
	t.Helper()
	var wrong *timeline.EventError
	require.ErrorAs(t, err, &wrong)
	require.ErrorIs(t, err, class)
	require.Equal(t, stage, wrong.Stage)
	return wrong
}

// catchUp brings a view up to date and fails the test on an error.
func catchUp[K comparable, S any](l *lab, v *timeline.View[K, S]) timeline.Meta {
	l.T.Helper()
	m, err := v.CatchUp(l.Ctx, timeline.Segments(1))
	require.NoError(l.T, err)
	return m
}

// metaOf returns the metadata of a view.
func metaOf[K comparable, S any](l *lab, v *timeline.View[K, S]) timeline.Meta {
	l.T.Helper()
	m, err := v.Meta(l.Ctx)
	require.NoError(l.T, err)
	return m
}

// offline returns a lab without a database.
func offline(t *testing.T) *lab {
	t.Helper()
	l := &lab{Bench: dbtest.Bench{T: t, Ctx: t.Context()}}
	var err error
	l.DB, err = entity.Open(nil, entity.Config{Table: "app"})
	require.NoError(t, err)
	l.readings, err = timeseries.New[reading](l.DB)
	require.NoError(t, err)
	l.messages, err = entity.New[message](l.DB)
	require.NoError(t, err)
	l.past, err = versioned.Of(l.messages)
	require.NoError(t, err)
	return l
}

// codes returns the codes of the joined mistakes in err, each once.
func codes(err error) []string {
	var all []string
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, codes(e)...)
		}
		return all
	}
	var mistake *entity.SchemaError
	if errors.As(err, &mistake) {
		all = append(all, mistake.Code)
	}
	return all
}

func once(c *entity.Config) { c.MaxAttempts = 1 }

// from makes every request fail from the n-th on, as if the program ended.
func from(n int, f faults.Fault) func(faults.Request) faults.Fault {
	return func(r faults.Request) faults.Fault {
		if r.Index >= n-1 {
			return f
		}
		return faults.None
	}
}

func isPut(r faults.Request) bool {
	return r.Operation == "PutItem" || r.Operation == "UpdateItem" || r.Operation == "TransactWriteItems"
}

func isManifest(r faults.Request) bool { return isPut(r) && holds(r, "timelinemanifest") }

// isRow reports whether a request writes a row.
func isRow(r faults.Request) bool { return isPut(r) && holds(r, `"state"`) }

func holds(r faults.Request, text string) bool { return bytes.Contains(r.Body, []byte(text)) }

// removal reports whether a request deletes rows.
var removal = dbtest.Is("BatchWriteItem", "DeleteItem")

// pageWalk returns the keys of all pages by number.
func pageWalk[K comparable, S any](l *lab, v *timeline.View[K, S], size int, opts ...timeline.RowsOption) (keys []K) {
	l.T.Helper()
	for page := 1; ; page++ {
		p, err := v.Page(l.Ctx, page, size, opts...)
		require.NoError(l.T, err)
		require.LessOrEqual(l.T, len(p.Rows), size)
		for _, r := range p.Rows {
			keys = append(keys, r.Key)
		}
		if int64(page) >= p.Pages {
			return keys
		}
	}
}

// cursorWalk returns the keys of all pages by cursor.
func cursorWalk[K comparable, S any](l *lab, v *timeline.View[K, S], size int, opts ...timeline.RowsOption) (keys []K) {
	l.T.Helper()
	for cursor, first := "", true; first || cursor != ""; first = false {
		p, err := v.After(l.Ctx, cursor, size, opts...)
		require.NoError(l.T, err)
		require.LessOrEqual(l.T, len(p.Rows), size)
		for _, r := range p.Rows {
			keys = append(keys, r.Key)
		}
		cursor = p.Next
	}
	return keys
}

// crowd returns a view of n rows of a feed, of which row i ends i minutes later than the first.
func crowd(l *lab, n int, retention time.Duration) *timeline.View[int, totals] {
	l.T.Helper()
	var events []event
	for i := range n {
		e := happened(fmt.Sprint(i), float64(i)-float64(n), "s")
		e.Payload.Value = i - n/2
		events = append(events, e)
	}
	byValue := func(r reading) int { return r.Value }
	v := view(l, timeline.Projection[int, totals]{Name: "crowd", Version: 1, Source: fed(&events), Retention: retention, MaxPageSize: 1000,
		Handlers: []timeline.Handler[int, totals]{timeline.On("taken", byValue, sum)}})
	rebuild(l, v)
	return v
}

// ahead returns a view of a program with a clock that is ahead.
func (l *lab) ahead(d time.Duration) *timeline.View[string, totals] {
	l.T.Helper()
	other := *l
	other.connect(func(c *entity.Config) { c.Clock = func() time.Time { return l.Clock.Now().Add(d) } })
	return view(&other, other.sites())
}

// resend sends a request again, as a network that delayed it.
func (l *lab) resend(r faults.Request) {
	l.T.Helper()
	req, err := http.NewRequestWithContext(l.Ctx, http.MethodPost, *l.Raw.Options().BaseEndpoint, bytes.NewReader(r.Body))
	require.NoError(l.T, err)
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+r.Operation)
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	creds, err := l.Raw.Options().Credentials.Retrieve(l.Ctx)
	require.NoError(l.T, err)
	sum := sha256.Sum256(r.Body)
	require.NoError(l.T, v4.NewSigner().SignHTTP(l.Ctx, creds, req, hex.EncodeToString(sum[:]), "dynamodb", l.Raw.Options().Region, time.Now()))
	answer, err := http.DefaultClient.Do(req)
	require.NoError(l.T, err)
	require.NoError(l.T, answer.Body.Close())
	require.Equal(l.T, http.StatusBadRequest, answer.StatusCode, "it is refused")
}

// count returns how many items of the table have an attribute.
func (l *lab) count(attr string) (n int) {
	l.T.Helper()
	for _, it := range l.Items() {
		if _, ok := it[attr]; ok {
			n++
		}
	}
	return n
}

// removeExpired removes expired items, as DynamoDB does eventually.
func (l *lab) removeExpired() {
	l.T.Helper()
	now := strconv.FormatInt(l.Clock.Now().Unix(), 10)
	var expired []types.WriteRequest
	for _, it := range l.Items() {
		if ttl := dbtest.Text(it["_ttl"]); ttl != "" && ttl <= now { // ten digits each
			key := dbtest.Item{"pk": it["pk"], "sk": it["sk"]}
			expired = append(expired, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: key}})
		}
	}
	for part := range slices.Chunk(expired, 25) {
		_, err := l.Raw.BatchWriteItem(l.Ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{l.Table: part}})
		require.NoError(l.T, err)
	}
}

// rowWrites returns how many rows were written since the last reset.
func (l *lab) rowWrites() (n int) {
	for _, r := range l.Wire.Requests() {
		if isRow(r) {
			n++
		}
	}
	return n
}

// broken returns a projection of devices whose handler counts wrongly and then fails at the readings of d-3.
func (l *lab) broken(err error) timeline.Projection[string, totals] {
	return l.devices(func(f *timeline.Projection[string, totals]) {
		f.Handlers[0] = timeline.On("reading.appended", byDevice, func(s *totals, e timeline.Event[reading]) error {
			if e.Payload.Device == "d-3" {
				return err
			}
			s.Sum += 1000
			return sum(s, e)
		})
	})
}

const day = 24 * time.Hour

// newTransport returns the lab of another program, with its own connection to the database.
func newTransport(l *lab) *lab {
	l.T.Helper()
	other := *l
	other.Wire = faults.New(l.Raw.Options().HTTPClient)
	other.Client = l.Through(other.Wire)
	return other.connect()
}

// load writes events in their stored form, as docs/series.md describes it, many at a time. TestLab_LoadedEventsEqualAppendedOnes
// compares them with those of Append.
func (l *lab) load(evs []reading) {
	l.T.Helper()
	const atOnce = 25
	work := make(chan []reading)
	errs := make(chan error)
	for range 4 {
		go func() {
			var failed error
			for part := range work {
				var puts []types.WriteRequest
				for _, r := range part {
					puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: l.laid(r)}})
				}
				for len(puts) > 0 && failed == nil {
					out, err := l.Raw.BatchWriteItem(l.Ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{l.Table: puts}})
					if failed = err; err == nil {
						puts = out.UnprocessedItems[l.Table]
					}
				}
			}
			errs <- failed
		}()
	}
	for len(evs) > 0 {
		n := min(atOnce, len(evs))
		work <- evs[:n]
		evs = evs[n:]
	}
	close(work)
	for range 4 {
		require.NoError(l.T, <-errs)
	}
}

// laid returns an event as a stored item.
func (l *lab) laid(r reading) map[string]types.AttributeValue {
	const format = "2006-01-02T15:04:05.000000000Z"
	s := dbtest.S
	at := r.At.UTC().Format(format)
	return map[string]types.AttributeValue{
		"pk": s("$app#v1#reading#" + r.Device), "sk": s("$app#v1#reading#e#" + at),
		"__edd_e__": s("Reading"), "_k": s("e"), "_at": s(l.Clock.Now().Format(format)), "_w": s(fmt.Sprintf("load-%021d", r.Value)),
		"device": s(r.Device), "at": s(at), "site": s(r.Site), "value": dbtest.N(strconv.Itoa(r.Value)),
	}
}
