package timeline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/timeline"
)

// many appends one event to each of n groups, and forgets the requests.
func (l *lab) many(n int) {
	l.T.Helper()
	evs := make([]reading, n)
	for i := range evs {
		device := fmt.Sprintf("d-%03d", i)
		evs[i] = reading{Device: device, Site: device, At: at(1), Value: 1}
	}
	l.load(evs)
	l.Wire.Reset()
}

func TestBuilders_ReadAndWriteAHundredRowsWithARequest(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.many(250)
	v := view(l, l.devices())
	rebuild(l, v, timeline.Segments(1))
	assert.Equal(t, 3, l.Wire.Count("TransactWriteItems"), "100 rows in each")
	assert.Less(t, len(l.Wire.Requests()), 25)
	l.Wire.Reset()
	_, err := v.CatchUp(l.Ctx)
	require.NoError(t, err)
	assert.Equal(t, 3, l.Wire.Count("BatchGetItem"))
	assert.Less(t, len(l.Wire.Requests()), 12, "nothing new: no request for a group")

	l.append("d-000", "d-000", 2)
	l.Wire.Reset()
	_, err = v.CatchUp(l.Ctx)
	require.NoError(t, err)
	assert.Zero(t, l.Wire.Count("TransactWriteItems"), "one row is a plain write, for half the units")
	assert.Less(t, len(l.Wire.Requests()), 15)
	assert.Equal(t, rows(l, v, timeline.AsOf(at(100))), rows(l, v))
}

// long is a state of which a transaction takes ten.
type long struct {
	Text string `dynamodbav:"text"`
}

func TestRebuild_RowsThatOneTransactionDoesNotTakeAreWrittenAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.many(15)
	p := timeline.Projection[string, long]{
		Name: "long", Version: 1, Source: timeline.Series(l.readings),
		Handlers: []timeline.Handler[string, long]{
			timeline.On("reading.appended", func(r reading) string { return r.Device }, func(s *long, _ timeline.Event[reading]) error {
				s.Text = strings.Repeat("x", 350_000)
				return nil
			}),
		},
	}
	v, err := timeline.New(l.DB, p)
	require.NoError(t, err)
	l.CreateTables()
	meta, err := v.Rebuild(l.Ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 15, meta.Rows)
	assert.Zero(t, l.Wire.Count("TransactWriteItems"))
}
