package unique

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// sentinelKey is the primary key of the sentinel of it's value; nil when the item claims none.
func (c *constraint) sentinelKey(it item.Item) (item.Item, error) {
	text, missing, err := c.key.Compose(it)
	switch {
	case err != nil:
		return nil, plan.KeyError(c.s, err)
	case len(missing) > 0:
		return nil, nil
	case len(text) > plan.MaxPartitionKey:
		return nil, &plan.SizeError{Type: c.s.Type.String(), Problem: fmt.Sprintf("the key of the unique value %s is %d bytes long, %d are allowed", c.name, len(text), plan.MaxPartitionKey)}
	}
	return item.Item{c.s.PK.Attributes()[0]: item.S(text), c.s.SK.Attributes()[0]: item.S(c.key.Prefix)}, nil
}

// heldKey is the primary key of the sentinel that a stored item has. In a shared table that may be one of a value which
// is refused in new keys.
func (c *constraint) storedKey(it item.Item) (item.Item, error) {
	if !c.shared() {
		return c.sentinelKey(it)
	}
	text, ok := c.key.AsStored(it)
	if !ok || len(text) > plan.MaxPartitionKey {
		return nil, nil
	}
	return item.Item{c.s.PK.Attributes()[0]: item.S(text), c.s.SK.Attributes()[0]: item.S(c.key.Prefix)}, nil
}

// shared reports that effect-dynamodb has sentinels of the entity too.
func (c *constraint) shared() bool { return c.s.Options.Interop && c.s.Templated }

// Sentinels are the keys under which the values of an item are claimed.
func (c *constraint) Sentinels(it item.Item) ([]item.Item, error) {
	k, err := c.storedKey(it)
	if k == nil {
		return nil, err
	}
	return []item.Item{k}, nil
}

// entityName is what __edd_e__ says on a sentinel.
func (c *constraint) entityName() string { return c.s.Name + "._unique." + c.name }

// sentinel is the item that claims the value under k for the item with the given primary key.
func (c *constraint) sentinel(k, primary item.Item, writeID string, ttl types.AttributeValue) item.Item {
	it := item.Clone(k)
	it[schema.EntityAttr] = item.S(c.entityName())
	if writeID != "" {
		it[schema.WriteAttr] = item.S(writeID)
	}
	it[schema.OwnerPKAttr], it[schema.OwnerSKAttr] = primary[c.s.PK.Attributes()[0]], primary[c.s.SK.Attributes()[0]]
	if ttl != nil {
		it[c.s.Options.TTL] = ttl
	}
	return it
}

// free holds when the value can be claimed: nobody has it, the item itself has it, or the claim has expired.
func (c *constraint) claimable(primary item.Item, now time.Time) expr.Cond {
	return expr.Any(plan.Absent(c.s), plan.Owned(c.s, primary), expr.Compare(expr.Le, expr.Attr(c.s.Options.TTL), plan.Seconds(now)))
}

// expiry is the time to live of a claim that is made now; nil for none.
func (c *constraint) expiry(now time.Time) types.AttributeValue {
	if c.ttl == 0 {
		return nil
	}
	return item.N(strconv.FormatInt(now.Unix()+int64(c.ttl/time.Second), 10))
}

// Owner is the primary key of the item that has a value, as it is stored.
type Owner struct{ PK, SK string }

// ViolationError is a write of a value that another item has. It never quotes the value.
type ViolationError struct {
	Constraint string // name of the constraint
	Owner      Owner  // the item that has the value
}

func (e *ViolationError) Error() string {
	return "the value of the unique constraint " + e.Constraint + " belongs to another item"
}

// errNoOwner is a sentinel that another program has written, without an owner.
var errNoOwner = errors.New("the sentinel names no owner")

// ownerOf reads the owner from a sentinel.
func ownerOf(sentinel item.Item) (Owner, error) {
	pk, ok := sentinel[schema.OwnerPKAttr].(*types.AttributeValueMemberS)
	sk, okSK := sentinel[schema.OwnerSKAttr].(*types.AttributeValueMemberS)
	if !ok || !okSK {
		return Owner{}, errNoOwner
	}
	return Owner{pk.Value, sk.Value}, nil
}

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
	before, err := c.storedKey(m.Old)
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
		case before == nil || takenOver(m, before):
		case c.claimsNothing(m.Old): // effect-dynamodb claims empty values too
			parts = append(parts, c.release(m, before))
		default:
			parts = append(parts, c.reserve(m, before))
		}
		return parts, nil
	case before != nil && after != nil && plan.KeyID(before) == plan.KeyID(after):
		return nil, nil
	}
	if before != nil && !takenOver(m, before) {
		parts = append(parts, c.release(m, before))
	}
	if after != nil {
		parts = append(parts, c.claim(m, after))
	}
	return parts, nil
}

// empty reports that an item has nothing to claim.
func (c *constraint) claimsNothing(it item.Item) bool {
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

func takenOver(m *plan.Mutation, k item.Item) bool {
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
		Cond: c.claimable(m.Op.Key, m.In.Now), WriteID: writeID, Claims: true, Label: c.label(),
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
