package write

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// keySegments returns the segments after the prefix of a `$` entity in its key: those of the template, and of a
// related item. It returns nil for a key of another entity, constraint or namespace.
func keySegments(s *schema.Schema, it item.Item) []string {
	h := s.SK
	if h == nil {
		h = s.PK
	}
	av, _ := it[h.Attr].(*types.AttributeValueMemberS)
	if av == nil {
		return nil
	}
	rest, ok := strings.CutPrefix(av.Value, h.Template.Prefix)
	if !ok || rest != "" && rest[0] != '#' {
		return nil
	}
	return strings.Split(rest, "#")
}

// UnderPrefix reports whether the key of an item or primary key has the prefix of the `$` entity s.
func UnderPrefix(s *schema.Schema, it item.Item) bool { return keySegments(s, it) != nil }

// KindByKey is [KindOf] for an item of which only the key counts, of an entity with hidden attributes. Escaped values
// contain no separator.
func KindByKey(s *schema.Schema, it item.Item) (kind string, known bool) {
	h := s.SK
	if h == nil {
		h = s.PK
	}
	n := len(h.Template.Segments)
	segments := keySegments(s, it)
	if segments == nil {
		return "", false
	}
	switch segments = segments[1:]; len(segments) {
	case n:
		return CurrentKind, true
	case n + 2:
		for _, x := range RelatedKinds {
			if "#"+segments[n]+"#" == x.Infix {
				return x.Kind, s.SK != nil
			}
		}
	}
	return "", false
}

// PerhapsOwn holds for the items of s, and for items under its prefix that lack the mark of an entity, as other programs
// may write them.
func PerhapsOwn(s *schema.Schema) expr.Cond {
	mark := expr.Attr(schema.EntityAttr)
	if !s.Templated {
		return expr.All(expr.Compare(expr.NotExists, mark), s.Own)
	}
	return expr.All(expr.Any(s.Own, expr.Compare(expr.NotExists, mark)), s.InNamespace)
}

// KindOf returns which of the entity's items it is: [CurrentKind], or the kind of a related item. known is false for a
// related item of a kind that this version does not know. In a table that is shared with effect-dynamodb, no attribute
// shows the kind. There KindOf compares the sort key with the attributes that it is composed of, and known is false for
// any other item.
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
		it[c.Path.Root()] = c.Value
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
	n, ok := it[s.Version.Name].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil {
		return 0
	}
	return v
}
