package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/dynastrata/dynastrata/internal/schema"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"

	"github.com/dynastrata/dynastrata/entity"
)

// shade has a String method, hue turns itself into text both ways, sealed only one.
type (
	shade  int
	hue    string
	sealed string
)

func (shade) String() string                { return "shade" }
func (h hue) MarshalText() ([]byte, error)  { return []byte("h-" + h), nil }
func (h *hue) UnmarshalText(b []byte) error { *h = hue(b[2:]); return nil }
func (sealed) MarshalText() ([]byte, error) { return []byte("sealed"), nil }

// coin encodes itself when it has an address.
type coin struct{ Cents int }

func (*coin) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return nil, errors.New("no coin")
}

type base int

// flag is a byte of its own type. attributevalue panics for a list of them.
type flag byte

func (flag) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) { return nil, nil }

type level byte

// built compiles a struct type made of fields.
func built(fields ...reflect.StructField) error {
	for i := range fields {
		if fields[i].Name == "_" {
			fields[i].PkgPath = "test"
		}
	}
	_, err := schema.Build(reflect.StructOf(fields), options)
	return err
}

func field(name string, typ reflect.Type, tag string) reflect.StructField {
	return reflect.StructField{Name: name, Type: typ, Tag: reflect.StructTag(tag)}
}

// mistakesOf are the codes of the mistakes of a struct with a key and one field A of typ.
func mistakesOf(typ reflect.Type, option string) (codes []string) {
	err := built(field("_", reflect.TypeFor[entity.Key](), `name:"T" pk:"$#{id}"`), field("ID", reflect.TypeFor[string](), `dynamodbav:"id"`),
		field("A", typ, `dynamodbav:"a`+option+`"`))
	for _, m := range mistakes(err) {
		codes = append(codes, m.Code+" "+m.Field)
	}
	return codes
}

// What attributevalue would silently ignore, or reject with the first value, is a mistake of the declaration.
func TestDeclaration_CodecOptionsFitTheirTypes(t *testing.T) {
	t.Parallel()
	type texts []string
	for option, c := range map[string]struct{ right, wrong []any }{
		",stringset": {
			[]any{[]string{}, texts{}, &[]string{}, []*string{}, [3]string{}, []hue{}, []time.Time{}, []coin{}},
			[]any{[]int{}, []byte{}, "", 1, []bool{}, [][]byte{}, []any{}, map[string][]string{}, []json.Number{}, time.Time{}},
		},
		",numberset": {
			[]any{[]int{}, []float32{}, []uint64{}, []shade{}, []json.Number{}, []attributevalue.Number{}, &[]*int{}, []coin{}},
			[]any{[]string{}, []byte{}, []uint8{}, [4]byte{}, 1, []bool{}, [][]byte{}, []time.Time{}, map[string][]int{}, [][]int{}},
		},
		",binaryset": {
			[]any{[][]byte{}, [][4]byte{}, []*[]byte{}, []json.RawMessage{}},
			[]any{[]byte{}, []string{}, []int{}, [4]byte{}, "", map[string][]byte{}},
		},
		",string": {
			[]any{1, uint8(1), 1.5, new(int), shade(1), json.Number("")},
			[]any{"", true, []int{}, time.Time{}, map[string]int{}, coin{}, struct{ B int }{}},
		},
		",unixtime":                    {[]any{time.Time{}, &time.Time{}, stamp{}}, []any{"", 1, []time.Time{}, attributevalue.UnixTime{}, struct{ B time.Time }{}}},
		",nullempty":                   {[]any{"", 1, true, []string{}, new(int), map[string]int{}}, []any{time.Time{}, struct{ B int }{}}},
		",omitemptyelem":               {[]any{[]string{}, map[string]int{}, [2]string{}}, []any{"", 1, []byte{}, time.Time{}, struct{ B int }{}}},
		",nullemptyelem":               {[]any{[]string{}, map[string]int{}}, []any{"", []byte{}, new(int)}},
		",nullemptyelem,stringset":     {nil, []any{[]string{}}},
		",omitemptyelem,stringset":     {[]any{[]string{}}, nil},
		",omitempty,nullempty":         {nil, []any{"", 1}},
		",omitempty,stringset":         {[]any{[]string{}}, []any{[]int{}}},
		",omitemptyelem,nullemptyelem": {nil, []any{[]string{}}},
	} {
		for _, v := range c.right {
			assert.Empty(t, mistakesOf(reflect.TypeOf(v), option), "%T%s", v, option)
		}
		for _, v := range c.wrong {
			assert.Equal(t, []string{"EDD-9045 A"}, mistakesOf(reflect.TypeOf(v), option), "%T%s", v, option)
		}
	}
	type Inner struct {
		B []int `dynamodbav:"b,stringset"`
	}
	for _, nested := range []any{Inner{}, []Inner{}, map[string]*Inner{}, struct{ Inner }{}} {
		assert.Equal(t, []string{"EDD-9045 A"}, mistakesOf(reflect.TypeOf(nested), ""), "%T", nested)
	}
}

type stamp time.Time

// Pointers to themselves.
type (
	endless *endless
	other   **other
)

// What would be stored as nothing, or could not be read back, is a mistake of the declaration.
func TestDeclaration_TypesAreStoredAndReadBack(t *testing.T) {
	t.Parallel()
	type hidden struct{ base }
	_ = hidden{}.base
	type hiddenPointer struct{ *hiddenBase }
	type locked struct {
		sync.Mutex
		B int
	}
	for _, v := range []any{
		[]netip.Addr{}, struct{ A netip.Addr }{}, []big.Float{}, map[string]sync.Mutex{}, // their content is unexported
		[]fmt.Stringer{}, map[string]error{}, // nothing can be read into them
		map[shade]int{}, map[time.Duration]int{}, map[sealed]int{}, // their text cannot be read
		map[string]coin{}, map[string]struct{ C coin }{}, map[string][1]coin{}, // they have no address there
		hidden{}, hiddenPointer{},
		[]level{}, [2]level{}, &[]level{}, [][]level{}, map[string][2]level{}, struct{ L []level }{}, []flag{}, // elements are no bytes
		new(any), []*any{}, endless(nil), []endless{}, struct{ E *endless }{}, new(endless), map[string]struct{ E other }{}, // they never point to a value
	} {
		assert.Equal(t, []string{"EDD-9052 A"}, mistakesOf(reflect.TypeOf(v), ""), "%T", v)
	}
	for _, v := range []any{
		netip.Addr{}, &netip.Addr{}, new(big.Int), big.Float{}, // they are stored as their text
		map[string]struct{}{}, struct{}{}, locked{}, map[hue]int{}, map[netip.Addr]int{}, map[base]int{}, map[bool]int{}, map[float64]int{},
		level(1), map[level]int{}, map[string]level{}, []*level{},
		coin{}, []coin{}, map[string]*coin{}, map[string][]coin{}, map[string]any{}, attributevalue.UnixTime{}, json.Number(""), [0]int{},
	} {
		assert.Empty(t, mistakesOf(reflect.TypeOf(v), ""), "%T", v)
	}
}
