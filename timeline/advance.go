package timeline

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// advance brings rows up to the events that follow their last one, and notes the groups whose rows lack earlier ones, or have
// them as they were before a touch.
type advance struct {
	b      *builder
	ctx    context.Context
	newest time.Time // when the last event was accepted that was known before

	row     *folded // of the group at hand, as it is stored
	exists  bool
	again   tally // events that are not after the row's last one
	settled bool  // the row has them
	isLate  bool
	news    int

	late    map[string]any
	rows    []*folded
	created int
	written int
}

func (a *advance) begin(group string) (*folded, error) {
	row, err := a.b.rows.get(a.ctx, a.b.id, group, entity.Consistent())
	if err != nil && !errors.Is(err, entity.ErrNotFound) {
		return nil, err
	}
	a.row, a.exists, a.again, a.settled, a.isLate, a.news = row, err == nil, tally{}, false, false, 0
	if !a.exists {
		return &folded{group: group}, nil
	}
	g := *row
	g.tally = maps.Clone(row.tally)
	return &g, nil
}

func (a *advance) admit(g *folded, r *record, position string) (bool, error) {
	switch {
	case a.isLate:
		return false, nil
	case !a.exists && a.b.Retention > 0: // its row may have ended
		x, err := a.b.all[r.origin].open(r)
		if err != nil {
			return false, a.b.named(err)
		}
		return false, a.isLateFor(g, a.b.byEvent[x.Name].key(x))
	case a.exists && (a.b.Descending || position <= g.position): // the row should have it
		a.again[minuteOf(r.moment())] += r.mark(position)
		return false, nil
	case a.exists: // there was no event before those of a group without a row
		if err := a.settle(g); err != nil || a.isLate {
			return false, err
		}
	}
	a.news++
	return true, nil
}

// settle compares what was read again with what the row has.
func (a *advance) settle(g *folded) error {
	if a.settled || maps.Equal(a.again, a.row.tally.since(a.newest)) {
		a.settled = true
		return nil
	}
	return a.isLateFor(g, a.row.key)
}

// isLateFor notes that the group has to be folded from its whole history.
func (a *advance) isLateFor(g *folded, k any) error {
	a.isLate = true
	if a.late == nil {
		a.late = map[string]any{}
	}
	if len(a.late) == mostRefolds {
		return &LimitError{View: a.b.Name, What: "groups to be folded from their whole history; rebuild instead", Limit: mostRefolds}
	}
	a.late[g.group] = k
	return nil
}

func (a *advance) done(g *folded) error {
	if a.exists && !a.isLate {
		if err := a.settle(g); err != nil {
			return err
		}
	}
	if !a.exists && (a.isLate || a.news > 0) {
		a.created++
	}
	if a.isLate || a.news == 0 {
		return nil
	}
	return a.put(g)
}

// put writes a row with the next batch.
func (a *advance) put(g *folded) error {
	if g == nil { // all its events have expired
		return nil
	}
	if a.rows = append(a.rows, g); len(a.rows) < rowsAtOnce {
		return nil
	}
	return a.flush()
}

func (a *advance) flush() error {
	err := a.b.putRows(a.ctx, a.rows)
	a.written += len(a.rows)
	if a.rows = a.rows[:0]; err == nil {
		err = a.b.beat(a.ctx)
	}
	return err
}
