package conformance_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// features is an entity with some of the features. The type none stands for a declaration that it does not have. V is versioned.Lock or
// versioned.Retain, and R and F stand for a versioned.Retain and a lifecycle.SoftDelete with a time to live.
type features[V, R, S, F, K, L, E, B schema.Declaration] struct {
	_ entity.Key `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ V
	_ R `ttl:"90d"`
	_ S
	_ F `ttl:"30d"`
	_ K `unique:"reserve"`
	_ L `ttl:"30d" unique:"reserve"`
	_ E `name:"email" fields:"email"`
	_ B `name:"badge" fields:"tenant,badge"` // compound and sparse
	Person
}

// none is the place of a declaration that an entity does not have.
type none struct{}

// Declare accepts every tag, and declares nothing.
func (none) Declare(d *schema.Decl) {
	for _, key := range []string{"ttl", "unique", "name", "fields"} {
		d.Tag(key)
	}
}

// Short names of the declarations.
type (
	lock   = versioned.Lock
	retain = versioned.Retain
	soft   = lifecycle.SoftDelete
	claim  = unique.Constraint
)

// The combinations that tests name: how many constraints, which versions, and which soft delete they have.
type (
	u0VLockSFree         = features[lock, none, soft, none, none, none, none, none]
	u0VLockSNone         = features[lock, none, none, none, none, none, none, none]
	u0VNoneSFree         = features[none, none, soft, none, none, none, none, none]
	u0VRetainSNone       = features[retain, none, none, none, none, none, none, none]
	u0VRetainTTLSFreeTTL = features[none, retain, none, soft, none, none, none, none]
	u0VRetainTTLSNone    = features[none, retain, none, none, none, none, none, none]
	u1VLockSFree         = features[lock, none, soft, none, none, none, claim, none]
	u1VLockSFreeTTL      = features[lock, none, none, soft, none, none, claim, none]
	u1VLockSNone         = features[lock, none, none, none, none, none, claim, none]
	u1VLockSReserve      = features[lock, none, none, none, soft, none, claim, none]
	u1VNoneSFree         = features[none, none, soft, none, none, none, claim, none]
	u1VNoneSNone         = features[none, none, none, none, none, none, claim, none]
	u1VNoneSReserve      = features[none, none, none, none, soft, none, claim, none]
	u1VRetainSFree       = features[retain, none, soft, none, none, none, claim, none]
	u1VRetainSReserve    = features[retain, none, none, none, soft, none, claim, none]
	u1VRetainSReserveTTL = features[retain, none, none, none, none, soft, claim, none]
	u1VRetainTTLSFreeTTL = features[none, retain, none, soft, none, none, claim, none]
	u2VLockSFreeTTL      = features[lock, none, none, soft, none, none, claim, claim]
	u2VNoneSNone         = features[none, none, none, none, none, none, claim, claim]
	u2VRetainSReserve    = features[retain, none, none, none, soft, none, claim, claim]
)

// traits are what a combination declares.
type traits struct {
	unique                  int // constraints: email; tenant and badge, which is sparse
	lock, retain, retainTTL bool
	soft, reserve, copyTTL  bool
}

// traitsOf reads the declarations of T.
func traitsOf[T any]() (c traits) {
	versions, bins := dbtest.Declarations[retain, T](), dbtest.Declarations[soft, T]()
	c.unique, c.lock = len(dbtest.Declarations[claim, T]()), len(dbtest.Declarations[lock, T]()) > 0
	if c.retain = len(versions) > 0; c.retain {
		_, c.retainTTL = versions[0].Lookup("ttl")
	}
	if c.soft = len(bins) > 0; c.soft {
		_, c.copyTTL = bins[0].Lookup("ttl")
		_, c.reserve = bins[0].Lookup("unique")
	}
	return c
}

// String is the name of a combination, such as u1_retain_free-ttl.
func (c traits) String() string {
	versions, bin := "none", "hard"
	if c.lock {
		versions = "lock"
	} else if c.retain {
		versions = "retain"
	}
	if c.retainTTL {
		versions += "-ttl"
	}
	if c.reserve {
		bin = "reserve"
	} else if c.soft {
		bin = "free"
	}
	if c.copyTTL {
		bin += "-ttl"
	}
	return fmt.Sprintf("u%d_%s_%s", c.unique, versions, bin)
}

// combination is one type of the matrix, and the actor for it.
type combination struct {
	traits
	perform func(t *testing.T) actor
}

func row[T any]() combination { return combination{traitsOf[T](), perform[T]} }

// free are the combinations without soft delete, and with one that gives unique values up.
func free[V, R, E, B schema.Declaration]() []combination {
	return []combination{
		row[features[V, R, none, none, none, none, E, B]](),
		row[features[V, R, soft, none, none, none, E, B]](),
		row[features[V, R, none, soft, none, none, E, B]](),
	}
}

// reserving are the combinations with a soft delete that reserves unique values.
func reserving[V, R, E, B schema.Declaration]() []combination {
	return []combination{row[features[V, R, none, none, soft, none, E, B]](), row[features[V, R, none, none, none, soft, E, B]]()}
}

// matrix is every combination of versions, soft delete and constraints.
var matrix = slices.Concat(
	free[none, none, none, none](), free[lock, none, none, none](), free[retain, none, none, none](), free[none, retain, none, none](),
	free[none, none, claim, none](), free[lock, none, claim, none](), free[retain, none, claim, none](), free[none, retain, claim, none](),
	free[none, none, claim, claim](), free[lock, none, claim, claim](), free[retain, none, claim, claim](), free[none, retain, claim, claim](),
	reserving[none, none, claim, none](), reserving[lock, none, claim, none](), reserving[retain, none, claim, none](), reserving[none, retain, claim, none](),
	reserving[none, none, claim, claim](), reserving[lock, none, claim, claim](), reserving[retain, none, claim, claim](), reserving[none, retain, claim, claim](),
)
