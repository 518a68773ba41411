package subject_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/contrib/subject"
	"github.com/dynastrata/dynastrata/entity"
)

// README.md has these numbers: of an item that is alone in its table, without the two scans.
func TestErase_Costs(t *testing.T) {
	for name, x := range map[string]struct {
		fill     func(l *lab)
		requests int
		estimate float64
	}{
		"item without history": {func(l *lab) { l.OK(l.Papers.Create(l.Ctx, paper{Shelf: "s", ID: "p", Author: ada})) }, 4, 2},
		"item with a version":  {func(l *lab) { l.OK(l.Orders.Create(l.Ctx, order{ID: "o", Customer: ada, Number: "n"})) }, 6, 6},
		"past state of another's": {func(l *lab) {
			f := entity.Fields[order]()
			l.OK(l.Orders.Create(l.Ctx, order{ID: "o", Customer: ada}))
			l.OK(l.Orders.Update(l.Ctx, order{ID: "o"}, entity.Set(&f.Customer, bob)))
		}, 3, 1},
		"event of another's series": {func(l *lab) {
			at := l.Clock.Now()
			l.OK(l.Trips.Append(l.Ctx, trip{Car: "c", Driver: ada, At: at}))
			l.OK(l.Trips.Append(l.Ctx, trip{Car: "c", Driver: bob, At: at.Add(1)}))
		}, 3, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			x.fill(l)
			s := l.subjects(subject.Options{})
			dry, err := s.Erase(l.Ctx, subject.Request{ID: ada, DryRun: true})
			require.NoError(t, err)
			l.Sent()
			r := l.erase(s, ada)
			assert.Equal(t, x.requests+2, r.Cost.Requests, "%v", l.Operations())
			assert.InDelta(t, x.estimate, dry.Estimate.WriteUnits, 0)
			assert.LessOrEqual(t, r.Cost.WriteUnits, x.estimate)
		})
	}
}
