package idempotent_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/contrib/idempotent"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// mistakes returns the fields of the mistakes that an error joins, each with its code.
func mistakes(t *testing.T, err error) (fields []string) {
	t.Helper()
	require.Error(t, err)
	for _, err := range err.(interface{ Unwrap() []error }).Unwrap() {
		input := dbtest.As[*entity.InputError](t, err)
		fields = append(fields, input.Code+" "+input.Type+"."+input.Field)
	}
	return fields
}

func TestNew_RefusesOptionsThatDoNotFit(t *testing.T) {
	t.Parallel()
	store := entity.Must(entity.New[idempotent.Answer](entity.Must(entity.Open(nil, entity.Config{Table: "app"}))))
	_, err := idempotent.New[idempotent.Answer](nil, idempotent.Options{Keep: -1, Lease: -1, Skew: -1, MaxAnswer: 400_001, Cache: -1})
	const in = "IDEM-01 idempotent.Options."
	assert.Equal(t, []string{in, in + "Name", in + "Keep", in + "Lease", in + "Skew", in + "MaxAnswer", in + "Cache"}, mistakes(t, err))
	for _, name := range []string{"a#b", "a b", "ä", strings.Repeat("a", 101)} {
		_, err := idempotent.New(store, idempotent.Options{Name: name})
		assert.Equal(t, []string{in + "Name"}, mistakes(t, err), name)
	}
	_, err = idempotent.New(store, idempotent.Options{Name: "a", Keep: time.Second - 1, Lease: time.Millisecond - 1, MaxAnswer: -1})
	assert.Equal(t, []string{in + "Keep", in + "Lease", in + "MaxAnswer"}, mistakes(t, err))
	_, err = idempotent.New(store, idempotent.Options{Name: "a-B_0.9", Keep: time.Second, Lease: time.Millisecond, MaxAnswer: 400_000})
	require.NoError(t, err)
}

// Two operations on one store: neither the name nor the settings of the first are those of the second.
func TestNew_SettingsAreThoseOfTheOperation(t *testing.T) {
	l := newLab(t)
	charge := l.open(idempotent.Options{Name: "charge", Keep: time.Hour, MaxAnswer: 10})
	refund := l.open(idempotent.Options{Name: "refund", Keep: 10 * time.Second, Lease: time.Second})
	again := l.open(idempotent.Options{Name: "charge", Keep: time.Minute}) // the same operation, with other settings
	require.ErrorIs(t, dbtest.ErrorOf(l.call(charge, "k")), entity.ErrTooLarge)
	l.OK(l.call(refund, "k"))
	assert.EqualValues(t, 2, l.runs.Load(), "a key belongs to its operation")
	assert.Len(t, l.records(), 2)
	l.Clock.Move(11 * time.Second)
	require.ErrorIs(t, dbtest.ErrorOf(l.call(charge, "k")), entity.ErrTooLarge)
	l.OK(l.call(refund, "k"))
	assert.EqualValues(t, 3, l.runs.Load(), "only the record of refund has ended")
	l.OK(l.call(again, "k2"))
	l.OK(l.during(refund, "k3", func() {
		progress := dbtest.As[*idempotent.InProgressError](t, dbtest.ErrorOf(l.call(refund, "k3")))
		assert.Equal(t, 3*time.Second, progress.RetryAfter)
	}))
}

// entry is a record of a program's own, with other names, in a table whose time to live is on another attribute.
type entry struct {
	_ entity.Key    `name:"Entry" pk:"$" sk:"$#{operation}#{key}"`
	_ lifecycle.TTL `attr:"expiresAt" from:"ends" after:"1s"`
	_ entity.GSI    `name:"byState" index:"gsi1" pk:"state" sk:"ends"`
	idempotent.Record
}

// session shares the table, and its attribute of expiry.
type session struct {
	_ entity.Key    `name:"Session" pk:"$#{id}" sk:"$"`
	_ lifecycle.TTL `attr:"expiresAt" after:"8h"`

	ID        string    `dynamodbav:"id"`
	ExpiresAt time.Time `dynamodbav:"expiresAt,omitempty" entity:"time=unix"`
}

func TestNew_RecordsOfAProgramsOwnEntity(t *testing.T) {
	dbtest.Parallel(t)
	b := dbtest.Open(t, func(c *entity.Config) { c.TTL, c.TimePrecision = "expiresAt", time.Second })
	type app struct {
		Sessions *entity.Store[session]
		Entries  *entity.Store[entry]
		Running  *entity.Index[entry] `entity:"byState"`
	}
	bound, err := entity.Bind[app](b.DB)
	require.NoError(t, err)
	b.CreateTables()
	l := &lab{Bench: b}
	op, err := idempotent.New(bound.Entries, idempotent.Options{Name: "charge", Keep: time.Minute})
	require.NoError(t, err)
	l.OK(bound.Sessions.Create(l.Ctx, session{ID: "s-1"}))
	l.Sent()
	l.OK(l.during(op, "k", func() {
		running, err := bound.Running.Query(entry{Record: idempotent.Record{State: "running"}}).Collect(l.Ctx)
		require.NoError(t, err)
		require.Len(t, running, 1)
		assert.Equal(t, dbtest.Start.Add(time.Minute).UnixMilli(), running[0].Until.UnixMilli(), "whatever the precision of times is")
		dbtest.As[*idempotent.InProgressError](t, dbtest.ErrorOf(l.call(op, "k")))
	}))
	l.OK(l.call(op, "k"))
	assert.EqualValues(t, 1, l.runs.Load())
	for _, it := range l.records() {
		assert.NotNil(t, it["expiresAt"])
	}
	l.Clock.Move(2 * time.Minute)
	l.OK(l.call(op, "k"))
	assert.EqualValues(t, 2, l.runs.Load())
	require.NoError(t, tables.Verify(l.Ctx, b.DB))
}

// A call within the function of another is one of its own; one under the key of the other would wait for itself, and is refused.
func TestDo_WithinAnother(t *testing.T) {
	l := newLab(t)
	refund := l.open(idempotent.Options{Name: "refund"})
	l.OK(l.during(l.op, "k", func() {
		l.OK(l.call(refund, "k"))
		dbtest.As[*idempotent.InProgressError](t, dbtest.ErrorOf(l.call(l.op, "k")))
	}))
	assert.EqualValues(t, 2, l.runs.Load())
	l.OK(l.call(l.op, "k"))
	l.OK(l.call(refund, "k"))
	assert.EqualValues(t, 2, l.runs.Load())
}

// The messages of a batch are calls of their own: one that fails runs again, the others do not.
func TestDo_MessagesOfABatch(t *testing.T) {
	l := newLab(t)
	batch := func(fails string) (failed []string) {
		for _, id := range []string{"m-1", "m-2", "m-3"} {
			fn := l.charge
			if id == fails {
				fn = l.decline
			}
			if _, err := idempotent.Do(l.Ctx, l.op, id, nil, fn); err != nil {
				require.True(t, errors.Is(err, errDeclined))
				failed = append(failed, id)
			}
		}
		return failed
	}
	assert.Equal(t, []string{"m-2"}, batch("m-2"))
	assert.Empty(t, batch(""))
	assert.EqualValues(t, 4, l.runs.Load())
}

func TestCache_RemembersKeptAnswers(t *testing.T) {
	l := newLab(t)
	op := l.open(idempotent.Options{Cache: 2, Keep: time.Minute})
	first, err := l.call(op, "k")
	require.NoError(t, err)
	l.Sent()
	again, err := idempotent.DoResult(l.Ctx, op, "k", order{User: "u-1", Amount: 10}, l.charge)
	require.NoError(t, err)
	assert.Equal(t, first, again.Answer)
	assert.True(t, again.Replayed)
	_, err = idempotent.Do(l.Ctx, op, "k", order{User: "another payload"}, l.charge)
	dbtest.As[*idempotent.PayloadMismatchError](t, err)
	assert.Empty(t, l.Operations(), "both are decided by what the process remembers")

	// One that has ended is no record here either.
	l.Clock.Move(2 * time.Minute)
	got, err := l.call(op, "k")
	require.NoError(t, err)
	assert.Equal(t, receipt{2, "ada"}, got)
	got, err = l.call(op, "k")
	require.NoError(t, err)
	assert.Equal(t, receipt{2, "ada"}, got)

	// The one used longest ago goes.
	l.OK(l.call(op, "k2"))
	l.OK(l.call(op, "k"))
	l.OK(l.call(op, "k3"))
	l.Sent()
	l.OK(l.call(op, "k"))
	assert.Empty(t, l.Operations())
	l.OK(l.call(op, "k2"))
	assert.Equal(t, []string{"PutItem"}, l.Operations())
	assert.EqualValues(t, 4, l.runs.Load())
}

// A record is remembered only after its payload was compared, and never while it is running.
func TestCache_TakesOnlyWhatWasCompared(t *testing.T) {
	l := newLab(t)
	op := l.open(idempotent.Options{Cache: 2})
	l.OK(l.during(l.op, "k", func() {
		dbtest.As[*idempotent.InProgressError](t, dbtest.ErrorOf(l.call(op, "k")))
	}))
	l.Sent()
	_, err := idempotent.Do(l.Ctx, op, "k", order{User: "another payload"}, l.charge)
	dbtest.As[*idempotent.PayloadMismatchError](t, err)
	assert.Equal(t, []string{"PutItem"}, l.Operations(), "nothing was remembered of the running one")
	l.OK(l.call(op, "k"))
	assert.Equal(t, []string{"PutItem"}, l.Operations(), "nor of the one that was refused")
	l.OK(l.call(op, "k"))
	assert.Empty(t, l.Operations())
	_, err = idempotent.Do(l.Ctx, op, "k", order{User: "another payload"}, l.charge)
	dbtest.As[*idempotent.PayloadMismatchError](t, err)
}
