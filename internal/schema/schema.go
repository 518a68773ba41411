// Package schema compiles a struct type with its tags into a Schema: the attributes, roles, keys and indexes of one
// entity. It reports every mistake of a declaration at once and does no I/O.
package schema

import (
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/tag"
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

// KeyDef is the partition or sort key of the table or of an index.
type KeyDef struct {
	Attr     string // attribute that DynamoDB knows as the key; "" for a native key of several attributes
	Template *key.Template
	Native   []*Attr // set instead of Template: model attributes that are the key themselves
	Parts    []*Attr // model attributes that the half is made of, in order
	Prefixed bool    // a `$` template
	Type     types.ScalarAttributeType
}

// Written reports that the half is stored in an attribute of its own, which writes must keep in step.
func (h *KeyDef) Written() bool { return h != nil && h.Template != nil }

// Has reports that a is a part of the half.
func (h *KeyDef) Has(a *Attr) bool {
	if h != nil {
		for _, p := range h.Parts {
			if p == a {
				return true
			}
		}
	}
	return false
}

// Attributes are the names of the stored key attributes, in order.
func (h *KeyDef) Attributes() []string {
	switch {
	case h == nil:
		return nil
	case h.Template != nil:
		return []string{h.Attr}
	}
	names := make([]string, len(h.Native))
	for i, a := range h.Native {
		names[i] = a.Name
	}
	return names
}

// Index is a secondary index.
type Index struct {
	Name    string // accessor
	Index   string // physical name
	Local   bool
	PK, SK  *KeyDef
	Project Projection
	codec   *item.Codec // of items in the index, where it does not carry everything

	Complete bool // every item has all parts of the key: a write of one that lacks a part is an error
}

// Projection of an index: everything, or the keys and Include.
type Projection struct {
	All     bool
	Include []string
}

// Attr returns the attribute of that name, or nil.
func (s *Schema) Attr(name string) *Attr { return s.byName[name] }

// Keys returns every key half that is stored in an attribute of its own, table first.
func (s *Schema) Keys() []*KeyDef {
	halves := []*KeyDef{s.PK}
	if s.SK != nil {
		halves = append(halves, s.SK)
	}
	return append(halves, s.IndexKeys()...)
}

// IndexKeys returns the halves of all indexes. A local index shares the table's partition half, which is left out.
func (s *Schema) IndexKeys() []*KeyDef {
	var halves []*KeyDef
	for _, x := range s.Indexes {
		halves = append(halves, x.Keys()...)
	}
	return halves
}

// Keys returns the halves that the index has beside the table's own: a local index shares its partition half.
func (x *Index) Keys() []*KeyDef {
	var halves []*KeyDef
	if !x.Local {
		halves = append(halves, x.PK)
	}
	if x.SK != nil {
		halves = append(halves, x.SK)
	}
	return halves
}

// OfCopies reports that the index holds deleted copies and no current items: its key has the time of the delete, which a
// current item has not.
func (s *Schema) HoldsCopies(x *Index) bool {
	return slices.ContainsFunc(x.Keys(), s.HasDeletedAt)
}

// Dated reports that the time of the delete is a part of an index half, so that deleted copies alone have that half.
func (s *Schema) HasDeletedAt(h *KeyDef) bool { return s.DeletedAt != nil && h.Has(s.DeletedAt) }

// UpdatedByAppends reports that appends keep half h in step, so that it does not have to be composed again by other writes.
func (s *Schema) UpdatedByAppends(h *KeyDef) bool {
	written := false
	for _, a := range h.Parts {
		if !s.KeyPart(a) && !a.Append && !a.Clock {
			return false
		}
		written = written || a.Append || a.Clock
	}
	return written
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

// KeyPart reports that a is part of the primary key.
func (s *Schema) KeyPart(a *Attr) bool { return s.PK.Has(a) || s.SK.Has(a) }

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

// Attr is one top-level attribute of the model.
type Attr struct {
	Name    string
	Field   string // Go name, with embedded structs: Base.ID
	Index   []int
	Type    reflect.Type
	Tag     tag.Attribute
	Role    tag.Field
	Options string // codec options for single values: ",stringset"
	Rule    *Rule
	Time    bool           // the type is time.Time or a pointer to it
	Format  key.TimeFormat // of a Time, and of an Epoch
	Text    bool           // the value marshals itself as text, and is stored as that
	Epoch   bool           // an integer that counts seconds or milliseconds since 1970
	Key     *key.Field     // how it is written as a key part; nil when it cannot be one
	Scalar  types.ScalarAttributeType
	Append  bool   // written by Append only
	Clock   bool   // orderBy of a series: written by Append only
	zero    string // text of the zero value, of a Text
	exact   bool   // finer times are errors
	behind  bool   // inside an embedded pointer, which may be nil

	needing string // index with missing:"error" whose key is made of the attribute
}

// Required reports that items must have the attribute, and that it must not be empty.
func (a *Attr) Required() bool { return a.Role.Has(tag.Required) || a.needing != "" }

// NeededBy is the name of an index with missing:"error" whose key is made of the attribute; "" if absent.
func (a *Attr) NeededBy() string { return a.needing }

// WhyRequired says so, for messages.
func (a *Attr) WhyRequired() string {
	if a.needing != "" && !a.Role.Has(tag.Required) {
		return `the attribute is required: the key of the index ` + a.needing + ` is made of it, which has missing:"error"`
	}
	return "the attribute is required"
}

// Optional reports that a value of the struct can lack the attribute.
func (a *Attr) Optional() bool { return a.Nilable() || a.behind }

// WriteOnce reports that the attribute keeps the first value that is stored.
func (a *Attr) WriteOnce() bool { return a.Role.Has(tag.SetOnce) || a.Role.Has(tag.Immutable) }

// Nilable reports that the attribute can be "not given", which is different from its zero value.
func (a *Attr) Nilable() bool {
	switch a.Type.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	}
	return false
}

// Owned reports that the library sets the attribute itself: whole values' content is replaced, changes are refused.
func (a *Attr) Owned() bool {
	return a.Role.Has(tag.CreatedAt) || a.Role.Has(tag.UpdatedAt) || a.Role.Has(tag.Version) || a.Role.Has(tag.DeletedAt)
}

// Exact reports that a time finer than the attribute's format is an error, because the attribute is part of a key or
// orders a series.
func (a *Attr) Exact() bool { return a.exact }

// MakeExact is called by features for times that must not lose precision.
func (a *Attr) MakeExact() { a.exact = true }

// AllowsZero reports that the zero value is a real value of this key part.
func (a *Attr) AllowsZero() bool { return a.Role.Has(tag.Zero) }
