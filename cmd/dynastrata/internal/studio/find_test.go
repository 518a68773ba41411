package studio

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWordsOf_SplitsAsAPersonMeansIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"": nil, "  ": nil, "a": {"a"}, " a  b\tc ": {"a", "b", "c"}, `"a b" c`: {"a b", "c"}, `city="a b"`: {"city=a b"}, `O'Brien`: {"O'Brien"}, `"a b`: {`"a`, "b"}, `""`: {`""`}, `"a""b"`: {"a", "b"}, `a"b`: {`a"b`},
	} {
		require.Equal(t, want, wordsOf(text), text)
	}
}
