package bind

import (
	"errors"
	"math"
)

// UnitBudget is a number of capacity units per second that calls may consume together, made by entity.Budget. It is an option
// of every read, of batch writes, of Purge, and of what package migrate does with whole tables. It is safe for concurrent use, and may
// be given to several calls, also while others with it are running.
type UnitBudget struct {
	pace *Pace
	err  error
}

func (*UnitBudget) get()     {}
func (*UnitBudget) query()   {}
func (*UnitBudget) scan()    {}
func (*UnitBudget) list()    {}
func (*UnitBudget) deleted() {}
func (*UnitBudget) batch()   {}
func (*UnitBudget) purge()   {}
func (*UnitBudget) rewrite() {}
func (*UnitBudget) copy()    {}
func (*UnitBudget) pass()    {}

// NewUnitBudget returns the budget for units per second. A mistake is an error of the verbs that get it.
func NewUnitBudget(read, write float64) *UnitBudget {
	valid := func(units float64) bool { return units >= 0 && !math.IsInf(units, 1) } // false for NaN
	switch {
	case !valid(read) || !valid(write):
		return &UnitBudget{err: errors.New("the units of Budget must be 0 or more")}
	case read == 0 && write == 0:
		return &UnitBudget{err: errors.New("a budget needs read or write units")}
	}
	return &UnitBudget{pace: NewPace(read, write)}
}

// PaceOf returns the budget of an option, or its mistake.
func PaceOf(b *UnitBudget) (*Pace, error) {
	if b == nil || b.pace == nil && b.err == nil {
		return nil, errEmpty
	}
	return b.pace, b.err
}

func (b *UnitBudget) set(o *Options) {
	var err error
	if o.Budget, err = PaceOf(b); err != nil {
		o.Add(err)
	}
}
