package rules_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// page is counted, in one request.
type page struct {
	_       entity.Key    `name:"Page" pk:"$#{id}" sk:"$"`
	_       lifecycle.TTL `attr:"ends" after:"1h"`
	ID      string        `dynamodbav:"id"`
	Title   string        `dynamodbav:"title,omitempty"`
	Hits    int           `dynamodbav:"hits"`
	Log     []string      `dynamodbav:"log,omitempty"`
	First   string        `dynamodbav:"first,omitempty"`
	Tags    []string      `dynamodbav:"tags,omitempty,stringset"`
	By      map[string]int
	Devices map[string]device `dynamodbav:"devices,omitempty"`
	Rows    []device          `dynamodbav:"rows,omitempty"`
	Ends    time.Time         `dynamodbav:"ends,omitempty" entity:"time=unix"`
	Made    time.Time         `dynamodbav:"made" entity:"created_at"`
}

type device struct {
	Name  string         `dynamodbav:"name,omitempty"`
	Ports []int          `dynamodbav:"ports"`
	Marks []string       `dynamodbav:"marks,omitempty,stringset"`
	Sums  map[string]int `dynamodbav:"sums"`
}

// rank is an entity whose every write is planned from the stored item.
type rank struct {
	_       entity.Key        `name:"Rank" pk:"$#{id}" sk:"$"`
	_       entity.GSI        `name:"byScore" index:"gsi1" pk:"$#{board}" sk:"$#{score}"`
	_       versioned.Retain  `ttl:"1h"`
	_       unique.Constraint `name:"nick" fields:"nick"`
	ID      string            `dynamodbav:"id"`
	Board   string            `dynamodbav:"board,omitempty"`
	Nick    string            `dynamodbav:"nick,omitempty"`
	Score   int               `dynamodbav:"score,omitempty"`
	Log     []string          `dynamodbav:"log,omitempty"`
	Version int64             `dynamodbav:"version" entity:"version"`
}

// bench is a table for T and its store.
type bench[T any] struct {
	*entity.Store[T]
	*dbtest.Bench
}

func open[T any](t *testing.T) *bench[T] {
	t.Helper()
	t.Parallel()
	b, s := dbtest.OpenStore[T](t)
	return &bench[T]{s, b}
}

// stored is the one item in the table that is a current one of its entity.
func (b *bench[T]) stored(t *testing.T) map[string]av {
	t.Helper()
	items := slices.DeleteFunc(b.Items(), func(it map[string]av) bool { return it["id"] == nil || it["_k"] != nil })
	if len(items) == 0 {
		return nil
	}
	require.Len(t, items, 1)
	return items[0]
}
