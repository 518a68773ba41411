package schemalock_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/schemalock"
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

	without := lockOf(func(db *entity.DB) { dbtest.Declare[note2](t, db) })
	changes := compare(first, without)
	assert.Contains(t, changes, "breaking: Note: attribute text: S always → (none): it remains in existing items but is no longer read; "+
		"a renamed attribute starts empty; needs Upgrade from 1, which the store does not have")
	assert.Len(t, changes, 4)
	written := with.String()
	read, err := schemalock.Parse([]byte(written))
	assert.NoError(t, err)
	assert.Empty(t, schemalock.Compare(read, with))
	assert.Empty(t, schemalock.Compare(read, without), "the step can be removed after Rewrite")
}
