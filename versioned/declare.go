package versioned

import (
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Lock declares that writes of a struct may expect a version, in the tag of a blank field:
//
//	_ versioned.Lock
//
// The struct needs a field with the role version.
type Lock struct{}

// Retain declares that every state of a struct's items is kept, in the tag of a blank field; it includes [Lock]:
//
//	_ versioned.Retain `ttl:"90d"`
//
// ttl is how long the snapshot of a replaced state is kept after it was replaced; without it, for ever. A write costs a
// consistent read, twice the write units, and those of the snapshot.
type Retain struct{}

// lock is the compiled declaration of Lock, and the part of Retain's that is the same.
type lock struct{}

// FeatureName lets other declarations see that the entity is versioned.
func (lock) FeatureName() string { return "versioned" }

// AdmitsExpect makes the entity one whose writes may expect a version.
func (lock) AdmitsExpect() {}

// retain is the compiled declaration of Retain.
type retain struct {
	lock
	ttl time.Duration // 0: for ever
}

// Kept is how long the snapshot of a replaced state is kept; 0: for ever.
func (r *retain) Kept() time.Duration { return r.ttl }

// Declare is called by this module when a store is built.
func (Lock) Declare(d *schema.Decl) { declare(d, &lock{}) }

// Declare is called by this module when a store is built.
func (Retain) Declare(d *schema.Decl) {
	r := &retain{ttl: d.Duration("ttl")}
	d.Schema.UsesTTL = d.Schema.UsesTTL || r.ttl > 0
	d.Satellites(len(infix) + longestVersion)
	declare(d, r)
}

func declare(d *schema.Decl, feature any) {
	if _, twice := schema.Feature[plan.Locker](d.Schema); twice {
		d.Problem(schema.CodeMalformed, "a struct has one of versioned.Lock and versioned.Retain, once")
		return
	}
	d.Keep(feature)
	if d.Schema.Version == nil {
		d.Problem(schema.CodeVersionField, `a versioned struct needs an integer field with entity:"version"`)
	}
}

// ConflictError is an item whose version is not the expected one. It is entity.ErrConflict.
type ConflictError = plan.ConflictError

// Expect makes a write fail with a *[ConflictError], unless the item has version n; 0 is for an item that was written
// before the struct had versions, or with the version 0. It is accepted by Update, Modify, Put, Upsert, Delete and lifecycle.Restore of structs
// that declare [Lock] or [Retain].
func Expect(n int64) entity.WriteOption {
	return forWrite{Do: func(s *opt.Spec) { s.Expect = &n }}
}

type forWrite = opt.ForWrite
