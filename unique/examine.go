package unique

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

const (
	together = 9  // items that are read at one instant with a sentinel: 4 MB at most
	looks    = 10 // how often a value that is being written is looked at
)

// state is what there is of one item.
type state struct {
	key     item.Item
	current item.Item // nil if absent
	copied  item.Item // the newest deleted copy that reserves a value; nil if absent
}

// evidence is what a value's sentinel and items were at one instant.
type evidence struct {
	found    bool // something is wrong
	finding  Finding
	sentinel item.Item // nil if absent, or when it has expired
	havers   []state
	named    *state // whom the sentinel names, when that item has not the value
}

// examine looks at a suspect's sentinel, the item that it names and those that were seen with the value.
func (a *audit) examine(ctx context.Context, p *suspect) (evidence, error) {
	for range looks {
		e, settled, err := a.look(ctx, p)
		if err != nil || settled {
			return e, err
		}
	}
	return evidence{}, nil // writes go on and on, each of which keeps the two in step
}

// look is one attempt; settled is false when the sentinel was written meanwhile.
func (a *audit) look(ctx context.Context, p *suspect) (e evidence, settled bool, err error) {
	r, now := a.c.Runner, a.c.Runner.Clock()
	first, err := r.Get(ctx, a.c.Table, p.key, true)
	if err != nil {
		return e, false, err
	}
	owners := maps.Clone(p.owners)
	var named item.Item
	if first != nil && !plan.Expired(a.s, first, now) {
		e.sentinel = first
		if named = a.named(first); named != nil {
			owners[plan.KeyID(named)] = named
		}
	}
	states, settled, err := a.states(ctx, p.key, first, owners)
	if err != nil || !settled {
		return evidence{}, false, err
	}
	for _, x := range states {
		switch {
		case x.current != nil && a.has(x.current, p.key), x.current == nil && x.copied != nil && a.has(x.copied, p.key):
			e.havers = append(e.havers, x)
		case sameKey(x.key, named):
			e.named = &x
		}
	}
	e.resolve(a.s, p, named, a.k.ttl > 0)
	return e, true, nil
}

// resolve says what the evidence means. Claims of limited duration leave items behind that have a value without claiming it.
func (e *evidence) resolve(s *schema.Schema, p *suspect, named item.Item, limited bool) {
	f := Finding{suspect: p}
	mine := false
	for _, x := range e.havers {
		f.Owners = append(f.Owners, ownerIn(s, x.key))
		mine = mine || sameKey(x.key, named)
	}
	if named != nil {
		o := ownerIn(s, named)
		f.ClaimedBy = &o
	}
	n := len(e.havers)
	switch {
	case limited && (mine || e.sentinel == nil):
		return
	case limited:
		f.Kind, f.Owners = Orphaned, nil
	case n > 1:
		f.Kind = Conflict
	case n == 1 && mine, n == 0 && e.sentinel == nil:
		return
	case n == 0:
		f.Kind = Orphaned
	case e.sentinel != nil:
		f.Kind = WrongOwner
	default:
		f.Kind = MissingClaim
	}
	e.found, e.finding = true, f
}

// states reads the items with the sentinel, a few at one instant. settled is false when the sentinel is not what it was
// at first: whatever moves a value from one item to another, or into a deleted copy, writes it.
func (a *audit) states(ctx context.Context, key, first item.Item, owners map[string]item.Item) (states []state, settled bool, err error) {
	ids := slices.Sorted(maps.Keys(owners))
	for chunk := range slices.Chunk(ids, together) {
		keys := []exec.Key{{Table: a.c.Table, Key: key}}
		for _, id := range chunk {
			keys = append(keys, exec.Key{Table: a.c.Table, Key: owners[id]})
		}
		got, err := a.c.Runner.TransactGet(ctx, keys)
		if err != nil {
			return nil, false, err
		}
		if !same(got[0], first) {
			return nil, false, nil
		}
		for i, id := range chunk {
			x := state{key: owners[id]}
			if len(got[i+1]) > 0 {
				x.current = got[i+1]
			}
			states = append(states, x)
		}
	}
	if !a.k.reserves() {
		return states, true, nil
	}
	m, _ := schema.Feature[plan.SoftDeleter](a.s)
	for i := range states {
		if states[i].current == nil {
			op := &plan.Op{Schema: a.s, Table: a.c.Table, Key: states[i].key}
			if states[i].copied, err = plan.Newest(ctx, a.c.Runner, op, m.Infix(), a.c.Runner.Clock()); err != nil {
				return nil, false, err
			}
		}
	}
	last, err := a.c.Runner.Get(ctx, a.c.Table, key, true)
	return states, same(last, first), err
}

func same(x, y item.Item) bool {
	return item.Equal(&types.AttributeValueMemberM{Value: x}, &types.AttributeValueMemberM{Value: y})
}
