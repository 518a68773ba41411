package console

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/tests/testsize"
)

// peak counts bytes, and measures the heap from time to time.
type peak struct {
	writes int
	heap   uint64
}

func (p *peak) Write(b []byte) (int, error) {
	if p.writes++; p.writes%1000 == 0 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		p.heap = max(p.heap, m.HeapAlloc)
	}
	return len(b), nil
}

// Neither check nor dump nor load holds more than a page of items.
func TestMemory_IsBounded(t *testing.T) {
	l := newLab(t)
	items := testsize.Pick(6_000, 100_000)
	file := filepath.Join(t.TempDir(), "items.jsonl")
	f, err := os.Create(file)
	require.NoError(t, err)
	for i := range items { // each is unknown to check in one more way: its key says another device
		_, err := fmt.Fprintf(f, `{"Item":{"pk":{"S":"$app#v1#telemetry#c-1#d-%06d"},"sk":{"S":"$app#v1#telemetry"},"__edd_e__":{"S":"Telemetry"},"channel":{"S":"c-1"},"deviceId":{"S":"other"},"accountId":{"S":"%s"}}}`+"\n", i, strings.Repeat("x", 200))
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
	const bound = 48 << 20
	run := func(args ...string) (int, *peak) {
		p := &peak{}
		code := Run(t.Context(), App{Client: l.client}, Streams{In: strings.NewReader(""), Out: p, Err: io.Discard}, append([]string{"--lock", l.lock, "--table", l.table}, args...))
		return code, p
	}
	code, _ := run("--yes", "load", file)
	require.Equal(t, ExitOK, code)
	code, p := run("check")
	require.Equal(t, ExitFindings, code)
	require.Equal(t, items+mostRemedies+2, p.writes, "a line for each item, some that mend, how many others, and the counts")
	require.Less(t, p.heap, uint64(bound))
	code, p = run("dump")
	require.Equal(t, ExitOK, code)
	require.Equal(t, items, p.writes)
	require.Less(t, p.heap, uint64(bound))
}
