package tag_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/dynastrata/dynastrata/internal/tag"
)

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
		"x":                       "", // one letter is no misspelling of another
		"banana":                  "",
		"dvcd":                    "",
		strings.Repeat("x", 5000): "",
	}
	for word, want := range tests {
		assert.Equal(t, want, tag.Nearest(word, known), word)
	}
	assert.Empty(t, tag.Nearest("a", nil))
	assert.Equal(t, "aab", tag.Nearest("aax", []string{"aab", "aac"}), "the first of two")
	assert.Equal(t, "aax", tag.Nearest("aax", []string{"aab", "aax"}), "the nearer of two")
	assert.Equal(t, "größe", tag.Nearest("grösse", []string{"größe"}))
}
