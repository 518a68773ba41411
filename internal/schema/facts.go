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

// Facts are what the declarations of an entity mean for every call. Build finds them once.
type Facts struct {
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
	KeyLimits    [2]int // most bytes of the partition key and of the sort key

	Checks    bool // values may have to be validated
	Completes bool // writes of whole values complete the given value

	Hidden []expr.Change // of the hidden attributes that every current item has, but for the write id
	Exists expr.Cond     // holds if there is an item with the key, expired or not
	Absent expr.Cond     // holds if there is no such item
}

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
	_, s.HasUnique = Feature[interface{ Names(*Attr) bool }](s)
	s.StoresID = s.HasMetadata || len(s.Features) > 0 || s.Handle != ""
	s.NativeKey = s.PK.Native != nil && (s.SK == nil || s.SK.Native != nil)
	s.Follows = len(s.Indexes) > 0 || s.SetsExpiry
	path := expr.Attr(s.PK.Attr)
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
	s.Exists, s.Absent = expr.Compare(expr.Exists, path), expr.Compare(expr.NotExists, path)
	s.Checks = s.Options.Validator != nil || s.Type != nil && MayHaveValidate(s.Type)
	s.Completes = s.Prepares || len(s.Filled) > 0
	for _, a := range s.Attrs {
		a.IsOwned, a.IsOnce, a.IsRequired = a.Owned(), a.WriteOnce(), a.Required()
		a.Free = !s.KeyPart(a) && !a.IsOwned && !a.Append && !a.Clock && !a.IsOnce && !a.IsRequired
		s.Immutable = s.Immutable || a.Role.Has(Immutable)
		if t := a.Type; t != nil { // a recorded schema has no types
			a.Basic = t.PkgPath() == "" && (t.Kind() < reflect.Array || t.Kind() == reflect.String)
		}
		a.IndexPart = slices.ContainsFunc(s.IndexKeys(), func(k *KeyDef) bool { return k.Native != nil && k.Has(a) })
	}
}
