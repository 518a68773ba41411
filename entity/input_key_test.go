package entity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestInput_MissingKeyPartIsRefusedByEveryVerb(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	full := Task{Project: "p", Status: "open", Priority: 1, TaskID: "t"}
	for field, v := range map[string]Task{
		"Project":  {Status: "open", Priority: 1, TaskID: "t"},
		"Status":   {Project: "p", Priority: 1, TaskID: "t"},
		"Priority": {Project: "p", Status: "open", TaskID: "t"},
		"TaskID":   {Project: "p", Status: "open", Priority: 1},
	} {
		_, err := s.Create(t.Context(), v)
		l.requireRefused(t, err, "EDD-9101", field)
		_, err = s.Get(t.Context(), v)
		l.requireRefused(t, err, "EDD-9101", field)
		_, err = s.Update(t.Context(), v, entity.Set(&f.Title, "x"))
		l.requireRefused(t, err, "EDD-9101", field)
		_, _, err = s.Upsert(t.Context(), v)
		l.requireRefused(t, err, "EDD-9101", field)
		l.requireRefused(t, s.Delete(t.Context(), v), "EDD-9101", field)
		bad := s.Op().CheckExists(v)
		err = l.db.Transact(t.Context(), s.Op().Create(full), bad)
		l.requireRefused(t, err, "EDD-9101", field)
		requireInput(t, entity.FailureOf(err, bad), "EDD-9101", field)
	}
	_, err := s.Query(Task{}).Collect(t.Context())
	l.requireRefused(t, err, "EDD-9101", "Project")
}

// Counter is keyed by values whose zero is real.
type Counter struct {
	_ entity.Key `name:"Counter" pk:"$#{shard}#{on}" sk:"$#{at}#{n}"`

	Shard int       `dynamodbav:"shard" entity:"zero"`
	On    bool      `dynamodbav:"on" entity:"zero"`
	At    time.Time `dynamodbav:"at" entity:"zero,time=s"`
	N     uint64    `dynamodbav:"n" entity:"zero"`
	Hits  int       `dynamodbav:"hits,omitempty"`
}

func TestInput_ZeroIsAKeyPartOnlyWhereTheFieldSaysSo(t *testing.T) {
	t.Parallel()
	l, s := open[Counter](t)
	_, err := s.Create(t.Context(), Counter{Hits: 3})
	require.NoError(t, err)
	require.Contains(t, l.everything(t), `S"$app#v1#counter#0000000000000000000#false" S"$app#v1#counter#0001-01-01T00:00:00Z#00000000000000000000"`)
	got, err := s.Get(t.Context(), Counter{})
	require.NoError(t, err)
	require.Equal(t, 3, got.Hits)
}

func TestInput_ValuesThatAKeyCannotHold(t *testing.T) {
	t.Parallel()
	l, s := open[Counter](t)
	for field, v := range map[string]Counter{
		"Shard": {Shard: -1},
		"At":    {At: time.Date(2024, 1, 1, 0, 0, 0, 1, time.UTC)}, // finer than the format: never truncated
	} {
		_, err := s.Create(t.Context(), v)
		l.requireRefused(t, err, "EDD-9102", field)
		_, err = s.Get(t.Context(), v)
		l.requireRefused(t, err, "EDD-9102", field)
	}
	for _, year := range []int{10000, -1} {
		_, err := s.Get(t.Context(), Counter{At: time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)})
		l.requireRefused(t, err, "EDD-9102", "At")
	}
	_, task := open[Task](t)
	_, err := task.Get(t.Context(), Task{Project: "a\xffb", Status: "s", Priority: 1, TaskID: "t"})
	requireInput(t, err, "EDD-9102", "Project")
}
