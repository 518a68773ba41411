package timeseries_test

import (
	"errors"
	"fmt"
	"slices"
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

// Single is a series in one partition.
type Single struct {
	_ entity.Key        `name:"Single" pk:"$#{id}" sk:"$#{stream}"`
	_ timeseries.Events `orderBy:"at" late:"record" ttl:"30d"`

	ID     string    `dynamodbav:"id"`
	Stream string    `dynamodbav:"stream"`
	At     time.Time `dynamodbav:"at"`
	Value  int       `dynamodbav:"value" entity:"append"`
	Note   *string   `dynamodbav:"note,omitempty" entity:"append"`
}

// Sharded is a Single whose events are in five partitions.
type Sharded struct {
	_ entity.Key        `name:"Sharded" pk:"$#{id}" sk:"$#{stream}"`
	_ timeseries.Events `orderBy:"at" late:"record" ttl:"30d" shards:"5"`

	ID     string    `dynamodbav:"id"`
	Stream string    `dynamodbav:"stream"`
	At     time.Time `dynamodbav:"at"`
	Value  int       `dynamodbav:"value" entity:"append"`
	Note   *string   `dynamodbav:"note,omitempty" entity:"append"`
}

// Alone has no current item.
type Alone struct {
	_ entity.Key        `name:"Alone" pk:"$#{id}" sk:"$#{stream}"`
	_ timeseries.Events `orderBy:"at" ttl:"30d" current:"none"`

	ID     string    `dynamodbav:"id"`
	Stream string    `dynamodbav:"stream"`
	At     time.Time `dynamodbav:"at"`
	Value  int       `dynamodbav:"value" entity:"append"`
	Note   *string   `dynamodbav:"note,omitempty" entity:"append"`
}

// Log has no current item, and events in three partitions.
type Log struct {
	_ entity.Key        `name:"Log" pk:"$#{id}" sk:"$#{stream}"`
	_ timeseries.Events `orderBy:"at" ttl:"30d" current:"none" shards:"3"`

	ID     string    `dynamodbav:"id"`
	Stream string    `dynamodbav:"stream"`
	At     time.Time `dynamodbav:"at"`
	Value  int       `dynamodbav:"value" entity:"append"`
	Note   *string   `dynamodbav:"note,omitempty" entity:"append"`
}

// gauges are the types that hold a Single in another way.
type gauges interface{ Single | Sharded | Alone | Log }

func singleOf(id string, f fact) Single {
	ev := Single{ID: id, Stream: "s#1", At: at(f.at), Value: f.a}
	if f.hasB {
		ev.Note = ptr(f.b)
	}
	return ev
}

func singlesOf(id string, batch []fact) []Single {
	evs := make([]Single, len(batch))
	for i, f := range batch {
		evs[i] = singleOf(id, f)
	}
	return evs
}

func ofSingles[T gauges](evs []Single) []T {
	all := make([]T, len(evs))
	for i, ev := range evs {
		all[i] = T(ev)
	}
	return all
}

func asSingles[T gauges](evs []T) []Single {
	all := make([]Single, len(evs))
	for i, ev := range evs {
		all[i] = Single(ev)
	}
	return all
}

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
		w.faulty(func() error { return w.other.Purge(w.other.Ctx, T(key)) })
		require.Empty(rt, w.other.Items(), "a purge leaves nothing in any partition")
		require.NoError(rt, w.one.look.Purge(w.one.Ctx, key))
	})
}

// send appends a batch to both, the second time alone or at once, and compares the outcomes.
func (w *twins[T]) send(t *rapid.T, id string, batch []fact) {
	evs := singlesOf(id, batch)
	want := entity.Must(w.one.AppendAll(w.one.Ctx, evs))
	var got []timeseries.Result[T]
	if len(batch) > 3 || rapid.Bool().Draw(t, "all") {
		first := w.faulty(func() (err error) { got, err = w.other.AppendAll(w.other.Ctx, ofSingles[T](evs)); return err })
		if !first {
			return // what an attempt before has stored is a duplicate now
		}
	} else {
		order := make([]int, len(evs)) // the order in which AppendAll takes them
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(i, j int) int { return evs[i].At.Compare(evs[j].At) })
		got = make([]timeseries.Result[T], len(evs))
		for _, i := range order {
			first := w.faulty(func() (err error) { got[i], err = w.other.Append(w.other.Ctx, T(evs[i])); return err })
			if !first {
				want[i].Reason = got[i].Reason
			}
		}
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
	options := func(clock *time.Time, number *int) (opts []entity.QueryOption) {
		switch kind {
		case 1:
			opts = append(opts, entity.Between(clock, at(a), at(b)))
		case 2:
			opts = append(opts, entity.Gt(clock, at(a)), entity.Lt(clock, at(b)))
		case 3:
			opts = append(opts, entity.Ge(clock, at(a)))
		case 4:
			opts = append(opts, entity.Le(clock, at(b)))
		case 5:
			opts = append(opts, entity.Lt(clock, at(b)))
		case 6:
			opts = append(opts, entity.Eq(clock, at(a)))
		}
		if desc {
			opts = append(opts, entity.Desc())
		}
		if value >= 0 {
			opts = append(opts, entity.Filter(entity.Eq(number, value)))
		}
		return opts
	}
	ours, theirs, key := options(&fg.At, &fg.Value), options(fields()), singleOf(id, fact{})
	want := entity.Must(w.one.History(key, ours...).Collect(w.one.Ctx))
	var got []T
	w.faulty(func() (err error) { got, err = w.other.History(T(key), theirs...).Collect(w.other.Ctx); return err })
	require.Equal(t, want, asSingles(got))
	var n int
	w.faulty(func() (err error) { n, err = w.other.History(T(key), theirs...).Count(w.other.Ctx); return err })
	require.Len(t, want, n)

	size := rapid.SampledFrom([]int{1, 2, 7, 50}).Draw(t, "size")
	if size < 3 && len(want) > 12 {
		size = 20
	}
	limited := entity.Must(w.one.History(key, append(ours, entity.Limit(size))...).Collect(w.one.Ctx))
	q := w.other.History(T(key), append(theirs, entity.Limit(size))...)
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
	want, wantErr := w.one.At(w.one.Ctx, key, when)
	if wantErr != nil {
		require.ErrorIs(t, wantErr, entity.ErrNotFound)
		var err error
		w.faulty(func() error {
			_, err = w.other.At(w.other.Ctx, T(key), when)
			if errors.Is(err, entity.ErrNotFound) {
				return nil
			}
			return err
		})
		require.ErrorIs(t, err, entity.ErrNotFound)
		return
	}
	var got T
	w.faulty(func() (err error) { got, err = w.other.At(w.other.Ctx, T(key), when); return err })
	require.Equal(t, want, Single(got))
}
