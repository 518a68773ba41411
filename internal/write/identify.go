package write

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
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
	Kind  string    // of an own item: CurrentKind, or the kind of a related item
	Known bool      // of an own item: the kind is known
	Owner item.Item // primary key of the current item that an own item is or belongs to, or that a sentinel names
	Name  string    // of the constraint of a sentinel, as declared
}

// Marks of items that an entity has besides its own: its name, and one of these.
const (
	SentinelMark = "._unique."
	RewriteMark  = "._rewrite" // of the checkpoint of a rewrite
	CopyMark     = "._copy"    // of the state of a copy
)

// Identify returns what an item is to s.
func Identify(s *schema.Schema, it item.Item) Identity {
	mark, _ := it[schema.EntityAttr].(*types.AttributeValueMemberS)
	if mark != nil {
		if rest, begins := strings.CutPrefix(mark.Value, s.Name); begins {
			if name, ok := strings.CutPrefix(rest, SentinelMark); ok {
				return Identity{Role: Sentinel, Known: true, Owner: sentinelOwner(s, it), Name: name}
			}
			if rest == RewriteMark || rest == CopyMark {
				return Identity{Role: Checkpoint, Known: true}
			}
		}
	}
	if !PerhapsOwn(s).Holds(it) {
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

// own reports whether an item that passed [PerhapsOwn] is of the entity, which of its items it is, and to which it belongs.
func own(s *schema.Schema, it item.Item) (kind string, known bool, owner item.Item, ok bool) {
	if !s.HasMetadata {
		owner, kind, known = Owner(s, it)
		return kind, known, owner, !s.Templated || UnderPrefix(s, it)
	}
	if !UnderPrefix(s, it) {
		return "", false, nil, false
	}
	kind, known = KindByKey(s, it)
	owner = KeyOf(s, it)
	_, marked := it[schema.EntityAttr]
	if !known {
		return kind, false, owner, marked
	}
	for _, k := range RelatedKinds {
		if k.Kind == kind {
			owner, _ = CurrentKey(s, it, k.Infix)
		}
	}
	return kind, true, owner, true
}
