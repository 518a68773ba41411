// Package identify says what a stored item is to an entity, for what sees all items of a table: streams, checks and dumps.
package identify

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/write"
)

// Role is what an item of a table is to an entity.
type Role int

// The roles.
const (
	Foreign    Role = iota // of another entity, or of none
	Own                    // the current item or a related one
	Sentinel               // claims a unique value
	Checkpoint             // holds what package migrate keeps
)

// Identity is what a stored item is to an entity.
type Identity struct {
	Role  Role
	Kind  string    // of an own item: write.CurrentKind, or the kind of a related item
	Known bool      // of an own item: the kind is known
	Owner item.Item // primary key of the current item that an own item is or belongs to, or that a sentinel names
	Name  string    // of the constraint of a sentinel, as declared
}

// Marks of items that package migrate keeps for an entity: its name, and one of these.
const (
	RewriteMark = "._rewrite" // of the checkpoint of a rewrite
	CopyMark    = "._copy"    // of the state of a copy
)

// Of returns what an item is to s.
func Of(s *schema.Schema, it item.Item) Identity {
	mark, _ := it[schema.EntityAttr].(*types.AttributeValueMemberS)
	if mark != nil {
		if rest, begins := strings.CutPrefix(mark.Value, s.Name); begins {
			if name, ok := strings.CutPrefix(rest, write.SentinelMark); ok {
				return Identity{Role: Sentinel, Known: true, Owner: sentinelOwner(s, it), Name: name}
			}
			if rest == RewriteMark || rest == CopyMark {
				return Identity{Role: Checkpoint, Known: true}
			}
		}
	}
	if !ByEntityOrUnmarked(s).Holds(it) {
		return Identity{}
	}
	kind, known, owner, own := own(s, it)
	if !own {
		return Identity{}
	}
	return Identity{Role: Own, Kind: kind, Known: known, Owner: owner}
}

// sentinelOwner returns the primary key that a sentinel names; parts that it lacks are nil.
func sentinelOwner(s *schema.Schema, it item.Item) item.Item {
	owner := item.Item{s.PK.Attribute(): it[schema.OwnerPKAttr]}
	if s.SK != nil {
		owner[s.SK.Attribute()] = it[schema.OwnerSKAttr]
	}
	return owner
}

// own reports whether an item that passed [ByEntityOrUnmarked] is of the entity, which of its items it is, and to which it belongs.
func own(s *schema.Schema, it item.Item) (kind string, known bool, owner item.Item, ok bool) {
	if !s.HasMetadata {
		owner, kind, known = write.Owner(s, it)
		return kind, known, owner, !s.Templated || UnderPrefix(s, it)
	}
	if !UnderPrefix(s, it) {
		return "", false, nil, false
	}
	kind, known = KindByKey(s, it)
	owner = write.KeyOf(s, it)
	_, marked := it[schema.EntityAttr]
	if !known {
		return kind, false, owner, marked
	}
	for _, k := range write.RelatedKinds {
		if k.Kind == kind {
			owner, _ = write.CurrentKey(s, it, k.Infix)
		}
	}
	return kind, true, owner, true
}

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

// KindByKey is [write.KindOf] for an item of which only the key counts, of an entity with hidden attributes. Escaped values
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
		return write.CurrentKind, true
	case n + 2:
		for _, x := range write.RelatedKinds {
			if "#"+segments[n]+"#" == x.Infix {
				return x.Kind, s.SK != nil
			}
		}
	}
	return "", false
}

// ByEntityOrUnmarked holds for the items of s, and for items under its prefix that lack the mark of an entity, as other programs
// may write them.
func ByEntityOrUnmarked(s *schema.Schema) expr.Cond {
	mark := expr.Attr(schema.EntityAttr)
	if !s.Templated {
		return expr.All(expr.Compare(expr.NotExists, mark), s.Own)
	}
	return expr.All(expr.Any(s.Own, expr.Compare(expr.NotExists, mark)), s.InNamespace)
}
