package schemalock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/schemalock"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
)

type sample struct {
	_ entity.Key        `name:"Sample" pk:"$#{device}" sk:"$"`
	_ timeseries.Events `orderBy:"at"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Value  int       `dynamodbav:"value" entity:"append"`
}

type sum struct {
	Total int `dynamodbav:"total"`
}

// A read model is built again when it changes, which is no change of what a program keeps.
func TestOf_LeavesReadModelsOut(t *testing.T) {
	t.Parallel()
	db, err := entity.Open(nil, entity.Config{Table: "app"})
	require.NoError(t, err)
	samples, err := timeseries.New[sample](db)
	require.NoError(t, err)
	before := schemalock.Of(db)
	_, err = timeline.New(db, timeline.Projection[string, sum]{
		Name: "sums", Version: 1, Source: timeline.Series(samples), Start: func() sum { return sum{} },
		Handlers: []timeline.Handler[string, sum]{timeline.On("sample.appended", func(s sample) string { return s.Device },
			func(s *sum, e timeline.Event[sample]) error { s.Total += e.Payload.Value; return nil })},
	})
	require.NoError(t, err)
	require.Greater(t, len(db.Spec().Tables[0].Entities), 1, "the view has items of its own")
	require.Equal(t, before, schemalock.Of(db))
}
