package timeline_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/versioned"
)

// offline is a lab without a database.
func offline(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, ctx: t.Context()}
	var err error
	l.db, err = entity.Open(nil, entity.Config{Table: "app"})
	require.NoError(t, err)
	l.readings, err = timeseries.New[reading](l.db)
	require.NoError(t, err)
	l.messages, err = entity.New[message](l.db)
	require.NoError(t, err)
	l.past, err = versioned.Of(l.messages)
	require.NoError(t, err)
	return l
}

// codes are the codes of the joined mistakes in err, each once.
func codes(err error) []string {
	var all []string
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, codes(e)...)
		}
		return all
	}
	var mistake *entity.SchemaError
	if errors.As(err, &mistake) {
		all = append(all, mistake.Code)
	}
	return all
}

type hidden struct{ count int }

func TestNew_ReportsEveryMistakeWithItsCode(t *testing.T) {
	t.Parallel()
	type fold = timeline.Projection[string, totals]
	for code, spoil := range map[string]func(*fold){
		"EDD-9080": func(f *fold) { f.Name = "by site" },
		"EDD-9081": func(f *fold) { f.Version = 0 },
		"EDD-9082": func(f *fold) { f.Source = timeline.Merge(f.Source, f.Source) },
		"EDD-9083": func(f *fold) { f.Handlers[0] = timeline.On("reading.append", bySite, sum) },
		"EDD-9086": func(f *fold) { f.Retention = time.Millisecond },
		"EDD-9087": func(f *fold) { f.PageSize = 101 },
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			l := offline(t)
			f := l.sites(spoil)
			_, err := timeline.New(l.db, f)
			assert.Contains(t, codes(err), code)
		})
	}
	t.Run("EDD-9084", func(t *testing.T) {
		l := offline(t)
		_, err := timeline.New(l.db, timeline.Projection[float64, totals]{
			Name: "f", Version: 1, Source: timeline.Series(l.readings),
			Handlers: []timeline.Handler[float64, totals]{timeline.On("reading.appended", func(r reading) float64 { return 1 }, sum)},
		})
		assert.Equal(t, []string{"EDD-9084"}, codes(err))
	})
	t.Run("EDD-9085", func(t *testing.T) {
		l := offline(t)
		count := func(s *hidden, _ timeline.Event[reading]) error { s.count++; return nil }
		_, err := timeline.New(l.db, timeline.Projection[string, hidden]{
			Name: "f", Version: 1, Source: timeline.Series(l.readings),
			Handlers: []timeline.Handler[string, hidden]{timeline.On("reading.appended", bySite, count)},
		})
		assert.Equal(t, []string{"EDD-9085"}, codes(err))
	})
	t.Run("EDD-9088", func(t *testing.T) {
		l := offline(t)
		f := l.sites()
		f.Source = timeline.Series(l.readings, timeline.Upgrade(1, func(r reading) (reading, error) { return r, nil }))
		_, err := timeline.New(l.db, f)
		assert.Equal(t, []string{"EDD-9088"}, codes(err))
	})
	t.Run("all at once", func(t *testing.T) {
		l := offline(t)
		_, err := timeline.New(l.db, fold{Name: "9", PageSize: -1})
		assert.Equal(t, []string{"EDD-9080", "EDD-9081", "EDD-9082", "EDD-9083", "EDD-9087"}, codes(err))
	})
}

func TestNew_RefusesAnotherDefinitionUnderOneName(t *testing.T) {
	t.Parallel()
	l := offline(t)
	_, err := timeline.New(l.db, l.sites())
	require.NoError(t, err)
	_, err = timeline.New(l.db, l.sites())
	require.NoError(t, err, "the same one twice is the same view")
	_, err = timeline.New(l.db, l.sites(func(f *timeline.Projection[string, totals]) { f.Version = 2 }))
	assert.Equal(t, []string{"EDD-9080"}, codes(err))
}

func TestPage_RefusesNumbersOutOfBounds(t *testing.T) {
	t.Parallel()
	l := offline(t)
	v := view(l, l.sites())
	for _, bad := range [][2]int{{-1, 10}, {1, -1}, {1, 101}} {
		_, err := v.Page(l.ctx, bad[0], bad[1])
		var input *entity.InputError
		require.ErrorAs(t, err, &input, "page %d of %d", bad[0], bad[1])
		assert.Equal(t, "EDD-9133", input.Code)
	}
}
