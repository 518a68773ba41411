package migrate

import (
	"context"
	"errors"
	"slices"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/unique"
)

// settled says what became of the item under a key of the new side.
type settled struct {
	wrote   bool
	reason  Reason
	problem Problem
	err     error // of the function

	now    target    // of the source item when it was read
	holder item.Item // primary key of another source item whose copy is in the way; nil if none is
	place  item.Item // primary key of that copy
	stays  bool      // the stored item is as it should be, or its source cannot be converted
	looks  int       // how often both sides were read
}

// A purpose says what an item is settled for.
type purpose int

const (
	toFollow  purpose = iota // the item becomes what its source says
	toGiveWay                // a copy that is not what its source says is removed, so that another item can have its key or value
	toCompare                // nothing is written
)

// settle makes the item under a key what the source item says: its copy, or none. The state of the source that is written
// is never older than what was written before, see [newCopy].
func (c *copier) settle(ctx context.Context, key, source item.Item, why purpose) (r settled, err error) {
	looks := 0
	look := func(ctx context.Context, stored item.Item) (x copying, err error) {
		looks++
		r = settled{looks: looks}
		if why != toCompare {
			if x.fence, err = c.readFence(ctx, source); err != nil {
				return x, err
			}
		}
		image, err := c.from.c.Runner.Get(ctx, c.from.c.Table, source, true)
		if err != nil {
			return x, err
		}
		x.source = c.copyID(source, text(image[schema.WriteAttr]))
		r.now = c.target(image, c.now())
		return x, c.decide(&r, &x, key, source, stored, why)
	}
	if why == toCompare {
		stored, err := c.to.c.Runner.Get(ctx, c.to.c.Table, key, true)
		if err == nil {
			_, err = look(ctx, stored)
		}
		return r, err
	}
	result, err := persist(ctx, c.to.c.Runner, newCopy(c.to.s, c.to.c.Table, key, look))
	if err == nil {
		r.wrote = !result.Skipped
		return r, nil
	}
	var taken *unique.ViolationError
	if errors.As(err, &taken) && why == toFollow {
		if r.holder, r.place, err = c.holderOf(ctx, taken.Owner); err != nil {
			return r, err
		}
		r.problem = ValueTaken
		return r, nil
	}
	if r.problem = problemOf(err); r.problem == "" {
		return r, err
	}
	return r, nil
}

// decide completes what is due of a stored item, from the target of the source item.
func (c *copier) decide(r *settled, x *copying, key, source, stored item.Item, why purpose) error {
	now := c.now()
	live := layout.Live(c.to.s, stored, now)
	from, copied := c.originOf(stored)
	own := copied && layout.KeyID(from.key) == layout.KeyID(source)
	here := r.now.key != nil && layout.KeyID(r.now.key) == layout.KeyID(key)
	x.leave = true
	switch {
	case r.now.problem != "":
		r.problem, r.err, r.stays = r.now.problem, r.now.err, true
	case here && live && !copied:
		r.problem = Foreign
	case here && live && !own:
		r.problem, r.holder, r.place = KeyTaken, from.key, key
	case here:
		it, err := c.stamped(r.now, stored, now)
		if err != nil {
			return err
		}
		same := live && c.same(stored, it, key)
		switch {
		case same && (why != toFollow || from.state != "" && c.copyID(source, from.state) == x.source):
			r.stays = true
			return nil
		case why == toGiveWay:
			x.leave, x.remove = false, live
			r.reason = Extra
			return nil
		case !live:
			r.reason = Missing
		case !same:
			r.reason = Differing
		}
		x.leave, x.Item = false, it
	default:
		x.leave = false
		if x.remove = live && own; x.remove {
			r.reason = Extra
		}
	}
	return nil
}

// holderOf returns the source item whose copy has a unique value, and where that copy is; nil if no copy has it.
func (c *copier) holderOf(ctx context.Context, owner unique.Owner) (source, place item.Item, err error) {
	place = item.Item{c.to.s.PK.Attribute(): item.S(owner.PK), c.to.s.SK.Attribute(): item.S(owner.SK)}
	stored, err := c.to.c.Runner.Get(ctx, c.to.c.Table, place, true)
	if err != nil {
		return nil, nil, err
	}
	from, ok := c.originOf(stored)
	if !ok {
		return nil, nil, nil
	}
	return from.key, place, nil
}

// mostSteps limits the keys that are settled for one source item before it counts as busy.
const mostSteps = 20

// follow makes the new side what a source item says: at the keys where an earlier state of it may have been copied, and
// where it belongs now. It counts in part what was written; the result has the problem of the source item.
func (c *copier) follow(ctx context.Context, source item.Item, earlier []item.Item, part *Report) (settled, error) {
	r, yielded, err := c.followed(ctx, source, earlier, part)
	for n := 0; err == nil && n < len(yielded) && n < mostSteps; n++ { // what gave way gets its place again, or another one
		other, more, failed := c.followed(ctx, yielded[n], nil, part)
		if yielded, err = append(yielded, more...), failed; other.problem == Busy {
			r.problem = Busy
		}
	}
	return r, err
}

// followed is follow for one source item. It returns others whose copies had to give way.
func (c *copier) followed(ctx context.Context, source item.Item, earlier []item.Item, part *Report) (r settled, yielded []item.Item, err error) {
	due, at, vain := slices.Clone(earlier), "", 0
	for range mostSteps {
		var key item.Item
		switch {
		case len(due) > 0:
			key, due = due[0], due[1:]
		case at == "": // nothing was settled yet
			image, err := c.from.c.Runner.Get(ctx, c.from.c.Table, source, true)
			if err != nil {
				return r, yielded, err
			}
			if r.now = c.target(image, c.now()); r.now.key == nil {
				return settled{now: r.now, problem: r.now.problem, err: r.now.err}, yielded, nil
			}
			key = r.now.key
		case r.now.key != nil && r.problem == "" && layout.KeyID(r.now.key) != at:
			key = r.now.key // the source item moves, or was changed meanwhile
		default:
			return r, yielded, nil
		}
		at = layout.KeyID(key)
		if r, err = c.settle(ctx, key, source, toFollow); err != nil {
			return r, yielded, err
		}
		part.Conflicts += max(r.looks-1, 0)
		if r.problem == Busy { // also if other keys could be settled
			return r, yielded, nil
		}
		if r.wrote && r.reason != "" {
			part.wrote(r.reason, c.text(source))
		}
		if r.problem != KeyTaken && r.problem != ValueTaken {
			continue
		}
		again := vain < 2 // the copy in the way has just gone
		vain++
		if r.holder != nil {
			other, err := c.settle(ctx, r.place, r.holder, toGiveWay)
			if err != nil {
				return r, yielded, err
			}
			if again = !other.stays; other.wrote {
				part.wrote(Extra, c.text(r.holder))
				yielded = append(yielded, r.holder)
			}
		}
		if again {
			due = append([]item.Item{key}, due...)
		}
	}
	return settled{problem: Busy}, yielded, nil
}

// text formats the key of a source item for messages.
func (c *copier) text(source item.Item) string { return layout.KeyText(c.from.s, source) }

// wrote counts a write of a copy.
func (r *Report) wrote(reason Reason, key string) {
	r.Rewritten++
	r.Reasons[reason]++
	r.example(Example{Reason: reason, Key: key})
}

// stayed counts a source item whose problem, if it has one, keeps it from being copied. It is an error if strict is set.
func (r *Report) stayed(x settled, key string, strict bool) error {
	if x.problem == "" {
		return nil
	}
	r.Problems[x.problem]++
	r.example(Example{Problem: x.problem, Key: key, Err: x.err})
	if strict {
		return &ItemError{key, x.problem}
	}
	return nil
}
