package unique_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Caller has an address whose case does not count.
type Caller struct {
	_      entity.Key        `name:"Caller" pk:"$#{id}" sk:"$"`
	_      unique.Constraint `name:"email" fields:"tenant,{email|lower}"`
	ID     string            `dynamodbav:"id"`
	Tenant string            `dynamodbav:"tenant"`
	Email  string            `dynamodbav:"email,omitempty"`
}

// Author is a Caller with a history, whose deleted copies keep their addresses.
type Author struct {
	_       entity.Key `name:"Author" pk:"$#{id}" sk:"$"`
	_       versioned.Retain
	_       lifecycle.SoftDelete `unique:"reserve"`
	_       unique.Constraint    `name:"email" fields:"tenant,{email|lower}"`
	ID      string               `dynamodbav:"id"`
	Tenant  string               `dynamodbav:"tenant"`
	Email   string               `dynamodbav:"email,omitempty"`
	Version int64                `dynamodbav:"version" entity:"version"`
}

// claims are the sentinels: the texts of their values with their owners.
func (b *lab) claims() map[string]string {
	b.T.Helper()
	all := map[string]string{}
	for _, it := range b.Items() {
		if dbtest.IsSentinel(it) {
			_, value, _ := strings.Cut(dbtest.Text(it["pk"]), ".email#")
			all[value] = dbtest.Text(it["_entity_pk"])[strings.LastIndex(dbtest.Text(it["_entity_pk"]), "#")+1:]
		}
	}
	return all
}

// A write of the same address in another case neither fails nor writes the sentinel, and the item has the new spelling.
func TestLower_AChangeOfCaseIsNoChangeOfTheValue(t *testing.T) {
	b := newLab(t)
	s, l := prepare[Caller](t, b, "email")
	f := entity.Fields[Caller]()
	b.OK(s.Create(b.Ctx, Caller{ID: "a", Tenant: "T", Email: "Ada@X"}))
	before := b.Sentinel("ada@x")
	require.NotNil(t, before)
	for name, write := range map[string]func(email string) error{
		"Update": func(email string) error {
			return dbtest.ErrorOf(s.Update(b.Ctx, Caller{ID: "a"}, entity.Set(&f.Email, email)))
		},
		"Put": func(email string) error {
			return dbtest.ErrorOf(s.Put(b.Ctx, Caller{ID: "a", Tenant: "T", Email: email}))
		},
		"Upsert": func(email string) error {
			return dbtest.ErrorOf(s.Upsert(b.Ctx, Caller{ID: "a", Tenant: "T", Email: email}))
		},
		"Modify": func(email string) error {
			return dbtest.ErrorOf(s.Modify(b.Ctx, Caller{ID: "a"}, func(u *Caller) error { u.Email = email; return nil }))
		},
		"Transact": func(email string) error {
			return b.DB.Transact(b.Ctx, s.Op().Update(Caller{ID: "a"}, entity.Set(&f.Email, email)))
		},
	} {
		for _, email := range []string{"ADA@x", "ada@x", "aDa@X"} {
			b.Wire.Reset()
			require.NoError(t, write(email), name)
			require.Zero(t, b.Wire.Count("TransactWriteItems"), "%s: the sentinel is not written", name)
			require.Equal(t, before, b.Sentinel("ada@x"), name)
			found := entity.Must(l.Find(b.Ctx, Caller{Tenant: "T", Email: "ADA@X"}))
			require.Equal(t, Caller{ID: "a", Tenant: "T", Email: email}, found, name)
		}
	}
	require.Equal(t, map[string]string{"T#ada@x": "a"}, b.claims())
	require.ErrorIs(t, dbtest.ErrorOf(l.Find(b.Ctx, Caller{Tenant: "t", Email: "Ada@X"})), entity.ErrNotFound, "the case of the other field counts")

	// Another item cannot have it in any case.
	b.OK(s.Create(b.Ctx, Caller{ID: "b", Tenant: "t", Email: "ada@x"}))
	for name, write := range map[string]func() error{
		"Create": func() error { return dbtest.ErrorOf(s.Create(b.Ctx, Caller{ID: "c", Tenant: "T", Email: "ADA@X"})) },
		"Put":    func() error { return dbtest.ErrorOf(s.Put(b.Ctx, Caller{ID: "c", Tenant: "T", Email: "adA@X"})) },
		"Upsert": func() error { return dbtest.ErrorOf(s.Upsert(b.Ctx, Caller{ID: "c", Tenant: "T", Email: "adA@X"})) },
		"Update": func() error { return dbtest.ErrorOf(s.Update(b.Ctx, Caller{ID: "b"}, entity.Set(&f.Tenant, "T"))) },
		"Modify": func() error {
			return dbtest.ErrorOf(s.Modify(b.Ctx, Caller{ID: "b"}, func(u *Caller) error { u.Tenant = "T"; return nil }))
		},
		"Transact": func() error {
			return b.DB.Transact(b.Ctx, s.Op().Create(Caller{ID: "c", Tenant: "T", Email: "ada@X"}), s.Op().Update(Caller{ID: "b"}, entity.Set(&f.Email, "z@x")))
		},
	} {
		err := write()
		taken := dbtest.As[*unique.ViolationError](t, err, name)
		require.Equal(t, unique.ViolationError{Constraint: "email", Owner: unique.Owner{PK: "$app#v1#caller#a", SK: "$app#v1#caller"}}, *taken, name)
		require.NotContains(t, strings.ToLower(err.Error()), "ada@x", name)
	}
	// In one transaction it moves, whatever its case.
	require.NoError(t, b.DB.Transact(b.Ctx, s.Op().Update(Caller{ID: "a"}, entity.Set(&f.Email, "Bea@X")), s.Op().Create(Caller{ID: "c", Tenant: "T", Email: "ADA@X"})))
	require.Equal(t, map[string]string{"T#ada@x": "c", "T#bea@x": "a", "t#ada@x": "b"}, b.claims())
	require.NoError(t, s.Delete(b.Ctx, Caller{ID: "c"}))
	require.NoError(t, s.Purge(b.Ctx, Caller{ID: "a"}))
	require.Equal(t, map[string]string{"t#ada@x": "b"}, b.claims())
}

// Whatever is written in whatever case, also by a revert or a restore of a state with another spelling, items and sentinels agree with a map from lower-cased addresses to owners.
func TestLower_RandomWritesAgreeWithAMap(t *testing.T) {
	b := newLab(t)
	b.Clock.Set(start, time.Second)
	s, l := prepare[Author](t, b, "email")
	f, past, bin := entity.Fields[Author](), entity.Must(versioned.Of(s)), entity.Must(lifecycle.Of(s))
	ids, spellings := []string{"a", "b", "c"}, []string{"Ada@x", "ADA@X", "ada@x", "Bea@x", "BEA@X", ""}
	testsize.Check(t, testsize.Pick(20, 60), func(rt *rapid.T) {
		for _, id := range ids {
			b.OK(nil, s.Purge(b.Ctx, Author{ID: id}))
		}
		owner, email, deleted, versions := map[string]string{}, map[string]string{}, map[string]bool{}, map[string][]string{}
		for n := range rapid.IntRange(1, 12).Draw(rt, "writes") {
			id, to := rapid.SampledFrom(ids).Draw(rt, "id"), rapid.SampledFrom(spellings).Draw(rt, "email")
			verb := rapid.SampledFrom([]string{"Create", "Put", "Update", "Modify", "Revert", "Delete", "Restore"}).Draw(rt, "verb")
			v, key := Author{ID: id, Tenant: "T", Email: to}, Author{ID: id}
			was, exists := email[id]
			exists = exists && !deleted[id]
			var err error
			switch verb {
			case "Create":
				_, err = s.Create(b.Ctx, v)
			case "Put":
				_, err = s.Put(b.Ctx, v)
			case "Update":
				_, err = s.Update(b.Ctx, key, entity.Set(&f.Email, to))
			case "Modify":
				_, err = s.Modify(b.Ctx, key, func(a *Author) error { a.Email = to; return nil })
			case "Revert":
				to = was
				if len(versions[id]) > 0 {
					to = versions[id][0]
				}
				_, err = past.Revert(b.Ctx, key, 1)
			case "Delete":
				err = s.Delete(b.Ctx, key)
			case "Restore":
				to = was
				_, err = bin.Restore(b.Ctx, key)
			}
			what := fmt.Sprintf("%d: %s %s %q: %v", n, verb, id, to, err)
			refused := map[string]bool{
				"Create": exists || deleted[id], "Put": deleted[id], "Update": !exists, "Modify": !exists, "Revert": !exists, "Delete": !exists, "Restore": !deleted[id],
			}[verb]
			by, taken := owner[strings.ToLower(to)]
			switch {
			case refused:
				require.Error(rt, err, what)
				require.False(rt, errors.As(err, new(*unique.ViolationError)), what)
				continue
			case verb == "Delete":
				require.NoError(rt, err, what)
				deleted[id] = true
				versions[id] = append(versions[id], was)
			case to != "" && taken && by != id:
				require.ErrorAs(rt, err, new(*unique.ViolationError), what)
				continue
			default:
				require.NoError(rt, err, what)
				deleted[id] = false
				delete(owner, strings.ToLower(was))
				if email[id] = to; to != "" {
					owner[strings.ToLower(to)] = id
				}
				if verb != "Modify" || !exists || was != to { // which then writes nothing
					versions[id] = append(versions[id], to)
				}
			}
			want := map[string]string{}
			for value, id := range owner {
				want["T#"+value] = id
				found, err := l.Find(b.Ctx, Author{Tenant: "T", Email: strings.ToUpper(value)})
				if deleted[id] {
					require.ErrorIs(rt, err, entity.ErrNotFound, what)
				} else {
					require.NoError(rt, err, what)
					require.Equal(rt, []string{id, email[id]}, []string{found.ID, found.Email}, what)
				}
			}
			require.Equal(rt, want, b.claims(), what)
		}
	})
}
