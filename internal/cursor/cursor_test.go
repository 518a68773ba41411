package cursor_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/cursor"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

var (
	first  = []byte("0123456789abcdef")
	second = []byte("fedcba9876543210")
)

// codec returns a codec with the given keys, the first of which writes.
func codec(t require.TestingT, keys ...[]byte) cursor.Codec {
	c := entity.Must(cursor.New(keys...))
	return c
}

// reason returns why a cursor was refused.
func reason(t require.TestingT, err error) cursor.Reason {
	var e *cursor.Error
	require.ErrorAs(t, err, &e)
	require.ErrorIs(t, err, sentinel.ErrInvalidCursor)
	require.Contains(t, e.Error(), sentinel.ErrInvalidCursor.Error()+": ")
	return e.Reason
}

// drawPosition draws a key of one to three attributes.
func drawPosition(t *rapid.T) (item.Item, []cursor.Attr) {
	it, attrs := item.Item{}, []cursor.Attr{}
	for _, name := range []string{"pk", "sk", "gsi1sk"}[:rapid.IntRange(1, 3).Draw(t, "attributes")] {
		a := cursor.Attr{Name: name, Type: rapid.SampledFrom([]types.ScalarAttributeType{"S", "N", "B"}).Draw(t, "type")}
		switch a.Type {
		case types.ScalarAttributeTypeS:
			it[name] = item.S(rapid.StringN(1, 40, -1).Draw(t, "text"))
		case types.ScalarAttributeTypeN:
			it[name] = item.N(rapid.StringMatching(`-?[1-9][0-9]{0,30}`).Draw(t, "number"))
		default:
			it[name] = &types.AttributeValueMemberB{Value: rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "bytes")}
		}
		attrs = append(attrs, a)
	}
	return it, attrs
}

func TestCodec_ReadsWhatItWrote(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom([]cursor.Codec{{}, codec(t, first), codec(t, second, first)}).Draw(t, "codec")
		key, attrs := drawPosition(t)
		query := rapid.String().Draw(t, "query")
		text := entity.Must(c.Encode(query, key))
		again := entity.Must(c.Encode(query, key))
		require.Equal(t, text, again, "a cursor depends on its key, query and position alone")
		got := entity.Must(c.Decode(query, text, attrs))
		require.Equal(t, key, got)
		other := rapid.String().Filter(func(s string) bool { return s != query }).Draw(t, "other query")
		_, err := c.Decode(other, text, attrs)
		require.Equal(t, cursor.Foreign, reason(t, err))
	})
}

func TestCodec_SealedCursorShowsNothing(t *testing.T) {
	t.Parallel()
	c := codec(t, first)
	text := entity.Must(c.Encode("partition hush", item.Item{"pk": item.S("hush"), "sk": item.S("hush-hush")}))
	body := entity.Must(base64.RawURLEncoding.DecodeString(text))
	require.NotContains(t, string(body), "hush")
	require.NotContains(t, string(body), "pk")
	open := entity.Must(cursor.Codec{}.Encode("q", item.Item{"pk": item.S("hush")}))
	body = entity.Must(base64.RawURLEncoding.DecodeString(open))
	require.Contains(t, string(body), "hush", "without a key anybody can read it: Allow keeps secrets out")
}

// Every flipped bit of a sealed cursor is detected.
func TestCodec_AlteredAnywhere(t *testing.T) {
	t.Parallel()
	c, attrs := codec(t, first, second), []cursor.Attr{{Name: "pk", Type: "S"}}
	text := entity.Must(c.Encode("q", item.Item{"pk": item.S("a")}))
	body := entity.Must(base64.RawURLEncoding.DecodeString(text))
	for i := range body {
		for bit := range 8 {
			bad := bytes.Clone(body)
			bad[i] ^= 1 << bit
			_, err := c.Decode("q", base64.RawURLEncoding.EncodeToString(bad), attrs)
			want := cursor.Altered
			if i == 0 && bad[0] != 3 {
				want = cursor.Malformed // the form; 3 is that of the other direction
			}
			require.Equal(t, want, reason(t, err), "byte %d", i)
		}
	}
	for n := range body {
		_, err := c.Decode("q", base64.RawURLEncoding.EncodeToString(body[:n]), attrs)
		require.Error(t, err)
	}
}

func TestCodec_Reasons(t *testing.T) {
	t.Parallel()
	attrs := []cursor.Attr{{Name: "pk", Type: "S"}}
	open := entity.Must(cursor.Codec{}.Encode("q", item.Item{"pk": item.S("a")}))
	sealed := entity.Must(codec(t, first).Encode("q", item.Item{"pk": item.S("a")}))
	for what, one := range map[string]struct {
		codec cursor.Codec
		text  string
		attrs []cursor.Attr
		want  cursor.Reason
	}{
		"no base64":             {cursor.Codec{}, "!", attrs, cursor.Malformed},
		"base64 of nothing":     {cursor.Codec{}, "AAAA", attrs, cursor.Malformed},
		"too long":              {codec(t, first), strings.Repeat("A", 20_000), attrs, cursor.Malformed},
		"open, key":             {codec(t, first), open, attrs, cursor.Malformed},
		"sealed, no key":        {cursor.Codec{}, sealed, attrs, cursor.Malformed},
		"another key attribute": {cursor.Codec{}, open, []cursor.Attr{{Name: "id", Type: "S"}}, cursor.Altered},
		"another type":          {cursor.Codec{}, open, []cursor.Attr{{Name: "pk", Type: "N"}}, cursor.Altered},
		"more attributes":       {cursor.Codec{}, open, append(attrs, cursor.Attr{Name: "sk", Type: "S"}), cursor.Altered},
	} {
		_, err := one.codec.Decode("q", one.text, one.attrs)
		require.Equal(t, one.want, reason(t, err), what)
	}
}

// Anybody can write an open cursor. What no query of this library wrote is refused.
func TestCodec_OpenCursorsThatWereMade(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte("q"))
	print := base64.StdEncoding.EncodeToString(sum[:12])
	attrs := func(of types.ScalarAttributeType) []cursor.Attr { return []cursor.Attr{{Name: "pk", Type: of}} }
	made := func(version int, key string) string {
		return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"v":%d,"q":"%s","k":%s}`, version, print, key))
	}
	for key, of := range map[string]types.ScalarAttributeType{`{"pk":{"s":"a"}}`: "S", `{"pk":{"n":"1"}}`: "N", `{"pk":{"b":"AQ=="}}`: "B"} {
		_, err := cursor.Codec{}.Decode("q", made(1, key), attrs(of))
		require.NoError(t, err)
		for _, version := range []int{-1, 0, 4} {
			_, err := cursor.Codec{}.DecodePosition("q", made(version, key), attrs(of))
			require.Equal(t, cursor.Malformed, reason(t, err))
		}
	}
	for key, of := range map[string]types.ScalarAttributeType{
		`{"pk":{"s":""}}`: "S", `{"pk":{"s":"a","n":"1"}}`: "S", `{"pk":{"n":"x"}}`: "N", `{"pk":{"n":"NaN"}}`: "N", `{"pk":{"b":""}}`: "B", `{"pk":{"b":"AQ==","s":"a"}}`: "B",
		`{"pk":{"s":"a"},"sk":{"s":"a"}}`: "S", `{}`: "S",
	} {
		_, err := cursor.Codec{}.Decode("q", made(1, key), attrs(of))
		require.Equal(t, cursor.Altered, reason(t, err), key)
	}
	good := made(1, `{"pk":{"s":"a"}}`)
	for _, text := range []string{good + "\n", good[:4] + "\r" + good[4:], made(1, `{"pk":{"s":"`+strings.Repeat("a", 13_000)+`"}}`)} {
		_, err := cursor.Codec{}.Decode("q", text, attrs("S"))
		require.Equal(t, cursor.Malformed, reason(t, err))
	}
}

// Under one key, a nonce that is used for two positions would show both.
func TestCodec_NoncesFollowThePosition(t *testing.T) {
	t.Parallel()
	c, nonces := codec(t, first), map[string]bool{}
	for _, query := range []string{"q", "other"} {
		for _, pk := range []string{"a", "b", "c"} {
			text := entity.Must(c.Encode(query, item.Item{"pk": item.S(pk)}))
			body := entity.Must(base64.RawURLEncoding.DecodeString(text))
			nonces[string(body[17:29])] = true
		}
	}
	require.Len(t, nonces, 6)
}

// Any text is refused with a reason, or is a position; nothing panics.
func FuzzDecode(f *testing.F) {
	attrs := []cursor.Attr{{Name: "pk", Type: "S"}, {Name: "n", Type: "N"}}
	open, sealed := cursor.Codec{}, codec(f, first, second)
	for _, c := range []cursor.Codec{open, sealed} {
		text := entity.Must(c.Encode("q", item.Item{"pk": item.S("a"), "n": item.N("1")}))
		f.Add(text)
		f.Add(text[:len(text)/2])
		f.Add(text + "A")
	}
	for _, seed := range []string{"", "Ag", "e30", "bnVsbA", strings.Repeat("A", 100)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range []cursor.Codec{open, sealed} {
			key, err := c.Decode("q", text, attrs)
			if err != nil {
				reason(t, err)
				continue
			}
			require.Len(t, key, len(attrs))
			again := entity.Must(c.Encode("q", key))
			back := entity.Must(c.Decode("q", again, attrs))
			require.Equal(t, key, back)
		}
	})
}

var pk = []cursor.Attr{{Name: "pk", Type: types.ScalarAttributeTypeS}}

func TestCodec_PositionsOfEachKindAreDistinct(t *testing.T) {
	t.Parallel()
	for _, c := range []cursor.Codec{{}, codec(t, first)} {
		for _, at := range []cursor.Position{{Key: item.Item{"pk": item.S("a")}}, {Key: item.Item{"pk": item.S("a")}, Before: true}, {Before: true}, {}} {
			text := entity.Must(c.EncodePosition("q", at))
			back := entity.Must(c.DecodePosition("q", text, pk))
			require.Equal(t, at, back)
			_, err := c.Decode("q", text, pk)
			if at.Before || at.Key == nil {
				require.Equal(t, cursor.Malformed, reason(t, err), "readers in one direction refuse it")
			}
			_, err = c.DecodePlaces("q", text, [][]cursor.Attr{pk}, pk)
			require.Equal(t, cursor.Malformed, reason(t, err))
			_, err = c.DecodePosition("other", text, pk)
			require.Equal(t, cursor.Foreign, reason(t, err))
		}
		empty := cursor.Position{Key: item.Item{}, Before: true}
		text := entity.Must(c.EncodePosition("q", empty))
		back := entity.Must(c.DecodePosition("q", text, nil))
		require.Equal(t, empty, back, "a key that the query fixes is not the end")
	}
}

func TestCodec_Places(t *testing.T) {
	t.Parallel()
	for _, c := range []cursor.Codec{{}, codec(t, first)} {
		at := cursor.Places{Before: true, Keys: []item.Item{nil, {"pk": item.S("a")}, {}}, Bound: item.Item{"pk": item.S("b")}, In: 1}
		attrs := [][]cursor.Attr{pk, pk, nil}
		text := entity.Must(c.EncodePlaces("q", at))
		back := entity.Must(c.DecodePlaces("q", text, attrs, pk))
		require.Equal(t, at, back)
		_, err := c.DecodePlaces("q", text, attrs[:2], pk)
		require.Equal(t, cursor.Altered, reason(t, err))
		_, err = c.DecodePlaces("other", text, attrs, pk)
		require.Equal(t, cursor.Foreign, reason(t, err))
		_, err = c.DecodePosition("q", text, pk)
		require.Equal(t, cursor.Malformed, reason(t, err))
		for _, in := range []int{-1, 3} {
			at.In = in
			text, err = c.EncodePlaces("q", at)
			require.NoError(t, err)
			_, err = c.DecodePlaces("q", text, attrs, pk)
			require.Equal(t, cursor.Altered, reason(t, err), "there is no such partition")
		}
		none := cursor.Places{Keys: []item.Item{nil}}
		text = entity.Must(c.EncodePlaces("q", none))
		back = entity.Must(c.DecodePlaces("q", text, [][]cursor.Attr{pk}, pk))
		require.Equal(t, none, back)
	}
}

func TestPlaces_TheBeginningIsBeforeEveryItem(t *testing.T) {
	t.Parallel()
	require.True(t, cursor.Places{Keys: []item.Item{nil, nil}}.Beginning())
	for _, p := range []cursor.Places{{Before: true}, {Bound: item.Item{}}, {Keys: []item.Item{nil, {}}}} {
		require.False(t, p.Beginning())
	}
}
