package schemalock

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What things are called in Go, and where they stand, is in no lock.
func TestLock_DoesNotDependOnNamesOrOrderInGo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom([]func() model{person, beat, reading}).Draw(t, "model")()
		want := m.lock(t)
		m.fields = rapid.Permutation(m.fields).Draw(t, "fields")
		m.decls = rapid.Permutation(m.decls).Draw(t, "declarations")
		for i := range m.fields {
			m.fields[i].Name = "F" + string(rune('A'+i))
		}
		require.Equal(t, want, m.lock(t))
	})
}

// A difference of the texts is a difference that Compare finds, and one that breaks does so beside any other.
func TestCompare_FindsEveryOneOfSeveralChanges(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(maps.Keys(mutations))
	rapid.Check(t, func(t *rapid.T) {
		a, b := mutations[rapid.SampledFrom(names).Draw(t, "old")], mutations[rapid.SampledFrom(names).Draw(t, "new")]
		before, after := a.of(), b.of()
		if rapid.Bool().Draw(t, "change old") {
			a.change(&before)
		}
		if rapid.Bool().Draw(t, "change new") {
			b.change(&after)
		}
		old, now := before.lock(t), after.lock(t)
		changes := Compare(old, now)
		require.Equal(t, old.String() == now.String(), len(changes) == 0)
		back := Compare(now, old)
		require.Equal(t, len(changes) == 0, len(back) == 0)
		again, err := Parse([]byte(strings.ReplaceAll(now.String(), "\n", "\r\n")))
		require.NoError(t, err)
		require.Equal(t, changes, Compare(old, again))
		union := Lock{Entities: slices.Concat(old.Entities, now.Entities)}
		if old.Entities[0].Name != now.Entities[0].Name {
			require.Len(t, Compare(Lock{}, union), 2)
			for _, c := range Compare(Lock{}, union) {
				require.False(t, c.Breaking)
			}
			for _, c := range Compare(union, Lock{}) {
				require.True(t, c.Breaking)
			}
		}
	})
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

// The types that a lock states are those that the codec writes.
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
	it, err := s.Codec.Encode(filled)
	require.NoError(t, err)
	stated := map[string]string{}
	for _, a := range s.Stored() {
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

// walkValue notes the type of a stored value and of what is inside it.
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
