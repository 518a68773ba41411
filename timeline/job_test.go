package timeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeline"
)

// crew does the work of a job in disorder, and more often than necessary.
type crew struct {
	ctx     context.Context
	random  *rand.Rand
	job     *timeline.Job
	workers []*timeline.JobWorker
	repeat  bool // parts are read twice, rows are stored twice
}

func newCrew(l *lab, job *timeline.Job, workers ...*timeline.JobWorker) *crew {
	seed := uint64(time.Now().UnixNano())
	l.T.Logf("seed %d", seed)
	return &crew{ctx: l.Ctx, random: rand.New(rand.NewPCG(seed, 1)), job: job, workers: append(workers, job.Worker()), repeat: true}
}

func (c *crew) anyone() *timeline.JobWorker { return c.workers[c.random.IntN(len(c.workers))] }

// read reads all parts and returns their records by group, as another process would receive them.
func (c *crew) read(segments int) (map[string][]timeline.JobRecord, error) {
	parts, err := c.job.Split(segments)
	if err != nil {
		return nil, err
	}
	if c.repeat {
		parts = append(parts, parts...)
	}
	c.random.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	groups := map[string][]timeline.JobRecord{}
	for _, part := range parts {
		err := c.anyone().Read(c.ctx, part, func(r timeline.JobRecord) error {
			text, err := json.Marshal(r)
			if err != nil {
				return err
			}
			var sent timeline.JobRecord
			if err := json.Unmarshal(text, &sent); err != nil {
				return err
			}
			groups[sent.Group] = append(groups[sent.Group], sent)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return groups, nil
}

// each yields the records of a group.
func each(records []timeline.JobRecord) iter.Seq2[timeline.JobRecord, error] {
	return func(yield func(timeline.JobRecord, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// rows folds every group.
func (c *crew) rows(groups map[string][]timeline.JobRecord) (rows []*timeline.JobRow, err error) {
	for _, group := range slices.Sorted(maps.Keys(groups)) {
		records := groups[group]
		c.random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
		row, err := c.anyone().Fold(c.ctx, group, each(records))
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	if c.repeat {
		rows = append(rows, rows...)
	}
	c.random.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	return rows, nil
}

// work does everything but Finish.
func (c *crew) work(segments int) error {
	groups, err := c.read(segments)
	if err != nil {
		return err
	}
	rows, err := c.rows(groups)
	for len(rows) > 0 && err == nil {
		n := 1 + c.random.IntN(min(len(rows), 7))
		err = c.anyone().Store(c.ctx, rows[:n]...)
		rows = rows[n:]
	}
	return err
}

// finished runs a job from its begin to its end.
func finished[K comparable, S any](l *lab, v *timeline.View[K, S], opts ...timeline.BuildOption) (timeline.Meta, error) {
	job, err := v.BeginJob(l.Ctx, opts...)
	if err != nil {
		return timeline.Meta{}, err
	}
	c := newCrew(l, job)
	if err := c.work(2); err != nil {
		return timeline.Meta{}, errors.Join(err, job.Abandon(l.Ctx, err))
	}
	meta, err := job.Finish(l.Ctx)
	if err != nil {
		err = errors.Join(err, job.Abandon(l.Ctx, nil)) // or it would keep its lease
	}
	return meta, err
}

// begun begins a job and fails the test on an error.
func begun[K comparable, S any](l *lab, v *timeline.View[K, S], opts ...timeline.BuildOption) *timeline.Job {
	l.T.Helper()
	job, err := v.BeginJob(l.Ctx, opts...)
	require.NoError(l.T, err)
	return job
}

// joined returns a worker of a job in another program.
func joined[K comparable, S any](l *lab, job *timeline.Job, f timeline.Projection[K, S]) *timeline.JobWorker {
	l.T.Helper()
	w, err := view(newTransport(l), f).JoinJob(l.Ctx, job.Ticket())
	require.NoError(l.T, err)
	return w
}

// equalToARebuild runs a job with a worker in another program, and compares its rows and meta with those of Rebuild.
func equalToARebuild[K comparable, S any](t *testing.T, l *lab, f timeline.Projection[K, S]) {
	t.Helper()
	v := view(l, f)
	f.Name += "-clean"
	clean := view(l, f)
	f.Name = strings.TrimSuffix(f.Name, "-clean")
	l.Clock.Set(l.Clock.Now(), 0) // both builds have one cutoff
	want := rebuild(l, clean)
	job := begun(l, v)
	c := newCrew(l, job, joined(l, job, f))
	require.NoError(t, c.work(3))
	meta, err := job.Finish(l.Ctx)
	require.NoError(t, err)
	got := rows(l, v)
	require.NotEmpty(t, got)
	assert.Equal(t, rows(l, clean), got)
	assert.NotEmpty(t, meta.Generation)
	assert.Equal(t, timeline.Complete, metaOf(l, v).RebuildStatus)
	want.Generation, meta.Generation = "", ""
	assert.Equal(t, want, meta, "counters too, however often parts were read")
	assert.Equal(t, pageWalk(l, clean, 2), pageWalk(l, v, 2))
}

func TestJob_InDisorderAndRepeatedEqualsARebuild(t *testing.T) {
	t.Parallel()
	fill := func(l *lab) {
		l.Clock.Move(time.Hour)
		var evs []reading
		for i := range 12 {
			for _, m := range []float64{float64(20 - i), float64(i) + 0.5} {
				evs = append(evs, reading{Device: fmt.Sprintf("d-%d", i%5), Site: fmt.Sprintf("s-%d", i%3), At: at(m), Value: int(m * 10)})
			}
		}
		l.load(evs)
	}
	t.Run("sorted", func(t *testing.T) { t.Parallel(); l := newLab(t); fill(l); equalToARebuild(t, l, l.sites()) })
	t.Run("partition", func(t *testing.T) { t.Parallel(); l := newLab(t); fill(l); equalToARebuild(t, l, l.devices()) })
	t.Run("descending, expiring, without groups", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		fill(l)
		l.append("d-9", "", 5)
		equalToARebuild(t, l, l.sites(func(f *timeline.Projection[string, totals]) {
			f.Descending, f.Retention, f.SkipUngrouped = true, day, true
		}))
	})
}

// The files of an export are parts too, and cost no read of the table.
func TestJob_ReadsExports(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	x := l.export(l.tableName())
	other := l.export(l.tableName())
	other.summary["exportArn"] = x.summary["exportArn"].(string) + "0"
	other.write()
	l.append("d-1", "s-1", 9) // after the exports
	exportJob(l, l.sites(), x, other, len(x.lines))
	exportJob(l, l.histories(), x, other, 1)
}

// exportJob runs a job over an export, and compares it with a rebuild.
func exportJob[S any](l *lab, f timeline.Projection[string, S], x, other *exported, parts int) {
	l.T.Helper()
	v := view(l, f)
	want := rebuild(l, v, timeline.Export(x.files))
	expected := rows(l, v)
	l.Wire.Reset()
	job := begun(l, v, timeline.Export(x.files))
	require.Len(l.T, entity.Must(job.Split(1000)), parts)
	another := view(newTransport(l), f)
	for _, opts := range [][]timeline.BuildOption{nil, {timeline.Export(other.files)}} {
		_, err := another.JoinJob(l.Ctx, job.Ticket(), opts...)
		require.Equal(l.T, "EDD-9194", dbtest.InputCode(err))
	}
	_, err := another.JoinJob(l.Ctx, job.Ticket(), timeline.Export(l.export("other").files))
	var wrong *timeline.ExportError
	require.ErrorAs(l.T, err, &wrong)
	w, err := another.JoinJob(l.Ctx, job.Ticket(), timeline.Export(x.files))
	require.NoError(l.T, err)
	require.NoError(l.T, newCrew(l, job, w).work(3))
	meta, err := job.Finish(l.Ctx)
	require.NoError(l.T, err)
	require.Zero(l.T, l.Wire.Count("Scan"))
	require.Equal(l.T, expected, rows(l, v))
	require.Equal(l.T, want.Counters, meta.Counters)
	require.Equal(l.T, want.Through, meta.Through)

	for name, file := range x.files {
		if strings.HasPrefix(name, "data/") {
			file.Data = append(file.Data, 0)
			defer func() { file.Data = file.Data[:len(file.Data)-1] }()
		}
	}
	job = begun(l, v, timeline.Export(x.files))
	require.ErrorAs(l.T, newCrew(l, job).work(1), &wrong, "a damaged file is found")
	_, err = job.Finish(l.Ctx)
	require.ErrorIs(l.T, err, timeline.ErrPartUnread)
	require.NoError(l.T, job.Abandon(l.Ctx, wrong))
}

func TestJob_CostsAsDocumented(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1, 2)
	l.append("d-2", "south", 3)
	v := view(l, l.sites())
	l.Wire.Reset()
	job := begun(l, v)
	assert.Equal(t, []string{"DescribeTable", "GetItem", "UpdateItem"}, l.Operations())
	l.Wire.Reset()
	w, err := v.JoinJob(l.Ctx, job.Ticket())
	require.NoError(t, err)
	assert.Equal(t, []string{"GetItem"}, l.Operations())
	c := newCrew(l, job, w)
	c.repeat = false
	l.Wire.Reset()
	groups, err := c.read(1)
	require.NoError(t, err)
	assert.Equal(t, []string{"GetItem", "Scan", "UpdateItem"}, l.Operations())
	l.Wire.Reset()
	rows, err := c.rows(groups)
	require.NoError(t, err)
	assert.Empty(t, l.Operations())
	require.NoError(t, w.Store(l.Ctx, rows...))
	assert.Equal(t, []string{"GetItem", "TransactWriteItems"}, l.Operations())
	l.Wire.Reset()
	_, err = job.Finish(l.Ctx)
	require.NoError(t, err)
	assert.Equal(t, []string{"Query", "UpdateItem", "Query", "UpdateItem", "UpdateItem"}, l.Operations())
}

func TestJob_FinishNeedsEveryPart(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	v := view(l, l.sites())
	job := begun(l, v)
	other, err := job.Split(2)
	require.NoError(t, err)
	require.NoError(t, job.Worker().Read(l.Ctx, other[0], func(timeline.JobRecord) error { return nil }))
	_, err = job.Finish(l.Ctx)
	require.ErrorIs(t, err, timeline.ErrPartUnread)
	require.NoError(t, newCrew(l, job).work(3))
	meta, err := job.Finish(l.Ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 1, meta.Counters.Scanned)
	_, err = job.Finish(l.Ctx)
	assert.Equal(t, "EDD-9133", dbtest.InputCode(err))
	assert.Equal(t, "EDD-9133", dbtest.InputCode(job.Abandon(l.Ctx, nil)))
}

// An interrupted read and a read that yield ends leave no part behind that Finish would count.
func TestJob_ReadThatFailsDoesNotCount(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	job := begun(l, view(l, l.sites()))
	full := errors.New("full")
	parts, err := job.Split(1)
	require.NoError(t, err)
	require.ErrorIs(t, job.Worker().Read(l.Ctx, parts[0], func(timeline.JobRecord) error { return full }), full)
	_, err = job.Finish(l.Ctx)
	require.ErrorIs(t, err, timeline.ErrPartUnread)
	require.NoError(t, job.Abandon(l.Ctx, full))
}

func TestJob_WorkersOfALostLeaseWriteNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	l.append("d-2", "south", 2)
	v := view(l, l.sites())
	ctx, die := context.WithCancel(l.Ctx)
	dead, err := v.BeginJob(ctx)
	require.NoError(t, err)
	w := joined(l, dead, l.sites())
	c := newCrew(l, dead, w)
	groups, err := c.read(2)
	require.NoError(t, err)
	late, err := c.rows(groups)
	require.NoError(t, err)
	_, err = v.BeginJob(l.Ctx)
	require.ErrorIs(t, err, timeline.ErrBuilding)
	die()
	l.Clock.Move(time.Minute)
	l.append("d-3", "south", 3)
	job := begun(l, v, timeline.Resume())
	parts, err := dead.Split(2)
	require.NoError(t, err)
	l.Wire.Reset()
	check := func() {
		assert.ErrorIs(t, w.Store(l.Ctx, late...), timeline.ErrLeaseLost)
		assert.ErrorIs(t, w.Read(l.Ctx, parts[0], func(timeline.JobRecord) error { return nil }), timeline.ErrLeaseLost)
		_, err = v.JoinJob(l.Ctx, dead.Ticket())
		assert.ErrorIs(t, err, timeline.ErrLeaseLost)
	}
	check()
	_, err = job.Finish(l.Ctx)
	require.ErrorIs(t, err, timeline.ErrPartUnread, "parts read under another fence do not count")
	require.NoError(t, newCrew(l, job).work(3))
	meta, err := job.Finish(l.Ctx)
	require.NoError(t, err)
	check()
	_, err = dead.Finish(l.Ctx)
	assert.ErrorIs(t, err, timeline.ErrLeaseLost)
	assert.ErrorIs(t, newCrew(l, job).work(1), timeline.ErrLeaseLost, "a job that has ended is lost too")
	got := rows(l, v)
	assert.Equal(t, 10, got["north"].State.Sum)
	assert.Equal(t, 20, got["south"].State.Sum, "what was accepted when the work first began")
	assert.EqualValues(t, 2, meta.Counters.Folded)
	catchUp(l, v)
	assert.Equal(t, rows(l, v, timeline.AsOf(at(100))), rows(l, v))
}

// A row of a job that was taken over comes after that of the job that goes on, which knows an event more: its writer's clock
// was behind.
func TestJob_LateRowsOfAnEarlierLeaseChangeNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	slow := newTransport(l)
	ctx, die := context.WithCancel(l.Ctx)
	first, err := view(slow, l.sites()).BeginJob(ctx)
	require.NoError(t, err)
	stored := func(job *timeline.Job, l *lab) error {
		c := newCrew(l, job)
		groups, err := c.read(2)
		require.NoError(t, err)
		folded, err := c.rows(groups)
		require.NoError(t, err)
		return job.Worker().Store(l.Ctx, folded...)
	}
	v := view(l, l.sites())
	require.ErrorIs(t, slow.Overtake(dbtest.First(isRow), func() error { return stored(first, slow) }, func() {
		die()
		l.Clock.Move(-time.Minute)
		l.append("d-1", "north", 2)
		l.Clock.Move(2 * time.Minute)
		second := begun(l, v, timeline.Resume())
		require.NoError(t, stored(second, l))
		_, err := second.Finish(l.Ctx)
		require.NoError(t, err)
	}), timeline.ErrLeaseLost)
	require.Equal(t, 2, rows(l, v)["north"].State.Count)
}

func TestJob_AbandonedLeavesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	v := view(l, l.sites())
	rebuild(l, v)
	want := rows(l, v)
	items := len(l.Items())
	l.append("d-1", "north", 2)
	for _, cause := range []error{nil, context.Canceled, errors.New("no")} {
		job := begun(l, v)
		require.NoError(t, newCrew(l, job).work(2))
		require.NoError(t, job.Abandon(l.Ctx, cause))
		meta := metaOf(l, v)
		if cause == nil || errors.Is(cause, context.Canceled) {
			assert.Equal(t, timeline.Complete, meta.RebuildStatus)
		} else {
			assert.Equal(t, timeline.Failed, meta.RebuildStatus)
			assert.Equal(t, "no", meta.Failure.Message)
		}
		assert.Equal(t, want, rows(l, v))
		_, err := job.Finish(l.Ctx)
		assert.Equal(t, "EDD-9133", dbtest.InputCode(err))
	}
	assert.Greater(t, len(l.Items()), items+1)
	l.Clock.Move(time.Hour)
	require.NoError(t, v.Sweep(l.Ctx))
	assert.Len(t, l.Items(), items+1, "the parts are removed with the rows")
	meta, err := finished(l, v)
	require.NoError(t, err)
	assert.EqualValues(t, 2, meta.Counters.Folded)
	rebuild(l, v)
	l.Clock.Move(time.Hour)
	require.NoError(t, v.Sweep(l.Ctx))
	assert.Len(t, l.Items(), items+1, "those of a job that was served too")
}

func TestJob_InputIsCheckedBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	events := []event{happened("a", 1, "north")}
	source := func(l *lab, turned bool) timeline.Projection[string, totals] {
		a, b := timeline.Series(l.readings), fed(&events)
		if turned {
			a, b = b, a
		}
		return l.sites(func(f *timeline.Projection[string, totals]) { f.Source = timeline.Merge(a, b) })
	}
	v := view(l, source(l, false))
	job := begun(l, v)
	w := job.Worker()
	var records []timeline.JobRecord
	parts, err := job.Split(1)
	require.NoError(t, err)
	require.Len(t, parts, 2)
	require.NoError(t, w.Read(l.Ctx, parts[0], func(r timeline.JobRecord) error { records = append(records, r); return nil }))
	l.Wire.Reset()
	code := func(want string, err error) {
		t.Helper()
		assert.Equal(t, want, dbtest.InputCode(err), "%v", err)
	}
	for _, ticket := range []string{"", "{}", "[", `{"view":"sites","generation":"x"}`} {
		_, err = v.JoinJob(l.Ctx, []byte(ticket))
		code("EDD-9193", err)
	}
	other := view(l.connect(), source(l, true))
	_, err = other.JoinJob(l.Ctx, job.Ticket())
	code("EDD-9194", err)
	raised := source(l.connect(), false)
	raised.Version = 2
	_, err = view(l, raised).JoinJob(l.Ctx, job.Ticket())
	code("EDD-9194", err)
	raised = source(l.connect(), false)
	raised.Name = "another"
	_, err = view(l, raised).JoinJob(l.Ctx, job.Ticket())
	code("EDD-9194", err)
	for _, n := range []int{-1, 0, 1_000_001} {
		_, err = job.Split(n)
		code("EDD-9195", err)
	}
	nothing := func(timeline.JobRecord) error { return nil }
	for _, part := range []timeline.JobPart{
		{}, {Source: "x", Of: 1}, {Source: parts[0].Source}, {Source: parts[0].Source, Segment: 1, Of: 1},
		{Source: parts[0].Source, Segment: -1, Of: 1}, {Source: parts[1].Source, Of: 2},
	} {
		code("EDD-9195", w.Read(l.Ctx, part, nothing))
	}
	code("EDD-9195", w.Read(l.Ctx, parts[0], nil))
	good := records[0]
	for _, r := range []timeline.JobRecord{
		{}, {Group: good.Group, Position: good.Position}, {Group: good.Group, Data: good.Data}, {Group: "x", Position: good.Position, Data: good.Data},
		{Group: good.Group, Position: good.Position, Data: []byte{2}},
	} {
		_, err = w.Fold(l.Ctx, "north", each([]timeline.JobRecord{r}))
		code("EDD-9195", err)
	}
	_, err = w.Fold(l.Ctx, "north", nil)
	code("EDD-9195", err)
	code("EDD-9195", w.Store(l.Ctx, &timeline.JobRow{}))
	require.NoError(t, w.Store(l.Ctx, nil, nil))
	row, err := w.Fold(l.Ctx, "north", each(nil))
	require.NoError(t, err)
	assert.Nil(t, row)
	_, err = v.JoinJob(l.Ctx, job.Ticket(), timeline.Resume())
	code("EDD-9133", err)
	assert.Empty(t, l.Operations())

	twisted := good
	twisted.Data = slices.Clone(good.Data)
	twisted.Data[len(twisted.Data)-1]++
	_, err = w.Fold(l.Ctx, "north", each([]timeline.JobRecord{good, twisted}))
	assert.Error(t, err, "one position, different content")
	broken := errors.New("the shuffle broke")
	_, err = w.Fold(l.Ctx, "north", func(yield func(timeline.JobRecord, error) bool) { yield(good, broken) })
	assert.ErrorIs(t, err, broken)
	require.NoError(t, job.Abandon(l.Ctx, nil))
}
