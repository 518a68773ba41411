package versioned_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/declaretest"
	"github.com/dynastrata/dynastrata/tests/exampletest"
	"github.com/dynastrata/dynastrata/versioned"
)

type page struct {
	_         entity.Key `name:"Page" pk:"$#{id}" sk:"$"`
	_         versioned.Retain
	ID        string    `dynamodbav:"id"`
	Text      string    `dynamodbav:"text"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// pages is a store in a database of its own, whose clock moves on by an hour with each reading.
func pages(t *testing.T, configure ...func(*entity.Config)) (*dbtest.Bench, *entity.Store[page]) {
	t.Helper()
	b, s := dbtest.OpenStore[page](t, configure...)
	b.Clock.Set(dbtest.Start, time.Hour)
	return b, s
}

func TestAt_AMissingStateIsErrVersionExpiredAndNotAnOlderOne(t *testing.T) {
	t.Parallel()
	b, s := pages(t)
	h, f := entity.Must(versioned.Of(s)), entity.Fields[page]()
	entity.Must(s.Create(t.Context(), page{ID: "p"}))
	var written []time.Time
	for i := range 3 {
		v := entity.Must(s.Update(t.Context(), page{ID: "p"}, entity.Set(&f.Text, fmt.Sprint(i))))
		written = append(written, v.UpdatedAt)
	}
	b.RemoveItem(b.Key("$app#v1#page#p", "$app#v1#page#v#0000002"))
	require.ErrorIs(t, dbtest.ErrorOf(h.At(t.Context(), page{ID: "p"}, written[0])), versioned.ErrVersionExpired)
	require.EqualValues(t, 3, entity.Must(h.At(t.Context(), page{ID: "p"}, written[1])).Number)
	require.ErrorIs(t, dbtest.ErrorOf(h.At(t.Context(), page{ID: "p"}, dbtest.Start)), entity.ErrNotFound)
}

// The current state is read before the snapshots. When it is read, it is left out; but once two more updates have followed,
// its snapshot stands between others.
func TestList_HasNoGapWhereUpdatesFollowItsFirstRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		opts []versioned.ListOption
		want []int64
	}{
		{nil, []int64{1, 2, 3}},
		{[]versioned.ListOption{entity.Desc()}, []int64{3, 2, 1}},
		{[]versioned.ListOption{versioned.WithCurrent()}, []int64{1, 2, 3}},
	} {
		b, s := pages(t)
		h, f := entity.Must(versioned.Of(s)), entity.Fields[page]()
		update := func() { b.OK(s.Update(t.Context(), page{ID: "p"}, entity.Set(&f.Text, b.Clock.Now().String()))) }
		entity.Must(s.Create(t.Context(), page{ID: "p"}))
		update()
		var got []int64
		require.NoError(t, b.Overtake(dbtest.First(dbtest.Is("Query")), func() error {
			for v, err := range h.List(page{ID: "p"}, c.opts...).All(t.Context()) {
				if err != nil {
					return err
				}
				got = append(got, v.Number)
			}
			return nil
		}, func() { update(); update() }))
		require.Equal(t, c.want, got)
	}
}

// The snapshot of a new item is of the current state.
func TestList_LeavesOutTheCurrentStateOfANewItem(t *testing.T) {
	t.Parallel()
	_, s := pages(t)
	h := entity.Must(versioned.Of(s))
	entity.Must(s.Create(t.Context(), page{ID: "p"}))
	for _, opts := range [][]versioned.ListOption{nil, {entity.Desc()}, {entity.Limit(1)}} {
		require.Empty(t, entity.Must(h.List(page{ID: "p"}, opts...).Collect(t.Context())))
	}
	entity.Must(s.Put(t.Context(), page{ID: "p", Text: "x"}))
	require.Len(t, entity.Must(h.List(page{ID: "p"}, entity.Limit(1)).Collect(t.Context())), 1)
}

func TestDeclarations(t *testing.T) {
	t.Parallel()
	declaretest.Run(t, declaretest.Types{
		"entity.Key": reflect.TypeFor[entity.Key](), "versioned.Lock": reflect.TypeFor[versioned.Lock](), "versioned.Retain": reflect.TypeFor[versioned.Retain](),
	})
}

// Examples that need a database have no output that go test would compare, since there may be none. This test runs them,
// one after the other, and compares what they print with what they say at their end.
func TestExamples_PrintWhatTheySay(t *testing.T) {
	exampletest.Database(t, &client, &table)
	empty := newsroom()
	entity.Must(entity.New[Article](empty))
	require.NoError(t, tables.Create(t.Context(), empty))
	require.NoError(t, exampletest.Run("example_test.go", ExampleExpect, ExampleHistory_List, ExampleHistory_At, ExampleHistory_Revert))
}
