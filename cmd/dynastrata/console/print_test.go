package console

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Without a terminal, progress is a line before the first page, and then one each ten seconds at most.
func TestProgress_ComesByTime(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	now := noon
	p := newPrinter(&b, false, true)
	p.clock = func() time.Time { return now }
	bar := newProgress(p, "check app", 40_000)
	for n := range 40 {
		now = now.Add(time.Second)
		bar.set(int64(n+1) * 1000)
	}
	bar.clear()
	share := newShare(p, "build visits")
	now = now.Add(9 * time.Second)
	share.set(400)
	now = now.Add(time.Second)
	share.set(500)
	newProgress(p, "load", 0).set(20_000) // at once
	require.Equal(t, "check app: 0 of about 40000\ncheck app: 10000 of about 40000\ncheck app: 20000 of about 40000\ncheck app: 30000 of about 40000\ncheck app: 40000 of about 40000\n"+
		"build visits: 0 %\nbuild visits: 50 %\nload: 0\n", b.String())
}
