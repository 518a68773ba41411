package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// How long a reading is kept was decided when it was written. A configuration that changes later does not hide it, whatever
// has expired before it.
func TestLatest_FindsWhatAnEarlierRetentionKeeps(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]time.Duration{"shortened": 90 * day, "turned on later": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, func(c *config) { c.Retention = before })
			l.registered(macA)
			ctx := t.Context()
			kept := samples(macA, 7)
			l.ingested(macA, kept[:1])
			l.cfg.Retention = day
			now := l.open(l.client)
			_, err := now.ingest(ctx, macA, kept[1:])
			require.NoError(t, err)
			got, err := now.latest(ctx, macA)
			require.NoError(t, err)
			require.Equal(t, kept[6].BatchID, got.BatchID)
			l.clock.Move(30 * day)
			l.wire.Reset()
			got, err = now.latest(ctx, macA)
			require.NoError(t, err)
			require.Equal(t, kept[0].BatchID, got.BatchID, "the only one that has not expired")
			require.Less(t, len(l.wire.Requests()), 5, "not a request for each that has expired")
			l.clock.Move(90 * day)
			_, err = now.latest(ctx, macA)
			if before == 0 {
				require.NoError(t, err, "it is kept for ever")
			} else {
				require.ErrorIs(t, err, errNoReadings)
			}
		})
	}
}
