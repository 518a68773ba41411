package upgrades_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// The forms of a record. C, L, R, F and H are the declarations that the tags are for, or off.

type off struct{}

type rec1[C, L, R, F, H any] struct {
	_ entity.Key `name:"Rec" pk:"$#{id}" sk:"$"`
	_ C          `name:"mail" fields:"mail"`
	_ L          `name:"mail" fields:"mail" ttl:"1h"`
	_ R          `unique:"reserve"`
	_ F
	_ H

	ID      string    `dynamodbav:"id"`
	Mail    string    `dynamodbav:"mail"`
	Name    string    `dynamodbav:"name"`
	Seen    time.Time `dynamodbav:"seen"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

// rec2 has other names for the unique field and its neighbour, same2 for the neighbour alone.
type rec2[C, L, R, F, H any] struct {
	_ entity.Key `name:"Rec" pk:"$#{id}" sk:"$" payload:"2"`
	_ C          `name:"mail" fields:"address"`
	_ L          `name:"mail" fields:"address" ttl:"1h"`
	_ R          `unique:"reserve"`
	_ F
	_ H

	ID      string    `dynamodbav:"id"`
	Mail    string    `dynamodbav:"address"`
	Name    string    `dynamodbav:"title"`
	Seen    time.Time `dynamodbav:"seen"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

type same2[C, L, R, F, H any] struct {
	_ entity.Key `name:"Rec" pk:"$#{id}" sk:"$" payload:"2"`
	_ C          `name:"mail" fields:"mail"`
	_ L          `name:"mail" fields:"mail" ttl:"1h"`
	_ R          `unique:"reserve"`
	_ F
	_ H

	ID      string    `dynamodbav:"id"`
	Mail    string    `dynamodbav:"mail"`
	Name    string    `dynamodbav:"title"`
	Seen    time.Time `dynamodbav:"seen"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

// fields are the addresses of a record's fields.
type fields struct {
	id, mail, name *string
	seen           *time.Time
}

func (r *rec1[C, L, R, F, H]) fields() fields  { return fields{&r.ID, &r.Mail, &r.Name, &r.Seen} }
func (r *rec2[C, L, R, F, H]) fields() fields  { return fields{&r.ID, &r.Mail, &r.Name, &r.Seen} }
func (r *same2[C, L, R, F, H]) fields() fields { return fields{&r.ID, &r.Mail, &r.Name, &r.Seen} }

type form[T any] interface {
	*T
	fields() fields
}

// deed is a call of a random program.
type deed struct {
	verb, id, value, other string
	n                      int
}

// program runs deeds.
type program interface {
	run(ctx context.Context, d deed) error
}

// programOf is a program whose store is of T.
type programOf[T any, P form[T]] struct {
	db *entity.DB
	s  *entity.Store[T]
}

func (p programOf[T, P]) of(id, value string) (v T) {
	f := P(&v).fields()
	*f.id, *f.mail = id, value
	return v
}

func (p programOf[T, P]) run(ctx context.Context, d deed) error {
	key, whole, f := p.of(d.id, ""), p.of(d.id, d.value), P(entity.Fields[T]()).fields()
	switch d.verb {
	case "create":
		return dbtest.ErrorOf(p.s.Create(ctx, whole))
	case "put":
		return dbtest.ErrorOf(p.s.Put(ctx, whole))
	case "upsert":
		return dbtest.ErrorOf(p.s.Upsert(ctx, whole))
	case "set":
		return dbtest.ErrorOf(p.s.Update(ctx, key, entity.Set(f.mail, d.value)))
	case "name":
		return dbtest.ErrorOf(p.s.Update(ctx, key, entity.Set(f.name, d.value+"!")))
	case "modify":
		return dbtest.ErrorOf(p.s.Modify(ctx, key, func(v *T) error { *P(v).fields().mail = d.value; return nil }))
	case "touch":
		return dbtest.ErrorOf(p.s.Touch(ctx, key, f.seen, time.Second))
	case "delete":
		return p.s.Delete(ctx, key)
	case "purge":
		return p.s.Purge(ctx, key)
	case "deleteAll":
		return dbtest.ErrorOf(p.s.DeleteAll(ctx, p.s.Query(key), ""))
	case "purgeAll":
		return dbtest.ErrorOf(p.s.PurgeAll(ctx, p.s.Query(key), ""))
	case "restore":
		return dbtest.ErrorOf(entity.Must(lifecycle.Of(p.s)).Restore(ctx, key))
	case "restoreCopy":
		all, err := entity.Must(lifecycle.Of(p.s)).List(key).Collect(ctx)
		if err != nil {
			return err
		}
		return dbtest.ErrorOf(entity.Must(lifecycle.Of(p.s)).RestoreCopy(ctx, all[len(all)-1-d.n]))
	case "revert":
		return dbtest.ErrorOf(entity.Must(versioned.Of(p.s)).Revert(ctx, key, int64(d.n)))
	case "two":
		return p.db.Transact(ctx, p.s.Op().Update(key, entity.Set(f.mail, d.value)), p.s.Op().Update(p.of(d.other, ""), entity.Set(f.name, "two")))
	case "swap":
		return p.db.Transact(ctx, p.s.Op().Update(key, entity.Set(f.mail, d.value)), p.s.Op().Delete(p.of(d.other, "")))
	case "rewrite":
		return dbtest.ErrorOf(migrate.Rewrite(ctx, p.s))
	case "rewriteNew":
		return dbtest.ErrorOf(migrate.Rewrite(ctx, p.s, migrate.NewVersion()))
	case "repair":
		return dbtest.ErrorOf(migrate.RepairUnique(ctx, entity.Must(unique.Of(p.s, "mail"))))
	}
	panic(d.verb)
}

// version returns the unique value of a version of an item, and the version; 0 without one.
func (p programOf[T, P]) version(ctx context.Context, id string, pick func(n int) int) (value string, n int) {
	all, err := entity.Must(versioned.Of(p.s)).List(p.of(id, "")).Collect(ctx)
	if err != nil || len(all) == 0 {
		return "", 0
	}
	v := all[pick(len(all))]
	return *P(&v.Item).fields().mail, int(v.Number)
}

// claimPair is a way to change the declaration of records.
type claimPair struct {
	name     string
	was, is  rule
	history  bool
	declare  func(b *dbtest.Bench, named bool, step func(string) string) (old, now program)
	versions func(p program, ctx context.Context, id string, pick func(int) int) (string, int)
}

func pairOf[T1, Bare, T2 any, P1 form[T1], B form[Bare], P2 form[T2]](name string, was, is rule, history bool) claimPair {
	return claimPair{name, was, is, history, func(b *dbtest.Bench, named bool, step func(string) string) (program, program) {
		opt := entity.Upgrade(1, func(v T1) (to T2, err error) { convert(P1(&v).fields(), P2(&to).fields(), step); return to, nil })
		if !named { // the struct of the step does not have the declarations that it had
			opt = entity.Upgrade(1, func(v Bare) (to T2, err error) { convert(B(&v).fields(), P2(&to).fields(), step); return to, nil })
		}
		now := programOf[T2, P2]{b.DB, dbtest.Declare[T2](b.T, b.DB, opt)}
		db := b.Open(b.Raw)
		return programOf[T1, P1]{db, dbtest.Declare[T1](b.T, db)}, now
	}, func(p program, ctx context.Context, id string, pick func(int) int) (string, int) {
		return p.(programOf[T2, P2]).version(ctx, id, pick)
	}}
}

func convert(from, to fields, step func(string) string) {
	*to.id, *to.mail, *to.name, *to.seen = *from.id, step(*from.mail), *from.name, *from.seen
}

const hour = 3600

func pairsOf[C1, L1, C2, L2, R1, F1, R2, F2, H any](was, is rule, history bool) []claimPair {
	name := fmt.Sprintf("%+v to %+v, history %t", was, is, history)
	return []claimPair{
		pairOf[rec1[C1, L1, R1, F1, H], rec1[off, off, off, off, off], rec2[C2, L2, R2, F2, H]]("renamed, "+name, was, is, history),
		pairOf[rec1[C1, L1, R1, F1, H], rec1[off, off, off, off, off], same2[C2, L2, R2, F2, H]]("neighbour, "+name, was, is, history),
	}
}

type (
	only = unique.Constraint
	soft = lifecycle.SoftDelete
	past = versioned.Retain
)

func pairsThatDelete[C1, L1, C2, L2 any](was, is rule) []claimPair {
	free, reserve := is, is
	free.deletes, reserve.deletes = "free", "reserve"
	all := slices.Concat(
		pairsOf[C1, L1, C2, L2, off, off, off, off, off](was, is, false), pairsOf[C1, L1, C2, L2, off, off, off, off, past](was, is, true),
		pairsOf[C1, L1, C2, L2, off, soft, off, soft, off](was, free, false), pairsOf[C1, L1, C2, L2, off, soft, soft, off, off](was, reserve, false),
	)
	if was.unique { // which reserve needs
		all = slices.Concat(all, pairsOf[C1, L1, C2, L2, soft, off, soft, off, off](was, reserve, false), pairsOf[C1, L1, C2, L2, soft, off, soft, off, past](was, reserve, true),
			pairsOf[C1, L1, C2, L2, soft, off, off, soft, off](was, free, false))
	}
	return all
}

func allPairs() []claimPair {
	none, ever, limited := rule{}, rule{unique: true}, rule{unique: true, ttl: hour}
	return slices.Concat(
		pairsThatDelete[off, off, only, off](none, ever), pairsThatDelete[off, off, off, only](none, limited),
		pairsThatDelete[only, off, only, off](ever, ever), pairsThatDelete[only, off, off, only](ever, limited),
		pairsThatDelete[off, only, only, off](limited, ever), pairsThatDelete[off, only, off, only](limited, limited),
	)
}

var steps = map[string]func(string) string{
	"same": func(v string) string { return v },
	"prefix": func(v string) string {
		if v == "" {
			return v
		}
		return "n" + v
	},
	"lower": strings.ToLower,
}

var (
	ids    = []string{"a", "b", "c"}
	values = []string{"x", "X", "y", "nx", ""}
)

// draw returns the next deed that the table admits, and what it does to a table. expected is false if a value is taken.
func draw(r *rand.Rand, x claimPair, now program, ctx context.Context, m *claims, order []string, at int64) (d deed, does func(*claims) (expected bool)) {
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	yes := func(f func(*claims)) func(*claims) bool { return func(m *claims) bool { f(m); return true } }
	for {
		d = deed{id: pick(ids), other: pick(ids), value: pick(values)}
		_, exists := m.items[d.id]
		_, alsoOther := m.items[d.other]
		copies := len(m.copies[d.id])
		begins := !exists && (copies == 0 || x.is.deletes == "free" && !x.history)
		switch d.verb = pick([]string{"create", "put", "upsert", "set", "set", "name", "modify", "touch", "delete", "purge", "deleteAll", "purgeAll", "restore", "restoreCopy", "revert", "two", "swap", "rewrite", "rewriteNew", "repair"}); {
		case begins && slices.Contains([]string{"create", "put", "upsert"}, d.verb):
			return d, func(m *claims) bool {
				if !m.take(x.is, d.id, d.value, at) {
					return false
				}
				m.items[d.id] = held{2, d.value}
				return true
			}
		case slices.Contains([]string{"purge", "rewrite", "rewriteNew", "repair"}, d.verb) && r.IntN(5) > 0: // else few items would stay in an earlier form
		case d.verb == "rewrite", d.verb == "rewriteNew":
			return d, yes(func(m *claims) { m.rewrite(x.is, order, at) })
		case d.verb == "repair":
			return d, yes(func(m *claims) { m.repair(x.is, at) })
		case d.verb == "purge" && (exists || copies > 0), d.verb == "purgeAll" && exists:
			return d, yes(func(m *claims) { m.purge(d.id) })
		case !exists && copies > 0 && d.verb == "restore":
			return d, func(m *claims) bool { return m.restore(x.is, d.id, copies-1, at) }
		case !exists && copies > 0 && d.verb == "restoreCopy":
			d.n = r.IntN(copies)
			return d, func(m *claims) bool { return m.restore(x.is, d.id, d.n, at) }
		case !exists:
		case slices.Contains([]string{"put", "upsert", "set", "modify"}, d.verb):
			return d, func(m *claims) bool { m.upgrade(d.id, at); return m.set(x.is, d.id, d.value, at) }
		case d.verb == "name", d.verb == "touch":
			return d, yes(func(m *claims) { m.upgrade(d.id, at) })
		case d.verb == "delete", d.verb == "deleteAll":
			return d, yes(func(m *claims) { m.upgrade(d.id, at); m.remove(x.is, d.id, at) })
		case d.verb == "revert" && x.history:
			if d.value, d.n = x.versions(now, ctx, d.id, r.IntN); d.n > 0 {
				return d, func(m *claims) bool { m.upgrade(d.id, at); return m.set(x.is, d.id, d.value, at) }
			}
		case d.verb == "two" && alsoOther && d.other != d.id:
			return d, func(m *claims) bool {
				m.upgrade(d.id, at)
				m.upgrade(d.other, at)
				return m.set(x.is, d.id, d.value, at)
			}
		case d.verb == "swap" && alsoOther && d.other != d.id && x.is.deletes != "reserve":
			return d, func(m *claims) bool {
				m.upgrade(d.id, at)
				m.upgrade(d.other, at)
				rest := m.clone()
				if rest.remove(x.is, d.other, at); !rest.set(x.is, d.id, d.value, at) {
					return false
				}
				*m = *rest
				return true
			}
		}
	}
}

// Programs of two declarations, between which an upgrade and perhaps a change of the constraint lie, claim what a model says,
// whatever fails: an upgrade moves the claims that an item has, with their ends, and claims nothing else.
func TestUpgrades_ClaimsAgainstAModel(t *testing.T) {
	t.Parallel()
	seed := testsize.Seed(t)
	pairs := allPairs()
	for _, codec := range []entity.Codec{entity.OwnCodec, entity.SDKCodec} {
		t.Run(fmt.Sprint("codec ", codec), func(t *testing.T) {
			t.Parallel()
			b := dbtest.Open(t, func(c *entity.Config) { c.Codec = codec })
			x := pairs[0]
			x.declare(b, true, steps["same"])
			b.CreateTables()
			verbs := map[string]int{}
			taken := 0
			n := testsize.Pick(24, 60) * int(testsize.Number(t, "DYNASTRATA_ROUNDS", 1))
			for i := range n {
				runProgram(t, b, rand.New(rand.NewPCG(seed, uint64(i)*2+uint64(codec))), pairs[i%len(pairs)], verbs, &taken)
				if t.Failed() {
					t.Logf("program %d of seed %d", i, seed)
					return
				}
			}
			t.Logf("seed %d: %d programs, %d values were taken, calls %v", seed, n, taken, verbs)
		})
	}
}

// runProgram runs a random program on a table and leaves it empty.
func runProgram(t *testing.T, b *dbtest.Bench, r *rand.Rand, x claimPair, verbs map[string]int, refusals *int) {
	t.Helper()
	b.DB = b.Open(b.Client)
	stepName, named := []string{"same", "prefix", "lower"}[r.IntN(3)], r.IntN(2) == 0
	if x.was.unique && strings.HasPrefix(x.name, "renamed") && stepName != "same" {
		named = true // otherwise nothing says under which key the value was claimed
	}
	step := steps[stepName]
	old, now := x.declare(b, named, step)
	log := []string{fmt.Sprintf("%s, step %s, declared %t", x.name, stepName, named)}
	for range 1 + r.IntN(5) { // what the earlier program leaves
		b.Clock.Move(time.Duration(1+r.IntN(hour)) * time.Second)
		d := deed{verb: []string{"create", "create", "set", "delete"}[r.IntN(4)], id: ids[r.IntN(len(ids))], value: values[r.IntN(len(values))]}
		log = append(log, fmt.Sprintf("%d earlier %+v: %v", b.Clock.Now().Unix(), d, old.run(b.Ctx, d)))
	}
	m, order := readClaims(b, step)
	kinds := []faults.Fault{faults.None, faults.None, faults.None, faults.Throttle, faults.Conflict, faults.Twice, faults.Lost, faults.InternalApplied, faults.Internal}
	for range 4 + r.IntN(8) {
		b.Clock.Move(time.Duration(1+r.IntN(hour)) * time.Second)
		at := b.Clock.Now().Unix()
		d, does := draw(r, x, now, b.Ctx, m, order, at)
		one, other, both, turned := m.clone(), m.clone(), m.clone(), m.clone()
		one.upgrade(d.id, at)
		other.upgrade(d.other, at)
		both.upgrade(d.id, at)
		both.upgrade(d.other, at)
		turned.upgrade(d.other, at)
		turned.upgrade(d.id, at)
		ends := []*claims{m.clone()}
		if d.verb == "two" || d.verb == "swap" { // whose items are upgraded in any order
			ends = append(ends, turned.clone())
		}
		fault, nth := kinds[r.IntN(len(kinds))], 1+r.IntN(3)
		b.Wire.Inject(faults.Nth(nth, fault, "TransactWriteItems", "UpdateItem", "PutItem", "DeleteItem"))
		err := now.run(b.Ctx, d)
		b.Wire.Inject(nil)
		log = append(log, fmt.Sprintf("%d %+v, fault %v at %d: %v", at, d, fault, nth, err))
		is, next := readClaims(b, step)
		var candidates []*claims
		var violation *unique.ViolationError
		refused := errors.As(err, &violation)
		taken := false
		for _, done := range ends {
			expected := does(done)
			taken = taken || !expected
			switch {
			case err == nil && expected, refused && !expected && fault == faults.None: // a refused write has upgraded its items
				candidates = append(candidates, done)
			case refused && !expected: // or some of them, when a request failed
				candidates = append(candidates, m, one, other, both, turned)
			case err != nil && fault != faults.None && (entity.IsAmbiguous(err) || expected && !refused):
				candidates = append(candidates, m, done, one, other, both, turned)
			}
		}
		if !slices.ContainsFunc(candidates, func(c *claims) bool { return c.String() == is.String() }) {
			t.Errorf("%s\n\nbefore:\n%v\n\nmust be:\n%v\n\nis:\n%v", strings.Join(log, "\n"), m, candidates, is)
			return
		}
		verbs[d.verb]++
		if taken {
			*refusals++
		}
		m, order = is, next
	}
	for _, it := range b.Items() {
		b.RemoveItem(it)
	}
	require.Empty(t, b.Items())
}
