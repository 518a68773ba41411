package conformance_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
)

func TestUnique_ACompoundValueIsClaimedOnlyWhenAllOfItIsThere(t *testing.T) {
	t.Parallel()
	type T = u2VNoneSNone
	l, s := dbtest.OpenStore[T](t)
	f := fields[T]()
	make := func(id, tenant, badge string) error {
		_, err := s.Create(t.Context(), as[T](Person{ID: id, Tenant: tenant, Badge: badge}))
		return err
	}
	require.NoError(t, make("a", "t1", "7"))
	require.NoError(t, make("b", "t2", "7"), "the badge of another tenant")
	require.NoError(t, make("c", "t1", ""))
	require.NoError(t, make("d", "t1", ""), "an absent value is nobody's")
	var violation *unique.ViolationError
	require.ErrorAs(t, make("e", "t1", "7"), &violation)
	require.Equal(t, "badge", violation.Constraint)
	require.Equal(t, map[string]string{"$person.badge#t1#7": "$person#a", "$person.badge#t2#7": "$person#b"}, owners(l))
	// A change of one part moves the claim.
	_, err := s.Update(t.Context(), as[T](Person{ID: "a"}), entity.Set(&f.Tenant, "t2"))
	require.ErrorAs(t, err, &violation)
	_, err = s.Update(t.Context(), as[T](Person{ID: "a"}), entity.Set(&f.Tenant, "t3"))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"$person.badge#t3#7": "$person#a", "$person.badge#t2#7": "$person#b"}, owners(l))
	require.NoError(t, make("e", "t1", "7"))
	// No value imitates the separator.
	require.NoError(t, make("g", "x#y", "z"))
	require.NoError(t, make("h", "x", "y#z"))
}

func TestUnique_EveryWayToTakeAValueAwayGivesItUp(t *testing.T) {
	t.Parallel()
	type T = u1VLockSNone
	l, s := dbtest.OpenStore[T](t)
	f := fields[T]()
	p := Person{ID: "a", Tenant: "t", Email: "a@example.com"}
	bare := p
	bare.Email = ""
	for name, away := range map[string]func() error{
		"Remove":       func() error { _, err := s.Update(t.Context(), as[T](p), entity.Remove(&f.Email)); return err },
		"Set to empty": func() error { _, err := s.Update(t.Context(), as[T](p), entity.Set(&f.Email, "")); return err },
		"Remove by a path": func() error {
			_, err := s.Update(t.Context(), as[T](p), entity.Attr[string]("email").Remove())
			return err
		},
		"Put without it": func() error { _, err := s.Put(t.Context(), as[T](bare)); return err },
		"Modify": func() error {
			_, err := s.Modify(t.Context(), as[T](p), func(v *T) error { v.Email = ""; return nil })
			return err
		},
		"Delete": func() error { return s.Delete(t.Context(), as[T](p)) },
		"Purge":  func() error { return s.Purge(t.Context(), as[T](p)) },
	} {
		_, err := s.Put(t.Context(), as[T](p))
		require.NoError(t, err)
		require.Equal(t, map[string]string{"$person.email#a@example.com": "$person#a"}, owners(l), name)
		require.NoError(t, away(), name)
		require.Empty(t, owners(l), name)
	}
	_, err := s.Put(t.Context(), as[T](p))
	require.NoError(t, err)
	_, _, err = s.Upsert(t.Context(), as[T](bare))
	require.NoError(t, err)
	require.Len(t, owners(l), 1, "an upsert leaves what it does not bring")
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
	f := entity.Fields[Ticket]()
	find := entity.Must(unique.Of(s, "request"))
	create := func(id string) error {
		_, err := s.Create(t.Context(), Ticket{ID: id, Request: "r-1"})
		return err
	}
	require.NoError(t, create("a"))
	l.Clock.Move(59 * time.Minute)
	var violation *unique.ViolationError
	require.ErrorAs(t, create("b"), &violation)
	_, err := s.Update(t.Context(), Ticket{ID: "a"}, entity.Set(&f.Note, "x"))
	require.NoError(t, err)
	_, err = s.Put(t.Context(), Ticket{ID: "a", Request: "r-1", Note: "y"})
	require.NoError(t, err)
	l.Clock.Move(time.Minute)
	_, err = find.Find(t.Context(), Ticket{Request: "r-1"})
	require.ErrorIs(t, err, entity.ErrNotFound, "the claim has ended; a write that does not change the value has not renewed it")
	require.Len(t, owners(l), 1, "DynamoDB has not removed it yet")
	require.NoError(t, create("b"))
	require.Equal(t, map[string]string{"$ticket.request#r-1": "$ticket#b"}, owners(l))
	got, err := find.Find(t.Context(), Ticket{Request: "r-1"})
	require.NoError(t, err)
	require.Equal(t, "b", got.ID)
	// The former owner has nothing to give up.
	_, err = s.Update(t.Context(), Ticket{ID: "a"}, entity.Remove(&f.Request))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"$ticket.request#r-1": "$ticket#b"}, owners(l))
}

func TestUnique_ReserveReplacesTheTimeToLiveUntilTheRestore(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[Ticket](t)
	bin := entity.Must(lifecycle.Of(s))
	v, err := s.Create(t.Context(), Ticket{ID: "a", Request: "r-1"})
	require.NoError(t, err)
	sentinel := "$app#v1#ticket.request#r-1 $app#v1#ticket.request"
	require.Contains(t, l.ItemsByKey()[sentinel], "_ttl")
	require.NoError(t, s.Delete(t.Context(), v))
	require.NotContains(t, l.ItemsByKey()[sentinel], "_ttl", "the copy has none")
	at := l.Clock.Move(5 * time.Hour)
	_, err = bin.Restore(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, dbtest.N(strconv.FormatInt(at.Unix()+3600, 10)), l.ItemsByKey()[sentinel]["_ttl"])
}

func TestUnique_TouchOfAUniqueTimeIsRefusedBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[Ticket](t)
	v, err := s.Create(t.Context(), Ticket{ID: "a", Slot: dbtest.Start})
	require.NoError(t, err)
	l.Sent()
	_, err = s.Touch(t.Context(), v, &entity.Fields[Ticket]().Slot, time.Minute)
	require.Equal(t, "EDD-9104", dbtest.InputCode(err))
	require.Empty(t, l.Sent())
	_, err = s.Create(t.Context(), Ticket{ID: "b", Slot: dbtest.Start})
	var violation *unique.ViolationError
	require.ErrorAs(t, err, &violation)
	require.Equal(t, "slot", violation.Constraint)
}

func TestFind_ReadsTheSentinelAndItsOwner(t *testing.T) {
	t.Parallel()
	type T = u2VRetainSReserve
	b := newBench[T](t)
	mail, badge := entity.Must(unique.Of(b.s, "email")), entity.Must(unique.Of(b.s, "badge"))
	_, err := unique.Of(b.s, "nothing")
	var mistake *entity.SchemaError
	require.ErrorAs(t, err, &mistake)
	p := Person{ID: "p-1", Tenant: "t", Email: "p@example.com", Badge: "7"}
	want, err := b.quiet.Create(t.Context(), as[T](p))
	require.NoError(t, err)
	b.l.Sent()
	got, err := mail.Find(t.Context(), as[T](Person{Email: p.Email, ID: "ignored", Badge: "ignored"}))
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, []string{"GetItem", "GetItem"}, b.l.Operations())
	got, err = badge.Find(t.Context(), as[T](Person{Tenant: "t", Badge: "7"}))
	require.NoError(t, err)
	require.Equal(t, want, got)
	b.l.Sent()
	_, err = mail.Find(t.Context(), as[T](Person{Email: "nobody@example.com"}))
	require.Equal(t, "NotFound", classesOf(err))
	require.NotContains(t, err.Error(), "@")
	b.l.Sent()
	_, err = badge.Find(t.Context(), as[T](Person{Tenant: "t"}))
	require.Equal(t, "EDD-9101", dbtest.InputCode(err))
	require.Empty(t, b.l.Sent())
	// The owner of a sentinel that should not be there does not have the value.
	b.l.ChangeItem(personPK, personSK, dbtest.Item{"email": dbtest.S("other@example.com")})
	b.l.Sent()
	_, err = mail.Find(t.Context(), as[T](Person{Email: p.Email}))
	require.Equal(t, "NotFound", classesOf(err))
	require.Equal(t, []string{"GetItem", "GetItem", "TransactGetItems"}, b.l.Operations(), "looked for once more, at one instant")
	b.l.ChangeItem(personPK, personSK, dbtest.Item{"email": dbtest.S(p.Email)})
	require.NoError(t, b.quiet.Delete(t.Context(), want))
	_, err = mail.Find(t.Context(), as[T](Person{Email: p.Email}))
	require.Equal(t, "NotFound", classesOf(err), "the value is reserved, the item deleted")
}
