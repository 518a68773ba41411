package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
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

func TestTTL_AfterAloneCountsFromTheBeginningAndFromPut(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*testing.T, *entity.DB, *entity.Store[Marker]) error{
		"Create": func(t *testing.T, _ *entity.DB, s *entity.Store[Marker]) error {
			_, err := s.Create(t.Context(), Marker{ID: "m"})
			return err
		},
		"Upsert": func(t *testing.T, _ *entity.DB, s *entity.Store[Marker]) error {
			_, created, err := s.Upsert(t.Context(), Marker{ID: "m"})
			require.True(t, created)
			return err
		},
		"Put": func(t *testing.T, _ *entity.DB, s *entity.Store[Marker]) error {
			_, err := s.Put(t.Context(), Marker{ID: "m"})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, s := open[Marker](t)
			m := entity.Fields[Marker]()
			require.NoError(t, begin(t, h.DB, s))
			require.Len(t, h.Operations(), 1)
			h.ends(t, "ends", hour0, 30*day)

			h.Clock.Move(day)
			_, err := s.Update(t.Context(), Marker{ID: "m"}, entity.Set(&m.Note, "updated"))
			require.NoError(t, err)
			_, created, err := s.Upsert(t.Context(), Marker{ID: "m", Note: "merged"})
			require.NoError(t, err)
			require.False(t, created)
			_, err = s.Modify(t.Context(), Marker{ID: "m"}, func(m *Marker) error { m.Note = "modified"; return nil })
			require.NoError(t, err)
			require.Equal(t, []string{"UpdateItem", "UpdateItem", "GetItem", "PutItem"}, h.Operations())
			h.ends(t, "ends", hour0, 30*day)

			got, err := s.Put(t.Context(), Marker{ID: "m", Note: "put"})
			require.NoError(t, err)
			require.Equal(t, []string{"UpdateItem"}, h.Operations())
			require.EqualValues(t, 5, got.Version)
			h.ends(t, "ends", hour0.Add(day), 30*day)
		})
	}
}

func TestTTL_AnUpsertGivesAnEndOnlyToAnItemThatHasNone(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]entity.UpdateOption{"in one request": nil, "after a read": {entity.Idempotent()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, s := open[Ticket](t)
			k := entity.Fields[Ticket]()
			_, err := s.Create(t.Context(), Ticket{ID: "t"})
			require.NoError(t, err)
			_, err = s.Update(t.Context(), Ticket{ID: "t"}, entity.Remove(&k.Ends))
			require.NoError(t, err)
			require.Empty(t, h.end(t, "ends"), "without it the item lives forever")
			h.Clock.Move(1000 * day)
			_, err = s.Get(t.Context(), Ticket{ID: "t"})
			require.NoError(t, err)

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
	f, mine := entity.Fields[Session](), hour0.Add(7*day).Unix()
	_, err := s.Create(t.Context(), Session{ID: "s", Ends: mine})
	require.NoError(t, err)
	h.ends(t, "ends", hour0, 7*day)
	require.Contains(t, h.Items()[0], "gsi1sk")

	_, err = s.Put(t.Context(), Session{ID: "s"})
	require.NoError(t, err)
	h.ends(t, "ends", hour0, day)
	_, err = s.Put(t.Context(), Session{ID: "s", Ends: mine})
	require.NoError(t, err)
	h.ends(t, "ends", hour0, 7*day)

	_, _, err = s.Upsert(t.Context(), Session{ID: "s", Note: "zero is no end"})
	require.NoError(t, err)
	h.ends(t, "ends", hour0, 7*day)
	_, _, err = s.Upsert(t.Context(), Session{ID: "s", Ends: mine + 60})
	require.NoError(t, err)
	h.ends(t, "ends", hour0, 7*day+time.Minute)

	got, err := s.Update(t.Context(), Session{ID: "s"}, entity.Set(&f.Ends, mine))
	require.NoError(t, err)
	require.Equal(t, mine, got.Ends)
	_, err = s.Update(t.Context(), Session{ID: "s"}, entity.Add(&f.Ends, 60))
	require.NoError(t, err)
	h.ends(t, "ends", hour0, 7*day+time.Minute)
	_, err = s.Modify(t.Context(), Session{ID: "s"}, func(s *Session) error { s.Ends = mine; return nil })
	require.NoError(t, err)
	h.ends(t, "ends", hour0, 7*day)
	byEnd := entity.Must(s.Index("byEnd"))
	one, err := byEnd.Query(Session{}, entity.Between(&f.Ends, mine, mine)).One(t.Context())
	require.NoError(t, err, "the index follows the end")
	require.Equal(t, "s", one.ID)

	got, err = s.Update(t.Context(), Session{ID: "s"}, entity.Set(&f.Ends, 0))
	require.NoError(t, err)
	require.Zero(t, got.Ends)
	require.Empty(t, h.end(t, "ends"), "zero seconds would be the year 1970")
	require.NotContains(t, h.Items()[0], "gsi1sk")
	_, err = s.Modify(t.Context(), Session{ID: "s"}, func(s *Session) error { s.Ends = mine; return nil })
	require.NoError(t, err)
	_, err = s.Modify(t.Context(), Session{ID: "s"}, func(s *Session) error { s.Ends = 0; return nil })
	require.NoError(t, err)
	require.Empty(t, h.end(t, "ends"))
	_, err = s.Update(t.Context(), Session{ID: "s"}, entity.SetIfNotExists(&f.Ends, mine))
	require.NoError(t, err)
	h.ends(t, "ends", hour0, 7*day)
	_, err = s.Update(t.Context(), Session{ID: "s"}, entity.SetIfNotExists(&f.Ends, 0))
	var bad *entity.InputError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, "EDD-9102", bad.Code)
}

func TestTTL_AfterComesFromTheConfiguration(t *testing.T) {
	t.Parallel()
	h, s := open[Marker](t, lifecycle.After(90*time.Second))
	_, err := s.Create(t.Context(), Marker{ID: "m"})
	require.NoError(t, err)
	h.ends(t, "ends", hour0, 90*time.Second)

	same := entity.Must(entity.New[Marker](h.DB))
	require.Same(t, s, same)
	same = entity.Must(entity.New[Marker](h.DB, lifecycle.After(90*time.Second)))
	require.Same(t, s, same)
	_, err = entity.New[Marker](h.DB, lifecycle.After(time.Hour))
	var bad *entity.InputError
	require.ErrorAs(t, err, &bad, "two stores of one entity cannot have two times to live")
	require.Equal(t, "EDD-9108", bad.Code)
}

// The item of a transaction has the same end as the item of a call.
func TestTTL_HoldsInTransactions(t *testing.T) {
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
	h.Operations()
	again, put, up := s.Op().Create(Marker{ID: "a"}), s.Op().Put(Marker{ID: "b", Note: "new"}), s.Op().Upsert(Marker{ID: "c"})
	require.NoError(t, h.DB.Transact(t.Context(), again, put, up))
	require.Equal(t, []string{"TransactWriteItems", "TransactWriteItems"}, h.Operations())
	for _, it := range h.Items() {
		require.NotEqual(t, want, it["ends"])
	}
	require.EqualValues(t, 1, up.Result().Version, "a new life")
}

func TestTTL_BatchesGiveAnEnd(t *testing.T) {
	t.Parallel()
	h, s := open[Ticket](t)
	left, err := s.PutMany(t.Context(), []Ticket{{ID: "t"}})
	require.NoError(t, err)
	require.Empty(t, left)
	h.ends(t, "ends", hour0, time.Hour)
}

// Without a time to live in the configuration, no write gives an item an end, and none takes one away that it was given.
func TestNoExpiry_OnlyCallersGiveEnds(t *testing.T) {
	t.Parallel()
	h, s := open[Session](t, lifecycle.NoExpiry())
	f := entity.Fields[Session]()
	end := hour0.Add(time.Hour).Unix()
	has := func(what string, want int64) {
		t.Helper()
		got, err := s.Get(t.Context(), Session{ID: "s"}, entity.Consistent())
		require.NoError(t, err, what)
		require.Equal(t, want, got.Ends, what)
		_, stored := h.Items()[0]["ends"]
		require.Equal(t, want != 0, stored, what)
	}
	_, err := s.Create(t.Context(), Session{ID: "s"})
	require.NoError(t, err)
	has("Create", 0)
	_, _, err = s.Upsert(t.Context(), Session{ID: "s"})
	require.NoError(t, err)
	has("Upsert", 0)
	_, err = s.Update(t.Context(), Session{ID: "s"}, entity.Set(&f.Ends, end))
	require.NoError(t, err)
	has("Update with an end", end)
	_, _, err = s.Upsert(t.Context(), Session{ID: "s"})
	require.NoError(t, err)
	has("Upsert over an end", end)
	_, err = s.Modify(t.Context(), Session{ID: "s"}, func(v *Session) error { v.Note = "kept"; return nil })
	require.NoError(t, err)
	has("Modify over an end", end)
	_, err = s.Put(t.Context(), Session{ID: "s"})
	require.NoError(t, err)
	has("Put, which replaces", 0)
	_, err = s.Put(t.Context(), Session{ID: "s", Ends: end})
	require.NoError(t, err)
	has("Put with an end", end)
	require.Equal(t, "ends", h.DB.Spec().Tables[0].TTL)
}

// The same where an end would follow another attribute.
func TestNoExpiry_FollowsNoAttribute(t *testing.T) {
	t.Parallel()
	h, s := open[Cache](t, lifecycle.NoExpiry())
	f := entity.Fields[Cache]()
	_, err := s.Create(t.Context(), Cache{ID: "c"})
	require.NoError(t, err)
	h.Clock.Move(time.Hour)
	_, err = s.Update(t.Context(), Cache{ID: "c"}, entity.Set(&f.Note, "later"))
	require.NoError(t, err)
	h.Clock.Move(time.Hour)
	_, err = s.Put(t.Context(), Cache{ID: "c"})
	require.NoError(t, err)
	require.NotContains(t, h.Items()[0], "ends")
	h.Clock.Move(1000 * time.Hour)
	_, err = s.Get(t.Context(), Cache{ID: "c"})
	require.NoError(t, err)

	_ = entity.Must(entity.New[Cache](h.DB, lifecycle.NoExpiry()))
	_, err = entity.New[Cache](h.DB, lifecycle.After(time.Minute))
	require.Equal(t, "EDD-9108", codeOf(err))
	_ = entity.Must(entity.New[Session](h.DB))
	_, err = entity.New[Session](h.DB, lifecycle.NoExpiry())
	require.Equal(t, "EDD-9108", codeOf(err))
}

// Parcel expires by a count of seconds that a caller may give.
type Parcel struct {
	_    entity.Key    `name:"Parcel" pk:"$#{id}" sk:"$"`
	_    lifecycle.TTL `attr:"ends" after:"1d"`
	ID   string        `dynamodbav:"id"`
	Ends int64         `dynamodbav:"ends,omitempty"`
	Note string        `dynamodbav:"note,omitempty"`
}

// Mislabelled says that it counts seconds.
type Mislabelled struct {
	_    entity.Key    `name:"Mislabelled" pk:"$#{id}" sk:"$"`
	_    lifecycle.TTL `attr:"ends" from:"seen" after:"1d"`
	ID   string        `dynamodbav:"id"`
	Seen int64         `dynamodbav:"seen,omitempty" entity:"time=unix"`
}

// requireUnit checks that nothing was sent because of the unit.
func requireUnit(t *testing.T, h *lab, field, verb string, err error) {
	t.Helper()
	var bad *entity.InputError
	require.ErrorAs(t, err, &bad, verb)
	require.Equal(t, "EDD-9118", bad.Code, verb)
	require.Equal(t, field, bad.Field, verb)
	require.Empty(t, h.Operations(), verb)
}

func TestTTL_MillisecondsAreNoSeconds(t *testing.T) {
	t.Parallel()
	h, s := open[Parcel](t)
	p, ms := entity.Fields[Parcel](), hour0.UnixMilli()
	v := Parcel{ID: "p", Ends: ms}
	_, err := s.Create(t.Context(), v)
	requireUnit(t, h, "Ends", "create", err)
	_, err = s.Put(t.Context(), v)
	requireUnit(t, h, "Ends", "put", err)
	_, _, err = s.Upsert(t.Context(), v)
	requireUnit(t, h, "Ends", "upsert", err)
	_, err = s.PutMany(t.Context(), []Parcel{v}, entity.Unconditional())
	requireUnit(t, h, "Ends", "batch", err)
	_, err = s.Update(t.Context(), v, entity.Set(&p.Ends, ms))
	requireUnit(t, h, "Ends", "update", err)
	_, err = s.Update(t.Context(), v, entity.SetIfNotExists(&p.Ends, -ms))
	requireUnit(t, h, "Ends", "update once", err)
	requireUnit(t, h, "Ends", "transact", h.DB.Transact(t.Context(), s.Op().Create(v)))

	v.Ends = 99_999_999_999
	_, err = s.Create(t.Context(), v)
	require.NoError(t, err, "the last count of seconds")
	_, err = s.Modify(t.Context(), v, func(p *Parcel) error { p.Ends = 100_000_000_000; return nil })
	var bad *entity.InputError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, "EDD-9118", bad.Code)
	got, err := s.Get(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, v.Ends, got.Ends)
}

func TestTTL_FromOfAnotherUnitThanItsTagSays(t *testing.T) {
	t.Parallel()
	h, s := open[Mislabelled](t)
	m, ms := entity.Fields[Mislabelled](), hour0.UnixMilli()
	_, err := s.Create(t.Context(), Mislabelled{ID: "m", Seen: ms})
	requireUnit(t, h, "Seen", "create", err)
	_, err = s.Update(t.Context(), Mislabelled{ID: "m"}, entity.Set(&m.Seen, ms))
	requireUnit(t, h, "Seen", "update", err)
	_, err = s.Create(t.Context(), Mislabelled{ID: "m", Seen: hour0.Add(time.Hour).Unix()})
	require.NoError(t, err)
}
