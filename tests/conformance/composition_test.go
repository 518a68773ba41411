package conformance_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
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
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

var rewrite = flag.Bool("update", false, "write the files in testdata again")

// actor writes one item of a type of the matrix, which only its functions know, so that the story is compiled once.
type actor struct {
	table               *dbtest.Bench
	fields              *Person
	create, put, upsert func(p Person) entity.Op
	update              func(changes ...entity.UpdateOption) entity.Op
	delete, restore     func() entity.Op // restore is nil without soft delete
	alone               func(t *testing.T, op entity.Op) error
}

// perform opens an actor on a table of its own.
func perform[T any](t *testing.T) actor {
	b, s := dbtest.OpenStore[T](t)
	a := actor{
		table: b, fields: fields[T](),
		create: func(p Person) entity.Op { return s.Op().Create(as[T](p)) },
		put:    func(p Person) entity.Op { return s.Op().Put(as[T](p), over[T]()...) },
		upsert: func(p Person) entity.Op { return s.Op().Upsert(as[T](p)) },
		update: func(changes ...entity.UpdateOption) entity.Op { return s.Op().Update(as[T](hero), changes...) },
		delete: func() entity.Op { return s.Op().Delete(as[T](hero)) },
		alone:  func(t *testing.T, op entity.Op) error { return runAlone(t, op.(entity.Write[T])) },
	}
	if traitsOf[T]().soft {
		bin := entity.Must(lifecycle.Of(s))
		a.restore = func() entity.Op { return bin.Op().Restore(as[T](hero)) }
	}
	return a
}

// hero has the key of the item.
var hero = Person{ID: "p-1"}

// scene is one verb of the story that each combination goes through.
type scene struct {
	name string
	op   entity.Op
	want []string // actions, in order
	cost int      // requests
}

// story is the life of one item, and what SEMANTICS says is sent for it.
func story(s actor, c traits) []scene {
	f := s.fields
	as := func(name, email, badge string) Person {
		return Person{ID: "p-1", Tenant: "t", Email: email, Badge: badge, Name: name}
	}
	const ada, countess = "ada@example.com", "countess@example.com"
	want := expected{traits: c}
	// Writes read the item if its history or their unique values need it.
	history, values, badge := 1+count(c.retain), 1+count(c.retain || c.unique > 0), 1+count(c.retain || c.unique > 1)
	list := []scene{
		{"create", s.create(as("Ada", ada, "7")), want.born(), history + count(c.soft && (c.retain || c.reserve))},
		{"put over live, unique values as they were", s.put(as("Ada L", ada, "7")), want.replaced(), values},
		{"put over live, another email and no badge", s.put(as("Ada", countess, "")), want.replaced("-email", "+email", "-badge"), values},
		{"upsert over live, unique values as they were", s.upsert(as("Augusta", countess, "")), want.replaced(), values},
		{"upsert over live, with a badge", s.upsert(as("Ada", countess, "8")), want.replaced("+badge"), values},
		{"update of another field", s.update(entity.Set(&f.Name, "A")), want.replaced(), history},
		{"update of the email", s.update(entity.Set(&f.Email, ada)), want.replaced("-email", "+email"), values},
		{"update that removes the badge", s.update(entity.Remove(&f.Badge)), want.replaced("-badge"), badge},
		{"update that sets a badge", s.update(entity.Set(&f.Badge, "9")), want.replaced("+badge"), badge},
		{"delete", s.delete(), want.gone(), 1 + count(c.retain || c.unique > 0 || c.soft)},
	}
	if c.soft {
		list = append(list, scene{"restore", s.restore(), want.back(), 2},
			scene{"update after the restore", s.update(entity.Set(&f.Name, "Back")), want.replaced(), history})
	} else {
		list = append(list, scene{"create again", s.create(as("Ada", ada, "7")), want.bornAgain(), history})
	}
	return list
}

func count(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// expected is what the transaction table says is sent, with the version so far.
type expected struct {
	traits
	version int
}

func (x *expected) constraints() []string { return []string{"email", "badge"}[:x.unique] }

func (x *expected) snapshot(n int) []string {
	if !x.retain {
		return nil
	}
	return []string{"put snapshot " + strconv.Itoa(n)}
}

// claims are the sentinel actions among changes such as "+email".
func (x *expected) claims(changes ...string) []string {
	var out []string
	for _, c := range x.constraints() {
		for _, change := range changes {
			if change[1:] == c {
				out = append(out, map[byte]string{'-': "delete", '+': "put"}[change[0]]+" sentinel "+c)
			}
		}
	}
	return out
}

func (x *expected) born() []string {
	x.version++
	return slices.Concat([]string{"put main"}, x.claims("+email", "+badge"), x.snapshot(x.version))
}

// bornAgain follows a hard delete, whose deleted state has a version of its own under Retain.
func (x *expected) bornAgain() []string {
	if !x.retain {
		x.version = 0
	}
	return x.born()
}

func (x *expected) replaced(changes ...string) []string {
	claims := x.claims(changes...)
	x.version++
	main := "put main"
	if !x.retain && len(claims) == 0 {
		main = "write main" // an UpdateItem, unless the verb reads
	}
	return slices.Concat([]string{main}, x.snapshot(x.version-1), claims)
}

func (x *expected) gone() []string {
	x.version++
	out := []string{"delete main"}
	if x.soft {
		out = append(out, "put copy")
	}
	out = append(out, x.snapshot(x.version-1)...)
	if !x.soft || x.copyTTL {
		out = append(out, x.snapshot(x.version)...)
	}
	if x.reserve {
		return append(out, x.claims("+email", "+badge")...)
	}
	return append(out, x.claims("-email", "-badge")...)
}

func (x *expected) back() []string {
	x.version++
	out := []string{"delete copy", "put main"}
	if !x.copyTTL {
		out = append(out, x.snapshot(x.version-1)...)
	}
	return append(out, x.claims("+email", "+badge")...)
}

// role says what an action is about.
func (a act) role() string {
	tail := strings.TrimPrefix(a.SK, personSK)
	switch {
	case tail == "" && a.PK == personPK && a.Kind == "update":
		return "write main"
	case tail == "" && a.PK == personPK:
		return a.Kind + " main"
	case strings.HasPrefix(tail, "#v#"):
		n, _ := strconv.Atoi(tail[3:])
		return a.Kind + " snapshot " + strconv.Itoa(n)
	case strings.HasPrefix(tail, "#deleted#"):
		return a.Kind + " copy"
	case strings.HasPrefix(tail, "."):
		return a.Kind + " sentinel " + tail[1:]
	}
	return a.Kind + " " + a.PK + " " + a.SK
}

// What each verb sends, for each combination of the matrix, is the transaction table of the documentation: presence, order, number
// of requests; alone and as part of a transaction. The files in testdata show it with all conditions.
func TestComposition_IsTheTransactionTable(t *testing.T) {
	t.Parallel()
	for _, c := range matrix {
		if !testsize.Long() && crc32.ChecksumIEEE([]byte(c.String()))%2 != 0 {
			continue
		}
		t.Run(c.String(), func(t *testing.T) { t.Parallel(); composition(t, c) })
	}
}

func composition(t *testing.T, c combination) {
	routes := []bool{false, true}
	if !testsize.Long() { // one of the two, which shall send what is in the file
		routes = []bool{crc32.ChecksumIEEE([]byte(c.String()))%2 == 1}
	}
	for _, inTransaction := range routes {
		s := c.perform(t)
		l, names := s.table, namer{}
		var b strings.Builder
		for _, x := range story(s, c.traits) {
			l.Clock.Move(time.Second)
			if inTransaction {
				require.NoError(t, runJoined(l, x.op), x.name)
			} else {
				require.NoError(t, s.alone(t, x.op), x.name)
			}
			requests := l.Sent()
			require.Len(t, requests, x.cost, "requests of %s: %v", x.name, dbtest.Operations(requests))
			reads, acts := sentActions(t, requests)
			if inTransaction {
				require.Equal(t, "check", acts[len(acts)-1].Kind, x.name)
				acts = acts[:len(acts)-1]
			}
			var got []string
			for _, a := range acts {
				got = append(got, a.role())
			}
			if want := x.want; len(want) == 1 && want[0] == "write main" {
				require.Len(t, got, 1, x.name)
				require.Contains(t, []string{"write main", "put main"}, got[0], x.name)
			} else {
				require.Equal(t, want, got, x.name)
			}
			fmt.Fprintf(&b, "%s\n", x.name)
			for _, r := range reads {
				fmt.Fprintf(&b, "  %s\n", r)
			}
			for _, a := range acts {
				fmt.Fprintf(&b, "  %s\n", names.rename(a.String()))
			}
		}
		golden(t, filepath.Join("composition", c.String()), b.String())
	}
}

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

// golden compares text with a file.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *rewrite {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	want := entity.Must(os.ReadFile(path))
	require.Equal(t, string(want), text, "go test ./tests/conformance -run %s -update writes it again; look at the difference", t.Name())
}

// act is one action as it was sent.
type act struct {
	Kind string // put, update, delete, check
	Key  string // short form of the sort key, or of the whole key of a sentinel
	Item map[string]any
	Cond string
	Sets string // update expression
	PK   string // as sent
	SK   string
}

// action is the JSON of an action, in a transaction or as a request of its own.
type action struct {
	Item, Key                 map[string]map[string]any
	ConditionExpression       string
	UpdateExpression          string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues map[string]map[string]any
}

// sentActions are the actions of the last write among requests, and the reads before it in the order of their names.
func sentActions(t *testing.T, requests []faults.Request) (reads []string, acts []act) {
	t.Helper()
	for _, r := range requests {
		switch r.Operation {
		case "GetItem", "Query":
			reads = append(reads, r.Operation)
		case "TransactWriteItems":
			var body struct{ TransactItems []map[string]action }
			require.NoError(t, json.Unmarshal(r.Body, &body))
			acts = nil
			for _, one := range body.TransactItems {
				for kind, a := range one {
					acts = append(acts, actOf(strings.ToLower(kind), a))
				}
			}
		case "PutItem", "UpdateItem", "DeleteItem":
			var a action
			require.NoError(t, json.Unmarshal(r.Body, &a))
			acts = []act{actOf(strings.ToLower(strings.TrimSuffix(r.Operation, "Item")), a)}
		default:
			require.Fail(t, "an unknown request", r.Operation)
		}
	}
	slices.Sort(reads)
	return reads, acts
}

func actOf(kind string, a action) act {
	key := a.Key
	if key == nil {
		key = a.Item
	}
	out := act{Kind: strings.TrimPrefix(kind, "condition"), PK: fmt.Sprint(key["pk"]["S"]), SK: fmt.Sprint(key["sk"]["S"]), Cond: a.spell(a.ConditionExpression), Sets: a.spell(a.UpdateExpression)}
	if a.Item != nil {
		out.Item = map[string]any{}
		for name, av := range a.Item {
			out.Item[name] = plain(av)
		}
	}
	if out.Key = strings.TrimPrefix(out.SK, "$app#v1#person"); strings.HasPrefix(out.Key, ".") {
		out.Key = "sentinel " + short(out.PK)
	} else {
		out.Key = "person" + out.Key + " of " + short(out.PK)
	}
	return out
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

// repeated are the attributes that a golden leaves out.
var repeated = []string{"pk", "sk", "id", "tenant", "createdAt", "__edd_e__", "gsi1pk", "gsi1sk"}

func (a act) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-6s %s", a.Kind, a.Key)
	if a.Item != nil {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(a.Item)) {
			if !slices.Contains(repeated, name) {
				parts = append(parts, name+"="+short(fmt.Sprint(a.Item[name])))
			}
		}
		if _, ok := a.Item["gsi1pk"]; ok {
			parts = append(parts, "gsi1")
		}
		b.WriteString("\n         " + strings.Join(parts, " "))
	}
	if a.Sets != "" {
		b.WriteString("\n         " + a.Sets)
	}
	if a.Cond != "" {
		b.WriteString("\n         if " + a.Cond)
	}
	return b.String()
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
