package schemalock

import (
	"context"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout/recorded"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// model is a struct as data, so that a test can change one part of it.
type model struct {
	decls   []reflect.StructField
	fields  []reflect.StructField
	options schema.Options
}

func declaration[D any](tag string) reflect.StructField {
	return reflect.StructField{Name: "_", PkgPath: "example.com/x", Type: reflect.TypeFor[D](), Tag: reflect.StructTag(tag)}
}

func field[V any](name, tag string) reflect.StructField {
	return reflect.StructField{Name: name, Type: reflect.TypeFor[V](), Tag: reflect.StructTag(tag)}
}

// lock returns the lock of m alone.
func (m model) lock(t require.TestingT) Lock { return Lock{Entities: []Entity{entityOf(m.schema(t))}} }

func (m model) schema(t require.TestingT) *schema.Schema {
	return entity.Must(schema.Build(reflect.StructOf(slices.Concat(m.decls, m.fields)), m.options))
}

// tag replaces the tag of a field, or of the i-th declaration.
func (m *model) tag(name, tag string) {
	i := slices.IndexFunc(m.fields, func(f reflect.StructField) bool { return f.Name == name })
	m.fields[i].Tag = reflect.StructTag(tag)
}

// retype replaces type and tag of a field.
func retype[V any](m *model, name, tag string) {
	i := slices.IndexFunc(m.fields, func(f reflect.StructField) bool { return f.Name == name })
	m.fields[i] = field[V](name, tag)
}

func (m *model) declare(i int, tag string) { m.decls[i].Tag = reflect.StructTag(tag) }

func (m *model) drop(name string) {
	m.fields = slices.DeleteFunc(m.fields, func(f reflect.StructField) bool { return f.Name == name })
}

func dollar() schema.Options {
	return schema.Options{Namespace: "app", NamespaceVersion: 1, PK: "pk", SK: "sk", TTL: "_ttl", Precision: key.Nano}
}

type address struct {
	Street string `dynamodbav:"street"`
	City   string `dynamodbav:"city,omitempty"`
}

// person has history, soft delete and unique values. Its declarations are: 0 key, 1 byTeam, 2 byEmail, 3 byRank, 4 Retain,
// 5 SoftDelete, 6 Constraint.
func person() model {
	return model{
		options: dollar(),
		decls: []reflect.StructField{
			declaration[entity.Key](`name:"Person" pk:"$#{tenant}" sk:"$#{number}"`),
			declaration[entity.GSI](`name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}"`),
			declaration[entity.GSI](`name:"byEmail" index:"gsi2" pk:"gsi2pk={email|lower}" project:"name,team,email,tenant"`),
			declaration[entity.LSI](`name:"byRank" index:"lsi1" sk:"ranked={rank:05}"`),
			declaration[versioned.Retain](`ttl:"90d"`),
			declaration[lifecycle.SoftDelete](`ttl:"30d" unique:"free"`),
			declaration[unique.Constraint](`name:"email" fields:"tenant,email"`),
		},
		fields: []reflect.StructField{
			field[string]("Tenant", `dynamodbav:"tenant" entity:"immutable"`),
			field[int64]("Number", `dynamodbav:"number" entity:"zero"`),
			field[string]("Team", `dynamodbav:"team,omitempty"`),
			field[string]("Email", `dynamodbav:"email,omitempty" entity:"secret"`),
			field[string]("Name", `dynamodbav:"name" entity:"required"`),
			field[time.Time]("Joined", `dynamodbav:"joined,omitempty" entity:"time=s"`),
			field[uint16]("Rank", `dynamodbav:"rank"`),
			field[float64]("Score", `dynamodbav:"score"`),
			field[*bool]("Active", `dynamodbav:"active"`),
			field[[]string]("Tags", `dynamodbav:"tags,omitempty,stringset"`),
			field[[]address]("Places", `dynamodbav:"places,omitempty"`),
			field[map[string]time.Time]("Seen", `dynamodbav:"seen,omitempty"`),
			field[int64]("Version", `dynamodbav:"version" entity:"version"`),
			field[time.Time]("Created", `dynamodbav:"created" entity:"created_at"`),
			field[time.Time]("Updated", `dynamodbav:"updated" entity:"updated_at"`),
		},
	}
}

// writer is a person in a database that knows who calls, and witness one whose name comes from there.
func writer() model {
	m := person()
	m.options.FromContext = func(context.Context, string) (string, bool) { return "", false }
	return m
}

func witness() model {
	m := writer()
	m.tag("Name", `dynamodbav:"name" entity:"required,context=actor"`)
	return m
}

// choosy is a person with a condition on byTeam.
func choosy() model {
	m := person()
	m.declare(1, `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{joined}" when:"rank=2|10,active=true,!score_"`)
	m.fields = append(m.fields, field[string]("Scored", `dynamodbav:"score_,omitempty"`))
	return m
}

// lasting is a person without soft delete.
func lasting() model {
	m := person()
	m.decls = append(m.decls[:5:5], m.decls[6])
	return m
}

// beat is a series. Its declarations are: 0 key, 1 Events.
func beat() model {
	return model{
		options: dollar(),
		decls: []reflect.StructField{
			declaration[entity.Key](`name:"Beat" table:"beats" pk:"$#{device}" sk:"$"`),
			declaration[timeseries.Events](`orderBy:"at" ttl:"7d"`),
		},
		fields: []reflect.StructField{
			field[string]("Device", `dynamodbav:"device"`),
			field[time.Time]("At", `dynamodbav:"at"`),
			field[*int]("Level", `dynamodbav:"level,omitempty" entity:"append"`),
			field[string]("Owner", `dynamodbav:"owner,omitempty"`),
		},
	}
}

// shardedBeat is a beat whose fields are all appended, and whose events are in eight partitions.
func shardedBeat() model {
	m := beat()
	m.declare(1, `orderBy:"at" shards:"8"`)
	m.tag("Owner", `dynamodbav:"owner" entity:"append"`)
	return m
}

// reading is verbatim and expires. Its declarations are: 0 key, 1 byDay, 2 TTL.
func reading() model {
	return model{
		options: dollar(),
		decls: []reflect.StructField{
			declaration[entity.Key](`name:"Reading" table:"readings" pk:"hardware_id" sk:"ts_batch={timestamp_ms:013}#{batch_id}" kind:"item=reading" payload:"2"`),
			declaration[entity.GSI](`name:"byDay" index:"day" pk:"day+zone" sk:"timestamp_ms"`),
			declaration[lifecycle.TTL](`attr:"expiration_time" from:"timestamp_ms" after:"90d"`),
		},
		fields: []reflect.StructField{
			field[string]("Hardware", `dynamodbav:"hardware_id"`),
			field[int64]("Timestamp", `dynamodbav:"timestamp_ms" entity:"time=unixms"`),
			field[string]("Batch", `dynamodbav:"batch_id"`),
			field[string]("Day", `dynamodbav:"day,omitempty"`),
			field[string]("Zone", `dynamodbav:"zone,omitempty"`),
			field[int64]("Expires", `dynamodbav:"expiration_time,omitempty"`),
		},
	}
}

func TestLock_SaysWhatIsOnDisk(t *testing.T) {
	t.Parallel()
	l := Lock{Entities: slices.Concat(beat().lock(t).Entities, person().lock(t).Entities, reading().lock(t).Entities)}
	entities := string(entity.Must(os.ReadFile("testdata/lock.txt")))
	require.Equal(t, header(newest)+intro+"\n"+entities, l.String())
	again := entity.Must(Parse([]byte(l.String())))
	require.Equal(t, l, again)
	require.Empty(t, Compare(l, again))
}

// everyKind has a field of each kind of Go type that can be stored.
type everyKind struct {
	String   string
	Int      int
	Uint8    uint8
	Float    float32
	Bool     bool
	Bytes    []byte
	Array    [3]byte
	Strings  []string
	Numbers  []int    `dynamodbav:",numberset"`
	Texts    []string `dynamodbav:",stringset"`
	Blobs    [][]byte `dynamodbav:",binaryset"`
	Digits   int      `dynamodbav:",string"`
	Number   attributevalue.Number
	Map      map[string]int
	ByNumber map[int]bool
	Struct   address
	Pointer  *address
	Time     time.Time
	Unix     time.Time   `dynamodbav:",unixtime"`
	Millis   time.Time   `entity:"time=unixms"`
	Times    []time.Time `dynamodbav:",stringset"`
	Deep     []map[string]*[]time.Time
}

// The lock states the types that the codec writes.
func TestLock_StatesTheTypesThatAreStored(t *testing.T) {
	t.Parallel()
	at, flat := time.Date(2026, 4, 22, 12, 0, 0, 0, time.UTC), []time.Time{time.Date(2026, 4, 22, 12, 0, 0, 0, time.UTC)}
	v := everyKind{
		String: "s", Int: 1, Uint8: 2, Float: 1.5, Bool: true, Bytes: []byte{1}, Array: [3]byte{1, 2, 3}, Strings: []string{"a"}, Numbers: []int{1},
		Texts: []string{"a"}, Blobs: [][]byte{{1}}, Digits: 7, Number: "4", Map: map[string]int{"a": 1}, ByNumber: map[int]bool{1: true},
		Struct: address{City: "c"}, Pointer: &address{City: "c"}, Time: at, Unix: at, Millis: at, Times: flat, Deep: []map[string]*[]time.Time{{"a": &flat}},
	}
	m := beat()
	for i := range reflect.TypeFor[everyKind]().NumField() {
		m.fields = append(m.fields, reflect.TypeFor[everyKind]().Field(i))
	}
	for i := range m.fields {
		m.fields[i].Index, m.fields[i].Offset = nil, 0
	}
	s := m.schema(t)
	filled := reflect.New(s.Type).Elem()
	for i := range reflect.TypeFor[everyKind]().NumField() {
		filled.FieldByName(reflect.TypeFor[everyKind]().Field(i).Name).Set(reflect.ValueOf(v).Field(i))
	}
	it, stated := entity.Must(s.Codec.Encode(filled)), map[string]string{}
	for _, a := range recorded.Of(s) {
		stated[a.Path] = a.Words[0]
	}
	seen := map[string]string{}
	for name, av := range it {
		walkValue(seen, name, av)
	}
	for _, none := range []string{"level", "owner"} { // nothing to store
		delete(stated, none)
	}
	for path, kind := range seen {
		if strings.HasPrefix(path, "Map.") || strings.HasPrefix(path, "ByNumber.") {
			delete(seen, path)
			seen[path[:strings.Index(path, ".")]+"{}"] = kind
		}
	}
	seen["Deep[]{}"], seen["Deep[]{}[]"] = seen["Deep[].a"], seen["Deep[].a[]"]
	delete(seen, "Deep[].a")
	delete(seen, "Deep[].a[]")
	require.Equal(t, stated, seen)
}

// walkValue records the type of a stored value and of the values inside it.
func walkValue(seen map[string]string, path string, av types.AttributeValue) {
	name := reflect.TypeOf(av).String()
	seen[path] = name[strings.LastIndex(name, "Member")+len("Member"):]
	switch av := av.(type) {
	case *types.AttributeValueMemberL:
		for _, e := range av.Value {
			walkValue(seen, path+"[]", e)
		}
	case *types.AttributeValueMemberM:
		for k, e := range av.Value {
			walkValue(seen, path+"."+k, e)
		}
	}
}
