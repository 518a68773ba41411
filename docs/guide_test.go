package docs_test

import (
	"go/format"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb"
)

// The Go blocks of the guide are one program, and its text block is what the program prints.
func TestGuide_ProgramPrintsWhatItSays(t *testing.T) {
	t.Parallel()
	page := read(t, "guide.md")
	var program strings.Builder
	for _, block := range blocks(page, "go") {
		formatted, err := format.Source([]byte(block))
		require.NoError(t, err)
		require.Equal(t, string(formatted), block, "a block is not formatted")
		program.WriteString(block + "\n")
	}
	prints := blocks(page, "text")
	require.Len(t, prints, 1)
	client, _ := localdb.Test(t)
	require.Equal(t, prints[0], output(t, "guide", program.String(), *client.Options().BaseEndpoint))
}

// blocks returns the fenced blocks of a language.
func blocks(page, language string) (found []string) {
	for {
		_, rest, ok := strings.Cut(page, "\n"+fence+language+"\n")
		if !ok {
			return found
		}
		block, after, _ := strings.Cut(rest, "\n"+fence)
		found, page = append(found, block+"\n"), after
	}
}
