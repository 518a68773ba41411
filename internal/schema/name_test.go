package schema_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/schema"
)

func TestName(t *testing.T) {
	for _, text := range []string{"a", "Z", "Telemetry", "by_account-2", "a9"} {
		t.Run(text, func(t *testing.T) { require.NoError(t, schema.Name(text)) })
	}
	requireMistakes(t, func(text string) (any, error) { return nil, schema.Name(text) }, []badText{
		{"", 0, "empty"},
		{"_a", 0, "begins with a letter"},
		{"9a", 0, "begins with a letter"},
		{"-a", 0, "begins with a letter"},
		{"a.b", 1, "only letters"},
		{"ab#", 2, "only letters"},
		{"a b", 1, "only letters"},
		{"née", 1, "only letters"},
	})
}

func TestNearest(t *testing.T) {
	known := []string{"name", "index", "orderBy", "ttl", "s", "deviceId"}
	tests := map[string]string{
		"name":                    "name",
		"nmae":                    "name", // neighbours swapped
		"nam":                     "name",
		"names":                   "name",
		"indx":                    "index",
		"orderby":                 "orderBy",
		"order_by":                "orderBy",
		"TTL":                     "ttl",
		"tll":                     "ttl",
		"device_id":               "deviceId",
		"":                        "",
		"x":                       "", // one letter is not a misspelling of another
		"banana":                  "",
		"dvcd":                    "",
		strings.Repeat("x", 5000): "",
	}
	for word, want := range tests {
		assert.Equal(t, want, schema.Nearest(word, known), word)
	}
	assert.Empty(t, schema.Nearest("a", nil))
	assert.Equal(t, "aab", schema.Nearest("aax", []string{"aab", "aac"}), "the first of two")
	assert.Equal(t, "aax", schema.Nearest("aax", []string{"aab", "aax"}), "the nearer of two")
	assert.Equal(t, "größe", schema.Nearest("grösse", []string{"größe"}))
}
