package upgrades_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// refusedAhead requires the error of an item that a later version of the program has stored.
func refusedAhead(t *testing.T, err error, what string) {
	t.Helper()
	var ahead *entity.UpgradeError
	require.ErrorAs(t, err, &ahead, what)
	require.Equal(t, "Author", ahead.Entity, what)
	require.Greater(t, ahead.From, 1, what)
	require.False(t, entity.IsAmbiguous(err), what)
}

// An earlier program refuses to read items that a later one has stored, in every way.
func TestAhead_ReadsAreRefused(t *testing.T) {
	t.Parallel()
	l := open(t)
	key := author1{ID: "b"}
	l.OK(l.now.Create(l.Ctx, author{ID: "b", Team: "red", Name: name{"Ada", "Lovelace"}}))
	f := entity.Fields[author1]()
	into := key
	type part struct {
		Name string `dynamodbav:"name"`
	}
	first := func(q entity.Query[author1]) error { _, err := q.Collect(l.Ctx); return err }
	for what, read := range map[string]func() error{
		"get":      func() error { _, err := l.old.Get(l.Ctx, key); return err },
		"many":     func() error { _, err := l.old.GetMany(l.Ctx, []author1{key}); return err },
		"batch":    func() error { _, err := l.oldDB.BatchGet(l.Ctx, l.old.Op().GetInto(&into)); return err },
		"transact": func() error { return l.oldDB.TransactGet(l.Ctx, l.old.Op().GetInto(&into)) },
		"query":    func() error { return first(l.old.Query(key)) },
		"scan":     func() error { return first(l.old.Scan()) },
		"index":    func() error { return first(entity.Must(l.old.Index("byTeam")).Query(author1{Team: "red"})) },
		"project":  func() error { _, err := entity.Project[part](l.old.Query(key)).Collect(l.Ctx); return err },
		"if":       func() error { return l.oldDB.Transact(l.Ctx, l.old.Op().CheckExists(key, entity.Eq(&f.Name, "x"))) },
	} {
		refusedAhead(t, read(), what)
	}
	report, err := migrate.Rewrite(l.Ctx, l.old)
	require.NoError(t, err)
	require.Equal(t, map[migrate.Problem]int{migrate.NotUpgraded: 1}, report.Problems)
}

// An earlier program refuses to write items that a later one has stored, also without reading them.
func TestAhead_WritesAreRefused(t *testing.T) {
	t.Parallel()
	l := open(t)
	key := author1{ID: "b", Team: "red", Name: "Old Program"}
	l.OK(l.now.Create(l.Ctx, author{ID: "b", Team: "red", Name: name{"Ada", "Lovelace"}}))
	before := l.Item("$app#v1#author#b", "$app#v1#author")
	f := entity.Fields[author1]()
	s, db := l.old, l.oldDB
	set := entity.Set(&f.Books, 7)
	for what, write := range map[string]func() error{
		"update":      func() error { _, err := s.Update(l.Ctx, key, set); return err },
		"update team": func() error { _, err := s.Update(l.Ctx, key, entity.Set(&f.Team, "blue")); return err },
		"idempotent":  func() error { _, err := s.Update(l.Ctx, key, set, entity.Idempotent()); return err },
		"put":         func() error { _, err := s.Put(l.Ctx, key); return err },
		"upsert":      func() error { _, _, err := s.Upsert(l.Ctx, key); return err },
		"modify": func() error {
			_, err := s.Modify(l.Ctx, key, func(v *author1) error { v.Books++; return nil })
			return err
		},
		"touch":     func() error { _, err := s.Touch(l.Ctx, key, f.Seen, time.Hour); return err },
		"delete":    func() error { return s.Delete(l.Ctx, key) },
		"delete if": func() error { return s.Delete(l.Ctx, key, entity.If(entity.Exists(&f.Name))) },
		"transaction": func() error {
			return db.Transact(l.Ctx, s.Op().Update(key, set), s.Op().CheckNotExists(author1{ID: "no"}))
		},
		"two":   func() error { return db.Transact(l.Ctx, s.Op().CheckExists(key), s.Op().Put(key)) },
		"token": func() error { return db.TransactWithToken(l.Ctx, entity.Token{ID: "x"}, s.Op().Put(key)) },
		"purge": func() error { return s.Purge(l.Ctx, key) },
	} {
		refusedAhead(t, write(), what)
		require.Equal(t, before, l.Item("$app#v1#author#b", "$app#v1#author"), what)
	}
}

// A series refuses an append to an item that a later program has stored.
func TestAhead_AppendsAreRefused(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	now := entity.Must(timeseries.New[reading](b.DB))
	old := entity.Must(timeseries.New[reading1](b.Open(b.Raw)))
	b.CreateTables()
	one, at := 1, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b.OK(now.Append(b.Ctx, reading{Device: "d", At: at, Temp: &one}))
	late := reading1{Device: "d", At: at.Add(time.Second), Temp: &one}
	var ahead *entity.UpgradeError
	_, err := old.Append(b.Ctx, late)
	require.ErrorAs(t, err, &ahead)
	_, err = old.AppendAll(b.Ctx, []reading1{late})
	require.ErrorAs(t, err, &ahead)
	_, err = old.Append(b.Ctx, reading1{Device: "d", At: at, Temp: &one})
	require.ErrorAs(t, err, &ahead)
	_, err = old.History(reading1{Device: "d"}).Collect(b.Ctx)
	require.ErrorAs(t, err, &ahead)
	require.Len(t, b.Items(), 2)
}

// guarded1 has everything that reads the item before it writes.
type guarded1 struct {
	_ entity.Key           `name:"Author" pk:"$#{id}" sk:"$"`
	_ versioned.Retain     ``
	_ lifecycle.SoftDelete ``
	_ unique.Constraint    `name:"mail" fields:"mail"`

	ID      string    `dynamodbav:"id"`
	Mail    string    `dynamodbav:"mail,omitempty"`
	Version int       `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

type guarded struct {
	_ entity.Key           `name:"Author" pk:"$#{id}" sk:"$" payload:"2"`
	_ versioned.Retain     ``
	_ lifecycle.SoftDelete ``
	_ unique.Constraint    `name:"mail" fields:"address"`

	ID      string    `dynamodbav:"id"`
	Mail    string    `dynamodbav:"address,omitempty"`
	Version int       `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

// Features of an earlier program leave items, copies and claims of a later one alone.
func TestAhead_FeaturesLeaveThemAlone(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	now := dbtest.Declare[guarded](t, b.DB)
	old := dbtest.Declare[guarded1](t, b.Open(b.Raw))
	b.CreateTables()
	b.OK(now.Create(b.Ctx, guarded{ID: "a", Mail: "a@x"}))
	b.OK(now.Create(b.Ctx, guarded{ID: "b", Mail: "b@x"}))
	require.NoError(t, now.Delete(b.Ctx, guarded{ID: "b"}))
	before := b.ItemsByKey()
	byMail, history, bin := entity.Must(unique.Of(old, "mail")), entity.Must(versioned.Of(old)), entity.Must(lifecycle.Of(old))
	for what, call := range map[string]func() error{
		"update": func() error {
			_, err := old.Update(b.Ctx, guarded1{ID: "a"}, entity.Set(&entity.Fields[guarded1]().Mail, "z@x"))
			return err
		},
		"delete":  func() error { return old.Delete(b.Ctx, guarded1{ID: "a"}) },
		"revert":  func() error { _, err := history.Revert(b.Ctx, guarded1{ID: "a"}, 1); return err },
		"diff":    func() error { _, err := history.Diff(b.Ctx, guarded1{ID: "a"}, 1, 1); return err },
		"list":    func() error { _, err := history.List(guarded1{ID: "b"}).Collect(b.Ctx); return err },
		"restore": func() error { _, err := bin.Restore(b.Ctx, guarded1{ID: "b"}); return err },
		"deleted": func() error { _, err := bin.List(guarded1{ID: "b"}).Collect(b.Ctx); return err },
		"create":  func() error { _, err := old.Create(b.Ctx, guarded1{ID: "b"}); return err },
		"find":    func() error { _, err := byMail.Find(b.Ctx, guarded1{Mail: "a@x"}); return err },
		"purge":   func() error { return old.Purge(b.Ctx, guarded1{ID: "b"}) },
	} {
		refusedAhead(t, call(), what)
		require.Equal(t, before, b.ItemsByKey(), what)
	}
	// Another item has the value of one that cannot be read, without a claim.
	b.PutItem(dbtest.Item{
		"pk": dbtest.S("$app#v1#author#c"), "sk": dbtest.S("$app#v1#author"), "__edd_e__": dbtest.S("Author"), "_w": dbtest.S("other"),
		"id": dbtest.S("c"), "mail": dbtest.S("a@x"), "version": dbtest.N("1"),
	})
	before = b.ItemsByKey()
	repaired, err := migrate.RepairUnique(b.Ctx, byMail)
	require.NoError(t, err)
	require.Empty(t, repaired.Fixed)
	require.Equal(t, 1, repaired.Report.Unreadable)
	require.Equal(t, before, b.ItemsByKey())
}

// both is author1 for the time in which programs of two forms run: it has the attributes of both.
type both struct {
	_ entity.Key `name:"Author" pk:"$#{id}" sk:"$" reads:"2"`

	ID   string `dynamodbav:"id"`
	Name string `dynamodbav:"fullName,omitempty"`
}

// A struct that declares that it reads a later payload version reads and writes its items.
func TestAhead_ReadsDeclaredVersions(t *testing.T) {
	t.Parallel()
	type next struct {
		_ entity.Key `name:"Author" pk:"$#{id}" sk:"$" payload:"2"`

		ID   string `dynamodbav:"id"`
		Name string `dynamodbav:"fullName,omitempty"`
	}
	b := dbtest.Open(t)
	now := dbtest.Declare[next](t, b.DB, entity.Upgrade(1, func(v both) (next, error) { return next{ID: v.ID, Name: v.Name}, nil }))
	old := dbtest.Declare[both](t, b.Open(b.Raw))
	b.CreateTables()
	b.OK(now.Create(b.Ctx, next{ID: "a", Name: "Ann"}))
	got, err := old.Update(b.Ctx, both{ID: "a"}, entity.Set(&entity.Fields[both]().Name, "Anna"))
	require.NoError(t, err)
	require.Equal(t, "Anna", got.Name)
	b.OK(old.Put(b.Ctx, both{ID: "a", Name: "Bea"}))
	read, err := now.Get(b.Ctx, next{ID: "a"})
	require.NoError(t, err)
	require.Equal(t, "Bea", read.Name)
	b.ChangeItem("$app#v1#author#a", "$app#v1#author", dbtest.Item{"_pv": dbtest.N("3")})
	_, err = old.Update(b.Ctx, both{ID: "a"}, entity.Set(&entity.Fields[both]().Name, "Cleo"))
	refusedAhead(t, err, "version 3")
	_, err = old.Get(b.Ctx, both{ID: "a"})
	refusedAhead(t, err, "version 3")
}

type rolling1 struct {
	_ entity.Key       `name:"Rolling" pk:"$#{id}" sk:"$"`
	_ versioned.Retain ``

	ID      string `dynamodbav:"id"`
	OldName string `dynamodbav:"name,omitempty"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

type rolling2 struct {
	_ entity.Key       `name:"Rolling" pk:"$#{id}" sk:"$" reads:"2"`
	_ versioned.Retain ``

	ID      string `dynamodbav:"id"`
	OldName string `dynamodbav:"name,omitempty"`
	Name    string `dynamodbav:"fullName,omitempty"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

type rolling3 struct {
	_ entity.Key       `name:"Rolling" pk:"$#{id}" sk:"$" payload:"2"`
	_ versioned.Retain ``

	ID      string `dynamodbav:"id"`
	Name    string `dynamodbav:"fullName,omitempty"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// A struct that reads a later version can give an item of it the content of an earlier state, which is then to be upgraded.
func TestAhead_ARevertIsUpgraded(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	last := dbtest.Declare[rolling3](t, b.DB, entity.Upgrade(1, func(v rolling2) (rolling3, error) {
		return rolling3{ID: v.ID, Name: v.Name + v.OldName}, nil // whichever is there
	}))
	middle, first := dbtest.Declare[rolling2](t, b.Open(b.Raw)), dbtest.Declare[rolling1](t, b.Open(b.Raw))
	b.CreateTables()
	b.OK(first.Create(b.Ctx, rolling1{ID: "a", OldName: "Ann"}))
	b.OK(first.Update(b.Ctx, rolling1{ID: "a"}, entity.Set(&entity.Fields[rolling1]().OldName, "Cid")))
	b.OK(last.Update(b.Ctx, rolling3{ID: "a"}, entity.Set(&entity.Fields[rolling3]().Name, "Bob")))
	past := entity.Must(versioned.Of(middle))
	for _, want := range []rolling3{{Version: 1, Name: "Ann"}, {Version: 3, Name: "Bob"}} {
		b.OK(past.Revert(b.Ctx, rolling2{ID: "a"}, want.Version))
		got, err := last.Get(b.Ctx, rolling3{ID: "a"})
		require.NoError(t, err)
		require.Equal(t, want.Name, got.Name)
	}
}

type pass1 struct {
	_    entity.Key    `name:"Pass" pk:"$#{id}" sk:"$"`
	_    lifecycle.TTL `attr:"ends" after:"1h"`
	ID   string        `dynamodbav:"id"`
	Name string        `dynamodbav:"name"`
}

type pass2 struct {
	_     entity.Key    `name:"Pass" pk:"$#{id}" sk:"$" payload:"2"`
	_     lifecycle.TTL `attr:"ends" after:"1h"`
	ID    string        `dynamodbav:"id"`
	Title string        `dynamodbav:"title"`
}

// A delete does not read the item, and whether it has expired is a part of its condition.
func TestAhead_DeletesOfItemsThatExpireAreRefused(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	old := dbtest.Declare[pass1](t, b.DB)
	b.CreateTables()
	now := entity.Must(entity.New[pass2](b.Open(b.Client), entity.Upgrade(1, func(p pass1) (pass2, error) { return pass2{ID: p.ID, Title: p.Name}, nil })))
	b.OK(now.Create(b.Ctx, pass2{ID: "a", Title: "x"}))
	var ahead *entity.UpgradeError
	require.ErrorAs(t, old.Delete(b.Ctx, pass1{ID: "a"}), &ahead)
	b.OK(now.Get(b.Ctx, pass2{ID: "a"}))
}
