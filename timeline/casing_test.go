package timeline_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/timeline"
)

// visit is what a feed gives.
type visit struct {
	Page string `dynamodbav:"page"`
}

// Groups are what key functions make of events; that a database writes keys in lower case is no reason to mix them up.
func TestRebuild_GroupsThatDifferInCaseAreDifferent(t *testing.T) {
	t.Parallel()
	pages := []string{"A", "a", "A#b", "a#B", "A b"}
	for name, change := range map[string]func(*entity.Config){
		"lower case": func(c *entity.Config) { c.Namespace.Casing = entity.LowerCase },
		"interop": func(c *entity.Config) {
			c.Namespace.Casing, c.Interop, c.TimePrecision = entity.LowerCase, true, time.Millisecond
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &lab{t: t, ctx: t.Context(), clock: &clock{now: noon}}
			l.raw, l.table = localdb.Test(t)
			cfg := entity.Config{Table: l.table, Clock: l.clock.Now}
			change(&cfg)
			var err error
			l.db, err = entity.Open(l.raw, cfg)
			require.NoError(t, err)
			v := view(l, timeline.Projection[string, int]{
				Name: "Visits", Version: 1, PageSize: 2,
				Source: timeline.Feed("visits", []string{"visit"}, func(context.Context) iter.Seq2[timeline.Event[visit], error] {
					return func(yield func(timeline.Event[visit], error) bool) {
						for i, page := range pages {
							if !yield(timeline.Event[visit]{Name: "visit", Key: fmt.Sprint(i), At: at(float64(i)), Payload: visit{page}}, nil) {
								return
							}
						}
					}
				}),
				Handlers: []timeline.Handler[string, int]{
					timeline.On("visit", func(v visit) string { return v.Page }, func(n *int, _ timeline.Event[visit]) error { *n++; return nil }),
				},
			})
			require.NoError(t, l.db.CreateTables(l.ctx))
			meta := rebuild(l, v)
			assert.EqualValues(t, len(pages), meta.Rows)
			var order []string
			for number := range 3 {
				p, err := v.Page(l.ctx, number+1, 0)
				require.NoError(t, err)
				for _, row := range p.Rows {
					assert.Equal(t, 1, row.State, row.Key)
					order = append(order, row.Key)
				}
			}
			assert.Equal(t, []string{"A", "A b", "A#b", "a", "a#B"}, order)
			for _, page := range pages {
				row, _, err := v.Get(l.ctx, page)
				require.NoError(t, err)
				assert.Equal(t, page, row.Key)
			}
		})
	}
}
