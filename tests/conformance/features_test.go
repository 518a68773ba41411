package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/goldentest"
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

// Layout has every kind of item that the features store.
type Layout struct {
	_       entity.Key           `name:"Layout" pk:"$#{id}" sk:"$#{part}" payload:"2"`
	_       entity.GSI           `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{id}"`
	_       versioned.Retain     `ttl:"90d"`
	_       lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_       unique.Constraint    `name:"Email" fields:"team,email"`
	_       unique.Constraint    `name:"token" fields:"token" ttl:"1h"`
	ID      string               `dynamodbav:"id"`
	Part    string               `dynamodbav:"part"`
	Team    string               `dynamodbav:"team"`
	Email   string               `dynamodbav:"email,omitempty"`
	Token   string               `dynamodbav:"token,omitempty"`
	Count   int64                `dynamodbav:"count,omitempty"`
	SeenAt  time.Time            `dynamodbav:"seenAt,omitempty"`
	Version int64                `dynamodbav:"version" entity:"version"`
	Created time.Time            `dynamodbav:"createdAt" entity:"created_at"`
	Updated time.Time            `dynamodbav:"updatedAt" entity:"updated_at"`
	Removed time.Time            `dynamodbav:"removed,omitempty" entity:"deleted_at,time=s"`
}

// dump writes all items of the table, each with all attributes, in the order of their keys.
func dump(l *dbtest.Bench, names namer) string {
	l.T.Helper()
	items := l.ItemsByKey()
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(items)) {
		it := items[key]
		fmt.Fprintf(&b, "%s\n", key)
		for _, name := range slices.Sorted(maps.Keys(it)) {
			if name != "pk" && name != "sk" {
				fmt.Fprintf(&b, "  %s %s\n", name, dbtest.Typed(it[name]))
			}
		}
	}
	return names.rename(b.String())
}

// Every kind of item byte by byte, after each step of a life.
func TestDisk_EveryKindOfItem(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[Layout](t)
	bin, f, key := entity.Must(lifecycle.Of(s)), entity.Fields[Layout](), Layout{ID: "i#1", Part: "p/q"}
	full := key
	full.Team, full.Email, full.Token = "Blue", "a@example.com", "k-1"
	names := namer{}
	var b strings.Builder
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"created", func() error { _, err := s.Create(t.Context(), full); return err }},
		{"touched", func() error { _, err := s.Touch(t.Context(), key, &f.SeenAt, time.Minute); return err }},
		{"updated", func() error {
			return dbtest.ErrorOf(s.Update(t.Context(), key, entity.Set(&f.Email, "b@example.com"), entity.Set(&f.SeenAt, dbtest.Start)))
		}},
		{"deleted", func() error { return s.Delete(t.Context(), key) }},
		{"restored", func() error { _, err := bin.Restore(t.Context(), key); return err }},
		{"updated after the restore", func() error { _, err := s.Update(t.Context(), key, entity.Remove(&f.Token)); return err }},
	} {
		l.Clock.Move(1500 * time.Millisecond)
		require.NoError(t, step.do(), step.name)
		fmt.Fprintf(&b, "== %s\n%s", step.name, dump(l, names))
	}
	goldentest.Check(t, "disk.txt", b.String())
}

// The next write removes the mark of a restored item, whatever its verb, and never copies it.
func TestDisk_TheMarkOfARestoreLastsUntilTheNextWriteOfAnyVerb(t *testing.T) {
	t.Parallel()
	t.Run("without versions", func(t *testing.T) { marks(t, newBench[u1VNoneSFree](t)) })
	t.Run("kept", func(t *testing.T) { marks(t, newBench[u2VRetainSReserve](t)) })
}

func marks[T any](t *testing.T, b *bench[T]) {
	restored := func() (Person, string) {
		p := b.item(t, deleted)
		b.restore(p)
		b.Clock.Move(time.Second)
		key := "$app#v1#person#" + p.ID + " " + personSK
		require.Equal(t, dbtest.S("restore"), b.ItemsByKey()[key]["_op"])
		return p, key
	}
	for verb, op := range b.verbs() {
		if verb == "Create" || verb == "Restore" {
			continue
		}
		for _, idempotent := range []bool{false, true} {
			p, key := restored()
			var opts []entity.WriteOption
			if idempotent {
				opts = append(opts, entity.Idempotent())
			}
			require.NoError(t, runAlone(t, op(p, opts...)), verb)
			if verb != "Delete" {
				require.Contains(t, b.ItemsByKey(), key, verb)
			}
			for name, it := range b.ItemsByKey() {
				if strings.HasPrefix(name, key) {
					require.NotContains(t, it, "_op", "%s: %s", verb, name)
				}
			}
		}
	}
	p, key := restored()
	b.OK(b.s.Modify(t.Context(), as[T](p), func(v *T) error { person(v).Name = "changed"; return nil }))
	require.NotContains(t, b.ItemsByKey()[key], "_op")
}

type binUnix struct {
	_    entity.Key `name:"Bin" pk:"$#{id}" sk:"$"`
	_    lifecycle.SoftDelete
	ID   string     `dynamodbav:"id"`
	Gone *time.Time `dynamodbav:"gone,omitempty" entity:"deleted_at,time=unixms"`
}

// The key and the attribute have the format of the field; the golden file of TestDisk_EveryKindOfItem shows that of a text. Each further
// copy in one unit of it is one unit later.
func TestDisk_DeletedAtHasTheFormatOfItsField(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[binUnix](t)
	bin, key := entity.Must(lifecycle.Of(s)), binUnix{ID: "b"}
	for i := range 3 {
		l.OK(s.Create(t.Context(), key))
		require.NoError(t, s.Delete(t.Context(), key))
		n := dbtest.Start.UnixMilli() + int64(i)
		it := l.ItemsByKey()[fmt.Sprintf("$app#v1#bin#b $app#v1#bin#deleted#%019d", n)]
		require.NotNil(t, it, n)
		require.Equal(t, dbtest.N(fmt.Sprint(n)), it["gone"])
		require.NotContains(t, it, "deletedAt")
	}
	list := entity.Must(bin.List(key).Collect(t.Context()))
	require.Len(t, list, 3)
	for i, c := range list {
		require.Equal(t, dbtest.Start.Truncate(time.Millisecond).Add(time.Duration(2-i)*time.Millisecond), c.DeletedAt, "the newest first")
	}
	l.OK(bin.Restore(t.Context(), key))
	it := l.ItemsByKey()["$app#v1#bin#b $app#v1#bin"]
	require.NotContains(t, it, "gone")
	require.Len(t, l.ItemsByKey(), 3)
}

// A write that is planned from the stored item keeps what it does not know, to the last digit.
func TestValues_KeepTheirFormInEveryKindOfItem(t *testing.T) {
	t.Parallel()
	const pk, sk = "$app#v1#layout#d", "$app#v1#layout#p"
	l, s := dbtest.OpenStore[Layout](t)
	due := dbtest.Start.Add(time.Hour)
	v := entity.Must(s.Create(t.Context(), Layout{ID: "d", Part: "p", SeenAt: due}))
	digits := dbtest.N("0.12345678901234567890123456789012345678")
	l.ChangeItem(pk, sk, dbtest.Item{"unknown": digits, "count": dbtest.N("9007199254740993")})
	l.Clock.Move(time.Second)
	got := entity.Must(s.Update(t.Context(), v, entity.Add(&entity.Fields[Layout]().Count, 2)))
	require.EqualValues(t, 9007199254740995, got.Count)
	require.NoError(t, s.Delete(t.Context(), v))
	for key, it := range l.ItemsByKey() {
		require.Equal(t, dbtest.S("2101-05-06T08:08:09.123456789Z"), it["seenAt"], key)
	}
	got = entity.Must(entity.Must(lifecycle.Of(s)).Restore(t.Context(), v))
	require.Equal(t, due, got.SeenAt)
	for _, suffix := range []string{"", "#v#0000002", "#v#0000003"} {
		it := l.ItemsByKey()[pk+" "+sk+suffix]
		require.Equal(t, digits, it["unknown"], suffix)
		require.Equal(t, dbtest.N("9007199254740995"), it["count"], suffix)
	}
	require.Equal(t, dbtest.N("9007199254740993"), l.ItemsByKey()[pk+" "+sk+"#v#0000001"]["count"])
}

func TestTimestamps_TheLibraryOwnsThem(t *testing.T) {
	t.Parallel()
	type T = u0VLockSNone
	l, s := dbtest.OpenStore[T](t)
	f, given := fields[T](), Person{ID: "p-1", Tenant: "t", Version: 99, CreatedAt: dbtest.Start.Add(-time.Hour), UpdatedAt: dbtest.Start.Add(-time.Hour)}
	v := entity.Must(s.Create(t.Context(), as[T](given)))
	require.Equal(t, []any{dbtest.Start, dbtest.Start, int64(1)}, []any{v.CreatedAt, v.UpdatedAt, v.Version})
	l.Sent()
	for _, change := range []entity.UpdateOption{entity.Set(&f.CreatedAt, dbtest.Start), entity.Set(&f.UpdatedAt, dbtest.Start), entity.Set(&f.Version, 5), entity.Remove(&f.CreatedAt)} {
		require.Equal(t, "EDD-9104", dbtest.InputCode(dbtest.ErrorOf(s.Update(t.Context(), v, change))))
	}
	require.Empty(t, l.Sent())
}
