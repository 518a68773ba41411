package timeline

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// advance brings rows up to the events that follow their last one, and notes the groups with events that came late.
type advance[K comparable, S any] struct {
	b     *builder[K, S]
	ctx   context.Context
	since time.Time // events accepted after it are marked

	row    stored[K, S] // of the group at hand
	exists bool
	isLate bool
	news   int

	late    map[string]K
	rows    []*folded[K, S]
	created int
}

func (a *advance[K, S]) begin(group string) (*folded[K, S], error) {
	row, err := a.b.rows.Get(a.ctx, stored[K, S]{Generation: a.b.id, Group: group}, entity.Consistent())
	if err != nil && !errors.Is(err, entity.ErrNotFound) {
		return nil, err
	}
	a.row, a.exists, a.isLate, a.news = row, err == nil, false, 0
	if !a.exists {
		return &folded[K, S]{group: group, since: a.since}, nil
	}
	g := a.b.unfold(row)
	g.since, g.recent = a.since, nil
	return g, nil
}

func (a *advance[K, S]) admit(g *folded[K, S], r *record, position string) (bool, error) {
	switch {
	case a.isLate:
		return false, nil
	case a.exists && slices.Contains(a.row.Recent, mark(position)): // applied before
		if r.seen.After(a.since) {
			g.recent = append(g.recent, mark(position))
		}
		return false, nil
	case a.exists && !a.b.Descending && position > g.position:
	case !a.exists && a.b.Retention == 0: // there was no event before these, or there would be a row
	default:
		return false, a.isLateFor(g, r)
	}
	a.news++
	return true, nil
}

// isLateFor notes that the group has to be folded anew.
func (a *advance[K, S]) isLateFor(g *folded[K, S], r *record) error {
	a.isLate = true
	x, err := a.b.all[r.origin].open(r)
	if err != nil {
		return a.b.named(err)
	}
	if a.late == nil {
		a.late = map[string]K{}
	}
	if len(a.late) == mostRefolds {
		return &LimitError{View: a.b.Name, What: "groups to be folded anew; rebuild instead", Limit: mostRefolds}
	}
	a.late[g.group] = a.b.byEvent[x.Name].key(x)
	return nil
}

func (a *advance[K, S]) done(g *folded[K, S]) error {
	if !a.exists && (a.isLate || a.news > 0) {
		a.created++
	}
	if a.isLate || a.news == 0 {
		return nil
	}
	return a.put(g)
}

// put writes a row with the next batch.
func (a *advance[K, S]) put(g *folded[K, S]) error {
	if g == nil { // all its events have expired
		return nil
	}
	if a.rows = append(a.rows, g); len(a.rows) < rowsAtOnce {
		return nil
	}
	return a.flush()
}

func (a *advance[K, S]) flush() error {
	err := a.b.putRows(a.ctx, a.rows)
	if a.rows = a.rows[:0]; err == nil {
		err = a.b.beat(a.ctx)
	}
	return err
}
