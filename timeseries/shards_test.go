package timeseries_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeseries"
)

// ticks are events of a series of T, one a minute.
func ticks[T gauges](id string, n int) []T {
	batch := make([]fact, n)
	for i := range batch {
		batch[i] = fact{at: i, a: i}
	}
	return ofSingles[T](singlesOf(id, batch))
}

// The name of a partition follows from the sort key alone, by SHA-256, so that any program can find an event.
func TestShards_EventsAreWhereTheHashOfTheirSortKeySays(t *testing.T) {
	w := open[Sharded](t)
	w.appendAll(ticks[Sharded]("g-1", 200))
	held := map[string]int{}
	for _, it := range w.Items() {
		pk, sk := dbtest.Text(it["pk"]), dbtest.Text(it["sk"])
		held[pk]++
		if !strings.Contains(sk, "#e#") {
			require.Equal(t, "$app#v1#sharded#g-1", pk, "the current item stays one")
			continue
		}
		sum := sha256.Sum256([]byte(sk))
		require.Equal(t, fmt.Sprintf("$app#v1#sharded#g-1#e#%02d", binary.BigEndian.Uint64(sum[:])%5), pk)
	}
	require.Len(t, held, 6)
	require.Equal(t, 1, held["$app#v1#sharded#g-1"])
	for pk, n := range held {
		require.True(t, n == 1 || n > 20, "%s has %d of 200 events", pk, n)
	}
}

func TestShards_CostOfEachVerb(t *testing.T) {
	w := open[Log](t) // three partitions
	evs := ticks[Log]("g-1", 30)
	count := func(want int, what string, f func() error) {
		t.Helper()
		w.Wire.Reset()
		require.NoError(t, f(), what)
		require.Equal(t, want, len(w.Wire.Requests()), "%s: %v", what, w.operations())
	}
	key := evs[0]
	count(1, "append", func() error { return dbtest.ErrorOf(w.series.Append(w.Ctx, key)) })
	require.Equal(t, []string{"PutItem"}, w.operations())
	count(30, "append all", func() error { return dbtest.ErrorOf(w.series.AppendAll(w.Ctx, evs)) })
	count(3, "history", func() error { return dbtest.ErrorOf(w.series.History(key).Collect(w.Ctx)) })
	count(3, "count", func() error { return dbtest.ErrorOf(w.series.History(key).Count(w.Ctx)) })
	count(3, "first", func() error { return dbtest.ErrorOf(w.series.History(key, entity.Desc()).First(w.Ctx)) })
	count(3, "at", func() error { return dbtest.ErrorOf(w.series.At(w.Ctx, key, at(12))) })
	// 2 reads up to the first event, as one reading without a current item proves nothing; 4 with 3 removals; 4 of nothing
	count(13, "purge", func() error { return w.series.Purge(w.Ctx, key) })
}

func TestShards_AHistoryTakesWhatItsFirstEventsNeed(t *testing.T) {
	w, evs := open[Log](t), ticks[Log]("g-1", 30)
	w.appendAll(evs)
	for _, o := range []entity.QueryOption{entity.MaxRequests(2), entity.MaxEvaluated(2)} {
		require.Equal(t, "EDD-9166", dbtest.InputCode(dbtest.ErrorOf(w.series.History(evs[0], o).Collect(w.Ctx))))
	}
	got := entity.Must(w.series.History(evs[0], entity.MaxEvaluated(6)).Collect(w.Ctx))
	require.Equal(t, evs[:len(got)], got, "what is returned is the beginning")
	require.NotEmpty(t, got)
	require.Equal(t, "EDD-9127", dbtest.InputCode(w.DB.GetCollection(w.Ctx, w.series.History(evs[0]).Into(&got))), "several partitions are no collection")
}

func TestHistory_PagesUnderAnyBoundAreTheHistoryInPieces(t *testing.T) {
	seed := testsize.Seed(t)
	random := rand.New(rand.NewPCG(seed, 2))
	turnHistory[Alone](t, random, 1)
	turnHistory[Log](t, random, 3)
}

// turnHistory turns pages of a history of T, which has parts partitions.
func turnHistory[T gauges](t *testing.T, random *rand.Rand, parts int) {
	w, evs := open[T](t), ticks[T]("g-1", 25)
	w.appendAll(evs)
	for i := range testsize.Pick(2, 12) {
		turn := func(o ...entity.QueryOption) entity.Query[T] {
			if i%2 == 1 {
				o = append(o, entity.Desc())
			}
			return w.series.History(evs[0], o...)
		}
		dbtest.Turn(t, random, parts, turn)
	}
}

func TestShards_CursorsBelongToTheirQuery(t *testing.T) {
	for _, key := range [][]byte{nil, []byte("0123456789abcdef0123456789abcdef")} {
		w := open[Log](t, func(c *entity.Config) { c.CursorKey = key })
		w.appendAll(append(ticks[Log]("g-1", 30), ticks[Log]("g-2", 30)...))
		one, two := ticks[Log]("g-1", 1)[0], ticks[Log]("g-2", 1)[0]
		page := entity.Must(w.series.History(one, entity.Limit(10)).Page(w.Ctx, ""))
		shown, _ := base64.RawURLEncoding.DecodeString(page.Next)
		require.Equal(t, key == nil, strings.Contains(string(shown), "2026-04-22"), "only a cursor without a key shows where it is")
		next := entity.Must(w.series.History(one, entity.Limit(10)).Page(w.Ctx, page.Next))
		require.Equal(t, ticks[Log]("g-1", 20)[10:], next.Items)
		for name, q := range map[string]entity.Query[Log]{
			"another series": w.series.History(two), "another direction": w.series.History(one, entity.Desc()),
			"another range": w.series.History(one, entity.Ge(&entity.Fields[Log]().At, at(3))),
		} {
			_, err := q.Page(w.Ctx, page.Next)
			require.Equal(t, entity.CursorForeign, dbtest.As[*entity.CursorError](t, err, name).Reason, name)
		}
	}
}

func TestShards_PurgeKnowsEveryPartitionAndTheItemOfAnEarlierDeclaration(t *testing.T) {
	w := open[Sharded](t)
	w.appendAll(append(ticks[Sharded]("g-1", 130), ticks[Sharded]("g-2", 3)...))
	stray := w.Items()[0]
	for _, it := range w.Items() {
		if strings.Contains(dbtest.Text(it["pk"]), "g-1#e#") {
			stray = it
		}
	}
	stray["pk"] = dbtest.S("$app#v1#sharded#g-1") // from before the declaration had shards
	w.PutItem(stray)
	removed := 0
	require.NoError(t, w.series.Purge(w.Ctx, ticks[Sharded]("g-1", 1)[0], entity.OnProgress(func(n int) { removed = n })))
	require.Equal(t, 132, removed)
	require.Len(t, w.Items(), 4, "the other series is untouched")
}

// An event that is appended while a purge runs is there as a whole afterwards, or not at all.
func TestShards_AnAppendDuringAPurge(t *testing.T) {
	for n := 1; n <= 8; n += testsize.Pick(2, 1) {
		w := open[Sharded](t)
		w.appendAll(ticks[Sharded]("g-1", 9))
		late, ev, seen := declare[Sharded](t, w.Open(w.Raw)), Sharded(singleOf("g-1", fact{at: 100})), 0
		err := w.Overtake(func(faults.Request) bool { seen++; return seen == n }, func() error { return w.series.Purge(w.Ctx, ev) }, func() {
			require.NoError(t, dbtest.ErrorOf(late.Append(context.Background(), ev)))
		})
		require.NoError(t, err)
		switch items := w.Items(); len(items) {
		case 0:
		case 2:
			require.Equal(t, []Sharded{ev}, w.history(ev))
			require.Equal(t, ev, w.current(ev))
		default:
			t.Errorf("request %d: %d items", n, len(items))
		}
	}
}

func TestLog_OutcomesOfAnAppend(t *testing.T) {
	w, ev := open[Alone](t), Alone(singleOf("g-1", fact{at: 5, a: 1}))
	other := ev
	other.Value = 2
	require.True(t, w.append(ev).Applied)
	sent := len(w.Wire.Requests())
	again := w.append(ev)
	require.Equal(t, timeseries.Duplicate, again.Reason)
	require.Equal(t, ev, *again.Existing)
	require.Len(t, w.Wire.Requests(), sent+1)
	collided := w.append(other)
	require.Equal(t, timeseries.Collision, collided.Reason)
	require.Equal(t, ev, *collided.Existing)
	require.True(t, w.append(Alone(singleOf("g-1", fact{at: 1}))).Applied, "there is no order to be late in")
	require.Len(t, w.Items(), 2, "no current item")

	err := w.DB.Transact(w.Ctx, w.series.Op().Append(Alone(singleOf("g-1", fact{at: 2}))), w.series.Op().Append(other))
	require.Equal(t, timeseries.Collision, dbtest.As[*timeseries.NotAppliedError](t, err).Reason)
	require.Len(t, w.Items(), 2, "all or nothing")
	one, two := w.series.Op().Append(Alone(singleOf("g-1", fact{at: 2}))), w.series.Op().Append(Alone(singleOf("g-1", fact{at: 3})))
	require.NoError(t, w.DB.Transact(w.Ctx, one, two))
	require.True(t, one.Result().Applied && two.Result().Applied)
	require.Equal(t, []string{"Put", "Put"}, w.kinds(len(w.Wire.Requests())-1))
	require.Equal(t, "EDD-9109", dbtest.InputCode(w.DB.Transact(w.Ctx, w.series.Op().Append(ev), w.series.Op().Append(ev))))
}

func TestLog_RefusesWhatNeedsACurrentItemBeforeAnyRequest(t *testing.T) {
	w, ev := open[Log](t), ticks[Log]("g-1", 1)[0]
	r, f := w.append(ev), entity.Fields[Log]()
	w.Wire.Reset()
	for name, call := range map[string]func() error{
		"Get":         func() error { return dbtest.ErrorOf(w.series.Get(w.Ctx, ev)) },
		"GetMany":     func() error { return dbtest.ErrorOf(w.series.GetMany(w.Ctx, []Log{ev})) },
		"Update":      func() error { return dbtest.ErrorOf(w.series.Update(w.Ctx, ev, entity.Set(&f.Value, 1))) },
		"Upsert":      func() error { return dbtest.ErrorOf(w.series.Upsert(w.Ctx, ev)) },
		"Query":       func() error { return dbtest.ErrorOf(w.series.Query(ev).Collect(w.Ctx)) },
		"Current":     func() error { return dbtest.ErrorOf(r.Current(w.Ctx)) },
		"CheckExists": func() error { return w.DB.Transact(w.Ctx, w.series.Op().CheckExists(ev)) },
		"Op.Update":   func() error { return w.DB.Transact(w.Ctx, w.series.Op().Update(ev, entity.Set(&f.Value, 1))) },
		"Op.Upsert":   func() error { return w.DB.Transact(w.Ctx, w.series.Op().Upsert(ev)) },
	} {
		err := call()
		require.Equal(t, "EDD-9190", dbtest.InputCode(err), name)
		dbtest.As[*entity.Error](t, err, name)
	}
	condition := entity.If(entity.Eq(&f.Value, 1))
	require.Equal(t, "EDD-9191", dbtest.InputCode(dbtest.ErrorOf(w.series.Append(w.Ctx, ev, condition))))
	require.Equal(t, "EDD-9191", dbtest.InputCode(dbtest.ErrorOf(w.series.AppendAll(w.Ctx, []Log{ev}, condition))))
	require.Empty(t, w.Wire.Requests())
}

func TestLog_AppendAllReportsWhatWasDecidedBeforeAnError(t *testing.T) {
	w, evs := open[Log](t, dbtest.Attempts(1)), ticks[Log]("g-1", 60)
	w.Wire.Inject(from(30, faults.Throttle, "PutItem"))
	rs, err := w.series.AppendAll(w.Ctx, evs)
	sent := len(w.Wire.Requests())
	w.Wire.Inject(nil)
	require.Error(t, err)
	require.Less(t, sent, 30+2*8, "it begins no further request")
	stored := map[string]bool{}
	for _, ev := range w.history(evs[0]) {
		stored[ev.At.String()] = true
	}
	for i, r := range rs {
		require.Equal(t, stored[evs[i].At.String()], r.Applied, "event %d", i)
		require.Empty(t, r.Reason)
	}
	require.Len(t, stored, 29)
	for i, r := range w.appendAll(evs) {
		require.Equal(t, !stored[evs[i].At.String()], r.Applied, "event %d", i)
	}
}

// Answers that run out at the same place are read on together.
func TestShards_AnswersAreReadOnTogether(t *testing.T) {
	w, evs := open[Log](t), ticks[Log]("g-1", 100) // 4 MB in three partitions: two answers of each
	for i := range evs {
		evs[i].Note = ptr(strings.Repeat("n", 40<<10))
	}
	w.appendAll(evs)
	w.Wire.Reset()
	arrived, release := w.Wire.Hold(func(r faults.Request) bool { return strings.Contains(string(r.Body), "ExclusiveStartKey") })
	defer release()
	go func() {
		for range 3 {
			<-arrived // the first waits for the others
		}
		release()
	}()
	ctx, cancel := context.WithTimeout(w.Ctx, 2*time.Minute)
	defer cancel()
	require.Equal(t, evs, entity.Must(w.series.History(evs[0]).Collect(ctx)))
	require.Equal(t, 6, len(w.Wire.Requests()))

	w.Wire.Reset()
	n := 0
	for _, err := range w.series.History(evs[0], entity.Limit(100)).All(w.Ctx) {
		require.NoError(t, err)
		n++
	}
	require.Equal(t, 100, n)
}

// Sealed has a secret in the key that the names of its partitions continue.
type Sealed struct {
	_     entity.Key        `name:"Sealed" pk:"$#{token}" sk:"$"`
	_     timeseries.Events `orderBy:"seq" shards:"2" current:"none"`
	Token string            `dynamodbav:"token" entity:"secret"`
	Seq   uint64            `dynamodbav:"seq"`
	Value int               `dynamodbav:"value" entity:"append"`
}

func TestShards_NamesOfPartitionsShowNoSecret(t *testing.T) {
	t.Parallel()
	series, ev := on[Sealed](t), Sealed{Token: "hunter2", Seq: 7}
	_, err := series.History(ev).Collect(t.Context())
	for _, text := range []string{series.Op().Append(ev).String(), series.History(ev).String(), err.Error()} {
		require.NotContains(t, text, "hunter2")
		require.Contains(t, text, "Sealed")
	}
	_, err = series.History(ev).Page(t.Context(), "")
	require.Equal(t, "EDD-9155", dbtest.InputCode(err), "a cursor without a key could be guessed from")
}

// Gauged is what the events of four series carry, which differ in how they are stored.
type Gauged struct {
	ID     string    `dynamodbav:"id"`
	Stream string    `dynamodbav:"stream"`
	At     time.Time `dynamodbav:"at"`
	Value  int       `dynamodbav:"value" entity:"append"`
	Note   *string   `dynamodbav:"note,omitempty" entity:"append"`
}

// Single is a series in one partition.
type Single struct {
	_ entity.Key        `name:"Single" pk:"$#{id}" sk:"$#{stream}"`
	_ timeseries.Events `orderBy:"at" late:"record" ttl:"30d"`
	Gauged
}

// Sharded is a Single whose events are in five partitions.
type Sharded struct {
	_ entity.Key        `name:"Sharded" pk:"$#{id}" sk:"$#{stream}"`
	_ timeseries.Events `orderBy:"at" late:"record" ttl:"30d" shards:"5"`
	Gauged
}

// Alone has no current item.
type Alone struct {
	_ entity.Key        `name:"Alone" pk:"$#{id}" sk:"$#{stream}"`
	_ timeseries.Events `orderBy:"at" ttl:"30d" current:"none"`
	Gauged
}

// Log has no current item, and events in three partitions.
type Log struct {
	_ entity.Key        `name:"Log" pk:"$#{id}" sk:"$#{stream}"`
	_ timeseries.Events `orderBy:"at" ttl:"30d" current:"none" shards:"3"`
	Gauged
}

// gauges are the types that hold a Single in another way.
type gauges interface{ Single | Sharded | Alone | Log }

func singleOf(id string, f fact) Single {
	return Single{Gauged: Gauged{ID: id, Stream: "s#1", At: at(f.at), Value: f.a, Note: noted(f)}}
}

func singlesOf(id string, batch []fact) []Single {
	return each(batch, func(f fact) Single { return singleOf(id, f) })
}

func ofSingles[T gauges](evs []Single) []T { return each(evs, func(ev Single) T { return T(ev) }) }

func asSingles[T gauges](evs []T) []Single { return each(evs, func(ev T) Single { return Single(ev) }) }

func TestShards_AgreeWithASeriesInOnePartition(t *testing.T) {
	t.Parallel()
	t.Run("shards", func(t *testing.T) {
		sameAsOnePartition[Sharded](t, func() (*time.Time, *int) { f := entity.Fields[Sharded](); return &f.At, &f.Value })
	})
	t.Run("no current item", func(t *testing.T) {
		sameAsOnePartition[Alone](t, func() (*time.Time, *int) { f := entity.Fields[Alone](); return &f.At, &f.Value })
	})
	t.Run("both", func(t *testing.T) {
		sameAsOnePartition[Log](t, func() (*time.Time, *int) { f := entity.Fields[Log](); return &f.At, &f.Value })
	})
}

// twins are a series in one partition, and the same declared in another way, whose requests fail now and then.
type twins[T gauges] struct {
	one   *lab[Single]
	other *lab[T]
	seed  uint64
}

// faulty runs f, while requests fail, until it succeeds, and reports whether it did at once.
func (w *twins[T]) faulty(f func() error) bool {
	w.seed++
	w.other.Wire.Inject(faults.Random(w.seed, .15, faults.Throttle, faults.Conflict, faults.Internal, faults.InternalApplied, faults.Drop, faults.Lost))
	defer w.other.Wire.Inject(nil)
	for n := 0; ; n++ {
		err := f()
		if err == nil {
			return n == 0
		}
		require.Less(w.other.T, n, 100, "%v", err)
	}
}

// sameAsOnePartition appends random batches to both twins and compares what every verb says. fields are those of T.
func sameAsOnePartition[T gauges](t *testing.T, fields func() (*time.Time, *int)) {
	w := &twins[T]{one: open[Single](t), other: open[T](t, dbtest.Attempts(3))}
	var series atomic.Uint64
	testsize.Check(t, testsize.Pick(1, 12), func(rt *rapid.T) {
		n := series.Add(1)
		id := fmt.Sprint("g-", n)
		w.seed = rapid.Uint64().Draw(rt, "faults")
		for range rapid.IntRange(1, 3).Draw(rt, "batches") {
			move := rapid.SampledFrom([]time.Duration{0, 0, 20 * 24 * time.Hour, 30 * 24 * time.Hour}).Draw(rt, "move")
			w.one.Clock.Move(move)
			w.other.Clock.Move(move)
			w.one.lapse(rt, id)
			w.other.lapse(rt, id)
			w.send(rt, id, facts(rapid.SampledFrom([]int{3, 12, testsize.Pick(60, 120)}).Draw(rt, "longest"), rapid.SampledFrom([]int{10, 300}).Draw(rt, "latest"), true).Draw(rt, "batch"))
		}
		for range testsize.Pick(3, 6) {
			w.compareHistories(rt, id, fields)
		}
		for range testsize.Pick(2, 4) {
			w.compareAt(rt, id, at(rapid.IntRange(-1, 310).Draw(rt, "at")))
		}
		key := singleOf(id, fact{})
		w.faulty(func() error { return w.other.series.Purge(w.other.Ctx, T(key)) })
		require.Empty(rt, w.other.Items(), "a purge leaves nothing in any partition")
		require.NoError(rt, w.one.look.Purge(w.one.Ctx, key))
	})
}

// send appends a batch to both, and compares the outcomes.
func (w *twins[T]) send(t *rapid.T, id string, batch []fact) {
	evs := singlesOf(id, batch)
	want := entity.Must(w.one.series.AppendAll(w.one.Ctx, evs))
	var got []timeseries.Result[T]
	first := w.faulty(func() (err error) { got, err = w.other.series.AppendAll(w.other.Ctx, ofSingles[T](evs)); return err })
	if !first {
		return // what an attempt before has stored is a duplicate now
	}
	_, current := any(got).([]timeseries.Result[Sharded])
	for i, r := range got {
		reason := want[i].Reason
		if !current && reason == timeseries.LateRecorded {
			reason = ""
		}
		require.Equal(t, reason, r.Reason, "event %d: %+v", i, batch[i])
		require.Equal(t, reason == "", r.Applied)
		require.Equal(t, reason == timeseries.Duplicate || reason == timeseries.Collision, r.Existing != nil)
		if reason == timeseries.Collision && want[i].Existing != nil {
			require.Equal(t, *want[i].Existing, Single(*r.Existing))
		}
	}
}

// compareHistories reads a random range of both: at once, counted, and by pages in both directions.
func (w *twins[T]) compareHistories(t *rapid.T, id string, fields func() (*time.Time, *int)) {
	fg, a := entity.Fields[Single](), rapid.IntRange(-1, 310).Draw(t, "from")
	b := rapid.IntRange(a, 311).Draw(t, "to")
	kind, desc, value := rapid.IntRange(0, 6).Draw(t, "range"), rapid.Bool().Draw(t, "desc"), rapid.IntRange(-1, 1).Draw(t, "value")
	options := func(clock *time.Time, number *int) []entity.QueryOption {
		opts := [][]entity.QueryOption{
			nil, {entity.Between(clock, at(a), at(b))}, {entity.Gt(clock, at(a)), entity.Lt(clock, at(b))}, {entity.Ge(clock, at(a))},
			{entity.Le(clock, at(b))}, {entity.Lt(clock, at(b))}, {entity.Eq(clock, at(a))},
		}[kind]
		if desc {
			opts = append(opts, entity.Desc())
		}
		if value >= 0 {
			opts = append(opts, entity.Filter(entity.Eq(number, value)))
		}
		return opts
	}
	ours, theirs, key := options(&fg.At, &fg.Value), options(fields()), singleOf(id, fact{})
	want := entity.Must(w.one.series.History(key, ours...).Collect(w.one.Ctx))
	var got []T
	w.faulty(func() (err error) {
		got, err = w.other.series.History(T(key), theirs...).Collect(w.other.Ctx)
		return err
	})
	require.Equal(t, want, asSingles(got))
	var n int
	w.faulty(func() (err error) { n, err = w.other.series.History(T(key), theirs...).Count(w.other.Ctx); return err })
	require.Len(t, want, n)

	size := rapid.SampledFrom([]int{1, 2, 7, 50}).Draw(t, "size")
	if size < 3 && len(want) > 12 {
		size = 20
	}
	limited := entity.Must(w.one.series.History(key, append(ours, entity.Limit(size))...).Collect(w.one.Ctx))
	q := w.other.series.History(T(key), append(theirs, entity.Limit(size))...)
	w.faulty(func() (err error) { got, err = q.Collect(w.other.Ctx); return err })
	require.Equal(t, limited, asSingles(got))

	var pages [][]Single
	var last entity.Page[T]
	for cursor := ""; ; cursor = last.Next {
		w.faulty(func() (err error) { last, err = q.Page(w.other.Ctx, cursor); return err })
		pages = append(pages, asSingles(last.Items))
		if last.Next == "" {
			break
		}
	}
	require.Equal(t, want, append([]Single{}, slices.Concat(pages...)...), "by pages")
	var back [][]Single
	for cursor := last.Prev; cursor != ""; cursor = last.Prev {
		w.faulty(func() (err error) { last, err = q.Page(w.other.Ctx, cursor); return err })
		back = append(back, asSingles(last.Items))
	}
	slices.Reverse(back)
	require.Equal(t, slices.Concat(pages[:len(pages)-1]...), slices.Concat(back...), "back by pages")
}

func (w *twins[T]) compareAt(t *rapid.T, id string, when time.Time) {
	key := singleOf(id, fact{})
	want, wantErr := w.one.series.At(w.one.Ctx, key, when)
	var got T
	var err error
	w.faulty(func() error {
		if got, err = w.other.series.At(w.other.Ctx, T(key), when); errors.Is(err, entity.ErrNotFound) {
			return nil
		}
		return err
	})
	if wantErr != nil {
		require.ErrorIs(t, wantErr, entity.ErrNotFound)
		require.ErrorIs(t, err, entity.ErrNotFound)
		return
	}
	require.NoError(t, err)
	require.Equal(t, want, Single(got))
}
