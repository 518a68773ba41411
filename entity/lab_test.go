package entity_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/declaretest"
)

// dawn is when the clock of every lab starts.
var dawn = time.Date(2024, 5, 6, 7, 8, 9, 123456789, time.UTC)

// lab is a bench whose stored values are read as text.
type lab struct{ *dbtest.Bench }

func newLab(t *testing.T, configure ...func(*entity.Config)) *lab {
	t.Helper()
	dbtest.Parallel(t)
	l := &lab{dbtest.Open(t, configure...)}
	l.Clock.Set(dawn, 0)
	return l
}

// open returns a lab with a table for T alone.
func open[T any](t *testing.T, configure ...func(*entity.Config)) (*lab, *entity.Store[T]) {
	t.Helper()
	l := newLab(t, configure...)
	s := dbtest.Declare[T](t, l.DB)
	l.CreateTables()
	return l, s
}

// opened returns a lab with a table for T that holds some items, and no requests recorded.
func opened[T any](t *testing.T, items ...T) (*lab, *entity.Store[T]) {
	t.Helper()
	l, s := open[T](t)
	for _, v := range items {
		l.OK(s.Create(l.Ctx, v))
	}
	l.Sent()
	return l, s
}

// paper returns a DB without a client: its plans can be printed, and come out the same each time.
func paper(t *testing.T) *entity.DB { t.Helper(); return entity.Must(entity.Open(nil, paperConfig())) }

// declare checks the declarations of a struct as New does, and opens nothing.
func declare(typ reflect.Type) error {
	return declaretest.Declare(&schema.Table{Name: "app"}, typ, declaretest.Options)
}

func paperConfig() entity.Config {
	return entity.Config{Table: "app", Clock: func() time.Time { return dawn }, NewID: func() string { return "w-1" }}
}

// each is what f gives for every element.
func each[T, V any](all []T, f func(T) V) []V {
	out := make([]V, len(all))
	for i, v := range all {
		out[i] = f(v)
	}
	return out
}

// raw is an item as DynamoDB has it. Values are written with their type, so that two items compare exactly: S"x", N12.
type raw map[string]string

// text writes one stored value, the elements of maps in order.
func text(av types.AttributeValue) string {
	var parts []string
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return "S" + strconv.Quote(v.Value)
	case *types.AttributeValueMemberN:
		return "N" + v.Value
	case *types.AttributeValueMemberBOOL:
		return strconv.FormatBool(v.Value)
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberL:
		for _, e := range v.Value {
			parts = append(parts, text(e))
		}
		return "L[" + strings.Join(parts, " ") + "]"
	case *types.AttributeValueMemberM:
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			parts = append(parts, name+"="+text(v.Value[name]))
		}
		return "M{" + strings.Join(parts, " ") + "}"
	}
	return fmt.Sprintf("%T%v", av, av) // bytes and sets
}

func rawOf(it dbtest.Item) raw {
	if it == nil {
		return nil
	}
	out := raw{}
	for name, av := range it {
		out[name] = text(av)
	}
	return out
}

// keys is a primary key of strings: name, value, name, value …
func keys(pairs ...string) dbtest.Item {
	k := dbtest.Item{}
	for i := 0; i < len(pairs); i += 2 {
		k[pairs[i]] = dbtest.S(pairs[i+1])
	}
	return k
}

// stored reads one item, nil if absent.
func (l *lab) stored(key dbtest.Item) raw { return rawOf(l.Item(l.KeyOf(key))) }

// everything reads the whole table by the texts of keys, with a space between them.
func (l *lab) everything() map[string]raw {
	l.T.Helper()
	all := map[string]raw{}
	for key, it := range l.ItemsByKey() {
		all[key] = rawOf(it)
	}
	return all
}

// indexed reads the items that an index holds, in its order.
func (l *lab) indexed(index string) []raw {
	l.T.Helper()
	out := entity.Must(l.Raw.Scan(l.Ctx, &dynamodb.ScanInput{TableName: &l.Table, IndexName: &index}))
	var all []raw
	for _, it := range out.Items {
		all = append(all, rawOf(it))
	}
	return all
}

// patch sets one attribute as some other program would: the write id stays as it was.
func (l *lab) patch(key dbtest.Item, name string, av types.AttributeValue) {
	l.T.Helper()
	pk, sk := l.KeyOf(key)
	l.ChangeItem(pk, sk, dbtest.Item{name: av})
}

// Employee has every role that a write of the library keeps, and an index whose sort key has a changing and a fixed
// part.
type Employee struct {
	_           entity.Key `name:"Employee" pk:"$#{employeeId}" sk:"$"`
	_           entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenantId}" sk:"$#{department}#{employeeId}"`
	EmployeeID  string     `dynamodbav:"employeeId"`
	TenantID    string     `dynamodbav:"tenantId" entity:"immutable"`
	Department  string     `dynamodbav:"department,omitempty"`
	DisplayName string     `dynamodbav:"displayName" entity:"required"`
	HiredBy     string     `dynamodbav:"hiredBy,omitempty" entity:"set_once"`
	Salary      int        `dynamodbav:"salary,omitempty"`
	SeenAt      time.Time  `dynamodbav:"seenAt,omitempty"`
	Version     int64      `dynamodbav:"version" entity:"version"`
	CreatedAt   time.Time  `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt   time.Time  `dynamodbav:"updatedAt" entity:"updated_at"`
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
	_     entity.Key `name:"Team" pk:"$#{id}" sk:"$"`
	ID    string     `dynamodbav:"id"`
	Name  string     `dynamodbav:"name,omitempty"`
	Size  int        `dynamodbav:"size,omitempty"`
	Quota int        `dynamodbav:"quota"`
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
	_       entity.Key        `name:"Profile" pk:"$#{id}" sk:"$"`
	_       entity.GSI        `name:"byTeam" index:"gsi1" pk:"$#{team}#{rank}" sk:"$#{id}"`
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
	_        entity.Key `name:"Task" pk:"$#{project}" sk:"$#{status}#{priority}#{taskId}"`
	_        entity.GSI `name:"byOwner" index:"gsi1" pk:"$#{owner}" sk:"$#{due}"`
	Project  string     `dynamodbav:"project"`
	Status   string     `dynamodbav:"status"`
	Priority int        `dynamodbav:"priority"`
	TaskID   string     `dynamodbav:"taskId"`
	Owner    string     `dynamodbav:"owner,omitempty"`
	Due      time.Time  `dynamodbav:"due,omitempty" entity:"time=s"`
	Title    string     `dynamodbav:"title,omitempty"`
	Points   int        `dynamodbav:"points"`
}

// Batch is verbatim: an existing table's own key layout, a constant partition key, index keys that copy attributes, and
// numbers in several places.
type Batch struct {
	_          entity.Key         `name:"Batch" pk:"device_id" sk:"ts_batch={timestamp_ms:013}#{batch_id}"`
	_          entity.GSI         `name:"devices" index:"gsi1" pk:"gsi1pk=devices" sk:"gsi1sk={last_seen_at}"`
	_          entity.GSI         `name:"born" index:"gsi2" pk:"gsi2pk={device_id}" sk:"gsi2sk={created_at}"`
	DeviceID   string             `dynamodbav:"device_id"`
	Timestamp  int64              `dynamodbav:"timestamp_ms"`
	BatchID    string             `dynamodbav:"batch_id"`
	LastSeenAt time.Time          `dynamodbav:"last_seen_at,omitempty" entity:"time=ms"`
	CreatedAt  time.Time          `dynamodbav:"created_at" entity:"created_at,time=ms"`
	State      string             `dynamodbav:"state,omitempty"`
	Sensors    map[string]float64 `dynamodbav:"sensors,omitempty"`
	Set        []float64          `dynamodbav:"set,omitempty,numberset"`
	Count      float64            `dynamodbav:"count,omitempty"`
}

// Order has native keys: the attributes are the keys, in their own types.
type Order struct {
	_        entity.Key `name:"Order" pk:"customer" sk:"number"`
	_        entity.GSI `name:"byStatus" index:"status-index" pk:"status" sk:"placed"`
	_        entity.LSI `name:"byAmount" index:"amount-index" sk:"amount"`
	Customer string     `dynamodbav:"customer"`
	Number   int        `dynamodbav:"number"`
	Status   string     `dynamodbav:"status"`
	Placed   int64      `dynamodbav:"placed,omitempty"`
	Amount   int        `dynamodbav:"amount,omitempty"`
	Note     string     `dynamodbav:"note,omitempty"`
}
