package migrate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
)

// start is so far ahead that the database removes nothing itself.
var start = time.Date(2101, 3, 4, 5, 6, 7, 0, time.UTC)

// Person is a `$` entity.
type Person struct {
	_     entity.Key        `name:"Person" pk:"$#{id}" sk:"$"`
	_     unique.Constraint `name:"email" fields:"email"`
	ID    string            `dynamodbav:"id"`
	Email string            `dynamodbav:"email,omitempty"`
}

// Part is verbatim.
type Part struct {
	_      entity.Key        `name:"Part" pk:"id" sk:"kind"`
	_      unique.Constraint `name:"serial" fields:"serial"`
	ID     string            `dynamodbav:"id"`
	Kind   string            `dynamodbav:"kind"`
	Serial string            `dynamodbav:"serial,omitempty"`
}

// Member keeps its handle for 30 days after it was deleted.
type Member struct {
	_      entity.Key           `name:"Member" pk:"$#{id}" sk:"$"`
	_      lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_      unique.Constraint    `name:"handle" fields:"handle"`
	ID     string               `dynamodbav:"id"`
	Handle string               `dynamodbav:"handle,omitempty"`
}

// Gadget is verbatim, in a table like that of the `$` entities.
type Gadget struct {
	_      entity.Key        `name:"Gadget" pk:"pk" sk:"sk"`
	_      unique.Constraint `name:"serial" fields:"serial"`
	PK     string            `dynamodbav:"pk"`
	SK     string            `dynamodbav:"sk"`
	Serial string            `dynamodbav:"serial,omitempty"`
}

// lab is one test's database.
type lab struct{ *dbtest.Bench }

func newLab(t *testing.T, configure ...func(*entity.Config)) *lab {
	t.Helper()
	b := &lab{dbtest.Open(t, configure...)}
	b.Clock.Set(start, 0)
	return b
}

// shared configures a database that effect-dynamodb uses too.
func shared(c *entity.Config) {
	c.Interop, c.TimePrecision = true, time.Millisecond
}

// prepare declares T, creates the table, and opens the constraint.
func prepare[T any](t *testing.T, b *lab, constraint string) (*entity.Store[T], *unique.Lookup[T]) {
	t.Helper()
	s := dbtest.Declare[T](t, b.DB)
	require.NoError(t, tables.Create(t.Context(), b.DB))
	l := entity.Must(unique.Of(s, constraint))
	return s, l
}

// bijective requires that sentinels and owners with a value are one to one.
func (b *lab) bijective(attr string) {
	b.T.Helper()
	owners, sentinels := map[string]string{}, map[string]string{}
	for _, it := range b.Items() {
		pk, sk := b.KeyOf(it)
		if dbtest.IsSentinel(it) {
			sentinels[pk[strings.LastIndex(pk, "#")+1:]] = dbtest.Text(it["_entity_pk"]) + " " + dbtest.Text(it["_entity_sk"])
		} else if v := dbtest.Text(it[attr]); v != "" {
			require.NotContains(b.T, owners, v, "two items have one value")
			owners[v] = pk + " " + sk
		}
	}
	require.Equal(b.T, owners, sentinels, "%d items", len(owners))
}
