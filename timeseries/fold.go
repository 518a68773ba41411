package timeseries

import (
	"slices"
	"strings"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// advancing is the advance of a current item that one transaction makes for several appends.
type advancing struct {
	evs  []*event // in ascending order
	user expr.Cond
	in   plan.Input // of the last event, whose write id the item carries
}

// Fold joins the advances of two appends of one series: the later events win.
func (a *advancing) Fold(other plan.Folder) (plan.Action, bool) {
	b, ok := other.(*advancing)
	if !ok {
		return plan.Action{}, false
	}
	byKey := func(x, y *event) int { return strings.Compare(x.sortKey, y.sortKey) }
	both := &advancing{slices.Concat(a.evs, b.evs), expr.All(a.user, b.user), a.in}
	slices.SortFunc(both.evs, byKey)
	for _, ev := range both.evs {
		if plan.SameCase(ev.c.Schema, ev.carried, both.evs[0].carried) != nil {
			return plan.Action{}, false
		}
	}
	if byKey(a.evs[len(a.evs)-1], b.evs[len(b.evs)-1]) < 0 {
		both.in = b.in
	}
	folded, err := both.action()
	return folded, err == nil
}

func (a *advancing) action() (plan.Action, error) {
	act, err := advance(a.evs, a.evs[0], a.user, a.in)
	act.Fold = a
	return act, err
}
