package conformance_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/versioned"
)

func TestExpect_OfANegativeVersionIsAnErrorBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	b := newBench[u1VLockSFree](t)
	for verb, op := range b.verbs() {
		if verb == "Create" {
			continue
		}
		p := b.item(t, live)
		b.Sent()
		require.Equal(t, "EDD-9108", dbtest.InputCode(runAlone(t, op(p, versioned.Expect(-1)))), verb)
		require.Equal(t, "EDD-9108", dbtest.InputCode(runJoined(b.Bench, op(p, versioned.Expect(-1)))), verb)
		require.Empty(t, b.Sent(), verb)
	}
}

// Expect(0) is for items from before the struct had versions, or from a library whose versions begin at 0.
func TestExpect_ZeroIsAnItemThatHasNoVersionYet(t *testing.T) {
	t.Parallel()
	t.Run("Lock", func(t *testing.T) { expectZero(t, newBench[u1VLockSFree](t), false) })
	t.Run("Retain", func(t *testing.T) { expectZero(t, newBench[u1VRetainSFree](t), true) })
}

func expectZero[T any](t *testing.T, b *bench[T], retains bool) {
	for _, version := range []types.AttributeValue{nil, dbtest.N("0")} {
		for verb, op := range b.verbs() {
			if verb == "Create" || verb == "Restore" {
				continue
			}
			for _, joined := range []bool{false, true} {
				p := b.item(t, live)
				pk := "$app#v1#person#" + p.ID
				b.ChangeItem(pk, personSK, dbtest.Item{"version": version})
				if retains {
					b.RemoveItem(b.Key(pk, personSK+"#v#0000001"))
				}
				run := func(n int64) error { return b.run(t, op(p, versioned.Expect(n)), joined) }
				var conflict *versioned.ConflictError
				require.ErrorAs(t, run(1), &conflict, verb)
				require.Equal(t, versioned.ConflictError{Expected: 1}, *conflict, verb)
				b.Clock.Move(time.Second)
				require.NoError(t, run(0), verb)
				if retains {
					require.Contains(t, b.ItemsByKey(), pk+" "+personSK+"#v#0000000", verb)
				}
				if verb == "Delete" {
					continue
				}
				got, err := b.quiet.Get(t.Context(), as[T](p))
				require.NoError(t, err)
				require.Equal(t, int64(1), person(&got).Version, verb)
				require.ErrorAs(t, run(0), &conflict, verb)
				require.Equal(t, versioned.ConflictError{Actual: 1}, *conflict, verb)
			}
		}
	}
}

// A condition of the caller's that fails is not a conflict, whether or not a version is expected too.
func TestExpect_WithAFailedConditionIsTheCondition(t *testing.T) {
	t.Parallel()
	t.Run("Lock", func(t *testing.T) { failedCondition(t, newBench[u1VLockSFree](t)) })
	t.Run("Retain", func(t *testing.T) { failedCondition(t, newBench[u1VRetainSReserve](t)) })
}

func failedCondition[T any](t *testing.T, b *bench[T]) {
	no := entity.If(entity.Eq(&b.f.Tenant, "another"))
	for verb, op := range b.verbs() {
		state, expect := live, []entity.WriteOption{versioned.Expect(1)}
		switch verb {
		case "Create":
			state, expect = absent, nil
		case "Restore":
			state, expect = deleted, []entity.WriteOption{versioned.Expect(2)}
		}
		for _, joined := range []bool{false, true} {
			for _, opts := range [][]entity.WriteOption{{no}, append(expect, no)} {
				p := b.item(t, state)
				err := b.run(t, op(p, opts...), joined)
				require.Equal(t, "Condition", classesOf(err), verb)
				if stored, ok := entity.StoredItem[T](err); state == live {
					require.True(t, ok, verb)
					require.Equal(t, p.Email, person(&stored).Email, verb)
				}
			}
		}
		if verb != "Create" {
			require.Equal(t, "Conflict", classesOf(runAlone(t, op(b.item(t, state), no, versioned.Expect(9)))), verb)
		}
	}
	_, err := b.s.Update(t.Context(), as[T](b.item(t, live)), entity.Set(&b.f.Name, "x"), entity.If())
	require.Equal(t, "EDD-9108", dbtest.InputCode(err), "no condition guards nothing")
}
