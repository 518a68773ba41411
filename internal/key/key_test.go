package key_test

import (
	"cmp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/dynastrata/dynastrata/internal/key"
)

func TestEscape(t *testing.T) {
	for s, want := range map[string]string{
		"":             "",
		"plain-é_~":    "plain-é_~",
		"a#b":          "a%23b",
		"$ %":          "%24%20%25",
		"\x00\x1f":     "%00%1F",
		"\n&'":         "%0A&'",
		"#":            "%23",
		"!\"":          "%21%22",
		"already%23":   "already%2523",
		"\U0010ffff #": "\U0010ffff%20%23",
	} {
		assert.Equal(t, want, key.Escape(s))
	}
}

func FuzzEscapeOrder(f *testing.F) {
	for _, seed := range [][2]string{
		{"", ""}, {"a", "a#"}, {"a#", "a$"}, {"%", "&"}, {"a%23", "a#"}, {"\x00", "%00"}, {"a", "a\x00"}, {"\x24", "\x25"},
		{"é", "e"}, {"\xff", "\xfe"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := key.Escape(a), key.Escape(b)
		want := cmp.Compare(a, b)
		if cmp.Compare(x, y) != want {
			t.Fatalf("%q and %q do not sort like %q and %q", x, y, a, b)
		}
		if want != 0 && cmp.Compare(x+"#y", y+"#x") != want {
			t.Fatalf("%q and %q do not sort like %q and %q when more follows", x, y, a, b)
		}
		if strings.HasPrefix(x, y) != strings.HasPrefix(a, b) {
			t.Fatalf("%q and %q share other beginnings than %q and %q", x, y, a, b)
		}
		if strings.ContainsAny(x, "#$") {
			t.Fatalf("%q contains a separator", x)
		}
	})
}
