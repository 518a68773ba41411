package conformance_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/unique"
)

func TestMerge_OneItemGivesAValueUpAndAnotherTakesIt(t *testing.T) {
	t.Parallel()
	t.Run("u1_none_hard", func(t *testing.T) { exchange(t, newBench[u1VNoneSNone](t)) })
	t.Run("u1_retain_free", func(t *testing.T) { exchange(t, newBench[u1VRetainSFree](t)) })
}

func exchange[T any](t *testing.T, b *bench[T]) {
	f := b.f
	to := func(p Person, email string) entity.Op { return b.s.Op().Update(as[T](p), entity.Set(&f.Email, email)) }
	for name, ops := range map[string]func(a, c Person) (give, take entity.Op){
		"update and update": func(a, c Person) (entity.Op, entity.Op) { return to(a, "new-"+a.Email), to(c, a.Email) },
		"remove and update": func(a, c Person) (entity.Op, entity.Op) {
			return b.s.Op().Update(as[T](a), entity.Remove(&f.Email)), to(c, a.Email)
		},
		"delete and update": func(a, c Person) (entity.Op, entity.Op) { return b.s.Op().Delete(as[T](a)), to(c, a.Email) },
		"delete and create": func(a, c Person) (entity.Op, entity.Op) {
			return b.s.Op().Delete(as[T](a)), b.s.Op().Create(as[T](Person{ID: "n-" + c.ID, Tenant: "t", Email: a.Email}))
		},
		"delete and put": func(a, c Person) (entity.Op, entity.Op) {
			c.Email = a.Email
			return b.s.Op().Delete(as[T](a)), b.s.Op().Put(as[T](c))
		},
	} {
		for _, takerFirst := range []bool{false, true} {
			a, c := b.item(t, live), b.item(t, live)
			give, take := ops(a, c)
			list := []entity.Op{give, take}
			if takerFirst {
				list = []entity.Op{take, give}
			}
			b.Sent()
			require.NoError(t, b.DB.Transact(t.Context(), list...), name)
			_, acts := sentActions(t, b.Sent())
			about := 0
			for _, x := range acts {
				if x.PK == "$app#v1#person.email#"+a.Email {
					about++
					require.Equal(t, "put", x.Kind, name)
				}
			}
			require.Equal(t, 1, about, "one action on the sentinel")
			require.Contains(t, []string{"$person#" + c.ID, "$person#n-" + c.ID}, owners(b.Bench)["$person.email#"+a.Email], name)
		}
	}
	a, c := b.item(t, live), b.item(t, live)
	require.NoError(t, b.DB.Transact(t.Context(), to(a, c.Email), to(c, a.Email)))
	owners := owners(b.Bench)
	require.Equal(t, []string{"$person#" + c.ID, "$person#" + a.ID}, []string{owners["$person.email#"+a.Email], owners["$person.email#"+c.Email]}, "two items swap their values")
}

// Only the operation that wants a sentinel of a third item fails, and its error names the owner.
func TestMerge_OfAValueOfAThirdItemFailsTheTakerAlone(t *testing.T) {
	t.Parallel()
	b := newBench[u1VRetainSFree](t)
	f := b.f
	a, c, third := b.item(t, live), b.item(t, live), b.item(t, live)
	sentinel := "$app#v1#person.email#" + a.Email
	it := b.ItemsByKey()[sentinel+" $app#v1#person.email"]
	it["_entity_pk"] = dbtest.S("$app#v1#person#" + third.ID)
	b.PutItem(it)
	give := b.s.Op().Update(as[u1VRetainSFree](a), entity.Set(&f.Email, "new"))
	take := b.s.Op().Update(as[u1VRetainSFree](c), entity.Set(&f.Email, a.Email))
	err := b.DB.Transact(t.Context(), give, take)
	var violation *unique.ViolationError
	require.ErrorAs(t, entity.FailureOf(err, take), &violation)
	require.Equal(t, "$app#v1#person#"+third.ID, violation.Owner.PK)
	require.NotContains(t, fmt.Sprintf("%+v", err), "@")
	require.NotErrorIs(t, entity.FailureOf(err, give), entity.ErrConditionFailed)
	// Alone, the item gives up what it has of the value: nothing.
	_, err = b.s.Update(t.Context(), as[u1VRetainSFree](a), entity.Set(&f.Email, "new"))
	require.NoError(t, err)
	require.Equal(t, "$person#"+third.ID, owners(b.Bench)[short(sentinel)])
}

// Two claims of one value, and a value that is reserved and claimed at once, are errors before anything is written.
func TestMerge_OfTwoClaimsIsRefusedBeforeAnyWrite(t *testing.T) {
	t.Parallel()
	b := newBench[u1VNoneSReserve](t)
	type T = u1VNoneSReserve
	a := b.item(t, live)
	before := b.ItemsByKey()
	for name, ops := range map[string][]entity.Op{
		"two creates": {
			b.s.Op().Create(as[T](Person{ID: "n-1", Tenant: "t", Email: "same@example.com"})),
			b.s.Op().Create(as[T](Person{ID: "n-2", Tenant: "t", Email: "same@example.com"})),
		},
		"reserve and create": {b.s.Op().Delete(as[T](a)), b.s.Op().Create(as[T](Person{ID: "n-3", Tenant: "t", Email: a.Email}))},
	} {
		b.Sent()
		err := b.DB.Transact(t.Context(), ops...)
		require.Equal(t, "EDD-9109", dbtest.InputCode(err), name)
		require.NotContains(t, fmt.Sprintf("%+v", err), "@", name)
		require.NotContains(t, b.Operations(), "TransactWriteItems", name)
		require.Equal(t, before, b.ItemsByKey(), name)
	}
}

func TestMerge_CheckAndWriteOfOneItemAreOneAction(t *testing.T) {
	t.Parallel()
	b := newBench[u1VRetainSFree](t)
	type T = u1VRetainSFree
	f := b.f
	p := b.item(t, live)
	check := b.s.Op().CheckExists(as[T](p), entity.Eq(&f.Name, "N"))
	for _, write := range []entity.Op{b.s.Op().Update(as[T](p), entity.Set(&f.Name, "N2")), b.s.Op().Delete(as[T](p))} {
		b.Sent()
		err := b.DB.Transact(t.Context(), check, write)
		_, acts := sentActions(t, b.Sent())
		require.NotEqual(t, "check", acts[0].Kind)
		require.Regexp(t, `name = "N"`, acts[0].Cond)
		require.Regexp(t, `_w = "`, acts[0].Cond)
		if errors.Is(err, entity.ErrConditionFailed) { // the second round: the name is another one by now
			require.ErrorIs(t, entity.FailureOf(err, check), entity.ErrConditionFailed)
			require.NoError(t, entity.FailureOf(err, write))
			continue
		}
		require.NoError(t, err)
	}
	got, err := b.quiet.Get(t.Context(), as[T](p))
	require.NoError(t, err)
	require.Equal(t, "N2", got.Name, "the delete went with the check that failed")
}

func TestTransact_OfMoreThanAHundredActionsIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench[u1VRetainSFree](t)
	type T = u1VRetainSFree
	var ops []entity.Op
	for i := range 34 { // 3 actions each
		ops = append(ops, b.s.Op().Create(as[T](Person{ID: fmt.Sprint("m-", i), Tenant: "t", Email: fmt.Sprint("m", i, "@example.com")})))
	}
	err := b.DB.Transact(t.Context(), ops...)
	require.Equal(t, "EDD-9110", dbtest.InputCode(err))
	require.NotContains(t, b.Operations(), "TransactWriteItems")
	require.Empty(t, b.ItemsByKey())
	require.NoError(t, b.DB.Transact(t.Context(), ops[:33]...))
	require.Len(t, b.ItemsByKey(), 99)
}
