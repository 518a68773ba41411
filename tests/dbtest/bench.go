// Package dbtest gives a test a table of its own, a DB on it whose requests are recorded and can be made to fail, a clock
// that moves on request, and the stored items as DynamoDB has them. It is for tests.
package dbtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tables"
)

// Start is the time at which the clock of a bench starts. It is far in the future, since the database removes items that have expired by
// its own clock.
var Start = time.Date(2101, 5, 6, 7, 8, 9, 123456789, time.UTC)

// Bench is a table of one test and the ways into it.
type Bench struct {
	T      testing.TB
	Ctx    context.Context // the test's
	Table  string
	Wire   *faults.Transport // records the requests of Client, holds them and makes them fail
	Client *dynamodb.Client  // through Wire
	Raw    *dynamodb.Client  // neither recorded nor disturbed
	Config entity.Config     // of DB
	DB     *entity.DB        // through Client
	Clock  *Clock            // of DB and of all others that Open returns

	keys func() []types.KeySchemaElement // of the table
}

// Database returns a client and a table name, as [localdb.Test] does, for tests that state what DynamoDB does.
func Database(t testing.TB) (client *dynamodb.Client, table string) {
	t.Helper()
	localdb.SkipOn(t, localdb.KindDynoxide, "it compares keys, counts units and changes lists in ways of its own; install Java 17, or set LOCALDB_KIND=docker")
	return localdb.Test(t)
}

// parallel are the tests that Parallel was called for.
var parallel sync.Map

// Parallel lets a test run in parallel with others, as each with tables of its own can. Unlike t.Parallel it may be called again, so that
// what opens tables for a test can call it.
func Parallel(t testing.TB) {
	if test, ok := t.(*testing.T); ok {
		if _, again := parallel.LoadOrStore(t, nil); !again {
			test.Parallel()
		}
	}
}

// Open returns a bench for t. Each function changes the configuration of its DB: by default the table, the clock, and ids
// that are counted behind a random prefix. CreateTables makes the table, once the entities are declared.
func Open(t testing.TB, configure ...func(*entity.Config)) *Bench {
	t.Helper()
	b := &Bench{T: t, Ctx: t.Context(), Clock: &Clock{at: Start}}
	b.Raw, b.Table = Database(t)
	b.Wire = faults.New(b.Raw.Options().HTTPClient)
	b.Client = b.Through(b.Wire)
	b.Config = entity.Config{Table: b.Table, Clock: b.Clock.Now, NewID: counted()}
	for _, f := range configure {
		f(&b.Config)
	}
	b.DB = b.Open(b.Client)
	b.keys = sync.OnceValue(b.keySchema)
	return b
}

// OpenStore returns a bench with a table for T, and no requests recorded.
func OpenStore[T any](t testing.TB, configure ...func(*entity.Config)) (*Bench, *entity.Store[T]) {
	t.Helper()
	b := Open(t, configure...)
	s := Declare[T](t, b.DB)
	b.CreateTables()
	return b, s
}

// Declare returns the store of T on db.
func Declare[T any](t testing.TB, db *entity.DB, opts ...entity.StoreOption) *entity.Store[T] {
	t.Helper()
	s, err := entity.New[T](db, opts...)
	require.NoError(t, err)
	return s
}

// Through returns a client of the database whose requests go through wire.
func (b *Bench) Through(wire *faults.Transport) *dynamodb.Client {
	return dynamodb.New(b.Raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = wire })
}

// Open returns another DB, as another program has one: with the bench's configuration, changed by each function.
func (b *Bench) Open(client entity.Client, configure ...func(*entity.Config)) *entity.DB {
	b.T.Helper()
	cfg := b.Config
	for _, f := range configure {
		f(&cfg)
	}
	db, err := entity.Open(client, cfg)
	require.NoError(b.T, err)
	return LookOften(db)
}

// LookOften lets db wait only a moment before it looks again at a table that is being made. It returns db.
func LookOften(db *entity.DB) *entity.DB {
	engine.DatabaseOf(db).Runner.TablePause = 5 * time.Millisecond
	return db
}

// CreateTables makes the tables of everything declared so far, and forgets the requests.
func (b *Bench) CreateTables() {
	b.T.Helper()
	require.NoError(b.T, tables.Create(b.Ctx, b.DB))
	b.Wire.Reset()
}

// Sent returns the requests recorded since the last call, and forgets them.
func (b *Bench) Sent() []faults.Request {
	requests := b.Wire.Requests()
	b.Wire.Reset()
	return requests
}

// Operations returns the operations requested since the last call of Sent or Operations, and forgets them.
func (b *Bench) Operations() []string { return Operations(b.Sent()) }

// Operations returns the operations of requests.
func Operations(requests []faults.Request) []string {
	names := []string{}
	for _, r := range requests {
		names = append(names, r.Operation)
	}
	return names
}

// Is returns a function that matches the requests of some operations.
func Is(operations ...string) func(faults.Request) bool {
	return func(r faults.Request) bool { return slices.Contains(operations, r.Operation) }
}

// First matches only the first of the requests that match does.
func First(match func(faults.Request) bool) func(faults.Request) bool {
	seen := false
	return func(r faults.Request) bool {
		if seen || !match(r) {
			return false
		}
		seen = true
		return true
	}
}

// Overtake runs slow until one of its requests that match is about to be sent. It holds that one, and others that match,
// while fast runs, and then lets slow go on. It returns the error of slow. The test fails if slow ends without such a
// request.
func (b *Bench) Overtake(match func(faults.Request) bool, slow func() error, fast func()) error {
	b.T.Helper()
	arrived, release := b.Wire.Hold(match)
	defer release()
	done := make(chan error, 1)
	go func() { done <- slow() }()
	select {
	case <-arrived:
	case err := <-done:
		require.FailNow(b.T, "the call ended without the request that was to be held back", "error: %v", err)
	}
	fast()
	release()
	return <-done
}

// OK requires that a call succeeded. It takes all results of the call, the last of which is its error.
func (b *Bench) OK(results ...any) {
	b.T.Helper()
	require.NoError(b.T, ErrorOf(results...))
}

// ErrorOf returns the last of the results of a call, its error.
func ErrorOf(results ...any) error {
	err, _ := results[len(results)-1].(error)
	return err
}

// As requires an error of type E in err, and returns it.
func As[E any](t testing.TB, err error, msg ...any) (e E) {
	t.Helper()
	require.ErrorAs(t, err, &e, msg...)
	return e
}

// Pages returns what a query gives page by page, each page from the cursor of the one before.
func Pages[T any](t testing.TB, q entity.Query[T]) (pages [][]T) {
	t.Helper()
	for cursor := ""; ; {
		page, err := q.Page(t.Context(), cursor)
		require.NoError(t, err)
		pages = append(pages, page.Items)
		if cursor = page.Next; cursor == "" {
			return pages
		}
		require.Less(t, len(pages), 1000, "the pages have no end")
	}
}

// Attempts limits how often a DB sends a request.
func Attempts(n int) func(*entity.Config) { return func(c *entity.Config) { c.MaxAttempts = n } }

// Clock is a clock that moves only on request. Several goroutines may use it.
type Clock struct {
	mu   sync.Mutex
	at   time.Time
	tick time.Duration
}

// Now returns the time.
func (c *Clock) Now() time.Time { return c.Move(c.tick) }

// Move adds d, which may be negative, to the time and returns it.
func (c *Clock) Move(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
	return c.at
}

// Set sets the time. From then on each call of Now first adds tick to it.
func (c *Clock) Set(at time.Time, tick time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at, c.tick = at, tick
}

// counted returns a source of ids. Their prefix separates the transaction tokens of different runs.
func counted() func() string {
	var n atomic.Int64
	prefix := rand.Text()[:12]
	return func() string { return prefix + "-" + strconv.FormatInt(n.Add(1), 10) }
}

// Sorted returns the texts of a list in alphabetical order.
func Sorted[S fmt.Stringer](list []S) []string {
	texts := []string{}
	for _, v := range list {
		texts = append(texts, v.String())
	}
	slices.Sort(texts)
	return texts
}

// InputCode returns the code of the *entity.InputError in err, or "" if err has no such error.
func InputCode(err error) string {
	var mistake *entity.InputError
	if errors.As(err, &mistake) {
		return mistake.Code
	}
	return ""
}

// SchemaCode returns the code of the *entity.SchemaError in err, or "" if err has no such error.
func SchemaCode(err error) string {
	var mistake *entity.SchemaError
	if errors.As(err, &mistake) {
		return mistake.Code
	}
	return ""
}

// RequireInput requires that err is a mistake in the arguments, with a code, about a field, and with some words in its
// problem.
func RequireInput(t testing.TB, err error, code, field string, words ...string) {
	t.Helper()
	var mistake *entity.InputError
	require.ErrorAs(t, err, &mistake)
	require.Equal(t, []string{code, field}, []string{mistake.Code, mistake.Field}, mistake.Problem)
	for _, w := range words {
		require.Contains(t, mistake.Problem, w)
	}
}

// Declarations returns the tags of the declarations of type D in the struct T.
func Declarations[D, T any]() []reflect.StructTag {
	return declarations(reflect.TypeFor[D](), reflect.TypeFor[T]())
}

// declarations is compiled once for all structs, unlike Declarations.
func declarations(d, t reflect.Type) (tags []reflect.StructTag) {
	for i := range t.NumField() {
		if f := t.Field(i); f.Name == "_" && f.Type == d {
			tags = append(tags, f.Tag)
		}
	}
	return tags
}

// Embedded returns the address of the struct of type E that is embedded in v. Tests of generic structs fill it.
func Embedded[E, T any](v *T) *E {
	f := reflect.ValueOf(v).Elem().FieldByName(reflect.TypeFor[E]().Name())
	return (*E)(f.Addr().UnsafePointer()) // Interface panics if E is not exported
}

// Observer is a tracer that gets the reports of calls only.
type Observer func(entity.Report)

// Start does nothing.
func (Observer) Start(ctx context.Context, _ entity.Call) context.Context { return ctx }

// Request does nothing.
func (Observer) Request(context.Context, entity.Attempt) {}

// End calls f.
func (f Observer) End(_ context.Context, r entity.Report) { f(r) }
