package unique

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// sentinelKey returns the primary key of the sentinel that claims an item's value; nil if the item claims none. Errors:
// *entitytype.InputError; *plan.SizeError.
func (c *constraint) sentinelKey(it item.Item) (item.Item, error) {
	text, missing, err := c.key.Compose(it)
	switch {
	case err != nil:
		return nil, bind.KeyError(c.s, err)
	case len(missing) > 0:
		return nil, nil
	case len(text) > key.MaxPartitionKey:
		return nil, &bind.SizeError{Type: c.s.Type.String(), Problem: fmt.Sprintf("the key of the unique value %s is %d bytes long, %d are allowed", c.name, len(text), key.MaxPartitionKey)}
	}
	return item.Item{c.s.PK.Attribute(): item.S(text), c.s.SK.Attribute(): item.S(c.SortKey())}, nil
}

// storedKey is sentinelKey for an item that is stored. In a shared table its value may be one that is refused in new keys.
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
func (c *constraint) EntityName() string { return c.s.Name + layout.SentinelMark + c.name }

// ClaimEnd returns when a claim that the item owner makes now ends: with the item, or after the constraint's ttl; nil for never.
func (c *constraint) ClaimEnd(owner item.Item, now time.Time) types.AttributeValue {
	if c.ttl == 0 {
		return layout.End(c.s, owner)
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
func (e *ViolationError) Is(target error) bool { return target == sentinel.ErrTaken }

// ownerOf returns the owner that a sentinel names; false for one without an owner, which another program has written.
func ownerOf(sentinel item.Item) (Owner, bool) {
	pk, ok := sentinel[schema.OwnerPKAttr].(*types.AttributeValueMemberS)
	sk, okSK := sentinel[schema.OwnerSKAttr].(*types.AttributeValueMemberS)
	if !ok || !okSK {
		return Owner{}, false
	}
	return Owner{pk.Value, sk.Value}, true
}

// Guard returns the actions that claim the new value of m and release the old one. If the value does not change, it
// returns none, or the one that gives the sentinel the new expiry of the item.
func (c *constraint) Guard(m *plan.Mutation) ([]plan.Action, error) {
	before, err := c.storedKey(m.Old)
	if err != nil {
		return nil, err
	}
	changed := func(a *schema.Attr) bool { return !item.Equal(m.Old[a.Name], m.New[a.Name]) }
	if m.Kind == plan.Updated && c.shared() && !slices.ContainsFunc(c.fields, changed) {
		return nil, nil // the value may be one that is refused in new keys
	}
	after, err := c.sentinelKey(m.New)
	if err != nil {
		return nil, err
	}
	var parts []plan.Action
	switch {
	case m.Kind == plan.SoftDeleted && c.s.Reserves:
		switch {
		case before == nil:
		case m.In.Learned.Foreign(before):
			parts = append(parts, c.leave(m, before))
		case c.ClaimsNothing(m.Old): // effect-dynamodb claims empty values too
			parts = append(parts, c.release(m, before))
		default:
			parts = append(parts, c.reserve(m, before))
		}
		return parts, nil
	case sameKey(before, after) && item.Equal(layout.End(c.s, m.Old), layout.End(c.s, m.New)):
		return nil, nil
	case sameKey(before, after):
		return []plan.Action{c.claim(m, after)}, nil
	}
	if before != nil {
		parts = append(parts, c.GiveUp(m, before))
	}
	if after != nil {
		parts = append(parts, c.claim(m, after))
	}
	return parts, nil
}

// ClaimsNothing reports whether a field of the constraint is absent or empty in an item.
func (c *constraint) ClaimsNothing(it item.Item) bool {
	return slices.ContainsFunc(c.fields, func(a *schema.Attr) bool { return item.Absent(it[a.Name]) })
}

// claim returns the action that claims the value under k for the item of m.
func (c *constraint) claim(m *plan.Mutation, k item.Item) plan.Action {
	a := c.put(m, k, c.ClaimEnd(m.New, m.In.Now))
	a.Refusal = violated{c}
	return a
}

// violated is the Refusal of a claim: another item has the value.
type violated struct{ *constraint }

func (x violated) Refused(f plan.Failure, _ *plan.Input) plan.Resolution {
	owner, _ := ownerOf(f.Image)
	return plan.Resolution{Err: &ViolationError{x.name, owner}}
}

// reserve returns the action that keeps the value under k for the deleted copy of m, until the copy expires. With a ttl it keeps only
// a claim that has not ended.
func (c *constraint) reserve(m *plan.Mutation, k item.Item) plan.Action {
	a := c.put(m, k, m.Copy[c.s.Options.TTL])
	a.Refusal = moved{k, true}
	if c.ttl > 0 {
		a.Cond = c.held(m)
	}
	return a
}

// held holds for a sentinel that belongs to the item of m and, with a ttl, has not ended.
func (c *constraint) held(m *plan.Mutation) expr.Cond {
	own := layout.OwnedBy(c.s, m.Op.Key)
	if c.ttl > 0 {
		own = expr.All(own, layout.NotExpired(c.s, m.In.Now))
	}
	return own
}

// put returns the put of the sentinel under k for the item of m, if the value is unclaimed, claimed by the item itself, or the claim has
// expired.
func (c *constraint) put(m *plan.Mutation, k item.Item, ttl types.AttributeValue) plan.Action {
	a := c.Put(m.In, m.Op.Table, k, m.Op.Key, ttl)
	claimable := expr.Any(c.s.Absent, layout.OwnedBy(c.s, m.Op.Key), layout.HasExpired(c.s, m.In.Now))
	a.Cond, a.Claims = claimable, true
	return a
}

// Put returns the put of the sentinel under k for the item with the primary key owner, without a condition. ttl is nil for a claim that
// does not expire.
func (c *constraint) Put(in *plan.Input, table string, k, owner item.Item, ttl types.AttributeValue) plan.Action {
	it, writeID := item.Clone(k), in.WriteID
	it[schema.EntityAttr] = item.S(c.EntityName())
	it[schema.OwnerPKAttr], it[schema.OwnerSKAttr] = owner[c.s.PK.Attribute()], owner[c.s.SK.Attribute()]
	if c.shared() {
		writeID = ""
	}
	if writeID != "" {
		it[schema.WriteAttr] = item.S(writeID)
	}
	if ttl != nil {
		it[c.s.Options.TTL] = ttl
	}
	return plan.Action{Kind: plan.Put, Table: table, Key: k, Item: it, WriteID: writeID, Label: c.label()}
}

// GiveUp returns the action that releases the value under k, or leaves it to another item.
func (c *constraint) GiveUp(m *plan.Mutation, k item.Item) plan.Action {
	if m.In.Learned.Foreign(k) {
		return c.leave(m, k)
	}
	return c.release(m, k)
}

// release returns the action that gives up the value under k.
func (c *constraint) release(m *plan.Mutation, k item.Item) plan.Action {
	a := c.Release(m.Op.Table, k)
	a.Cond, a.Releases, a.Refusal = layout.FreeOrOwnedBy(c.s, m.Op.Key), true, moved{k, true}
	return a
}

// Release returns the removal of the sentinel under k, without a condition.
func (c *constraint) Release(table string, k item.Item) plan.Action {
	return plan.Action{Kind: plan.Delete, Table: table, Key: k, Label: c.label()}
}

// leave returns the action that leaves the value under k to another item, on the condition that it is not the item's own:
// the item may have got it back since it was found to be another's.
func (c *constraint) leave(m *plan.Mutation, k item.Item) plan.Action {
	return plan.Action{Kind: plan.Check, Table: m.Op.Table, Key: k, Cond: expr.Negate(c.held(m)), Label: c.label(), Refusal: moved{k, false}}
}

// label replaces the sentinel's key, which contains the value, in printed plans.
func (c *constraint) label() string { return "sentinel of " + c.name }

// moved is the Refusal of an action on the sentinel under key: it belongs to another item now, which the item has nothing to give up
// to, or the item has got it back.
type moved struct {
	key     item.Item
	foreign bool
}

func (x moved) Refused(_ plan.Failure, in *plan.Input) plan.Resolution {
	in.Learned.Sentinel(x.key, x.foreign)
	return plan.Resolution{Replan: sentinel.ErrConflict}
}
