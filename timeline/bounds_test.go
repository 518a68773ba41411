package timeline_test

import (
	"context"
	"io/fs"
	"iter"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/timeline"
)

func TestNewLog_ChecksItsMemoryAsAFoldDoes(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	_, err := timeline.NewLog(l.db, timeline.Log{Name: "log", Source: timeline.Series(l.readings), Memory: -1})
	assert.Equal(t, []string{"EDD-9081"}, codes(err))
	assert.Equal(t, []string{"EDD-9081"}, mistakes(l, l.sites(func(f *timeline.Projection[string, totals]) { f.Memory = -1 })))

	l.append("d-1", "north", 1, 2, 3)
	missing := filepath.Join(t.TempDir(), "missing")
	log, err := timeline.NewLog(l.db, timeline.Log{Name: "log", Source: timeline.Series(l.readings), Memory: 1, TempDir: missing})
	require.NoError(t, err)
	p, err := log.Page(l.ctx, 1, 10)
	require.NoError(t, err, "three events are not worth a file")
	assert.Len(t, p.Rows, 3)
}

func TestFeed_PutsItsFilesWhereItIsTold(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	long := strings.Repeat("d", 128<<10)
	feed := timeline.Feed("export", []string{"taken"}, func(context.Context) iter.Seq2[event, error] {
		return func(yield func(event, error) bool) {
			for i := range 160 { // 20 MiB, more than is held of a feed
				e := event{Name: "taken", Key: strconv.Itoa(i), At: at(-1), AcceptedAt: at(-1), Payload: reading{Device: long, Site: "s"}}
				if !yield(e, nil) {
					return
				}
			}
		}
	})
	fold := fromFeed("feed", feed)
	fold.TempDir = filepath.Join(t.TempDir(), "missing")
	v := view(l, fold)
	log, err := timeline.NewLog(l.db, timeline.Log{Name: "log", Source: feed, TempDir: fold.TempDir})
	require.NoError(t, err)

	refused := func(what string, err error) {
		t.Helper()
		var there *fs.PathError
		if assert.ErrorAs(t, err, &there, what) {
			assert.Equal(t, fold.TempDir, filepath.Dir(there.Path), what)
		}
	}
	_, err = log.Page(l.ctx, 1, 10)
	refused("a log", err)
	_, err = v.Rebuild(l.ctx)
	refused("a build", err)
	_, err = v.Page(l.ctx, 1, 10, timeline.AsOf(noon))
	refused("rows of the past", err)
	_, _, err = v.Get(l.ctx, "s", timeline.FullReplay(), timeline.AsOf(noon))
	refused("a row of the past", err)
}
