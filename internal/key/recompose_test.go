package key_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/internal/key"
)

func sharedTemplate() *key.Template {
	field := func(name string, kind key.Kind) *key.Field {
		return &key.Field{Attr: name, Kind: kind, Width: 16, Lower: kind == key.String, Plain: true}
	}
	return &key.Template{Prefix: "$app#v1#e", Escaped: true, Segments: []key.Segment{
		{Literal: "s_", Field: field("s", key.String)}, {Literal: "fixed"}, {Literal: "n_", Field: field("n", key.Int)}, {Literal: "b_", Field: field("b", key.Bool)},
	}}
}

func attrs(s, n string, b bool) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		"s": &types.AttributeValueMemberS{Value: s}, "n": &types.AttributeValueMemberN{Value: n}, "b": &types.AttributeValueMemberBOOL{Value: b},
	}
}

func TestRecomposes_ValuesThatAreRefusedWhenWritten(t *testing.T) {
	t.Parallel()
	for text, it := range map[string]map[string]types.AttributeValue{
		"$app#v1#e#s_dc 1#fixed#n_00000000000000-5#b_true":                                      attrs("DC 1", "-5", true),
		"$app#v1#e#s_o#1#fixed#n_00000000000001.5#b_false":                                      attrs("O#1", "1.5", false),
		"$app#v1#e#s_#fixed#n_0000000000000000#b_false":                                         attrs("", "0", false),
		"$app#v1#e#s_ü#fixed#n_100000000000000000000#b_true":                                    attrs("Ü", "100000000000000000000", true),
		"$app#v1#e#s_straße#fixed#n_0000000000000007#b_true":                                    attrs("STRAßE", "7", true),
		"$app#v1#e#s_ας#fixed#n_0000000000000007#b_true":                                        attrs("ΑΣ", "7", true), // JavaScript's final sigma
		"$app#v1#e#s_2026-01-02t12:04:05.678+09:00[asia/tokyo]#fixed#n_0000000000000001#b_true": attrs("2026-01-02T12:04:05.678+09:00[Asia/Tokyo]", "1", true),
	} {
		require.True(t, sharedTemplate().Recomposes(it, text), text)
		require.False(t, sharedTemplate().Recomposes(it, text+"#e#2026"), text)
	}
	missing := attrs("a", "1", true)
	delete(missing, "n")
	require.False(t, sharedTemplate().Recomposes(missing, "$app#v1#e#s_a#fixed#n_#b_true"))
	missing["n"] = &types.AttributeValueMemberNULL{Value: true}
	require.False(t, sharedTemplate().Recomposes(missing, "$app#v1#e#s_a#fixed#n_#b_true"))
}

func TestRecomposes_WhatIsComposedHere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		it := attrs(rapid.StringMatching(`[&-~]{1,20}`).Draw(t, "s"), rapid.StringMatching(`0|[1-9][0-9]{0,15}`).Draw(t, "n"), rapid.Bool().Draw(t, "b"))
		text, missing, err := sharedTemplate().Compose(it)
		require.NoError(t, err)
		require.Empty(t, missing)
		require.True(t, sharedTemplate().Recomposes(it, text), text)
	})
}

func TestPlain_RefusesWhatWouldBeEscapedOrIsBeyondASCII(t *testing.T) {
	t.Parallel()
	f := key.Field{Attr: "s", Plain: true}
	for c := rune(0); c < 0x250; c++ {
		text, err := f.Text(key.Value{S: "a" + string(c) + "z"})
		if c > '%' && c < 0x80 {
			require.NoError(t, err)
			require.Equal(t, text, key.Escape(text), "nothing is left to escape")
			continue
		}
		var part *key.PartError
		require.True(t, errors.As(err, &part), "%q", c)
		require.Equal(t, "s", part.Attr)
	}
}
