package stream_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestSeries_AppendsEnrichmentAndLateEvents(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := entity.Must(timeseries.New[Reading](l.db))
	store[Team](l) // shares the table
	l.create()
	f, key := entity.Fields[Reading](), Reading{Device: "d#1", Channel: "e"}
	start := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(minutes int, celsius float64) Reading {
		return Reading{Device: "d#1", Channel: "e", At: start.Add(time.Duration(minutes) * time.Minute), Celsius: &celsius}
	}
	append := func(want timeseries.Reason, ev Reading) func() error {
		return func() error {
			got, err := s.Append(l.ctx, ev)
			require.Equal(t, want, got.Reason)
			return err
		}
	}
	steps(t, l, s, []step{
		{"enrichment before the first event", func() error {
			_, _, err := s.Upsert(l.ctx, Reading{Device: "d#1", Channel: "e", Account: "a"})
			return err
		}, []stream.Kind{stream.Created}, 0},
		{"the first event", append("", at(5, 1)), []stream.Kind{stream.Updated, stream.Appended}, 0},
		{"a duplicate", append(timeseries.Duplicate, at(5, 1)), nil, 0},
		{"a late event", append(timeseries.LateRecorded, at(3, 2)), []stream.Kind{stream.Appended}, 0},
		{"enrichment", func() error { return second(s.Update(l.ctx, key, entity.Set(&f.Account, "b"))) }, []stream.Kind{stream.Updated}, 0},
		{"three events at once", func() error { return second(s.AppendAll(l.ctx, []Reading{at(8, 1), at(7, 1), at(9, 1)})) }, []stream.Kind{stream.Updated, stream.Appended, stream.Appended, stream.Appended}, 0},
		{"purge", func() error { return s.Purge(l.ctx, key) }, []stream.Kind{stream.Deleted, stream.EventRemoved, stream.EventRemoved, stream.EventRemoved, stream.EventRemoved, stream.EventRemoved}, 0},
		{"an event for a new series", append("", at(1, 1)), []stream.Kind{stream.Created, stream.Appended}, 0},
	})
}

func TestSeries_EventsAreDecodedAsTheHistoryDecodesThem(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := entity.Must(timeseries.New[Reading](l.db))
	l.create()
	at := time.Date(2100, 1, 1, 0, 0, 0, 5e6, time.UTC)
	_, _, err := s.Upsert(l.ctx, Reading{Device: "d", Channel: "c", Account: "enriched"})
	require.NoError(t, err)
	l.next()
	// An event is sparse: one field was not reported, and it has neither enrichment nor created_at.
	_, err = s.Append(l.ctx, Reading{Device: "d", Channel: "c", At: at, Door: ptr(false)})
	require.NoError(t, err)
	changes, others := told(t, s, l.next())
	require.Zero(t, others)
	history := entity.Must(s.History(Reading{Device: "d", Channel: "c"}).Collect(l.ctx))
	require.Equal(t, history[0], *only(t, changes, stream.Appended).New)
	require.Equal(t, Reading{Device: "d", Channel: "c", At: at, Door: ptr(false)}, history[0])
	current := entity.Must(s.Get(l.ctx, Reading{Device: "d", Channel: "c"}))
	require.Equal(t, current, *only(t, changes, stream.Updated).New)
	require.Equal(t, "enriched", current.Account)
}
