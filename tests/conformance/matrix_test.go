package conformance_test

import (
	"fmt"
	"testing"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
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

// matrix has every two of versions, soft delete and constraints together.
var matrix = []combination{
	row[u0VLockSFree](), row[u0VLockSNone](), row[u0VNoneSFree](), row[u0VRetainSNone](), row[u0VRetainTTLSFreeTTL](), row[u0VRetainTTLSNone](),
	row[u1VLockSFree](), row[u1VLockSFreeTTL](), row[u1VLockSNone](), row[u1VLockSReserve](), row[u1VNoneSFree](), row[u1VNoneSNone](),
	row[u1VNoneSReserve](), row[u1VRetainSFree](), row[u1VRetainSReserve](), row[u1VRetainSReserveTTL](), row[u1VRetainTTLSFreeTTL](),
	row[u2VLockSFreeTTL](), row[u2VNoneSNone](), row[u2VRetainSReserve](),
}
