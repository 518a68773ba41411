package versioned_test

import (
	"context"
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
	"github.com/dynastrata/dynastrata/tests/exampletest"
	"github.com/dynastrata/dynastrata/versioned"
)

type account struct {
	_       entity.Key `name:"Account" pk:"$#{id}" sk:"$"`
	_       versioned.Lock
	ID      string `dynamodbav:"id"`
	Balance int    `dynamodbav:"balance"`
	Version uint32 `dynamodbav:"version" entity:"version"`
}

// keptAccount has a history too.
type keptAccount struct {
	_       entity.Key `name:"Kept" pk:"$#{id}" sk:"$"`
	_       versioned.Lock
	_       versioned.Retain
	ID      string `dynamodbav:"id"`
	Balance int    `dynamodbav:"balance"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// writes are the verbs that overwrite an item which they have not seen.
func writes(s *entity.Store[account], opts ...entity.WriteOption) map[string]func(context.Context, account) error {
	f := entity.Fields[account]()
	var changes []entity.UpdateOption // every option of a write is one of an update, and of a delete
	var removes []entity.DeleteOption
	for _, o := range opts {
		changes, removes = append(changes, o), append(removes, o)
	}
	return map[string]func(context.Context, account) error{
		"Put":    func(ctx context.Context, v account) error { _, err := s.Put(ctx, v, opts...); return err },
		"Upsert": func(ctx context.Context, v account) error { _, _, err := s.Upsert(ctx, v, changes...); return err },
		"Update": func(ctx context.Context, v account) error {
			return dbtest.ErrorOf(s.Update(ctx, v, append(changes[:len(changes):len(changes)], entity.Set(&f.Balance, v.Balance))...))
		},
		"Delete": func(ctx context.Context, v account) error { return s.Delete(ctx, v, removes...) },
	}
}

func TestLock_OfTwoReadersOfOneVersionOneWins(t *testing.T) {
	t.Parallel()
	_, s := dbtest.OpenStore[account](t)
	ctx := t.Context()
	for verb, write := range writes(s) {
		first := entity.Must(s.Create(ctx, account{ID: verb, Balance: 1}))
		second := first
		first.Balance, second.Balance = 10, 20
		require.NoError(t, dbtest.ErrorOf(s.Put(ctx, first)), verb)

		err := write(ctx, second)
		conflict := dbtest.As[*versioned.ConflictError](t, err, verb)
		require.ErrorIs(t, err, entity.ErrConflict)
		require.Equal(t, versioned.ConflictError{Expected: 1, Actual: 2}, *conflict)
		require.False(t, entity.IsAmbiguous(err))
		got := entity.Must(s.Get(ctx, account{ID: verb}, entity.Consistent()))
		require.Equal(t, account{ID: verb, Balance: 10, Version: 2}, got, verb)
		require.NoError(t, write(ctx, got), verb)
	}
}

func TestLock_AnItemThatWasReadAndIsGoneIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	_, s := dbtest.OpenStore[account](t)
	for verb, write := range writes(s) {
		err := write(t.Context(), account{ID: verb, Version: 3})
		require.ErrorIs(t, err, entity.ErrNotFound, verb)
		require.ErrorIs(t, err, entity.ErrConflict, verb)
	}
}

func TestLock_Version0AndAnyVersionExpectNothingAndExpectDecidesOverTheStruct(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		version uint32 // in the given struct; it is 1
		opts    []entity.WriteOption
	}{
		"version 0":  {0, nil},
		"AnyVersion": {77, []entity.WriteOption{versioned.AnyVersion()}},
		"Expect":     {77, []entity.WriteOption{versioned.Expect(1)}},
	} {
		_, s := dbtest.OpenStore[account](t)
		for verb, write := range writes(s, c.opts...) {
			if verb == "Put" && c.opts == nil {
				continue // it expects that there is no item
			}
			entity.Must(s.Create(t.Context(), account{ID: verb}))
			require.NoError(t, write(t.Context(), account{ID: verb, Balance: 5, Version: c.version}), "%s, %s", verb, name)
		}
	}
}

func TestLock_ModifySeesTheItemAndDoesNotLookAtTheVersionOfTheKey(t *testing.T) {
	t.Parallel()
	_, s := dbtest.OpenStore[account](t)
	entity.Must(s.Create(t.Context(), account{ID: "a", Balance: 1}))
	got := entity.Must(s.Modify(t.Context(), account{ID: "a", Version: 9}, func(a *account) error { a.Balance++; return nil }))
	require.Equal(t, account{ID: "a", Balance: 2, Version: 2}, got)
}

func TestLock_WithRetain(t *testing.T) {
	t.Parallel()
	_, s := dbtest.OpenStore[keptAccount](t)
	h, ctx := entity.Must(versioned.Of(s)), t.Context()
	first, f := entity.Must(s.Create(ctx, keptAccount{ID: "a", Balance: 1})), entity.Fields[keptAccount]()
	second := entity.Must(s.Put(ctx, first))
	for verb, err := range map[string]error{ // each reads first
		"Put": dbtest.ErrorOf(s.Put(ctx, first)), "Upsert": dbtest.ErrorOf(s.Upsert(ctx, first)), "Update": dbtest.ErrorOf(s.Update(ctx, first, entity.Set(&f.Balance, 2))),
		"Revert": dbtest.ErrorOf(h.Revert(ctx, first, 1)), "Delete": s.Delete(ctx, first),
	} {
		require.Equal(t, versioned.ConflictError{Expected: 1, Actual: 2}, *dbtest.As[*versioned.ConflictError](t, err, verb), verb)
	}
	require.Equal(t, second, entity.Must(s.Get(ctx, first, entity.Consistent())))
	entity.Must(h.Revert(ctx, first, 1, versioned.AnyVersion()))
}

func TestLock_RetainAloneExpectsNothing(t *testing.T) {
	t.Parallel()
	_, s := dbtest.OpenStore[kept](t)
	v := entity.Must(s.Create(t.Context(), kept{ID: "a"}))
	for range 2 {
		entity.Must(s.Put(t.Context(), v))
	}
}

func TestLock_MistakesAreFoundBeforeARequest(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	counted := entity.Must(entity.New[countedOnly](db))
	below := entity.Must(entity.New[badge](db))
	require.Equal(t, "EDD-9108", dbtest.InputCode(dbtest.ErrorOf(counted.Put(t.Context(), countedOnly{ID: "a"}, versioned.AnyVersion()))))
	dbtest.As[*entity.InputError](t, dbtest.ErrorOf(below.Put(t.Context(), badge{ID: "a"}, versioned.AnyVersion(), versioned.Expect(1))))
	require.Equal(t, "Version", dbtest.As[*entity.InputError](t, dbtest.ErrorOf(below.Put(t.Context(), badge{ID: "a", Version: -1}))).Field)
	require.ErrorIs(t, dbtest.ErrorOf(below.Put(t.Context(), badge{ID: "a", Version: -1}, versioned.AnyVersion())), entity.ErrNoClient)
}

// ticket, parcel, badge and pass know when they were created: in nanoseconds, in seconds as a number, with deleted copies, with an end.
type ticket struct {
	_       entity.Key `name:"Ticket" pk:"$#{id}" sk:"$"`
	_       versioned.Lock
	ID      string    `dynamodbav:"id"`
	Text    string    `dynamodbav:"text"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Created time.Time `dynamodbav:"created" entity:"created_at"`
}

type parcel struct {
	_       entity.Key `name:"Parcel" pk:"$#{id}" sk:"$"`
	_       versioned.Lock
	ID      string     `dynamodbav:"id"`
	Text    string     `dynamodbav:"text"`
	Version uint64     `dynamodbav:"version" entity:"version"`
	Created *time.Time `dynamodbav:"created" entity:"created_at,time=unix"`
}

type badge struct {
	_       entity.Key `name:"Badge" pk:"$#{id}" sk:"$"`
	_       versioned.Lock
	_       lifecycle.SoftDelete
	ID      string    `dynamodbav:"id"`
	Text    string    `dynamodbav:"text"`
	Version int       `dynamodbav:"version" entity:"version"`
	Created time.Time `dynamodbav:"created" entity:"created_at,time=ms"`
	Gone    time.Time `dynamodbav:"gone,omitempty" entity:"deleted_at"`
}

type pass struct {
	_       entity.Key `name:"Pass" pk:"$#{id}" sk:"$"`
	_       versioned.Lock
	_       lifecycle.TTL `attr:"ends" after:"1h"`
	ID      string        `dynamodbav:"id"`
	Text    string        `dynamodbav:"text"`
	Version int64         `dynamodbav:"version" entity:"version"`
	Created time.Time     `dynamodbav:"created" entity:"created_at"`
}

// dated writes a struct with every verb that expects its state, alone and in a transaction.
func dated[T any](b *dbtest.Bench, s *entity.Store[T], text func(*T) *string) map[string]func(context.Context, T) error {
	set := entity.Set(text(entity.Fields[T]()), "stale")
	return map[string]func(context.Context, T) error{
		"Put":                func(ctx context.Context, v T) error { _, err := s.Put(ctx, v); return err },
		"Upsert":             func(ctx context.Context, v T) error { _, _, err := s.Upsert(ctx, v); return err },
		"Update":             func(ctx context.Context, v T) error { _, err := s.Update(ctx, v, set); return err },
		"Delete":             func(ctx context.Context, v T) error { return s.Delete(ctx, v) },
		"Delete, if present": func(ctx context.Context, v T) error { return s.Delete(ctx, v, entity.IfPresent(nil)) },
		"Put in Transact":    func(ctx context.Context, v T) error { return b.DB.Transact(ctx, s.Op().Put(v)) },
		"Upsert in Transact": func(ctx context.Context, v T) error { return b.DB.Transact(ctx, s.Op().Upsert(v)) },
		"Update in Transact": func(ctx context.Context, v T) error { return b.DB.Transact(ctx, s.Op().Update(v, set)) },
		"Delete in Transact": func(ctx context.Context, v T) error { return b.DB.Transact(ctx, s.Op().Delete(v)) },
	}
}

// againAfter creates an item, makes it end, creates it again, and writes what was read from the first one.
func againAfter[T any](t *testing.T, make func(id string) T, text func(*T) *string, end func(*dbtest.Bench, *entity.Store[T], T) error) {
	b, s := dbtest.OpenStore[T](t)
	for verb, write := range dated(b, s, text) {
		stale := entity.Must(s.Create(t.Context(), make(verb)))
		require.NoError(t, end(b, s, stale), verb)
		b.Clock.Set(b.Clock.Now().Add(time.Second), 0)
		fresh, err := entity.Must(s.Create(t.Context(), make(verb))), write(t.Context(), stale)
		conflict := dbtest.As[*versioned.ConflictError](t, err, verb)
		require.Equal(t, versioned.ConflictError{Expected: 1, Actual: 1, Recreated: true}, *conflict, verb)
		require.Equal(t, fresh, entity.Must(s.Get(t.Context(), make(verb), entity.Consistent())), verb)
		require.NoError(t, write(t.Context(), fresh), verb)
	}
}

func TestLock_AnItemThatWasCreatedAgainIsAnotherOne(t *testing.T) {
	t.Parallel()
	t.Run("ns", func(t *testing.T) {
		t.Parallel()
		againAfter(t, func(id string) ticket { return ticket{ID: id} }, func(v *ticket) *string { return &v.Text },
			func(_ *dbtest.Bench, s *entity.Store[ticket], v ticket) error { return s.Delete(t.Context(), v) })
	})
	t.Run("unix", func(t *testing.T) {
		t.Parallel()
		againAfter(t, func(id string) parcel { return parcel{ID: id} }, func(v *parcel) *string { return &v.Text },
			func(_ *dbtest.Bench, s *entity.Store[parcel], v parcel) error { return s.Delete(t.Context(), v) })
	})
	t.Run("soft", func(t *testing.T) {
		t.Parallel()
		againAfter(t, func(id string) badge { return badge{ID: id} }, func(v *badge) *string { return &v.Text },
			func(_ *dbtest.Bench, s *entity.Store[badge], v badge) error { return s.Delete(t.Context(), v) })
	})
	t.Run("expired", func(t *testing.T) {
		t.Parallel()
		againAfter(t, func(id string) pass { return pass{ID: id} }, func(v *pass) *string { return &v.Text },
			func(b *dbtest.Bench, _ *entity.Store[pass], _ pass) error {
				b.Clock.Set(b.Clock.Now().Add(2*time.Hour), 0)
				return nil
			})
	})
}

// A restored item is the one that was deleted: of the next version, and created when it was.
func TestLock_ARestoredItemHasItsNextVersion(t *testing.T) {
	t.Parallel()
	_, s := dbtest.OpenStore[badge](t)
	first := entity.Must(s.Create(t.Context(), badge{ID: "b"}))
	require.NoError(t, s.Delete(t.Context(), first))
	restored := entity.Must(entity.Must(lifecycle.Of(s)).Restore(t.Context(), first))
	require.Equal(t, first.Created, restored.Created)
	conflict := dbtest.As[*versioned.ConflictError](t, dbtest.ErrorOf(s.Put(t.Context(), first)))
	require.Equal(t, versioned.ConflictError{Expected: 1, Actual: int64(restored.Version)}, *conflict)
	entity.Must(s.Put(t.Context(), restored))
}

// A created_at that the struct does not have, or that is stored in another form of the same time, is no other item.
func TestLock_TheSameCreatedAtInAnotherFormIsTheSameItem(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string]string{"precise": "2026-04-22T12:00:00.123456789Z", "offset": "2026-04-22T14:00:00.123+02:00", "absent": ""} {
		b, s := dbtest.OpenStore[badge](t)
		for verb, write := range dated(b, s, func(v *badge) *string { return &v.Text }) {
			entity.Must(s.Create(t.Context(), badge{ID: verb}))
			it := b.Current(verb)
			if delete(it, "created"); stored != "" {
				it["created"] = dbtest.S(stored)
			}
			b.PutItem(it)
			read := entity.Must(s.Get(t.Context(), badge{ID: verb}))
			require.NoError(t, write(t.Context(), read), "%s, %s", verb, name)
		}
	}
}

// Expect is about the number alone.
func TestLock_ExpectDoesNotLookAtCreatedAt(t *testing.T) {
	t.Parallel()
	b, s := dbtest.OpenStore[ticket](t)
	stale := entity.Must(s.Create(t.Context(), ticket{ID: "t"}))
	require.NoError(t, s.Delete(t.Context(), stale))
	b.Clock.Set(b.Clock.Now().Add(time.Second), 0)
	entity.Must(s.Create(t.Context(), ticket{ID: "t"}))
	entity.Must(s.Put(t.Context(), stale, versioned.Expect(1)))
}

// The result of an operation in a transaction has what the plan determines.
func TestLock_ResultsOfATransactionHaveTheVersion(t *testing.T) {
	t.Parallel()
	b, s := dbtest.OpenStore[ticket](t)
	f := entity.Fields[ticket]()
	for verb, op := range map[string]func(ticket) entity.Write[ticket]{
		"Put":    func(v ticket) entity.Write[ticket] { return s.Op().Put(v) },
		"Update": func(v ticket) entity.Write[ticket] { return s.Op().Update(v, entity.Set(&f.Text, "x")) },
	} {
		v := entity.Must(s.Create(t.Context(), ticket{ID: verb}))
		w := op(v)
		require.NoError(t, b.DB.Transact(t.Context(), w, s.Op().CheckNotExists(ticket{ID: "none"})))
		require.EqualValues(t, 2, w.Result().Version, verb)
		require.Equal(t, v.Created, w.Result().Created, verb)
		require.NoError(t, b.DB.Transact(t.Context(), op(w.Result())), verb)
	}
	w := s.Op().Put(ticket{ID: "new"})
	require.NoError(t, b.DB.Transact(t.Context(), w, s.Op().CheckNotExists(ticket{ID: "none"})))
	require.Equal(t, entity.Must(s.Get(t.Context(), ticket{ID: "new"}, entity.Consistent())), w.Result())
}

// A Put of version 0 expects that nothing is stored, whatever it costs to find out.
func TestLock_APutOfVersion0ExpectsNoItem(t *testing.T) {
	t.Parallel()
	t.Run("plain", func(t *testing.T) { putsNew(t, func(id string) ticket { return ticket{ID: id} }) })
	t.Run("soft", func(t *testing.T) { putsNew(t, func(id string) badge { return badge{ID: id} }) })
	t.Run("expiring", func(t *testing.T) { putsNew(t, func(id string) pass { return pass{ID: id} }) })
	t.Run("retained", func(t *testing.T) { putsNew(t, func(id string) keptAccount { return keptAccount{ID: id} }) })
}

func putsNew[T any](t *testing.T, of func(id string) T) {
	b, s := dbtest.OpenStore[T](t)
	var old T
	for verb, put := range map[string]func(T, ...entity.WriteOption) error{
		"Put": func(v T, o ...entity.WriteOption) error { _, err := s.Put(t.Context(), v, o...); return err },
		"Transact": func(v T, o ...entity.WriteOption) error {
			return b.DB.Transact(t.Context(), s.Op().Put(v, o...), s.Op().CheckNotExists(of("none")))
		},
		"Idempotent": func(v T, o ...entity.WriteOption) error {
			return dbtest.ErrorOf(s.Put(t.Context(), v, append(o, entity.Idempotent())...))
		},
		"Returning": func(v T, o ...entity.WriteOption) error {
			return dbtest.ErrorOf(s.Put(t.Context(), v, append(o, entity.Returning(&old))...))
		},
	} {
		require.NoError(t, put(of(verb)), verb)
		stored := entity.Must(s.Get(t.Context(), of(verb), entity.Consistent()))
		err := put(of(verb))
		conflict := dbtest.As[*versioned.ConflictError](t, err, verb)
		require.Equal(t, versioned.ConflictError{Actual: 1, Present: true}, *conflict, verb)
		require.NotErrorIs(t, err, entity.ErrNotFound)
		require.Equal(t, stored, entity.Must(s.Get(t.Context(), of(verb), entity.Consistent())), verb)
		require.NoError(t, put(of(verb), versioned.AnyVersion()), verb)
	}
}

// seat is read from indexes that carry parts of it.
type seat struct {
	_ entity.Key `name:"Seat" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byRow" index:"gsi1" pk:"$#{row}" project:"note"`
	_ entity.GSI `name:"byHall" index:"gsi2" pk:"$#{hall}" project:"keys"`
	_ versioned.Lock
	place
}

// unlocked is a seat without a lock.
type unlocked struct {
	_ entity.Key `name:"Seat" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byRow" index:"gsi1" pk:"$#{row}" project:"note"`
	_ entity.GSI `name:"byHall" index:"gsi2" pk:"$#{hall}" project:"keys"`
	place
}

type place struct {
	ID      string    `dynamodbav:"id"`
	Row     string    `dynamodbav:"row"`
	Hall    string    `dynamodbav:"hall"`
	Note    string    `dynamodbav:"note"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Created time.Time `dynamodbav:"created" entity:"created_at"`
}

// An index that names its attributes carries what writes expect, so what was read from it is not applied over a later state.
func TestLock_AnIndexThatNamesItsAttributesCarriesTheState(t *testing.T) {
	t.Parallel()
	_, s := dbtest.OpenStore[seat](t)
	f := entity.Fields[seat]()
	first := entity.Must(s.Create(t.Context(), seat{place: place{ID: "a", Row: "r", Hall: "h"}}))
	read := entity.Must(entity.Must(s.Index("byRow")).Query(seat{place: place{Row: "r"}}).One(t.Context()))
	require.Equal(t, []any{first.Version, first.Created}, []any{read.Version, read.Created})
	entity.Must(s.Update(t.Context(), first, entity.Set(&f.Note, "later")))
	var conflict *versioned.ConflictError
	require.ErrorAs(t, dbtest.ErrorOf(s.Update(t.Context(), read, entity.Set(&f.Note, "stale"))), &conflict)

	keys := entity.Must(entity.Must(s.Index("byHall")).Query(seat{place: place{Hall: "h"}}).One(t.Context()))
	require.Zero(t, keys.Version, "an index with keys alone has no version")
	require.ErrorAs(t, dbtest.ErrorOf(s.Put(t.Context(), keys)), &conflict)
	require.True(t, conflict.Present)
}

// An index that was made before the lock was declared lacks it, which Verify says.
func TestLock_VerifyNamesAnIndexWithoutTheState(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	entity.Must(entity.New[unlocked](b.DB))
	require.NoError(t, tables.Create(t.Context(), b.DB))
	later := b.Open(b.Raw)
	entity.Must(entity.New[seat](later))
	err := tables.Verify(t.Context(), later)
	drift := dbtest.As[*tables.Error](t, err)
	require.Equal(t, []tables.Drift{{Kind: tables.DifferentProjection, Index: "gsi1", Need: "INCLUDE note, version, created, __edd_e__", Has: "INCLUDE note, __edd_e__"}}, drift.Differences)
}

// unkept is the declaration of a program that knows nothing of versions, such as the one that is rolled back to.
type unkept struct {
	_    entity.Key `name:"Doc" pk:"$#{id}" sk:"$"`
	ID   string     `dynamodbav:"id"`
	Text string     `dynamodbav:"text"`
}

type kept struct {
	_       entity.Key `name:"Doc" pk:"$#{id}" sk:"$"`
	_       versioned.Retain
	_       lifecycle.SoftDelete
	ID      string `dynamodbav:"id"`
	Text    string `dynamodbav:"text"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// countedOnly counts versions and keeps none.
type countedOnly struct {
	_       entity.Key `name:"Doc" pk:"$#{id}" sk:"$"`
	ID      string     `dynamodbav:"id"`
	Text    string     `dynamodbav:"text"`
	Version int64      `dynamodbav:"version" entity:"version"`
}

// state is a version in short.
type state struct {
	number  int64
	text    string
	deleted bool
}

func states(t *testing.T, h *versioned.History[kept], id string) []state {
	t.Helper()
	list := entity.Must(h.List(kept{ID: id}, versioned.WithCurrent()).Collect(t.Context()))
	var all []state
	for _, v := range list {
		all = append(all, state{v.Number, v.Item.Text, v.Deleted})
	}
	return all
}

// Another program has created an item again although the history of a deleted item with its key exists, so its version is
// taken. Writes of the item must still be possible: its history continues the earlier one.
func TestRetain_AnItemRecreatedWithoutHistoryCountsOn(t *testing.T) {
	t.Parallel()
	b, docs := dbtest.OpenStore[kept](t)
	history, deleted := entity.Must(versioned.Of(docs)), entity.Must(lifecycle.Of(docs))
	plain, counted := dbtest.Declare[unkept](t, b.Open(b.Raw)), dbtest.Declare[countedOnly](t, b.Open(b.Raw))
	f, ctx := entity.Fields[kept](), t.Context()

	// An item from before the history, two changes of it, and a new one in its place: again without a version.
	entity.Must(plain.Create(ctx, unkept{ID: "d", Text: "a"}))
	for _, text := range []string{"b", "c"} {
		entity.Must(docs.Update(ctx, kept{ID: "d"}, entity.Set(&f.Text, text)))
	}
	require.NoError(t, plain.Delete(ctx, unkept{ID: "d"}))
	entity.Must(plain.Create(ctx, unkept{ID: "d", Text: "new"}))

	updated := entity.Must(docs.Update(ctx, kept{ID: "d"}, entity.Set(&f.Text, "newer"), versioned.Expect(0)))
	require.Equal(t, kept{ID: "d", Text: "newer", Version: 3}, updated)
	require.Equal(t, []state{{0, "a", false}, {1, "b", false}, {2, "new", false}, {3, "newer", false}}, states(t, history, "d"))

	// The same with a version of its own that is behind: by a write of several ops, and by a delete.
	again := func(text string) {
		require.NoError(t, counted.Delete(ctx, countedOnly{ID: "d"}))
		entity.Must(counted.Create(ctx, countedOnly{ID: "d", Text: text}))
	}
	again("third")
	op := docs.Op().Update(kept{ID: "d"}, entity.Set(&f.Text, "changed"))
	require.NoError(t, b.DB.Transact(ctx, op, docs.Op().Create(kept{ID: "beside"})))
	require.Equal(t, int64(4), op.Result().Version)
	again("fourth")
	require.NoError(t, docs.Delete(ctx, kept{ID: "d"}))
	require.Equal(t, kept{ID: "d", Text: "fourth", Version: 6}, entity.Must(deleted.Restore(ctx, kept{ID: "d"})))
	require.Equal(t, []state{
		{0, "a", false}, {1, "b", false}, {2, "new", false}, {3, "third", false}, {4, "fourth", false}, {5, "fourth", true}, {6, "fourth", false},
	}, states(t, history, "d"))
}

type page struct {
	_         entity.Key `name:"Page" pk:"$#{id}" sk:"$"`
	_         versioned.Retain
	ID        string    `dynamodbav:"id"`
	Text      string    `dynamodbav:"text"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// pages is a store in a database of its own, whose clock moves on by an hour with each reading.
func pages(t *testing.T, configure ...func(*entity.Config)) (*dbtest.Bench, *entity.Store[page]) {
	t.Helper()
	b, s := dbtest.OpenStore[page](t, configure...)
	b.Clock.Set(dbtest.Start, time.Hour)
	return b, s
}

func TestAt_AMissingStateIsErrVersionExpiredAndNotAnOlderOne(t *testing.T) {
	t.Parallel()
	b, s := pages(t)
	h, f := entity.Must(versioned.Of(s)), entity.Fields[page]()
	entity.Must(s.Create(t.Context(), page{ID: "p"}))
	var written []time.Time
	for i := range 3 {
		v := entity.Must(s.Update(t.Context(), page{ID: "p"}, entity.Set(&f.Text, fmt.Sprint(i))))
		written = append(written, v.UpdatedAt)
	}
	b.RemoveItem(b.Key("$app#v1#page#p", "$app#v1#page#v#0000002"))
	require.ErrorIs(t, dbtest.ErrorOf(h.At(t.Context(), page{ID: "p"}, written[0])), versioned.ErrVersionExpired)
	require.EqualValues(t, 3, entity.Must(h.At(t.Context(), page{ID: "p"}, written[1])).Number)
	require.ErrorIs(t, dbtest.ErrorOf(h.At(t.Context(), page{ID: "p"}, dbtest.Start)), entity.ErrNotFound)
}

// The current state is read before the snapshots. When it is read, it is left out; but once two more updates have followed,
// its snapshot stands between others.
func TestList_HasNoGapWhereUpdatesFollowItsFirstRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		opts []versioned.ListOption
		want []int64
	}{
		{nil, []int64{1, 2, 3}},
		{[]versioned.ListOption{entity.Desc()}, []int64{3, 2, 1}},
		{[]versioned.ListOption{versioned.WithCurrent()}, []int64{1, 2, 3}},
	} {
		b, s := pages(t)
		h, f := entity.Must(versioned.Of(s)), entity.Fields[page]()
		update := func() { b.OK(s.Update(t.Context(), page{ID: "p"}, entity.Set(&f.Text, b.Clock.Now().String()))) }
		entity.Must(s.Create(t.Context(), page{ID: "p"}))
		update()
		var got []int64
		require.NoError(t, b.Overtake(dbtest.First(dbtest.Is("Query")), func() error {
			for v, err := range h.List(page{ID: "p"}, c.opts...).All(t.Context()) {
				if err != nil {
					return err
				}
				got = append(got, v.Number)
			}
			return nil
		}, func() { update(); update() }))
		require.Equal(t, c.want, got)
	}
}

// The snapshot of a new item is of the current state.
func TestList_LeavesOutTheCurrentStateOfANewItem(t *testing.T) {
	t.Parallel()
	_, s := pages(t)
	h := entity.Must(versioned.Of(s))
	entity.Must(s.Create(t.Context(), page{ID: "p"}))
	for _, opts := range [][]versioned.ListOption{nil, {entity.Desc()}, {entity.Limit(1)}} {
		require.Empty(t, entity.Must(h.List(page{ID: "p"}, opts...).Collect(t.Context())))
	}
	entity.Must(s.Put(t.Context(), page{ID: "p", Text: "x"}))
	require.Len(t, entity.Must(h.List(page{ID: "p"}, entity.Limit(1)).Collect(t.Context())), 1)
}

func TestDeclarations(t *testing.T) {
	t.Parallel()
	declaretest.Run(t, declaretest.Types{
		"entity.Key": reflect.TypeFor[entity.Key](), "versioned.Lock": reflect.TypeFor[versioned.Lock](), "versioned.Retain": reflect.TypeFor[versioned.Retain](),
	})
}

// Examples that need a database have no output that go test would compare, since there may be none. This test compares it.
func TestExamples_PrintWhatTheySay(t *testing.T) {
	exampletest.Database(t, &client, &table)
	empty := newsroom()
	entity.Must(entity.New[Article](empty))
	require.NoError(t, tables.Create(t.Context(), empty))
	require.NoError(t, exampletest.Run("example_test.go", ExampleExpect, ExampleHistory_List, ExampleHistory_At, ExampleHistory_Revert))
}
