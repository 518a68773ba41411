package write

import (
	"errors"
	"math"
)

// UnitBudget is a number of capacity units per second that calls may consume together, made by entity.Budget. It is an option
// of every read, of batch writes, of Purge, and of Verify and Repair of unique values. It is safe for concurrent use, and may
// be given to several calls, also while others with it are running.
type UnitBudget struct {
	pace *Pace
	err  error
}

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

func (b *UnitBudget) set(to **Pace, all interface{ Add(error) }) {
	budget, err := PaceOf(b)
	if err != nil {
		all.Add(err)
		return
	}
	*to = budget
}

func (b *UnitBudget) read(s *Read)       { b.set(&s.Budget, s) }
func (b *UnitBudget) get(s *GetOptions)  { b.set(&s.Budget, s) }
func (b *UnitBudget) query(s *Query)     { b.set(&s.Budget, s) }
func (b *UnitBudget) scan(s *Scan)       { b.set(&s.Budget, s) }
func (b *UnitBudget) bounded(s *Bounded) { b.set(&s.Budget, s) }
func (b *UnitBudget) list(s *List)       { b.set(&s.Budget, s) }
func (b *UnitBudget) verify(s *Verify)   { b.set(&s.Budget, s) }
func (b *UnitBudget) batch(s *Batch)     { b.set(&s.Budget, s) }
func (b *UnitBudget) purge(s *Purge)     { b.set(&s.Budget, s) }
func (b *UnitBudget) pass(s *Pass)       { b.set(&s.Budget, s) }
func (b *UnitBudget) copy(s *Copy)       { b.set(&s.Budget, s) }
func (b *UnitBudget) rewrite(s *Rewrite) { b.set(&s.Budget, s) }
