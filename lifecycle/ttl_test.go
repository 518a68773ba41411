package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tables"
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

var (
	put, update = []string{"PutItem"}, []string{"UpdateItem"}
	getPut      = []string{"GetItem", "PutItem"}
)

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
	require.Equal(t, "ends", tables.Of(h.DB).Tables[0].TTL)
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
