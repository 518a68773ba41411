// Package identify says what a stored item is to an entity, for what sees all items of a table: streams, checks and dumps.
package identify

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// A Role relates an item of a table to an entity.
type Role int

// The roles.
const (
	Foreign    Role = iota // of another entity, or of none
	Own                    // the current item or a related one
	Sentinel               // claims a unique value
	Checkpoint             // holds what package migrate keeps
)

// An Identity relates a stored item to an entity.
type Identity struct {
	Role  Role
	Kind  string    // of an own item: layout.CurrentKind, or the kind of a related item
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
	pk, _ := it[s.PK.Attribute()].(*types.AttributeValueMemberS)
	here := s.Prefix + "." // another namespace has the same names
	if mark != nil && pk != nil && (s.Prefix == "" || strings.HasPrefix(pk.Value, here)) {
		if rest, begins := strings.CutPrefix(mark.Value, s.Name); begins {
			if name, ok := strings.CutPrefix(rest, layout.SentinelMark); ok {
				owner := item.Item{s.PK.Attribute(): it[schema.OwnerPKAttr]} // parts that the item lacks are nil
				if s.SK != nil {
					owner[s.SK.Attribute()] = it[schema.OwnerSKAttr]
				}
				return Identity{Role: Sentinel, Known: true, Owner: owner, Name: name}
			}
			if rest == RewriteMark || rest == CopyMark {
				return Identity{Role: Checkpoint, Known: true}
			}
		}
	}
	if !ByEntityOrUnmarked(s).Holds(it) || (s.HasMetadata || s.Templated) && !UnderPrefix(s, it) {
		return Identity{}
	}
	own := Identity{Role: Own}
	if !s.HasMetadata {
		own.Owner, own.Kind, own.Known = layout.Owner(s, it)
		return own
	}
	own.Kind, own.Known = KindByKey(s, it)
	if _, marked := it[schema.EntityAttr]; !own.Known && !marked {
		return Identity{}
	}
	own.Owner = layout.KeyOf(s, it)
	for _, k := range layout.RelatedKinds {
		if own.Known && k.Kind == own.Kind {
			own.Owner, _ = layout.CurrentKey(s, it, k.Infix)
		}
	}
	return own
}

// keySegments returns the segments after the prefix of a `$` entity in its key: those of the template, and of a
// related item. It returns nil for a key of another entity, constraint or namespace.
func keySegments(s *schema.Schema, it item.Item) []string {
	h := cmp.Or(s.SK, s.PK)
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

// KindByKey is [layout.KindOf] for an item of which only the key counts, of an entity with hidden attributes. Escaped values
// contain no separator.
func KindByKey(s *schema.Schema, it item.Item) (kind string, known bool) {
	h := cmp.Or(s.SK, s.PK)
	n := len(h.Template.Segments)
	segments := keySegments(s, it)
	if segments == nil {
		return "", false
	}
	switch segments = segments[1:]; len(segments) {
	case n:
		return layout.CurrentKind, true
	case n + 3:
		return layout.EventKind, s.EventID != nil && "#"+segments[n]+"#" == schema.EventInfix
	case n + 2:
		for _, x := range layout.RelatedKinds {
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

// Elsewhere reports whether an item is marked as one of this library and is in another namespace, or another version of it, than
// s. Programs of that namespace know what it is.
func Elsewhere(s *schema.Schema, it item.Item) bool {
	h := cmp.Or(s.SK, s.PK)
	key, _ := it[h.Attribute()].(*types.AttributeValueMemberS)
	mark, _ := it[schema.EntityAttr].(*types.AttributeValueMemberS)
	if key == nil || mark == nil || mark.Value == "" {
		return false
	}
	namespace, rest, _ := strings.Cut(key.Value, "#v")
	version, _, ends := strings.Cut(rest, "#")
	_, err := strconv.Atoi(version)
	here := strings.HasPrefix(key.Value, strings.TrimSuffix(s.Prefix, strings.ToLower(s.Name)))
	return strings.HasPrefix(namespace, "$") && ends && err == nil && !here
}
