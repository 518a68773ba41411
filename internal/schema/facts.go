package schema

import (
	"reflect"
	"slices"

	"github.com/dynastrata/dynastrata/internal/expr"
)

// Facts are what the declarations of an entity mean for every call. Build finds them once.
type Facts struct {
	Locked       bool // writes may expect a version
	LocksGiven   bool // writes expect the version in the given struct
	KeepsHistory bool // past states are kept as snapshots
	SoftDeletes  bool // deleted items are kept as copies
	SetsExpiry   bool // a feature sets when current items expire
	HasUnique    bool // some attribute is unique
	StoresID     bool // writes may store a write id
	NativeKey    bool // the primary key is attributes, without a template
	Follows      bool // an expiry or index keys can follow from changes

	Exists expr.Cond // holds if there is an item with the key, expired or not
}

// facts finds the facts of a schema that is otherwise complete.
func (s *Schema) facts() {
	_, s.Locked = Feature[interface{ AdmitsExpect() }](s)
	_, s.LocksGiven = Feature[interface{ ExpectsGiven() }](s)
	_, s.KeepsHistory = Feature[interface{ KeepsHistory() }](s)
	_, s.SoftDeletes = Feature[interface{ Reserves() bool }](s)
	_, s.SetsExpiry = Feature[interface{ Stamps() string }](s)
	_, s.HasUnique = Feature[interface{ Names(*Attr) bool }](s)
	s.StoresID = s.HasMetadata || len(s.Features) > 0 || s.Handle != ""
	s.NativeKey = s.PK.Native != nil && (s.SK == nil || s.SK.Native != nil)
	s.Follows = len(s.Indexes) > 0 || s.SetsExpiry
	path := expr.Attr(s.PK.Attr)
	if s.PK.Native != nil {
		path = s.PK.Native[0].Path
	}
	s.Exists = expr.Compare(expr.Exists, path)
	for _, a := range s.Attrs {
		a.Free = !s.KeyPart(a) && !a.Owned() && !a.Append && !a.Clock && !a.WriteOnce() && !a.Required()
		k := a.Type.Kind()
		a.Basic = a.Type.PkgPath() == "" && (k < reflect.Array || k == reflect.String)
		a.IndexPart = slices.ContainsFunc(s.IndexKeys(), func(k *KeyDef) bool { return k.Native != nil && k.Has(a) })
	}
}
