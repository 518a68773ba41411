package subject_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/contrib/subject"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

var everyFault = []faults.Fault{
	faults.Throttle, faults.Conflict, faults.Internal, faults.InternalApplied, faults.Drop, faults.Lost, faults.Twice, faults.Late, faults.Hang, faults.Unsent,
	faults.Cut, faults.Stall, faults.HotPartition,
}

func timeout(c *entity.Config) { c.RequestTimeout = 100 * time.Millisecond }

// some gives ada and bob a few items: one of each that is erased in its own way.
func (l *lab) some() {
	f := entity.Fields[order]()
	l.OK(l.Orders.Create(l.Ctx, order{ID: "passed", Customer: ada, Number: "p"}))
	l.OK(l.Orders.Update(l.Ctx, order{ID: "passed"}, entity.Set(&f.Customer, bob)))
	l.OK(l.Orders.Create(l.Ctx, order{ID: "own", Customer: ada, Number: "o"}))
	l.OK(l.Orders.Create(l.Ctx, order{ID: "gone", Customer: ada, Number: "g"}))
	require.NoError(l.T, l.Orders.Delete(l.Ctx, order{ID: "gone"}))
	l.OK(l.Trips.Append(l.Ctx, trip{Car: "c", Driver: ada, At: dbtest.Start}))
	l.OK(l.Trips.Append(l.Ctx, trip{Car: "c", Driver: bob, At: dbtest.Start.Add(time.Minute)}))
	l.OK(l.Persons.Create(l.Ctx, person{ID: ada, Email: "e"}))
	l.OK(l.Sessions.Create(l.Ctx, session{ID: "left", User: ada}))
	l.RemoveItem(l.Item("$app#v1#session#left", "$app#v1#session"))
}

// removed are the counts of some.
var removed = map[string][2]counts{
	"Person":  {{"claim": 1, "current": 1, "version": 1}},
	"Order":   {{"claim": 2, "copy": 1, "current": 1, "version": 3}, {"version": 1}},
	"Trip":    {{"event": 1}},
	"Session": {{"claim": 1, "version": 1}},
}

// clear empties the table.
func (l *lab) clear() {
	for _, it := range l.Items() {
		l.RemoveItem(it)
	}
}

// One request goes wrong, whichever it is, and however: the erasure does and reports what it does without the fault.
func TestFaults_AtEachRequest(t *testing.T) {
	l := newLab(t)
	x := l.other(l.Client, subject.Options{}, timeout)
	l.some()
	l.Sent()
	l.erase(x, ada)
	requests := len(l.Sent())
	require.Greater(t, requests, 20)
	rest := func() map[string]dbtest.Item { return l.kept(ada) }
	want := len(rest())
	for n := 1; n <= requests; n += testsize.Pick(5, 1) {
		for _, fault := range everyFault {
			l.clear()
			l.some()
			l.Wire.Inject(faults.Nth(n, fault))
			r, err := x.Erase(l.Ctx, subject.Request{ID: ada})
			l.Wire.Inject(nil)
			require.NoError(t, err, "%v at %d", fault, n)
			_, err = l.Wire.Deliver()
			require.NoError(t, err)
			require.True(t, r.Done)
			require.Zero(t, r.LastPass)
			require.Empty(t, l.naming(ada), "%v at %d", fault, n)
			require.Len(t, rest(), want, "%v at %d", fault, n)
			for name, c := range removed {
				e := entityOf(t, r, name)
				require.Equal(t, c[0], e.Erased, "%s, %v at %d", name, fault, n)
				require.Equal(t, c[1], e.Emptied, "%s, %v at %d", name, fault, n)
			}
		}
	}
}

// All requests from one on go wrong: the run fails, says no more than it has done, and another one goes on.
func TestFaults_FromEachRequestOn(t *testing.T) {
	l := newLab(t)
	x := l.other(l.Client, subject.Options{}, timeout, dbtest.Attempts(2))
	l.some()
	l.Sent()
	l.erase(x, ada)
	requests := len(l.Sent())
	for n := 1; n <= requests; n += testsize.Pick(6, 1) {
		for _, fault := range []faults.Fault{faults.Throttle, faults.Conflict, faults.Internal, faults.InternalApplied, faults.Drop, faults.Lost, faults.Late} {
			l.clear()
			l.some()
			all := len(l.naming(ada))
			sent := 0
			l.Wire.Inject(func(faults.Request) faults.Fault {
				if sent++; sent < n {
					return faults.None
				}
				return fault
			})
			r, err := x.Erase(l.Ctx, subject.Request{ID: ada})
			l.Wire.Inject(nil)
			require.Error(t, err, "%v from %d", fault, n)
			require.False(t, r.Done)
			require.LessOrEqual(t, all-len(l.naming(ada))-r.Erased(), all)
			_, err = l.Wire.Deliver()
			require.NoError(t, err)
			erased := r.Erased()
			r, err = l.subjects(subject.Options{}).Erase(l.Ctx, subject.Request{ID: ada, Cursor: r.Cursor})
			require.NoError(t, err, "%v from %d", fault, n)
			require.True(t, r.Done)
			require.GreaterOrEqual(t, r.Erased(), erased)
			require.Equal(t, 2, r.Runs)
			require.Empty(t, l.naming(ada), "%v from %d", fault, n)
		}
	}
}

var errStopped = errors.New("stopped")

// A run that ends in the middle of a table goes on there, with the counts of both, in several segments or one.
func TestErase_GoesOnWhereItEnded(t *testing.T) {
	for _, segments := range []int{1, 4} {
		t.Run(fmt.Sprint(segments), func(t *testing.T) {
			l := newLab(t)
			var papers []paper
			for i := range 1200 {
				papers = append(papers, paper{Shelf: fmt.Sprint("s", i%7), ID: fmt.Sprint(i), Author: []string{ada, bob, "cy"}[i%3]})
			}
			l.OK(l.Papers.PutMany(l.Ctx, papers))
			x := l.subjects(subject.Options{Segments: segments})
			cursor, runs, last := "", 0, subject.Report{}
			for done := false; !done; runs++ {
				require.Less(t, runs, 40)
				ctx, stop := context.WithCancelCause(l.Ctx)
				kept, pages := "", 0
				r, err := x.Erase(ctx, subject.Request{ID: ada, Cursor: cursor, OnProgress: func(p subject.Progress) {
					if pages++; pages == 2 {
						kept = p.Cursor
						stop(errStopped)
					}
				}})
				stop(nil)
				if done = err == nil; !done {
					require.ErrorIs(t, err, errStopped)
					require.NotEmpty(t, r.Cursor)
					if cursor = r.Cursor; segments == 1 {
						require.NotEmpty(t, kept)
						cursor = kept // as after a kill
					}
				}
				last = r
			}
			assert.Greater(t, runs, 3)
			assert.Equal(t, runs, last.Runs)
			erased := entityOf(t, last, "Paper").Erased["current"]
			assert.LessOrEqual(t, erased, 400)
			assert.GreaterOrEqual(t, erased, 400-(segments-1)*runs, "a request that is cancelled can arrive later")
			assert.Empty(t, l.naming(ada))
			assert.Len(t, l.Items(), 800)
			_, err := x.Erase(l.Ctx, subject.Request{ID: bob, Cursor: cursor})
			assert.Equal(t, "SUBJ-06", dbtest.InputCode(err), "the cursor is of another subject")
			_, err = x.Erase(l.Ctx, subject.Request{ID: ada, DryRun: true, Cursor: cursor})
			assert.Equal(t, "SUBJ-06", dbtest.InputCode(err))
		})
	}
}

// Programs write ada's and bob's data meanwhile, and items change hands. No write of bob's is lost; once nobody writes ada's data, it is gone.
func TestErase_WhileProgramsWrite(t *testing.T) {
	l := newLab(t, func(c *entity.Config) { c.Clock = time.Now })
	seed := testsize.Seed(t)
	f := entity.Fields[order]()
	const items = 12
	for i := range items {
		l.OK(l.Orders.Create(l.Ctx, order{ID: fmt.Sprint("o-", i), Customer: []string{ada, bob}[i%2], Number: fmt.Sprint("n-", i)}))
		l.OK(l.Orders.Create(l.Ctx, order{ID: fmt.Sprint("b-", i), Customer: bob, Number: fmt.Sprint("m-", i)}))
	}
	db := l.Open(l.Raw, func(c *entity.Config) { c.Clock = time.Now })
	a := l.bind(db)
	stop := make(chan struct{})
	var writers sync.WaitGroup
	var added [items]int // to bob's items, by one writer each
	for w := range 3 {
		random := rand.New(rand.NewPCG(seed, uint64(w)))
		writers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				id, who := fmt.Sprint("o-", random.IntN(items)), []string{ada, bob}[random.IntN(2)]
				switch random.IntN(4) {
				case 0:
					_, _ = a.Orders.Create(l.Ctx, order{ID: id, Customer: who, Number: "n" + id[1:]})
				case 1:
					_, _ = a.Orders.Update(l.Ctx, order{ID: id}, entity.Set(&f.Customer, who))
				case 2:
					_ = a.Orders.Delete(l.Ctx, order{ID: id})
				case 3:
					_, _ = a.Bin.Restore(l.Ctx, order{ID: id})
				}
				if i := w + 3*random.IntN(items/3); true {
					if _, err := a.Orders.Update(l.Ctx, order{ID: fmt.Sprint("b-", i)}, entity.Add(&f.Amount, 1)); err == nil {
						added[i]++
					}
				}
			}
		})
	}
	x := l.subjects(subject.Options{Segments: 2, Passes: 3})
	for range testsize.Pick(6, 40) {
		r, err := x.Erase(l.Ctx, subject.Request{ID: ada})
		require.NoError(t, err)
		require.True(t, r.Done)
	}
	close(stop)
	writers.Wait()
	r := l.erase(x, ada)
	assert.Zero(t, r.LastPass)
	assert.Empty(t, l.naming(ada))
	for i := range items {
		o, err := l.Orders.Get(l.Ctx, order{ID: fmt.Sprint("b-", i)}, entity.Consistent())
		require.NoError(t, err)
		assert.Equal(t, added[i], o.Amount)
		assert.EqualValues(t, added[i]+1, o.Version)
	}
	claims, values := l.claims()
	assert.Equal(t, values, claims)
}

// claims returns the claims of the numbers of orders, and the numbers of orders and their copies: with the key of the order.
func (l *lab) claims() (claims, values map[string]bool) {
	claims, values = map[string]bool{}, map[string]bool{}
	for _, it := range l.Items() {
		number := dbtest.Text(it["number"])
		owner := dbtest.Text(it["_entity_pk"])
		switch name, kind := dbtest.Text(it["__edd_e__"]), dbtest.Text(it["_k"]); {
		case name == "Order._unique.number":
			claims[owner+" "+dbtest.Text(it["pk"])] = true
		case name == "Order" && number != "" && kind != "v":
			values[dbtest.Text(it["pk"])+" $app#v1#order.number#"+number] = true
		}
	}
	return claims, values
}

// A run that is ended in the middle of a page counts what it has erased, and a dry run nothing of that page: it is read again.
func TestErase_CountsWhatItErasedBeforeItEnded(t *testing.T) {
	l := newLab(t)
	for i := range 3 {
		l.OK(l.Papers.Create(l.Ctx, paper{Shelf: "s", ID: fmt.Sprint(i), Author: ada}))
	}
	x := l.subjects(subject.Options{})
	end := func(operation string, dry bool) (subject.Report, error) {
		ctx, stop := context.WithCancelCause(l.Ctx)
		n := 0
		l.Wire.Inject(func(r faults.Request) faults.Fault {
			if r.Operation == operation {
				if n++; n == 3 {
					stop(errStopped)
				}
			}
			return faults.None
		})
		defer l.Wire.Inject(nil)
		return x.Erase(ctx, subject.Request{ID: ada, DryRun: dry})
	}
	r, err := end("Query", true)
	require.Error(t, err)
	assert.Zero(t, r.Erased())
	r, err = end("Query", false) // after the first removal, while the item is read again
	require.Error(t, err)
	assert.Equal(t, 3-len(l.Items()), r.Erased())
	assert.Positive(t, r.Erased())
	r, err = x.Erase(l.Ctx, subject.Request{ID: ada, Cursor: r.Cursor})
	require.NoError(t, err)
	assert.Equal(t, 3, r.Erased())
}
