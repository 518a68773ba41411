package stream_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestMutations_OfAPlainItemAreOneChangeEach(t *testing.T) {
	l := newLab(t)
	s := store[Team](l)
	l.create()
	f, key := entity.Fields[Team](), Team{ID: "t-1"}
	steps(t, l, s, []step{
		{"create", func() error { return second(s.Create(l.Ctx, Team{ID: "t-1", Name: "a"})) }, []stream.Kind{stream.Created}, 0},
		{"update", func() error { return second(s.Update(l.Ctx, key, entity.Set(&f.Name, "b"))) }, []stream.Kind{stream.Updated}, 0},
		{"update with the same value", func() error { return second(s.Update(l.Ctx, key, entity.Set(&f.Name, "b"))) }, []stream.Kind{stream.Updated}, 0},
		{"put over it", func() error { return second(s.Put(l.Ctx, Team{ID: "t-1"})) }, []stream.Kind{stream.Updated}, 0},
		{"upsert over it", func() error { _, _, err := s.Upsert(l.Ctx, Team{ID: "t-1", Name: "c"}); return err }, []stream.Kind{stream.Updated}, 0},
		{"touch", func() error { return second(s.Touch(l.Ctx, key, &f.Seen, time.Minute)) }, []stream.Kind{stream.Updated}, 0},
		{"touch that is not due", func() error { return second(s.Touch(l.Ctx, key, &f.Seen, time.Minute)) }, nil, 0},
		{"delete", func() error { return s.Delete(l.Ctx, key) }, []stream.Kind{stream.Deleted}, 0},
		{"put where nothing is", func() error { return second(s.Put(l.Ctx, Team{ID: "t-1"})) }, []stream.Kind{stream.Created}, 0},
		{"purge", func() error { return s.Purge(l.Ctx, key) }, []stream.Kind{stream.Deleted}, 0},
		{"upsert where nothing is", func() error { _, _, err := s.Upsert(l.Ctx, key); return err }, []stream.Kind{stream.Created}, 0},
		{"a refused create", func() error {
			if _, err := s.Create(l.Ctx, key); !errors.Is(err, entity.ErrExists) {
				return errors.New("it was not refused")
			}
			return nil
		}, nil, 0},
		{"a transaction", func() error {
			return l.DB.Transact(l.Ctx, s.Op().Create(Team{ID: "t-2"}), s.Op().Update(key, entity.Set(&f.Name, "d")))
		}, []stream.Kind{stream.Created, stream.Updated}, 0},
	})
}

func TestMutations_OfAnItemWithSatellitesAreOneChangeEach(t *testing.T) {
	l := newLab(t)
	s := store[Person](l)
	l.create()
	bin, f, key := entity.Must(lifecycle.Of(s)), entity.Fields[Person](), Person{ID: "p-1"}
	steps(t, l, s, []step{
		{"create", func() error { return second(s.Create(l.Ctx, Person{ID: "p-1", Email: "a", Team: "t"})) }, []stream.Kind{stream.Created, stream.SnapshotStored}, 1},
		{"update", func() error { return second(s.Update(l.Ctx, key, entity.Set(&f.Team, "u"))) }, []stream.Kind{stream.Updated, stream.SnapshotChanged}, 0},
		{"new e-mail", func() error { return second(s.Update(l.Ctx, key, entity.Set(&f.Email, "b"))) }, []stream.Kind{stream.Updated, stream.SnapshotStored}, 2},
		{"put over it", func() error { return second(s.Put(l.Ctx, Person{ID: "p-1", Email: "b"})) }, []stream.Kind{stream.Updated, stream.SnapshotStored}, 0},
		{"touch", func() error { return second(s.Touch(l.Ctx, key, &f.Seen, time.Minute)) }, []stream.Kind{stream.Updated}, 0},
		{"delete", func() error { return s.Delete(l.Ctx, key) }, []stream.Kind{stream.CurrentRemoved, stream.SoftDeleted, stream.SnapshotStored, stream.SnapshotStored}, 1},
		{"restore", func() error { return second(bin.Restore(l.Ctx, key)) }, []stream.Kind{stream.Restored, stream.CopyRemoved}, 1},
		{"update a restored item", func() error { return second(s.Update(l.Ctx, key, entity.Set(&f.Team, "v"))) }, []stream.Kind{stream.Updated, stream.SnapshotStored}, 0},
		{"delete again", func() error { return s.Delete(l.Ctx, key) }, []stream.Kind{stream.CurrentRemoved, stream.SoftDeleted, stream.SnapshotStored, stream.SnapshotStored}, 1},
		{"purge a deleted item", func() error { return bin.Purge(l.Ctx, key) }, []stream.Kind{
			stream.CopyRemoved, // and a snapshot of each of the eight versions
			stream.SnapshotRemoved, stream.SnapshotRemoved, stream.SnapshotRemoved, stream.SnapshotRemoved, stream.SnapshotRemoved, stream.SnapshotRemoved, stream.SnapshotRemoved, stream.SnapshotRemoved,
		}, 1},
		{"create after the purge", func() error { return second(s.Create(l.Ctx, Person{ID: "p-1", Email: "a"})) }, []stream.Kind{stream.Created, stream.SnapshotStored}, 1},
		{"purge a live item", func() error { return s.Purge(l.Ctx, key) }, []stream.Kind{stream.CurrentRemoved, stream.SnapshotRemoved}, 1},
	})
}

func TestMutations_OfANoteWithoutHistory(t *testing.T) {
	l := newLab(t)
	s := store[Note](l)
	l.create()
	bin, key := entity.Must(lifecycle.Of(s)), Note{Owner: "o", ID: "n#1"}
	note := func(title string) func() error {
		return func() error { return second(s.Create(l.Ctx, Note{Owner: "o", ID: "n#1", Title: title})) }
	}
	steps(t, l, s, []step{
		{"create", note("a"), []stream.Kind{stream.Created}, 1},
		{"delete", func() error { return s.Delete(l.Ctx, key) }, []stream.Kind{stream.CurrentRemoved, stream.SoftDeleted}, 1},
		{"create over a deleted copy", note("b"), []stream.Kind{stream.Created}, 1},
		{"delete again, which marks the older copy", func() error { return s.Delete(l.Ctx, key) }, []stream.Kind{stream.CurrentRemoved, stream.SoftDeleted}, 2},
		{"restore the older copy", func() error {
			copies, err := bin.List(key).Collect(l.Ctx)
			if err != nil || len(copies) != 2 {
				return errors.Join(err, errors.New("there are not two copies"))
			}
			return second(bin.RestoreCopy(l.Ctx, copies[1]))
		}, []stream.Kind{stream.Restored, stream.CopyRemoved}, 1},
		{"purge a live item with a copy", func() error { return s.Purge(l.Ctx, key) }, []stream.Kind{stream.CurrentRemoved, stream.CopyRemoved}, 1},
	})
}

func TestMutations_HardDeleteUnderRetainKeepsTheDeletedStateAsASnapshot(t *testing.T) {
	l := newLab(t)
	s := store[Ledger](l)
	l.create()
	key := Ledger{ID: "l"}
	steps(t, l, s, []step{
		{"create", func() error { return second(s.Create(l.Ctx, Ledger{ID: "l", Balance: 1})) }, []stream.Kind{stream.Created, stream.SnapshotStored}, 0},
	})
	require.NoError(t, s.Delete(l.Ctx, key))
	changes, others := changesOf(t, s, l.next())
	require.Zero(t, others)
	// The first state has its snapshot, which is put again as it was: DynamoDB itself has no record of that, DynamoDB Local has.
	require.Subset(t, []stream.Kind{stream.Deleted, stream.SnapshotChanged, stream.SnapshotStored}, kinds(changes))
	deleted := only(t, changes, stream.Deleted)
	require.Equal(t, &Ledger{ID: "l", Balance: 1, Version: 1}, deleted.Old)
	require.Nil(t, deleted.New)
	require.Zero(t, deleted.DeletedAt, "a removal says nothing of its time but Record.Time")
	last := only(t, changes, stream.SnapshotStored)
	require.EqualValues(t, 2, last.NewVersion)
	require.Equal(t, l.Clock.Now(), last.DeletedAt, "the snapshot of the deleted state has the time")
}

func TestChange_CarriesTheItemsTheirVersionsAndTheRecord(t *testing.T) {
	l := newLab(t)
	s := store[Person](l)
	l.create()
	bin, f := entity.Must(lifecycle.Of(s)), entity.Fields[Person]()

	first := entity.Must(s.Create(l.Ctx, Person{ID: "p", Email: "e", Team: "t"}))
	changes, _ := changesOf(t, s, l.next())
	c := only(t, changes, stream.Created)
	require.Nil(t, c.Old)
	require.Equal(t, first, *c.New)
	require.Equal(t, []int64{0, 1}, []int64{c.OldVersion, c.NewVersion})
	require.NotEmpty(t, c.Record.EventID)
	require.NotEmpty(t, c.Record.SequenceNumber)
	require.Equal(t, l.arn, c.Record.SourceARN)
	require.WithinDuration(t, time.Now(), c.Record.Time, time.Hour, "DynamoDB's own time, not the program's")
	require.Contains(t, c.Record.New, "_w", "the record has the item as it is stored")

	l.Clock.Move(time.Hour)
	updated := entity.Must(s.Update(l.Ctx, Person{ID: "p"}, entity.Set(&f.Team, "u")))
	changes, _ = changesOf(t, s, l.next())
	c = only(t, changes, stream.Updated)
	require.Equal(t, first, *c.Old)
	require.Equal(t, updated, *c.New)
	require.Equal(t, []int64{1, 2}, []int64{c.OldVersion, c.NewVersion})
	c = only(t, changes, stream.SnapshotChanged)
	require.Equal(t, first, *c.New, "the replaced state")
	require.EqualValues(t, 1, c.NewVersion)

	l.Clock.Move(time.Hour)
	require.NoError(t, s.Delete(l.Ctx, updated))
	copied := entity.Must(bin.Get(l.Ctx, updated))
	changes, _ = changesOf(t, s, l.next())
	c = only(t, changes, stream.SoftDeleted)
	require.Equal(t, copied.Item, *c.New)
	require.Nil(t, c.Old)
	require.Equal(t, copied.DeletedAt, c.DeletedAt)
	require.EqualValues(t, 3, c.NewVersion)
	c = only(t, changes, stream.CurrentRemoved)
	require.Equal(t, updated, *c.Old)
	require.Nil(t, c.New)
	require.Zero(t, c.DeletedAt)

	restored := entity.Must(bin.Restore(l.Ctx, updated))
	changes, _ = changesOf(t, s, l.next())
	c = only(t, changes, stream.Restored)
	require.Equal(t, restored, *c.New)
	require.EqualValues(t, 4, c.NewVersion)
	c = only(t, changes, stream.CopyRemoved)
	require.Equal(t, copied.Item, *c.Old)
	require.Equal(t, copied.DeletedAt, c.DeletedAt)
}

func TestSeries_AppendsEnrichmentAndLateEvents(t *testing.T) {
	l := newLab(t)
	s := entity.Must(timeseries.New[Reading](l.DB))
	store[Team](l) // shares the table
	l.create()
	f, key := entity.Fields[Reading](), Reading{Device: "d#1", Channel: "e"}
	start := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(minutes int, celsius float64) Reading {
		return Reading{Device: "d#1", Channel: "e", At: start.Add(time.Duration(minutes) * time.Minute), Celsius: &celsius}
	}
	append := func(want timeseries.Reason, ev Reading) func() error {
		return func() error {
			got, err := s.Append(l.Ctx, ev)
			require.Equal(t, want, got.Reason)
			return err
		}
	}
	steps(t, l, s, []step{
		{"enrichment before the first event", func() error {
			_, _, err := s.Upsert(l.Ctx, Reading{Device: "d#1", Channel: "e", Account: "a"})
			return err
		}, []stream.Kind{stream.Created}, 0},
		{"the first event", append("", at(5, 1)), []stream.Kind{stream.Updated, stream.Appended}, 0},
		{"a duplicate", append(timeseries.Duplicate, at(5, 1)), nil, 0},
		{"a late event", append(timeseries.LateRecorded, at(3, 2)), []stream.Kind{stream.Appended}, 0},
		{"enrichment", func() error { return second(s.Update(l.Ctx, key, entity.Set(&f.Account, "b"))) }, []stream.Kind{stream.Updated}, 0},
		{"three events at once", func() error { return second(s.AppendAll(l.Ctx, []Reading{at(8, 1), at(7, 1), at(9, 1)})) }, []stream.Kind{stream.Updated, stream.Appended, stream.Appended, stream.Appended}, 0},
		{"purge", func() error { return s.Purge(l.Ctx, key) }, []stream.Kind{stream.Deleted, stream.EventRemoved, stream.EventRemoved, stream.EventRemoved, stream.EventRemoved, stream.EventRemoved}, 0},
		{"an event for a new series", append("", at(1, 1)), []stream.Kind{stream.Created, stream.Appended}, 0},
	})
}

func TestViews_OfAnEntityWithSatellites(t *testing.T) {
	t.Parallel()
	for view, want := range map[types.StreamViewType][]string{
		types.StreamViewTypeNewAndOldImages: {
			"created +", "updated - +", "current removed -", "soft deleted +", "copy removed -", "restored +", "deleted -", "created +", "updated - +", "appended +", "deleted -", "event removed -",
		},
		types.StreamViewTypeNewImage: {
			"created +", "updated +", "current removed", "soft deleted +", "copy removed", "restored +", "deleted", "created +", "updated +", "appended +", "deleted", "event removed",
		},
		// Without the new image a restored item looks like a new one.
		types.StreamViewTypeOldImage: {
			"? INSERT", "updated -", "current removed -", "soft deleted", "copy removed -", "? INSERT", "deleted -", "created", "updated -", "appended", "deleted -", "event removed -",
		},
		types.StreamViewTypeKeysOnly: {
			"? INSERT", "updated", "current removed", "soft deleted", "copy removed", "? INSERT", "deleted", "created", "updated", "appended", "deleted", "event removed",
		},
	} {
		t.Run(string(view), func(t *testing.T) {
			l := newLab(t)
			l.view = view
			notes, teams := store[Note](l), store[Team](l)
			readings := entity.Must(timeseries.New[Reading](l.DB))
			l.create()
			bin := entity.Must(lifecycle.Of(notes))
			var got []string
			look := func() {
				records := l.next()
				got = append(got, shown(t, notes, records)...)
				got = append(got, shown(t, teams, records)...)
				got = append(got, shown(t, readings, records)...)
			}
			n := entity.Must(notes.Create(l.Ctx, Note{Owner: "o#v#1", ID: "e#d"}))
			entity.Must(notes.Update(l.Ctx, n, entity.Set(&entity.Fields[Note]().Title, "x")))
			require.NoError(t, notes.Delete(l.Ctx, n))
			look()
			entity.Must(bin.Restore(l.Ctx, n))
			look()
			entity.Must(teams.Put(l.Ctx, Team{ID: "t"}))
			l.next()
			require.NoError(t, teams.Delete(l.Ctx, Team{ID: "t"}))
			look()
			l.OK(readings.Upsert(l.Ctx, Reading{Device: "d", Channel: "v#1"}))
			entity.Must(readings.Append(l.Ctx, Reading{Device: "d", Channel: "v#1", At: time.Unix(4e9, 0), Door: ptr(true)}))
			require.NoError(t, readings.Purge(l.Ctx, Reading{Device: "d", Channel: "v#1"}))
			look()
			require.Equal(t, want, got)
		})
	}
}

func TestViews_OfVerbatimEntities(t *testing.T) {
	t.Parallel()
	for view, want := range map[types.StreamViewType][2][]string{
		types.StreamViewTypeNewAndOldImages: {{"created +", "updated - +", "deleted -"}, {"created +", "updated - +", "deleted -"}},
		types.StreamViewTypeNewImage:        {{"created +", "updated +", "deleted"}, {"created +", "updated +", "? REMOVE"}},
		types.StreamViewTypeOldImage:        {{"created", "updated -", "deleted -"}, {"? INSERT", "updated -", "deleted -"}},
		types.StreamViewTypeKeysOnly:        {{"created", "updated", "deleted"}, {"? INSERT", "? MODIFY", "? REMOVE"}},
	} {
		t.Run(string(view), func(t *testing.T) {
			alone := newLab(t, func(c *entity.Config) { c.Tables = map[string]string{"devices": c.Table} })
			alone.view = view
			devices := store[Device](alone)
			alone.create()
			d := entity.Must(devices.Create(alone.Ctx, Device{ID: "d", Batch: 1}))
			entity.Must(devices.Update(alone.Ctx, d, entity.Set(&entity.Fields[Device]().State, "on")))
			require.NoError(t, devices.Delete(alone.Ctx, d))
			require.Equal(t, want[0], shown(t, devices, alone.next()), "alone in its table, its key is enough")

			shared := garage(t)
			shared.view = view
			bikes := store[Bike](shared)
			store[Lamp](shared)
			shared.create()
			b := entity.Must(bikes.Create(shared.Ctx, Bike{ID: "b", Gears: 1}))
			entity.Must(bikes.Update(shared.Ctx, b, entity.Set(&entity.Fields[Bike]().Gears, 2)))
			require.NoError(t, bikes.Delete(shared.Ctx, b))
			require.Equal(t, want[1], shown(t, bikes, shared.next()), "its kind is needed")
		})
	}
}

func TestViews_SharedVerbatimEntityNeedsAnImage(t *testing.T) {
	l := newLab(t)
	l.view = types.StreamViewTypeKeysOnly
	plates := store[Plate](l)
	l.create()
	entity.Must(plates.Create(l.Ctx, Plate{ID: "p"}))
	records := l.next()
	require.Equal(t, []string{"created"}, shown(t, plates, records))
	store[Team](l)
	require.Equal(t, []string{"? INSERT"}, shown(t, plates, records))
}

func TestChange_ReportsMissingImages(t *testing.T) {
	t.Parallel()
	s := entity.Must(entity.New[Team](entity.Must(entity.Open(nil, entity.Config{Table: "app"}))))
	r := stream.Record{
		Operation: "MODIFY", SequenceNumber: "1", View: "KEYS_ONLY",
		Keys: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "$app#v1#team#t"}, "sk": &types.AttributeValueMemberS{Value: "$app#v1#team"}},
	}
	c, ok, err := stream.Of(s, r)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, stream.Updated, c.Kind)
	var lacks *stream.ImageError
	require.ErrorAs(t, dbtest.ErrorOf(c.Item()), &lacks)
	require.Equal(t, stream.ImageError{Entity: "Team", Operation: "MODIFY", View: "KEYS_ONLY", Needs: "NewImage or OldImage"}, *lacks)
	_, isCurrent, err := c.Current()
	require.True(t, isCurrent)
	require.ErrorAs(t, err, &lacks)
	require.Equal(t, "NewImage", lacks.Needs)
	require.NotContains(t, err.Error(), "$app")
}
