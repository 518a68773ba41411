package lifecycle_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/declaretest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

func TestDeclarations(t *testing.T) {
	t.Parallel()
	types := declaretest.Types{
		"entity.Key": reflect.TypeFor[entity.Key](), "entity.GSI": reflect.TypeFor[entity.GSI](), "time.Time": reflect.TypeFor[time.Time](),
		"lifecycle.SoftDelete": reflect.TypeFor[lifecycle.SoftDelete](), "lifecycle.TTL": reflect.TypeFor[lifecycle.TTL](), "unique.Constraint": reflect.TypeFor[unique.Constraint](),
		"versioned.Lock": reflect.TypeFor[versioned.Lock](), "versioned.Retain": reflect.TypeFor[versioned.Retain](), "timeseries.Events": reflect.TypeFor[timeseries.Events](),
	}
	declaretest.Run(t, types)
}

func TestTTL_OptionsNeedATTLAndExcludeEachOther(t *testing.T) {
	t.Parallel()
	for _, declare := range []func(*entity.DB) error{
		func(db *entity.DB) error { return dbtest.ErrorOf(entity.New[Packet](db, lifecycle.After(time.Minute))) },
		func(db *entity.DB) error { return dbtest.ErrorOf(entity.New[Packet](db, lifecycle.NoExpiry())) },
		func(db *entity.DB) error {
			return dbtest.ErrorOf(entity.New[Marker](db, lifecycle.NoExpiry(), lifecycle.After(time.Minute)))
		},
	} {
		require.Equal(t, "EDD-9108", dbtest.InputCode(declare(entity.Must(entity.Open(nil, entity.Config{Table: "app"})))))
	}
}

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
	h, s := open[Session](t)
	ctx, f, key := t.Context(), entity.Fields[Session](), Session{ID: "s"}
	none, own, later := time.Time{}, hour0.Add(7*day), hour0.Add(7*day+time.Minute)
	given := Session{ID: "s", Ends: own.Unix()}
	modify := func(end int64) func() error {
		return func() error {
			return dbtest.ErrorOf(s.Modify(ctx, key, func(s *Session) error { s.Ends = end; return nil }))
		}
	}
	h.run(t, "ends", []change{
		{"Create", func() error { return dbtest.ErrorOf(s.Create(ctx, given)) }, nil, own},
		{"Put without one", func() error { return dbtest.ErrorOf(s.Put(ctx, key)) }, nil, hour0.Add(day)},
		{"Put", func() error { return dbtest.ErrorOf(s.Put(ctx, given)) }, nil, own},
		{"Upsert of zero", func() error { return dbtest.ErrorOf(s.Upsert(ctx, Session{ID: "s", Note: "zero is no end"})) }, nil, own},
		{"Upsert", func() error { return dbtest.ErrorOf(s.Upsert(ctx, Session{ID: "s", Ends: later.Unix()})) }, nil, later},
		{"Update", func() error { return dbtest.ErrorOf(s.Update(ctx, key, entity.Set(&f.Ends, own.Unix()))) }, nil, own},
		{"Update that adds", func() error { return dbtest.ErrorOf(s.Update(ctx, key, entity.Add(&f.Ends, 60))) }, nil, later},
		{"Modify", modify(own.Unix()), nil, own},
	})
	byEnd := entity.Must(s.Index("byEnd"))
	one, err := byEnd.Query(Session{}, entity.Between(&f.Ends, own.Unix(), own.Unix())).One(ctx)
	require.NoError(t, err, "the index follows the end")
	require.Equal(t, given.Ends, one.Ends)
	h.run(t, "ends", []change{
		{"Update to zero seconds, which would be the year 1970", func() error { return dbtest.ErrorOf(s.Update(ctx, key, entity.Set(&f.Ends, 0))) }, nil, none},
		{"Modify after that", modify(own.Unix()), nil, own},
		{"Modify to zero", modify(0), nil, none},
	})
	require.NotContains(t, h.Items()[0], "gsi1sk")
	h.run(t, "ends", []change{{"Update once", func() error { return dbtest.ErrorOf(s.Update(ctx, key, entity.SetIfNotExists(&f.Ends, own.Unix()))) }, nil, own}})
	require.Equal(t, "EDD-9102", dbtest.InputCode(dbtest.ErrorOf(s.Update(ctx, key, entity.SetIfNotExists(&f.Ends, 0)))))
}

func TestTTL_AfterComesFromTheConfiguration(t *testing.T) {
	h, s := open[Marker](t, lifecycle.After(90*time.Second))
	entity.Must(s.Create(t.Context(), Marker{ID: "m"}))
	h.ends(t, "ends", hour0, 90*time.Second)

	same := entity.Must(entity.New[Marker](h.DB))
	require.Same(t, s, same)
	same = entity.Must(entity.New[Marker](h.DB, lifecycle.After(90*time.Second)))
	require.Same(t, s, same)
	require.Equal(t, "EDD-9108", dbtest.InputCode(dbtest.ErrorOf(entity.New[Marker](h.DB, lifecycle.After(time.Hour)))))
	_ = entity.Must(entity.New[Session](h.DB))
	require.Equal(t, "EDD-9108", dbtest.InputCode(dbtest.ErrorOf(entity.New[Session](h.DB, lifecycle.NoExpiry()))))
	_ = entity.Must(entity.New[Cache](h.DB, lifecycle.NoExpiry()))
	require.Equal(t, "EDD-9108", dbtest.InputCode(dbtest.ErrorOf(entity.New[Cache](h.DB, lifecycle.After(time.Minute)))))
}

// Without a time to live in the configuration, no write gives an item an end, and none takes one away that it was given.
func TestNoExpiry_OnlyCallersGiveEnds(t *testing.T) {
	h, s := open[Session](t, lifecycle.NoExpiry())
	ctx, f, key := t.Context(), entity.Fields[Session](), Session{ID: "s"}
	none, end := time.Time{}, hour0.Add(time.Hour)
	given := Session{ID: "s", Ends: end.Unix()}
	h.run(t, "ends", []change{
		{"Create", func() error { return dbtest.ErrorOf(s.Create(ctx, key)) }, nil, none},
		{"Upsert", func() error { return dbtest.ErrorOf(s.Upsert(ctx, key)) }, nil, none},
		{"Update with an end", func() error { return dbtest.ErrorOf(s.Update(ctx, key, entity.Set(&f.Ends, given.Ends))) }, nil, end},
		{"Upsert over an end", func() error { return dbtest.ErrorOf(s.Upsert(ctx, key)) }, nil, end},
		{"Modify over an end", func() error {
			return dbtest.ErrorOf(s.Modify(ctx, key, func(v *Session) error { v.Note = "kept"; return nil }))
		}, nil, end},
		{"Put, which replaces", func() error { return dbtest.ErrorOf(s.Put(ctx, key)) }, nil, none},
		{"Put with an end", func() error { return dbtest.ErrorOf(s.Put(ctx, given)) }, nil, end},
	})
	require.Equal(t, given, entity.Must(s.Get(ctx, key)))
	require.Equal(t, "ends", tables.Of(h.DB).Tables[0].TTL)
}

func TestTTL_MillisecondsAreNoSeconds(t *testing.T) {
	h, s := open[Session](t)
	counters := dbtest.Declare[Counter](t, h.DB)
	ctx, f, c, ms := t.Context(), entity.Fields[Session](), entity.Fields[Counter](), hour0.UnixMilli()
	counter := func(since int64) Counter { n := uint64(since); return Counter{ID: "c", Once: &n} }
	v := Session{ID: "s", Ends: ms}
	for _, w := range []struct {
		what, field string
		write       func() error
	}{
		{"create", "Ends", func() error { return dbtest.ErrorOf(s.Create(ctx, v)) }},
		{"put", "Ends", func() error { return dbtest.ErrorOf(s.Put(ctx, v)) }},
		{"upsert", "Ends", func() error { return dbtest.ErrorOf(s.Upsert(ctx, v)) }},
		{"batch", "Ends", func() error { return dbtest.ErrorOf(s.PutMany(ctx, []Session{v}, entity.Unconditional())) }},
		{"update", "Ends", func() error { return dbtest.ErrorOf(s.Update(ctx, v, entity.Set(&f.Ends, ms))) }},
		{"update once", "Ends", func() error { return dbtest.ErrorOf(s.Update(ctx, v, entity.SetIfNotExists(&f.Ends, -ms))) }},
		{"transact", "Ends", func() error { return h.DB.Transact(ctx, s.Op().Create(v)) }},
		{"create, by from", "Once", func() error { return dbtest.ErrorOf(counters.Create(ctx, counter(ms))) }},
		{"update, by from", "Once", func() error { return dbtest.ErrorOf(counters.Update(ctx, counter(0), entity.Set(c.Once, uint64(ms)))) }},
	} {
		dbtest.RequireInput(t, w.write(), "EDD-9118", w.field)
		require.Empty(t, h.Operations(), w.what)
	}
	entity.Must(counters.Create(ctx, counter(hour0.Add(time.Hour).Unix())))

	v.Ends = 99_999_999_999
	require.NoError(t, dbtest.ErrorOf(s.Create(ctx, v)), "the last count of seconds")
	require.Equal(t, "EDD-9118", dbtest.InputCode(dbtest.ErrorOf(s.Modify(ctx, v, func(s *Session) error { s.Ends = 100_000_000_000; return nil }))))
	require.Equal(t, v.Ends, entity.Must(s.Get(ctx, v)).Ends)
}

// Lease ends an hour after it was last seen.
type Lease struct {
	_    entity.Key    `name:"Lease" pk:"$#{id}" sk:"$"`
	_    entity.GSI    `name:"byNote" index:"gsi1" pk:"$#{note}" sk:"gsi1sk={ends:020}"`
	_    lifecycle.TTL `attr:"ends" from:"seen" after:"1h"`
	ID   string        `dynamodbav:"id"`
	Note string        `dynamodbav:"note,omitempty"`
	Seen time.Time     `dynamodbav:"seen,omitempty" entity:"time=ms"`
	Ends int64         `dynamodbav:"ends,omitempty"`
}

// Counter counts its own time in seconds.
type Counter struct {
	_    entity.Key    `name:"Counter" pk:"$#{id}" sk:"$"`
	_    lifecycle.TTL `attr:"ends" from:"since" after:"1h"`
	ID   string        `dynamodbav:"id"`
	Note string        `dynamodbav:"note,omitempty"`
	Once *uint64       `dynamodbav:"since,omitempty" entity:"time=unix"`
}

// Cache ends a minute after it was last written.
type Cache struct {
	_       entity.Key    `name:"Cache" pk:"$#{id}" sk:"$"`
	_       lifecycle.TTL `attr:"ends" from:"updated" after:"1m"`
	ID      string        `dynamodbav:"id"`
	Note    string        `dynamodbav:"note,omitempty"`
	Updated time.Time     `dynamodbav:"updated" entity:"updated_at,time=s"`
}

// Trial ends a week after it was created, whatever becomes of it.
type Trial struct {
	_       entity.Key    `name:"Trial" pk:"$#{id}" sk:"$"`
	_       lifecycle.TTL `attr:"ends" from:"created" after:"7d"`
	ID      string        `dynamodbav:"id"`
	Note    string        `dynamodbav:"note,omitempty"`
	Created time.Time     `dynamodbav:"created" entity:"created_at"`
}

func TestTTL_FollowsATimeInTheSameRequest(t *testing.T) {
	h, s := open[Lease](t)
	ctx, f, key := t.Context(), entity.Fields[Lease](), Lease{ID: "l"}
	minute := func(n int) time.Time { return hour0.Add(time.Duration(n) * time.Minute) }
	end := func(n int) time.Time { return minute(n).Add(time.Hour) }
	seen := func(n int) entity.UpdateOption { return entity.Set(&f.Seen, minute(n)) }
	own := hour0.Add(day)
	h.run(t, "ends", []change{
		{"Create", func() error { return dbtest.ErrorOf(s.Create(ctx, Lease{ID: "l", Seen: minute(1), Note: "n"})) }, put, end(1)},
		{"Update of the time", func() error {
			got, err := s.Update(ctx, key, seen(2))
			require.Equal(t, end(2).Unix(), got.Ends)
			return err
		}, update, end(2)},
		{"Update of another field", func() error { return dbtest.ErrorOf(s.Update(ctx, key, entity.Set(&f.Note, "m"))) }, update, end(2)},
		{"Upsert with the time", func() error { return dbtest.ErrorOf(s.Upsert(ctx, Lease{ID: "l", Seen: minute(3)})) }, update, end(3)},
		{"Upsert without it", func() error { return dbtest.ErrorOf(s.Upsert(ctx, Lease{ID: "l", Note: "left alone"})) }, update, end(3)},
		{"Put", func() error { return dbtest.ErrorOf(s.Put(ctx, Lease{ID: "l", Seen: minute(4)})) }, update, end(4)},
		{"Modify", func() error {
			return dbtest.ErrorOf(s.Modify(ctx, key, func(l *Lease) error { l.Seen = minute(5); return nil }))
		}, getPut, end(5)},
		{"Touch", func() error {
			h.Clock.Set(minute(15), 0)
			return dbtest.ErrorOf(s.Touch(ctx, key, &f.Seen, time.Minute))
		}, update, end(15)},
		{"Transact", func() error { return h.DB.Transact(ctx, s.Op().Update(key, seen(16))) }, update, end(16)},
	})
	require.Contains(t, h.Items()[0], "gsi1sk", "the index follows")
	h.run(t, "ends", []change{
		{"an end that the caller gives", func() error { return dbtest.ErrorOf(s.Update(ctx, key, seen(17), entity.Set(&f.Ends, own.Unix()))) }, nil, own},
		{"another field, which keeps it", func() error { return dbtest.ErrorOf(s.Update(ctx, key, entity.Set(&f.Note, "stays"))) }, nil, own},
		{"the time, which replaces it", func() error { return dbtest.ErrorOf(s.Update(ctx, key, seen(18))) }, update, end(18)},
		// The index key, which is removed too, is composed from the stored item.
		{"no time any more", func() error { return dbtest.ErrorOf(s.Update(ctx, key, entity.Remove(&f.Seen))) }, getPut, time.Time{}},
		{"an end removed on purpose", func() error { return dbtest.ErrorOf(s.Update(ctx, key, seen(0), entity.Remove(&f.Ends))) }, nil, time.Time{}},
		{"Put without a time", func() error { return dbtest.ErrorOf(s.Put(ctx, key)) }, update, time.Time{}},
	})
}

func TestTTL_AChangeOtherThanSetReadsFirst(t *testing.T) {
	h, s := open[Counter](t)
	ctx, f, key := t.Context(), entity.Fields[Counter](), Counter{ID: "c"}
	at, zero := uint64(hour0.Unix()), uint64(0)
	h.run(t, "ends", []change{
		{"Create", func() error { return dbtest.ErrorOf(s.Create(ctx, key)) }, nil, time.Time{}},
		{"once", func() error { return dbtest.ErrorOf(s.Update(ctx, key, entity.SetIfNotExists(&f.Once, &at))) }, getPut, hour0.Add(time.Hour)},
		{"add", func() error { return dbtest.ErrorOf(s.Update(ctx, key, entity.Add(f.Once, 60))) }, getPut, hour0.Add(time.Hour + time.Minute)},
		{"zero is no time", func() error { return dbtest.ErrorOf(s.Update(ctx, key, entity.Set(&f.Once, &zero))) }, nil, time.Time{}},
	})
}

func TestTTL_FollowsTheTimesThatTheLibraryKeeps(t *testing.T) {
	h, cache := open[Cache](t)
	ctx, c, key := t.Context(), entity.Fields[Cache](), Cache{ID: "c"}
	for n, write := range []func() error{
		func() error { return dbtest.ErrorOf(cache.Create(ctx, key)) },
		func() error { return dbtest.ErrorOf(cache.Update(ctx, key, entity.Set(&c.Note, "a"))) },
		func() error { return dbtest.ErrorOf(cache.Upsert(ctx, key)) },
		func() error { return dbtest.ErrorOf(cache.Put(ctx, key)) },
		func() error {
			return dbtest.ErrorOf(cache.Modify(ctx, key, func(c *Cache) error { c.Note = "b"; return nil }))
		},
	} {
		now := h.Clock.Move(30 * time.Second)
		h.run(t, "ends", []change{{fmt.Sprint("write ", n), write, nil, now.Add(time.Minute)}})
	}

	h, trial := open[Trial](t)
	f, end := entity.Fields[Trial](), hour0.Add(7*day)
	h.run(t, "ends", []change{
		{"whether created_at changes can only be read", func() error { return dbtest.ErrorOf(trial.Upsert(ctx, Trial{ID: "t"})) }, getPut, end},
		{"Upsert", func() error { h.Clock.Move(day); return dbtest.ErrorOf(trial.Upsert(ctx, Trial{ID: "t", Note: "a"})) }, nil, end},
		{"Put", func() error { return dbtest.ErrorOf(trial.Put(ctx, Trial{ID: "t", Note: "b"})) }, nil, end},
		{"Update", func() error { return dbtest.ErrorOf(trial.Update(ctx, Trial{ID: "t"}, entity.Set(&f.Note, "c"))) }, update, end},
	})
}

// Token lives for an hour.
type Token struct {
	_       entity.Key    `name:"Token" pk:"$#{user}" sk:"$#{id}"`
	_       entity.GSI    `name:"byScope" index:"gsi1" pk:"$#{scope}" sk:"$#{id}" project:"id"`
	_       lifecycle.TTL `attr:"ends" after:"1h"`
	User    string        `dynamodbav:"user"`
	ID      string        `dynamodbav:"id"`
	Scope   string        `dynamodbav:"scope,omitempty"`
	Uses    int           `dynamodbav:"uses"`
	Version int64         `dynamodbav:"version" entity:"version"`
}

var token = Token{User: "u", ID: "t"}

// lapsed has one token, at the second in which it ends, and another one that lives.
func lapsed(t *testing.T) (*lab, *entity.Store[Token]) {
	t.Helper()
	h, s := open[Token](t)
	entity.Must(s.Create(t.Context(), Token{User: "u", ID: "t", Scope: "all", Uses: 7}))
	h.Clock.Move(time.Hour)
	entity.Must(s.Create(t.Context(), Token{User: "u", ID: "live", Scope: "all"}))
	h.Operations()
	return h, s
}

func TestTTL_AnExpiredItemIsGoneForEveryRead(t *testing.T) {
	h, s := lapsed(t)
	require.ErrorIs(t, dbtest.ErrorOf(s.Get(t.Context(), token)), entity.ErrNotFound)
	require.Equal(t, 7, entity.Must(s.Get(t.Context(), token, entity.IncludeExpired())).Uses)
	many := entity.Must(s.GetMany(t.Context(), []Token{token, {User: "u", ID: "live"}}))
	require.Nil(t, many[0])
	require.NotNil(t, many[1])
	many = entity.Must(s.GetMany(t.Context(), []Token{token}, entity.IncludeExpired()))
	require.NotNil(t, many[0])
	into := token
	load := s.Op().GetInto(&into)
	require.ErrorIs(t, h.DB.TransactGet(t.Context(), load), entity.ErrNotFound)

	byScope := entity.Must(s.Index("byScope"))
	for name, queries := range map[string][2]entity.Query[Token]{
		"Query":       {s.Query(Token{User: "u"}), s.Query(Token{User: "u"}, entity.IncludeExpired())},
		"Scan":        {s.Scan(), s.Scan(entity.IncludeExpired())},
		"Index.Query": {byScope.Query(Token{Scope: "all"}), byScope.Query(Token{Scope: "all"}, entity.IncludeExpired())},
		"Index.Scan":  {byScope.Scan(), byScope.Scan(entity.IncludeExpired())},
	} {
		one, err := queries[0].One(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, "live", one.ID, name)
		n, err := queries[1].Count(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, 2, n, name)
	}
	h.Clock.Move(-time.Second)
	require.NoError(t, dbtest.ErrorOf(s.Get(t.Context(), token)), "a second before its end it lives")
}

func TestTTL_AnExpiredItemIsGoneForEveryWrite(t *testing.T) {
	t.Parallel()
	f, used := entity.Fields[Token](), Token{User: "u", ID: "t", Uses: 1}
	for name, c := range map[string]struct {
		write    func(*lab, *entity.Store[Token]) error
		err      error // nil: a new life began
		requests int
	}{
		"Update": {func(h *lab, s *entity.Store[Token]) error {
			return dbtest.ErrorOf(s.Update(h.Ctx, token, entity.Add(&f.Uses, 1)))
		}, entity.ErrNotFound, 1},
		"Modify": {func(h *lab, s *entity.Store[Token]) error {
			return dbtest.ErrorOf(s.Modify(h.Ctx, token, func(k *Token) error { k.Uses++; return nil }))
		}, entity.ErrNotFound, 1},
		"Delete":      {func(h *lab, s *entity.Store[Token]) error { return s.Delete(h.Ctx, token) }, entity.ErrNotFound, 1},
		"CheckExists": {func(h *lab, s *entity.Store[Token]) error { return h.DB.Transact(h.Ctx, s.Op().CheckExists(token)) }, entity.ErrNotFound, 1},
		"Create":      {func(h *lab, s *entity.Store[Token]) error { return dbtest.ErrorOf(s.Create(h.Ctx, used)) }, nil, 1},
		"Put":         {func(h *lab, s *entity.Store[Token]) error { return dbtest.ErrorOf(s.Put(h.Ctx, used)) }, nil, 2},
		"Upsert": {func(h *lab, s *entity.Store[Token]) error {
			_, created, err := s.Upsert(h.Ctx, used)
			require.True(h.T, created || err != nil)
			return err
		}, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			h, s := lapsed(t)
			before, err := h.Items(), c.write(h, s)
			require.Len(t, h.Operations(), c.requests)
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
				require.Equal(t, before, h.Items(), "nothing was written")
				return
			}
			require.NoError(t, err)
			got := entity.Must(s.Get(t.Context(), token))
			require.Equal(t, Token{User: "u", ID: "t", Uses: 1, Version: 1}, got, "a new life keeps nothing of the old one")
		})
	}
}

// A Put that found an expired item and was about to replace it meets an item that another program has created meanwhile: it
// replaces that one, as a Put over a live item does.
func TestTTL_APutOverARenewedItemReplacesTheNewOne(t *testing.T) {
	h, s := lapsed(t)
	require.NoError(t, h.Overtake(dbtest.Is("PutItem"), func() error {
		return dbtest.ErrorOf(s.Put(t.Context(), Token{User: "u", ID: "t", Uses: 1}))
	}, func() {
		entity.Must(dbtest.Declare[Token](t, h.Open(h.Raw)).Create(t.Context(), Token{User: "u", ID: "t", Uses: 2}))
	}))
	got := entity.Must(s.Get(t.Context(), token, entity.Consistent()))
	require.Equal(t, 1, got.Uses)
	require.EqualValues(t, 2, got.Version, "it is the second write of the new life")
}

// A transaction under a token sends the same each time, and a Put cannot replace an expired item by that. So the expired item is
// removed first, as DynamoDB would, and nothing else is.
func TestTTL_ATransactionUnderATokenBeginsANewLife(t *testing.T) {
	h, s := lapsed(t)
	other, put := Token{User: "u", ID: "live"}, s.Op().Put(Token{User: "u", ID: "t", Uses: 1})
	both := []entity.Op{put, s.Op().Upsert(Token{User: "u", ID: "live", Uses: 9})}
	for range 2 {
		require.NoError(t, h.DB.TransactWithToken(t.Context(), entity.Token{ID: "x", At: h.Clock.Now()}, both...))
		require.Equal(t, Token{User: "u", ID: "t", Uses: 1, Version: 1}, entity.Must(s.Get(t.Context(), token)), "it keeps nothing of the old one")
		require.EqualValues(t, 2, entity.Must(s.Get(t.Context(), other)).Version)
	}
	require.Equal(t, []string{"TransactWriteItems", "DeleteItem", "TransactWriteItems"}, h.Operations()[:3])

	h.Clock.Move(2 * time.Hour)
	require.NoError(t, h.Overtake(dbtest.Is("DeleteItem"), func() error {
		return h.DB.TransactWithToken(t.Context(), entity.Token{ID: "y"}, s.Op().Put(Token{User: "u", ID: "t", Uses: 3}))
	}, func() {
		entity.Must(dbtest.Declare[Token](t, h.Open(h.Raw)).Create(t.Context(), Token{User: "u", ID: "t", Uses: 2}))
	}))
	got := entity.Must(s.Get(t.Context(), token))
	require.Equal(t, 3, got.Uses)
	require.EqualValues(t, 2, got.Version, "the life that began meanwhile was not removed")
}

// Stamp lives for an hour, in a table with lower-case keys.
type Stamp struct {
	_    entity.Key    `name:"Stamp" pk:"$#{id}" sk:"$"`
	_    lifecycle.TTL `attr:"ends" after:"1h"`
	ID   string        `dynamodbav:"id"`
	Uses int           `dynamodbav:"uses"`
}

func TestTTL_AnExpiredItemOfAnotherSpellingIsGone(t *testing.T) {
	t.Parallel()
	h := &lab{Bench: dbtest.Open(t, func(c *entity.Config) { c.Interop, c.TimePrecision = true, time.Millisecond })}
	s := dbtest.Declare[Stamp](t, h.DB)
	h.CreateTables()
	f, own, other := entity.Fields[Stamp](), Stamp{ID: "T"}, Stamp{ID: "t"}
	calls := []struct {
		call func() error
		over error // over an expired item; nil: a new life began
	}{
		{func() error { return dbtest.ErrorOf(s.Update(t.Context(), other, entity.Add(&f.Uses, 1))) }, entity.ErrNotFound},
		{func() error {
			return dbtest.ErrorOf(s.Modify(t.Context(), other, func(k *Stamp) error { k.Uses++; return nil }))
		}, entity.ErrNotFound},
		{func() error { return s.Delete(t.Context(), other) }, entity.ErrNotFound},
		{func() error { return h.DB.Transact(t.Context(), s.Op().CheckNotExists(other)) }, nil},
		{func() error { return dbtest.ErrorOf(s.Create(t.Context(), other)) }, nil},
		{func() error { return dbtest.ErrorOf(s.Put(t.Context(), other)) }, nil},
		{func() error { return dbtest.ErrorOf(s.Upsert(t.Context(), other)) }, nil},
		{func() error { return dbtest.ErrorOf(s.Put(t.Context(), other, entity.Idempotent())) }, nil},
	}
	for i, c := range calls {
		h.Clock.Move(2 * time.Hour)
		h.OK(s.Create(t.Context(), own))
		require.ErrorIs(t, c.call(), entity.ErrKeyCase, i)
		h.Clock.Move(time.Hour)
		if err := c.call(); c.over != nil {
			require.ErrorIs(t, err, c.over, i)
			require.NotErrorIs(t, err, entity.ErrKeyCase, i)
		} else {
			require.NoError(t, err, i)
		}
	}
}
