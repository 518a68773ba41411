package format_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// player makes the calls of a scenario on the entity T, as they were recorded.
type player[T any] struct {
	*script
	s       *entity.Store[T]
	bin     *lifecycle.Deleted[T]  // nil without soft delete
	history *versioned.History[T]  // nil without a history
	adjust  func(st step, want *T) // makes of a recorded result what the library returns
}

// script is what a player has whatever its entity is.
type script struct {
	*replay
	fields  reflect.Value            // of the entity
	special map[string]func(st step) // steps that are not done as recorded
	ends    map[string]end           // steps that end otherwise
	differs []string                 // steps whose result is another
	ahead   int64                    // by how much versions are higher here
}

// end checks the error of a step.
type end func(t *testing.T, err error)

// is requires one of the classes of errors, or success for nil.
func is(class error) end {
	return func(t *testing.T, err error) {
		t.Helper()
		if class == nil {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, class)
		}
	}
}

// refused requires an InputError with a code.
func refused(code string) end {
	return func(t *testing.T, err error) { t.Helper(); require.Equal(t, code, dbtest.InputCode(err), "%v", err) }
}

// violates requires a violation of a unique constraint.
func violates(t *testing.T, err error) { t.Helper(); dbtest.As[*unique.ViolationError](t, err) }

func newPlayer[T any](t *testing.T, scenario string) *player[T] {
	t.Helper()
	p := &player[T]{script: &script{replay: newReplay(t, scenario), fields: reflect.ValueOf(entity.Fields[T]()).Elem()}}
	p.s, p.bin, p.history = handles[T](t, p.DB)
	p.create(t)
	return p
}

// handles are T's store, deleted items and history on a database.
func handles[T any](t *testing.T, db *entity.DB) (s *entity.Store[T], bin *lifecycle.Deleted[T], history *versioned.History[T]) {
	t.Helper()
	s = dbtest.Declare[T](t, db)
	if len(dbtest.Declarations[lifecycle.SoftDelete, T]()) > 0 {
		bin = entity.Must(lifecycle.Of(s))
	}
	if len(dbtest.Declarations[versioned.Retain, T]()) > 0 {
		history = entity.Must(versioned.Of(s))
	}
	return s, bin, history
}

// play makes every call of the scenario, and compares results and the table.
func (p *player[T]) play(t *testing.T) {
	t.Helper()
	p.steps(t, func(st step) {
		if special := p.special[st.Name]; special != nil {
			special(st)
			return
		}
		p.do(t, st)
	})
}

func (p *player[T]) do(t *testing.T, st step) {
	t.Helper()
	key := keyOf[T](t, st)
	switch st.Op {
	case "put", "create", "upsert", "update", "patch", "get", "restore":
		got, err := p.call(t, st, key)
		if p.ended(t, st, err); err == nil && st.Outcome.Error.Tag == "" {
			p.same(t, st, got)
		}
	case "delete", "deleteIfExists":
		p.ended(t, st, p.s.Delete(p.Ctx, key, deletes(p.conditions(t, st))...))
	case "purge":
		if p.bin != nil {
			require.NoError(t, p.bin.Purge(p.Ctx, key))
		} else {
			require.NoError(t, p.s.Purge(p.Ctx, key))
		}
	case "query":
		got := entity.Must(entity.Must(p.s.Index(st.Args.Index)).Query(args[T](t, st.Args.Composites)).Collect(p.Ctx))
		p.same(t, st, got...)
	default:
		require.Fail(t, "no such operation", st.Op)
	}
}

// call makes a call that returns an item.
func (p *player[T]) call(t *testing.T, st step, key T) (got T, err error) {
	t.Helper()
	var input T
	if len(st.Args.Input) > 0 {
		input = args[T](t, st.Args.Input)
	}
	switch st.Op {
	case "put":
		var opts []entity.WriteOption
		if len(dbtest.Declarations[versioned.Lock, T]()) > 0 { // there, a put does not look at what is stored
			opts = append(opts, versioned.AnyVersion())
		}
		return p.s.Put(p.Ctx, input, opts...)
	case "create":
		var opts []entity.CreateOption
		for _, c := range p.conditions(t, st) {
			opts = append(opts, c.(entity.CreateOption))
		}
		return p.s.Create(p.Ctx, input, opts...)
	case "upsert":
		got, created, err := p.s.Upsert(p.Ctx, input, p.changes(t, st)...)
		require.True(t, err != nil || created == strings.HasSuffix(st.Name, "create"), st.Name)
		return got, err
	case "get":
		return p.s.Get(p.Ctx, key)
	case "restore":
		return p.bin.Restore(p.Ctx, key)
	}
	return p.s.Update(p.Ctx, key, p.changes(t, st)...)
}

// same compares results with the recorded ones.
func (p *player[T]) same(t *testing.T, st step, got ...T) {
	t.Helper()
	if slices.Contains(p.differs, st.Name) {
		return
	}
	list := []json.RawMessage{st.Outcome.OK}
	if st.Outcome.OK[0] == '[' {
		require.NoError(t, json.Unmarshal(st.Outcome.OK, &list))
	}
	require.Len(t, got, len(list), st.Name)
	for i := range got {
		want := args[T](t, list[i])
		if p.adjust != nil {
			p.adjust(st, &want)
		}
		require.Equal(t, want, got[i], st.Name)
	}
}

// ended checks that a step ended as it was recorded, or as ends says.
func (p *script) ended(t *testing.T, st step, err error) {
	t.Helper()
	if end := p.ends[st.Name]; end != nil {
		end(t, err)
		return
	}
	switch st.Outcome.Error.Tag {
	case "":
		require.NoError(t, err, st.Name)
	case "ItemNotFound":
		require.ErrorIs(t, err, entity.ErrNotFound, st.Name)
	case "ConditionalCheckFailed":
		failed := errors.Is(err, entity.ErrConditionFailed) || errors.Is(err, entity.ErrExists) || errors.Is(err, entity.ErrNotFound)
		require.True(t, failed, "%s: %v", st.Name, err)
	case "OptimisticLockError":
		require.Equal(t, *st.Args.ExpectedVersion+p.ahead, dbtest.As[*versioned.ConflictError](t, err, st.Name).Expected)
	case "UniqueConstraintViolation":
		require.Equal(t, st.Outcome.Error.Constraint, dbtest.As[*unique.ViolationError](t, err, st.Name).Constraint)
	default:
		require.Fail(t, "an outcome that was not expected", "%s: %s", st.Name, st.Outcome.Error.Tag)
	}
}

// field is the prototype's field of an attribute, of the type that functions for changes and conditions take.
func (p *script) field(t *testing.T, attribute string) any {
	t.Helper()
	for _, f := range reflect.VisibleFields(p.fields.Type()) {
		if name, _, _ := strings.Cut(f.Tag.Get("dynamodbav"), ","); name == attribute {
			if f.Type.Kind() == reflect.Pointer {
				return p.fields.FieldByIndex(f.Index).Interface()
			}
			return p.fields.FieldByIndex(f.Index).Addr().Interface()
		}
	}
	require.Fail(t, "no such attribute", attribute)
	return nil
}

// changes are the changes, conditions and the expected version of an update.
func (p *script) changes(t *testing.T, st step) (all []entity.UpdateOption) {
	t.Helper()
	a := st.Args
	for name, value := range a.Set {
		if _, undefined := value.(map[string]any); value == nil || undefined {
			a.Remove = append(a.Remove, name)
			continue
		}
		switch f := p.field(t, name).(type) {
		case *string:
			all = append(all, entity.Set(f, value.(string)))
		case *int:
			all = append(all, entity.Set(f, int(value.(float64))))
		case *float64:
			all = append(all, entity.Set(f, value.(float64)))
		default:
			require.Fail(t, "no such type was recorded", "%s: %T", name, f)
		}
	}
	for _, name := range a.Remove {
		all = append(all, entity.Attr[any](name).Remove())
	}
	for name, n := range a.Add {
		all = append(all, entity.Add(p.field(t, name).(*int), n))
	}
	for name, n := range a.Subtract {
		all = append(all, entity.Add(p.field(t, name).(*int), -n))
	}
	for name, texts := range a.Append {
		all = append(all, entity.ListAppend(p.field(t, name).(*[]string), texts...))
	}
	for name, texts := range a.DeleteFromSet {
		all = append(all, entity.DeleteFromSet(p.field(t, name).(*[]string), texts["$set"]...))
	}
	for _, c := range a.PathSet {
		all = append(all, entity.Attr[string](strings.Join(c.Segments, ".")).Set(c.Value))
	}
	if n := a.ExpectedVersion; n != nil {
		all = append(all, versioned.Expect(*n+p.ahead))
	}
	for _, c := range p.conditions(t, st) {
		all = append(all, c.(entity.UpdateOption))
	}
	return all
}

// deletes returns options of writes as those of a Delete.
func deletes(opts []entity.WriteOption) (all []entity.DeleteOption) {
	for _, o := range opts {
		all = append(all, o)
	}
	return all
}

// conditions are the condition of a call: texts that attributes have, or a tree.
func (p *script) conditions(t *testing.T, st step) (all []entity.WriteOption) {
	t.Helper()
	if len(st.Args.Condition) == 0 {
		return nil
	}
	c := argument[struct {
		Op   string
		Left struct{ Path []string }
	}](t, st.Args.Condition)
	switch c.Op {
	case "gt":
		n := argument[struct{ Right int }](t, st.Args.Condition).Right
		return append(all, entity.If(entity.Gt(p.field(t, c.Left.Path[0]).(*int), n)))
	case "notExists":
		return append(all, entity.If(entity.NotExists(p.field(t, c.Left.Path[0]).(*string))))
	}
	for name, text := range argument[map[string]string](t, st.Args.Condition) {
		all = append(all, entity.If(entity.Eq(p.field(t, name).(*string), text)))
	}
	return all
}

// The reasons of differences of features, as docs/sharing.md gives them.
const (
	counted    = "Delete and restore each add one to the version, and a delete sets `updated_at`."
	kept       = "A delete also puts the deleted state into the history, marked `_deleted: true`, unless a copy keeps it for ever; there, the history has no deleted state before the restore."
	ttlLater   = "The snapshot of a new item has no time to live while its state is current; the time starts with the write that replaces the state."
	unreplaced = "A restore does not change the history; there, the deleted copy, with its `deletedAt`, replaces the snapshot of the last state."
	siblings   = "Items of one partition have separate histories: the keys of their snapshots and copies hold the whole sort key."
	begunAgain = "Put keeps created_at and adds one to the version; there, put starts again at now and 1."
	complete   = "Every write of an item with a history, including upsert and put, leaves a snapshot of the state that it replaces."
	heeded     = "Every verb checks its condition; there, a soft delete and a write that gives up unique values do not."
	absent     = "Only Create, Put and Upsert create an item, and none creates one without its key parts."
	claimTTL   = "The sentinel of a constraint with `ttl` has a time to live, and the claim ends with it; there, it never ends."
	released   = "Every write of a unique field, including put, upsert and a change of a nested path, claims the new value and gives up the old one; an item's own value is not a violation."
	once       = "An attribute that is written once cannot be removed."
	guarded    = "A condition on Create is added to its guard; there, it replaces the guard."
	pathSet    = "A change of a nested path is always made; there, not if the item has a history."
)

// keyOf is the key that a step is about; zero when it has none.
func keyOf[T any](t *testing.T, st step) T {
	t.Helper()
	if len(st.Args.Key) == 0 {
		var none T
		return none
	}
	return args[T](t, st.Args.Key)
}

// one makes an edit of all items of a change of those whose key ends with pk and sk.
func one(pk, sk string, change func(stored) stored) func([]stored) []stored {
	return func(items []stored) []stored {
		for i, it := range items {
			if strings.HasSuffix(it.text("pk"), pk) && strings.HasSuffix(it.text("sk"), sk) {
				items[i] = change(it)
			}
		}
		return items
	}
}

// plus makes an edit that adds items.
func plus(more ...stored) func([]stored) []stored {
	return func(items []stored) []stored { return append(items, more...) }
}

// seconds is a time as a time to live has it.
func seconds(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

// upped is it with a version one higher.
func upped(it stored, field string) stored {
	n, err := strconv.Atoi(it[field]["N"].(string))
	if err != nil {
		panic(err) // it was recorded as a number
	}
	return it.with(field, "N", strconv.Itoa(n+1))
}

// deletedCopy is a recorded copy as it is stored here, where a delete is counted.
func deletedCopy(it stored) stored {
	return upped(it, "version").with("updatedAt", "S", it.text("deletedAt"))
}
