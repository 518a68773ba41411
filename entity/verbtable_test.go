package entity_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// classes are the errors between which the verb table tells apart.
var classes = []error{entity.ErrExists, entity.ErrNotFound, entity.ErrConflict, entity.ErrConditionFailed, entity.ErrMultipleItems, entity.ErrTooLarge, entity.ErrReadBack}

// requireOnly checks that err is of the class want and of no other; nil is success.
func requireOnly(t *testing.T, err, want error, verb string) {
	t.Helper()
	if want == nil {
		require.NoError(t, err)
		return
	}
	for _, class := range classes {
		if class == want {
			require.ErrorIs(t, err, class)
		} else {
			require.NotErrorIs(t, err, class)
		}
	}
	require.False(t, entity.IsAmbiguous(err), "what was refused was certainly not applied")
	var e *entity.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, verb, e.Verb)
}

// costs are the requests of the cell: the read that its plan needs, and what it sends unless the read has decided.
func (c cell) costs(want error) []string {
	switch {
	case c.reads && want != nil:
		return []string{"GetItem"}
	case c.reads && c.request == "UpdateItem":
		return []string{"GetItem", "PutItem"} // the item that was read is put back whole
	case c.reads:
		return []string{"GetItem", c.request}
	}
	return []string{c.request}
}

// atEach runs f for every cell of the verb table that pick chooses: each shape, each verb, on an absent and a live item.
// The live one has an attribute that the model does not know, and is an hour old.
func atEach(t *testing.T, pick func(cell) bool, f func(t *testing.T, st *stage, c cell, live bool, want error)) {
	all := stages()
	if !testsize.Long() { // shapes that together have every trait
		all = map[string]func(*testing.T) *stage{"roles": all["roles"], "verbatim": all["verbatim"], "partly known half": all["partly known half"]}
	}
	for name, open := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := open(t)
			for _, c := range st.cells {
				if !pick(c) {
					continue
				}
				for state, want := range map[string]error{"absent": c.absent, "live": c.live} {
					t.Run(c.verb+"/"+state, func(t *testing.T) {
						st.drop(t, st.at, st.otherAt)
						if state == "live" {
							st.seed(t)
							st.patch(t, st.at, "legacy", num(legacy))
						}
						st.born = st.clock.now()
						st.clock.move(time.Hour)
						st.wire.Reset()
						f(t, st, c, state == "live", want)
					})
				}
			}
		})
	}
}

// legacy is a number that no float holds.
const legacy = "12345678901234567890123456789012345678"

func everyCell(cell) bool { return true }
func asValue(c cell) bool { return c.op != nil }

// Cell by cell: the class of the error, and the requests that the outcome cost.
func TestVerbTable_EveryCellAlone(t *testing.T) {
	t.Parallel()
	atEach(t, everyCell, func(t *testing.T, st *stage, c cell, _ bool, want error) {
		before := st.everything(t)
		requireOnly(t, c.alone(t.Context()), want, c.verb)
		require.Equal(t, c.costs(want), st.sent())
		if want != nil {
			require.Equal(t, before, st.everything(t), "a refused write leaves no trace")
		}
	})
}

// The same fact has the same class on the other route, and no other op is blamed for it.
func TestVerbTable_EveryCellInATransaction(t *testing.T) {
	t.Parallel()
	atEach(t, asValue, func(t *testing.T, st *stage, c cell, _ bool, want error) {
		before := st.everything(t)
		op, beside := c.op(), st.beside()
		err := st.db.Transact(t.Context(), beside, op)
		cost := []string{"TransactWriteItems"}
		if c.reads {
			cost = []string{"GetItem", "TransactWriteItems"}
		}
		if c.reads && want != nil {
			cost = []string{"GetItem"} // the read has decided
		}
		require.Equal(t, cost, st.sent())
		requireOnly(t, err, want, c.verb)
		if want == nil {
			return
		}
		require.Equal(t, before, st.everything(t), "all or nothing")
		var failed *entity.TransactError
		require.ErrorAs(t, err, &failed)
		require.Len(t, failed.Failed, 1)
		require.Equal(t, 1, failed.Failed[0].Index)
		require.Same(t, op, failed.Failed[0].Op)
		requireOnly(t, entity.FailureOf(err, op), want, c.verb)
		require.NoError(t, entity.FailureOf(err, beside))
	})
}

// One op given to Transact is the plain call, and costs what it costs.
func TestVerbTable_OneOpInATransactionCostsWhatItCostsAlone(t *testing.T) {
	t.Parallel()
	atEach(t, asValue, func(t *testing.T, st *stage, c cell, _ bool, want error) {
		op := c.op()
		err := st.db.Transact(t.Context(), op)
		requireOnly(t, err, want, c.verb)
		requireOnly(t, entity.FailureOf(err, op), want, c.verb)
		require.Equal(t, c.costs(want), st.sent())
	})
}

// An outcome that the first request does not decide costs one more request, and not a retryer's three.
func TestVerbTable_EveryCellUnderOneThrottledRequestCostsOneMore(t *testing.T) {
	t.Parallel()
	pick := everyCell
	if !testsize.Long() { // a plain write, one that may read, and a read
		pick = func(c cell) bool { return slices.Contains([]string{"Create", "Update", "Get"}, c.verb) }
	}
	atEach(t, pick, func(t *testing.T, st *stage, c cell, _ bool, want error) {
		st.wire.Inject(faults.Nth(1, faults.Throttle))
		defer st.wire.Inject(nil)
		requireOnly(t, c.alone(t.Context()), want, c.verb)
		cost := c.costs(want)
		require.Equal(t, append([]string{cost[0]}, cost...), st.sent())
	})
}
