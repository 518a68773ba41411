package lifecycle_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// hour0 is when the clocks of these tests start: so far ahead that the database removes nothing itself.
var hour0 = time.Date(2101, 3, 4, 5, 6, 7, 890_000_000, time.UTC)

const day = 24 * time.Hour

// hourglass is one test's database, its clock and its recorded requests.
type hourglass struct {
	db    *entity.DB
	raw   *dynamodb.Client
	wire  *faults.Transport
	table string

	mu sync.Mutex
	at time.Time
}

func newHourglass(t *testing.T) *hourglass {
	t.Helper()
	h := &hourglass{at: hour0}
	h.raw, h.table = localdb.Test(t)
	h.wire = faults.New(h.raw.Options().HTTPClient)
	client := dynamodb.New(h.raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = h.wire })
	var err error
	h.db, err = entity.Open(client, entity.Config{Table: h.table, Clock: h.now, CursorKey: []byte("secret key parts need one")})
	require.NoError(t, err)
	return h
}

// turn returns a store of T in a database of its own, with no requests recorded.
func turn[T any](t *testing.T, opts ...entity.StoreOption) (*hourglass, *entity.Store[T]) {
	t.Helper()
	h := newHourglass(t)
	s, err := entity.New[T](h.db, opts...)
	require.NoError(t, err)
	require.NoError(t, h.db.CreateTables(t.Context()))
	h.wire.Reset()
	return h, s
}

func (h *hourglass) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

// run moves the clock on and returns the time.
func (h *hourglass) run(d time.Duration) time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = h.at.Add(d)
	return h.at
}

// sent returns the operations requested since the last call, and forgets them.
func (h *hourglass) sent() []string {
	names := []string{}
	for _, r := range h.wire.Requests() {
		names = append(names, r.Operation)
	}
	h.wire.Reset()
	return names
}

// items returns everything in the table.
func (h *hourglass) items(t *testing.T) []map[string]types.AttributeValue {
	t.Helper()
	out, err := h.raw.Scan(t.Context(), &dynamodb.ScanInput{TableName: &h.table})
	require.NoError(t, err)
	return out.Items
}

// end is the text of the only item's attribute, "" when it has none.
func (h *hourglass) end(t *testing.T, attr string) string {
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
func (h *hourglass) ends(t *testing.T, attr string, base time.Time, d time.Duration) {
	t.Helper()
	require.Equal(t, strconv.FormatInt(base.Unix()+int64(d/time.Second), 10), h.end(t, attr))
}
