package bind

import (
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/schema"
)

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
