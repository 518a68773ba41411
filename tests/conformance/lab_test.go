// Package conformance_test holds the tests of features together: every combination of unique values, versions and soft delete,
// on every verb, alone and in transactions.
package conformance_test

import (
	"crypto/rand"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// dawn is when the clock of every lab starts: so late that DynamoDB's own clock never finds anything expired.
var dawn = time.Date(2101, 5, 6, 7, 8, 9, 123456789, time.UTC)

// lab is one test's table, and a DB on it whose requests are recorded.
type lab struct {
	table string
	wire  *faults.Transport
	raw   *dynamodb.Client // its requests are not recorded
	db    *entity.DB
	cfg   entity.Config
	clock *steps
	ids   *issued
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

// open returns another DB on the lab's table, whose requests go through wire.
func (l *lab) open(t *testing.T, wire *faults.Transport) *entity.DB {
	t.Helper()
	db, err := entity.Open(dynamodb.New(l.raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = wire }), l.cfg)
	require.NoError(t, err)
	return db
}

// aside returns a DB on the lab's table whose requests are not recorded, as another process would have it.
func (l *lab) aside(t *testing.T) *entity.DB {
	t.Helper()
	return l.open(t, faults.New(l.raw.Options().HTTPClient))
}

// ready makes the tables of everything declared so far, and forgets the requests.
func (l *lab) ready(t *testing.T) {
	t.Helper()
	require.NoError(t, l.db.CreateTables(t.Context()))
	l.wire.Reset()
}

// open returns a lab with a table for T.
func open[T any](t *testing.T, configure ...func(*entity.Config)) (*lab, *entity.Store[T]) {
	t.Helper()
	l := newLab(t, configure...)
	s := declare[T](t, l.db)
	l.ready(t)
	return l, s
}

// declare returns the store of T on db.
func declare[T any](t *testing.T, db *entity.DB) *entity.Store[T] {
	t.Helper()
	s, err := entity.New[T](db)
	require.NoError(t, err)
	return s
}

// sent returns the requests since the last call, and forgets them.
func (l *lab) sent() []faults.Request {
	requests := l.wire.Requests()
	l.wire.Reset()
	return requests
}

// items returns all items of the table, by their sort key behind their partition key.
func (l *lab) items(t *testing.T) map[string]map[string]types.AttributeValue {
	t.Helper()
	all := map[string]map[string]types.AttributeValue{}
	p := dynamodb.NewScanPaginator(l.raw, &dynamodb.ScanInput{TableName: &l.table, ConsistentRead: aws.Bool(true)})
	for p.HasMorePages() {
		page, err := p.NextPage(t.Context())
		require.NoError(t, err)
		for _, it := range page.Items {
			all[l.text(it[l.pk()])+" "+l.text(it[l.sk()])] = it
		}
	}
	return all
}

func (l *lab) pk() string { return or(l.cfg.PK, "pk") }
func (l *lab) sk() string { return or(l.cfg.SK, "sk") }

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func (l *lab) text(av types.AttributeValue) string {
	s, _ := av.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// change writes attributes of a stored item past the library; nil removes one.
func (l *lab) change(t *testing.T, pk, sk string, attributes map[string]types.AttributeValue) {
	t.Helper()
	it := l.items(t)[pk+" "+sk]
	require.NotNil(t, it, "there is no item %s %s", pk, sk)
	for name, av := range attributes {
		if it[name] = av; av == nil {
			delete(it, name)
		}
	}
	l.put(t, it)
}

func (l *lab) put(t *testing.T, it map[string]types.AttributeValue) {
	t.Helper()
	_, err := l.raw.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &l.table, Item: it})
	require.NoError(t, err)
}

// remove takes an item away, as DynamoDB does with an expired one.
func (l *lab) remove(t *testing.T, pk, sk string) {
	t.Helper()
	_, err := l.raw.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &l.table, Key: map[string]types.AttributeValue{l.pk(): str(pk), l.sk(): str(sk)}})
	require.NoError(t, err)
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

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

// move adds d to the time and returns it.
func (s *steps) move(d time.Duration) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = s.at.Add(d)
	return s.at
}

// issued gives out ids. The prefix keeps transaction tokens of different runs apart.
type issued struct {
	mu     sync.Mutex
	prefix string
	n      int
}

func (i *issued) next() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.n++
	return i.prefix + "-" + strconv.Itoa(i.n)
}

// Bystander is the other entity of the table.
type Bystander struct {
	_  entity.Key `name:"Bystander" pk:"$#{id}" sk:"$"`
	ID string     `dynamodbav:"id"`
}

// runJoined runs op in a transaction beside a check of another item; the error is the operation's own.
func (l *lab) runJoined(t *testing.T, op entity.Op) error {
	t.Helper()
	err := l.db.Transact(t.Context(), op, declare[Bystander](t, l.db).Op().CheckNotExists(Bystander{ID: "nobody"}))
	if failure := entity.FailureOf(err, op); failure != nil {
		return failure
	}
	return err
}

// runAlone runs op by itself.
func runAlone[T any](t *testing.T, op entity.Write[T]) error {
	t.Helper()
	var result T
	_, err := op.(*core.Write[T]).Run(t.Context(), &result)
	return err
}

// inputCode is the code of an *entity.InputError in err, "" if absent.
func inputCode(err error) string {
	var mistake *entity.InputError
	if errors.As(err, &mistake) {
		return mistake.Code
	}
	return ""
}

// short takes what all keys of an entity begin with out of a text.
func short(s string) string { return strings.ReplaceAll(s, "$app#v1#", "$") }
