package item_test

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/internal/item"
)

// A set of the keys of a map is stored as that of a slice whose elements are in order.
func TestKeySet_IsStoredAsASortedSlice(t *testing.T) {
	type asMaps struct {
		Texts map[string]struct{}  `dynamodbav:"texts,stringset"`
		Nums  map[int8]struct{}    `dynamodbav:"nums,omitempty,numberset"`
		Bytes map[[2]byte]struct{} `dynamodbav:"bytes,omitempty,binaryset"`
	}
	type asSlices struct {
		Texts []string  `dynamodbav:"texts,stringset"`
		Bytes [][2]byte `dynamodbav:"bytes,omitempty,binaryset"`
	}
	for _, compiled := range []bool{true, false} {
		c := item.Codec{Sets: []string{"nums", "bytes"}}
		if compiled {
			require.True(t, c.Compile(reflect.TypeFor[asMaps]()))
		}
		rapid.Check(t, func(rt *rapid.T) {
			in := asMaps{
				Texts: rapid.MapOf(rapid.String(), rapid.Just(struct{}{})).Draw(rt, "texts"),
				Nums:  rapid.MapOf(rapid.Int8(), rapid.Just(struct{}{})).Draw(rt, "nums"),
			}
			var out asSlices
			for text := range in.Texts {
				out.Texts = append(out.Texts, text)
			}
			slices.Sort(out.Texts)
			for i := range rapid.IntRange(0, 3).Draw(rt, "bytes") {
				if in.Bytes == nil {
					in.Bytes = map[[2]byte]struct{}{}
				}
				in.Bytes[[2]byte{byte(9 - i), 1}] = struct{}{}
				out.Bytes = append(out.Bytes, [2]byte{byte(9 - i), 1})
			}
			slices.SortFunc(out.Bytes, func(a, b [2]byte) int { return bytes.Compare(a[:], b[:]) })
			it, err := c.Encode(reflect.ValueOf(in))
			require.NoError(rt, err)
			same, err := c.Encode(reflect.ValueOf(out))
			require.NoError(rt, err)
			require.Equal(rt, same["texts"], it["texts"])
			require.Equal(rt, same["bytes"], it["bytes"])
			var back asMaps
			require.NoError(rt, c.Decode(it, reflect.ValueOf(&back)))
			in.Texts, in.Nums = nilIfEmpty(in.Texts), nilIfEmpty(in.Nums) // an empty set has no other form than an absent one
			require.Equal(rt, in, back)
		})
	}
}

func nilIfEmpty[K comparable](m map[K]struct{}) map[K]struct{} {
	if len(m) == 0 {
		return nil
	}
	return m
}
