// Package upgrades_test reads and writes items that were stored with earlier payload versions. A verb on such an item must
// leave and return the same as on one that was stored with today's version.
package upgrades_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/versioned"
)

// The versions of an entity, oldest first.

type author1 struct {
	_ entity.Key `name:"Author" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{id}"`

	ID      string     `dynamodbav:"id"`
	Team    string     `dynamodbav:"team"`
	Name    string     `dynamodbav:"name"` // first and last
	Books   int        `dynamodbav:"books"`
	Seen    *time.Time `dynamodbav:"seen,omitempty"`
	Version int        `dynamodbav:"version" entity:"version"`
	Updated time.Time  `dynamodbav:"updated" entity:"updated_at"`
}

type author2 struct {
	ID    string     `dynamodbav:"id"`
	Team  string     `dynamodbav:"team"`
	First string     `dynamodbav:"first"`
	Last  string     `dynamodbav:"last"`
	Books int        `dynamodbav:"books"`
	Seen  *time.Time `dynamodbav:"seen,omitempty"`
}

type name struct {
	First string `dynamodbav:"first"`
	Last  string `dynamodbav:"last"`
}

type author struct {
	_ entity.Key `name:"Author" pk:"$#{id}" sk:"$" payload:"3"`
	_ entity.GSI `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{id}"`

	ID      string    `dynamodbav:"id"`
	Team    string    `dynamodbav:"team"`
	Name    name      `dynamodbav:"name"`
	Books   int       `dynamodbav:"books"`
	Seen    time.Time `dynamodbav:"seen,omitempty"`
	Version int       `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

// kept is author with everything that keeps earlier states.
type kept struct {
	_ entity.Key           `name:"Author" pk:"$#{id}" sk:"$" payload:"3"`
	_ entity.GSI           `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{id}"`
	_ versioned.Retain     ``
	_ lifecycle.SoftDelete ``

	ID      string    `dynamodbav:"id"`
	Team    string    `dynamodbav:"team"`
	Name    name      `dynamodbav:"name"`
	Books   int       `dynamodbav:"books"`
	Seen    time.Time `dynamodbav:"seen,omitempty"`
	Version int       `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

// kept1 is kept with the first payload.
type kept1 struct {
	_ entity.Key           `name:"Author" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{id}"`
	_ versioned.Retain     ``
	_ lifecycle.SoftDelete ``

	ID      string    `dynamodbav:"id"`
	Team    string    `dynamodbav:"team"`
	Name    string    `dynamodbav:"name"`
	Books   int       `dynamodbav:"books"`
	Version int       `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

var errNoName = errors.New("there is one word only")

func split(a author1) (author2, error) {
	first, last, ok := strings.Cut(a.Name, " ")
	if !ok {
		return author2{}, errNoName
	}
	return author2{ID: a.ID, Team: a.Team, First: first, Last: last, Books: a.Books, Seen: a.Seen}, nil
}

func nest(a author2) (author, error) {
	up := author{ID: a.ID, Team: a.Team, Name: name{a.First, a.Last}, Books: a.Books}
	if a.Seen != nil {
		up.Seen = *a.Seen
	}
	return up, nil
}

func nestKept(a author2) (kept, error) {
	return kept{ID: a.ID, Team: a.Team, Name: name{a.First, a.Last}, Books: a.Books}, nil
}

// library is a table with a program of each version.
type library struct {
	*dbtest.Bench
	oldDB *entity.DB
	old   *entity.Store[author1]
	now   *entity.Store[author]
}

func open(t *testing.T) *library {
	t.Helper()
	b := dbtest.Open(t)
	now := dbtest.Declare[author](t, b.DB, entity.Upgrade(1, split), entity.Upgrade(2, nest))
	oldDB := b.Open(b.Raw)
	l := &library{b, oldDB, dbtest.Declare[author1](t, oldDB), now}
	b.CreateTables()
	return l
}

// store makes an item by the old program, and one of the same content by today's.
func (l *library) store() (old, now author) {
	l.T.Helper()
	l.OK(l.old.Create(l.Ctx, author1{ID: "a", Team: "red", Name: "Ada Lovelace", Books: 1}))
	l.OK(l.now.Create(l.Ctx, author{ID: "b", Team: "red", Name: name{"Ada", "Lovelace"}, Books: 1}))
	return author{ID: "a"}, author{ID: "b"}
}

// same requires that the items a and b have the same attributes, their keys and write ids aside.
func (l *library) same(what string) {
	l.T.Helper()
	pair := []dbtest.Item{l.Item("$app#v1#author#a", "$app#v1#author"), l.Item("$app#v1#author#b", "$app#v1#author")}
	for _, it := range pair {
		for _, name := range []string{"pk", "gsi1sk", "id", "_w"} {
			delete(it, name)
		}
	}
	require.Equal(l.T, pair[1], pair[0], what)
}

func TestUpgrades_EveryReadReturnsThem(t *testing.T) {
	t.Parallel()
	l := open(t)
	a, b := l.store()
	want, err := l.now.Get(l.Ctx, b)
	require.NoError(t, err)
	want.ID = "a"
	got, err := l.now.Get(l.Ctx, a)
	require.NoError(t, err)
	require.Equal(t, want, got)
	many, err := l.now.GetMany(l.Ctx, []author{a})
	require.NoError(t, err)
	require.Equal(t, want, *many[0])
	batch, transact := a, a
	l.OK(l.DB.BatchGet(l.Ctx, l.now.Op().GetInto(&batch)))
	require.Equal(t, want, batch)
	l.OK(l.DB.TransactGet(l.Ctx, l.now.Op().GetInto(&transact)))
	require.Equal(t, want, transact)
	for what, q := range map[string]entity.Query[author]{
		"query": l.now.Query(a), "scan": l.now.Scan(entity.Filter(entity.Eq(&entity.Fields[author]().ID, "a"))),
		"index": entity.Must(l.now.Index("byTeam")).Query(author{Team: "red"}, entity.Limit(1)),
	} {
		found, err := q.Collect(l.Ctx)
		require.NoError(t, err, what)
		require.Equal(t, []author{want}, found, what)
	}
	type part struct {
		Books int `dynamodbav:"books"`
	}
	_, err = entity.Project[part](l.now.Query(a)).Collect(l.Ctx)
	require.Equal(t, "EDD-9172", dbtest.InputCode(err))
}

// erased removes what a query finds, and creates it again.
func erased(l *library, key author, all func(context.Context, entity.Query[author], string, ...entity.PurgeOption) (entity.Erased, error)) error {
	done, err := all(l.Ctx, l.now.Query(key, entity.Filter(entity.Ge(&entity.Fields[author]().Books, 0))), "")
	require.Equal(l.T, entity.Erased{Found: 1, Deleted: 1}, done)
	if err != nil {
		return err
	}
	key.Team, key.Name = "red", name{"Ada", "King"}
	_, err = l.now.Create(l.Ctx, key)
	return err
}

// Each write leaves an old item as it leaves one that was stored with today's version.
func TestUpgrades_EveryWriteStoresThem(t *testing.T) {
	t.Parallel()
	f := entity.Fields[author]()
	for what, write := range map[string]func(l *library, key author) error{
		"update": func(l *library, key author) error {
			_, err := l.now.Update(l.Ctx, key, entity.Set(&f.Name.First, "Augusta"), entity.Add(&f.Books, 1))
			return err
		},
		"update of an index key": func(l *library, key author) error {
			_, err := l.now.Update(l.Ctx, key, entity.Set(&f.Team, "blue"))
			return err
		},
		"update if": func(l *library, key author) error {
			_, err := l.now.Update(l.Ctx, key, entity.Add(&f.Books, 1), entity.If(entity.Eq(&f.Name.Last, "Lovelace")))
			return err
		},
		"put": func(l *library, key author) error {
			key.Team, key.Name = "red", name{"A", "B"}
			_, err := l.now.Put(l.Ctx, key)
			return err
		},
		"upsert": func(l *library, key author) error {
			key.Team, key.Name.First = "red", "A"
			_, created, err := l.now.Upsert(l.Ctx, key)
			require.False(l.T, created)
			return err
		},
		"modify": func(l *library, key author) error {
			_, err := l.now.Modify(l.Ctx, key, func(v *author) error { v.Name.Last += "!"; return nil })
			return err
		},
		"modify if": func(l *library, key author) error {
			_, err := l.now.Modify(l.Ctx, key, func(v *author) error { v.Books++; return nil }, entity.If(entity.Eq(&f.Name.First, "Ada")))
			return err
		},
		"touch": func(l *library, key author) error { _, err := l.now.Touch(l.Ctx, key, &f.Seen, time.Hour); return err },
		"transaction": func(l *library, key author) error {
			return l.DB.Transact(l.Ctx, l.now.Op().Update(key, entity.Set(&f.Name.Last, "King")), l.now.Op().CheckNotExists(author{ID: "none"}))
		},
		"idempotent": func(l *library, key author) error {
			_, err := l.now.Update(l.Ctx, key, entity.Add(&f.Books, 1), entity.Idempotent())
			return err
		},
		"delete and create": func(l *library, key author) error {
			if err := l.now.Delete(l.Ctx, key, entity.If(entity.Eq(&f.Name.First, "Ada"))); err != nil {
				return err
			}
			key.Team, key.Name = "red", name{"Ada", "King"}
			_, err := l.now.Create(l.Ctx, key)
			return err
		},
		"delete all and create": func(l *library, key author) error { return erased(l, key, l.now.DeleteAll) },
		"purge all and create":  func(l *library, key author) error { return erased(l, key, l.now.PurgeAll) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			l := open(t)
			a, b := l.store()
			l.Clock.Move(time.Minute)
			require.NoError(t, write(l, a))
			require.NoError(t, write(l, b))
			l.same(what)
			l.Wire.Reset()
			require.NoError(t, write(l, b))
			today := l.Operations()
			require.NoError(t, write(l, a))
			require.Equal(t, today, l.Operations(), "an upgraded item costs what others cost")
		})
	}
}

// A condition on a field is about the upgraded item, and a check of existence costs nothing more.
func TestUpgrades_ConditionsAreAboutTheUpgradedItem(t *testing.T) {
	t.Parallel()
	l := open(t)
	a, _ := l.store()
	f := entity.Fields[author]()
	_, err := l.now.Update(l.Ctx, a, entity.Add(&f.Books, 1), entity.If(entity.NotExists(&f.Name.First)))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	l.OK(l.old.Put(l.Ctx, author1{ID: "c", Team: "red", Name: "Cleo C"}))
	l.Wire.Reset()
	require.NoError(t, l.DB.Transact(l.Ctx, l.now.Op().CheckExists(author{ID: "c"})))
	require.Equal(t, []string{"TransactWriteItems"}, l.Operations())
	require.NoError(t, l.DB.Transact(l.Ctx, l.now.Op().CheckExists(author{ID: "c"}, entity.Eq(&f.Name.Last, "C"))))
	require.NoError(t, l.now.Delete(l.Ctx, author{ID: "c"}))
}

// A store without upgrades sends one request for a write without a read.
func TestUpgrades_CostNoRequestElsewhere(t *testing.T) {
	t.Parallel()
	b, s := dbtest.OpenStore[author1](t)
	b.OK(s.Create(b.Ctx, author1{ID: "a"}))
	b.OK(s.Update(b.Ctx, author1{ID: "a"}, entity.Set(&entity.Fields[author1]().Books, 2)))
	require.Equal(t, []string{"PutItem", "UpdateItem"}, b.Operations())
}

// Whatever happens to a request of the first write, the item is upgraded once and changed once.
func TestUpgrades_FaultsAtEachRequest(t *testing.T) {
	t.Parallel()
	f := entity.Fields[author]()
	for _, fault := range []faults.Fault{faults.Throttle, faults.Internal, faults.Drop, faults.Twice, faults.Conflict} {
		l := open(t)
		l.OK(l.old.Put(l.Ctx, author1{ID: "a", Team: "red", Name: "Ada Lovelace"}))
		for n := 1; n <= 4; n++ {
			l.ChangeItem("$app#v1#author#a", "$app#v1#author", dbtest.Item{"_pv": nil, "name": dbtest.S("Ada Lovelace"), "books": dbtest.N("1")})
			l.Wire.Inject(faults.Nth(n, fault))
			got, err := l.now.Update(l.Ctx, author{ID: "a"}, entity.Set(&f.Books, 7))
			l.Wire.Inject(nil)
			if entity.IsAmbiguous(err) {
				got, err = l.now.Update(l.Ctx, author{ID: "a"}, entity.Set(&f.Books, 7))
			}
			require.NoError(t, err, "%v at %d", fault, n)
			require.Equal(t, []any{7, name{"Ada", "Lovelace"}}, []any{got.Books, got.Name})
		}
	}
}

func TestUpgrades_ErrorsNameTheVersion(t *testing.T) {
	t.Parallel()
	l := open(t)
	l.OK(l.old.Create(l.Ctx, author1{ID: "a", Team: "red", Name: "Plato"}))
	_, err := l.now.Get(l.Ctx, author{ID: "a"})
	var failed *entity.UpgradeError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, errNoName)
	require.Equal(t, []any{"Author", 1, false}, []any{failed.Entity, failed.From, failed.Redacted})
	require.ErrorContains(t, err, errNoName.Error())
	_, err = l.now.Update(l.Ctx, author{ID: "a"}, entity.Add(&entity.Fields[author]().Books, 1))
	require.ErrorAs(t, err, &failed)
	report, err := migrate.Rewrite(l.Ctx, l.now)
	require.NoError(t, err)
	require.Equal(t, map[migrate.Problem]int{migrate.NotUpgraded: 1}, report.Problems)

	gap := dbtest.Declare[author](t, l.Open(l.Client), entity.Upgrade(2, nest))
	l.ChangeItem("$app#v1#author#a", "$app#v1#author", dbtest.Item{"name": dbtest.S("Plato X")})
	_, err = gap.Get(l.Ctx, author{ID: "a"})
	require.ErrorAs(t, err, &failed)
}

type (
	card1 struct {
		_   entity.Key `name:"Card" pk:"$#{id}" sk:"$"`
		ID  string     `dynamodbav:"id"`
		Pin string     `dynamodbav:"pin" entity:"secret"`
	}
	card2 struct {
		ID  string `dynamodbav:"id"`
		Pin string `dynamodbav:"pin"`
	}
	card struct {
		_   entity.Key `name:"Card" pk:"$#{id}" sk:"$" payload:"3"`
		ID  string     `dynamodbav:"id"`
		Pin string     `dynamodbav:"pin"`
	}
	hushedCard struct {
		_   entity.Key `name:"Card" pk:"$#{id}" sk:"$" payload:"2"`
		ID  string     `dynamodbav:"id"`
		Pin string     `dynamodbav:"pin" entity:"secret"`
	}
)

// pinError quotes the item that an upgrade refuses.
type pinError struct{ pin string }

func (e pinError) Error() string { return "no such pin: " + e.pin }

// A step may quote the item that it refuses: the text of its error is left out if a field is secret today, or was once.
func TestUpgrades_OfASecretHideTheirErrors(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	old := dbtest.Declare[card1](t, b.Open(b.Raw))
	was := dbtest.Declare[card](t, b.Open(b.Raw),
		entity.Upgrade(1, func(a card1) (card2, error) { return card2{a.ID, a.Pin}, nil }),
		entity.Upgrade(2, func(a card2) (card, error) { return card{}, pinError{a.Pin} }))
	is := dbtest.Declare[hushedCard](t, b.DB, entity.Upgrade(1, func(a card2) (hushedCard, error) { return hushedCard{}, pinError{a.Pin} }))
	b.CreateTables()
	b.OK(old.Create(b.Ctx, card1{ID: "a", Pin: "4711"}))
	for what, read := range map[string]func() error{
		"get, a secret once":  func() error { _, err := was.Get(b.Ctx, card{ID: "a"}); return err },
		"scan, a secret once": func() error { _, err := was.Scan().Collect(b.Ctx); return err },
		"get, a secret today": func() error { _, err := is.Get(b.Ctx, hushedCard{ID: "a"}); return err },
		"delete, a secret today": func() error {
			return is.Delete(b.Ctx, hushedCard{ID: "a"}, entity.If(entity.Exists(&entity.Fields[hushedCard]().Pin)))
		},
	} {
		err := read()
		var refused pinError
		require.ErrorAs(t, err, &refused, what)
		require.Equal(t, "4711", refused.pin, what)
		var failed *entity.UpgradeError
		require.ErrorAs(t, err, &failed, what)
		require.True(t, failed.Redacted, what)
		require.NotContains(t, err.Error(), "4711", what)
	}
}

// Snapshots and deleted copies of earlier versions are read, reverted to and restored in today's.
func TestUpgrades_OfEarlierStates(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	old := dbtest.Declare[kept1](t, b.Open(b.Raw))
	now := dbtest.Declare[kept](t, b.DB, entity.Upgrade(1, split), entity.Upgrade(2, nestKept))
	b.CreateTables()
	b.OK(old.Create(b.Ctx, kept1{ID: "a", Team: "red", Name: "Ada Byron"}))
	b.OK(old.Update(b.Ctx, kept1{ID: "a"}, entity.Set(&entity.Fields[kept1]().Name, "Ada Lovelace")))
	history := entity.Must(versioned.Of(now))
	first, err := history.Get(b.Ctx, kept{ID: "a"}, 1)
	require.NoError(t, err)
	assert.Equal(t, name{"Ada", "Byron"}, first.Item.Name)
	reverted, err := history.Revert(b.Ctx, kept{ID: "a"}, 1)
	require.NoError(t, err)
	assert.Equal(t, []any{name{"Ada", "Byron"}, 3}, []any{reverted.Name, reverted.Version})

	b.OK(old.Create(b.Ctx, kept1{ID: "b", Team: "red", Name: "Bea Smith"}))
	require.NoError(t, old.Delete(b.Ctx, kept1{ID: "b"}))
	bin := entity.Must(lifecycle.Of(now))
	gone, err := bin.Get(b.Ctx, kept{ID: "b"})
	require.NoError(t, err)
	assert.Equal(t, name{"Bea", "Smith"}, gone.Item.Name)
	back, err := bin.Restore(b.Ctx, kept{ID: "b"})
	require.NoError(t, err)
	assert.Equal(t, name{"Bea", "Smith"}, back.Name)
	assert.Equal(t, "3", dbtest.Text(b.Item("$app#v1#author#b", "$app#v1#author")["_pv"]))

	report, err := migrate.Rewrite(b.Ctx, now)
	require.NoError(t, err)
	assert.Zero(t, report.Skipped())
	assert.Positive(t, report.Reasons[migrate.Payload], "the snapshots")
	for _, it := range b.Items() {
		assert.Equal(t, "3", dbtest.Text(it["_pv"]))
	}
	first, err = history.Get(b.Ctx, kept{ID: "a"}, 1)
	require.NoError(t, err)
	assert.Equal(t, name{"Ada", "Byron"}, first.Item.Name)
}

func TestUpgrades_MistakesAreFoundByNew(t *testing.T) {
	t.Parallel()
	type verbatim struct {
		_  entity.Key `name:"Bare" pk:"id" payload:"2"`
		ID string     `dynamodbav:"id"`
	}
	type keysOnly struct {
		_    entity.Key `name:"Author" pk:"$#{id}" sk:"$" payload:"2"`
		_    entity.GSI `name:"byTeam" index:"gsi1" pk:"$#{team}" project:"keys"`
		ID   string     `dynamodbav:"id"`
		Team string     `dynamodbav:"team"`
	}
	type deleted struct {
		_       entity.Key           `name:"Deleted" pk:"$#{id}" sk:"$" payload:"2"`
		_       lifecycle.SoftDelete ``
		ID      string               `dynamodbav:"id"`
		Deleted time.Time            `dynamodbav:"deleted,omitempty" entity:"deleted_at"`
	}
	type deletedUnix struct {
		ID      string    `dynamodbav:"id"`
		Deleted time.Time `dynamodbav:"deleted,omitempty" entity:"deleted_at,time=unix"`
	}
	type untimed struct {
		_  entity.Key           `name:"Deleted" pk:"$#{id}" sk:"$" payload:"2"`
		_  lifecycle.SoftDelete ``
		ID string               `dynamodbav:"id"`
	}
	db := func() *entity.DB { return entity.Must(entity.Open(nil, entity.Config{Table: "app"})) }
	for what, declare := range map[string]func() error{
		"version 0":   func() error { _, err := entity.New[author](db(), entity.Upgrade(0, split)); return err },
		"a gap":       func() error { _, err := entity.New[author](db(), entity.Upgrade(1, split)); return err },
		"other types": func() error { _, err := entity.New[author](db(), entity.Upgrade(2, split)); return err },
		"twice": func() error {
			_, err := entity.New[author](db(), entity.Upgrade(2, nest), entity.Upgrade(2, nest))
			return err
		},
		"not raised": func() error {
			_, err := entity.New[author1](db(), entity.Upgrade(1, func(a author1) (author1, error) { return a, nil }))
			return err
		},
		"verbatim": func() error {
			_, err := entity.New[verbatim](db(), entity.Upgrade(1, func(a verbatim) (verbatim, error) { return a, nil }))
			return err
		},
		"part of items": func() error {
			_, err := entity.New[keysOnly](db(), entity.Upgrade(1, func(a keysOnly) (keysOnly, error) { return a, nil }))
			return err
		},
		"another format of deleted_at": func() error {
			_, err := entity.New[deleted](db(), entity.Upgrade(1, func(deletedUnix) (deleted, error) { return deleted{}, nil }))
			return err
		},
		"deleted_at is gone": func() error {
			_, err := entity.New[untimed](db(), entity.Upgrade(1, func(deletedUnix) (untimed, error) { return untimed{}, nil }))
			return err
		},
	} {
		assert.Equal(t, "EDD-9172", dbtest.InputCode(declare()), what)
	}
	_, err := entity.New[author](db(), entity.Upgrade[author1, author2](1, nil))
	assert.Equal(t, "EDD-9108", dbtest.InputCode(err))
	_, err = entity.New[author](db(), entity.Upgrade(1, split), entity.Upgrade(2, nest))
	require.NoError(t, err)
}
