package conformance_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/unique"
)

func TestUnique_ACompoundValueIsClaimedOnlyWhenAllOfItIsThere(t *testing.T) {
	t.Parallel()
	type T = u2VRetainSReserve
	l, s := dbtest.OpenStore[T](t)
	f := fields[T]()
	create := func(id, tenant, badge string) error {
		return dbtest.ErrorOf(s.Create(t.Context(), as[T](Person{ID: id, Tenant: tenant, Badge: badge})))
	}
	require.NoError(t, create("a", "t1", "7"))
	require.NoError(t, create("b", "t2", "7"), "the badge of another tenant")
	require.NoError(t, create("c", "t1", ""))
	require.NoError(t, create("d", "t1", ""), "an absent value is not claimed")
	var violation *unique.ViolationError
	require.ErrorAs(t, create("e", "t1", "7"), &violation)
	require.Equal(t, "badge", violation.Constraint)
	require.Equal(t, map[string]string{"$person.badge#t1#7": "$person#a", "$person.badge#t2#7": "$person#b"}, owners(l))
	// A change of one part moves the claim.
	require.ErrorAs(t, dbtest.ErrorOf(s.Update(t.Context(), as[T](Person{ID: "a"}), entity.Set(&f.Tenant, "t2"))), &violation)
	l.OK(s.Update(t.Context(), as[T](Person{ID: "a"}), entity.Set(&f.Tenant, "t3")))
	require.Equal(t, map[string]string{"$person.badge#t3#7": "$person#a", "$person.badge#t2#7": "$person#b"}, owners(l))
	require.NoError(t, create("e", "t1", "7"))
	// No value imitates the separator.
	require.NoError(t, create("g", "x#y", "z"))
	require.NoError(t, create("h", "x", "y#z"))
}

// Ticket has an idempotency key, which lasts an hour, and a unique time.
type Ticket struct {
	_       entity.Key           `name:"Ticket" pk:"$#{id}" sk:"$"`
	_       lifecycle.SoftDelete `unique:"reserve"`
	_       unique.Constraint    `name:"request" fields:"request" ttl:"1h"`
	_       unique.Constraint    `name:"slot" fields:"slot"`
	ID      string               `dynamodbav:"id"`
	Request string               `dynamodbav:"request,omitempty"`
	Note    string               `dynamodbav:"note,omitempty"`
	Slot    time.Time            `dynamodbav:"slot,omitempty"`
}

func TestUnique_ATimeToLiveEndsTheClaim(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[Ticket](t)
	f, find := entity.Fields[Ticket](), entity.Must(unique.Of(s, "request"))
	create := func(id string) error { return dbtest.ErrorOf(s.Create(t.Context(), Ticket{ID: id, Request: "r-1"})) }
	require.NoError(t, create("a"))
	l.Clock.Move(59 * time.Minute)
	dbtest.As[*unique.ViolationError](t, create("b"))
	l.OK(s.Update(t.Context(), Ticket{ID: "a"}, entity.Set(&f.Note, "x")))
	l.OK(s.Put(t.Context(), Ticket{ID: "a", Request: "r-1", Note: "y"}))
	l.Clock.Move(time.Minute)
	_, err := find.Find(t.Context(), Ticket{Request: "r-1"})
	require.ErrorIs(t, err, entity.ErrNotFound, "the claim has ended; a write that does not change the value has not renewed it")
	require.Len(t, owners(l), 1, "DynamoDB has not removed it yet")
	require.NoError(t, create("b"))
	require.Equal(t, map[string]string{"$ticket.request#r-1": "$ticket#b"}, owners(l))
	require.Equal(t, "b", entity.Must(find.Find(t.Context(), Ticket{Request: "r-1"})).ID)
	// The former owner has nothing to give up.
	l.OK(s.Update(t.Context(), Ticket{ID: "a"}, entity.Remove(&f.Request)))
	require.Equal(t, map[string]string{"$ticket.request#r-1": "$ticket#b"}, owners(l))
}

// A delete reserves what the item has claimed: not a claim that has ended, nor a value that another item has claimed since.
func TestUnique_ADeleteReservesNoClaimThatHasEnded(t *testing.T) {
	t.Parallel()
	for _, removed := range []bool{false, true} { // by DynamoDB
		l, s := dbtest.OpenStore[Ticket](t)
		l.OK(s.Create(t.Context(), Ticket{ID: "a", Request: "r-1"}))
		l.OK(s.Create(t.Context(), Ticket{ID: "b", Request: "r-2"}))
		l.Clock.Move(time.Hour)
		l.OK(s.Create(t.Context(), Ticket{ID: "c", Request: "r-2"}))
		l.OK(s.Create(t.Context(), Ticket{ID: "d", Request: "r-3"}))
		if removed {
			l.RemoveItem(l.Sentinel("r-1"))
		}
		for _, id := range []string{"a", "b", "d"} {
			require.NoError(t, s.Delete(t.Context(), Ticket{ID: id}))
		}
		require.Equal(t, "$ticket#c", owners(l)["$ticket.request#r-2"])
		l.OK(s.Create(t.Context(), Ticket{ID: "e", Request: "r-1"}))
		l.Clock.Move(2 * time.Hour)
		dbtest.As[*unique.ViolationError](t, dbtest.ErrorOf(s.Create(t.Context(), Ticket{ID: "f", Request: "r-3"})), "the copy reserves it")
	}
}

func TestFind_ReadsTheSentinelAndItsOwner(t *testing.T) {
	type T = u2VRetainSReserve
	b := newBench[T](t)
	mail, badge := entity.Must(unique.Of(b.s, "email")), entity.Must(unique.Of(b.s, "badge"))
	dbtest.As[*entity.SchemaError](t, dbtest.ErrorOf(unique.Of(b.s, "nothing")))
	p := Person{ID: "p-1", Tenant: "t", Email: "p@example.com", Badge: "7"}
	want := b.create(p)
	b.Sent()
	got := entity.Must(mail.Find(t.Context(), as[T](Person{Email: p.Email, ID: "ignored", Badge: "ignored"})))
	require.Equal(t, want, got)
	require.Equal(t, []string{"GetItem", "GetItem"}, b.Operations())
	got = entity.Must(badge.Find(t.Context(), as[T](Person{Tenant: "t", Badge: "7"})))
	require.Equal(t, want, got)
	b.Sent()
	_, err := mail.Find(t.Context(), as[T](Person{Email: "nobody@example.com"}))
	require.Equal(t, "NotFound", classesOf(err))
	require.NotContains(t, err.Error(), "@")
	b.Sent()
	require.Equal(t, "EDD-9101", dbtest.InputCode(dbtest.ErrorOf(badge.Find(t.Context(), as[T](Person{Tenant: "t"})))))
	require.Empty(t, b.Sent())
	// The owner of a sentinel that should not be there does not have the value.
	b.ChangeItem(personPK, personSK, dbtest.Item{"email": dbtest.S("other@example.com")})
	b.Sent()
	require.Equal(t, "NotFound", classesOf(dbtest.ErrorOf(mail.Find(t.Context(), as[T](Person{Email: p.Email})))))
	require.Equal(t, []string{"GetItem", "GetItem", "TransactGetItems"}, b.Operations(), "looked for once more, at one instant")
	b.ChangeItem(personPK, personSK, dbtest.Item{"email": dbtest.S(p.Email)})
	b.remove(p)
	_, err = mail.Find(t.Context(), as[T](Person{Email: p.Email}))
	require.Equal(t, "NotFound", classesOf(err), "the value is reserved, the item deleted")
}

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
		for i, takerFirst := range []bool{false, true} {
			if !testsize.Long() && (i+len(name))%2 > 0 {
				continue
			}
			a, c := b.item(t, live), b.item(t, live)
			give, take := ops(a, c)
			list := []entity.Op{give, take}
			if takerFirst {
				list = []entity.Op{take, give}
			}
			b.Sent()
			require.NoError(t, b.DB.Transact(t.Context(), list...), name)
			acts := sentActions(t, b.Sent())
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
}

// Only the operation that wants a sentinel of a third item fails, and its error names the owner.
func TestMerge_OfAValueOfAThirdItemFailsTheTakerAlone(t *testing.T) {
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
	violation := dbtest.As[*unique.ViolationError](t, entity.FailureOf(err, take))
	require.Equal(t, "$app#v1#person#"+third.ID, violation.Owner.PK)
	require.NotContains(t, fmt.Sprintf("%+v", err), "@")
	require.NotErrorIs(t, entity.FailureOf(err, give), entity.ErrConditionFailed)
	// Alone, the item gives up what it has of the value: nothing.
	b.OK(b.s.Update(t.Context(), as[u1VRetainSFree](a), entity.Set(&f.Email, "new")))
	require.Equal(t, "$person#"+third.ID, owners(b.Bench)[short(sentinel)])
}

// Two claims of one value, and a value that is reserved and claimed at once, are errors before anything is written.
func TestMerge_OfTwoClaimsIsRefusedBeforeAnyWrite(t *testing.T) {
	b := newBench[u1VLockSReserve](t)
	type T = u1VLockSReserve
	a, before := b.item(t, live), b.ItemsByKey()
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
	b := newBench[u1VRetainSFree](t)
	type T = u1VRetainSFree
	f, p := b.f, b.item(t, live)
	check := b.s.Op().CheckExists(as[T](p), entity.Eq(&f.Name, "N"))
	for _, write := range []entity.Op{b.s.Op().Update(as[T](p), entity.Set(&f.Name, "N2")), b.s.Op().Delete(as[T](p))} {
		b.Sent()
		err := b.DB.Transact(t.Context(), check, write)
		acts := sentActions(t, b.Sent())
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
	require.Equal(t, "N2", entity.Must(b.quiet.Get(t.Context(), as[T](p))).Name, "the delete went with the check that failed")
}
