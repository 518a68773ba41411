package entity_test

import (
	"crypto/rand"
	"slices"
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

// dawn is when the clock of every lab starts.
var dawn = time.Date(2024, 5, 6, 7, 8, 9, 123456789, time.UTC)

// lab is one test's database: a table of its own, a DB whose requests are recorded, and a client beside it whose
// requests are not.
type lab struct {
	table string
	wire  *faults.Transport
	raw   *dynamodb.Client
	db    *entity.DB
	cfg   entity.Config
	clock *steps
	ids   *issued
	keys  []types.KeySchemaElement // of the table, when they have been asked for
}

func newLab(t *testing.T, configure ...func(*entity.Config)) *lab {
	t.Helper()
	l := &lab{clock: &steps{at: dawn}, ids: &issued{prefix: rand.Text()[:12]}}
	l.raw, l.table = localdb.Test(t)
	l.wire = faults.New(l.raw.Options().HTTPClient)
	l.cfg = entity.Config{Table: l.table, Clock: l.clock.now, NewID: l.ids.next}
	for _, f := range configure {
		f(&l.cfg)
	}
	l.db = l.open(t, l.wire)
	return l
}

// open returns a DB on the lab's table whose requests go through wire.
func (l *lab) open(t *testing.T, wire *faults.Transport) *entity.DB {
	t.Helper()
	client := dynamodb.New(l.raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = wire })
	db, err := entity.Open(client, l.cfg)
	require.NoError(t, err)
	return db
}

// aside returns a second DB on the same table, as another process would have it. Its requests are not counted.
func (l *lab) aside(t *testing.T) *entity.DB {
	t.Helper()
	return l.open(t, faults.New(l.raw.Options().HTTPClient))
}

// create makes the tables of everything declared so far and begins to count requests.
func (l *lab) create(t *testing.T) {
	t.Helper()
	require.NoError(t, l.db.CreateTables(t.Context()))
	l.wire.Reset()
}

// sent returns the operations requested since the last call, and forgets them.
func (l *lab) sent() []string {
	var names []string
	for _, r := range l.wire.Requests() {
		names = append(names, r.Operation)
	}
	l.wire.Reset()
	return names
}

// declare returns the store of T on db.
func declare[T any](t *testing.T, db *entity.DB, opts ...entity.StoreOption) *entity.Store[T] {
	t.Helper()
	s, err := entity.New[T](db, opts...)
	require.NoError(t, err)
	return s
}

// open returns a lab with a table for T alone.
func open[T any](t *testing.T, configure ...func(*entity.Config)) (*lab, *entity.Store[T]) {
	t.Helper()
	l := newLab(t, configure...)
	s := declare[T](t, l.db)
	l.create(t)
	return l, s
}

// paper returns a DB without a client: its plans can be printed, and come out the same each time.
func paper(t *testing.T) *entity.DB {
	t.Helper()
	db, err := entity.Open(nil, paperConfig())
	require.NoError(t, err)
	return db
}

func paperConfig() entity.Config {
	return entity.Config{Table: "app", Clock: func() time.Time { return dawn }, NewID: func() string { return "w-1" }}
}

// steps is a clock that moves only when it is told to.
type steps struct {
	mu sync.Mutex
	at time.Time
}

func (s *steps) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at
}

// move changes the time by d, which may be negative, and returns it.
func (s *steps) move(d time.Duration) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = s.at.Add(d)
	return s.at
}

// issued gives out ids and remembers them. The prefix keeps transaction tokens of different tests apart.
type issued struct {
	mu     sync.Mutex
	prefix string
	all    []string
}

func (i *issued) next() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.all = append(i.all, i.prefix+"-"+strconv.Itoa(len(i.all)+1))
	return i.all[len(i.all)-1]
}

func (i *issued) has(id string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Contains(i.all, id)
}

// awaitHeld waits until a request is held back. A call that ends without one has not done what the test is about.
func awaitHeld(t *testing.T, arrived <-chan faults.Request, done <-chan error) {
	t.Helper()
	select {
	case <-arrived:
	case err := <-done:
		require.FailNow(t, "the call ended without the request that was to be held back", "error: %v", err)
	}
}
