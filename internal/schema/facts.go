package schema

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
)

// Facts hold for every call about an entity, by its declarations. Build finds them once.
type Facts struct {
	// Own holds for the items of the entity, current or not, in a table or index shared with other entities. It is empty for a
	// verbatim entity with a table of its own.
	Own expr.Cond
	// InNamespace holds for the items of the entity, and not for those of an entity with the same name in another namespace or
	// version. A query on a $ partition does not need this filter.
	InNamespace expr.Cond
	// Current holds for the current items of the entity, among all items of a partition of its table, and CurrentInNamespace
	// among all of the table.
	Current, CurrentInNamespace expr.Cond

	Locked       bool   // writes may expect a version
	LocksGiven   bool   // writes expect the version in the given struct
	KeepsHistory bool   // past states are kept as snapshots
	SoftDeletes  bool   // deleted items are kept as copies
	SetsExpiry   bool   // a feature sets when current items expire
	HasUnique    bool   // some attribute is unique
	StoresID     bool   // writes may store a write id
	NativeKey    bool   // the primary key is attributes, without a template
	Follows      bool   // an expiry or index keys can follow from changes
	Reserves     bool   // deleted copies keep their unique values
	LooksBack    bool   // a new life of an item depends on earlier ones
	Immutable    bool   // some attribute is immutable
	Alone        bool   // no feature, index or immutable attribute requires more of an Update, Put or Upsert
	Replaces     bool   // a Put decides every attribute of the struct, whatever is stored
	KeyLimits    [2]int // most bytes of the partition key and of the sort key

	SortedKey *[2]string // the attributes of the primary key in the order of their names; the second is "" if there is no sort key

	Checks    bool // values may have to be validated
	Completes bool // writes of whole values complete the given value

	TTL    expr.Path     // of the TTL attribute of the table
	Hidden []expr.Change // of the hidden attributes that every current item has, but for the write id
	Exists expr.Cond     // holds if there is an item with the key, expired or not
	Absent expr.Cond     // holds if there is no such item
}

// findWhole finds Whole of a key with a template. A nil key has none.
func (k *KeyDef) findWhole() {
	if k == nil || k.Template == nil {
		return
	}
	if r, err := k.Template.Range(nil, nil); err == nil && r.Op == key.Prefix {
		whole := expr.Compare(expr.BeginsWith, k.Path, item.S(r.Lo))
		k.Whole = &whole
	}
}

type constraint interface{ Names(*Attr) bool } // of package unique

// facts finds the facts of a schema that is otherwise complete.
func (s *Schema) facts() {
	_, s.Locked = Feature[interface{ AdmitsExpect() }](s)
	_, s.LocksGiven = Feature[interface{ ExpectsGiven() }](s)
	_, s.KeepsHistory = Feature[interface{ KeepsHistory() }](s)
	deleter, softDeletes := Feature[interface{ Reserves() bool }](s)
	s.SoftDeletes, s.Reserves = softDeletes, softDeletes && deleter.Reserves()
	s.LooksBack = s.KeepsHistory || s.Reserves
	s.KeyLimits = [2]int{key.MaxPartitionKey, key.MaxSortKey - s.RelatedSuffix}
	if s.EventPartitions != nil {
		s.KeyLimits[0] -= len(EventPartitionSuffix(0))
	}
	_, s.SetsExpiry = Feature[interface{ Stamps() string }](s)
	_, s.HasUnique = Feature[constraint](s)
	s.StoresID = s.HasMetadata || len(s.Features) > 0 || s.Handle != ""
	s.SortedKey = new([2]string)
	copy(s.SortedKey[:], slices.Sorted(slices.Values(s.KeyNames())))
	s.NativeKey = s.PK.Native != nil && (s.SK == nil || s.SK.Native != nil)
	s.Follows, s.TTL = len(s.Indexes) > 0 || s.SetsExpiry, expr.Attr(s.Options.TTL)
	switch {
	case s.Templated:
		s.Own = expr.Compare(expr.Eq, expr.Attr(EntityAttr), item.S(s.Name))
	case s.Discriminator != nil:
		s.Own = expr.Compare(expr.Eq, expr.Attr(s.Discriminator.Attr), item.S(s.Discriminator.Value))
	}
	h := s.SK
	if h == nil {
		h = s.PK
	}
	if h.Prefixed {
		s.InNamespace = expr.Compare(expr.BeginsWith, h.Path, item.S(h.Template.Prefix))
	}
	alone := expr.Cond{}
	if s.HasMetadata {
		alone = expr.Compare(expr.NotExists, expr.Attr(KindAttr))
	}
	s.Current, s.CurrentInNamespace = expr.All(alone, s.Own), expr.All(s.InNamespace, alone, s.Own)
	for _, x := range s.Indexes {
		for _, a := range [...]*Attr{s.Version, s.CreatedAt} { // what writes of a struct that was read from it expect
			if s.LocksGiven && a != nil && len(x.Project.Include) > 0 && !s.Carries(x, a.Name) {
				x.Project.Include = append(x.Project.Include, a.Name)
			}
		}
		x.SK.findWhole()
	}
	s.SK.findWhole()
	path := s.PK.Path
	if s.PK.Native != nil {
		path = s.PK.Native[0].Path
	}
	hide := func(name string, av types.AttributeValue) {
		s.Hidden = append(s.Hidden, expr.Change{Kind: expr.Set, Path: expr.Attr(name), Value: av})
	}
	if d := s.Discriminator; d != nil { // of a verbatim entity, which has no others
		hide(d.Attr, item.S(d.Value))
	}
	if s.Templated {
		hide(EntityAttr, item.S(s.Name))
	}
	if s.HasMetadata && s.Payload > 1 {
		hide(PayloadAttr, item.N(strconv.Itoa(s.Payload)))
	}
	s.Replaces, s.Alone = !s.SetsExpiry, !s.Follows && !s.HasUnique && !s.LooksBack && !s.SoftDeletes
	s.Exists, s.Absent = expr.Compare(expr.Exists, path), expr.Compare(expr.NotExists, path)
	s.Checks = s.Options.Validator != nil || s.Type != nil && MayHaveValidate(s.Type)
	s.Completes = s.Prepares || len(s.Filled) > 0
	for _, a := range s.Attrs {
		a.IsOwned, a.IsOnce, a.IsRequired, a.IsZero = a.Owned(), a.WriteOnce(), a.Required(), a.AllowsZero()
		a.Free = !s.KeyPart(a) && !a.IsOwned && !a.Append && !a.Clock && !a.IsOnce && !a.IsRequired
		kept := a.IsOnce || a.Append || a.Clock || a.IsOwned && a != s.UpdatedAt && a.Role.Context == ""
		s.Replaces = s.Replaces && !kept
		s.Immutable = s.Immutable || a.Role.Has(Immutable)
		s.Alone = s.Alone && !s.Immutable
		a.IsUnique = slices.ContainsFunc(s.Features, func(f any) bool { c, is := f.(constraint); return is && c.Names(a) })
		if t := a.Type; t != nil { // a recorded schema has no types
			a.Basic = t.PkgPath() == "" && (t.Kind() < reflect.Array || t.Kind() == reflect.String)
		}
		a.IndexPart = slices.ContainsFunc(s.IndexKeys(), func(k *KeyDef) bool { return k.Native != nil && k.Has(a) })
		a.AnyText = !a.Text && !a.Time && a.Custom == nil
		a.Plain = a.Free && a.Basic && !a.IndexPart && s.Options.Validator == nil
	}
}
