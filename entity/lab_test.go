package entity_test

import (
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
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
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// dawn is when the clock of every lab starts.
var dawn = time.Date(2024, 5, 6, 7, 8, 9, 123456789, time.UTC)

// lab is one test's database: a table of its own, a DB whose requests are recorded, and a second client whose
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

// steps is a clock that moves only when move is called.
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

// raw is an item as DynamoDB has it. Values are written with their type, so that two items compare exactly: S"x", N12.
type raw map[string]string

// text writes one stored value, elements of sets and maps in order.
func text(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return "S" + strconv.Quote(v.Value)
	case *types.AttributeValueMemberN:
		return "N" + v.Value
	case *types.AttributeValueMemberB:
		return fmt.Sprintf("B%x", v.Value)
	case *types.AttributeValueMemberBOOL:
		return strconv.FormatBool(v.Value)
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberL:
		var parts []string
		for _, e := range v.Value {
			parts = append(parts, text(e))
		}
		return "L[" + strings.Join(parts, " ") + "]"
	case *types.AttributeValueMemberM:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			parts = append(parts, name+"="+text(v.Value[name]))
		}
		return "M{" + strings.Join(parts, " ") + "}"
	case *types.AttributeValueMemberSS:
		return "SS[" + strings.Join(slices.Sorted(slices.Values(v.Value)), " ") + "]"
	case *types.AttributeValueMemberNS:
		return "NS[" + strings.Join(slices.Sorted(slices.Values(v.Value)), " ") + "]"
	case *types.AttributeValueMemberBS:
		var parts []string
		for _, e := range v.Value {
			parts = append(parts, fmt.Sprintf("%x", e))
		}
		slices.Sort(parts)
		return "BS[" + strings.Join(parts, " ") + "]"
	}
	return fmt.Sprintf("%T", av)
}

func rawOf(it map[string]types.AttributeValue) raw {
	if it == nil {
		return nil
	}
	out := raw{}
	for name, av := range it {
		out[name] = text(av)
	}
	return out
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// keys is a primary key of strings: name, value, name, value …
func keys(pairs ...string) map[string]types.AttributeValue {
	k := map[string]types.AttributeValue{}
	for i := 0; i < len(pairs); i += 2 {
		k[pairs[i]] = str(pairs[i+1])
	}
	return k
}

// stored reads one item, nil if absent.
func (l *lab) stored(t *testing.T, key map[string]types.AttributeValue) raw {
	t.Helper()
	return rawOf(l.values(t, key))
}

// values reads one item as DynamoDB gives it, to be put back with put.
func (l *lab) values(t *testing.T, key map[string]types.AttributeValue) map[string]types.AttributeValue {
	t.Helper()
	out, err := l.raw.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &l.table, Key: key, ConsistentRead: aws.Bool(true)})
	require.NoError(t, err)
	return out.Item
}

// drop removes items by their keys, whether they are there or not.
func (l *lab) drop(t *testing.T, keys ...map[string]types.AttributeValue) {
	t.Helper()
	for _, key := range keys {
		_, err := l.raw.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &l.table, Key: key})
		require.NoError(t, err)
	}
}

// everything reads the whole table. All of their key attributes identify items.
func (l *lab) everything(t *testing.T) map[string]raw {
	t.Helper()
	if l.keys == nil {
		table, err := l.raw.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &l.table})
		require.NoError(t, err)
		l.keys = table.Table.KeySchema
	}
	all := map[string]raw{}
	pages := dynamodb.NewScanPaginator(l.raw, &dynamodb.ScanInput{TableName: &l.table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		require.NoError(t, err)
		for _, it := range page.Items {
			var id []string
			for _, k := range l.keys {
				id = append(id, text(it[*k.AttributeName]))
			}
			all[strings.Join(id, " ")] = rawOf(it)
		}
	}
	return all
}

// indexed reads the items that an index holds, in its order.
func (l *lab) indexed(t *testing.T, index string) []raw {
	t.Helper()
	out, err := l.raw.Scan(t.Context(), &dynamodb.ScanInput{TableName: &l.table, IndexName: &index})
	require.NoError(t, err)
	var all []raw
	for _, it := range out.Items {
		all = append(all, rawOf(it))
	}
	return all
}

// put stores an item as some other program would.
func (l *lab) put(t *testing.T, it map[string]types.AttributeValue) {
	t.Helper()
	_, err := l.raw.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &l.table, Item: it})
	require.NoError(t, err)
}

// patch sets one attribute as some other program would: the write id stays as it was.
func (l *lab) patch(t *testing.T, key map[string]types.AttributeValue, name string, av types.AttributeValue) {
	t.Helper()
	_, err := l.raw.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: &l.table, Key: key, UpdateExpression: aws.String("SET #n = :v"),
		ExpressionAttributeNames: map[string]string{"#n": name}, ExpressionAttributeValues: map[string]types.AttributeValue{":v": av},
	})
	require.NoError(t, err)
}

// Employee has every role that a write of the library keeps, and an index whose sort key has a changing and a fixed
// part.
type Employee struct {
	_ entity.Key `name:"Employee" pk:"$#{employeeId}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenantId}" sk:"$#{department}#{employeeId}"`

	EmployeeID  string    `dynamodbav:"employeeId"`
	TenantID    string    `dynamodbav:"tenantId" entity:"immutable"`
	Department  string    `dynamodbav:"department,omitempty"`
	DisplayName string    `dynamodbav:"displayName" entity:"required"`
	HiredBy     string    `dynamodbav:"hiredBy,omitempty" entity:"set_once"`
	Salary      int       `dynamodbav:"salary,omitempty"`
	Nickname    *string   `dynamodbav:"nickname,omitempty"`
	SeenAt      time.Time `dynamodbav:"seenAt,omitempty"`
	Version     int64     `dynamodbav:"version" entity:"version"`
	CreatedAt   time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt   time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

func employeeKey(id string) Employee { return Employee{EmployeeID: id} }

// alice is a whole employee; the fields that the library owns are given too, and wrong.
func alice() Employee {
	wrong := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	return Employee{
		EmployeeID: "emp-alice", TenantID: "t-acme", Department: "Engineering", DisplayName: "Alice", Salary: 100,
		Version: 77, CreatedAt: wrong, UpdatedAt: wrong,
	}
}

// Team is a plain entity that shares a table with others.
type Team struct {
	_ entity.Key `name:"Team" pk:"$#{id}" sk:"$"`

	ID    string `dynamodbav:"id"`
	Name  string `dynamodbav:"name,omitempty"`
	Size  int    `dynamodbav:"size,omitempty"`
	Quota int    `dynamodbav:"quota"`
}

// Geo and Address are nested values.
type Geo struct {
	Lat float64 `dynamodbav:"lat"`
	Lon float64 `dynamodbav:"lon,omitempty"`
}

type Address struct {
	City  string    `dynamodbav:"city"`
	Zip   string    `dynamodbav:"zip,omitempty"`
	Since time.Time `dynamodbav:"since,omitempty"`
	Geo   *Geo      `dynamodbav:"geo,omitempty"`
}

// Line is an element of a list.
type Line struct {
	SKU string `dynamodbav:"sku"`
	Qty int    `dynamodbav:"qty"`
}

// Profile has an attribute of every shape. The partition key of its index byTeam has two parts: changing only one makes an update read
// the item first, so every change can be tried on both routes.
type Profile struct {
	_ entity.Key `name:"Profile" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTeam" index:"gsi1" pk:"$#{team}#{rank}" sk:"$#{id}"`

	ID      string            `dynamodbav:"id"`
	Team    string            `dynamodbav:"team,omitempty"`
	Rank    int               `dynamodbav:"rank,omitempty"`
	Home    Address           `dynamodbav:"home"`
	Work    *Address          `dynamodbav:"work,omitempty"`
	Labels  map[string]string `dynamodbav:"labels,omitempty"`
	Scores  map[string]int    `dynamodbav:"scores,omitempty"`
	Lines   []Line            `dynamodbav:"lines,omitempty"`
	Log     []string          `dynamodbav:"log,omitempty"`
	Tags    []string          `dynamodbav:"tags,stringset,omitempty"`
	Numbers []int             `dynamodbav:"numbers,numberset,omitempty"`
	Note    string            `dynamodbav:"note,omitempty"`
	Plain   string            `dynamodbav:"plain"`
	Alias   *string           `dynamodbav:"alias,omitempty"`
	Active  *bool             `dynamodbav:"active,omitempty"`
	Count   int               `dynamodbav:"count,omitempty"`
	Total   float64           `dynamodbav:"total,omitempty"`
	SeenAt  time.Time         `dynamodbav:"seenAt,omitempty" entity:"time=ms"`
	Order   string            `dynamodbav:"order,omitempty"` // a reserved word
}

// Task has a sort key of three parts, and an index with a partition of its own name.
type Task struct {
	_ entity.Key `name:"Task" pk:"$#{project}" sk:"$#{status}#{priority}#{taskId}"`
	_ entity.GSI `name:"byOwner" index:"gsi1" pk:"$#{owner}" sk:"$#{due}"`

	Project  string    `dynamodbav:"project"`
	Status   string    `dynamodbav:"status"`
	Priority int       `dynamodbav:"priority"`
	TaskID   string    `dynamodbav:"taskId"`
	Owner    string    `dynamodbav:"owner,omitempty"`
	Due      time.Time `dynamodbav:"due,omitempty" entity:"time=s"`
	Title    string    `dynamodbav:"title,omitempty"`
	Points   int       `dynamodbav:"points"`
}

// Batch is verbatim: an existing table's own key layout, a constant partition key, and index keys that copy attributes.
type Batch struct {
	_ entity.Key `name:"Batch" pk:"device_id" sk:"ts_batch={timestamp_ms:013}#{batch_id}"`
	_ entity.GSI `name:"devices" index:"gsi1" pk:"gsi1pk=devices" sk:"gsi1sk={last_seen_at}"`
	_ entity.GSI `name:"born" index:"gsi2" pk:"gsi2pk={device_id}" sk:"gsi2sk={created_at}"`

	DeviceID   string    `dynamodbav:"device_id"`
	Timestamp  int64     `dynamodbav:"timestamp_ms"`
	BatchID    string    `dynamodbav:"batch_id"`
	LastSeenAt time.Time `dynamodbav:"last_seen_at,omitempty" entity:"time=ms"`
	CreatedAt  time.Time `dynamodbav:"created_at" entity:"created_at,time=ms"`
	State      string    `dynamodbav:"state,omitempty"`
}

// Order has native keys: the attributes are the keys, in their own types.
type Order struct {
	_ entity.Key `name:"Order" pk:"customer" sk:"number"`
	_ entity.GSI `name:"byStatus" index:"status-index" pk:"status" sk:"placed"`
	_ entity.LSI `name:"byAmount" index:"amount-index" sk:"amount"`

	Customer string `dynamodbav:"customer"`
	Number   int    `dynamodbav:"number"`
	Status   string `dynamodbav:"status"`
	Placed   int64  `dynamodbav:"placed,omitempty"`
	Amount   int    `dynamodbav:"amount,omitempty"`
	Note     string `dynamodbav:"note,omitempty"`
}
