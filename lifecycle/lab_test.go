package lifecycle_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/exampletest"
)

// hour0 is when the clocks of these tests start: so far ahead that the database removes nothing itself.
var hour0 = time.Date(2101, 3, 4, 5, 6, 7, 890_000_000, time.UTC)

const day = 24 * time.Hour

// lab is one test's database.
type lab struct{ *dbtest.Bench }

func newLab(t *testing.T, configure ...func(*entity.Config)) *lab {
	t.Helper()
	dbtest.Parallel(t)
	h := &lab{dbtest.Open(t, append(configure, func(c *entity.Config) { c.CursorKey = []byte("secret key parts need one") })...)}
	h.Clock.Set(hour0, 0)
	return h
}

// open returns a store of T in a database of its own, with no requests recorded.
func open[T any](t *testing.T, opts ...entity.StoreOption) (*lab, *entity.Store[T]) {
	t.Helper()
	h := newLab(t)
	s := dbtest.Declare[T](t, h.DB, opts...)
	h.CreateTables()
	return h, s
}

// end is the text of the only item's attribute, "" when it has none.
func (h *lab) end(t *testing.T, attr string) string {
	t.Helper()
	items := h.Items()
	require.Len(t, items, 1)
	if _, ok := items[0][attr].(*types.AttributeValueMemberN); !ok {
		require.NotContains(t, items[0], attr)
	}
	return dbtest.Text(items[0][attr])
}

// ends requires the only item to end after d from base, in whole seconds.
func (h *lab) ends(t *testing.T, attr string, base time.Time, d time.Duration) {
	t.Helper()
	require.Equal(t, strconv.FormatInt(base.Unix()+int64(d/time.Second), 10), h.end(t, attr))
}

// change is a write to the only item of a table, the requests that it takes, and the end that it leaves.
type change struct {
	what     string
	write    func() error
	requests []string  // nil: any
	end      time.Time // zero: the item has none
}

// run makes changes one after the other. The end is that in attr.
func (h *lab) run(t *testing.T, attr string, changes []change) {
	t.Helper()
	for _, c := range changes {
		h.Operations()
		require.NoError(t, c.write(), c.what)
		if requests := h.Operations(); c.requests != nil {
			require.Equal(t, c.requests, requests, c.what)
		}
		want := ""
		if !c.end.IsZero() {
			want = strconv.FormatInt(c.end.Unix(), 10)
		}
		require.Equal(t, want, h.end(t, attr), c.what)
	}
}

// unwatched opens another store of T on the table of the lab, whose requests no test holds back.
func unwatched[T any](t *testing.T, h *lab) (*entity.Store[T], *lifecycle.Deleted[T]) {
	t.Helper()
	s := dbtest.Declare[T](t, h.Open(h.Raw))
	return s, entity.Must(lifecycle.Of(s))
}

var reads = dbtest.Is("GetItem", "Query")

// between holds each request of slow that matches, and runs the next of moves before it lets it go on. It returns what
// slow returned, and how many moves were made.
func between(t *testing.T, wire *faults.Transport, match func(faults.Request) bool, slow func() error, moves ...func()) (made int, err error) {
	t.Helper()
	arrived, release := wire.Hold(match)
	done := make(chan error, 1)
	go func() { done <- slow() }()
	for {
		select {
		case err := <-done:
			release()
			return made, err
		case <-arrived:
			if made == len(moves) {
				release()
				return made, <-done
			}
			moves[made]()
			made++
			again, free := wire.Hold(match) // before this one goes on: the next one waits
			release()
			arrived, release = again, free
		}
	}
}

// beforeWrite runs move before the first transaction of a call is sent.
func beforeWrite(wire *faults.Transport, move func()) {
	n := 0
	wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "TransactWriteItems" {
			if n++; n == 1 {
				move()
			}
		}
		return faults.None
	})
}

// Examples that need a database have no output that go test would compare, since there may be none. This test compares it.
func TestExamples_PrintWhatTheySay(t *testing.T) {
	exampletest.Database(t, &client, &table)
	empty := bank()
	entity.Must(entity.New[Account](empty))
	entity.Must(entity.New[File](empty))
	require.NoError(t, tables.Create(t.Context(), empty))
	require.NoError(t, exampletest.Run("example_test.go",
		ExampleDeleted_Restore, ExampleDeleted_RestoreCopy, ExampleSoftDelete, Example_erasePerson, ExampleDeleted_Index))
}
