package calls_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Archive keeps late events, which change nothing on its current item.
type Archive struct {
	_ entity.Key        `name:"Archive" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at" late:"record"`

	ID    string    `dynamodbav:"id"`
	At    time.Time `dynamodbav:"at"`
	Value int       `dynamodbav:"value" entity:"append"`
}

var archived = dbtest.Start

// archive has n events of one series, a minute from each other.
func archive(l *lab, n int) (s *timeseries.Series[Archive], key Archive) {
	s, key = entity.Must(timeseries.New[Archive](l.DB)), Archive{ID: "a"}
	l.CreateTables()
	events := make([]Archive, n)
	for i := range events {
		events[i] = Archive{ID: key.ID, At: archived.Add(time.Duration(i) * time.Minute), Value: i}
	}
	if n > 0 {
		_, err := s.AppendAll(l.Ctx, events)
		require.NoError(l.T, err)
	}
	l.Wire.Reset()
	return s, key
}

func TestPurge_RemovesManyEventsInFewTransactions(t *testing.T) {
	t.Parallel()
	l := open(t)
	s, key := archive(l, 250)
	removed := []int{}
	require.NoError(t, s.Purge(t.Context(), key, entity.OnProgress(func(n int) { removed = append(removed, n) })))
	require.ElementsMatch(t, []string{
		"Query", "DeleteItem", // the current item
		"Query", "TransactWriteItems", "TransactWriteItems", "TransactWriteItems", // 250 events
		"Query", // nothing came meanwhile
	}, l.Operations())
	require.Empty(t, l.Items())
	require.Len(t, removed, 4)
	require.Equal(t, 251, removed[3])
}

// A query can miss an item that is moving, so a second one confirms that there is nothing. An item without related ones is
// read alone.
func TestPurge_OfNothingIsTwoReadings(t *testing.T) {
	t.Parallel()
	l := open(t)
	plain, _ := store[Plain](l)
	kept, _ := store[Kept](l)
	verbatim, _ := store[Verbatim](l)
	s, key := archive(l, 0)
	for _, c := range []struct {
		purge func() error
		sent  []string
	}{
		{func() error { return plain.Purge(t.Context(), Plain{ID: "a"}) }, []string{"Query", "Query"}},
		{func() error { return kept.Purge(t.Context(), Kept{ID: "a"}) }, []string{"Query", "Query"}},
		{func() error { return s.Purge(t.Context(), key) }, []string{"Query", "Query"}},
		{func() error { return verbatim.Purge(t.Context(), Verbatim{ID: "a"}) }, []string{"GetItem"}},
	} {
		require.NoError(t, c.purge())
		require.Equal(t, c.sent, l.Operations())
	}
}

// The removal of the item counts as the first of the two readings.
func TestPurge_OfAnItemIsThreeRequests(t *testing.T) {
	t.Parallel()
	l := open(t)
	s, quiet := store[Page](l)
	_, remove := moves(t, quiet)
	_, err := quiet.Create(t.Context(), Page{ID: "a"})
	require.NoError(t, err)
	require.NoError(t, s.Purge(t.Context(), Page{ID: "a"}))
	require.Equal(t, []string{"Query", "DeleteItem", "Query"}, l.Operations())

	_, err = quiet.Create(t.Context(), Page{ID: "a"})
	require.NoError(t, err)
	remove()
	require.NoError(t, s.Purge(t.Context(), Page{ID: "a"}))
	require.Equal(t, []string{"Query", "TransactWriteItems", "Query"}, l.Operations())
}

// Of what a transaction should remove, one is gone and one is another event by now: neither keeps the others.
func TestPurge_LeavesOutWhatChangedMeanwhile(t *testing.T) {
	t.Parallel()
	l := open(t)
	s, key := archive(l, 5)
	events := []dbtest.Item{}
	for _, it := range l.Items() {
		if dbtest.Text(it["_k"]) == "e" {
			events = append(events, it)
		}
	}
	transaction := dbtest.First(dbtest.Is("TransactWriteItems"))
	require.NoError(t, l.Overtake(transaction, func() error { return s.Purge(t.Context(), key) }, func() {
		l.RemoveItem(events[0])
		pk, sk := l.KeyOf(events[1])
		l.ChangeItem(pk, sk, dbtest.Item{"_w": dbtest.S("another")})
	}))
	require.Equal(t, []string{
		"Query", "DeleteItem", "Query",
		"TransactWriteItems", "TransactWriteItems", // refused, then without the two
		"Query", "DeleteItem", "Query", // the one that changed, as it is now
	}, l.Operations())
	require.Empty(t, l.Items())
}

// A late event changes nothing on the current item, so no guard of it notices the event. It is stored before the item is
// gone, and must not stay.
func TestPurge_RemovesAnEventRecordedMeanwhile(t *testing.T) {
	t.Parallel()
	l := open(t)
	s, key := archive(l, 1)
	quiet := entity.Must(timeseries.New[Archive](l.quiet))
	require.NoError(t, l.Overtake(dbtest.First(dbtest.Is("DeleteItem")), func() error { return s.Purge(t.Context(), key) }, func() {
		res, err := quiet.Append(t.Context(), Archive{ID: key.ID, At: archived.Add(-time.Minute)})
		require.NoError(t, err)
		require.Equal(t, timeseries.LateRecorded, res.Reason)
	}))
	require.Empty(t, l.Items())
}

// The single removal of an item has no token: its second arrival finds nothing, which does not say who took it away. So
// when the purge then fails, something may have been removed.
func TestPurge_ARemovalThatArrivesTwiceMakesALaterErrorAmbiguous(t *testing.T) {
	t.Parallel()
	l := open(t, dbtest.Attempts(1))
	s, quiet := store[Plain](l)
	_, err := quiet.Create(t.Context(), Plain{ID: "a"})
	require.NoError(t, err)
	removed := false
	l.Wire.Inject(func(r faults.Request) faults.Fault {
		switch {
		case r.Operation == "DeleteItem":
			removed = true
			return faults.Twice
		case removed && r.Operation == "Query":
			return faults.Drop
		}
		return faults.None
	})
	err = s.Purge(t.Context(), Plain{ID: "a"})
	require.ErrorIs(t, err, faults.ErrInjected)
	require.True(t, entity.IsAmbiguous(err))
	require.Empty(t, l.Items())
}

// Lone has no sort key.
type Lone struct {
	_ entity.Key `name:"Lone" pk:"id"`

	ID string `dynamodbav:"id"`
}

// LoneText is a $ entity without a sort key.
type LoneText struct {
	_ entity.Key `name:"LoneText" pk:"$#{id}"`

	ID string `dynamodbav:"id"`
}

// Counted has a number as its sort key.
type Counted struct {
	_ entity.Key `name:"Counted" pk:"id" sk:"n"`

	ID string `dynamodbav:"id"`
	N  int    `dynamodbav:"n"`
}

// An item whose sort key is no text has no related items, and goes like any other.
func TestPurge_RemovesAnItemWhateverItsKey(t *testing.T) {
	t.Parallel()
	purges(t, Lone{ID: "a"})
	purges(t, LoneText{ID: "a"})
	purges(t, Counted{ID: "a", N: 1})
	purges(t, Verbatim{ID: "a"})
	purges(t, Plain{ID: "a"})
}

func purges[T any](t *testing.T, v T) {
	l := open(t)
	s, quiet := store[T](l)
	_, err := quiet.Create(t.Context(), v)
	require.NoError(t, err)
	require.NoError(t, s.Purge(t.Context(), v))
	require.Empty(t, l.Items(), "%T", v)
}
