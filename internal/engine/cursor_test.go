package engine_test

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

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
)

var (
	first  = []byte("0123456789abcdef")
	second = []byte("fedcba9876543210")
)

// codec returns a codec with the given keys, the first of which writes.
func codec(t require.TestingT, keys ...[]byte) engine.Codec {
	c, err := engine.New(keys...)
	require.NoError(t, err)
	return c
}

// reason returns why a cursor was refused.
func reason(t require.TestingT, err error) engine.Reason {
	var e *engine.Error
	require.ErrorAs(t, err, &e)
	require.ErrorIs(t, err, entitytype.ErrInvalidCursor)
	require.Contains(t, e.Error(), entitytype.ErrInvalidCursor.Error()+": ")
	return e.Reason
}

// drawPosition draws a key of one to three attributes.
func drawPosition(t *rapid.T) (item.Item, []engine.Attr) {
	it, attrs := item.Item{}, []engine.Attr{}
	for _, name := range []string{"pk", "sk", "gsi1sk"}[:rapid.IntRange(1, 3).Draw(t, "attributes")] {
		a := engine.Attr{Name: name, Type: rapid.SampledFrom([]types.ScalarAttributeType{"S", "N", "B"}).Draw(t, "type")}
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
		c := rapid.SampledFrom([]engine.Codec{{}, codec(t, first), codec(t, second, first)}).Draw(t, "codec")
		key, attrs := drawPosition(t)
		query := rapid.String().Draw(t, "query")
		text, err := c.Encode(query, key)
		require.NoError(t, err)
		again, err := c.Encode(query, key)
		require.NoError(t, err)
		require.Equal(t, text, again, "a cursor depends on its key, query and position alone")
		got, err := c.Decode(query, text, attrs)
		require.NoError(t, err)
		require.Equal(t, key, got)
		other := rapid.String().Filter(func(s string) bool { return s != query }).Draw(t, "other query")
		_, err = c.Decode(other, text, attrs)
		require.Equal(t, engine.Foreign, reason(t, err))
	})
}

func TestCodec_SealedCursorShowsNothing(t *testing.T) {
	t.Parallel()
	c := codec(t, first)
	text, err := c.Encode("partition hush", item.Item{"pk": item.S("hush"), "sk": item.S("hush-hush")})
	require.NoError(t, err)
	body, err := base64.RawURLEncoding.DecodeString(text)
	require.NoError(t, err)
	require.NotContains(t, string(body), "hush")
	require.NotContains(t, string(body), "pk")
	open, err := engine.Codec{}.Encode("q", item.Item{"pk": item.S("hush")})
	require.NoError(t, err)
	body, err = base64.RawURLEncoding.DecodeString(open)
	require.NoError(t, err)
	require.Contains(t, string(body), "hush", "without a key anybody can read it: Allow keeps secrets out")
}

// Every flipped bit of a sealed cursor is detected.
func TestCodec_AlteredAnywhere(t *testing.T) {
	t.Parallel()
	c, attrs := codec(t, first, second), []engine.Attr{{Name: "pk", Type: "S"}}
	text, err := c.Encode("q", item.Item{"pk": item.S("a")})
	require.NoError(t, err)
	body, err := base64.RawURLEncoding.DecodeString(text)
	require.NoError(t, err)
	for i := range body {
		for bit := range 8 {
			bad := bytes.Clone(body)
			bad[i] ^= 1 << bit
			_, err := c.Decode("q", base64.RawURLEncoding.EncodeToString(bad), attrs)
			want := engine.Altered
			if i == 0 && bad[0] != 3 {
				want = engine.Malformed // the form; 3 is that of the other direction
			}
			require.Equal(t, want, reason(t, err), "byte %d", i)
		}
	}
	for n := range body {
		_, err := c.Decode("q", base64.RawURLEncoding.EncodeToString(body[:n]), attrs)
		require.Error(t, err)
	}
}

func TestCodec_KeysAreReplaced(t *testing.T) {
	t.Parallel()
	attrs, key := []engine.Attr{{Name: "pk", Type: "S"}}, item.Item{"pk": item.S("a")}
	old, err := codec(t, first).Encode("q", key)
	require.NoError(t, err)
	both := codec(t, second, first)
	_, err = both.Decode("q", old, attrs)
	require.NoError(t, err, "a cursor under the old key is read")
	fresh, err := both.Encode("q", key)
	require.NoError(t, err)
	_, err = codec(t, second).Decode("q", fresh, attrs)
	require.NoError(t, err, "new ones are written under the first key")
	_, err = codec(t, second).Decode("q", old, attrs)
	require.Equal(t, engine.Altered, reason(t, err))
	_, err = both.Decode("another query", old, attrs)
	require.Equal(t, engine.Foreign, reason(t, err))
}

func TestCodec_Reasons(t *testing.T) {
	t.Parallel()
	attrs := []engine.Attr{{Name: "pk", Type: "S"}}
	open, err := engine.Codec{}.Encode("q", item.Item{"pk": item.S("a")})
	require.NoError(t, err)
	sealed, err := codec(t, first).Encode("q", item.Item{"pk": item.S("a")})
	require.NoError(t, err)
	for what, one := range map[string]struct {
		codec engine.Codec
		text  string
		attrs []engine.Attr
		want  engine.Reason
	}{
		"no base64":             {engine.Codec{}, "!", attrs, engine.Malformed},
		"base64 of nothing":     {engine.Codec{}, "AAAA", attrs, engine.Malformed},
		"too long":              {codec(t, first), strings.Repeat("A", 20_000), attrs, engine.Malformed},
		"open, key":             {codec(t, first), open, attrs, engine.Malformed},
		"sealed, no key":        {engine.Codec{}, sealed, attrs, engine.Malformed},
		"another key attribute": {engine.Codec{}, open, []engine.Attr{{Name: "id", Type: "S"}}, engine.Altered},
		"another type":          {engine.Codec{}, open, []engine.Attr{{Name: "pk", Type: "N"}}, engine.Altered},
		"more attributes":       {engine.Codec{}, open, append(attrs, engine.Attr{Name: "sk", Type: "S"}), engine.Altered},
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
	attrs := func(of types.ScalarAttributeType) []engine.Attr { return []engine.Attr{{Name: "pk", Type: of}} }
	made := func(version int, key string) string {
		return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"v":%d,"q":"%s","k":%s}`, version, print, key))
	}
	for key, of := range map[string]types.ScalarAttributeType{`{"pk":{"s":"a"}}`: "S", `{"pk":{"n":"1"}}`: "N", `{"pk":{"b":"AQ=="}}`: "B"} {
		_, err := engine.Codec{}.Decode("q", made(1, key), attrs(of))
		require.NoError(t, err)
		for _, version := range []int{-1, 0, 4} {
			_, err := engine.Codec{}.DecodePosition("q", made(version, key), attrs(of))
			require.Equal(t, engine.Malformed, reason(t, err))
		}
	}
	for key, of := range map[string]types.ScalarAttributeType{
		`{"pk":{"s":""}}`: "S", `{"pk":{"s":"a","n":"1"}}`: "S", `{"pk":{"n":"x"}}`: "N", `{"pk":{"n":"NaN"}}`: "N", `{"pk":{"b":""}}`: "B", `{"pk":{"b":"AQ==","s":"a"}}`: "B",
		`{"pk":{"s":"a"},"sk":{"s":"a"}}`: "S", `{}`: "S",
	} {
		_, err := engine.Codec{}.Decode("q", made(1, key), attrs(of))
		require.Equal(t, engine.Altered, reason(t, err), key)
	}
	good := made(1, `{"pk":{"s":"a"}}`)
	for _, text := range []string{good + "\n", good[:4] + "\r" + good[4:], made(1, `{"pk":{"s":"`+strings.Repeat("a", 13_000)+`"}}`)} {
		_, err := engine.Codec{}.Decode("q", text, attrs("S"))
		require.Equal(t, engine.Malformed, reason(t, err))
	}
}

// Under one key, a nonce that is used for two positions would show both.
func TestCodec_NoncesFollowThePosition(t *testing.T) {
	t.Parallel()
	c, nonces := codec(t, first), map[string]bool{}
	for _, query := range []string{"q", "other"} {
		for _, pk := range []string{"a", "b", "c"} {
			text, err := c.Encode(query, item.Item{"pk": item.S(pk)})
			require.NoError(t, err)
			body, err := base64.RawURLEncoding.DecodeString(text)
			require.NoError(t, err)
			nonces[string(body[17:29])] = true
		}
	}
	require.Len(t, nonces, 6)
}

// Any text is refused with a reason, or is a position; nothing panics.
func FuzzDecode(f *testing.F) {
	attrs := []engine.Attr{{Name: "pk", Type: "S"}, {Name: "n", Type: "N"}}
	open, sealed := engine.Codec{}, codec(f, first, second)
	for _, c := range []engine.Codec{open, sealed} {
		text, err := c.Encode("q", item.Item{"pk": item.S("a"), "n": item.N("1")})
		require.NoError(f, err)
		f.Add(text)
		f.Add(text[:len(text)/2])
		f.Add(text + "A")
	}
	for _, seed := range []string{"", "Ag", "e30", "bnVsbA", strings.Repeat("A", 100)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range []engine.Codec{open, sealed} {
			key, err := c.Decode("q", text, attrs)
			if err != nil {
				reason(t, err)
				continue
			}
			require.Len(t, key, len(attrs))
			again, err := c.Encode("q", key)
			require.NoError(t, err)
			back, err := c.Decode("q", again, attrs)
			require.NoError(t, err)
			require.Equal(t, key, back)
		}
	})
}
