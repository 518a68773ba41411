package stream_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
)

func TestMutations_OfAnItemWithSatellitesAreOneChangeEach(t *testing.T) {
	l := newLab(t)
	s := store[Person](l)
	l.create()
	bin, f, key := entity.Must(lifecycle.Of(s)), entity.Fields[Person](), Person{ID: "p-1"}
	steps(t, l, s, []step{
		{"create", func() error { return dbtest.ErrorOf(s.Create(l.Ctx, Person{ID: "p-1", Email: "a", Team: "t"})) }, []stream.Kind{stream.Created, stream.SnapshotStored}, 1},
		{"update", func() error { return dbtest.ErrorOf(s.Update(l.Ctx, key, entity.Set(&f.Team, "u"))) }, []stream.Kind{stream.Updated, stream.SnapshotChanged}, 0},
		{"new e-mail", func() error { return dbtest.ErrorOf(s.Update(l.Ctx, key, entity.Set(&f.Email, "b"))) }, []stream.Kind{stream.Updated, stream.SnapshotStored}, 2},
		{"put over it", func() error { return dbtest.ErrorOf(s.Put(l.Ctx, Person{ID: "p-1", Email: "b"})) }, []stream.Kind{stream.Updated, stream.SnapshotStored}, 0},
		{"touch", func() error { return dbtest.ErrorOf(s.Touch(l.Ctx, key, &f.Seen, time.Minute)) }, []stream.Kind{stream.Updated}, 0},
		{"delete", func() error { return s.Delete(l.Ctx, key) }, []stream.Kind{stream.CurrentRemoved, stream.SoftDeleted, stream.SnapshotStored, stream.SnapshotStored}, 1},
		{"restore", func() error { return dbtest.ErrorOf(bin.Restore(l.Ctx, key)) }, []stream.Kind{stream.Restored, stream.CopyRemoved}, 1},
		{"update a restored item", func() error { return dbtest.ErrorOf(s.Update(l.Ctx, key, entity.Set(&f.Team, "v"))) }, []stream.Kind{stream.Updated, stream.SnapshotStored}, 0},
		{"delete again", func() error { return s.Delete(l.Ctx, key) }, []stream.Kind{stream.CurrentRemoved, stream.SoftDeleted, stream.SnapshotStored, stream.SnapshotStored}, 1},
		{"purge a deleted item", func() error { return bin.Purge(l.Ctx, key) }, []stream.Kind{
			stream.CopyRemoved, // and a snapshot of each of the eight versions
			stream.SnapshotRemoved, stream.SnapshotRemoved, stream.SnapshotRemoved, stream.SnapshotRemoved, stream.SnapshotRemoved, stream.SnapshotRemoved, stream.SnapshotRemoved, stream.SnapshotRemoved,
		}, 1},
		{"create after the purge", func() error { return dbtest.ErrorOf(s.Create(l.Ctx, Person{ID: "p-1", Email: "a"})) }, []stream.Kind{stream.Created, stream.SnapshotStored}, 1},
		{"purge a live item", func() error { return s.Purge(l.Ctx, key) }, []stream.Kind{stream.CurrentRemoved, stream.SnapshotRemoved}, 1},
	})
}

func TestMutations_HardDeleteUnderRetainKeepsTheDeletedStateAsASnapshot(t *testing.T) {
	l := newLab(t)
	s := store[Ledger](l)
	l.create()
	key := Ledger{ID: "l"}
	steps(t, l, s, []step{
		{"create", func() error { return dbtest.ErrorOf(s.Create(l.Ctx, Ledger{ID: "l", Balance: 1})) }, []stream.Kind{stream.Created, stream.SnapshotStored}, 0},
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
			return dbtest.ErrorOf(s.Upsert(l.Ctx, Reading{Device: "d#1", Channel: "e", Account: "a"}))
		}, []stream.Kind{stream.Created}, 0},
		{"the first event", append("", at(5, 1)), []stream.Kind{stream.Updated, stream.Appended}, 0},
		{"a duplicate", append(timeseries.Duplicate, at(5, 1)), nil, 0},
		{"a late event, which marks the current item", append(timeseries.LateRecorded, at(3, 2)), []stream.Kind{stream.Appended}, 1},
		{"enrichment", func() error { return dbtest.ErrorOf(s.Update(l.Ctx, key, entity.Set(&f.Account, "b"))) }, []stream.Kind{stream.Updated}, 0},
		{"three events at once", func() error { return dbtest.ErrorOf(s.AppendAll(l.Ctx, []Reading{at(8, 1), at(7, 1), at(9, 1)})) }, []stream.Kind{stream.Updated, stream.Appended, stream.Appended, stream.Appended}, 0},
		{"purge", func() error { return s.Purge(l.Ctx, key) }, []stream.Kind{stream.Deleted, stream.EventRemoved, stream.EventRemoved, stream.EventRemoved, stream.EventRemoved, stream.EventRemoved}, 0},
		{"an event for a new series", append("", at(1, 1)), []stream.Kind{stream.Created, stream.Appended}, 0},
	})
}

// Charge is a series whose events have an id.
type Charge struct {
	_       entity.Key        `name:"Charge" pk:"$#{account}" sk:"$#{kind}"`
	_       timeseries.Events `orderBy:"phase" id:"event" late:"record" shards:"2"`
	Account string            `dynamodbav:"account"`
	Kind    string            `dynamodbav:"kind"`
	Phase   string            `dynamodbav:"phase"`
	Event   string            `dynamodbav:"event"`
	Cents   int               `dynamodbav:"cents" entity:"append"`
}

// The parts of the keys are what marks events in keys, which changes nothing for readers of a stream.
func TestSeries_EventsWithIDs(t *testing.T) {
	l := newLab(t)
	s := entity.Must(timeseries.New[Charge](l.DB))
	l.create()
	event := func(id string) Charge { return Charge{Account: "e", Kind: "e", Phase: "e", Event: id} }
	append := func(id string) func() error {
		return func() error { return dbtest.ErrorOf(s.Append(l.Ctx, event(id))) }
	}
	steps(t, l, s, []step{
		{"the first event", append("#e#"), []stream.Kind{stream.Created, stream.Appended}, 0},
		{"another of its time", append("e"), []stream.Kind{stream.Updated, stream.Appended}, 0},
		{"one before it", append("b"), []stream.Kind{stream.Appended}, 1},
		{"a removal", func() error { return s.Remove(l.Ctx, event("e")) }, []stream.Kind{stream.EventRemoved, stream.Updated}, 0},
		{"a removal of what is not shown", func() error { return s.Remove(l.Ctx, event("#e#")) }, []stream.Kind{stream.EventRemoved}, 0},
		{"purge", func() error { return s.Purge(l.Ctx, event("")) }, []stream.Kind{stream.Deleted, stream.EventRemoved}, 0},
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

func TestChange_ReportsMissingImages(t *testing.T) {
	t.Parallel()
	s := entity.Must(entity.New[Team](entity.Must(entity.Open(nil, entity.Config{Table: "app"}))))
	r := stream.Record{
		Operation: "MODIFY", SequenceNumber: "1", View: "KEYS_ONLY",
		Keys: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "$app#v1#team#t"}, "sk": &types.AttributeValueMemberS{Value: "$app#v1#team"}},
	}
	c, ok := changeOf(t, s, r)
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

// replica is what a program makes of a stream that keeps a copy of the items elsewhere, and what it counts.
type replica[T any] struct {
	items   map[string]T
	domain  map[string]T // the same by the kinds that speak of items, not by Current
	mutated int          // changes that are a mutation of an item
	moved   int
	buried  int
	seen    map[string]bool
}

func follow[T any](t testing.TB, s entity.Source[T], records []stream.Record, id func(T) string) *replica[T] {
	t.Helper()
	r := &replica[T]{items: map[string]T{}, domain: map[string]T{}, seen: map[string]bool{}}
	changes, _ := changesOf(t, s, records)
	for _, c := range changes {
		require.False(t, r.seen[c.Record.EventID], "an event id came twice")
		r.seen[c.Record.EventID] = true
		v := entity.Must(c.Item())
		key := id(v)
		item, isCurrent, err := c.Current()
		require.NoError(t, err)
		switch {
		case isCurrent && item != nil:
			r.items[key] = *item
		case isCurrent:
			delete(r.items, key)
		}
		switch c.Kind {
		case stream.Created, stream.Restored:
			require.NotContains(t, r.domain, key, "%s, but it is there", c.Kind)
			r.domain[key] = *c.New
			r.mutated++
		case stream.Updated:
			require.Equal(t, r.domain[key], *c.Old, "the state before is the state after the last change")
			r.domain[key] = *c.New
			r.mutated++
		case stream.Deleted, stream.Expired:
			require.Equal(t, r.domain[key], *c.Old)
			delete(r.domain, key)
			r.mutated++
		case stream.SoftDeleted:
			r.buried++
			r.mutated++
			delete(r.domain, key)
		case stream.CurrentRemoved:
			r.moved++
			delete(r.domain, key)
		}
	}
	return r
}

// expected are the errors that a random verb may meet.
func expected(err error) bool {
	var taken *unique.ViolationError
	for _, class := range []error{entity.ErrNotFound, entity.ErrExists, entity.ErrDeleted, entity.ErrNotDeleted} {
		if errors.Is(err, class) {
			return true
		}
	}
	return errors.As(err, &taken)
}

// randomVerbs is how many verbs a test runs.
var randomVerbs = testsize.Pick(60, 120)

// persons are what random verbs on persons need.
type persons struct {
	*lab
	s     *entity.Store[Person]
	bin   *lifecycle.Deleted[Person]
	teams *entity.Store[Team]
}

func openPersons(t *testing.T) persons {
	t.Helper()
	l := newLab(t)
	p := persons{lab: l, s: store[Person](l), teams: store[Team](l)}
	p.bin = entity.Must(lifecycle.Of(p.s))
	l.create()
	return p
}

// verb runs a random verb, and returns how many mutations of persons it was.
func (p persons) verb(rnd *rand.Rand) (mutations int, err error) {
	f, id := entity.Fields[Person](), fmt.Sprintf("p-%d", rnd.IntN(4))
	v := Person{ID: id, Email: fmt.Sprintf("e-%d", rnd.IntN(6)), Team: fmt.Sprintf("t-%d", rnd.IntN(3))}
	key := Person{ID: id}
	switch rnd.IntN(10) {
	case 0, 1:
		_, err = p.s.Create(p.Ctx, v)
	case 2:
		_, err = p.s.Put(p.Ctx, v)
	case 3:
		_, _, err = p.s.Upsert(p.Ctx, v)
	case 4, 5:
		_, err = p.s.Update(p.Ctx, key, entity.Set(&f.Email, v.Email), entity.Set(&f.Team, v.Team))
	case 6:
		due, err := p.s.Touch(p.Ctx, key, &f.Seen, time.Minute)
		if !due {
			return 0, err
		}
		return 1, err
	case 7:
		err = p.s.Delete(p.Ctx, key)
	case 8:
		_, err = p.bin.Restore(p.Ctx, key)
	case 9:
		_, err = p.teams.Put(p.Ctx, Team{ID: id}) // of another entity
		return 0, err
	}
	return 1, err
}

// check compares what the stream says with what is there.
func (p persons) check(mutations, purgedLive int) {
	p.T.Helper()
	id := func(v Person) string { return v.ID }
	r := follow(p.T, p.s, p.next(), id)
	require.Equal(p.T, scanned(p.T, p.lab, p.s.Scan(entity.Consistent()), id), r.items)
	require.Equal(p.T, r.items, r.domain)
	require.Equal(p.T, mutations, r.mutated, "each mutation is one change")
	require.Equal(p.T, r.buried+purgedLive, r.moved)
	require.NotZero(p.T, r.buried)
}

func TestRandom_FoldingTheStreamOfPersonsGivesWhatAScanGives(t *testing.T) {
	p, rnd := openPersons(t), rand.New(rand.NewPCG(testsize.Seed(t), 0))
	p.OK(p.s.Create(p.Ctx, Person{ID: "p-0", Email: "e-0", Team: "t-0"})) // so that one is deleted, whatever the verbs are
	require.NoError(t, p.s.Delete(p.Ctx, Person{ID: "p-0"}))
	mutated, purgedLive := 2, 0
	for range randomVerbs {
		p.Clock.Move(time.Duration(1+rnd.IntN(100)) * time.Second)
		if rnd.IntN(30) == 0 {
			key := Person{ID: fmt.Sprintf("p-%d", rnd.IntN(4))}
			if _, err := p.s.Get(p.Ctx, key, entity.Consistent()); err == nil {
				purgedLive++
			}
			require.NoError(t, p.s.Purge(p.Ctx, key))
			continue
		}
		n, err := p.verb(rnd)
		if err == nil {
			mutated += n
		} else {
			require.True(t, expected(err), "%v", err)
		}
	}
	p.check(mutated, purgedLive)
}

func TestRandom_FoldingTheStreamOfASeriesGivesItsItemsAndItsHistory(t *testing.T) {
	l := newLab(t)
	s := entity.Must(timeseries.New[Reading](l.DB))
	l.create()
	f, rnd, start := entity.Fields[Reading](), rand.New(rand.NewPCG(testsize.Seed(t), 0)), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	for range randomVerbs {
		key := Reading{Device: fmt.Sprintf("d-%d", rnd.IntN(2)), Channel: "c"}
		ev := key
		ev.At = start.Add(time.Duration(rnd.IntN(200)) * time.Second)
		if rnd.IntN(2) == 0 {
			ev.Celsius = ptr(float64(rnd.IntN(3)))
		} else {
			ev.Door = ptr(rnd.IntN(2) == 0)
		}
		var err error
		switch rnd.IntN(10) {
		case 0:
			_, err = s.Update(l.Ctx, key, entity.Set(&f.Account, fmt.Sprint(rnd.IntN(100))))
		case 1:
			_, _, err = s.Upsert(l.Ctx, Reading{Device: key.Device, Channel: "c", Account: fmt.Sprint(rnd.IntN(100))})
		case 2:
			if rnd.IntN(8) == 0 {
				err = s.Purge(l.Ctx, key)
			}
		default:
			_, err = s.Append(l.Ctx, ev)
		}
		if err != nil {
			require.True(t, expected(err), "%v", err)
		}
	}
	records := l.next()
	r := follow(t, s, records, func(v Reading) string { return v.Device })
	require.NotEmpty(t, r.items)
	changes, _ := changesOf(t, s, records)
	for id, current := range r.items {
		got := entity.Must(s.Get(l.Ctx, Reading{Device: id, Channel: "c"}, entity.Consistent()))
		require.Equal(t, got, current)

		events := map[time.Time]Reading{}
		for _, c := range changes {
			v := entity.Must(c.Item())
			switch {
			case v.Device != id:
			case c.Kind == stream.Appended:
				events[v.At] = v
			case c.Kind == stream.EventRemoved:
				delete(events, v.At)
			}
		}
		history := entity.Must(s.History(got, entity.Consistent()).Collect(l.Ctx))
		require.Len(t, events, len(history))
		for _, ev := range history {
			require.Equal(t, ev, events[ev.At])
		}
	}
}

func scanned[T any](t testing.TB, l *lab, q entity.Query[T], id func(T) string) map[string]T {
	t.Helper()
	all, items := entity.Must(q.Collect(l.Ctx)), map[string]T{}
	for _, v := range all {
		items[id(v)] = v
	}
	return items
}
