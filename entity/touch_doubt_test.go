package entity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

type guest struct {
	_    entity.Key `name:"Guest" pk:"$#{id}" sk:"$"`
	ID   string     `dynamodbav:"id"`
	Note string     `dynamodbav:"note,omitempty"`
	Seen time.Time  `dynamodbav:"seen,omitempty"`
}

func TestTouch_LostAnswerBeforeAnotherWriteIsAmbiguous(t *testing.T) {
	t.Parallel()
	l, s := open[guest](t)
	beside := declare[guest](t, l.aside(t))
	f := entity.Fields[guest]()
	_, err := s.Create(t.Context(), guest{ID: "g"})
	require.NoError(t, err)
	l.wire.Inject(faults.Nth(1, faults.Lost, "UpdateItem"))
	sent := 0
	arrived, release := l.wire.Hold(func(faults.Request) bool { sent++; return sent == 2 })
	defer release()
	done := make(chan error, 1)
	go func() {
		_, err := s.Touch(t.Context(), guest{ID: "g"}, &f.Seen, time.Hour)
		done <- err
	}()
	<-arrived
	_, err = beside.Update(t.Context(), guest{ID: "g"}, entity.Set(&f.Note, "theirs"))
	require.NoError(t, err)
	release()
	require.True(t, entity.IsAmbiguous(<-done), "the first attempt may have touched it")
}
