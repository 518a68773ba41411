package beamx

import (
	"sync"

	"github.com/dynastrata/dynastrata/entity"
)

// budgets has the budgets of this process. All bundles of a transform share one.
var budgets sync.Map // *entity.UnitBudget by budgetKey

type budgetKey struct {
	handle string
	Budget
}

// units returns the budget of this process for work on a handle; nil for no bound.
func (b Budget) units(handle string) *entity.UnitBudget {
	if b == (Budget{}) {
		return nil
	}
	shared, _ := budgets.LoadOrStore(budgetKey{handle, b}, entity.Budget(b.ReadUnits, b.WriteUnits))
	return shared.(*entity.UnitBudget)
}
