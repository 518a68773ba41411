package layout

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// NotExpired holds for items without a TTL attribute or with one after now.
func NotExpired(s *schema.Schema, now time.Time) expr.Cond {
	return expr.Any(expr.Compare(expr.NotExists, s.TTL), expr.Compare(expr.Gt, s.TTL, item.N(strconv.FormatInt(now.Unix(), 10))))
}

// AbsentOrExpired holds if the item does not exist or has expired.
func AbsentOrExpired(s *schema.Schema, now time.Time) expr.Cond {
	if !s.Expires {
		return s.Absent
	}
	return expr.Any(s.Absent, HasExpired(s, now))
}

// HasExpired holds for items whose TTL attribute is not after now.
func HasExpired(s *schema.Schema, now time.Time) expr.Cond {
	return expr.Compare(expr.Le, s.TTL, item.N(strconv.FormatInt(now.Unix(), 10)))
}

// Expired reports whether the item's TTL attribute is not after now.
func Expired(s *schema.Schema, it item.Item, now time.Time) bool {
	n, ok := it[s.Options.TTL].(*types.AttributeValueMemberN)
	if !ok {
		return false
	}
	at, err := item.ParseDecimal(n.Value)
	if err != nil {
		return false
	}
	limit, _ := item.ParseDecimal(strconv.FormatInt(now.Unix(), 10))
	return at.Cmp(limit) <= 0
}

// Live reports whether it exists and has not expired.
func Live(s *schema.Schema, it item.Item, now time.Time) bool {
	return it != nil && !(s.Expires && Expired(s, it, now))
}

// End returns when an item or sentinel of an entity whose items expire does so: its TTL attribute, nil if it lives
// forever. It is nil for other entities.
func End(s *schema.Schema, it item.Item) types.AttributeValue {
	if n, ok := it[s.Options.TTL].(*types.AttributeValueMemberN); ok && s.Expires {
		return n
	}
	return nil
}

// OwnedBy holds if a sentinel belongs to the item with the primary key.
func OwnedBy(s *schema.Schema, primary item.Item) expr.Cond {
	return expr.All(
		expr.Compare(expr.Eq, expr.Attr(schema.OwnerPKAttr), primary[s.PK.Attribute()]),
		expr.Compare(expr.Eq, expr.Attr(schema.OwnerSKAttr), primary[s.SK.Attribute()]),
	)
}

// FreeOrOwnedBy holds if there is no sentinel, or it belongs to the item with the primary key.
func FreeOrOwnedBy(s *schema.Schema, primary item.Item) expr.Cond {
	return expr.Any(s.Absent, OwnedBy(s, primary))
}

// SameState reports whether image is the state that was read.
func SameState(s *schema.Schema, read, image item.Item) bool {
	if image == nil {
		return false
	}
	if w, ok := read[schema.WriteAttr]; ok && s.HasMetadata {
		return item.Equal(w, image[schema.WriteAttr])
	}
	return item.Equal(&types.AttributeValueMemberM{Value: read}, &types.AttributeValueMemberM{Value: image})
}
