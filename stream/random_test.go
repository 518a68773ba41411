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
	. "github.com/dynastrata/dynastrata/stream"
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

func follow[T any](t testing.TB, s Source[T], records []Record, id func(T) string) *replica[T] {
	t.Helper()
	r := &replica[T]{items: map[string]T{}, domain: map[string]T{}, seen: map[string]bool{}}
	changes, _ := told(t, s, records)
	for _, c := range changes {
		require.False(t, r.seen[c.Record.EventID], "an event id came twice")
		r.seen[c.Record.EventID] = true
		v, err := c.Item()
		require.NoError(t, err)
		key := id(v)
		item, told, err := c.Current()
		require.NoError(t, err)
		switch {
		case told && item != nil:
			r.items[key] = *item
		case told:
			delete(r.items, key)
		}
		switch c.Kind {
		case Created, Restored:
			require.NotContains(t, r.domain, key, "%s, but it is there", c.Kind)
			r.domain[key] = *c.New
			r.mutated++
		case Updated:
			require.Equal(t, r.domain[key], *c.Old, "the state before is the state after the last change")
			r.domain[key] = *c.New
			r.mutated++
		case Deleted, Expired:
			require.Equal(t, r.domain[key], *c.Old)
			delete(r.domain, key)
			r.mutated++
		case SoftDeleted:
			r.buried++
			r.mutated++
			delete(r.domain, key)
		case Moved:
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

const randomVerbs = 300

func TestRandom_FoldingTheStreamOfPersonsGivesWhatAScanGives(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s, teams := store[Person](l), store[Team](l)
	l.create()
	bin := entity.Must(lifecycle.Of(s))
	f, rnd := entity.Fields[Person](), seed(t)
	mutated, purgedLive := 0, 0
	for range randomVerbs {
		l.clock.advance(time.Duration(1+rnd.IntN(100)) * time.Second)
		id := fmt.Sprintf("p-%d", rnd.IntN(4))
		p := Person{ID: id, Email: fmt.Sprintf("e-%d", rnd.IntN(6)), Team: fmt.Sprintf("t-%d", rnd.IntN(3))}
		key := Person{ID: id}
		var err error
		done := 1
		switch rnd.IntN(11) {
		case 0, 1:
			_, err = s.Create(l.ctx, p)
		case 2:
			_, err = s.Put(l.ctx, p)
		case 3:
			_, _, err = s.Upsert(l.ctx, p)
		case 4, 5:
			_, err = s.Update(l.ctx, key, entity.Set(&f.Email, p.Email), entity.Set(&f.Team, p.Team))
		case 6:
			var due bool
			if due, err = s.Touch(l.ctx, key, &f.Seen, time.Minute); !due {
				done = 0
			}
		case 7:
			err = s.Delete(l.ctx, key)
		case 8:
			_, err = bin.Restore(l.ctx, key)
		case 9:
			if rnd.IntN(3) > 0 {
				done = 0
				break
			}
			done = 0
			if _, got := s.Get(l.ctx, key, entity.Consistent()); got == nil {
				purgedLive++
			}
			err = s.Purge(l.ctx, key)
		case 10:
			_, err = teams.Put(l.ctx, Team{ID: id}) // of another entity
			done = 0
		}
		if err != nil {
			require.True(t, expected(err), "%v", err)
			continue
		}
		mutated += done
	}
	r := follow(t, s, l.next(), func(p Person) string { return p.ID })
	require.Equal(t, scanned(t, l, s.Scan(entity.Consistent()), func(p Person) string { return p.ID }), r.items)
	require.Equal(t, r.items, r.domain)
	require.Equal(t, mutated, r.mutated, "each mutation is one change")
	require.Equal(t, r.buried+purgedLive, r.moved)
	require.NotZero(t, r.buried)
}

func TestRandom_FoldingTheStreamOfTeamsGivesWhatAScanGives(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := store[Team](l)
	l.create()
	f, rnd := entity.Fields[Team](), seed(t)
	mutated := 0
	for range randomVerbs {
		id := fmt.Sprintf("%d", rnd.IntN(4))
		key, v := Team{ID: id}, Team{ID: id, Name: fmt.Sprint(rnd.IntN(100))}
		var err error
		switch rnd.IntN(6) {
		case 0:
			_, err = s.Create(l.ctx, v)
		case 1:
			_, err = s.Put(l.ctx, v)
		case 2:
			_, err = s.Update(l.ctx, key, entity.Set(&f.Name, v.Name))
		case 3:
			err = s.Delete(l.ctx, key)
		case 4:
			_, err = s.Modify(l.ctx, key, func(v *Team) error { v.Name += "!"; return nil })
		case 5:
			if _, err = s.Get(l.ctx, key, entity.Consistent()); err == nil {
				err = s.Purge(l.ctx, key)
			}
		}
		if err != nil {
			require.True(t, expected(err), "%v", err)
			continue
		}
		mutated++
	}
	r := follow(t, s, l.next(), func(v Team) string { return v.ID })
	require.Equal(t, scanned(t, l, s.Scan(entity.Consistent()), func(v Team) string { return v.ID }), r.items)
	require.Equal(t, r.items, r.domain)
	require.Equal(t, mutated, r.mutated)
}

func TestRandom_FoldingTheStreamOfASeriesGivesItsItemsAndItsHistory(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := entity.Must(timeseries.New[Reading](l.db))
	l.create()
	f, rnd := entity.Fields[Reading](), seed(t)
	start := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
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
			_, err = s.Update(l.ctx, key, entity.Set(&f.Account, fmt.Sprint(rnd.IntN(100))))
		case 1:
			_, _, err = s.Upsert(l.ctx, Reading{Device: key.Device, Channel: "c", Account: fmt.Sprint(rnd.IntN(100))})
		case 2:
			if rnd.IntN(8) == 0 {
				err = s.Purge(l.ctx, key)
			}
		default:
			_, err = s.Append(l.ctx, ev)
		}
		if err != nil {
			require.True(t, expected(err), "%v", err)
		}
	}
	records := l.next()
	r := follow(t, s, records, func(v Reading) string { return v.Device })
	require.NotEmpty(t, r.items)
	changes, _ := told(t, s, records)
	for id, current := range r.items {
		got, err := s.Get(l.ctx, Reading{Device: id, Channel: "c"}, entity.Consistent())
		require.NoError(t, err)
		require.Equal(t, got, current)

		events := map[time.Time]Reading{}
		for _, c := range changes {
			v := entity.Must(c.Item())
			switch {
			case v.Device != id:
			case c.Kind == Appended:
				events[v.At] = v
			case c.Kind == EventRemoved:
				delete(events, v.At)
			}
		}
		history := entity.Must(s.History(got, entity.Consistent()).Collect(l.ctx))
		require.Len(t, events, len(history))
		for _, ev := range history {
			require.Equal(t, ev, events[ev.At])
		}
	}
}

func scanned[T any](t testing.TB, l *lab, q entity.Query[T], id func(T) string) map[string]T {
	t.Helper()
	all, err := q.Collect(l.ctx)
	require.NoError(t, err)
	items := map[string]T{}
	for _, v := range all {
		items[id(v)] = v
	}
	return items
}
