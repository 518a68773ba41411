package timeline_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Parcels are the tables of the deliveries.
type Parcels struct {
	Deliveries *timeseries.Series[Delivery]
	Journeys   *timeline.View[string, Journey] `entity:"journeys"`
	Backwards  *timeline.View[string, Journey] `entity:"backwards"`
}

// journeysOf is the projection of the deliveries, under a name.
func journeysOf(name string) func(p *Parcels) timeline.Projection[string, Journey] {
	return func(p *Parcels) timeline.Projection[string, Journey] {
		return timeline.Projection[string, Journey]{
			Name: name, Version: 1,
			Source: timeline.Series(p.Deliveries, timeline.PartitionKey(func(parcel string) Delivery { return Delivery{Parcel: parcel} })),
			Handlers: []timeline.Handler[string, Journey]{
				timeline.On("delivery.appended", parcelOf, func(*Journey, timeline.Event[Delivery]) error { return nil }),
			},
		}
	}
}

func TestBind_OpensViewsByTheirDefinition(t *testing.T) {
	t.Parallel()
	type app struct {
		Parcels Parcels
		Counts  *timeline.View[string, int]
	}
	counts := func(a *app) timeline.Projection[string, int] {
		return timeline.Projection[string, int]{
			Name: "counts", Version: 1, Source: timeline.Series(a.Parcels.Deliveries),
			Handlers: []timeline.Handler[string, int]{timeline.Ensure[Delivery, string, int]("delivery.appended", parcelOf)},
		}
	}
	bound, err := entity.Bind[app](depot("bind"), timeline.Define(counts), timeline.Define(journeysOf("backwards")), timeline.Define(journeysOf("journeys")))
	require.NoError(t, err)
	require.NotNil(t, bound.Counts)
	require.NotNil(t, bound.Parcels.Journeys)
	require.NotSame(t, bound.Parcels.Journeys, bound.Parcels.Backwards)
}

func TestBind_RefusesViewsWithoutADefinition(t *testing.T) {
	t.Parallel()
	type other struct{ Deliveries *timeseries.Series[Delivery] }
	type broken struct {
		Parcels
		Any *timeline.View[string, Journey]
		No  *entity.Store[Delivery]
	}
	for name, c := range map[string]struct {
		opts []entity.BindOption
		want string
	}{
		"several, no tag": {[]entity.BindOption{timeline.Define(journeysOf("a")), timeline.Define(journeysOf("b"))}, `EDD-9055 timeline_test.broken.Parcels.Journeys: no timeline.Define gives the projection "journeys"
EDD-9055 timeline_test.broken.Parcels.Backwards: no timeline.Define gives the projection "backwards"
EDD-9055 timeline_test.broken.Any: several projections fit; the tag entity:"name" says which
EDD-9055 timeline_test.broken.No: a second store of timeline_test.Delivery`},
		"of another struct": {[]entity.BindOption{timeline.Define(func(*other) timeline.Projection[string, Journey] { return timeline.Projection[string, Journey]{} })},
			`EDD-9055 timeline_test.broken.Parcels.Journeys: timeline.Define takes a timeline_test.other, which is neither this struct nor a part of it`},
		"no function": {[]entity.BindOption{timeline.Define[Parcels, string, Journey](nil)}, `EDD-9108`},
	} {
		_, err := entity.Bind[broken](depot("bind"), c.opts...)
		require.Error(t, err, name)
		require.True(t, strings.HasPrefix(err.Error(), c.want), "%s: %v", name, err)
	}
}
