package stream_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/stream"
)

// steps runs mutations one after the other and compares the changes that each leaves in the stream, and how many records
// that are nobody's.
func steps[T any](t *testing.T, l *lab, s stream.Source[T], list []step) {
	t.Helper()
	for _, x := range list {
		l.clock.advance(time.Second)
		require.NoError(t, x.do(), x.name)
		changes, others := told(t, s, l.next())
		require.ElementsMatch(t, x.kinds, kinds(changes), x.name)
		require.Equal(t, x.others, others, "%s: records of nobody", x.name)
	}
}

type step struct {
	name   string
	do     func() error
	kinds  []stream.Kind
	others int // sentinels
}

// second is the error of a verb that returns an item too.
func second[T any](_ T, err error) error { return err }

func TestMutations_OfAPlainItemAreOneChangeEach(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := store[Team](l)
	l.create()
	f, key := entity.Fields[Team](), Team{ID: "t-1"}
	steps(t, l, s, []step{
		{"create", func() error { return second(s.Create(l.ctx, Team{ID: "t-1", Name: "a"})) }, []stream.Kind{stream.Created}, 0},
		{"update", func() error { return second(s.Update(l.ctx, key, entity.Set(&f.Name, "b"))) }, []stream.Kind{stream.Updated}, 0},
		{"update with the same value", func() error { return second(s.Update(l.ctx, key, entity.Set(&f.Name, "b"))) }, []stream.Kind{stream.Updated}, 0},
		{"put over it", func() error { return second(s.Put(l.ctx, Team{ID: "t-1"})) }, []stream.Kind{stream.Updated}, 0},
		{"upsert over it", func() error { _, _, err := s.Upsert(l.ctx, Team{ID: "t-1", Name: "c"}); return err }, []stream.Kind{stream.Updated}, 0},
		{"touch", func() error { return second(s.Touch(l.ctx, key, &f.Seen, time.Minute)) }, []stream.Kind{stream.Updated}, 0},
		{"touch that is not due", func() error { return second(s.Touch(l.ctx, key, &f.Seen, time.Minute)) }, nil, 0},
		{"delete", func() error { return s.Delete(l.ctx, key) }, []stream.Kind{stream.Deleted}, 0},
		{"put where nothing is", func() error { return second(s.Put(l.ctx, Team{ID: "t-1"})) }, []stream.Kind{stream.Created}, 0},
		{"purge", func() error { return s.Purge(l.ctx, key) }, []stream.Kind{stream.Deleted}, 0},
		{"upsert where nothing is", func() error { _, _, err := s.Upsert(l.ctx, key); return err }, []stream.Kind{stream.Created}, 0},
		{"a refused create", func() error {
			if _, err := s.Create(l.ctx, key); !errors.Is(err, entity.ErrExists) {
				return errors.New("it was not refused")
			}
			return nil
		}, nil, 0},
		{"a transaction", func() error {
			return l.db.Transact(l.ctx, s.Op().Create(Team{ID: "t-2"}), s.Op().Update(key, entity.Set(&f.Name, "d")))
		}, []stream.Kind{stream.Created, stream.Updated}, 0},
	})
}

func TestMutations_OfAPersonAreOneChangeEachBesideTheirSatellites(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := store[Person](l)
	l.create()
	bin := entity.Must(lifecycle.Of(s))
	f, key := entity.Fields[Person](), Person{ID: "p-1"}
	steps(t, l, s, []step{
		{"create", func() error { return second(s.Create(l.ctx, Person{ID: "p-1", Email: "a", Team: "t"})) }, []stream.Kind{stream.Created, stream.SnapshotStored}, 1},
		{"update", func() error { return second(s.Update(l.ctx, key, entity.Set(&f.Team, "u"))) }, []stream.Kind{stream.Updated, stream.SnapshotChanged}, 0},
		{"new e-mail", func() error { return second(s.Update(l.ctx, key, entity.Set(&f.Email, "b"))) }, []stream.Kind{stream.Updated, stream.SnapshotStored}, 2},
		{"put over it", func() error { return second(s.Put(l.ctx, Person{ID: "p-1", Email: "b"})) }, []stream.Kind{stream.Updated, stream.SnapshotStored}, 0},
		{"touch", func() error { return second(s.Touch(l.ctx, key, &f.Seen, time.Minute)) }, []stream.Kind{stream.Updated}, 0},
		{"delete", func() error { return s.Delete(l.ctx, key) }, []stream.Kind{stream.CurrentRemoved, stream.SoftDeleted, stream.SnapshotStored, stream.SnapshotStored}, 1},
		{"restore", func() error { return second(bin.Restore(l.ctx, key)) }, []stream.Kind{stream.Restored, stream.CopyRemoved}, 1},
		{"update a restored item", func() error { return second(s.Update(l.ctx, key, entity.Set(&f.Team, "v"))) }, []stream.Kind{stream.Updated, stream.SnapshotStored}, 0},
		{"delete again", func() error { return s.Delete(l.ctx, key) }, []stream.Kind{stream.CurrentRemoved, stream.SoftDeleted, stream.SnapshotStored, stream.SnapshotStored}, 1},
		{"purge a deleted item", func() error { return bin.Purge(l.ctx, key) }, []stream.Kind{
			stream.CopyRemoved, // and a snapshot of each of the eight versions
			stream.SnapshotRemoved, stream.SnapshotRemoved, stream.SnapshotRemoved, stream.SnapshotRemoved, stream.SnapshotRemoved, stream.SnapshotRemoved, stream.SnapshotRemoved, stream.SnapshotRemoved,
		}, 1},
		{"create after the purge", func() error { return second(s.Create(l.ctx, Person{ID: "p-1", Email: "a"})) }, []stream.Kind{stream.Created, stream.SnapshotStored}, 1},
		{"purge a live item", func() error { return s.Purge(l.ctx, key) }, []stream.Kind{stream.CurrentRemoved, stream.SnapshotRemoved}, 1},
	})
}

func TestMutations_OfANoteWithoutHistory(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := store[Note](l)
	l.create()
	bin := entity.Must(lifecycle.Of(s))
	key := Note{Owner: "o", ID: "n#1"}
	note := func(title string) func() error {
		return func() error { return second(s.Create(l.ctx, Note{Owner: "o", ID: "n#1", Title: title})) }
	}
	steps(t, l, s, []step{
		{"create", note("a"), []stream.Kind{stream.Created}, 1},
		{"delete", func() error { return s.Delete(l.ctx, key) }, []stream.Kind{stream.CurrentRemoved, stream.SoftDeleted}, 1},
		{"create over a deleted copy", note("b"), []stream.Kind{stream.Created}, 1},
		{"delete again", func() error { return s.Delete(l.ctx, key) }, []stream.Kind{stream.CurrentRemoved, stream.SoftDeleted}, 1},
		{"restore the older copy", func() error {
			copies, err := bin.List(key).Collect(l.ctx)
			if err != nil || len(copies) != 2 {
				return errors.Join(err, errors.New("there are not two copies"))
			}
			return second(bin.RestoreCopy(l.ctx, copies[1]))
		}, []stream.Kind{stream.Restored, stream.CopyRemoved}, 1},
		{"purge a live item with a copy", func() error { return s.Purge(l.ctx, key) }, []stream.Kind{stream.CurrentRemoved, stream.CopyRemoved}, 1},
	})
}

func TestMutations_HardDeleteUnderRetainKeepsASnapshot(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := store[Ledger](l)
	l.create()
	key := Ledger{ID: "l"}
	steps(t, l, s, []step{
		{"create", func() error { return second(s.Create(l.ctx, Ledger{ID: "l", Balance: 1})) }, []stream.Kind{stream.Created, stream.SnapshotStored}, 0},
	})
	require.NoError(t, s.Delete(l.ctx, key))
	changes, others := told(t, s, l.next())
	require.Zero(t, others)
	// The first state has its snapshot, which is put again as it was: DynamoDB itself has no record of that, DynamoDB Local has.
	require.Subset(t, []stream.Kind{stream.Deleted, stream.SnapshotChanged, stream.SnapshotStored}, kinds(changes))
	deleted := only(t, changes, stream.Deleted)
	require.Equal(t, &Ledger{ID: "l", Balance: 1, Version: 1}, deleted.Old)
	require.Nil(t, deleted.New)
	require.Zero(t, deleted.DeletedAt, "a removal says nothing of its time but Record.Time")
	last := only(t, changes, stream.SnapshotStored)
	require.EqualValues(t, 2, last.NewVersion)
	require.Equal(t, l.clock.Now(), last.DeletedAt, "the snapshot of the deleted state has the time")
}

func TestChange_CarriesTheItemsTheirVersionsAndTheRecord(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := store[Person](l)
	l.create()
	bin := entity.Must(lifecycle.Of(s))
	f := entity.Fields[Person]()

	first := entity.Must(s.Create(l.ctx, Person{ID: "p", Email: "e", Team: "t"}))
	changes, _ := told(t, s, l.next())
	c := only(t, changes, stream.Created)
	require.Nil(t, c.Old)
	require.Equal(t, first, *c.New)
	require.Equal(t, []int64{0, 1}, []int64{c.OldVersion, c.NewVersion})
	require.NotEmpty(t, c.Record.EventID)
	require.NotEmpty(t, c.Record.SequenceNumber)
	require.Equal(t, l.arn, c.Record.SourceARN)
	require.WithinDuration(t, time.Now(), c.Record.Time, time.Hour, "DynamoDB's own time, not the program's")
	require.Contains(t, c.Record.New, "_w", "the record has the item as it is stored")

	l.clock.advance(time.Hour)
	updated := entity.Must(s.Update(l.ctx, Person{ID: "p"}, entity.Set(&f.Team, "u")))
	changes, _ = told(t, s, l.next())
	c = only(t, changes, stream.Updated)
	require.Equal(t, first, *c.Old)
	require.Equal(t, updated, *c.New)
	require.Equal(t, []int64{1, 2}, []int64{c.OldVersion, c.NewVersion})
	c = only(t, changes, stream.SnapshotChanged)
	require.Equal(t, first, *c.New, "the replaced state")
	require.EqualValues(t, 1, c.NewVersion)

	l.clock.advance(time.Hour)
	require.NoError(t, s.Delete(l.ctx, updated))
	copied := entity.Must(bin.Get(l.ctx, updated))
	changes, _ = told(t, s, l.next())
	c = only(t, changes, stream.SoftDeleted)
	require.Equal(t, copied.Item, *c.New)
	require.Nil(t, c.Old)
	require.Equal(t, copied.DeletedAt, c.DeletedAt)
	require.EqualValues(t, 3, c.NewVersion)
	c = only(t, changes, stream.CurrentRemoved)
	require.Equal(t, updated, *c.Old)
	require.Nil(t, c.New)
	require.Zero(t, c.DeletedAt)

	restored := entity.Must(bin.Restore(l.ctx, updated))
	changes, _ = told(t, s, l.next())
	c = only(t, changes, stream.Restored)
	require.Equal(t, restored, *c.New)
	require.EqualValues(t, 4, c.NewVersion)
	c = only(t, changes, stream.CopyRemoved)
	require.Equal(t, copied.Item, *c.Old)
	require.Equal(t, copied.DeletedAt, c.DeletedAt)
}
