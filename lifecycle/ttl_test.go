package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// Marker ends 30 days after it came into being, by an attribute that the struct does not have.
type Marker struct {
	_       entity.Key    `name:"Marker" pk:"$#{id}" sk:"$"`
	_       lifecycle.TTL `attr:"ends" after:"30d"`
	ID      string        `dynamodbav:"id"`
	Note    string        `dynamodbav:"note,omitempty"`
	Version int64         `dynamodbav:"version" entity:"version"`
}

// Session ends a day after it came into being, unless the caller says when.
type Session struct {
	_    entity.Key    `name:"Session" pk:"$#{id}" sk:"$"`
	_    entity.GSI    `name:"byEnd" index:"gsi1" pk:"$" sk:"gsi1sk={ends:020}"`
	_    lifecycle.TTL `attr:"ends" after:"1d"`
	ID   string        `dynamodbav:"id"`
	Note string        `dynamodbav:"note,omitempty"`
	Ends int64         `dynamodbav:"ends"`
}

// Ticket is verbatim, and its end a time.
type Ticket struct {
	_    entity.Key    `name:"Ticket" pk:"id"`
	_    lifecycle.TTL `attr:"ends" after:"1h"`
	ID   string        `dynamodbav:"id"`
	Note string        `dynamodbav:"note,omitempty"`
	Ends time.Time     `dynamodbav:"ends,omitempty" entity:"time=unix"`
}

var (
	put, update = []string{"PutItem"}, []string{"UpdateItem"}
	getPut      = []string{"GetItem", "PutItem"}
)

func TestTTL_AfterAloneCountsFromTheBeginningAndFromPut(t *testing.T) {
	t.Parallel()
	h, s := open[Marker](t)
	ctx, m, key, first := t.Context(), entity.Fields[Marker](), Marker{ID: "m"}, hour0.Add(30*day)
	entity.Must(s.Create(ctx, key))
	h.Clock.Move(day)
	h.run(t, "ends", []change{
		{"Update", func() error { return second(s.Update(ctx, key, entity.Set(&m.Note, "updated"))) }, update, first},
		{"Upsert", func() error { return third(s.Upsert(ctx, Marker{ID: "m", Note: "merged"})) }, update, first},
		{"Modify", func() error {
			return second(s.Modify(ctx, key, func(m *Marker) error { m.Note = "modified"; return nil }))
		}, getPut, first},
		{"Put", func() error { return second(s.Put(ctx, Marker{ID: "m", Note: "put"})) }, update, first.Add(day)},
	})
	require.EqualValues(t, 5, entity.Must(s.Get(ctx, key)).Version, "one life")
}

func TestTTL_AnUpsertGivesAnEndOnlyToAnItemThatHasNone(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]entity.UpdateOption{"in one request": nil, "after a read": {entity.Idempotent()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, s := open[Ticket](t)
			k := entity.Fields[Ticket]()
			entity.Must(s.Create(t.Context(), Ticket{ID: "t"}))
			entity.Must(s.Update(t.Context(), Ticket{ID: "t"}, entity.Remove(&k.Ends)))
			require.Empty(t, h.end(t, "ends"), "without it the item lives forever")
			h.Clock.Move(1000 * day)
			entity.Must(s.Get(t.Context(), Ticket{ID: "t"}))

			now := h.Clock.Now()
			got, _, err := s.Upsert(t.Context(), Ticket{ID: "t", Note: "merged"}, opts...)
			require.NoError(t, err)
			require.Equal(t, now.Truncate(time.Second).Add(time.Hour), got.Ends)
			h.Clock.Move(time.Minute)
			_, _, err = s.Upsert(t.Context(), Ticket{ID: "t", Note: "again"}, opts...)
			require.NoError(t, err)
			h.ends(t, "ends", now, time.Hour)
		})
	}
}

func TestTTL_AnEndThatTheCallerGivesWins(t *testing.T) {
	t.Parallel()
	h, s := open[Session](t)
	ctx, f, key := t.Context(), entity.Fields[Session](), Session{ID: "s"}
	none, own, later := time.Time{}, hour0.Add(7*day), hour0.Add(7*day+time.Minute)
	given := Session{ID: "s", Ends: own.Unix()}
	modify := func(end int64) func() error {
		return func() error {
			return second(s.Modify(ctx, key, func(s *Session) error { s.Ends = end; return nil }))
		}
	}
	h.run(t, "ends", []change{
		{"Create", func() error { return second(s.Create(ctx, given)) }, nil, own},
		{"Put without one", func() error { return second(s.Put(ctx, key)) }, nil, hour0.Add(day)},
		{"Put", func() error { return second(s.Put(ctx, given)) }, nil, own},
		{"Upsert of zero", func() error { return third(s.Upsert(ctx, Session{ID: "s", Note: "zero is no end"})) }, nil, own},
		{"Upsert", func() error { return third(s.Upsert(ctx, Session{ID: "s", Ends: later.Unix()})) }, nil, later},
		{"Update", func() error { return second(s.Update(ctx, key, entity.Set(&f.Ends, own.Unix()))) }, nil, own},
		{"Update that adds", func() error { return second(s.Update(ctx, key, entity.Add(&f.Ends, 60))) }, nil, later},
		{"Modify", modify(own.Unix()), nil, own},
	})
	byEnd := entity.Must(s.Index("byEnd"))
	one, err := byEnd.Query(Session{}, entity.Between(&f.Ends, own.Unix(), own.Unix())).One(ctx)
	require.NoError(t, err, "the index follows the end")
	require.Equal(t, given.Ends, one.Ends)
	h.run(t, "ends", []change{
		{"Update to zero seconds, which would be the year 1970", func() error { return second(s.Update(ctx, key, entity.Set(&f.Ends, 0))) }, nil, none},
		{"Modify after that", modify(own.Unix()), nil, own},
		{"Modify to zero", modify(0), nil, none},
	})
	require.NotContains(t, h.Items()[0], "gsi1sk")
	h.run(t, "ends", []change{{"Update once", func() error { return second(s.Update(ctx, key, entity.SetIfNotExists(&f.Ends, own.Unix()))) }, nil, own}})
	_, err = s.Update(ctx, key, entity.SetIfNotExists(&f.Ends, 0))
	require.Equal(t, "EDD-9102", dbtest.InputCode(err))
}

func TestTTL_AfterComesFromTheConfiguration(t *testing.T) {
	t.Parallel()
	h, s := open[Marker](t, lifecycle.After(90*time.Second))
	entity.Must(s.Create(t.Context(), Marker{ID: "m"}))
	h.ends(t, "ends", hour0, 90*time.Second)

	same := entity.Must(entity.New[Marker](h.DB))
	require.Same(t, s, same)
	same = entity.Must(entity.New[Marker](h.DB, lifecycle.After(90*time.Second)))
	require.Same(t, s, same)
	_, err := entity.New[Marker](h.DB, lifecycle.After(time.Hour))
	require.Equal(t, "EDD-9108", dbtest.InputCode(err))
	_ = entity.Must(entity.New[Session](h.DB))
	_, err = entity.New[Session](h.DB, lifecycle.NoExpiry())
	require.Equal(t, "EDD-9108", dbtest.InputCode(err))
	_ = entity.Must(entity.New[Cache](h.DB, lifecycle.NoExpiry()))
	_, err = entity.New[Cache](h.DB, lifecycle.After(time.Minute))
	require.Equal(t, "EDD-9108", dbtest.InputCode(err))
}

// The item of a transaction or a batch has the same end as the item of a call.
func TestTTL_HoldsInTransactionsAndBatches(t *testing.T) {
	t.Parallel()
	h, s := open[Marker](t)
	m := entity.Fields[Marker]()
	require.NoError(t, h.DB.Transact(t.Context(), s.Op().Create(Marker{ID: "a"}), s.Op().Put(Marker{ID: "b"}), s.Op().Upsert(Marker{ID: "c"})))
	require.Equal(t, []string{"TransactWriteItems"}, h.Operations())
	want := h.Items()[0]["ends"]
	for _, it := range h.Items() {
		require.Equal(t, want, it["ends"])
	}
	h.Clock.Move(30 * day)
	gone := s.Op().Update(Marker{ID: "a"}, entity.Set(&m.Note, "late"))
	require.ErrorIs(t, entity.FailureOf(h.DB.Transact(t.Context(), gone), gone), entity.ErrNotFound)
	up := s.Op().Upsert(Marker{ID: "c"})
	require.NoError(t, h.DB.Transact(t.Context(), s.Op().Create(Marker{ID: "a"}), s.Op().Put(Marker{ID: "b", Note: "new"}), up))
	for _, it := range h.Items() {
		require.NotEqual(t, want, it["ends"])
	}
	require.EqualValues(t, 1, up.Result().Version, "a new life")

	h, tickets := open[Ticket](t)
	require.Empty(t, entity.Must(tickets.PutMany(t.Context(), []Ticket{{ID: "t"}})))
	h.ends(t, "ends", hour0, time.Hour)
}

// Without a time to live in the configuration, no write gives an item an end, and none takes one away that it was given.
func TestNoExpiry_OnlyCallersGiveEnds(t *testing.T) {
	t.Parallel()
	h, s := open[Session](t, lifecycle.NoExpiry())
	ctx, f, key := t.Context(), entity.Fields[Session](), Session{ID: "s"}
	none, end := time.Time{}, hour0.Add(time.Hour)
	given := Session{ID: "s", Ends: end.Unix()}
	h.run(t, "ends", []change{
		{"Create", func() error { return second(s.Create(ctx, key)) }, nil, none},
		{"Upsert", func() error { return third(s.Upsert(ctx, key)) }, nil, none},
		{"Update with an end", func() error { return second(s.Update(ctx, key, entity.Set(&f.Ends, given.Ends))) }, nil, end},
		{"Upsert over an end", func() error { return third(s.Upsert(ctx, key)) }, nil, end},
		{"Modify over an end", func() error {
			return second(s.Modify(ctx, key, func(v *Session) error { v.Note = "kept"; return nil }))
		}, nil, end},
		{"Put, which replaces", func() error { return second(s.Put(ctx, key)) }, nil, none},
		{"Put with an end", func() error { return second(s.Put(ctx, given)) }, nil, end},
	})
	require.Equal(t, given, entity.Must(s.Get(ctx, key)))
	require.Equal(t, "ends", h.DB.Spec().Tables[0].TTL)
}

// Mislabelled says that it counts seconds.
type Mislabelled struct {
	_    entity.Key    `name:"Mislabelled" pk:"$#{id}" sk:"$"`
	_    lifecycle.TTL `attr:"ends" from:"seen" after:"1d"`
	ID   string        `dynamodbav:"id"`
	Seen int64         `dynamodbav:"seen,omitempty" entity:"time=unix"`
}

func TestTTL_MillisecondsAreNoSeconds(t *testing.T) {
	t.Parallel()
	h, s := open[Session](t)
	mislabelled := dbtest.Declare[Mislabelled](t, h.DB)
	ctx, f, m, ms := t.Context(), entity.Fields[Session](), entity.Fields[Mislabelled](), hour0.UnixMilli()
	v := Session{ID: "s", Ends: ms}
	for _, c := range []struct {
		what, field string
		write       func() error
	}{
		{"create", "Ends", func() error { return second(s.Create(ctx, v)) }},
		{"put", "Ends", func() error { return second(s.Put(ctx, v)) }},
		{"upsert", "Ends", func() error { return third(s.Upsert(ctx, v)) }},
		{"batch", "Ends", func() error { return second(s.PutMany(ctx, []Session{v}, entity.Unconditional())) }},
		{"update", "Ends", func() error { return second(s.Update(ctx, v, entity.Set(&f.Ends, ms))) }},
		{"update once", "Ends", func() error { return second(s.Update(ctx, v, entity.SetIfNotExists(&f.Ends, -ms))) }},
		{"transact", "Ends", func() error { return h.DB.Transact(ctx, s.Op().Create(v)) }},
		{"create, by from", "Seen", func() error { return second(mislabelled.Create(ctx, Mislabelled{ID: "m", Seen: ms})) }},
		{"update, by from", "Seen", func() error {
			return second(mislabelled.Update(ctx, Mislabelled{ID: "m"}, entity.Set(&m.Seen, ms)))
		}},
	} {
		dbtest.RequireInput(t, c.write(), "EDD-9118", c.field)
		require.Empty(t, h.Operations(), c.what)
	}
	entity.Must(mislabelled.Create(ctx, Mislabelled{ID: "m", Seen: hour0.Add(time.Hour).Unix()}))

	v.Ends = 99_999_999_999
	_, err := s.Create(ctx, v)
	require.NoError(t, err, "the last count of seconds")
	_, err = s.Modify(ctx, v, func(s *Session) error { s.Ends = 100_000_000_000; return nil })
	require.Equal(t, "EDD-9118", dbtest.InputCode(err))
	require.Equal(t, v.Ends, entity.Must(s.Get(ctx, v)).Ends)
}
