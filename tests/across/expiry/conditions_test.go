package expiry_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Quota is what the items of these tests hold: the calls of an owner in the hour since they were put.
type Quota struct {
	ID    string   `dynamodbav:"id"`
	Code  string   `dynamodbav:"code"`
	Owner string   `dynamodbav:"owner,omitempty"`
	Hits  int      `dynamodbav:"hits"`
	Tags  []string `dynamodbav:"tags,omitempty"`
	Ends  int64    `dynamodbav:"ends,omitempty"`
}

// PlainQuota is written by single requests.
type PlainQuota struct {
	_ entity.Key    `name:"PlainQuota" pk:"$#{id}" sk:"$"`
	_ lifecycle.TTL `attr:"ends" after:"1h"`
	Quota
}

// BareQuota is in a table without the library's attributes.
type BareQuota struct {
	_ entity.Key    `name:"BareQuota" pk:"id" sk:"sk=bare"`
	_ lifecycle.TTL `attr:"ends" after:"1h"`
	Quota
}

// LockedQuota is read before it is written: a key of its index is composed of what an upsert may leave as stored.
type LockedQuota struct {
	_ entity.Key    `name:"LockedQuota" pk:"$#{id}" sk:"$"`
	_ entity.GSI    `name:"byOwner" index:"gsi1" pk:"$#{owner}" sk:"$#{hits:06}"`
	_ lifecycle.TTL `attr:"ends" after:"1h"`
	_ versioned.Lock
	Quota
	Version int64 `dynamodbav:"version" entity:"version"`
}

// WholeQuota has unique values and a history, so its writes are transactions.
type WholeQuota struct {
	_ entity.Key        `name:"WholeQuota" pk:"$#{id}" sk:"$"`
	_ lifecycle.TTL     `attr:"ends" after:"1h"`
	_ unique.Constraint `name:"code" fields:"code"`
	_ versioned.Retain  `ttl:"1d"`
	_ versioned.Lock
	Quota
	Version int64     `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

// limit is a condition on a Quota, with what it must give.
type limit struct {
	text  string
	on    func(f *Quota) entity.Cond
	holds func(q *Quota) bool // nil is no item
	blind bool                // only DynamoDB can be asked
}

func where(c expression.ConditionBuilder) func(*Quota) entity.Cond {
	return func(*Quota) entity.Cond { return entity.Where(c) }
}

var limits = []limit{
	{"no hits", func(f *Quota) entity.Cond { return entity.NotExists(&f.Hits) }, func(q *Quota) bool { return q == nil }, false},
	{"an owner", func(f *Quota) entity.Cond { return entity.Exists(&f.Owner) }, func(q *Quota) bool { return q != nil && q.Owner != "" }, false},
	{"of ann", func(f *Quota) entity.Cond { return entity.Eq(&f.Owner, "ann") }, func(q *Quota) bool { return q != nil && q.Owner == "ann" }, false},
	{"of nobody", func(f *Quota) entity.Cond { return entity.Eq(&f.Owner, "") }, func(q *Quota) bool { return q == nil || q.Owner == "" }, false},
	{"not of ann", func(f *Quota) entity.Cond { return entity.Ne(&f.Owner, "ann") }, func(q *Quota) bool { return q == nil || q.Owner != "ann" }, false},
	{"of ann or nobody", func(f *Quota) entity.Cond { return entity.In(&f.Owner, "ann", "") }, func(q *Quota) bool { return q == nil || q.Owner == "ann" || q.Owner == "" }, false},
	{"below 3", func(f *Quota) entity.Cond { return entity.Lt(&f.Hits, 3) }, func(q *Quota) bool { return q != nil && q.Hits < 3 }, false},
	{"1 or 2", func(f *Quota) entity.Cond { return entity.Between(&f.Hits, 1, 2) }, func(q *Quota) bool { return q != nil && q.Hits >= 1 && q.Hits <= 2 }, false},
	{"no key", func(f *Quota) entity.Cond { return entity.NotExists(&f.ID) }, func(q *Quota) bool { return q == nil }, false},
	{"no end", func(f *Quota) entity.Cond { return entity.NotExists(&f.Ends) }, func(q *Quota) bool { return q == nil || q.Ends == 0 }, false},
	{"an end", func(f *Quota) entity.Cond { return entity.Gt(&f.Ends, dawn.Unix()) }, func(q *Quota) bool { return q != nil && q.Ends > dawn.Unix() }, false},
	{"tagged x", func(f *Quota) entity.Cond { return entity.Contains(&f.Tags, "x") }, func(q *Quota) bool { return q != nil && slices.Contains(q.Tags, "x") }, false},
	{"of a…", func(f *Quota) entity.Cond { return entity.BeginsWith(&f.Owner, "a") }, func(q *Quota) bool { return q != nil && strings.HasPrefix(q.Owner, "a") }, false},
	{"where below 3", where(expression.Name("hits").LessThan(expression.Value(3))), func(q *Quota) bool { return q != nil && q.Hits < 3 }, false},
	{"where not of ann", where(expression.Name("owner").NotEqual(expression.Value("ann"))), func(q *Quota) bool { return q == nil || q.Owner != "ann" }, false},
	{"where a text", where(expression.AttributeType(expression.Name("owner"), expression.String)), func(q *Quota) bool { return q != nil && q.Owner != "" }, false},
	{"where few tags", where(expression.Name("tags").Size().LessThan(expression.Value(2))), func(q *Quota) bool { return q != nil && len(q.Tags) == 1 }, true},
}

func both(op string, join func(...entity.Cond) entity.Cond, all ...limit) limit {
	texts := []string{}
	for _, l := range all {
		texts = append(texts, l.text)
	}
	return limit{
		text: op + "(" + strings.Join(texts, ", ") + ")",
		on: func(f *Quota) entity.Cond {
			conds := []entity.Cond{}
			for _, l := range all {
				conds = append(conds, l.on(f))
			}
			return join(conds...)
		},
		holds: func(q *Quota) bool {
			one := func(l limit) bool { return l.holds(q) == (op == "or") }
			return slices.ContainsFunc(all, one) == (op == "or")
		},
		// It is known if one operand that is known decides, or all are known.
		blind: slices.ContainsFunc(all, func(l limit) bool { return l.blind }) &&
			!slices.ContainsFunc(all, func(l limit) bool { return !l.blind && l.holds(nil) == (op == "or") }),
	}
}

func negated(l limit) limit {
	return limit{"not " + l.text, func(f *Quota) entity.Cond { return entity.Not(l.on(f)) }, func(q *Quota) bool { return !l.holds(q) }, l.blind}
}

// drawLimit draws a condition with at most depth levels of combinations.
func drawLimit(rt *rapid.T, depth int) limit {
	kind := 0
	if depth > 0 {
		kind = rapid.IntRange(0, 5).Draw(rt, "condition")
	}
	switch {
	case kind == 3:
		return negated(drawLimit(rt, depth-1))
	case kind == 4:
		return both("or", entity.Or, drawLimit(rt, depth-1), drawLimit(rt, depth-1))
	case kind == 5:
		return both("and", entity.And, drawLimit(rt, depth-1), drawLimit(rt, depth-1))
	}
	return limits[rapid.IntRange(0, len(limits)-1).Draw(rt, "limit")]
}

// quotas is a table of quotas of type T.
type quotas[T any] struct {
	*dbtest.Bench
	store *entity.Store[T]
	f     *T
}

func openQuotas[T any](t testing.TB, configure ...func(*entity.Config)) *quotas[T] {
	t.Helper()
	b, store := dbtest.OpenStore[T](t, configure...)
	b.Clock.Set(dawn, 0)
	return &quotas[T]{b, store, entity.Fields[T]()}
}

func (h *quotas[T]) fields() *Quota { return dbtest.Embedded[Quota](h.f) }

func of[T any](q Quota) (v T) {
	*dbtest.Embedded[Quota](&v) = q
	return v
}

// stored returns the item that an error has, nil without one.
func stored[T any](err error) *Quota {
	if v, ok := entity.StoredItem[T](err); ok {
		return dbtest.Embedded[Quota](&v)
	}
	return nil
}

// quota returns the stored quota, nil without one.
func (h *quotas[T]) quota(id string) *Quota {
	h.T.Helper()
	got, err := h.store.Get(h.Ctx, of[T](Quota{ID: id}), entity.Consistent(), entity.IncludeExpired())
	if errors.Is(err, entity.ErrNotFound) {
		return nil
	}
	require.NoError(h.T, err)
	return dbtest.Embedded[Quota](&got)
}

// An item that has expired decides no condition, whatever it holds: a write that may create its item does what it would do if
// DynamoDB had removed the item, and reports the same.
func TestIf_AnExpiredItemDecidesNothing(t *testing.T) {
	t.Parallel()
	t.Run("Plain", func(t *testing.T) { t.Parallel(); decidesNothing[PlainQuota](t) })
	t.Run("Bare", func(t *testing.T) { t.Parallel(); decidesNothing[BareQuota](t) })
	t.Run("Locked", func(t *testing.T) { t.Parallel(); decidesNothing[LockedQuota](t) })
	t.Run("Whole", func(t *testing.T) { t.Parallel(); decidesNothing[WholeQuota](t) })
}

func decidesNothing[T any](t *testing.T) {
	h := openQuotas[T](t)
	given := func(id string) T { return of[T](Quota{ID: id, Code: id, Hits: 1}) }
	tx := func(err error, op entity.Op) error {
		if one := entity.FailureOf(err, op); one != nil {
			return one
		}
		return err
	}
	transact := func(ops ...entity.Op) error { return tx(h.DB.Transact(h.Ctx, ops...), ops[0]) }
	image := entity.Image{}
	verbs := []struct {
		name  string
		write func(id string, c entity.Cond) error
	}{
		{"Create", func(id string, c entity.Cond) error {
			return dbtest.ErrorOf(h.store.Create(h.Ctx, given(id), entity.If(c)))
		}},
		{"Put", func(id string, c entity.Cond) error {
			return dbtest.ErrorOf(h.store.Put(h.Ctx, given(id), entity.If(c)))
		}},
		{"Upsert", func(id string, c entity.Cond) error {
			return dbtest.ErrorOf(h.store.Upsert(h.Ctx, given(id), entity.If(c)))
		}},
		{"Upsert that counts", func(id string, c entity.Cond) error {
			return dbtest.ErrorOf(h.store.Upsert(h.Ctx, of[T](Quota{ID: id, Code: id}), entity.Add(&h.fields().Hits, 1), entity.If(c)))
		}},
		{"Create, Idempotent", func(id string, c entity.Cond) error {
			return dbtest.ErrorOf(h.store.Create(h.Ctx, given(id), entity.If(c), entity.Idempotent()))
		}},
		{"Put, Idempotent", func(id string, c entity.Cond) error {
			return dbtest.ErrorOf(h.store.Put(h.Ctx, given(id), entity.If(c), entity.Idempotent()))
		}},
		{"Put, Returning", func(id string, c entity.Cond) error {
			old := of[T](Quota{Hits: 77})
			err := dbtest.ErrorOf(h.store.Put(h.Ctx, given(id), entity.If(c), entity.Returning(&old)))
			require.Empty(t, dbtest.Embedded[Quota](&old).Owner, "the expired item was not there")
			return err
		}},
		{"Put, FromImage", func(id string, c entity.Cond) error {
			if h.quota(id) == nil {
				return dbtest.ErrorOf(h.store.Put(h.Ctx, given(id), entity.If(c)))
			}
			dbtest.ErrorOf(h.store.Get(h.Ctx, given(id), entity.Consistent(), entity.IncludeExpired(), entity.KeepImage(&image)))
			return dbtest.ErrorOf(h.store.Put(h.Ctx, given(id), entity.If(c), entity.FromImage(&image)))
		}},
		{"Create in Transact", func(id string, c entity.Cond) error { return transact(h.store.Op().Create(given(id), entity.If(c))) }},
		{"Put in Transact", func(id string, c entity.Cond) error {
			return transact(h.store.Op().Put(given(id), entity.If(c)), h.store.Op().CheckNotExists(given("none")))
		}},
		{"Put and CheckNotExists", func(id string, c entity.Cond) error {
			return transact(h.store.Op().Put(given(id), entity.If(c)), h.store.Op().CheckNotExists(given(id)))
		}},
		{"Create under a token", func(id string, c entity.Cond) error {
			op := h.store.Op().Create(given(id), entity.If(c))
			return tx(h.DB.TransactWithToken(h.Ctx, entity.Token{ID: rand.Text()}, op), op)
		}},
		{"Put under a token", func(id string, c entity.Cond) error {
			op := h.store.Op().Put(given(id), entity.If(c))
			return tx(h.DB.TransactWithToken(h.Ctx, entity.Token{ID: rand.Text()}, op), op)
		}},
		{"Upsert in Transact", func(id string, c entity.Cond) error {
			return transact(h.store.Op().Upsert(given(id), entity.If(c)), h.store.Op().CheckNotExists(given("none")))
		}},
	}
	n, reads := 0, map[string]bool{}
	for name, op := range map[string]entity.Op{"Create under a token": h.store.Op().Create(given("x")), "Put under a token": h.store.Op().Put(given("x"))} {
		reads[name] = dbtest.InputCode(h.DB.TransactWithToken(h.Ctx, entity.Token{ID: rand.Text()}, op)) == "EDD-9108"
	}
	h.OK(h.store.Purge(h.Ctx, given("x")))
	for _, l := range append(slices.Clone(limits), negated(limits[2]), negated(limits[16]),
		both("or", entity.Or, limits[0], limits[6]), both("or", entity.Or, limits[0], limits[16]), both("or", entity.Or, limits[6], limits[16]),
		both("and", entity.And, limits[1], limits[16]), both("and", entity.And, limits[0], limits[3])) {
		cond := l.on(h.fields())
		for _, v := range verbs {
			if n++; testsize.Pick(n%5, 0) != 0 || reads[v.name] || v.name == "Put and CheckNotExists" && strings.Contains(l.text, "few tags") {
				continue // a part of the usual run; or what no token allows, or cannot be one action
			}
			what := fmt.Sprintf("%s if %s", v.name, l.text)
			absent, over := fmt.Sprint("absent", n), fmt.Sprint("over", n)
			h.Clock.Set(dawn, 0)
			h.OK(h.store.Create(h.Ctx, of[T](Quota{ID: over, Code: over, Owner: "ann", Hits: 2, Tags: []string{"x"}})))
			h.Clock.Move(hour)
			before := h.quota(over)
			h.Operations()
			err, was := v.write(over, cond), v.write(absent, cond)
			require.Nil(t, stored[T](err), what)
			switch {
			case l.blind:
				require.Equal(t, "EDD-9140", dbtest.InputCode(err), "%s: %v", what, err)
				require.Equal(t, "EDD-9140", dbtest.InputCode(was), what)
				continue
			case !l.holds(nil):
				require.ErrorIs(t, err, entity.ErrConditionFailed, what)
				require.ErrorIs(t, was, entity.ErrConditionFailed, what)
				require.Equal(t, before, h.quota(over), what)
				continue
			}
			require.NoError(t, err, what)
			require.NoError(t, was, what)
			require.Equal(t, &Quota{ID: over, Code: over, Hits: 1, Ends: dawn.Add(2 * hour).Unix()}, h.quota(over), what)
			require.Equal(t, h.quota(absent).Hits, 1, what)
			failed := v.write(over, cond) // now it is live
			if live := h.quota(over); strings.HasPrefix(v.name, "Create") {
				require.ErrorIs(t, failed, entity.ErrExists, what)
				require.Equal(t, live, stored[T](failed), what)
			} else if !l.holds(live) {
				require.Error(t, failed, what)
			}
		}
	}
}

// The writes of an item that has to exist say of an expired one what they say of none.
func TestIf_NoErrorHasAnExpiredItem(t *testing.T) {
	t.Parallel()
	h := openQuotas[LockedQuota](t)
	f := h.fields()
	h.OK(h.store.Create(h.Ctx, of[LockedQuota](Quota{ID: "q", Code: "q", Owner: "ann", Hits: 2})))
	read := entity.Must(h.store.Get(h.Ctx, of[LockedQuota](Quota{ID: "q"}), entity.Consistent()))
	h.Clock.Move(hour)
	cond, key := entity.If(entity.Eq(&f.Owner, "bob")), of[LockedQuota](Quota{ID: "q"})
	check := h.store.Op().CheckExists(key, entity.Eq(&f.Owner, "bob"))
	for name, err := range map[string]error{
		"Update":           dbtest.ErrorOf(h.store.Update(h.Ctx, key, entity.Set(&f.Tags, []string{"y"}), cond)),
		"Modify":           dbtest.ErrorOf(h.store.Modify(h.Ctx, key, func(v *LockedQuota) error { v.Hits++; return nil }, cond)),
		"Delete":           h.store.Delete(h.Ctx, key, cond),
		"CheckExists":      entity.FailureOf(h.DB.Transact(h.Ctx, check), check),
		"Put as read":      dbtest.ErrorOf(h.store.Put(h.Ctx, read)),
		"Put of a version": dbtest.ErrorOf(h.store.Put(h.Ctx, key, versioned.Expect(1))),
		"Update as read":   dbtest.ErrorOf(h.store.Update(h.Ctx, read, entity.Set(&f.Tags, []string{"y"}))),
	} {
		require.ErrorIs(t, err, entity.ErrNotFound, name)
		require.Nil(t, stored[LockedQuota](err), name)
	}
	require.Equal(t, 2, h.quota("q").Hits)
}

// Another program begins a new life between the two requests of a Put over an expired item: the condition is about that.
func TestIf_TheLifeThatBeganMeanwhileDecides(t *testing.T) {
	t.Parallel()
	h := openQuotas[PlainQuota](t)
	f := h.fields()
	free := entity.If(entity.Or(entity.NotExists(&f.Owner), entity.Eq(&f.Owner, "ann")))
	for n, c := range []struct {
		other string // the owner in the new life
		ok    bool
	}{{"ann", true}, {"bob", false}} {
		id := fmt.Sprint(n)
		h.Clock.Set(dawn, 0)
		h.OK(h.store.Create(h.Ctx, of[PlainQuota](Quota{ID: id, Owner: c.other})))
		h.Clock.Move(hour)
		err := h.Overtake(dbtest.Is("PutItem"), func() error {
			return dbtest.ErrorOf(h.store.Put(h.Ctx, of[PlainQuota](Quota{ID: id, Owner: "ann", Hits: 5}), free))
		}, func() {
			h.OK(dbtest.Declare[PlainQuota](t, h.Open(h.Raw)).Create(h.Ctx, of[PlainQuota](Quota{ID: id, Owner: c.other, Hits: 9})))
		})
		if c.ok {
			require.NoError(t, err)
			require.Equal(t, 5, h.quota(id).Hits)
			continue
		}
		require.ErrorIs(t, err, entity.ErrConditionFailed)
		require.Equal(t, 9, stored[PlainQuota](err).Hits)
		require.Equal(t, 9, h.quota(id).Hits)
	}
}

// What a condition gives without an item is known, so a Put over an expired item that it does not allow sends no second request.
func TestIf_ACreatingWriteThatNoItemAllowsCostsOneRequest(t *testing.T) {
	t.Parallel()
	h := openQuotas[PlainQuota](t)
	h.OK(h.store.Create(h.Ctx, of[PlainQuota](Quota{ID: "q", Owner: "ann"})))
	h.Clock.Move(hour)
	q := of[PlainQuota](Quota{ID: "q", Owner: "ann"})
	ann, nobody := entity.If(entity.Eq(&h.fields().Owner, "ann")), entity.If(entity.NotExists(&h.fields().Owner))
	for _, c := range []struct {
		write    func() error
		ok       bool
		requests int
	}{
		{func() error { return dbtest.ErrorOf(h.store.Create(h.Ctx, q, ann)) }, false, 1},
		{func() error { return dbtest.ErrorOf(h.store.Put(h.Ctx, q, ann)) }, false, 1},
		{func() error { return dbtest.ErrorOf(h.store.Upsert(h.Ctx, q, ann)) }, false, 1},
		{func() error { return dbtest.ErrorOf(h.store.Put(h.Ctx, q, nobody)) }, true, 2},
	} {
		h.Operations()
		require.Equal(t, c.ok, c.write() == nil)
		require.Len(t, h.Operations(), c.requests)
	}
}
