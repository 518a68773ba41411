package migrate

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/layout/identify"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// A State says how far a copy has come. It is stored in the table of the new items, for all programs.
type State string

// The states of a copy.
const (
	NotBegun State = ""         // nothing was copied yet
	Copying  State = "copying"  // the old items lead: the old program writes them, and copies follow
	Freezing State = "freezing" // the same, and the old program is asked to stop writing
	CutOver  State = "cut over" // the new items lead, and nothing is copied any more
)

// fences is the number of items that hold the state of a copy. Each source item depends on one of them. All are changed in one
// transaction.
const fences = 32

const copyInfix = identify.CopyMark

// Attributes of a fence; docs/evolution.md describes them.
const (
	stateAttr   = "state"
	sourceAttr  = "source"
	removedAttr = "removed"
	thawsAttr   = "thaws"
)

// fenceOf returns the number of the fence that a source item depends on.
func fenceOf(source item.Item) int {
	h := fnv.New32a()
	h.Write([]byte(layout.KeyID(source)))
	return int(h.Sum32() % fences)
}

// fenceKey returns the primary key of a fence.
func (c *copier) fenceKey(n int) item.Item {
	return stateKey(c.to.s, copyInfix, fmt.Sprintf("%s#%02d", c.name, n))
}

// inState holds for fences in a state.
func inState(s State) expr.Cond {
	return expr.Compare(expr.Eq, expr.Attr(stateAttr), item.S(string(s)))
}

// open holds for fences that let copies be written.
func open() expr.Cond { return expr.Any(inState(Copying), inState(Freezing)) }

// frozen holds for fences while the copy is frozen and was not thawed since one of them was read.
func frozen(read item.Item) expr.Cond {
	same := expr.Compare(expr.NotExists, expr.Attr(thawsAttr))
	if thaws := read[thawsAttr]; thaws != nil {
		same = expr.Compare(expr.Eq, expr.Attr(thawsAttr), thaws)
	}
	return expr.All(inState(Freezing), same)
}

// fence returns a fence as it is stored. Errors: [ErrCutOver]; *[CheckpointError] if it was removed.
func (c *copier) fence(n int, stored item.Item) (fence, error) {
	f := fence{Key: c.fenceKey(n), Count: expr.Attr(removedAttr)}
	switch State(text(stored[stateAttr])) {
	case Copying, Freezing:
	case CutOver:
		return f, ErrCutOver
	default:
		return f, &CheckpointError{c.name, "an item that holds its state was removed"}
	}
	f.Guard = expr.All(open(), expr.Compare(expr.Eq, expr.Attr(removedAttr), stored[removedAttr]))
	return f, nil
}

// readFence reads the fence of a source item.
func (c *copier) readFence(ctx context.Context, source item.Item) (fence, error) {
	n := fenceOf(source)
	stored, err := c.to.c.Runner.Get(ctx, c.to.c.Table, c.fenceKey(n), true)
	if err != nil {
		return fence{}, err
	}
	return c.fence(n, stored)
}

// readFences reads all fences.
func (c *copier) readFences(ctx context.Context) (all [fences]fence, err error) {
	keys := make([]engine.Key, fences)
	for n := range fences {
		keys[n] = engine.Key{Table: c.to.c.Table, Key: c.fenceKey(n)}
	}
	stored, err := c.to.c.Runner.GetMany(ctx, keys)
	for n := range fences {
		if err == nil {
			all[n], err = c.fence(n, stored[n])
		}
	}
	return all, err
}

// first reads the first fence, nil before there is one. The copy must be of the same source.
func (c *copier) first(ctx context.Context) (item.Item, error) {
	stored, err := c.to.c.Runner.Get(ctx, c.to.c.Table, c.fenceKey(0), true)
	if err == nil && stored != nil && text(stored[sourceAttr]) != c.source() {
		return nil, &CheckpointError{c.name, "it is the copy of another entity, or of another table; take another name"}
	}
	return stored, err
}

// state reads the state. The copy must be of the same source.
func (c *copier) state(ctx context.Context) (State, error) {
	stored, err := c.first(ctx)
	return State(text(stored[stateAttr])), err
}

// source names what is copied.
func (c *copier) source() string { return c.from.s.Prefix + " " + c.from.s.Name + " " + c.from.c.Table }

// begin makes the fences, unless they are there. It looks once, or each time if again is set. Error: [ErrCutOver].
func (c *copier) begin(ctx context.Context, again bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.begun && !again {
		return nil
	}
	is, err := c.state(ctx)
	if err == nil && is == NotBegun {
		err = c.setFences(ctx, func(n int) plan.Action {
			it := c.fenceKey(n)
			it[schema.EntityAttr] = item.S(c.to.s.Name + copyInfix)
			it[formatAttr], it[sourceAttr] = item.N(pointFormat), item.S(c.source())
			it[stateAttr], it[removedAttr] = item.S(string(Copying)), item.N("0")
			return plan.Action{Kind: plan.Put, Key: c.fenceKey(n), Item: it, Cond: c.to.s.Absent}
		})
		if errors.Is(err, entity.ErrConditionFailed) { // another program was first
			is, err = c.state(ctx)
		}
	}
	if err == nil && is == CutOver {
		err = ErrCutOver
	}
	c.begun = err == nil
	return err
}

// setFences writes all fences in one transaction.
func (c *copier) setFences(ctx context.Context, action func(n int) plan.Action) error {
	actions := make([]plan.Action, fences)
	for n := range fences {
		actions[n] = action(n)
		actions[n].Table = c.to.c.Table
	}
	_, err := c.to.c.Runner.Run(ctx, newFences(c.to.s, c.to.c.Table, actions))
	return err
}

// setTo sets the state.
func setTo(s State) expr.Change {
	return expr.Change{Kind: expr.Set, Path: expr.Attr(stateAttr), Value: item.S(string(s))}
}

// addOne adds one to a count.
func addOne(attr string) expr.Change {
	return expr.Change{Kind: expr.Add, Path: expr.Attr(attr), Value: item.N("1")}
}

// freeze asks the old program to stop. Errors are those of change.
func (c *copier) freeze(ctx context.Context) error { return c.change(ctx, open(), setTo(Freezing)) }

// thaw lets the old program write again. What a cut over has compared before does not count any more. Errors are those of change.
func (c *copier) thaw(ctx context.Context) error {
	return c.change(ctx, open(), setTo(Copying), addOne(thawsAttr))
}

// seal makes the fences refuse every write that was planned before. Errors are those of change.
func (c *copier) seal(ctx context.Context, guard expr.Cond) error {
	return c.change(ctx, guard, addOne(removedAttr))
}

// close ends the copy. Errors are those of change.
func (c *copier) close(ctx context.Context, guard expr.Cond) error {
	return c.change(ctx, guard, setTo(CutOver))
}

// change changes all fences under a guard. Errors: [ErrCutOver]; [ErrNotBegun]; *[UnsettledError] if the copy was thawed.
func (c *copier) change(ctx context.Context, guard expr.Cond, changes ...expr.Change) error {
	err := c.setFences(ctx, func(n int) plan.Action {
		return plan.Action{Kind: plan.Update, Key: c.fenceKey(n), Cond: guard, Changes: changes}
	})
	if errors.Is(err, entity.ErrConditionFailed) {
		return c.refused(ctx, guard)
	}
	return err
}

// refused returns why the fences do not hold a guard.
func (c *copier) refused(ctx context.Context, guard expr.Cond) error {
	stored, err := c.first(ctx)
	switch is := State(text(stored[stateAttr])); {
	case err != nil:
		return err
	case is == CutOver:
		return ErrCutOver
	case is == NotBegun:
		return ErrNotBegun
	case !guard.Holds(stored):
		return &UnsettledError{Thawed: true}
	}
	return &CheckpointError{c.name, "an item that holds its state was removed"}
}
