package schemalock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables/schemalock"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

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
}

// Of two files neither says whether a store upgrades the items: the change may break, and the text does not claim to know a store.
func TestCompare_TwoFilesKnowNoStore(t *testing.T) {
	t.Parallel()
	read := func(declare func(*entity.DB)) schemalock.Lock {
		db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
		declare(db)
		return entity.Must(schemalock.Parse([]byte(schemalock.Of(db).String())))
	}
	old := read(func(db *entity.DB) { dbtest.Declare[note1](t, db) })
	now := read(func(db *entity.DB) {
		dbtest.Declare[note2](t, db, entity.Upgrade(1, func(n note1) (note2, error) { return note2{ID: n.ID, Body: n.Text}, nil }))
	})
	var changes []string
	for _, c := range schemalock.Compare(old, now) {
		assert.NotContains(t, c.Why, "store")
		changes = append(changes, c.String())
	}
	assert.Contains(t, changes, "breaking: Note: attribute text: S always → (none): it remains in existing items but is no longer read; "+
		"a renamed attribute starts empty; compatible with an Upgrade from 1, of which a lock file says nothing")
	assert.Contains(t, changes, "compatible: Note: payload: 1 → 2: existing items have the older version")
	assert.Len(t, changes, 4)
}
