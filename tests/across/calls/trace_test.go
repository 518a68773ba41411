package calls_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// traced is a tracer that keeps what it gets.
type traced struct {
	mu       sync.Mutex
	calls    []entity.Call
	attempts []entity.Attempt
	reports  []entity.Report
}

type inCall struct{}

func (r *traced) Start(ctx context.Context, c entity.Call) context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
	return context.WithValue(ctx, inCall{}, c.Verb)
}

func (r *traced) Request(ctx context.Context, a entity.Attempt) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Value(inCall{}) == nil {
		a.Operation += " without its call"
	}
	r.attempts = append(r.attempts, a)
}

func (r *traced) End(ctx context.Context, report entity.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Value(inCall{}) != report.Verb {
		report.Verb += " without its call"
	}
	r.reports = append(r.reports, report)
}

// take returns what was recorded as text, and forgets it.
func (r *traced) take(table string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var b strings.Builder
	for i, c := range r.calls {
		fmt.Fprintf(&b, "start %s entity=%q table=%q index=%q batch=%d\n", c.Verb, c.Entity, c.Table, c.Index, c.Batch)
		if i < len(r.calls)-1 {
			continue
		}
		for _, a := range r.attempts {
			fmt.Fprintf(&b, "  %s %v index=%q n=%d %s code=%q status=%d batch=%d returned=%d evaluated=%d read=%v write=%v", a.Operation, a.Tables, a.Index, a.Number, a.Class, a.Code, a.Status, a.Batch, a.Returned, a.Evaluated, a.ReadUnits, a.WriteUnits)
			for _, t := range a.Throttles {
				fmt.Fprintf(&b, " throttled by %s of %s %s", t.Limit, t.Kind, t.Operation)
			}
			if a.Consistent {
				b.WriteString(" consistent")
			}
			if a.RequestID == "" && a.Status != 0 || a.Start.IsZero() || a.Duration <= 0 {
				b.WriteString(" INCOMPLETE")
			}
			b.WriteString("\n")
		}
		for _, x := range r.reports {
			fmt.Fprintf(&b, "end %s table=%q requests=%d %+v outcome=%q returned=%d evaluated=%d read=%v write=%v ids=%d err=%v", x.Verb, x.Table, x.Requests, x.Attempts, x.Outcome, x.Returned, x.Evaluated, x.ReadUnits, x.WriteUnits, len(x.RequestIDs), x.Err)
			for _, t := range x.Throttles {
				fmt.Fprintf(&b, " %d by %s", t.Count, t.Limit)
			}
			b.WriteString("\n")
		}
	}
	r.calls, r.attempts, r.reports = nil, nil, nil
	return strings.ReplaceAll(b.String(), table, "TABLE")
}

// Mark has marked values in its key, its fields and an index.
type Mark struct {
	_ entity.Key `name:"Mark" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byGroup" index:"gsi1" pk:"$#{group}" sk:"$#{id}"`

	ID    string `dynamodbav:"id"`
	Group string `dynamodbav:"group"`
	Count int    `dynamodbav:"count"`
}

func TestTracer_SeesCallsAndRequests(t *testing.T) {
	t.Parallel()
	r := &traced{}
	l := open(t, func(c *entity.Config) { c.Tracer = r })
	marks, ticks := entity.Must(entity.New[Mark](l.DB)), entity.Must(timeseries.New[Ticks](l.DB))
	require.NoError(t, tables.Create(l.Ctx, l.DB))
	require.True(t, strings.HasPrefix(r.take(l.Table), `start CreateTables entity="" table="" index="" batch=0`))
	at, value, f := dbtest.Start, 7, entity.Fields[Mark]()
	event := Ticks{ID: "a", At: at, Value: &value}
	older := Ticks{ID: "a", At: at.Add(-time.Hour), Value: &value}
	for _, c := range []struct {
		name  string
		fault func(faults.Request) faults.Fault
		call  func() error
		want  string
	}{
		{"a write", nil, func() error { _, err := marks.Create(l.Ctx, Mark{ID: "a", Group: "g"}); return err }, `
start Create entity="Mark" table="TABLE" index="" batch=0
  PutItem [TABLE] index="" n=1 ok code="" status=200 batch=0 returned=0 evaluated=0 read=0 write=2
end Create table="TABLE" requests=1 {OK:1 Throttled:0 Conflict:0 Lost:0 Refused:0 Failed:0} outcome="applied" returned=0 evaluated=0 read=0 write=2 ids=1 err=<nil>
`}, {"a refused write", nil, func() error { _, err := marks.Create(l.Ctx, Mark{ID: "a", Group: "g"}); return err }, `
start Create entity="Mark" table="TABLE" index="" batch=0
  PutItem [TABLE] index="" n=1 refused code="ConditionalCheckFailedException" status=400 batch=0 returned=0 evaluated=0 read=0 write=0
end Create table="TABLE" requests=1 {OK:0 Throttled:0 Conflict:0 Lost:0 Refused:1 Failed:0} outcome="" returned=0 evaluated=0 read=0 write=0 ids=1 err=ErrExists
`}, {"a write that is proven by a read", faults.Nth(1, faults.Lost, "UpdateItem"), func() error {
			_, err := marks.Update(l.Ctx, Mark{ID: "a"}, entity.Add(&f.Count, 1))
			return err
		}, `
start Update entity="Mark" table="TABLE" index="" batch=0
  UpdateItem [TABLE] index="" n=1 lost code="" status=0 batch=0 returned=0 evaluated=0 read=0 write=0
  GetItem [TABLE] index="" n=1 ok code="" status=200 batch=0 returned=1 evaluated=0 read=1 write=0 consistent
end Update table="TABLE" requests=2 {OK:1 Throttled:0 Conflict:0 Lost:1 Refused:0 Failed:0} outcome="applied" returned=1 evaluated=0 read=1 write=0 ids=1 err=<nil>
`}, {"an upsert", nil, func() error { _, _, err := marks.Upsert(l.Ctx, Mark{ID: "b", Group: "g"}); return err }, `
start Upsert entity="Mark" table="TABLE" index="" batch=0
  UpdateItem [TABLE] index="" n=1 ok code="" status=200 batch=0 returned=0 evaluated=0 read=0 write=2
end Upsert table="TABLE" requests=1 {OK:1 Throttled:0 Conflict:0 Lost:0 Refused:0 Failed:0} outcome="created" returned=0 evaluated=0 read=0 write=2 ids=1 err=<nil>
`}, {"a throttled query of an index", faults.Nth(1, faults.HotPartition, "Query"), func() error {
			_, err := entity.Must(marks.Index("byGroup")).Query(Mark{Group: "g"}).Collect(l.Ctx)
			return err
		}, `
start Query entity="Mark" table="TABLE" index="gsi1" batch=0
  Query [TABLE] index="gsi1" n=1 throttled code="ProvisionedThroughputExceededException" status=400 batch=0 returned=0 evaluated=0 read=0 write=0 throttled by KeyRangeThroughputExceeded of Index Read
  Query [TABLE] index="gsi1" n=2 ok code="" status=200 batch=0 returned=2 evaluated=2 read=0.5 write=0
end Query table="TABLE" requests=2 {OK:1 Throttled:1 Conflict:0 Lost:0 Refused:0 Failed:0} outcome="" returned=2 evaluated=2 read=0.5 write=0 ids=2 err=<nil> 1 by KeyRangeThroughputExceeded
`}, {"a batch", nil, func() error { _, err := marks.GetMany(l.Ctx, []Mark{{ID: "a"}, {ID: "b"}, {ID: "c"}}); return err }, `
start GetMany entity="Mark" table="TABLE" index="" batch=3
  BatchGetItem [TABLE] index="" n=1 ok code="" status=200 batch=3 returned=2 evaluated=0 read=1 write=0
end GetMany table="TABLE" requests=1 {OK:1 Throttled:0 Conflict:0 Lost:0 Refused:0 Failed:0} outcome="" returned=2 evaluated=0 read=1 write=0 ids=1 err=<nil>
`}, {"a transaction that met another", faults.Nth(1, faults.Conflict), func() error {
			return l.DB.Transact(l.Ctx, marks.Op().Create(Mark{ID: "c"}), marks.Op().Create(Mark{ID: "d"}))
		}, `
start Transact entity="" table="" index="" batch=2
  TransactWriteItems [TABLE] index="" n=1 conflict code="TransactionCanceledException" status=400 batch=2 returned=0 evaluated=0 read=0 write=0
  TransactWriteItems [TABLE] index="" n=2 ok code="" status=200 batch=2 returned=0 evaluated=0 read=0 write=2
end Transact table="TABLE" requests=2 {OK:1 Throttled:0 Conflict:1 Lost:0 Refused:0 Failed:0} outcome="applied" returned=0 evaluated=0 read=0 write=2 ids=2 err=<nil>
`}, {"an append", nil, func() error { _, err := ticks.Append(l.Ctx, event); return err }, `
start Append entity="Ticks" table="TABLE" index="" batch=0
  TransactWriteItems [TABLE] index="" n=1 ok code="" status=200 batch=2 returned=0 evaluated=0 read=0 write=2
end Append table="TABLE" requests=1 {OK:1 Throttled:0 Conflict:0 Lost:0 Refused:0 Failed:0} outcome="applied" returned=0 evaluated=0 read=0 write=2 ids=1 err=<nil>
`}, {"an append of an older event", nil, func() error { _, err := ticks.Append(l.Ctx, older); return err }, `
start Append entity="Ticks" table="TABLE" index="" batch=0
  TransactWriteItems [TABLE] index="" n=1 refused code="TransactionCanceledException" status=400 batch=2 returned=0 evaluated=0 read=0 write=0
end Append table="TABLE" requests=1 {OK:0 Throttled:0 Conflict:0 Lost:0 Refused:1 Failed:0} outcome="older" returned=0 evaluated=0 read=0 write=0 ids=1 err=<nil>
`}, {"events with different outcomes", nil, func() error {
			_, err := ticks.AppendAll(l.Ctx, []Ticks{older, {ID: "b", At: at}})
			return err
		}, `outcome="mixed"`},
		{"a mistake", nil, func() error { _, err := marks.Get(l.Ctx, Mark{}); return err }, `
start Get entity="Mark" table="TABLE" index="" batch=0
end Get table="TABLE" requests=0 {OK:0 Throttled:0 Conflict:0 Lost:0 Refused:0 Failed:0} outcome="" returned=0 evaluated=0 read=0 write=0 ids=0 err=EDD-9101
`}, {"a check of the tables", nil, func() error { return tables.Verify(l.Ctx, l.DB) }, `start Verify entity="" table="" index="" batch=0`},
		{"a purge", nil, func() error { return marks.Purge(l.Ctx, Mark{ID: "a"}) }, `start Purge entity="Mark" table="TABLE" index="" batch=0`},
	} {
		l.Wire.Inject(c.fault)
		_ = c.call()
		l.Wire.Inject(nil)
		if got := r.take(l.Table); c.want[0] == '\n' {
			assert.Equal(t, c.want[1:], got, c.name)
		} else {
			assert.Contains(t, got, c.want, c.name)
		}
	}
}

// A call inside a call is part of it; requests may be sent in parallel.
func TestTracer_ABuildIsOneCall(t *testing.T) {
	t.Parallel()
	r := &traced{}
	l := open(t, func(c *entity.Config) { c.Tracer = r })
	ticks := entity.Must(timeseries.New[Ticks](l.DB))
	view := entity.Must(timeline.New(l.DB, timeline.Projection[string, int]{
		Name: "Counts", Version: 1, Source: timeline.Series(ticks), Retention: time.Hour,
		Handlers: []timeline.Handler[string, int]{timeline.On("ticks.appended", func(e Ticks) string { return e.ID }, func(n *int, _ timeline.Event[Ticks]) error { *n++; return nil })},
	}))
	require.NoError(t, tables.Create(l.Ctx, l.DB))
	for i := range 20 {
		_, err := ticks.Append(l.Ctx, Ticks{ID: strconv.Itoa(i), At: dbtest.Start})
		require.NoError(t, err)
	}
	r.take(l.Table)
	_, err := view.Rebuild(l.Ctx, timeline.Segments(4), timeline.Budget(entity.Budget(1e6, 1e6)))
	require.NoError(t, err)
	require.Len(t, r.calls, 1)
	require.Equal(t, "Timeline.Rebuild", r.calls[0].Verb)
	require.Len(t, r.reports, 1)
	require.Equal(t, len(r.attempts), r.reports[0].Requests)
	require.Empty(t, r.reports[0].Outcome, "the writes of rows are not what the call is about")
	require.LessOrEqual(t, len(r.reports[0].RequestIDs), 16)
	segments := map[int]bool{}
	for _, a := range r.attempts {
		if a.Operation == "Scan" {
			segments[a.Segment] = true
			require.Equal(t, 4, a.Segments)
		}
	}
	require.Len(t, segments, 4)
}

// mark is in every value that the next test stores, asks for or configures as a secret.
const mark = "s3cr3t"

// texts returns every text that can be reached from v, unexported fields included.
func texts(v reflect.Value, seen map[any]bool) (all []string) {
	switch v.Kind() {
	case reflect.String:
		return []string{v.String()}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() || v.Kind() == reflect.Pointer && seen[v.UnsafePointer()] {
			return nil
		}
		if v.Kind() == reflect.Pointer {
			seen[v.UnsafePointer()] = true
		}
		return texts(v.Elem(), seen)
	case reflect.Struct:
		for i := range v.NumField() {
			all = append(all, texts(v.Field(i), seen)...)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			all = append(all, texts(v.Index(i), seen)...)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			all = append(append(all, texts(k, seen)...), texts(v.MapIndex(k), seen)...)
		}
	}
	return all
}

// Secret is an entity with everything that has values: keys, an index, a unique field, versions, deleted copies.
type Secret struct {
	_ entity.Key `name:"Secret" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byGroup" index:"gsi1" pk:"$#{group}" sk:"$#{id}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`

	ID      string            `dynamodbav:"id"`
	Group   string            `dynamodbav:"group"`
	Email   string            `dynamodbav:"email"`
	Version int64             `dynamodbav:"version" entity:"version"`
	Notes   map[string]string `dynamodbav:"notes"`
}

func (s Secret) Validate() error {
	if s.Group == mark+"-invalid" {
		return errors.New(s.Group + " is not a group")
	}
	return nil
}

func TestTracer_GetsNoKeyAndNoValue(t *testing.T) {
	t.Parallel()
	r := &traced{}
	l := open(t, func(c *entity.Config) { c.Tracer, c.MaxAttempts = r, 2 })
	secrets, ticks := entity.Must(entity.New[Secret](l.DB)), entity.Must(timeseries.New[Ticks](l.DB))
	plain := entity.Must(entity.New[Mark](l.DB))
	history, bin, lookup := entity.Must(versioned.Of(secrets)), entity.Must(lifecycle.Of(secrets)), entity.Must(unique.Of(secrets, "email"))
	view := entity.Must(timeline.New(l.DB, timeline.Projection[string, int]{
		Name: "Counts", Version: 1, Source: timeline.Series(ticks), Retention: time.Hour,
		Handlers: []timeline.Handler[string, int]{timeline.On("ticks.appended", func(e Ticks) string { return e.ID }, func(*int, timeline.Event[Ticks]) error { return errors.New(mark + " cannot be folded") })},
	}))
	require.NoError(t, tables.Create(l.Ctx, l.DB))
	v := func(name string) Secret {
		return Secret{ID: mark + name, Group: mark + "-group", Email: mark + "@" + name, Notes: map[string]string{mark: mark}}
	}
	f, stored, event := entity.Fields[Secret](), v("a"), Ticks{ID: mark, At: dbtest.Start}
	errs := 0
	every := func() {
		for _, err := range []error{
			dbtest.ErrorOf(secrets.Create(l.Ctx, v("a"))), dbtest.ErrorOf(secrets.Create(l.Ctx, v("b"))),
			dbtest.ErrorOf(secrets.Put(l.Ctx, v("c"), versioned.AnyVersion())), dbtest.ErrorOf(secrets.Get(l.Ctx, v("a"))), dbtest.ErrorOf(secrets.Get(l.Ctx, v("none"))),
			dbtest.ErrorOf(secrets.Update(l.Ctx, stored, entity.Set(&f.Email, mark+"@b"), versioned.AnyVersion())),
			dbtest.ErrorOf(secrets.Update(l.Ctx, stored, entity.Set(&f.Group, mark+"-other"), entity.If(entity.Eq(&f.Group, mark+"-wrong")), versioned.AnyVersion())),
			dbtest.ErrorOf(secrets.Update(l.Ctx, stored, entity.Set(&f.Group, mark+"-other"), versioned.Expect(99))),
			dbtest.ErrorOf(secrets.Upsert(l.Ctx, v("d"))), dbtest.ErrorOf(secrets.Modify(l.Ctx, stored, func(s *Secret) error { return errors.New(s.ID) })),
			dbtest.ErrorOf(secrets.Create(l.Ctx, Secret{ID: mark, Group: mark + "-invalid"})), dbtest.ErrorOf(secrets.Create(l.Ctx, Secret{ID: strings.Repeat(mark, 1000)})),
			dbtest.ErrorOf(secrets.Query(stored).Collect(l.Ctx)), dbtest.ErrorOf(entity.Must(secrets.Index("byGroup")).Query(stored).Page(l.Ctx, mark)),
			dbtest.ErrorOf(secrets.Scan(entity.Filter(entity.Eq(&f.Group, mark)), entity.Segments(2)).Collect(l.Ctx)), dbtest.ErrorOf(secrets.GetMany(l.Ctx, []Secret{v("a"), v("z")})),
			dbtest.ErrorOf(plain.PutMany(l.Ctx, []Mark{{ID: mark}, {ID: mark + "2"}})), dbtest.ErrorOf(plain.DeleteMany(l.Ctx, []Mark{{ID: mark}})),
			l.DB.Transact(l.Ctx, secrets.Op().Create(v("e")), secrets.Op().Create(v("a"))), l.DB.TransactGet(l.Ctx, secrets.Op().GetInto(&Secret{ID: mark + "none"})),
			l.DB.TransactWithToken(l.Ctx, entity.Token{ID: mark}, plain.Op().Put(Mark{ID: mark})),
			dbtest.ErrorOf(ticks.Append(l.Ctx, event)), dbtest.ErrorOf(ticks.Append(l.Ctx, event)), dbtest.ErrorOf(ticks.AppendAll(l.Ctx, []Ticks{event})),
			dbtest.ErrorOf(history.List(stored).Collect(l.Ctx)), dbtest.ErrorOf(history.Get(l.Ctx, stored, 99)), dbtest.ErrorOf(history.Revert(l.Ctx, stored, 1)),
			dbtest.ErrorOf(lookup.Find(l.Ctx, stored)), dbtest.ErrorOf(migrate.RepairUnique(l.Ctx, lookup)), dbtest.ErrorOf(secrets.Delete(l.Ctx, stored, versioned.AnyVersion())), dbtest.ErrorOf(bin.List(stored).Collect(l.Ctx)),
			dbtest.ErrorOf(bin.Restore(l.Ctx, stored)), dbtest.ErrorOf(view.Rebuild(l.Ctx)), dbtest.ErrorOf(view.CatchUp(l.Ctx)), dbtest.ErrorOf(view.Get(l.Ctx, mark)),
			secrets.Purge(l.Ctx, v("c")), tables.Verify(l.Ctx, l.DB), tables.Create(l.Ctx, l.DB),
		} {
			if err != nil {
				errs++
			}
		}
	}
	every()
	for _, fault := range []faults.Fault{faults.Throttle, faults.Conflict, faults.Internal, faults.Drop, faults.Unprocessed} {
		l.Wire.Inject(func(faults.Request) faults.Fault { return fault })
		every()
		l.Wire.Inject(nil)
	}
	require.Greater(t, errs, 100)
	require.Equal(t, len(r.calls), len(r.reports))
	for _, got := range []any{r.calls, r.attempts, r.reports} {
		for _, text := range texts(reflect.ValueOf(got), map[any]bool{}) {
			require.NotContains(t, strings.ToLower(text), mark)
		}
		require.NotContains(t, fmt.Sprintf("%+v %#v", got, got), mark)
	}
	var types []string
	for _, x := range r.reports {
		var f *entity.Failure
		if errors.As(x.Err, &f) && !slices.Contains(types, f.Type) {
			types = append(types, f.Type)
		}
	}
	slices.Sort(types)
	t.Log(types)
	require.Subset(t, types, []string{"EDD-9116", "ErrConditionFailed", "ErrConflict", "ErrExists", "ErrNotFound", "ErrTooLarge"})

	_, err := entity.Open(nil, entity.Config{Table: "app", CursorKey: []byte(mark), OldCursorKeys: [][]byte{[]byte(mark)}, Tracer: (*traced)(nil), RequestTimeout: -1})
	require.ErrorContains(t, err, "Tracer")
	require.ErrorContains(t, err, "RequestTimeout")
	require.NotContains(t, err.Error(), mark)
}
