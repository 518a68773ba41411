package conformance_test

import (
	"bytes"
	"net/http"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
)

func TestSwap_OfTwoEmailsIsOneTransaction(t *testing.T) {
	t.Parallel()
	in[Plain](t, swapped)
	in[Locked](t, swapped)
	in[Free](t, swapped)
	in[Reserve](t, swapped)
}

// swapped exchanges addresses, alone and while others change what the transaction has read.
func swapped[T any](t *testing.T, w *world[T]) {
	w.add("a", "a@x", "1")
	w.add("b", "b@x", "1")
	swap := func(a, b string) func() error {
		return func() error {
			one, two := w.Op().Update(w.key("a"), w.email(b)), w.Op().Update(w.key("b"), w.email(a))
			err := w.db.Transact(w.Ctx, one, two)
			if err == nil {
				w.note(one.Result())
				w.note(two.Result())
			}
			return err
		}
	}
	has := func(a, b string) {
		t.Helper()
		x, _ := w.current("a")
		y, _ := w.current("b")
		require.Equal(t, []string{a, b}, []string{x.Email, y.Email})
		w.sound()
	}
	require.NoError(t, swap("a@x", "b@x")())
	has("b@x", "a@x")
	require.NoError(t, w.overtake(swap("b@x", "a@x"), func() { w.update("a", w.name("2")) }))
	has("a@x", "b@x")
	require.NoError(t, w.overtake(swap("a@x", "b@x"), func() { w.update("b", w.email("c@x")) }))
	has("b@x", "a@x")
	// What one of them gives up in between belongs to a third by the time of the swap.
	dbtest.As[*unique.ViolationError](t, w.overtake(swap("b@x", "a@x"), func() { w.update("b", w.email("d@x")); w.add("heir", "a@x", "heir") }))
	has("b@x", "d@x")
	// One of the two is gone.
	require.ErrorIs(t, w.overtake(swap("b@x", "d@x"), func() { w.remove("b") }), entity.ErrNotFound)
	x, _ := w.current("a")
	require.Equal(t, "b@x", x.Email)
	w.sound()
}

// give are the two halves of an exchange of addresses, each under the condition that the other's is still there.
func (w *world[T]) give(a, hasA, b, hasB string) func() error {
	return func() error {
		half := func(id, from, to string) entity.Write[T] {
			return w.Op().Update(w.key(id), w.email(to), entity.If(entity.Eq(&w.f.Email, from)))
		}
		return w.db.Transact(w.Ctx, half(a, hasA, hasB), half(b, hasB, hasA))
	}
}

// answers counts the answers that have come.
type answers struct {
	dynamodb.HTTPClient
	n atomic.Int64
}

func (a *answers) Do(r *http.Request) (*http.Response, error) {
	defer a.n.Add(1)
	return a.HTTPClient.Do(r)
}

// The reads of a swap are of different moments. An address that has moved from one item to the other in between is in both
// plans, and given up in both; that is no mistake of the caller.
func TestSwap_OfAValueThatMovesBetweenItsReads(t *testing.T) {
	t.Parallel()
	w := open[Plain](t)
	w.add("a", "a@x", "1")
	w.add("b", "b@x", "1")
	got := &answers{HTTPClient: w.Wire}
	w.handles = w.open(dynamodb.New(w.Client.Options(), func(o *dynamodb.Options) { o.HTTPClient = got }))
	read := func(r faults.Request) bool {
		return r.Operation == "GetItem" && bytes.Contains(r.Body, []byte(w.pk("b")))
	}
	err := w.Overtake(dbtest.First(read), w.give("a", "c@x", "b", "d@x"), func() {
		for got.n.Load() == 0 { // until the other one has been read
			runtime.Gosched()
		}
		w.update("a", w.email("e@x"))
		w.update("b", w.email("a@x"))
	})
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	var mistake *entity.InputError
	require.NotErrorAs(t, err, &mistake)
	w.sound()
}

// One half of a swap was planned from an item that has changed since, and the other half fails for it.
func TestSwap_OfAValueThatItsOwnerGotMeanwhile(t *testing.T) {
	t.Parallel()
	w := open[Plain](t)
	w.add("a", "a@x", "1")
	w.add("b", "", "1")
	require.NoError(t, w.overtake(w.give("a", "a@x", "b", "b@x"), func() { w.update("b", w.email("b@x")) }))
	x, _ := w.current("a")
	y, _ := w.current("b")
	require.Equal(t, []string{"b@x", "a@x"}, []string{x.Email, y.Email})
}

// With the last attempt, such a failure of the other half says nothing: the next plan would have given the value up.
func TestSwap_IsAConflictWhenItsLastPlanIsStale(t *testing.T) {
	t.Parallel()
	w := open[Plain](t, func(c *entity.Config) { c.MaxAttempts = 1 })
	w.add("a", "a@x", "1")
	w.add("b", "", "1")
	err := w.overtake(func() error {
		return w.db.Transact(w.Ctx, w.Op().Update(w.key("a"), w.email("b@x")), w.Op().Update(w.key("b"), w.email("a@x")))
	}, func() { w.update("b", w.email("b@x")) })
	require.ErrorIs(t, err, entity.ErrConflict)
	var taken *unique.ViolationError
	require.NotErrorAs(t, err, &taken)
	w.sound()
}
