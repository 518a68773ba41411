package versioned_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/versioned"
)

// unkept is the declaration of a program that knows nothing of versions, such as the one that is rolled back to.
type unkept struct {
	_ entity.Key `name:"Doc" pk:"$#{id}" sk:"$"`

	ID   string `dynamodbav:"id"`
	Text string `dynamodbav:"text"`
}

type kept struct {
	_ entity.Key `name:"Doc" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete

	ID      string `dynamodbav:"id"`
	Text    string `dynamodbav:"text"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// countedOnly counts versions and keeps none.
type countedOnly struct {
	_ entity.Key `name:"Doc" pk:"$#{id}" sk:"$"`

	ID      string `dynamodbav:"id"`
	Text    string `dynamodbav:"text"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// state is a version in short.
type state struct {
	number  int64
	text    string
	deleted bool
}

func states(t *testing.T, h *versioned.History[kept], id string) []state {
	t.Helper()
	list := entity.Must(h.List(kept{ID: id}, versioned.WithCurrent()).Collect(t.Context()))
	var all []state
	for _, v := range list {
		all = append(all, state{v.Number, v.Item.Text, v.Deleted})
	}
	return all
}

// Another program has created an item again although the history of a deleted item with its key exists, so its version is
// taken. Writes of the item must still be possible: its history continues the earlier one.
func TestRetain_AnItemRecreatedWithoutHistoryCountsOn(t *testing.T) {
	t.Parallel()
	b, docs := dbtest.OpenStore[kept](t)
	history, deleted := entity.Must(versioned.Of(docs)), entity.Must(lifecycle.Of(docs))
	plain := dbtest.Declare[unkept](t, b.Open(b.Raw))
	counted := dbtest.Declare[countedOnly](t, b.Open(b.Raw))
	f := entity.Fields[kept]()
	ctx := t.Context()

	// An item from before the history, two changes of it, and a new one in its place: again without a version.
	entity.Must(plain.Create(ctx, unkept{ID: "d", Text: "a"}))
	for _, text := range []string{"b", "c"} {
		entity.Must(docs.Update(ctx, kept{ID: "d"}, entity.Set(&f.Text, text)))
	}
	require.NoError(t, plain.Delete(ctx, unkept{ID: "d"}))
	entity.Must(plain.Create(ctx, unkept{ID: "d", Text: "new"}))

	updated := entity.Must(docs.Update(ctx, kept{ID: "d"}, entity.Set(&f.Text, "newer"), versioned.Expect(0)))
	require.Equal(t, kept{ID: "d", Text: "newer", Version: 3}, updated)
	require.Equal(t, []state{{0, "a", false}, {1, "b", false}, {2, "new", false}, {3, "newer", false}}, states(t, history, "d"))

	// The same with a version of its own that is behind: by a write of several ops, and by a delete.
	again := func(text string) {
		require.NoError(t, counted.Delete(ctx, countedOnly{ID: "d"}))
		entity.Must(counted.Create(ctx, countedOnly{ID: "d", Text: text}))
	}
	again("third")
	op := docs.Op().Update(kept{ID: "d"}, entity.Set(&f.Text, "changed"))
	require.NoError(t, b.DB.Transact(ctx, op, docs.Op().Create(kept{ID: "beside"})))
	require.Equal(t, int64(4), op.Result().Version)
	again("fourth")
	require.NoError(t, docs.Delete(ctx, kept{ID: "d"}))
	restored := entity.Must(deleted.Restore(ctx, kept{ID: "d"}))
	require.Equal(t, kept{ID: "d", Text: "fourth", Version: 6}, restored)
	require.Equal(t, []state{
		{0, "a", false}, {1, "b", false}, {2, "new", false}, {3, "third", false}, {4, "fourth", false}, {5, "fourth", true}, {6, "fourth", false},
	}, states(t, history, "d"))
}
