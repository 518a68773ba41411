package unique

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// foreign is what a plan learns of a sentinel that it wanted to give up or to reserve and that another item has.
type foreign struct{ id string }

// Notes say what a printed plan adds for a mutation.
func (c *constraint) Notes(k plan.Kind) []string {
	switch k {
	case plan.Updated:
		return []string{"delete and put the sentinels of " + c.name + " if its value changes"}
	case plan.Deleted:
		return []string{"delete the sentinel of " + c.name}
	case plan.SoftDeleted:
		if c.reserves() {
			return []string{"put    the sentinel of " + c.name + ", reserved for the deleted copy"}
		}
		return []string{"delete the sentinel of " + c.name}
	}
	return []string{"put    the sentinel of " + c.name}
}

// reserves reports that deleted copies keep their unique values.
func (c *constraint) reserves() bool {
	m, ok := schema.Feature[plan.SoftDeleter](c.s)
	return ok && m.Reserves()
}

// Guard returns the actions that claim the value which m brings and give up the one that it ends. A value that does not
// change stays claimed as it is.
func (c *constraint) Guard(m *plan.Mutation) ([]plan.Part, error) {
	before, err := c.heldKey(m.Old)
	if err != nil {
		return nil, err
	}
	if m.Kind == plan.Updated && c.shared() && c.sameValues(m.Old, m.New) {
		return nil, nil // also when it is a value that is refused in new keys
	}
	after, err := c.sentinelKey(m.New)
	if err != nil {
		return nil, err
	}
	var parts []plan.Part
	switch {
	case m.Kind == plan.SoftDeleted && c.reserves():
		switch {
		case before == nil || learned(m, before):
		case c.empty(m.Old): // effect-dynamodb claims empty values too
			parts = append(parts, c.release(m, before))
		default:
			parts = append(parts, c.reserve(m, before))
		}
		return parts, nil
	case before != nil && after != nil && plan.KeyID(before) == plan.KeyID(after):
		return nil, nil
	}
	if before != nil && !learned(m, before) {
		parts = append(parts, c.release(m, before))
	}
	if after != nil {
		parts = append(parts, c.claim(m, after))
	}
	return parts, nil
}

// empty reports that an item has nothing to claim.
func (c *constraint) empty(it item.Item) bool {
	for _, a := range c.fields {
		if item.Absent(it[a.Name]) {
			return true
		}
	}
	return false
}

// sameValues reports that a write changes nothing that the constraint is made of.
func (c *constraint) sameValues(was, is item.Item) bool {
	for _, a := range c.fields {
		if !item.Equal(was[a.Name], is[a.Name]) {
			return false
		}
	}
	return true
}

func learned(m *plan.Mutation, k item.Item) bool {
	for _, x := range m.In.Hints {
		if f, ok := x.(foreign); ok && f.id == plan.KeyID(k) {
			return true
		}
	}
	return false
}

// claim takes the value under k for the item of m.
func (c *constraint) claim(m *plan.Mutation, k item.Item) plan.Part {
	return plan.Part{
		Action: c.put(m, k, c.expiry(m.In.Now)),
		Resolve: func(f plan.Failure) plan.Resolution {
			owner, err := ownerOf(f.Image)
			if err != nil {
				owner = Owner{}
			}
			return plan.Resolution{Err: &ViolationError{c.name, owner}}
		},
	}
}

// reserve keeps the value under k for the deleted copy of m, as long as there is one.
func (c *constraint) reserve(m *plan.Mutation, k item.Item) plan.Part {
	return plan.Part{Action: c.put(m, k, m.Copy[c.s.Options.TTL]), Resolve: lost(k)}
}

func (c *constraint) put(m *plan.Mutation, k item.Item, ttl types.AttributeValue) plan.Action {
	writeID := m.In.WriteID
	if c.shared() {
		writeID = ""
	}
	return plan.Action{
		Kind: plan.Put, Table: m.Op.Table, Key: k, Item: c.sentinel(k, m.Op.Key, writeID, ttl),
		Cond: c.free(m.Op.Key, m.In.Now), WriteID: writeID, Claims: true, Label: c.label(),
	}
}

// release gives the value under k up.
func (c *constraint) release(m *plan.Mutation, k item.Item) plan.Part {
	return plan.Part{
		Action:  plan.Action{Kind: plan.Delete, Table: m.Op.Table, Key: k, Cond: plan.Mine(c.s, m.Op.Key), Releases: true, Label: c.label()},
		Resolve: lost(k),
	}
}

// label stands for the sentinel's key, which holds the value, in printed plans.
func (c *constraint) label() string { return "sentinel of " + c.name }

// lost resolves a sentinel that another item has taken over: the item has nothing to give up there.
func lost(k item.Item) func(plan.Failure) plan.Resolution {
	return func(plan.Failure) plan.Resolution {
		return plan.Resolution{Replan: plan.ErrConflict, Hints: []any{foreign{plan.KeyID(k)}}}
	}
}
