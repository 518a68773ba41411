package versioned

import (
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/entitytype"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Lock declares optimistic locking, in the tag of a blank field:
//
//	_ versioned.Lock
//
// The struct needs a field with the role version. Update, Put, Upsert, Delete and Revert of a struct in which that field
// is not 0 expect the version in it, as with [Expect]: of two programs that read version 1 and write it back, one gets a
// *[ConflictError]. This holds for the struct that only names the key, too. A struct with version 0 expects nothing, and
// [AnyVersion] makes one write expect nothing. Modify, which sees what is stored, and a restore, which overwrites nothing,
// do not look at the field.
type Lock struct{}

// Retain declares that every state of a struct's items is kept, in the tag of a blank field:
//
//	_ versioned.Retain `ttl:"90d"`
//
// ttl is how long the snapshot of a replaced state is kept after it was replaced; without it, for ever. Writes can
// [Expect] a version, but do so by themselves only when [Lock] is declared too. A write costs a consistent read, twice
// the write units, and those of the snapshot.
type Retain struct{}

// versions is what both declarations have in common.
type versions struct{}

// FeatureName lets other declarations see that the entity is versioned.
func (versions) FeatureName() string { return "versioned" }

// AdmitsExpect makes the entity one whose writes may expect a version.
func (versions) AdmitsExpect() {}

// lock is the compiled declaration of Lock.
type lock struct{ versions }

// ExpectsGiven makes the entity one whose writes expect the version in the given struct.
func (*lock) ExpectsGiven() {}

// retain is the compiled declaration of Retain.
type retain struct {
	versions
	ttl time.Duration // 0: for ever
}

// Kept is how long the snapshot of a replaced state is kept; 0: for ever.
func (r *retain) Kept() time.Duration { return r.ttl }

// Declare is called by this module when a store is built.
func (Lock) Declare(d *schema.Decl) { declare(d, "versioned.Lock", &lock{}) }

// Declare is called by this module when a store is built.
func (Retain) Declare(d *schema.Decl) {
	r := &retain{ttl: d.Duration("ttl")}
	d.Schema.UsesTTL = d.Schema.UsesTTL || r.ttl > 0
	d.Satellites(len(infix) + longestVersion)
	declare(d, "versioned.Retain", r)
}

func declare[F any](d *schema.Decl, name string, feature F) {
	if _, twice := schema.Feature[F](d.Schema); twice {
		d.Problem(schema.CodeMalformed, "%s is declared twice", name)
		return
	}
	d.Keep(feature)
	if d.Schema.Version == nil {
		d.Problem(schema.CodeVersionField, `a versioned struct needs an integer field with entity:"version"`)
	}
}

// ConflictError is an [entity.ErrConflict]: the item does not have the expected version. It has the Expected and the Actual
// version, and Absent if there is no item. Its fields are shown at [entitytype.ConflictError].
type ConflictError = entitytype.ConflictError

// Expect makes a write fail with a *[ConflictError], unless the item has version n; 0 is for an item that was written
// before the struct had versions, or with the version 0. It is accepted by Update, Modify, Put, Upsert, Delete, Revert and
// lifecycle.Restore of structs that declare [Lock] or [Retain], and decides whatever version the given struct holds.
func Expect(n int64) Expectation {
	return forRestore{Do: func(s *opt.Restore) { s.Expect = &n }}
}

// AnyVersion makes a write expect no version, whatever version the given struct holds; see [Lock]. It is accepted where
// [Expect] is, and not beside it.
func AnyVersion() Expectation {
	return forRestore{Do: func(s *opt.Restore) { s.Any = true }}
}

type forRestore = opt.ForRestore

// Expectation says which version a write expects: [Expect], [AnyVersion]. It is accepted by every write over a stored item
// and by lifecycle.Restore.
type Expectation interface {
	entity.WriteOption
	opt.RestoreOption
}
