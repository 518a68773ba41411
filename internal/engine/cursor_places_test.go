package engine_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
)

var pk = []engine.Attr{{Name: "pk", Type: types.ScalarAttributeTypeS}}

func TestCodec_PositionsOfEachKindAreDistinct(t *testing.T) {
	t.Parallel()
	for _, c := range []engine.Codec{{}, codec(t, first)} {
		for _, at := range []engine.Position{{Key: item.Item{"pk": item.S("a")}}, {Key: item.Item{"pk": item.S("a")}, Before: true}, {Before: true}, {}} {
			text, err := c.EncodePosition("q", at)
			require.NoError(t, err)
			back, err := c.DecodePosition("q", text, pk)
			require.NoError(t, err)
			require.Equal(t, at, back)
			_, err = c.Decode("q", text, pk)
			if at.Before || at.Key == nil {
				require.Equal(t, engine.Malformed, reason(t, err), "readers in one direction refuse it")
			}
			_, err = c.DecodePlaces("q", text, [][]engine.Attr{pk}, pk)
			require.Equal(t, engine.Malformed, reason(t, err))
			_, err = c.DecodePosition("other", text, pk)
			require.Equal(t, engine.Foreign, reason(t, err))
		}
		empty := engine.Position{Key: item.Item{}, Before: true}
		text, err := c.EncodePosition("q", empty)
		require.NoError(t, err)
		back, err := c.DecodePosition("q", text, nil)
		require.NoError(t, err)
		require.Equal(t, empty, back, "a key that the query fixes is not the end")
	}
}

func TestCodec_Places(t *testing.T) {
	t.Parallel()
	for _, c := range []engine.Codec{{}, codec(t, first)} {
		at := engine.Places{Before: true, Keys: []item.Item{nil, {"pk": item.S("a")}, {}}, Bound: item.Item{"pk": item.S("b")}, In: 1}
		attrs := [][]engine.Attr{pk, pk, nil}
		text, err := c.EncodePlaces("q", at)
		require.NoError(t, err)
		back, err := c.DecodePlaces("q", text, attrs, pk)
		require.NoError(t, err)
		require.Equal(t, at, back)
		_, err = c.DecodePlaces("q", text, attrs[:2], pk)
		require.Equal(t, engine.Altered, reason(t, err))
		_, err = c.DecodePlaces("other", text, attrs, pk)
		require.Equal(t, engine.Foreign, reason(t, err))
		_, err = c.DecodePosition("q", text, pk)
		require.Equal(t, engine.Malformed, reason(t, err))
		for _, in := range []int{-1, 3} {
			at.In = in
			text, err = c.EncodePlaces("q", at)
			require.NoError(t, err)
			_, err = c.DecodePlaces("q", text, attrs, pk)
			require.Equal(t, engine.Altered, reason(t, err), "there is no such partition")
		}
		none := engine.Places{Keys: []item.Item{nil}}
		text, err = c.EncodePlaces("q", none)
		require.NoError(t, err)
		back, err = c.DecodePlaces("q", text, [][]engine.Attr{pk}, pk)
		require.NoError(t, err)
		require.Equal(t, none, back)
	}
}

func TestPlaces_TheBeginningIsBeforeEveryItem(t *testing.T) {
	t.Parallel()
	require.True(t, engine.Places{Keys: []item.Item{nil, nil}}.Beginning())
	for _, p := range []engine.Places{{Before: true}, {Bound: item.Item{}}, {Keys: []item.Item{nil, {}}}} {
		require.False(t, p.Beginning())
	}
}
