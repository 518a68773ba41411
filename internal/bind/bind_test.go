package bind

import (
	"context"
	"encoding/hex"
	"errors"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/schema"
)

func bytesOf[A [10]byte | [16]byte](t *testing.T, text string) (a A) {
	t.Helper()
	b, err := hex.DecodeString(text)
	require.NoError(t, err)
	return A(b)
}

// The example of RFC 9562, appendix A.6.
func TestIDs_AreThoseOfTheirSpecifications(t *testing.T) {
	t.Parallel()
	require.Equal(t, "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", uuidText(uuidV7(0x017F22E279B0, bytesOf[[10]byte](t, "0cc318c4dc0c0c07398f"))))
	require.Equal(t, "017f22e2-79b0-7fff-bfff-ffffffffffff", uuidText(uuidV7(0x017F22E279B0, bytesOf[[10]byte](t, "ffffffffffffffffffff"))),
		"version and variant replace random bits")
	// The examples of the specification of ULIDs, and the ends of its range.
	require.Equal(t, "01ARZ3NDEKTSV4RRFFQ69G5FAV", ulidText(bytesOf[[16]byte](t, "01563e3ab5d3d6764c61efb99302bd5b")))
	require.Equal(t, "01ARYZ6S41", ulidText(idBytes(1469918176385, randomBytes{}))[:10])
	require.Equal(t, "00000000000000000000000000", ulidText([16]byte{}))
	require.Equal(t, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", ulidText(idBytes(1<<48-1, bytesOf[[10]byte](t, "ffffffffffffffffffff"))))
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestBudget_WaitsUntilConsumedUnitsArePaidFor(t *testing.T) {
	t.Parallel()
	b := NewPace(10, 5)
	require.Zero(t, b.Delay(start), "nothing was consumed")
	b.Spend(start, 10, 0)
	require.Zero(t, b.Delay(start), "the units of one second were saved")
	b.Spend(start, 128, 0)
	require.Equal(t, 12800*time.Millisecond, b.Delay(start))
	require.Equal(t, 2800*time.Millisecond, b.Delay(start.Add(10*time.Second)))
	b.Spend(start.Add(10*time.Second), 0, 25)
	require.Equal(t, 4*time.Second, b.Delay(start.Add(10*time.Second)), "the longer of both waits")
	require.Zero(t, b.Delay(start.Add(14*time.Second)))
}

func TestBudget_CountsHalfUnitsAndSmallerOnes(t *testing.T) {
	t.Parallel()
	b := NewPace(1, 0)
	b.Spend(start, 1, 1e9)
	for range 6 {
		b.Spend(start, .5, 0)
	}
	require.Equal(t, 3*time.Second, b.Delay(start), "write units are unlimited")
	for range 10 {
		b.Spend(start, .0625, 0)
	}
	require.Equal(t, 3500*time.Millisecond, b.Delay(start), "the rest of .125 units is kept")
	for range 6 {
		b.Spend(start, .0625, 0)
	}
	require.Equal(t, 4*time.Second, b.Delay(start))
	slow := NewPace(.25, 0)
	slow.Spend(start, 2, 0)
	require.Equal(t, 6*time.Second, slow.Delay(start), "no budget saves less than half a unit")
}

func TestWith_KeepsEachBudgetOnce(t *testing.T) {
	t.Parallel()
	a, b := NewPace(1, 1), NewPace(2, 2)
	ctx := WithPace(WithPace(WithPace(WithPace(t.Context(), a), nil), b), a)
	require.Equal(t, []*Pace{a, b}, ctx.Value(PaceKey{}))
	require.Empty(t, t.Context().Value(PaceKey{}))
}

func TestWait_EndsAtOnceWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := NewPace(1, 0)
		b.Spend(time.Now(), 3600, 0)
		ctx, cancel := context.WithCancel(t.Context())
		begun := time.Now()
		time.AfterFunc(time.Second, cancel)
		require.ErrorIs(t, WaitPaces(ctx, []*Pace{b}), context.Canceled)
		require.Equal(t, time.Second, time.Since(begun))
	})
}

var errBase = errors.New("refused by the embedded value")

type byPointer struct{ bad bool }

func (b *byPointer) Validate() error {
	if b.bad {
		return errBase
	}
	return nil
}

type byValue struct{ bad bool }

func (b byValue) Validate() error { return (&byPointer{b.bad}).Validate() }

type (
	promotes       struct{ *byPointer }
	promotesCopy   struct{ *byValue }
	promotesAny    struct{ schema.Validates }
	deeper         struct{ promotes }
	behind         struct{ *promotes }
	generic[T any] struct {
		*byPointer
		Extra T
	}
	inner struct{ *byPointer }
	small struct { // its promoted method is short enough for the compiler to inline the body
		Name string
		*short
	}
	without struct {
		inner
		Name string
	}
)

type short struct{ err error }

func (s *short) Validate() error { return s.err }

// hides declares its own method, which reads through the embedded pointer.
type hides struct {
	*byPointer
	look bool
}

func (h hides) Validate() error {
	if h.look && h.bad { // a nil pointer
		return errBase
	}
	return errOwn
}

type hidesByPointer struct{ *byPointer }

func (h *hidesByPointer) Validate() error { return errOwn }

type genericHides[T any] struct {
	*byPointer
	Extra T
}

func (h genericHides[T]) Validate() error { return errOwn }

var errOwn = errors.New("refused by its own method")

func answered(v any) error {
	var found refusals
	found.callValidate(reflect.ValueOf(v), "")
	if len(found) == 0 {
		return nil
	}
	return found[0].err
}

func TestCallValidate_SkipsAMethodPromotedFromNil(t *testing.T) {
	t.Parallel()
	type local struct{ *byPointer }
	for _, v := range []any{
		promotes{}, promotesCopy{}, promotesAny{}, promotesAny{promotes{}}, deeper{}, behind{}, behind{&promotes{}}, generic[int]{}, without{}, local{}, small{},
	} {
		require.NoError(t, answered(v), "%T", v)
	}
	for _, v := range []any{
		promotes{&byPointer{true}}, promotesCopy{&byValue{true}}, promotesAny{byValue{true}}, promotesAny{promotes{&byPointer{true}}},
		deeper{promotes{&byPointer{true}}}, behind{&promotes{&byPointer{true}}}, generic[int]{byPointer: &byPointer{true}}, without{inner: inner{&byPointer{true}}}, local{&byPointer{true}}, small{short: &short{errBase}},
	} {
		require.ErrorIs(t, answered(v), errBase, "%T", v)
	}
}

func TestCallValidate_CallsTheTypesOwnMethodDespiteANilEmbeddedPointer(t *testing.T) {
	t.Parallel()
	require.Nil(t, hidesByPointer{}.byPointer)
	require.Nil(t, genericHides[int]{}.byPointer)
	for _, v := range []any{hides{}, hidesByPointer{}, genericHides[int]{}, genericHides[string]{Extra: "x"}} {
		require.ErrorIs(t, answered(v), errOwn, "%T", v)
	}
}

func TestCallValidate_DoesNotRecoverPanics(t *testing.T) {
	t.Parallel()
	require.Panics(t, func() { _ = answered(hides{look: true}) })
}
