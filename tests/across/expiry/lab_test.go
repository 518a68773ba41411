// Package expiry_test holds tests of items that expire and have unique values, a history, or both: what other items have
// the expiry of an item, who may claim the value of an expired one, and what remains of it.
package expiry_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// dawn is when the clocks of these tests start: so far ahead that the database removes nothing itself.
var dawn = time.Date(2101, 3, 4, 5, 6, 7, 0, time.UTC)

// hour is how long items live, and day how long their states are kept.
const (
	hour = time.Hour
	day  = 24 * time.Hour
)

// Seat expires an hour after it was put. No two seats have one code.
type Seat struct {
	_    entity.Key        `name:"Seat" pk:"$#{id}" sk:"$"`
	_    lifecycle.TTL     `attr:"ends" after:"1h"`
	_    unique.Constraint `name:"code" fields:"code"`
	ID   string            `dynamodbav:"id"`
	Code string            `dynamodbav:"code,omitempty"`
	Note string            `dynamodbav:"note,omitempty"`
	Ends int64             `dynamodbav:"ends,omitempty"`
}

// Pass is a Seat with a history of a day.
type Pass struct {
	_       entity.Key        `name:"Pass" pk:"$#{id}" sk:"$"`
	_       lifecycle.TTL     `attr:"ends" after:"1h"`
	_       unique.Constraint `name:"code" fields:"code"`
	_       versioned.Retain  `ttl:"1d"`
	ID      string            `dynamodbav:"id"`
	Code    string            `dynamodbav:"code,omitempty"`
	Note    string            `dynamodbav:"note,omitempty"`
	Ends    int64             `dynamodbav:"ends,omitempty"`
	Version int64             `dynamodbav:"version" entity:"version"`
	Updated time.Time         `dynamodbav:"updated" entity:"updated_at"`
}

// Session expires an hour after it was last seen.
type Session struct {
	_       entity.Key        `name:"Session" pk:"$#{id}" sk:"$"`
	_       lifecycle.TTL     `attr:"ends" from:"seen" after:"1h"`
	_       unique.Constraint `name:"code" fields:"code"`
	_       versioned.Retain  `ttl:"1d"`
	ID      string            `dynamodbav:"id"`
	Code    string            `dynamodbav:"code,omitempty"`
	Note    string            `dynamodbav:"note,omitempty"`
	Seen    time.Time         `dynamodbav:"seen,omitempty"`
	Hit     time.Time         `dynamodbav:"hit,omitempty"`
	Ends    int64             `dynamodbav:"ends,omitempty"`
	Version int64             `dynamodbav:"version" entity:"version"`
	Updated time.Time         `dynamodbav:"updated" entity:"updated_at"`
}

// Slot is a Seat in a table without the library's attributes.
type Slot struct {
	_    entity.Key        `name:"Slot" pk:"id" sk:"sk=slot"`
	_    lifecycle.TTL     `attr:"ends" after:"1h"`
	_    unique.Constraint `name:"code" fields:"code"`
	ID   string            `dynamodbav:"id"`
	Code string            `dynamodbav:"code,omitempty"`
	Note string            `dynamodbav:"note,omitempty"`
	Ends int64             `dynamodbav:"ends,omitempty"`
}

// lab is one test's table with the store of T.
type lab[T any] struct {
	*dbtest.Bench
	store *entity.Store[T]
	codes *unique.Lookup[T]
	f     *T // its fields
}

func open[T any](t testing.TB, configure ...func(*entity.Config)) *lab[T] {
	t.Helper()
	b, store := dbtest.OpenStore[T](t, configure...)
	b.Clock.Set(dawn, 0)
	return &lab[T]{b, store, entity.Must(unique.Of(store, "code")), entity.Fields[T]()}
}

// ends returns the text of the attribute that an item, a sentinel or a snapshot expires by; "" without one.
func ends(it dbtest.Item) string { return dbtest.Text(it["ends"]) }

// after returns a time as ends has it.
func after(d time.Duration) string { return strconv.FormatInt(dawn.Add(d).Unix(), 10) }

// snapshots returns when the snapshots of the item with an id expire, by version; "" for never.
func (l *lab[T]) snapshots(id string) map[string]string {
	l.T.Helper()
	all := map[string]string{}
	for _, it := range l.Items() {
		if dbtest.Text(it["id"]) == id && dbtest.Text(it["_k"]) == "v" {
			all[dbtest.Text(it["version"])] = ends(it)
		}
	}
	return all
}

// follows requires that the sentinel of a code names the item with an id and expires with it.
func (l *lab[T]) follows(code, id string) {
	l.T.Helper()
	it, s := l.Current(id), l.Sentinel(code)
	require.NotNil(l.T, it, id)
	require.NotNil(l.T, s, code)
	pk, _ := l.KeyOf(it)
	require.Equal(l.T, pk, dbtest.Text(s["_entity_pk"]))
	require.Equal(l.T, ends(it), ends(s), "the sentinel expires with its item")
}

// owned requires that an error is the violation of another item's value.
func owned(t *testing.T, err error) {
	t.Helper()
	var taken *unique.ViolationError
	require.ErrorAs(t, err, &taken)
}
