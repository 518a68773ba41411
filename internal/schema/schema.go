// Package schema compiles a struct type with its tags into a Schema: the attributes, roles, keys and indexes of one
// entity. It reports every mistake of a declaration at once and does no I/O.
package schema

import (
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
)

// Names of the attributes that this module writes beside the model's; see docs/layout.md.
const (
	EntityAttr  = "__edd_e__" // entity name
	WriteAttr   = "_w"        // write id
	KindAttr    = "_k"        // kind of a satellite
	AtAttr      = "_at"       // when an event was accepted
	PayloadAttr = "_pv"       // payload version
	OpAttr      = "_op"       // marks a restored item
	TouchedAttr = "_touched"  // when the state of an item with history was touched last

	OwnerPKAttr = "_entity_pk" // partition key of the item that a sentinel belongs to
	OwnerSKAttr = "_entity_sk" // its sort key

	DeletedAttr   = "_deleted"  // marks a snapshot of a deleted state
	DeletedAtAttr = "deletedAt" // when an item was deleted, unless a field has the role deleted_at
)

// A satellite is an item that is stored with a current item. Its sort key is that of the current item, the infix of its
// kind, and what distinguishes it from others of that kind.
const (
	EventInfix    = "#e#"
	SnapshotInfix = "#v#"
	CopyInfix     = "#deleted#"
)

// reserved are the attributes that a model must not have, whatever the declaration: the library may write them now or
// when a feature is declared later.
var reserved = []string{EntityAttr, WriteAttr, KindAttr, AtAttr, PayloadAttr, OpAttr, TouchedAttr, DeletedAttr, OwnerPKAttr, OwnerSKAttr}

// Reserved reports that an attribute belongs to the library.
func Reserved(name string) bool { return slices.Contains(reserved, name) }

// Options are what the database contributes to every schema.
type Options struct {
	Name             string // replaces the declared entity name
	Namespace        string
	NamespaceVersion int
	PK, SK, TTL      string         // attribute names for `$` keys and expiry
	Precision        key.TimeFormat // of times without a format of their own
	Profile          Profile        // how keys and items are written
	Table            string         // replaces the declared logical table
	After            *time.Duration // how long items live, instead of what their declaration says; nil: as declared
	Derived          bool           // items are made from others: no part of the schema lock
	Validator        Validator      // checks values by their `validate` tags; nil: nobody does
	NoExpiry         bool           // items live for ever, whatever their declaration says, unless the caller gives them an end
}

// Schema is one compiled entity type. It is immutable once built.
type Schema struct {
	Unopened error // why nothing can be done: the schema stands for that of a handle that was not opened

	Type    reflect.Type
	Options Options
	Profile Profile              // how keys and items are written
	Name    string               // as declared
	Table   string               // logical table name, "" for the default
	Prefix  string               // what `$` stands for
	Payload int                  // payload version
	Stream  types.StreamViewType // what the table's stream must show, "" when nobody asks

	Attrs  []*Attr
	byName map[string]*Attr
	Codec  item.Codec

	PK, SK  *KeyDef // SK is nil for a partition-only key
	Indexes []*Index

	CreatedAt, UpdatedAt, DeletedAt, Version *Attr

	Templated     bool           // a `$` entity: its items carry __edd_e__
	HasMetadata   bool           // they carry _w and the like too
	Discriminator *Discriminator // of a verbatim entity that shares its table
	RelatedKeys   []*KeyDef      // sort keys of what features store beside the current item
	RelatedSuffix int            // longest suffix, in bytes, that a feature adds to the sort key; 0 when none does
	Expires       bool           // current items can carry the TTL attribute
	UsesTTL       bool           // some item of the entity carries the TTL attribute
	Handle        string         // constructor that must be used instead of entity.New, "" for entity.New

	Features []any // what declarations kept for their own package

	addresses map[address]*Node
	prototype reflect.Value
}

// Discriminator is the attribute that distinguishes a verbatim entity's items from others in its table.
type Discriminator struct{ Attr, Value string }

// Attr returns the attribute of that name, or nil.
func (s *Schema) Attr(name string) *Attr { return s.byName[name] }

// KeyPart reports that a is part of the primary key.
func (s *Schema) KeyPart(a *Attr) bool { return s.PK.Has(a) || s.SK.Has(a) }

// Keys returns every key half that is stored in an attribute of its own, table first.
func (s *Schema) Keys() []*KeyDef {
	keys := []*KeyDef{s.PK}
	if s.SK != nil {
		keys = append(keys, s.SK)
	}
	return append(keys, s.IndexKeys()...)
}

// IndexKeys returns the halves of all indexes. A local index shares the table's partition half, which is left out.
func (s *Schema) IndexKeys() []*KeyDef {
	var keys []*KeyDef
	for _, x := range s.Indexes {
		keys = append(keys, x.Keys()...)
	}
	return keys
}

// IndexNamed returns the index with that accessor, or nil.
func (s *Schema) IndexNamed(name string) *Index {
	for _, x := range s.Indexes {
		if x.Name == name {
			return x
		}
	}
	return nil
}

// OfCopies reports that the index holds deleted copies and no current items: its key has the time of the delete, which a
// current item has not.
func (s *Schema) HoldsCopies(x *Index) bool {
	return slices.ContainsFunc(x.Keys(), s.HasDeletedAt)
}

// Dated reports that the time of the delete is a part of an index half, so that deleted copies alone have that half.
func (s *Schema) HasDeletedAt(k *KeyDef) bool { return s.DeletedAt != nil && k.Has(s.DeletedAt) }

// UpdatedByAppends reports that appends keep half h in step, so that it does not have to be composed again by other writes.
func (s *Schema) UpdatedByAppends(k *KeyDef) bool {
	written := false
	for _, a := range k.Parts {
		if !s.KeyPart(a) && !a.Append && !a.Clock {
			return false
		}
		written = written || a.Append || a.Clock
	}
	return written
}

// CodecOf is the codec of items that are read through x; nil is the table.
func (s *Schema) CodecOf(x *Index) *item.Codec {
	if x != nil && x.codec != nil {
		return x.codec
	}
	return &s.Codec
}

// Carries reports that an item in the index has the attribute.
func (s *Schema) Carries(x *Index, name string) bool {
	if x.Project.All || slices.Contains(x.Project.Include, name) {
		return true
	}
	for _, k := range []*KeyDef{s.PK, s.SK, x.PK, x.SK} {
		if slices.Contains(k.Attributes(), name) {
			return true
		}
	}
	return false
}

// Feature returns what the declarations of T's kind kept, and whether there is any.
func Feature[F any](s *Schema) (F, bool) {
	for _, f := range s.Features {
		if x, ok := f.(F); ok {
			return x, true
		}
	}
	var none F
	return none, false
}

// Named is implemented by what a feature keeps, so that declarations can be checked against each other without the
// features knowing one another.
type Named interface{ FeatureName() string }

func featureNames(s *Schema) []string {
	var names []string
	for _, f := range s.Features {
		if n, ok := f.(Named); ok {
			names = append(names, n.FeatureName())
		}
	}
	return names
}

// Recorder is implemented by what a feature keeps: what it settles about items on disk. It is how package schemalock
// learns of features without knowing them.
type Recorder interface{ Record(*Schema) Record }

// Record is one declaration of a feature, with the settings that what is on disk depends on.
type Record struct {
	Name     string // versioned.Retain, unique.Constraint(email)
	Settings []Setting
}

// Setting is one of them, as text.
type Setting struct{ Key, Value string }

// ForHowLong is a duration as a tag would have it; 0 is for ever.
func DurationText(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d == 0:
		return "forever"
	case d%day == 0:
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	return d.String()
}
