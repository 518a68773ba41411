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
func (c *constraint) heldKey(it item.Item) (item.Item, error) {
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
	k, err := c.heldKey(it)
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
func (c *constraint) free(primary item.Item, now time.Time) expr.Cond {
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
