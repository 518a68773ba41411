package lifecycle_test

import (
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// hour0 is when the clocks of these tests start: so far ahead that the database removes nothing itself.
var hour0 = time.Date(2101, 3, 4, 5, 6, 7, 890_000_000, time.UTC)

const day = 24 * time.Hour

// lab is one test's database, its clock and its recorded requests.
type lab struct {
	db    *entity.DB
	raw   *dynamodb.Client
	wire  *faults.Transport
	table string

	mu sync.Mutex
	at time.Time
}

func newLab(t *testing.T) *lab {
	t.Helper()
	h := &lab{at: hour0}
	h.raw, h.table = localdb.Test(t)
	h.wire = faults.New(h.raw.Options().HTTPClient)
	client := dynamodb.New(h.raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = h.wire })
	var err error
	h.db, err = entity.Open(client, entity.Config{Table: h.table, Clock: h.now, CursorKey: []byte("secret key parts need one")})
	require.NoError(t, err)
	return h
}

// open returns a store of T in a database of its own, with no requests recorded.
func open[T any](t *testing.T, opts ...entity.StoreOption) (*lab, *entity.Store[T]) {
	t.Helper()
	h := newLab(t)
	s, err := entity.New[T](h.db, opts...)
	require.NoError(t, err)
	require.NoError(t, h.db.CreateTables(t.Context()))
	h.wire.Reset()
	return h, s
}

func (h *lab) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

// advance moves the clock on and returns the time.
func (h *lab) advance(d time.Duration) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = h.at.Add(d)
	return h.at
}

// sent returns the operations requested since the last call, and forgets them.
func (h *lab) sent() []string {
	names := []string{}
	for _, r := range h.wire.Requests() {
		names = append(names, r.Operation)
	}
	h.wire.Reset()
	return names
}

// items returns everything in the table.
func (h *lab) items(t *testing.T) []map[string]types.AttributeValue {
	t.Helper()
	out, err := h.raw.Scan(t.Context(), &dynamodb.ScanInput{TableName: &h.table})
	require.NoError(t, err)
	return out.Items
}

// end is the text of the only item's attribute, "" when it has none.
func (h *lab) end(t *testing.T, attr string) string {
	t.Helper()
	items := h.items(t)
	require.Len(t, items, 1)
	n, ok := items[0][attr].(*types.AttributeValueMemberN)
	if !ok {
		require.NotContains(t, items[0], attr)
		return ""
	}
	return n.Value
}

// ends requires the only item to end after d from base, in whole seconds.
func (h *lab) ends(t *testing.T, attr string, base time.Time, d time.Duration) {
	t.Helper()
	require.Equal(t, strconv.FormatInt(base.Unix()+int64(d/time.Second), 10), h.end(t, attr))
}

// beside opens another store of T on the lab's table, whose requests no test holds.
func beside[T any](t *testing.T, h *lab) (*entity.Store[T], *lifecycle.Deleted[T]) {
	t.Helper()
	db, err := entity.Open(h.raw, entity.Config{Table: h.table, Clock: h.now})
	require.NoError(t, err)
	s, err := entity.New[T](db)
	require.NoError(t, err)
	deleted, err := lifecycle.Of(s)
	require.NoError(t, err)
	return s, deleted
}

func reads(r faults.Request) bool { return slices.Contains([]string{"GetItem", "Query"}, r.Operation) }

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

func (h *lab) put(t *testing.T, it map[string]types.AttributeValue) {
	t.Helper()
	_, err := h.raw.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &h.table, Item: it})
	require.NoError(t, err)
}
