package stream_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
)

// replica is what a program makes of a stream that keeps a copy of the items elsewhere, and what it counts.
type replica[T any] struct {
	items   map[string]T
	domain  map[string]T // the same by the kinds that speak of items, not by Current
	mutated int          // changes that are a mutation of an item
	moved   int
	buried  int
	seen    map[string]bool
}

func follow[T any](t testing.TB, s stream.Source[T], records []stream.Record, id func(T) string) *replica[T] {
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

func seed(t *testing.T) *rand.Rand {
	t.Helper()
	n := rand.Uint64()
	t.Logf("seed %d", n)
	return rand.New(rand.NewPCG(n, 0))
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
	p, rnd := openPersons(t), seed(t)
	mutated, purgedLive := 0, 0
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
	f, rnd, start := entity.Fields[Reading](), seed(t), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
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
