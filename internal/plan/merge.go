package plan

import "github.com/dynastrata/dynastrata/internal/expr"

// Folder is an action that can be one with another of its kind on the same item: two appends of one series advance the
// current item once.
type Folder interface {
	// Fold returns the action that does both; false when other is of another kind.
	Fold(other Folder) (Action, bool)
}

// Merge returns the one action on an item that does what a and b do, under both conditions, which DynamoDB evaluates on
// the item as it was before the transaction. It is false where no action does exactly that.
func Merge(a, b Action) (Action, bool) {
	switch {
	case a.Kind == Check:
		b.Cond = expr.All(a.Cond, b.Cond)
		return b, b.Cond.Operators() <= MaxOperators
	case b.Kind == Check:
		return Merge(b, a)
	case a.Fold != nil && b.Fold != nil:
		return a.Fold.Fold(b.Fold)
	case a.Releases && b.Claims:
		// The item changes hands: it may go from its owner, or be free for the new one.
		b.Cond = expr.Any(a.Cond, b.Cond)
		return b, true
	case a.Claims && b.Releases:
		return Merge(b, a)
	}
	return Action{}, false
}

// Mergeable reports, before anything is read, whether two ops about one item can go into one transaction.
func Mergeable(a, b *Op) bool { return a.Checks || b.Checks || a.Folds && b.Folds }
