package unique

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/write"
)

// sentinelKey returns the primary key of the sentinel that claims an item's value; nil if the item claims none. Errors:
// *entitytype.InputError; *plan.SizeError.
func (c *constraint) sentinelKey(it item.Item) (item.Item, error) {
	text, missing, err := c.key.Compose(it)
	switch {
	case err != nil:
		return nil, write.KeyError(c.s, err)
	case len(missing) > 0:
		return nil, nil
	case len(text) > key.MaxPartitionKey:
		return nil, &write.SizeError{Type: c.s.Type.String(), Problem: fmt.Sprintf("the key of the unique value %s is %d bytes long, %d are allowed", c.name, len(text), key.MaxPartitionKey)}
	}
	return item.Item{c.s.PK.Attribute(): item.S(text), c.s.SK.Attribute(): item.S(c.SortKey())}, nil
}

// storedKey is sentinelKey for an item that is stored. In a shared table its value may be one that is refused in new
// keys.
func (c *constraint) storedKey(it item.Item) (item.Item, error) {
	if !c.shared() {
		return c.sentinelKey(it)
	}
	text, ok := c.key.AsStored(it)
	if !ok || len(text) > key.MaxPartitionKey {
		return nil, nil
	}
	return item.Item{c.s.PK.Attribute(): item.S(text), c.s.SK.Attribute(): item.S(c.SortKey())}, nil
}

// shared reports whether effect-dynamodb writes sentinels of the entity too.
func (c *constraint) shared() bool { return c.s.Profile.SharesSentinels() && c.s.Templated }

// Sentinels returns the keys of the sentinels that claim the values of a stored item.
func (c *constraint) Sentinels(it item.Item) ([]item.Item, error) {
	k, err := c.storedKey(it)
	if k == nil {
		return nil, err
	}
	return []item.Item{k}, nil
}

// SortKey returns the sort key of all sentinels.
func (c *constraint) SortKey() string { return c.key.Prefix }

// EntityName returns the entity name that is stored in a sentinel.
func (c *constraint) EntityName() string { return c.s.Name + write.SentinelMark + c.name }

// sentinel returns the item under k that claims a value for the item with the given primary key. ttl is nil for a claim
// that does not expire.
func (c *constraint) sentinel(k, primary item.Item, writeID string, ttl types.AttributeValue) item.Item {
	it := item.Clone(k)
	it[schema.EntityAttr] = item.S(c.EntityName())
	if writeID != "" {
		it[schema.WriteAttr] = item.S(writeID)
	}
	it[schema.OwnerPKAttr], it[schema.OwnerSKAttr] = primary[c.s.PK.Attribute()], primary[c.s.SK.Attribute()]
	if ttl != nil {
		it[c.s.Options.TTL] = ttl
	}
	return it
}

// claimable holds if the value is unclaimed, claimed by the item itself, or if the claim has expired.
func (c *constraint) claimable(primary item.Item, now time.Time) expr.Cond {
	return expr.Any(c.s.Absent, write.OwnedBy(c.s, primary), expr.Compare(expr.Le, expr.Attr(c.s.Options.TTL), write.Seconds(now)))
}

// ClaimEnd returns when a claim that the item owner makes now ends: with the item, or after the constraint's ttl; nil for
// never.
func (c *constraint) ClaimEnd(owner item.Item, now time.Time) types.AttributeValue {
	if c.ttl == 0 {
		return write.End(c.s, owner)
	}
	return item.N(strconv.FormatInt(now.Unix()+int64(c.ttl/time.Second), 10))
}

// Owner is the primary key, as stored, of the item that has a value.
type Owner struct{ PK, SK string }

// ViolationError is the error of a write of a value that another item has. Its message never contains the value.
type ViolationError struct {
	Constraint string // name of the constraint
	Owner      Owner  // the item that has the value
}

func (e *ViolationError) Error() string {
	return "the value of the unique constraint " + e.Constraint + " belongs to another item"
}

// Is reports whether target is the class of such errors, by which tracers know them.
func (e *ViolationError) Is(target error) bool { return target == entitytype.ErrTaken }

// errNoOwner is the error of a sentinel without an owner, which another program has written.
var errNoOwner = errors.New("the sentinel names no owner")

// ownerOf returns the owner that a sentinel names.
func ownerOf(sentinel item.Item) (Owner, error) {
	pk, ok := sentinel[schema.OwnerPKAttr].(*types.AttributeValueMemberS)
	sk, okSK := sentinel[schema.OwnerSKAttr].(*types.AttributeValueMemberS)
	if !ok || !okSK {
		return Owner{}, errNoOwner
	}
	return Owner{pk.Value, sk.Value}, nil
}

// reserves reports whether deleted copies keep their unique values.
func (c *constraint) reserves() bool {
	m, ok := schema.Feature[write.SoftDeleter](c.s)
	return ok && m.Reserves()
}

// Guard returns the actions that claim the new value of m and release the old one. If the value does not change, it
// returns none, or the one that gives the sentinel the new expiry of the item.
func (c *constraint) Guard(m *write.Mutation) ([]write.Part, error) {
	before, err := c.storedKey(m.Old)
	if err != nil {
		return nil, err
	}
	if m.Kind == write.Updated && c.shared() && c.sameValues(m.Old, m.New) {
		return nil, nil // the value may be one that is refused in new keys
	}
	after, err := c.sentinelKey(m.New)
	if err != nil {
		return nil, err
	}
	var parts []write.Part
	switch {
	case m.Kind == write.SoftDeleted && c.reserves():
		switch {
		case before == nil:
		case takenOver(m, before):
			parts = append(parts, c.leave(m, before))
		case c.ClaimsNothing(m.Old): // effect-dynamodb claims empty values too
			parts = append(parts, c.release(m, before))
		default:
			parts = append(parts, c.reserve(m, before))
		}
		return parts, nil
	case sameKey(before, after) && item.Equal(write.End(c.s, m.Old), write.End(c.s, m.New)):
		return nil, nil
	case sameKey(before, after):
		return []write.Part{c.claim(m, after)}, nil
	}
	switch {
	case before == nil:
	case takenOver(m, before):
		parts = append(parts, c.leave(m, before))
	default:
		parts = append(parts, c.release(m, before))
	}
	if after != nil {
		parts = append(parts, c.claim(m, after))
	}
	return parts, nil
}

// ClaimsNothing reports whether a field of the constraint is absent or empty in an item.
func (c *constraint) ClaimsNothing(it item.Item) bool {
	for _, a := range c.fields {
		if item.Absent(it[a.Name]) {
			return true
		}
	}
	return false
}

// sameValues reports whether two states agree in all fields of the constraint.
func (c *constraint) sameValues(was, is item.Item) bool {
	for _, a := range c.fields {
		if !item.Equal(was[a.Name], is[a.Name]) {
			return false
		}
	}
	return true
}

// takenOver reports whether an earlier attempt found that the sentinel under k belongs to another item.
func takenOver(m *write.Mutation, k item.Item) (taken bool) {
	for _, h := range m.In.Hints { // the last one counts
		if sentinel := h.Kind == write.SentinelForeign || h.Kind == write.SentinelReturned; sentinel && h.Key == write.KeyID(k) {
			taken = h.Kind == write.SentinelForeign
		}
	}
	return taken
}

// claim returns the part that claims the value under k for the item of m.
func (c *constraint) claim(m *write.Mutation, k item.Item) write.Part {
	return write.Part{
		Action: c.put(m, k, c.ClaimEnd(m.New, m.In.Now)),
		Resolve: func(f write.Failure) write.Resolution {
			owner, err := ownerOf(f.Image)
			if err != nil {
				owner = Owner{}
			}
			return write.Resolution{Err: &ViolationError{c.name, owner}}
		},
	}
}

// reserve returns the part that keeps the value under k for the deleted copy of m, until the copy expires.
func (c *constraint) reserve(m *write.Mutation, k item.Item) write.Part {
	return write.Part{Action: c.put(m, k, m.Copy[c.s.Options.TTL]), Resolve: lost(k)}
}

// put returns the put of the sentinel under k for the item of m.
func (c *constraint) put(m *write.Mutation, k item.Item, ttl types.AttributeValue) write.Action {
	a := c.Put(m.In, m.Op.Table, k, m.Op.Key, ttl)
	a.Cond, a.Claims = c.claimable(m.Op.Key, m.In.Now), true
	return a
}

// Put returns the put of the sentinel under k for the item with the primary key owner, without a condition.
func (c *constraint) Put(in write.Input, table string, k, owner item.Item, ttl types.AttributeValue) write.Action {
	writeID := in.WriteID
	if c.shared() {
		writeID = ""
	}
	return write.Action{Kind: write.Put, Table: table, Key: k, Item: c.sentinel(k, owner, writeID, ttl), WriteID: writeID, Label: c.label()}
}

// release returns the part that gives up the value under k.
func (c *constraint) release(m *write.Mutation, k item.Item) write.Part {
	a := c.Release(m.Op.Table, k)
	a.Cond, a.Releases = write.FreeOrOwnedBy(c.s, m.Op.Key), true
	return write.Part{Action: a, Resolve: lost(k)}
}

// Release returns the removal of the sentinel under k, without a condition.
func (c *constraint) Release(table string, k item.Item) write.Action {
	return write.Action{Kind: write.Delete, Table: table, Key: k, Label: c.label()}
}

// leave returns the part that leaves the value under k to another item, on the condition that it is not the item's own:
// the item may have got it back since it was found to be another's.
func (c *constraint) leave(m *write.Mutation, k item.Item) write.Part {
	return write.Part{
		Action: write.Action{Kind: write.Check, Table: m.Op.Table, Key: k, Cond: expr.Negate(write.OwnedBy(c.s, m.Op.Key)), Label: c.label()},
		Resolve: func(write.Failure) write.Resolution {
			return write.Resolution{Replan: entitytype.ErrConflict, Hints: []write.Hint{{Kind: write.SentinelReturned, Key: write.KeyID(k)}}}
		},
	}
}

// label replaces the sentinel's key, which contains the value, in printed plans.
func (c *constraint) label() string { return "sentinel of " + c.name }

// lost resolves the failed write of a sentinel that another item has taken over: the item has nothing to give up there.
func lost(k item.Item) func(write.Failure) write.Resolution {
	return func(write.Failure) write.Resolution {
		return write.Resolution{Replan: entitytype.ErrConflict, Hints: []write.Hint{{Kind: write.SentinelForeign, Key: write.KeyID(k)}}}
	}
}
