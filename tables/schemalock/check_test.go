package schemalock_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables/schemalock"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

// report is a TB that records its calls. Like a real one, Fatalf ends the call.
type report struct{ logs, errors, fatals []string }

type ended struct{}

func (r *report) Helper()                      {}
func (r *report) Logf(f string, args ...any)   { r.logs = append(r.logs, fmt.Sprintf(f, args...)) }
func (r *report) Errorf(f string, args ...any) { r.errors = append(r.errors, fmt.Sprintf(f, args...)) }
func (r *report) Fatalf(f string, args ...any) {
	r.fatals = append(r.fatals, fmt.Sprintf(f, args...))
	panic(ended{})
}

// checked runs Check and returns its messages.
func checked(db *entity.DB, path string) (r *report) {
	r = &report{}
	defer func() {
		if v := recover(); v != nil && v != (ended{}) {
			panic(v)
		}
	}()
	schemalock.Check(r, db, path)
	return r
}

func declared[T any](t *testing.T) *entity.DB {
	t.Helper()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	entity.Must(entity.New[T](db))
	return db
}

type user struct {
	_ entity.Key `name:"User" pk:"$#{id}" sk:"$"`

	ID    string `dynamodbav:"id"`
	Email string `dynamodbav:"email,omitempty"`
}

type userRenamed struct {
	_ entity.Key `name:"User" pk:"$#{id}" sk:"$"`

	Key  string `dynamodbav:"id"`
	Mail string `dynamodbav:"email,omitempty"`
}

type userMore struct {
	_ entity.Key `name:"User" pk:"$#{id}" sk:"$"`

	ID    string `dynamodbav:"id"`
	Email string `dynamodbav:"email,omitempty"`
	Phone string `dynamodbav:"phone,omitempty"`
}

type userBroken struct {
	_ entity.Key `name:"User" pk:"$#{id}" sk:"$#u"`

	ID    string `dynamodbav:"id"`
	Email int    `dynamodbav:"email,omitempty"`
	Phone string `dynamodbav:"phone,omitempty"`
}

func TestCheck_ComparesWithTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dynastrata.lock")
	t.Setenv(schemalock.UpdateVariable, "1")
	r := checked(declared[user](t), path)
	require.Equal(t, &report{logs: []string{"schema lock: wrote " + path}}, r)
	text := entity.Must(os.ReadFile(path))
	require.Equal(t, schemalock.Of(declared[user](t)).String(), string(text))
	require.Len(t, entity.Must(os.ReadDir(filepath.Dir(path))), 1, "nothing but the file")

	t.Setenv(schemalock.UpdateVariable, "")
	require.Equal(t, &report{}, checked(declared[user](t), path), "nothing to say")
	require.Equal(t, &report{}, checked(declared[userRenamed](t), path), "names in Go do not count")

	r = checked(declared[userMore](t), path)
	require.Empty(t, r.errors)
	require.Len(t, r.logs, 1)
	require.Contains(t, r.logs[0], "compatible: User: attribute phone: (none) → S optional")

	r = checked(declared[userBroken](t), path)
	require.Len(t, r.errors, 1)
	require.Len(t, r.logs, 1)
	require.Contains(t, r.errors[0], "breaking: User: key sort: sk S $app#v1#user → sk S $app#v1#user#u: ")
	require.Contains(t, r.errors[0], "breaking: User: attribute email: S optional → N int64 optional: ")
	require.Contains(t, r.errors[0], "DYNASTRATA_UPDATE_LOCK=1 go test")
	require.NotContains(t, r.errors[0], "phone")
	require.Equal(t, text, entity.Must(os.ReadFile(path)), "a check writes nothing")
	require.Empty(t, r.fatals)
}

// The file that is written keeps its permissions, a link to it stays one, and what cannot be written leaves nothing.
func TestVerify_RefusesWhatItemsDoNotSurvive(t *testing.T) {
	t.Parallel()
	lock := []byte(schemalock.Of(declared[user](t)).String())
	require.NoError(t, schemalock.Verify(declared[user](t), lock))

	var changed *schemalock.ChangedError
	require.ErrorAs(t, schemalock.Verify(declared[userBroken](t), lock), &changed)
	require.NotEmpty(t, changed.Changes)
	for _, c := range changed.Changes {
		require.True(t, c.Breaking)
		require.Contains(t, changed.Error(), c.String())
	}
	require.NoError(t, schemalock.Verify(twoDeclared(t), lock), "an entity more is compatible")

	var format *schemalock.FormatError
	require.ErrorAs(t, schemalock.Verify(declared[user](t), nil), &format)
	require.Equal(t, "EDD-9160", dbtest.InputCode(schemalock.Verify(nil, lock)))
}

// twoDeclared has an entity more than the lock of user.
func twoDeclared(t *testing.T) *entity.DB {
	t.Helper()
	db := declared[user](t)
	type note struct {
		_  entity.Key `name:"Note" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
	}
	entity.Must(entity.New[note](db))
	return db
}

func TestCheck_WritesInPlaceOfTheFile(t *testing.T) {
	t.Setenv(schemalock.UpdateVariable, "1")
	dir, other := t.TempDir(), t.TempDir()
	file, link := filepath.Join(other, "dynastrata.lock"), filepath.Join(dir, "link.lock")
	db := declared[user](t)
	require.Empty(t, checked(db, file).fatals)
	require.Equal(t, os.FileMode(0o644), entity.Must(os.Stat(file)).Mode().Perm())
	require.NoError(t, os.Chmod(file, 0o640))
	require.NoError(t, os.WriteFile(file, nil, 0o640))
	require.NoError(t, os.Symlink(file, link))
	require.Empty(t, checked(db, link).fatals)
	require.Equal(t, schemalock.Of(db).String(), string(entity.Must(os.ReadFile(file))))
	require.Equal(t, os.FileMode(0o640), entity.Must(os.Stat(file)).Mode().Perm())
	require.NotZero(t, entity.Must(os.Lstat(link)).Mode()&os.ModeSymlink)

	require.NoError(t, os.Mkdir(filepath.Join(other, "directory"), 0o700))
	require.PanicsWithValue(t, ended{}, func() { schemalock.Check(&report{}, db, filepath.Join(other, "directory")) })
	require.Len(t, entity.Must(os.ReadDir(other)), 2, "no temporary file")
}

func TestCheck_FailsWhereThereIsNothingToCompareWith(t *testing.T) {
	t.Setenv(schemalock.UpdateVariable, "")
	dir := t.TempDir()
	path, db := filepath.Join(dir, "dynastrata.lock"), declared[user](t)
	fatal := func(path string) string {
		t.Helper()
		r := &report{}
		require.PanicsWithValue(t, ended{}, func() { schemalock.Check(r, db, path) })
		require.Len(t, r.fatals, 1)
		require.Empty(t, r.errors)
		return r.fatals[0]
	}
	require.Contains(t, fatal(path), "does not exist; write it with DYNASTRATA_UPDATE_LOCK=1 go test")
	require.NoFileExists(t, path)
	require.NotEmpty(t, fatal(dir), "a directory is no file")
	require.NoError(t, os.WriteFile(path, []byte("# dynastrata schema lock, format 3\n"), 0o600))
	require.Contains(t, fatal(path), "line 1")
	t.Setenv(schemalock.UpdateVariable, "yes")
	require.Contains(t, fatal(path), `is "yes"`)
	t.Setenv(schemalock.UpdateVariable, "1")
	require.NotEmpty(t, fatal(filepath.Join(dir, "missing", "dynastrata.lock")))
	require.Empty(t, checked(db, path).fatals)
	t.Setenv(schemalock.UpdateVariable, "")
	require.Equal(t, &report{}, checked(db, path))
}

func TestParse_SaysWhichLineIsNoLock(t *testing.T) {
	t.Parallel()
	text := schemalock.Of(declared[user](t)).String()
	lines := strings.Split(text, "\n")
	for name, c := range map[string]struct {
		text string
		line int
	}{
		"empty":            {"", 1},
		"other format":     {strings.Replace(text, "format 2", "format 3", 1), 1},
		"merge conflict":   {strings.Replace(text, "\nentity", "\n<<<<<<< HEAD\nentity", 1), 5},
		"fact first":       {lines[0] + "\n  table = x\n", 2},
		"no value":         {text + "  attribute x = \n", len(lines)},
		"not indented":     {text + "attribute x = S\n", len(lines)},
		"twice":            {text + "  attribute id = S\n", len(lines)},
		"entity twice":     {text + "\n" + strings.Join(lines[4:], "\n"), 0},
		"no key":           {text + "\nentity Other\n  table = x\n", 0},
		"malformed entity": {text + "\nentity two words\n", len(lines) + 1},
	} {
		_, err := schemalock.Parse([]byte(c.text))
		var bad *schemalock.FormatError
		require.True(t, errors.As(err, &bad), name)
		if c.line > 0 {
			require.Equal(t, c.line, bad.Line, name)
		}
		require.Contains(t, bad.Error(), "schema lock, line ")
	}
}

// An entity that moves to another table is one change, not a loss and a gain.
func TestCompare_FollowsAnEntityToItsTable(t *testing.T) {
	t.Parallel()
	type moved struct {
		_ entity.Key `name:"User" table:"people" pk:"$#{id}" sk:"$"`

		ID    string `dynamodbav:"id"`
		Email string `dynamodbav:"email,omitempty"`
	}
	changes := schemalock.Compare(schemalock.Of(declared[user](t)), schemalock.Of(declared[moved](t)))
	require.Len(t, changes, 1)
	require.Equal(t, "table", changes[0].What)
	require.True(t, changes[0].Breaking)

	both := declared[user](t)
	entity.Must(entity.New[moved](both))
	changes = schemalock.Compare(schemalock.Of(both), schemalock.Of(declared[moved](t)))
	require.Len(t, changes, 1)
	require.Equal(t, schemalock.Change{Breaking: true, Entity: "User", Old: "declared", Why: changes[0].Why}, changes[0])
}

type vault struct {
	_ entity.Key `name:"Vault" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byOwner" index:"gsi1" pk:"$#{owner}"`

	ID    string `dynamodbav:"id"`
	Owner string `dynamodbav:"owner"`
	Code  string `dynamodbav:"co de" entity:"secret"`
}

// Format 2 has the names of indexes and the secret attributes. A file of format 1 is still read.
func TestParse_ReadsFormat1(t *testing.T) {
	t.Parallel()
	now := schemalock.Of(declared[vault](t))
	require.Contains(t, now.String(), "  index gsi1 name = byOwner\n")
	require.Contains(t, now.String(), "  attribute co%20de = S always secret\n")
	text := strings.Replace(now.String(), "format 2", "format 1", 1)
	text = strings.Replace(strings.Replace(text, "  index gsi1 name = byOwner\n", "", 1), " secret\n", "\n", 1)
	old := entity.Must(schemalock.Parse([]byte(text)))
	require.Equal(t, 1, old.Format)
	require.Equal(t, text, old.String())
	for _, change := range append(schemalock.Compare(old, now), schemalock.Compare(now, old)...) {
		require.False(t, change.Breaking, change.String())
	}
	require.Len(t, schemalock.Compare(old, now), 2)
}

type note1 struct {
	_    entity.Key `name:"Note" pk:"$#{id}"`
	ID   string     `dynamodbav:"id"`
	Text string     `dynamodbav:"text"`
	Size int        `dynamodbav:"size"`
}

type note2 struct {
	_    entity.Key `name:"Note" pk:"$#{id}" payload:"2"`
	ID   string     `dynamodbav:"id"`
	Body string     `dynamodbav:"body" entity:"required"`
	Size string     `dynamodbav:"size"`
}

type note3 struct {
	_    entity.Key `name:"Note" pk:"$#{id}" payload:"3"`
	ID   string     `dynamodbav:"id"`
	Body string     `dynamodbav:"body" entity:"required"`
}

type metered1 struct {
	_     entity.Key        `name:"Metered" pk:"$#{id}" sk:"$"`
	_     timeseries.Events `orderBy:"at"`
	ID    string            `dynamodbav:"id"`
	At    time.Time         `dynamodbav:"at"`
	Units int               `dynamodbav:"units" entity:"append"`
}

type metered2 struct {
	_     entity.Key        `name:"Metered" pk:"$#{id}" sk:"$" payload:"2"`
	_     timeseries.Events `orderBy:"at"`
	ID    string            `dynamodbav:"id"`
	At    time.Time         `dynamodbav:"at"`
	Milli int               `dynamodbav:"milli" entity:"append"`
}

// A renamed attribute, or one of another type, breaks nothing if the store upgrades items of the locked payload version.
func TestCompare_AttributesOfUpgradedItems(t *testing.T) {
	t.Parallel()
	lockOf := func(declare func(*entity.DB)) schemalock.Lock {
		db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
		declare(db)
		return schemalock.Of(db)
	}
	compare := func(old, now schemalock.Lock) (changes []string) {
		for _, c := range schemalock.Compare(old, now) {
			changes = append(changes, c.String())
		}
		return changes
	}
	first := lockOf(func(db *entity.DB) { dbtest.Declare[note1](t, db) })
	step := func(from int) entity.StoreOption {
		return entity.Upgrade(from, func(n note1) (note2, error) { return note2{ID: n.ID, Body: n.Text}, nil })
	}
	with := lockOf(func(db *entity.DB) { dbtest.Declare[note2](t, db, step(1)) })
	assert.Equal(t, []string{
		"compatible: Note: payload: 1 → 2: existing items have the older version",
		"compatible: Note: attribute body: (none) → S required: needs Upgrade from 1, which the store has",
		"compatible: Note: attribute size: N int64 always → S always: needs Upgrade from 1, which the store has",
		"compatible: Note: attribute text: S always → (none): needs Upgrade from 1, which the store has",
	}, compare(first, with))

	events := lockOf(func(db *entity.DB) { entity.Must(timeseries.New[metered1](db)) })
	assert.Equal(t, []string{
		"compatible: Metered: payload: 1 → 2: existing items have the older version",
		"compatible: Metered: attribute milli: (none) → N int64 always append: existing items do not have it",
		"compatible: Metered: attribute units: N int64 always append → (none): needs Upgrade from 1, which the store has",
	}, compare(events, lockOf(func(db *entity.DB) {
		entity.Must(timeseries.New[metered2](db, entity.Upgrade(1, func(m metered1) (metered2, error) {
			return metered2{ID: m.ID, At: m.At, Milli: m.Units * 1000}, nil
		})))
	})))

	without := lockOf(func(db *entity.DB) { dbtest.Declare[note2](t, db) })
	changes := compare(first, without)
	assert.Contains(t, changes, "breaking: Note: attribute text: S always → (none): it remains in existing items but is no longer read; "+
		"a renamed attribute starts empty; needs Upgrade from 1, which the store does not have")
	assert.Len(t, changes, 4)
	late := lockOf(func(db *entity.DB) {
		dbtest.Declare[note3](t, db, entity.Upgrade(2, func(n note2) (note3, error) { return note3{ID: n.ID, Body: n.Body}, nil }))
	})
	assert.Contains(t, compare(first, late), "breaking: Note: attribute size: N int64 always → (none): it remains in existing items but is no longer "+
		"read; a renamed attribute starts empty; needs Upgrade from 1, which the store does not have")
	written := with.String()
	read, err := schemalock.Parse([]byte(written))
	assert.NoError(t, err)
	assert.Empty(t, schemalock.Compare(read, with))
	assert.Empty(t, schemalock.Compare(read, without), "the step can be removed after Rewrite")

	changes = compare(entity.Must(schemalock.Parse([]byte(first.String()))), read) // two files know no store
	assert.Contains(t, changes, "breaking: Note: attribute text: S always → (none): it remains in existing items but is no longer read; "+
		"a renamed attribute starts empty; compatible with an Upgrade from 1, of which a lock file says nothing")
	assert.Contains(t, changes, "compatible: Note: payload: 1 → 2: existing items have the older version")
	assert.Len(t, changes, 4)
	assert.NotContains(t, strings.Join(changes, "\n"), "store")
}
