package timeline_test

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeline"
)

// A build of so many events in so many groups stays below so many bytes of heap. The long run has a tenth of these events, a usual one a
// hundredth; DYNASTRATA_TIMELINE_EVENTS gives another number, such as 200000.
const (
	allEvents    = 200_000
	eventsOfEach = 40 // events of one group
	mostHeap     = 128 << 20
)

func manyEvents(t *testing.T) int {
	t.Helper()
	return int(testsize.Number(t, "DYNASTRATA_TIMELINE_EVENTS", uint64(testsize.Pick(allEvents/100, allEvents/10))))
}

// peak runs f under a soft memory limit and returns the maximum bytes of live objects. It runs the collector before
// each sample.
func peak(f func()) uint64 {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(mostHeap))
	stop, done := make(chan struct{}), make(chan uint64)
	go func() {
		var most uint64
		for {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
			select {
			case <-stop:
				done <- most
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	f()
	close(stop)
	return <-done
}

// meter adds up the costs of calls.
type meter struct {
	mu            sync.Mutex
	reads, writes float64
}

func (m *meter) observe(r entity.Report) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads += r.ReadUnits
	m.writes += r.WriteUnits
}

func (m *meter) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads, m.writes = 0, 0
}

func (m *meter) spent() (reads, writes float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reads, m.writes
}

// counted is the handler of many events; its state does not grow.
func counted(s *totals, e timeline.Event[reading]) error {
	s.Count++
	s.Sum += e.Payload.Value
	return nil
}

func TestRebuild_OfATableBoundsMemoryAndCostsAsExplained(t *testing.T) {
	n := manyEvents(t)
	var spent meter
	observe := func(c *entity.Config) { c.Tracer = dbtest.Observer(spent.observe) }
	l := newLab(t, observe)
	began := time.Now()
	const atOnce = 5000
	for from := 0; from < n; from += atOnce {
		var evs []reading
		for i := from; i < min(from+atOnce, n); i++ {
			group := fmt.Sprintf("g-%05d", i%(n/eventsOfEach))
			evs = append(evs, reading{Device: group, Site: group, At: at(float64(i)), Value: 1})
		}
		l.load(evs)
	}
	t.Logf("%d events are loaded after %s", n, time.Since(began))
	for _, projection := range []timeline.Projection[string, totals]{l.sites(), l.devices()} {
		projection.Memory = 8 << 20
		projection.Handlers[0] = timeline.On("reading.appended", byDevice, counted)
		v := view(l, projection)
		estimate, err := v.Explain(l.Ctx)
		require.NoError(t, err)
		spent.reset()
		began = time.Now()
		var meta timeline.Meta
		most := peak(func() { meta = rebuild(l, v) })
		took := time.Since(began)
		reads, writes := spent.spent()
		groups := float64(n / eventsOfEach)
		t.Logf("%s: %s, %.1f MiB of heap at most, %.1f read units (%.1f estimated), %.1f write units for %.0f rows",
			estimate.Route, took.Round(time.Millisecond), float64(most)/(1<<20), reads, estimate.ReadUnits(), writes, groups)
		assert.EqualValues(t, n, meta.Counters.Folded)
		assert.EqualValues(t, groups, meta.Rows)
		assert.Less(t, most, uint64(mostHeap))
		// A scan costs what Explain estimates; then the new rows are read once to
		// be counted, a kilobyte each, and the manifest is read and written some times.
		assert.GreaterOrEqual(t, reads, 0.8*estimate.ReadUnits())
		assert.LessOrEqual(t, reads, 1.5*estimate.ReadUnits()+groups/4)
		assert.LessOrEqual(t, writes, 2*groups+100, "two write units per row, and the manifest")
	}
}
