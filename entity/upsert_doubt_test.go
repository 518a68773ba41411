package entity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

type remark struct {
	_         entity.Key `name:"Remark" pk:"$#{id}" sk:"$"`
	ID        string     `dynamodbav:"id"`
	Text      string     `dynamodbav:"text,omitempty"`
	CreatedAt time.Time  `dynamodbav:"createdAt" entity:"created_at"`
}

func TestUpsert_WhoseAnswerWasLostBeforeAnotherWriteDoesNotUndoIt(t *testing.T) {
	t.Parallel()
	l, s := open[remark](t)
	beside := declare[remark](t, l.aside(t))
	f := entity.Fields[remark]()
	lost := faults.Nth(1, faults.Lost, "UpdateItem")
	l.wire.Inject(func(r faults.Request) faults.Fault { return lost(r) })
	sent := 0
	arrived, release := l.wire.Hold(func(r faults.Request) bool { sent++; return sent == 2 })
	defer release()
	done := make(chan error, 1)
	go func() {
		_, _, err := s.Upsert(t.Context(), remark{ID: "r", Text: "mine"})
		done <- err
	}()
	<-arrived
	_, err := beside.Update(t.Context(), remark{ID: "r"}, entity.Set(&f.Text, "theirs"))
	require.NoError(t, err, "the first attempt was applied")
	release()
	require.True(t, entity.IsAmbiguous(<-done))
	stored, err := s.Get(t.Context(), remark{ID: "r"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, "theirs", stored.Text)
}
