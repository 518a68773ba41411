package plan

import (
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
)

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
		b.Cond, b.Pin, b.Final = expr.All(a.Cond, b.Cond), expr.All(a.Pin, b.Pin), either(a.Final, b.Final)
		return b, b.Cond.Operators() <= MaxOperators
	case b.Kind == Check:
		return Merge(b, a)
	case a.Fold != nil && b.Fold != nil:
		return a.Fold.Fold(b.Fold)
	case a.Releases && b.Claims:
		// The item changes hands: it may go from its owner, or be free for the new one.
		b.Cond, b.Pin, b.Final = expr.Any(a.Cond, b.Cond), expr.Cond{}, nil
		return b, true
	case a.Releases && b.Releases:
		// Both give the item up, and one of them was planned from what is no longer true: it has one owner.
		b.Cond, b.Pin, b.Final = expr.Any(a.Cond, b.Cond), expr.Cond{}, nil
		return b, true
	case a.Claims && b.Releases:
		return Merge(b, a)
	}
	return Action{}, false
}

// either joins what is known of two conditions that must both hold.
func either(a, b func(item.Item) bool) func(item.Item) bool {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func(it item.Item) bool { return a(it) || b(it) }
}

// Mergeable reports, before anything is read, whether two ops about one item can go into one transaction.
func Mergeable(a, b *Op) bool { return a.Checks || b.Checks || a.Folds && b.Folds }
