package entity_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

// Account has a secret wherever a value can be: in the key, in index keys, nested, as a number and as a time.
type Account struct {
	_ entity.Key `name:"Account" pk:"$#{tenant}#{ssn}" sk:"$"`
	_ entity.GSI `name:"byToken" index:"gsi1" pk:"$#{token}" sk:"gsi1sk={pin:08}"`
	_ entity.GSI `name:"byMail" index:"gsi2" pk:"$#{mail}" sk:"$#{token}"`

	Tenant string            `dynamodbav:"tenant"`
	SSN    string            `dynamodbav:"ssn" entity:"secret"`
	Mail   string            `dynamodbav:"mail,omitempty"`
	Token  string            `dynamodbav:"token,omitempty" entity:"secret"`
	Pin    int32             `dynamodbav:"pin,omitempty" entity:"secret"`
	Keys   map[string]string `dynamodbav:"keys,omitempty" entity:"secret"`
	Card   *Card             `dynamodbav:"card,omitempty" entity:"secret"`
	Born   time.Time         `dynamodbav:"born,omitempty" entity:"secret,time=s"`
	Owner  string            `dynamodbav:"owner,omitempty" entity:"immutable,secret"`
	Logins int               `dynamodbav:"logins,omitempty"`
}

type Card struct {
	Number string  `dynamodbav:"number"`
	Limit  float64 `dynamodbav:"limit"`
}

const (
	hush    = "hush-hush"
	hushPin = 31415926
)

var hushBorn = time.Date(1987, 6, 5, 4, 3, 2, 0, time.UTC)

func secretive() Account {
	return Account{
		Tenant: "t", SSN: hush, Mail: "m@x", Token: hush, Pin: hushPin, Keys: map[string]string{"k": hush},
		Card: &Card{Number: hush, Limit: hushPin}, Born: hushBorn, Owner: hush,
	}
}

// requireSilent checks that a text gives nothing away.
func requireSilent(t *testing.T, what, text string) {
	t.Helper()
	require.NotEmpty(t, text, what)
	for _, leak := range []string{hush, strings.ToUpper(hush), "31415926", "1987-06-05", "4242424242"} {
		require.NotContains(t, text, leak, what)
	}
}

func TestSecret_IsNotInPlans(t *testing.T) {
	t.Parallel()
	s := dbtest.Declare[Account](t, paper(t))
	byToken := entity.Must(s.Index("byToken"))
	byMail := entity.Must(s.Index("byMail"))
	f, key := entity.Fields[Account](), Account{Tenant: "t", SSN: hush}
	card := entity.Set(&f.Card.Number, hush)
	cond := entity.If(entity.Eq(&f.Token, hush), entity.Or(entity.Gt(&f.Pin, hushPin), entity.MapEntry(&f.Keys, "k").Eq(hush)), entity.Not(entity.In(&f.Born, hushBorn)))
	for what, plan := range map[string]fmt.Stringer{
		"create":      s.Op().Create(secretive(), cond),
		"upsert":      s.Op().Upsert(secretive(), cond),
		"upsert read": s.Op().Upsert(Account{Tenant: "t", SSN: hush, Mail: "n", Pin: hushPin}),
		"update":      s.Op().Update(key, entity.Set(&f.Token, hush), entity.Add(&f.Pin, hushPin), card, entity.MapEntry(&f.Keys, "k").Set(hush), cond),
		"update once": s.Op().Update(key, entity.SetIfNotExists(&f.Born, hushBorn), entity.Set(&f.Owner, hush), entity.Attr[string]("card.number").Set(hush)),
		"update half": s.Op().Update(key, entity.Set(&f.Token, hush), entity.Set(&f.Mail, "x")),
		"delete":      s.Op().Delete(key, cond),
		"require":     s.Op().CheckExists(key, entity.Eq(&f.Token, hush)),
		"query":       s.Query(key, entity.Filter(entity.Eq(&f.Token, hush), entity.Eq(&f.Card.Limit, hushPin))),
		"index":       byToken.Query(Account{Token: hush}, entity.Between(&f.Pin, 1, hushPin)),
		"index sort":  byMail.Query(Account{Mail: "m"}, entity.Gt(&f.Token, hush)),
		"index lt":    byMail.Query(Account{Mail: "m"}, entity.Lt(&f.Token, hush)),
		"index eq":    byMail.Query(Account{Mail: "m", Token: hush}),
	} {
		requireSilent(t, what, plan.String())
		requireSilent(t, what, fmt.Sprintf("%v %+v", plan, plan))
	}
}

// chain is every text that an error can show, down to its causes. What DynamoDB itself says is not ours.
func chain(err error) string {
	var texts []string
	var walk func(error)
	walk = func(err error) {
		if err == nil {
			return
		}
		texts = append(texts, err.Error(), fmt.Sprintf("%v %+v", err, err))
		walk(errors.Unwrap(err))
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range many.Unwrap() {
				walk(e)
			}
		}
	}
	walk(err)
	return strings.Join(texts, "\n")
}

func TestSecret_IsNotInErrors(t *testing.T) {
	t.Parallel()
	l, s := open[Account](t)
	byToken := entity.Must(s.Index("byToken"))
	f, key := entity.Fields[Account](), Account{Tenant: "t", SSN: hush}
	l.OK(s.Create(t.Context(), secretive()))
	silent := func(what string, err error) {
		t.Helper()
		require.Error(t, err, what)
		requireSilent(t, what, chain(err))
	}
	_, err := s.Create(t.Context(), secretive())
	silent("exists", err)
	silent("condition", s.Delete(t.Context(), key, entity.If(entity.Ne(&f.Token, hush))))
	_, err = s.Update(t.Context(), key, entity.Set(&f.Owner, hush+"!"))
	silent("immutable", err)
	_, err = s.Get(t.Context(), Account{Tenant: "t", SSN: hush + "!"})
	silent("not found", err)
	silent("transaction", l.DB.Transact(t.Context(), s.Op().Create(secretive()), s.Op().CheckExists(Account{Tenant: "u", SSN: hush}, entity.Eq(&f.Token, hush))))
	silent("same item", l.DB.Transact(t.Context(), s.Op().Create(secretive()), s.Op().Delete(key)))
	_, err = byToken.Query(Account{Token: hush + "!"}).First(t.Context())
	silent("nothing found", err)
	_, err = byToken.Query(Account{Token: hush}, entity.Limit(1)).Page(t.Context(), "x")
	silent("cursor", err)

	wide := secretive()
	wide.Pin = -hushPin
	_, err = s.Create(t.Context(), wide)
	silent("negative", err)
	dbtest.RequireInput(t, err, "EDD-9102", "Pin")
	_, err = s.Update(t.Context(), key, entity.Set(&f.Pin, -hushPin))
	silent("negative change", err)
	_, err = s.Create(t.Context(), Account{Tenant: "t", SSN: hush + "\xff"})
	silent("not UTF-8", err)
	fine := secretive()
	fine.SSN, fine.Born = hush+"2", time.Date(10000, 1, 1, 0, 0, 0, hushPin, time.UTC)
	_, err = s.Create(t.Context(), fine)
	silent("year", err)
	_, err = s.Create(t.Context(), Account{Tenant: "t", SSN: strings.Repeat(hush, 500)})
	silent("too long", err)
	_, err = s.Update(t.Context(), key, entity.Set(&f.Token, strings.Repeat(hush, 500)), entity.Set(&f.Mail, "x"))
	silent("index too long", err)
	_, err = s.Query(key, entity.Eq(&f.Token, hush)).Collect(t.Context())
	silent("wrong condition", err)
}

func TestSecret_IsNotInErrorsAboutStoredItems(t *testing.T) {
	t.Parallel()
	for name, av := range map[string]struct {
		attr string
		text string
	}{"number that is text": {"pin", hush}, "text that is no time": {"born", hush}, "number out of range": {"pin", "4242424242"}, "time of another kind": {"born", "4242424242"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := open[Account](t)
			l.OK(s.Create(t.Context(), secretive()))
			value := str(av.text)
			if av.text != hush {
				value = num(av.text)
			}
			l.patch(keys("pk", "$app#v1#account#t#"+hush, "sk", "$app#v1#account"), av.attr, value)
			_, err := s.Get(t.Context(), Account{Tenant: "t", SSN: hush})
			requireMisfit(t, err, av.attr)
			requireSilent(t, name, chain(err))
			_, err = s.Update(t.Context(), Account{Tenant: "t", SSN: hush}, entity.Set(&entity.Fields[Account]().Mail, "other"))
			require.Error(t, err)
			requireSilent(t, name, chain(err))
			_, err = s.Create(t.Context(), secretive())
			require.ErrorIs(t, err, entity.ErrExists)
			_, ok := entity.StoredItem[Account](err)
			require.False(t, ok, "an item that does not fit is not handed out")
		})
	}
}
