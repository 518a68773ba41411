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
type incrementalFold struct {
	b      *builder
	ctx    context.Context
	newest time.Time // when the last event was accepted that was known before

	row       *groupState // of the group at hand, as it is stored
	exists    bool
	reread    tally // events that are not after the row's last one
	settled   bool  // the row has them
	isLate    bool
	newEvents int

	late    map[string]any
	out     *rowWriter
	created int
}

func (a *incrementalFold) begin(group string) (*groupState, error) {
	row, err := a.b.rows.get(a.ctx, a.b.id, group, entity.Consistent())
	if err != nil && !errors.Is(err, entity.ErrNotFound) {
		return nil, err
	}
	a.row, a.exists, a.reread, a.settled, a.isLate, a.newEvents = row, err == nil, tally{}, false, false, 0
	if !a.exists {
		return &groupState{group: group}, nil
	}
	g := *row
	g.tally = maps.Clone(row.tally)
	return &g, nil
}

func (a *incrementalFold) admit(g *groupState, r *record, position string) (bool, error) {
	switch {
	case a.isLate:
		return false, nil
	case !a.exists && a.b.Retention > 0: // its row may have ended
		x, err := a.b.all[r.origin].decodeEvent(r)
		if err != nil {
			return false, a.b.withView(err)
		}
		return false, a.markLate(g, a.b.byEvent[x.Name].key(x))
	case a.exists && (a.b.Descending || position <= g.position): // the row should have it
		a.reread[minuteOf(r.lastAccept())] += r.fingerprint(position)
		return false, nil
	case a.exists: // there was no event before those of a group without a row
		if err := a.settle(g); err != nil || a.isLate {
			return false, err
		}
	}
	a.newEvents++
	return true, nil
}

// settle compares what was read again with what the row has.
func (a *incrementalFold) settle(g *groupState) error {
	if a.settled || maps.Equal(a.reread, a.row.tally.since(a.newest)) {
		a.settled = true
		return nil
	}
	return a.markLate(g, a.row.key)
}

// isLateFor notes that the group has to be folded from its whole history.
func (a *incrementalFold) markLate(g *groupState, k any) error {
	a.isLate = true
	if a.late == nil {
		a.late = map[string]any{}
	}
	if len(a.late) == maxRefolds {
		return &LimitError{View: a.b.Name, What: "groups to be folded from their whole history; rebuild instead", Limit: maxRefolds}
	}
	a.late[g.group] = k
	return nil
}

func (a *incrementalFold) done(g *groupState) error {
	if a.exists && !a.isLate {
		if err := a.settle(g); err != nil {
			return err
		}
	}
	if !a.exists && (a.isLate || a.newEvents > 0) {
		a.created++
	}
	if a.isLate || a.newEvents == 0 {
		return nil
	}
	return a.out.add(g)
}
