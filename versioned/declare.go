package versioned

import (
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Lock declares optimistic locking, in the tag of a blank field:
//
//	_ versioned.Lock
//
// The struct needs a field with the role version. Update, Put, Upsert, Delete and Revert of a struct in which that
// field is not 0 expect that version, as with [Expect]: of two programs that read version 1 and write it back, one gets
// a *[ConflictError]. They also expect the time in its created_at, if it has one that is not zero: an item that is created again
// begins at version 1 again, which is not noticed without that field or [Retain]. A struct that only names a key counts too.
// A Put of version 0 expects that nothing is stored, the others nothing; [AnyVersion] makes one write expect nothing. Modify,
// which sees the stored item, a restore, which overwrites nothing, and batches, which have no conditions, ignore the fields.
type Lock struct{ _ lockDecl }

// Retain declares that every state of a struct's items is kept, in the tag of a blank field:
//
//	_ versioned.Retain `ttl:"90d"`
//
// ttl is how long the snapshot of a state is kept after the state was replaced; without it, forever. Items that expire by
// lifecycle.TTL need a ttl: the snapshots of an expired item are kept for that time after it expired. Writes may
// [Expect] a version; they do so by themselves only if [Lock] is declared too. A write costs a consistent read, twice
// the write units of the item, and the write units of the snapshot.
type Retain struct{ _ retainDecl }

// versioning holds what Lock and Retain have in common.
type versioning struct{}

// FeatureName shows other declarations that the entity is versioned.
func (versioning) FeatureName() string { return "versioned" }

// AdmitsExpect marks entities whose writes may expect a version.
func (versioning) AdmitsExpect() {}

// lock is the compiled declaration of Lock.
type lock struct{ versioning }

// ExpectsGiven marks entities whose writes expect the state in the given struct: its version, unless it is 0, and its created_at.
func (*lock) ExpectsGiven() {}

// retain is the compiled declaration of Retain.
type retain struct {
	versioning
	ttl time.Duration // 0: forever
}

// KeepsHistory marks entities whose past states are kept.
func (*retain) KeepsHistory() {}

// Kept returns how long the snapshot of a replaced state is kept; 0 is forever.
func (r *retain) Kept() time.Duration { return r.ttl }

// The declarations that the fields of [Lock] and [Retain] are.
type (
	lockDecl   struct{}
	retainDecl struct{}
)

func (lockDecl) Declare(d *schema.Decl) { declare(d, "versioned.Lock", &lock{}) }

func (retainDecl) Declare(d *schema.Decl) {
	r := &retain{ttl: d.Duration("ttl")}
	d.Schema.UsesTTL = d.Schema.UsesTTL || r.ttl > 0
	d.RelatedItems(len(schema.SnapshotInfix) + longestVersion)
	declare(d, "versioned.Retain", r)
	d.Check(func() {
		switch s := d.Schema; {
		case !s.Expires:
		case r.ttl == 0:
			d.Problem(schema.CodeExpiringHistory, "items expire by lifecycle.TTL, and their snapshots would stay for ever: give versioned.Retain a ttl, how long a state is kept after it ended")
		case !s.Profile.MarksItems():
			d.Problem(schema.CodeExpiringHistory, "items expire, but in a table shared with effect-dynamodb their snapshots cannot say when")
		}
	})
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

// ConflictError has the fields Expected, Actual, Absent, Recreated and Present: a write to an item that is not in the
// expected state. It matches entity.ErrConflict. Expected and Actual are versions. Absent: there is no item. Recreated: it was
// created again since it was read. Present: a Put under [Lock] expected none.
type ConflictError = entitytype.ConflictError

// Expect makes a write fail with a *[ConflictError] unless the item has version n. Version 0 is that of an item written
// before the struct had versions, or written with the version 0. Update, Modify, Put, Upsert, Delete, Revert and
// lifecycle.Restore of structs that declare [Lock] or [Retain] accept it. It overrides the version in the given struct.
func Expect(n int64) ExpectOption {
	return bind.Option{Setting: func(o *bind.Options) { o.Expect = &n }}
}

// AnyVersion makes a write expect no version, whatever version the given struct holds; see [Lock]. It is accepted where
// [Expect] is; the two exclude each other.
func AnyVersion() ExpectOption {
	return bind.Option{Setting: func(o *bind.Options) { o.AnyVersion = true }}
}

// ExpectOption is accepted by every write over a stored item, and by lifecycle.Restore: [Expect], [AnyVersion].
type ExpectOption interface {
	entity.WriteOption
	bind.RestoreOption
}

// Record returns the declaration for the schema lock.
func (*lock) Record(*schema.Schema) schema.Record { return schema.Record{Name: "versioned.Lock"} }

// Record returns the declaration for the schema lock.
func (r *retain) Record(s *schema.Schema) schema.Record {
	record := schema.Record{Name: "versioned.Retain", Settings: []schema.Setting{{Key: "ttl", Value: schema.DurationText(r.ttl)}}}
	if s.Expires {
		record.Settings = append(record.Settings, schema.Setting{Key: "expires", Value: schema.EndsAttr})
	}
	return record
}
