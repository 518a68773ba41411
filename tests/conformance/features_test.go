package conformance_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// hero has the key of the item.
var hero = Person{ID: "p-1"}

// namer gives write ids names that do not change from run to run.
type namer map[string]string

var issuedID = regexp.MustCompile(`[0-9A-Z]{12}-[0-9]+`)

func (n namer) rename(text string) string {
	return issuedID.ReplaceAllStringFunc(text, func(id string) string {
		if n[id] == "" {
			n[id] = "w" + strconv.Itoa(len(n)+1)
		}
		return n[id]
	})
}

// act is one action as it was sent.
type act struct {
	Kind string // put, update, delete, check
	PK   string
	Cond string
}

// action is the JSON of an action, in a transaction or as a request of its own.
type action struct {
	Item, Key                 map[string]map[string]any
	ConditionExpression       string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues map[string]map[string]any
}

// sentActions are the actions of the last transaction among requests.
func sentActions(t *testing.T, requests []faults.Request) (acts []act) {
	t.Helper()
	for _, r := range requests {
		if r.Operation != "TransactWriteItems" {
			continue
		}
		var body struct{ TransactItems []map[string]action }
		require.NoError(t, json.Unmarshal(r.Body, &body))
		acts = nil
		for _, one := range body.TransactItems {
			for kind, a := range one {
				key := a.Key
				if key == nil {
					key = a.Item
				}
				kind = strings.TrimPrefix(strings.ToLower(kind), "condition")
				acts = append(acts, act{Kind: kind, PK: fmt.Sprint(key["pk"]["S"]), Cond: a.spell(a.ConditionExpression)})
			}
		}
	}
	return acts
}

var placeholder = regexp.MustCompile(`[#:][0-9a-zA-Z_]+`)

// spell writes an expression with the names and values in the place of their placeholders.
func (a action) spell(expression string) string {
	return placeholder.ReplaceAllStringFunc(expression, func(p string) string {
		if name, ok := a.ExpressionAttributeNames[p]; ok {
			return name
		}
		if av, ok := a.ExpressionAttributeValues[p]; ok {
			return fmt.Sprintf("%q", short(fmt.Sprint(plain(av))))
		}
		return p
	})
}

// plain is a value without its type.
func plain(av map[string]any) any {
	for _, v := range av {
		return v
	}
	return nil
}

// features is an entity with some of the features. The type none stands for a declaration that it does not have. V is versioned.Lock or
// versioned.Retain, and R and F stand for a versioned.Retain and a lifecycle.SoftDelete with a time to live.
type features[V, R, S, F, K, L, E, B any] struct {
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
type none struct{ _ noneDecl }

type noneDecl struct{}

// Declare accepts every tag, and declares nothing.
func (noneDecl) Declare(d *schema.Decl) {
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
	u0VLockSNone         = features[lock, none, none, none, none, none, none, none]
	u0VRetainSNone       = features[retain, none, none, none, none, none, none, none]
	u0VRetainTTLSFreeTTL = features[none, retain, none, soft, none, none, none, none]
	u1VLockSFree         = features[lock, none, soft, none, none, none, claim, none]
	u1VLockSFreeTTL      = features[lock, none, none, soft, none, none, claim, none]
	u1VLockSReserve      = features[lock, none, none, none, soft, none, claim, none]
	u1VNoneSFree         = features[none, none, soft, none, none, none, claim, none]
	u1VNoneSNone         = features[none, none, none, none, none, none, claim, none]
	u1VRetainSFree       = features[retain, none, soft, none, none, none, claim, none]
	u1VRetainSReserveTTL = features[retain, none, none, none, none, soft, claim, none]
	u1VRetainTTLSFreeTTL = features[none, retain, none, soft, none, none, claim, none]
	u2VRetainSReserve    = features[retain, none, none, none, soft, none, claim, claim]
)

// traits are what a combination declares.
type traits struct {
	unique                  int // constraints: email; tenant and badge, which is sparse
	lock, retain, retainTTL bool
	soft, reserve, copyTTL  bool
	lease                   bool // a constraint has a time to live
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
	for _, tag := range dbtest.Declarations[claim, T]() {
		_, c.lease = tag.Lookup("ttl")
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
