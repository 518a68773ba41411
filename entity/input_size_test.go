package entity_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestInput_TooLargeIsRefusedBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	refused := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, entity.ErrTooLarge)
		var e *entity.Error
		require.ErrorAs(t, err, &e)
		require.Empty(t, l.sent())
	}
	task := Task{Project: "p", Status: "open", Priority: 1, TaskID: "t"}
	fat := task
	fat.Title = strings.Repeat("x", 400*1024)
	_, err := s.Create(t.Context(), fat)
	refused(err)
	_, _, err = s.Upsert(t.Context(), fat)
	refused(err)

	long := task
	long.Project = strings.Repeat("p", 2048)
	_, err = s.Create(t.Context(), long)
	refused(err)
	_, err = s.Get(t.Context(), long)
	refused(err)
	refused(s.Delete(t.Context(), long))

	wide := task
	wide.TaskID = strings.Repeat("#", 400) // 1200 bytes when it is escaped
	_, err = s.Create(t.Context(), wide)
	refused(err)
	_, err = s.Update(t.Context(), wide, entity.Set(&f.Title, "x"))
	refused(err)

	owned := task
	owned.Owner = strings.Repeat(" ", 700) // an index key of 2100 bytes
	_, err = s.Create(t.Context(), owned)
	refused(err)
	_, _, err = s.Upsert(t.Context(), owned)
	refused(err)
	_, err = s.Update(t.Context(), task, entity.Set(&f.Owner, owned.Owner))
	refused(err)
}

// DynamoDB would refuse the key condition, or find nothing after a request for nothing.
func TestInput_OverlongPartitionOfAQueryIsRefusedBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	byOwner, err := s.Index("byOwner")
	require.NoError(t, err)
	for _, q := range []entity.Query[Task]{
		s.Query(Task{Project: strings.Repeat("p", 2048)}), byOwner.Query(Task{Owner: strings.Repeat("#", 700)}),
	} {
		_, err := q.Collect(t.Context())
		require.ErrorIs(t, err, entity.ErrTooLarge)
		require.Empty(t, l.sent())
	}
}

func TestInput_LargestKeysAreStored(t *testing.T) {
	t.Parallel()
	_, s := open[Task](t)
	task := Task{Project: "p", Status: "open", Priority: 1, TaskID: "t"}
	task.Project = strings.Repeat("p", 2048-len("$app#v1#task#"))
	task.TaskID = strings.Repeat("t", 1024-len("$app#v1#task#open#0000000000000000001#"))
	_, err := s.Create(t.Context(), task)
	require.NoError(t, err)
	_, err = s.Get(t.Context(), task)
	require.NoError(t, err)
	task.TaskID += "t"
	_, err = s.Create(t.Context(), task)
	require.ErrorIs(t, err, entity.ErrTooLarge)
}
