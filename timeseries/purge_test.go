package timeseries_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// TestPurge_StopsAtTheFirstErrorAndGoesOnLater breaks the connection for good in the middle of a purge.
func TestPurge_StopsAtTheFirstErrorAndGoesOnLater(t *testing.T) {
	t.Parallel()
	w := open[Meter](t, attempts(1))
	const events = 40
	for i := range events {
		w.seed(Meter{MeterID: "m", Seq: int64(i + 1), Value: i})
	}
	key := Meter{MeterID: "m"}
	var mu sync.Mutex
	deletes, told := 0, 0
	w.sent.Inject(func(r faults.Request) faults.Fault {
		mu.Lock()
		defer mu.Unlock()
		if r.Operation == "DeleteItem" {
			deletes++
		}
		if deletes > 10 {
			return faults.Drop
		}
		return faults.None
	})
	err := w.Purge(w.ctx, key, entity.OnProgress(func(n int) { told = n }))
	w.sent.Inject(nil)
	require.ErrorIs(t, err, faults.ErrInjected)
	left := len(w.history(key))
	assert.Less(t, deletes, events, "it does not try all the others")
	assert.Equal(t, events, left+told-1, "what it told is what is gone: the current item, and events")
	require.NoError(t, w.Purge(w.ctx, key))
	assert.Empty(t, w.history(key))
}
