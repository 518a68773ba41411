// Package schema compiles a struct type with its tags into a Schema: the attributes, roles, keys and indexes of one
// entity. It reports every mistake of a declaration at once and does no I/O.
package schema

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
)

// Names of the attributes that this module writes in addition to those of the model; see docs/entities.md.
const (
	EntityAttr  = "__edd_e__" // entity name
	WriteAttr   = "_w"        // write id
	KindAttr    = "_k"        // kind of a related item
	AtAttr      = "_at"       // when an event was accepted
	PayloadAttr = "_pv"       // payload version
	OpAttr      = "_op"       // marks a restored item
	TouchedAttr = "_touched"  // when an item with history was last touched
	EndsAttr    = "_ends"     // in a snapshot, when the item in that state expires
	ReaderAttr  = "_reader"   // marks a checkpoint of a reader of streams

	OwnerPKAttr = "_entity_pk" // partition key of the owner of a sentinel
	OwnerSKAttr = "_entity_sk" // sort key of the owner

	OmittedAttr   = "_omitted"  // in a snapshot or copy without its content, the bytes that it had with it; 0 if they were erased
	DeletedAttr   = "_deleted"  // marks a snapshot of a deleted state
	DeletedAtAttr = "deletedAt" // when an item was deleted, unless a field has the role deleted_at
)

// Infixes of related items. Their sort key is that of the current item, the infix of their kind, and a suffix that is
// unique within the kind.
const (
	EventInfix    = "#e#"
	SnapshotInfix = "#v#"
	CopyInfix     = "#deleted#"
)

// reserved are the attributes that no model may have. The library writes them, or will if a feature is declared later.
var reserved = []string{EntityAttr, WriteAttr, KindAttr, AtAttr, PayloadAttr, OpAttr, TouchedAttr, EndsAttr, OmittedAttr, DeletedAttr, OwnerPKAttr, OwnerSKAttr, ReaderAttr}

// Reserved reports whether an attribute belongs to the library.
func Reserved(name string) bool { return slices.Contains(reserved, name) }

// Options are the settings of a database and of one store.
type Options struct {
	Name             string // replaces the declared entity name
	Namespace        string
	NamespaceVersion int
	PK, SK, TTL      string         // attribute names for `$` keys and expiry
	Precision        key.TimeFormat // of times whose field sets no format
	Profile          Profile        // how keys and items are written
	Table            string         // replaces the declared logical table
	After            *time.Duration // replaces the declared time to live; nil keeps it
	Own              bool           // this module declares it, for what it keeps for itself
	Derived          bool           // items are made from others; the schema lock leaves them out
	Sources          []string       // of derived items: the entities that they are made from
	Secret           bool           // derived items are made from what has secret fields; messages hide their keys
	Validator        Validator      // checks values by their `validate` tags; nil for no checks
	SDKCodec         bool           // attributevalue decodes items
	FromContext      FromContext    // the values of fields with the role context; nil for no such fields
	NoExpiry         bool           // items do not expire unless the caller sets the time
	Methods          Methods
	Blamed           map[*Error]int // gets, for each mistake of a declaration, the number of its field; nil: not needed
}

// Methods are those of an entity type that was built at run time: reflection sees none there.
type Methods struct {
	Encodes     bool // the type encodes itself
	TwoPrepares bool // two embedded structs have a Prepare method, and the type has none
	// Zero is what zero values of its types that encode themselves are stored as; nil: ask them.
	Zero types.AttributeValue
}

// Schema is one compiled entity type. It does not change after Build.
type Schema struct {
	Unopened error // error of every verb: the schema of a handle that was not opened

	Type    reflect.Type
	Options Options
	Profile Profile              // how keys and items are written
	Name    string               // as declared
	Table   string               // logical table name, "" for the default
	Prefix  string               // what `$` stands for
	Payload int                  // payload version
	Reads   int                  // latest payload version that the struct reads, at least Payload
	Known   expr.Cond            // holds for items of a payload version up to Reads, and if there is no item
	Stream  types.StreamViewType // view that the stream of the table must have, "" for any

	Attrs  []*Attr
	byName map[string]*Attr
	Codec  item.Codec

	PK, SK  *KeyDef // SK is nil for a partition-only key
	Indexes []*Index

	CreatedAt, UpdatedAt, DeletedAt, Version *Attr

	Contexts []*Attr // with the role context: each write stores what its context gives
	Subjects []*Attr // with the role subject: they name whose data the item is

	Templated     bool           // a `$` entity: its items carry __edd_e__
	HasMetadata   bool           // they also carry _w and the other hidden attributes
	Discriminator *Discriminator // of a verbatim entity that shares its table
	RelatedKeys   []*KeyDef      // sort keys of related items
	RelatedSuffix int            // longest suffix of a related item's sort key, in bytes; 0 without related items
	// EventPartitions are the partition keys of a series' events, in the order of their numbers; nil if events are in the
	// partition of the current item.
	EventPartitions []*KeyDef
	EventID         *Attr  // ends the sort keys of events, after orderBy; nil: they end with that
	NoCurrent       bool   // a series without a current item
	Expires         bool   // current items can have the TTL attribute
	UsesTTL         bool   // some item of the entity can have the TTL attribute
	Handle          string // constructor that must be used instead of entity.New, "" for entity.New

	Filled   []*Attr // attributes with a default or a generated id, which writes of whole values fill
	Prepares bool    // *T has a Prepare method, which writes of whole values call

	Features []any    // compiled declarations of features; see Feature
	Upgrades Upgrades // from earlier payload versions, in order; nil: items are read as they are

	Facts
	Folded []*Attr // parts of the primary key that it has in lower case: items whose parts differ only in case have the same key

	addresses map[address]*Node
	prototype reflect.Value
	keys      []*KeyDef // see Keys; nil while the schema is built
	indexKeys int       // how many of keys are of indexes
}

// Discriminator is the attribute that distinguishes a verbatim entity's items from others in its table.
type Discriminator struct{ Attr, Value string }

// Recorded returns a schema that was not compiled from a struct: of the stored items alone, as a schema lock describes them. It
// cannot encode or decode values.
func Recorded(s Schema) *Schema {
	s.byName = map[string]*Attr{}
	for _, a := range s.Attrs {
		s.byName[a.Name] = a
	}
	if s.PK != nil {
		s.facts()
	}
	return &s
}

func (s *Schema) Attr(name string) *Attr { return s.byName[name] }

func (s *Schema) KeyPart(a *Attr) bool { return s.PK.Has(a) || s.SK.Has(a) }

// Keys returns the keys of the table, then those of the indexes. The caller must not change the list.
func (s *Schema) Keys() []*KeyDef {
	if s.keys != nil {
		return s.keys
	}
	keys := []*KeyDef{s.PK}
	if s.SK != nil {
		keys = append(keys, s.SK)
	}
	return append(keys, s.IndexKeys()...)
}

// IndexKeys returns the keys of all indexes, without the partition key that local indexes share with the table. The
// caller must not change the list.
func (s *Schema) IndexKeys() []*KeyDef {
	if s.keys != nil {
		return s.keys[len(s.keys)-s.indexKeys:]
	}
	var keys []*KeyDef
	for _, x := range s.Indexes {
		keys = append(keys, x.Keys()...)
	}
	return keys
}

func (s *Schema) IndexNamed(name string) *Index {
	for _, x := range s.Indexes {
		if x.Name == name {
			return x
		}
	}
	return nil
}

// HoldsCopies reports whether the index holds deleted copies and no current items: its key contains the time of the
// delete, which a current item lacks.
func (s *Schema) HoldsCopies(x *Index) bool {
	return slices.ContainsFunc(x.Keys(), s.HasDeletedAt)
}

// KnownIndexes returns the end of a message about a name that no index has: the indexes that hold copies, or items.
func (s *Schema) KnownIndexes(copies bool) string {
	var names []string
	for _, x := range s.Indexes {
		if s.HoldsCopies(x) == copies {
			names = append(names, x.Name)
		}
	}
	if names == nil {
		return "; there are no such indexes"
	}
	return "; declared are: " + strings.Join(names, ", ")
}

// HasDeletedAt reports whether the time of the delete is a part of index key k. Only deleted copies have such a key.
func (s *Schema) HasDeletedAt(k *KeyDef) bool { return s.DeletedAt != nil && k.Has(s.DeletedAt) }

// UpdatedByAppends reports whether appends alone keep k equal to its parts, so that other writes need not compose it.
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

// CodecOf returns the codec of items that are read through x, or from the table if x is nil.
func (s *Schema) CodecOf(x *Index) *item.Codec {
	if x != nil && x.codec != nil {
		return x.codec
	}
	return &s.Codec
}

// Carries reports whether items in index x have the attribute.
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

// Feature returns the value of type F that a declaration kept with [Decl.Keep], and whether there is one.
func Feature[F any](s *Schema) (F, bool) {
	for _, f := range s.Features {
		if x, ok := f.(F); ok {
			return x, true
		}
	}
	var none F
	return none, false
}

// Named is implemented by values given to [Decl.Keep]. The name lets declarations be checked against each other
// although features do not import each other.
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

// Recorder is implemented by values given to [Decl.Keep] that determine what is stored. Package schemalock writes the
// records to the lock file.
type Recorder interface{ Record(*Schema) Record }

// Record is one declaration of a feature, with the settings that stored items depend on.
type Record struct {
	Name     string // versioned.Retain, unique.Constraint(email)
	Settings []Setting
}

// Setting is one setting of a declaration, as text.
type Setting struct{ Key, Value string }

// DurationText returns d in the form of a tag, such as 30d; 0 is forever.
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
