package layout

import (
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// SentinelMark follows the name of an entity in the mark of an item that claims a unique value; the name of the constraint follows.
const SentinelMark = "._unique."

// KindOf returns which of the entity's items it is: [CurrentKind], or the kind of a related item. known is false for a related item of a
// kind that this version does not know. In a table that is shared with effect-dynamodb, no attribute shows the kind. There KindOf compares
// the sort key with the attributes that it is composed of, and known is false for any other item.
func KindOf(s *schema.Schema, it item.Item) (kind string, known bool) {
	if s.HasMetadata {
		av, related := it[schema.KindAttr].(*types.AttributeValueMemberS)
		if !related {
			return CurrentKind, true
		}
		return av.Value, slices.ContainsFunc(RelatedKinds, func(k RelatedKind) bool { return k.Kind == av.Value })
	}
	if !s.Templated || s.SK == nil {
		return CurrentKind, true
	}
	sk, _ := SortKey(s, it)
	if s.SK.Template.Recomposes(it, sk) {
		return CurrentKind, true
	}
	for _, k := range RelatedKinds {
		if current, ok := CurrentKey(s, it, k.Infix); ok {
			if own, _ := SortKey(s, current); s.SK.Template.Recomposes(it, own) {
				return k.Kind, true
			}
		}
	}
	return "", false
}

// Owner returns the primary key of the current item that it is or belongs to, with the results of [KindOf].
func Owner(s *schema.Schema, it item.Item) (primary item.Item, kind string, known bool) {
	kind, known = KindOf(s, it)
	for _, k := range RelatedKinds {
		if known && k.Kind == kind {
			primary, known = CurrentKey(s, it, k.Infix)
			return primary, kind, known
		}
	}
	return KeyOf(s, it), kind, known
}

// StateClock returns the attribute that, together with the version, identifies a state of an item even if Touch changed
// it: updated_at, else created_at, else nil.
func StateClock(s *schema.Schema) *schema.Attr {
	if s.UpdatedAt != nil {
		return s.UpdatedAt
	}
	return s.CreatedAt
}

// SetHidden sets the hidden attributes of an item.
func SetHidden(s *schema.Schema, it item.Item, writeID string) {
	for _, c := range s.Hidden {
		it[c.Path[0].Name] = c.Value
	}
	if s.HasMetadata {
		it[schema.WriteAttr] = item.S(writeID)
	}
}

// SetVersion sets the version of it if the entity has one.
func SetVersion(s *schema.Schema, it item.Item, version int64) {
	if s.Version != nil {
		it[s.Version.Name] = item.N(strconv.FormatInt(version, 10))
	}
}

// StoredVersion returns the version of it, or 0 if absent.
func StoredVersion(s *schema.Schema, it item.Item) int64 {
	if s.Version == nil {
		return 0
	}
	return VersionIn(it[s.Version.Name])
}

// VersionIn returns the version that an attribute holds; an absent one holds 0.
func VersionIn(av types.AttributeValue) int64 {
	n, ok := av.(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return 0
	}
	return v
}
