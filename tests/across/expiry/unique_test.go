package expiry_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
)

// Every verb that moves the end of an item gives its sentinel the same end, in the same transaction.
func TestUnique_SentinelsExpireWithTheirItems(t *testing.T) {
	t.Parallel()
	l := open[Seat](t)
	f, ctx := l.f, t.Context()
	for _, c := range []struct {
		what     string
		write    func() error
		ends     string // "" for never
		requests int
	}{
		{"Create", func() error { _, err := l.store.Create(ctx, Seat{ID: "a", Code: "A1"}); return err }, after(hour), 1},
		{"Update of another attribute", func() error { _, err := l.store.Update(ctx, Seat{ID: "a"}, entity.Set(&f.Note, "x")); return err }, after(hour), 1},
		{"Update that extends", func() error {
			_, err := l.store.Update(ctx, Seat{ID: "a"}, entity.Set(&f.Ends, dawn.Add(3*hour).Unix()))
			return err
		}, after(3 * hour), 2},
		{"Update that removes the end", func() error { _, err := l.store.Update(ctx, Seat{ID: "a"}, entity.Remove(&f.Ends)); return err }, "", 2},
		{"Update that adds one", func() error {
			_, err := l.store.Update(ctx, Seat{ID: "a"}, entity.Set(&f.Ends, dawn.Add(2*hour).Unix()))
			return err
		}, after(2 * hour), 2},
		{"Put, ten minutes later", func() error {
			l.Clock.Move(10 * time.Minute)
			_, err := l.store.Put(ctx, Seat{ID: "a", Code: "A1"})
			return err
		}, after(hour + 10*time.Minute), 2},
		{"Modify", func() error {
			_, err := l.store.Modify(ctx, Seat{ID: "a"}, func(s *Seat) error { s.Ends = dawn.Add(4 * hour).Unix(); return nil })
			return err
		}, after(4 * hour), 2},
		{"Upsert of an end", func() error {
			_, _, err := l.store.Upsert(ctx, Seat{ID: "a", Ends: dawn.Add(5 * hour).Unix()})
			return err
		}, after(5 * hour), 2},
		{"Upsert without one", func() error { _, _, err := l.store.Upsert(ctx, Seat{ID: "a", Note: "y"}); return err }, after(5 * hour), 2},
	} {
		l.Operations()
		require.NoError(t, c.write(), c.what)
		require.Len(t, l.Operations(), c.requests, c.what)
		require.Equal(t, c.ends, ends(l.Current("a")), c.what)
		l.follows("A1", "a")
	}
	l.OK(l.store.Update(ctx, Seat{ID: "a"}, entity.Set(&f.Code, "A2"), entity.Set(&f.Ends, dawn.Add(6*hour).Unix())))
	l.follows("A2", "a")
	require.Nil(t, l.Sentinel("A1"))
	require.NoError(t, l.store.Delete(ctx, Seat{ID: "a"}))
	require.Empty(t, l.Items())
}

// The value of an expired item can be claimed in the second in which it expires, and not before, by every verb that creates
// or changes. The item itself need not have been removed.
func TestUnique_TheValueOfAnExpiredItemIsFree(t *testing.T) {
	t.Parallel()
	for name, claim := range map[string]func(*testing.T, *entity.Store[Seat]) error{
		"Create": func(t *testing.T, s *entity.Store[Seat]) error {
			return dbtest.ErrorOf(s.Create(t.Context(), Seat{ID: "b", Code: "A1"}))
		},
		"Put": func(t *testing.T, s *entity.Store[Seat]) error {
			return dbtest.ErrorOf(s.Put(t.Context(), Seat{ID: "b", Code: "A1"}))
		},
		"Upsert": func(t *testing.T, s *entity.Store[Seat]) error {
			return dbtest.ErrorOf(s.Upsert(t.Context(), Seat{ID: "b", Code: "A1"}))
		},
		"Update": func(t *testing.T, s *entity.Store[Seat]) error {
			entity.Must(s.Put(t.Context(), Seat{ID: "b"}))
			return dbtest.ErrorOf(s.Update(t.Context(), Seat{ID: "b"}, entity.Set(&entity.Fields[Seat]().Code, "A1")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := open[Seat](t)
			for _, gone := range []string{"nothing", "item", "sentinel", "both"} {
				for _, it := range l.Items() {
					l.RemoveItem(it)
				}
				l.OK(l.store.Create(t.Context(), Seat{ID: "a", Code: "A1", Note: "old"}))
				l.Clock.Move(hour - time.Second)
				owned(t, claim(t, l.store))
				l.Clock.Move(time.Second)
				_, err := l.codes.Find(t.Context(), Seat{Code: "A1"})
				require.ErrorIs(t, err, entity.ErrNotFound)
				if gone == "item" || gone == "both" { // DynamoDB removes what has expired in any order
					l.RemoveItem(l.Current("a"))
				}
				if gone == "sentinel" || gone == "both" {
					l.RemoveItem(l.Sentinel("A1"))
				}
				require.NoError(t, claim(t, l.store), gone)
				l.follows("A1", "b")
				found := entity.Must(l.codes.Find(t.Context(), Seat{Code: "A1"}))
				require.Equal(t, "b", found.ID)
				owned(t, dbtest.ErrorOf(l.store.Put(t.Context(), Seat{ID: "a", Code: "A1"})))
				l.OK(l.store.Put(t.Context(), Seat{ID: "a", Code: "A2"})) // its new life needs another value
				l.follows("A2", "a")
				l.follows("A1", "b")
			}
		})
	}
}

func TestUnique_InAVerbatimTable(t *testing.T) {
	t.Parallel()
	l := open[Slot](t)
	ctx := t.Context()
	l.OK(l.store.Create(ctx, Slot{ID: "a", Code: "A1"}))
	l.OK(l.store.Update(ctx, Slot{ID: "a"}, entity.Set(&l.f.Ends, dawn.Add(2*hour).Unix())))
	l.follows("A1", "a")
	owned(t, dbtest.ErrorOf(l.store.Create(ctx, Slot{ID: "b", Code: "A1"})))
	l.Clock.Move(2 * hour)
	l.OK(l.store.Create(ctx, Slot{ID: "b", Code: "A1"}))
	l.follows("A1", "b")
}

// Only the caller sets an end: a touch moves none.
func TestUnique_WithoutADeclaredLifetime(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	b.Clock.Set(dawn, 0)
	store := dbtest.Declare[Session](t, b.DB, lifecycle.NoExpiry())
	b.CreateTables()
	l := &lab[Session]{b, store, entity.Must(unique.Of(store, "code")), entity.Fields[Session]()}
	ctx := t.Context()
	l.OK(l.store.Create(ctx, Session{ID: "a", Code: "A1"}))
	require.Empty(t, ends(l.Sentinel("A1")))
	require.Equal(t, map[string]string{"1": ""}, l.snapshots("a"))
	l.OK(l.store.Touch(ctx, Session{ID: "a"}, &l.f.Seen, time.Minute))
	l.OK(l.store.Update(ctx, Session{ID: "a"}, entity.Set(&l.f.Ends, dawn.Add(hour).Unix())))
	l.follows("A1", "a")
	require.Equal(t, map[string]string{"1": after(day), "2": after(hour + day)}, l.snapshots("a"))
	l.Clock.Move(hour)
	l.OK(l.store.Create(ctx, Session{ID: "b", Code: "A1"}))
}

func TestUnique_InTransactions(t *testing.T) {
	t.Parallel()
	l := open[Seat](t)
	ctx, op := t.Context(), l.store.Op()
	l.OK(l.store.Create(ctx, Seat{ID: "a", Code: "A1"}))
	l.OK(l.store.Create(ctx, Seat{ID: "c", Code: "C1", Ends: dawn.Add(9 * hour).Unix()}))
	l.Clock.Move(hour)
	l.OK(l.DB.Transact(ctx, op.Create(Seat{ID: "b", Code: "A1"}), op.Update(Seat{ID: "c"}, entity.Set(&l.f.Ends, dawn.Add(8*hour).Unix()))))
	l.follows("A1", "b")
	l.follows("C1", "c")
	require.Equal(t, after(8*hour), ends(l.Current("c")))
	// A value goes from one item to another, which has another end.
	l.OK(l.DB.Transact(ctx, op.Update(Seat{ID: "b"}, entity.Set(&l.f.Code, "B1")), op.Update(Seat{ID: "c"}, entity.Set(&l.f.Code, "A1"))))
	l.follows("A1", "c")
	l.follows("B1", "b")
	require.Nil(t, l.Sentinel("C1"))
	err := l.DB.Transact(ctx, op.Create(Seat{ID: "d", Code: "A1"}), op.Update(Seat{ID: "b"}, entity.Remove(&l.f.Ends)))
	owned(t, err)
	require.Nil(t, l.Current("d"))
	l.follows("B1", "b")
}

func TestUnique_VerifyAndRepairKnowExpiry(t *testing.T) {
	t.Parallel()
	l := open[Seat](t)
	ctx := t.Context()
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		l.OK(l.store.Create(ctx, Seat{ID: id, Code: id + "1", Ends: dawn.Add(9 * hour).Unix()}))
	}
	l.OK(l.store.Create(ctx, Seat{ID: "x", Code: "x1"}))
	l.OK(l.store.Create(ctx, Seat{ID: "y", Code: "y1"}))
	l.RemoveItem(l.Sentinel("y1"))
	l.Clock.Move(hour) // x and y have expired
	report := entity.Must(migrate.VerifyUnique(ctx, l.codes))
	require.Empty(t, report.Findings)
	require.Equal(t, 5, report.Items, "expired items have no value")
	require.Equal(t, 5, report.Sentinels)

	// Sentinels as a program leaves them that does not know that items expire.
	l.RemoveItem(l.Sentinel("a1")) // missing
	pk, sk := l.KeyOf(l.Sentinel("b1"))
	l.ChangeItem(pk, sk, dbtest.Item{"ends": dbtest.N(after(2 * hour))}) // ends before its item
	forever := l.Sentinel("x1")
	delete(forever, "ends")
	l.PutItem(forever) // of an expired item, and never ends
	forever = l.Sentinel("c1")
	delete(forever, "ends")
	l.PutItem(forever)
	owned(t, dbtest.ErrorOf(l.store.Create(ctx, Seat{ID: "z", Code: "x1"})))
	report = entity.Must(migrate.VerifyUnique(ctx, l.codes))
	require.Equal(t, []string{"missing claim", "orphaned", "wrong expiry", "wrong expiry"}, dbtest.Sorted(report.Findings))
	done := entity.Must(migrate.RepairUnique(ctx, l.codes))
	require.Len(t, done.Fixed, 4)
	require.Empty(t, done.Remaining)
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		l.follows(id+"1", id)
	}
	require.Nil(t, l.Sentinel("x1"))
	report = entity.Must(migrate.VerifyUnique(ctx, l.codes))
	require.Empty(t, report.Findings)
	require.Equal(t, "wrong expiry", string(migrate.WrongExpiry))
}

// Repair writes only if the item still expires when it did as it was read. Another program, which knows no constraint, moves
// its end meanwhile.
func TestUnique_RepairMeetsAnExtension(t *testing.T) {
	t.Parallel()
	l := open[Seat](t)
	ctx := t.Context()
	l.OK(l.store.Create(ctx, Seat{ID: "a", Code: "A1"}))
	pk, sk := l.KeyOf(l.Sentinel("A1"))
	l.ChangeItem(pk, sk, dbtest.Item{"ends": dbtest.N(after(2 * hour))})
	require.NoError(t, l.Overtake(dbtest.First(dbtest.Is("TransactWriteItems")), func() error {
		_, err := migrate.RepairUnique(ctx, l.codes)
		return err
	}, func() {
		pk, sk := l.KeyOf(l.Current("a"))
		l.ChangeItem(pk, sk, dbtest.Item{"ends": dbtest.N(after(3 * hour)), "_w": dbtest.S("other")})
	}))
	l.follows("A1", "a")
	require.Equal(t, after(3*hour), ends(l.Sentinel("A1")))
}

// Purge removes what is left of an expired item, and nothing that another item has taken over.
func TestUnique_PurgeOfAHalfExpiredItem(t *testing.T) {
	t.Parallel()
	for _, taken := range []bool{false, true} {
		l := open[Pass](t)
		ctx := t.Context()
		l.OK(l.store.Create(ctx, Pass{ID: "a", Code: "A1"}))
		l.OK(l.store.Update(ctx, Pass{ID: "a"}, entity.Set(&l.f.Note, "x")))
		l.Clock.Move(hour)
		if taken {
			l.OK(l.store.Create(ctx, Pass{ID: "b", Code: "A1"}))
		}
		require.NoError(t, l.store.Purge(ctx, Pass{ID: "a"}))
		require.Nil(t, l.Current("a"))
		require.Empty(t, l.snapshots("a"))
		require.Equal(t, taken, l.Sentinel("A1") != nil)
		if taken {
			l.follows("A1", "b")
			l.RemoveItem(l.Current("b"))
			require.NoError(t, l.store.Purge(ctx, Pass{ID: "b"}))
			require.Empty(t, l.snapshots("b"))
			require.NotEmpty(t, ends(l.Sentinel("A1")), "only the item knew its value: its sentinel expires")
		}
	}
}

// What a touch would move cannot follow in one request.
func TestUnique_TouchDoesNotMoveAnExpiryThatOthersHave(t *testing.T) {
	t.Parallel()
	l := open[Session](t)
	ctx := t.Context()
	l.OK(l.store.Create(ctx, Session{ID: "a", Code: "A1", Seen: dawn}))
	l.Operations()
	_, err := l.store.Touch(ctx, Session{ID: "a"}, &l.f.Seen, time.Minute)
	require.Equal(t, "EDD-9104", dbtest.InputCode(err))
	require.Empty(t, l.Operations())
	l.OK(l.store.Touch(ctx, Session{ID: "a"}, &l.f.Hit, time.Minute))
	l.OK(l.store.Update(ctx, Session{ID: "a"}, entity.Set(&l.f.Seen, dawn.Add(hour/2))))
	l.follows("A1", "a")
	require.Equal(t, after(hour+hour/2), ends(l.Current("a")))
}
