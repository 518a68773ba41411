package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/versioned"
)

func TestSource_AHandleThatWasNotOpenedIsAMistake(t *testing.T) {
	t.Parallel()
	l := offline(t)
	for kind, s := range map[string]timeline.Source{
		"series": timeline.Series(&timeseries.Series[reading]{}, timeline.PartitionKey(func(string) reading { return reading{} }),
			timeline.Upgrade(1, func(r reading) (reading, error) { return r, nil })),
		"versions": timeline.Versions(&versioned.History[message]{}),
		"items":    timeline.Items(&entity.Store[message]{}, &entity.Fields[message]().Updated, timeline.AcceptedAt(&entity.Fields[message]().Created)),
	} {
		_, err := timeline.NewLog(l.db, timeline.Log{Name: "log", Source: timeline.Merge(s)})
		assert.Equal(t, []string{"EDD-9082"}, codes(err), kind)
		assert.ErrorContains(t, err, kind+": its handle is a zero value")
		assert.Contains(t, mistakes(l, l.sites(func(f *timeline.Projection[string, totals]) { f.Source = s })), "EDD-9082", kind)
	}
}

func TestNew_ADatabaseIsNeeded(t *testing.T) {
	t.Parallel()
	l := offline(t)
	_, fold := timeline.New(nil, l.sites())
	_, log := timeline.NewLog(nil, timeline.Log{Name: "log", Source: timeline.Series(l.readings)})
	_, feeds := timeline.NewLog(nil, timeline.Log{Name: "log", Source: timeline.Feed("f", []string{"a"}, nothing)})
	for what, err := range map[string]error{"New": fold, "NewLog": log, "NewLog of feeds": feeds} {
		var input *entity.InputError
		require.ErrorAs(t, err, &input, what)
		assert.Equal(t, "EDD-9133", input.Code, what)
		assert.ErrorContains(t, err, "the database is nil", what)
	}
}
