package vet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/token"
	"go/types"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/packages"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Types of an examined program, by what they can do.
type (
	aString     string
	anInt       int16
	aByte       byte
	aMoment     time.Time
	aStruct     struct{ N aString }
	aSecret     struct{ n int }
	aList       []aStruct
	encString   string
	encInt      int32
	encStruct   struct{ N int }
	encPointer  struct{ N int }
	encSlice    []int
	textWord    string
	textLevel   int8
	textUUID    [16]byte
	textShort   [4]byte
	textRaw     []byte
	textSecret  struct{ n string }
	textDate    struct{ Year, Month int }
	wordIn      string
	wordOut     string
	numberIn    int
	shown       int
	decodedText struct{ N string }
	embedded    struct {
		aMoment2
		sync.Mutex
		*http.Cookie
		N int
	}
	aMoment2 struct{ At time.Time }
)

func (encString) MarshalDynamoDBAttributeValue() (sdk.AttributeValue, error)   { return none, nil }
func (encInt) MarshalDynamoDBAttributeValue() (sdk.AttributeValue, error)      { return none, nil }
func (encStruct) MarshalDynamoDBAttributeValue() (sdk.AttributeValue, error)   { return none, nil }
func (*encPointer) MarshalDynamoDBAttributeValue() (sdk.AttributeValue, error) { return none, nil }
func (encSlice) MarshalDynamoDBAttributeValue() (sdk.AttributeValue, error)    { return none, nil }
func (t textWord) MarshalText() ([]byte, error)                                { return []byte(t), nil }
func (t *textWord) UnmarshalText(b []byte) error                               { *t = textWord(b); return nil }
func (t textLevel) MarshalText() ([]byte, error)                               { return []byte{byte(t)}, nil }
func (t *textLevel) UnmarshalText(b []byte) error                              { *t = textLevel(b[0]); return nil }
func (t textUUID) MarshalText() ([]byte, error)                                { return bytes.Trim(t[:], "\x00"), nil }
func (t *textUUID) UnmarshalText(b []byte) error                               { copy(t[:], b); return nil }
func (t *textShort) MarshalText() ([]byte, error)                              { return t[:], nil }
func (t *textShort) UnmarshalText(b []byte) error                              { copy(t[:], b); return nil }
func (t textRaw) MarshalText() ([]byte, error)                                 { return t, nil }
func (t *textRaw) UnmarshalText(b []byte) error                                { *t = b; return nil }
func (t textSecret) MarshalText() ([]byte, error)                              { return []byte(t.n), nil }
func (t *textSecret) UnmarshalText(b []byte) error                             { t.n = string(b); return nil }
func (t textDate) MarshalText() ([]byte, error)                                { return []byte{byte(t.Year)}, nil }
func (t *textDate) UnmarshalText(b []byte) error                               { t.Year = int(b[0]); return nil }
func (t *wordIn) UnmarshalText(b []byte) error                                 { *t = wordIn(b); return nil }
func (t wordOut) MarshalText() ([]byte, error)                                 { return []byte(t), nil }
func (t *numberIn) UnmarshalText(b []byte) error                               { *t = numberIn(b[0]); return nil }
func (shown) String() string                                                   { return "shown" }
func (t decodedText) MarshalText() ([]byte, error)                             { return []byte(t.N), nil }
func (t *decodedText) UnmarshalText(b []byte) error                            { t.N = string(b); return nil }
func (*decodedText) UnmarshalDynamoDBAttributeValue(sdk.AttributeValue) error  { return nil }

var _ = aSecret{}.n

// samples are types of fields.
type samples struct {
	A1  string
	A2  int64
	A3  uint8
	A4  float32
	A5  bool
	A6  []byte
	A7  [16]byte
	A8  *string
	A9  []string
	A10 map[string]int
	A11 any
	A12 time.Time
	A13 *time.Time
	A14 time.Duration
	A15 json.Number
	A16 attributevalue.Number
	A17 netip.Addr
	A18 net.IP
	A19 *big.Int
	A20 big.Float
	A21 url.URL
	A22 http.SameSite
	A23 complex64
	A24 chan int
	A25 func()
	A26 fmt.Stringer
	A27 attributevalue.Marshaler
	A28 attributevalue.UnixTime
	A29 sync.Mutex
	A30 [][]byte
	A31 [0]byte
	A32 struct{ A, b int }
	A33 **int
	A34 json.RawMessage
	A35 [3]string

	B1  aString
	B2  anInt
	B3  []aByte
	B4  aByte
	B5  aMoment
	B6  *aMoment
	B7  aStruct
	B8  aSecret
	B9  aList
	B10 map[aByte]aStruct
	B11 encString
	B12 encInt
	B13 encStruct
	B14 *encPointer
	B15 encPointer
	B16 encSlice
	B17 textWord
	B18 textLevel
	B19 textUUID
	B20 *textShort
	B21 textRaw
	B22 textSecret
	B23 textDate
	B24 wordIn
	B25 wordOut
	B26 numberIn
	B27 shown
	B28 decodedText
	B29 embedded

	C1  map[string]encPointer
	C2  map[string]*encPointer
	C3  map[textWord]int
	C4  map[wordIn]int
	C5  map[wordOut]int
	C6  map[shown]int
	C7  map[aString]int
	C8  map[netip.Addr]int
	C9  map[*textShort]int
	C10 map[time.Duration]int
	C11 map[[2]int]int
	C12 []netip.Addr
	C13 []textUUID
	C14 []textDate
	C15 [2]encString
	C16 []*encPointer
	C17 struct{ T textSecret }
	C18 map[string][2]encPointer
	C19 []encInt
	C20 map[bool]any
	C21 *[]aMoment
	C22 map[textSecret]int
	C23 map[error]int
}

// tags are those of a field in an entity, with those of the declaration around it.
var tags = []struct{ field, key, more string }{
	{`dynamodbav:"a"`, "$#{id}", ""},
	{`dynamodbav:"a,omitempty"`, "$#{id}", ""}, {`dynamodbav:"a,string"`, "$#{id}", ""}, {`dynamodbav:"a,unixtime"`, "$#{id}", ""}, {`dynamodbav:"a,nullempty"`, "$#{id}", ""},
	{`dynamodbav:"a,stringset"`, "$#{id}", ""}, {`dynamodbav:"a,numberset"`, "$#{id}", ""}, {`dynamodbav:"a,binaryset"`, "$#{id}", ""}, {`dynamodbav:"a,omitemptyelem"`, "$#{id}", ""},
	{`dynamodbav:"a" entity:"text"`, "$#{id}", ""}, {`dynamodbav:"a" entity:"zero"`, "$#{id}", ""}, {`dynamodbav:"a" entity:"notnull"`, "$#{id}", ""},
	{`dynamodbav:"a" entity:"created_at"`, "$#{id}", ""}, {`dynamodbav:"a" entity:"context=c"`, "$#{id}", ""}, {`dynamodbav:"a" entity:"version"`, "$#{id}", ""},
	{`dynamodbav:"a" entity:"time=ms"`, "$#{id}", ""}, {`dynamodbav:"a" entity:"time=unix"`, "$#{id}", ""}, {`dynamodbav:"a" entity:"id=ulid"`, "$#{id}", ""},
	{`dynamodbav:"a" entity:"default=7"`, "$#{id}", ""}, {`dynamodbav:"a" entity:"default=true"`, "$#{id}", ""}, {`dynamodbav:"a" entity:"default=word"`, "$#{id}", ""},
	{`dynamodbav:"a"`, "$#{a}", ""}, {`dynamodbav:"a"`, "a", ""}, {`dynamodbav:"a"`, "$#{a:05}", ""}, {`dynamodbav:"a"`, "$#{a|lower}", ""}, {`dynamodbav:"a" entity:"text"`, "$#{a}", ""},
	{`dynamodbav:"a"`, "$#{id}", "entity.GSI name:\"x\" index:\"gsi1\" pk:\"$#{a}\" sk:\"a\""}, {`dynamodbav:"a"`, "$#{id}", "entity.GSI name:\"x\" index:\"gsi1\" pk:\"a\""},
	{`dynamodbav:"a"`, "$#{id}", "entity.GSI name:\"x\" index:\"gsi1\" pk:\"$\" sk:\"$#{id}\" when:\"a=7|8\""}, {`dynamodbav:"a"`, "$#{id}", "entity.GSI name:\"x\" index:\"gsi1\" pk:\"$\" sk:\"$#{id}\" when:\"!a\""},
	{`dynamodbav:"a"`, "$#{id}", "unique.Constraint name:\"x\" fields:\"a\""}, {`dynamodbav:"a"`, "$#{id}", "lifecycle.TTL attr:\"a\" after:\"1d\""},
	{`dynamodbav:"a"`, "$#{id}", "lifecycle.TTL attr:\"e\" from:\"a\" after:\"1d\""}, {`dynamodbav:"a"`, "$#{id}", "timeseries.Events orderBy:\"a\""},
	{`dynamodbav:"a,omitempty" entity:"append"`, "$#{id}", "timeseries.Events orderBy:\"id\""},
}

// An entity that is built of the reflect types themselves has every mistake that the analyzer finds, whatever the type of a field, and
// hardly another. Constants that a method reads are not compared.
func TestConvert_KeepsWhatTheSchemaAsksFor(t *testing.T) {
	t.Parallel()
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Tests: true}, ".")
	require.NoError(t, err)
	i := slices.IndexFunc(pkgs, func(p *packages.Package) bool { return p.Types.Scope().Lookup("samples") != nil })
	require.GreaterOrEqual(t, i, 0)
	source := pkgs[i].Types.Scope().Lookup("samples").Type().Underlying().(*types.Struct)
	real := reflect.TypeFor[samples]()
	compared, unsure, missed := 0, map[string]bool{}, []string{}
	for n := range real.NumField() {
		for _, tag := range tags {
			marker, more, _ := strings.Cut(tag.more, " ")
			key := `name:"E" pk:"` + tag.key + `" sk:"$"`
			fields := []reflect.StructField{
				{Name: "_", PkgPath: "p", Type: keyMarker, Tag: reflect.StructTag(key)},
				{Name: "ID", Type: reflect.TypeFor[string](), Tag: `dynamodbav:"id"`},
				{Name: "A", Type: real.Field(n).Type, Tag: reflect.StructTag(tag.field)},
			}
			d := &declaration{conv: newConverter()}
			of := []types.Type{nil, types.Typ[types.String], source.Field(n).Type()}
			made := slices.Clone(fields)
			for i := 1; i < 3; i++ {
				v := types.NewField(token.NoPos, nil, fields[i].Name, of[i], false)
				made[i] = d.conv.field(types.NewStruct([]*types.Var{v}, []string{string(fields[i].Tag)}), 0, nil)
			}
			if marker != "" {
				second := reflect.StructField{Name: "_", PkgPath: "p", Type: markers[library+"/"+marker], Tag: reflect.StructTag(more)}
				require.NotNil(t, second.Type)
				fields, made = append(fields, second), append(made, second)
			}
			if d.conv.unsure != "" {
				unsure[source.Field(n).Type().String()] = true
				continue
			}
			mistakes := func(s reflect.Type) (codes []string) {
				o := configurations()[0]
				_, err := plan.Declare(s, o, &bind.Options{Handle: plan.AnyHandle})
				for _, m := range mistakesOf(err, nil) {
					if m.code != schema.CodeDefault && m.code != "EDD-9075" {
						codes = append(codes, m.code+" "+m.field)
					}
				}
				return codes
			}
			for i := range made {
				if made[i].PkgPath != "" {
					made[i].PkgPath = "p"
				}
			}
			compared++
			want, got := mistakes(reflect.StructOf(fields)), mistakes(reflect.StructOf(made))
			name := types.TypeString(source.Field(n).Type(), func(p *types.Package) string { return p.Name() }) + " " + tag.field + tag.more
			assert.Subset(t, want, got, name)
			if len(got) < len(want) {
				missed = append(missed, name)
			}
		}
	}
	t.Logf("%d declarations agree, but %d; not examined: %v", compared, len(missed), unsure)
	require.Equal(t, []string{
		// Its zero value is stored, which only its methods show.
		`big.Float dynamodbav:"a"entity.GSI name:"x" index:"gsi1" pk:"$" sk:"$#{id}" when:"!a"`,
		// An integer that is text counts as one of 64 bits.
		`vet.textLevel dynamodbav:"a" entity:"version"`, `vet.textLevel dynamodbav:"a" entity:"time=unix"`, `vet.textLevel dynamodbav:"a"lifecycle.TTL attr:"a" after:"1d"`,
	}, missed)
	require.Len(t, unsure, 1, "text that is decoded in another way")
}
