package upgrades_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/versioned"
)

// world is a table with a program of the earlier declaration and one of today's.
type world[Old, Now any] struct {
	*dbtest.Bench
	old     *entity.Store[Old]
	now     *entity.Store[Now]
	bin     *lifecycle.Deleted[Now] // nil without soft delete
	history *versioned.History[Now] // nil without a history
	read    map[string]Now          // by id, as it was read last
	faulty  bool                    // requests fail
}

// pairing is a run of random programs on a pair of declarations.
type pairing struct {
	t        *testing.T
	name     string
	codec    entity.Codec
	table    bool // of all verbs, instead of programs
	seed     uint64
	programs int
}

func openWorld[Old, Now any](p *pairing, opts ...entity.StoreOption) *world[Old, Now] {
	b := dbtest.Open(p.t, func(c *entity.Config) {
		c.Codec, c.MaxAttempts = p.codec, 30
		c.FromContext = func(context.Context, string) (string, bool) { return "actor", true }
	})
	w := &world[Old, Now]{Bench: b, now: dbtest.Declare[Now](p.t, b.DB, opts...)}
	w.old = dbtest.Declare[Old](p.t, b.Open(b.Raw))
	w.bin, _ = lifecycle.Of(w.now)
	w.history, _ = versioned.Of(w.now)
	b.CreateTables()
	return w
}

// empty removes all items.
func (w *world[Old, Now]) empty() {
	for _, it := range w.Items() {
		w.RemoveItem(it)
	}
}

// renames converts by the names of the Go fields.
func renames[Old, Now any](old Old) (now Now, err error) {
	from, to := reflect.ValueOf(old), reflect.ValueOf(&now).Elem()
	for i := range from.NumField() {
		if name := from.Type().Field(i).Name; name != "_" {
			to.FieldByName(name).Set(from.Field(i))
		}
	}
	return now, nil
}

// edit is a random value of a field, which not every struct has.
type edit struct {
	kind, field string
	value       any
}

var fieldValues = map[string][]any{
	"Title": {"", "t1", "t2"}, "Team": {"", "red", "blue"}, "Total": {0, 0, 1, 12345}, "Done": {false, true}, "Box": {box{}, box{N: 1}, box{S: "s"}},
	"Same": {0, 1, 2}, "Seen": {time.Time{}, dbtest.Start}, "Level": {0, 0, 1}, "Note": {(*string)(nil), new(string)}, "Due": {time.Time{}, dbtest.Start},
	"Owner": {"", "ann", "ben"}, "First": {"", "x", "y"}, "Must": {"", "m"}, "State": {"", "old"}, "Tags": {[]string(nil), []string{}, []string{"x"}}, "Other": {box{}, box{N: 1}},
}

func pick[E any](r *rand.Rand, list []E) E { return list[r.IntN(len(list))] }

// edits returns random values of some fields.
func edits(r *rand.Rand, n int) (all []edit) {
	for range n {
		field := pick(r, slices.Sorted(maps.Keys(fieldValues)))
		if !slices.ContainsFunc(all, func(e edit) bool { return e.field == field }) {
			all = append(all, edit{pick(r, []string{"set", "set", "set", "once", "remove", "add"}), field, pick(r, fieldValues[field])})
		}
	}
	return all
}

// apply sets fields of v, a pointer to a struct, where it has them.
func apply(v any, all []edit) {
	for _, e := range all {
		fv := reflect.ValueOf(v).Elem().FieldByName(e.field)
		switch value := reflect.ValueOf(e.value); {
		case !fv.IsValid():
		case fv.Kind() == reflect.Pointer && value.Kind() != reflect.Pointer:
			fv.Set(reflect.New(fv.Type().Elem()))
			fv.Elem().Set(value)
		case value.Type().AssignableTo(fv.Type()):
			fv.Set(value)
		}
	}
}

// field returns the address of a field of the prototype of T, nil if T has none.
func field[T any](name string) any {
	fv := reflect.ValueOf(entity.Fields[T]()).Elem().FieldByName(name)
	if !fv.IsValid() {
		return nil
	}
	return fv.Addr().Interface()
}

func changeOf[V any](e edit, p *V, v V) entity.ChangeOption {
	switch e.kind {
	case "once":
		return entity.SetIfNotExists(p, v)
	case "remove":
		return entity.Remove(p)
	}
	return entity.Set(p, v)
}

// changes returns what an update of a T makes of edits.
func changes[T any](all []edit) (opts []entity.UpdateOption) {
	for _, e := range all {
		switch p := field[T](e.field).(type) {
		case *string:
			opts = append(opts, changeOf(e, p, e.value.(string)))
		case *int:
			if e.kind == "add" {
				opts = append(opts, entity.Add(p, e.value.(int)))
			} else {
				opts = append(opts, changeOf(e, p, e.value.(int)))
			}
		case *bool:
			opts = append(opts, changeOf(e, p, e.value.(bool)))
		case *time.Time:
			opts = append(opts, changeOf(e, p, e.value.(time.Time)))
		case *[]string:
			opts = append(opts, changeOf(e, p, e.value.([]string)))
		case **string:
			opts = append(opts, changeOf(e, p, e.value.(*string)))
		case *box:
			if e.kind == "add" { // needs the parent
				opts = append(opts, entity.Add(&p.N, e.value.(box).N))
			} else {
				opts = append(opts, changeOf(e, p, e.value.(box)))
			}
		}
	}
	return opts
}

// cond returns a condition on a field of T, true for some items if T has none.
func cond[T any](e edit) entity.Cond {
	about := func(p any) entity.Cond {
		switch p := p.(type) {
		case *string:
			if e.kind == "set" {
				return entity.Eq(p, e.value.(string))
			}
			return entity.Exists(p)
		case *int:
			if e.kind == "set" {
				return entity.Eq(p, e.value.(int))
			}
			return entity.Exists(p)
		case *bool:
			return entity.Exists(p)
		case *time.Time:
			return entity.Exists(p)
		case *box:
			return entity.Eq(&p.N, e.value.(box).N)
		}
		return entity.Exists(field[T]("ID").(*string))
	}(field[T](e.field))
	if e.kind == "remove" {
		return entity.Not(about)
	}
	return about
}

// call is a step of a program, in either world.
type call[Old, Now any] struct {
	what string
	do   func(*world[Old, Now]) (any, error)
}

func with[T any](id string, all []edit) T {
	var v T
	reflect.ValueOf(&v).Elem().FieldByName("ID").SetString(id)
	apply(&v, all)
	return v
}

// before is a call of the earlier program.
func before[Old, Now any](r *rand.Rand, id string) call[Old, Now] {
	all := edits(r, 2+r.IntN(6))
	key := with[Old](id, nil)
	type w = *world[Old, Now]
	c := pick(r, []call[Old, Now]{
		{"old create", func(w w) (any, error) { return nil, dbtest.ErrorOf(w.old.Create(w.Ctx, with[Old](id, all))) }},
		{"old create", func(w w) (any, error) { return nil, dbtest.ErrorOf(w.old.Create(w.Ctx, with[Old](id, all))) }},
		{"old update", func(w w) (any, error) {
			return nil, dbtest.ErrorOf(w.old.Update(w.Ctx, key, changes[Old](all)...))
		}},
		{"old delete", func(w w) (any, error) { return nil, w.old.Delete(w.Ctx, key) }},
	})
	c.what += fmt.Sprintf(" of %s %v", id, all)
	return c
}

// verbs are calls of today's program, about an item and another one. all are the values that they write, one and n what conditions
// and reverts are about.
func verbs[Old, Now any](w0 *world[Old, Now], id, other string, all []edit, one edit, n int64) []call[Old, Now] {
	key, v := with[Now](id, nil), with[Now](id, all)
	when := entity.If(cond[Now](one))
	type w = *world[Old, Now]
	calls := []call[Old, Now]{
		{"create", func(w w) (any, error) { return ret(w.now.Create(w.Ctx, v)) }},
		{"update", func(w w) (any, error) { return ret(w.now.Update(w.Ctx, key, changes[Now](all)...)) }},
		{"update", func(w w) (any, error) { return ret(w.now.Update(w.Ctx, key, changes[Now](all)...)) }},
		{"update if", func(w w) (any, error) { return ret(w.now.Update(w.Ctx, key, append(changes[Now](all), when)...)) }},
		{"upsert", func(w w) (any, error) { v, _, err := w.now.Upsert(w.Ctx, v); return v, err }},
		{"upsert with changes", func(w w) (any, error) {
			v, created, err := w.now.Upsert(w.Ctx, v, entity.Add(field[Now]("Total").(*int), 1))
			return []any{v, created && !w.faulty}, err // a lost answer over an item without a version looks like a creation
		}},
		{"put", func(w w) (any, error) { return ret(w.now.Put(w.Ctx, v)) }},
		{"put read", func(w w) (any, error) {
			v := w.read[id]
			reflect.ValueOf(&v).Elem().FieldByName("ID").SetString(id)
			apply(&v, all)
			return ret(w.now.Put(w.Ctx, v, when))
		}},
		{"modify", func(w w) (any, error) {
			return ret(w.now.Modify(w.Ctx, key, func(v *Now) error { apply(v, all); return nil }))
		}},
		{"touch", func(w w) (any, error) {
			return ret(w.now.Touch(w.Ctx, key, field[Now]("Seen").(*time.Time), time.Hour))
		}},
		{"delete", func(w w) (any, error) { return nil, w.now.Delete(w.Ctx, key) }},
		{"delete if", func(w w) (any, error) { return nil, w.now.Delete(w.Ctx, key, when) }},
		{"delete all", func(w w) (any, error) { return ret(w.now.DeleteAll(w.Ctx, w.now.Query(key), "")) }},
		{"transact", func(w w) (any, error) {
			return nil, w.DB.Transact(w.Ctx, w.now.Op().Upsert(v), w.now.Op().CheckExists(with[Now](other, nil)))
		}},
		{"transact if", func(w w) (any, error) {
			return nil, w.DB.Transact(w.Ctx, w.now.Op().Update(key, append(changes[Now](all), when)...), w.now.Op().CheckNotExists(with[Now]("none", nil)))
		}},
		{"get", func(w w) (any, error) {
			var batch, transact Now = key, key
			found, err := w.DB.BatchGet(w.Ctx, w.now.Op().GetInto(&batch))
			return []any{batch, transact, found}, errors.Join(err, w.DB.TransactGet(w.Ctx, w.now.Op().GetInto(&transact)))
		}},
		{"rewrite", func(w w) (any, error) { return nil, dbtest.ErrorOf(migrate.Rewrite(w.Ctx, w.now)) }},
	}
	if w0.bin != nil {
		restore := call[Old, Now]{"restore", func(w w) (any, error) { return ret(w.bin.Restore(w.Ctx, key)) }}
		calls = append(calls, restore, restore, call[Old, Now]{"copies", func(w w) (any, error) { return ret(w.bin.List(key).Collect(w.Ctx)) }})
	}
	if w0.history != nil {
		calls = append(calls,
			call[Old, Now]{"revert", func(w w) (any, error) { return ret(w.history.Revert(w.Ctx, key, n)) }},
			call[Old, Now]{"history", func(w w) (any, error) { return ret(w.history.List(key, versioned.WithCurrent()).Collect(w.Ctx)) }},
			call[Old, Now]{"diff", func(w w) (any, error) { return ret(w.history.Diff(w.Ctx, key, n, n+1)) }})
	}
	return calls
}

// after is a random call of today's program.
func after[Old, Now any](r *rand.Rand, w *world[Old, Now], id, other string) call[Old, Now] {
	all := edits(r, 1+r.IntN(5))
	c := pick(r, verbs(w, id, other, all, edits(r, 1)[0], int64(r.IntN(4))))
	c.what += fmt.Sprintf(" of %s %v", id, all)
	return c
}

func ret[V any](v V, err error) (any, error) { return v, err }

// outcome is the text of what a call gave. Ids that the library generates are left out.
func outcome(v any, err error) string {
	if err != nil {
		return err.Error()
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	parts := strings.Split(string(text), `"Ref":"`)
	for i := range parts[1:] {
		parts[i+1] = strings.TrimLeft(parts[i+1], "0123456789ABCDEFGHJKMNPQRSTVWXYZ")
	}
	return strings.Join(parts, `"Ref":"`)
}

// class is what a program can tell of an error, however often its requests were repeated.
func class(err error) string {
	for _, sentinel := range []error{entity.ErrExists, entity.ErrDeleted, entity.ErrNotFound, entity.ErrConflict, entity.ErrConditionFailed, entity.ErrNotDeleted} {
		if errors.Is(err, sentinel) {
			return sentinel.Error()
		}
	}
	return dbtest.InputCode(err)
}

// stored returns what a table has, by key. Of an item in an earlier form it has the key only.
func stored(b *dbtest.Bench) map[string]string {
	lines := map[string]string{}
	for key, it := range b.ItemsByKey() {
		for _, name := range []string{"_w", "ref"} {
			if it[name] != nil {
				it[name] = dbtest.S("*")
			}
		}
		if lines[key] = ""; it["_pv"] != nil {
			lines[key] = item.ValueText(&types.AttributeValueMemberM{Value: it})
		}
	}
	return lines
}

// alike returns want without the content of items that is has in an earlier form.
func alike(is, want map[string]string) map[string]string {
	want = maps.Clone(want)
	for key := range want {
		if line, there := is[key]; there && line == "" {
			want[key] = ""
		}
	}
	return want
}

// agree requires that a table has what another has, apart from items in an earlier form.
func agree(t require.TestingT, what string, is, want *dbtest.Bench) {
	a := stored(is)
	require.Equal(t, alike(a, stored(want)), a, what)
}

// pair runs programs in a world with an upgrade, where requests fail, and in one where everything had today's names from the start.
func pair[Old1, Old2, Now any](p *pairing) {
	up, plain := openWorld[Old1, Now](p, entity.Upgrade(1, renames[Old1, Now])), openWorld[Old2, Now](p)
	if p.table {
		for name, id := range map[string]string{"stored zeros": "a", "stored values": "b", "a deleted item": "c"} {
			for i, verb := range verbs(up, id, "b", chosen, edit{"once", "Owner", ""}, 1) {
				p.t.Run(verb.what+" of "+name, func(t *testing.T) { row(t, up, plain, id, i) })
			}
		}
		return
	}
	h := fnv.New64()
	h.Write([]byte(p.name))
	for n := range p.programs {
		pairProgram(p, rand.New(rand.NewPCG(p.seed+uint64(n), h.Sum64())), n%2 == 1, up, plain)
	}
}

// chosen is what the calls of the table write.
var chosen = []edit{
	{"set", "Title", "t1"}, {"set", "Owner", "ann"}, {"set", "First", "x"}, {"set", "Must", "m"}, {"set", "Level", 0}, {"add", "Box", box{N: 1}}, {"set", "Tags", []string{"x"}},
}

// row makes the call at index i of the verbs on an item of the earlier program, in both worlds.
func row[Old1, Old2, Now any](t *testing.T, up *world[Old1, Now], plain *world[Old2, Now], id string, i int) {
	earlier := func(b *dbtest.Bench, create func(string) error, remove func(string) error) {
		for _, id := range []string{"a", "b", "c"} {
			require.NoError(t, create(id))
		}
		require.NoError(t, remove("c"))
		b.Clock.Set(dbtest.Start.Add(time.Hour), 0)
	}
	values := map[string][]edit{"b": {{"", "Title", "t2"}, {"", "Team", "red"}, {"", "Total", 7}, {"", "Done", true}, {"", "Box", box{N: 1}}, {"", "Same", 1}, {"", "Seen", dbtest.Start}}}
	up.Clock.Set(dbtest.Start, 0)
	plain.Clock.Set(dbtest.Start, 0)
	earlier(up.Bench, func(id string) error { return dbtest.ErrorOf(up.old.Create(up.Ctx, with[Old1](id, values[id]))) },
		func(id string) error { return up.old.Delete(up.Ctx, with[Old1](id, nil)) })
	earlier(plain.Bench, func(id string) error { return dbtest.ErrorOf(plain.old.Create(plain.Ctx, with[Old2](id, values[id]))) },
		func(id string) error { return plain.old.Delete(plain.Ctx, with[Old2](id, nil)) })
	one := edit{"once", "Owner", ""}
	got, err := verbs(up, id, "b", chosen, one, 1)[i].do(up)
	want, wantErr := verbs(plain, id, "b", chosen, one, 1)[i].do(plain)
	require.Equal(t, outcome(want, wantErr), outcome(got, err))
	agree(t, "stored", up.Bench, plain.Bench)
	up.empty()
	plain.empty()
}

func pairProgram[Old1, Old2, Now any](p *pairing, r *rand.Rand, faulty bool, up *world[Old1, Now], plain *world[Old2, Now]) {
	t := p.t
	up.read, plain.read = map[string]Now{}, map[string]Now{}
	up.faulty, plain.faulty = faulty, faulty
	var said []string
	step := func(a call[Old1, Now], b call[Old2, Now]) (ambiguous bool) {
		said = append(said, a.what)
		what := strings.Join(said, "\n")
		d := time.Duration(r.IntN(3)) * time.Hour
		up.Clock.Move(d)
		plain.Clock.Move(d)
		got, err := a.do(up)
		former := stored(plain.Bench)
		want, wantErr := b.do(plain)
		if entity.IsAmbiguous(err) {
			is := stored(up.Bench)
			if !maps.Equal(is, alike(is, former)) {
				require.Equal(t, alike(is, stored(plain.Bench)), is, what)
			}
			return true
		}
		if (faulty || strings.HasPrefix(a.what, "old")) && (err != nil || wantErr != nil) {
			require.Equal(t, class(wantErr), class(err), "%s\n%v\n%v", what, err, wantErr)
		} else {
			require.Equal(t, outcome(want, wantErr), outcome(got, err), what)
		}
		return false
	}
	ids := []string{"a", "b"}
	for range 2 + r.IntN(4) {
		id, s := pick(r, ids), r.Uint64()
		step(before[Old1, Now](rand.New(rand.NewPCG(s, 0)), id), before[Old2, Now](rand.New(rand.NewPCG(s, 0)), id))
	}
	if faulty {
		up.Wire.Inject(faults.Random(r.Uint64(), .15, faults.Throttle, faults.Conflict, faults.Internal, faults.InternalApplied, faults.Drop, faults.Lost))
	}
	for range 4 + r.IntN(8) {
		i, s := r.IntN(2), r.Uint64()
		if step(after(rand.New(rand.NewPCG(s, 0)), up, ids[i], ids[1-i]), after(rand.New(rand.NewPCG(s, 0)), plain, ids[i], ids[1-i])) {
			up.Wire.Inject(nil)
			up.empty()
			plain.empty()
			return
		}
		what := strings.Join(said, "\n")
		agree(t, what, up.Bench, plain.Bench)
		for _, id := range ids {
			a, err := up.now.Get(up.Ctx, with[Now](id, nil))
			b, wantErr := plain.now.Get(plain.Ctx, with[Now](id, nil))
			require.Equal(t, outcome(b, wantErr), outcome(a, err), what)
			up.read[id], plain.read[id] = a, b
		}
	}
	up.Wire.Inject(nil)
	up.OK(migrate.Rewrite(up.Ctx, up.now))
	plain.OK(migrate.Rewrite(plain.Ctx, plain.now))
	agree(t, strings.Join(said, "\n"), up.Bench, plain.Bench)
	up.empty()
	plain.empty()
}

// run runs f for each pair and both codecs.
func run(t *testing.T, f func(name string, codec entity.Codec, pair func(*pairing), t *testing.T)) {
	for name, pair := range pairs {
		for codec, as := range map[entity.Codec]string{entity.OwnCodec: "own codec", entity.SDKCodec: "codec of the SDK"} {
			t.Run(name+", "+as, func(t *testing.T) {
				t.Parallel()
				f(name, codec, pair, t)
			})
		}
	}
}

// The table of the ways to change a declaration and the verbs: each does with an upgrade what it does without.
func TestUpgrades_EveryVerbAfterEveryChange(t *testing.T) {
	t.Parallel()
	run(t, func(name string, codec entity.Codec, pair func(*pairing), t *testing.T) {
		if codec == entity.OwnCodec || testsize.Long() {
			pair(&pairing{t: t, codec: codec, table: true})
		}
	})
}

// An upgrade that only renames changes nothing else: random programs whose declaration has changed do what they do without an
// upgrade, on items whose attributes had today's names from the start, however often requests fail.
func TestUpgrades_OnlyRename(t *testing.T) {
	t.Parallel()
	seed := testsize.Seed(t)
	run(t, func(name string, codec entity.Codec, pair func(*pairing), t *testing.T) {
		pair(&pairing{t: t, name: name, codec: codec, seed: seed, programs: testsize.Pick(2, 4) * int(testsize.Number(t, "DYNASTRATA_ROUNDS", 1))})
	})
}
