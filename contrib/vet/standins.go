package vet

import (
	"bytes"
	"encoding/json"
	"hash/fnv"
	"math/big"
	"net"
	"net/netip"
	"reflect"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// library is the path of the module that declarations are for.
const library = "github.com/dynastrata/dynastrata"

// markers are the types of declarations.
var markers = map[string]reflect.Type{
	library + "/entity.Key": reflect.TypeFor[entity.Key](), library + "/entity.GSI": reflect.TypeFor[entity.GSI](), library + "/entity.LSI": reflect.TypeFor[entity.LSI](),
	library + "/timeseries.Events": reflect.TypeFor[timeseries.Events](), library + "/unique.Constraint": reflect.TypeFor[unique.Constraint](),
	library + "/versioned.Lock": reflect.TypeFor[versioned.Lock](), library + "/versioned.Retain": reflect.TypeFor[versioned.Retain](),
	library + "/lifecycle.SoftDelete": reflect.TypeFor[lifecycle.SoftDelete](), library + "/lifecycle.TTL": reflect.TypeFor[lifecycle.TTL](),
}

// known are types with methods that fields often have, so that their constants can be read.
var known = map[string]reflect.Type{
	"time.Time": reflect.TypeFor[time.Time](), "time.Duration": reflect.TypeFor[time.Duration](),
	"encoding/json.Number": reflect.TypeFor[json.Number](), "net.IP": reflect.TypeFor[net.IP](), "net/netip.Addr": reflect.TypeFor[netip.Addr](), "math/big.Int": reflect.TypeFor[big.Int](),
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue.Number":   reflect.TypeFor[attributevalue.Number](),
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue.UnixTime": reflect.TypeFor[attributevalue.UnixTime](),
}

// The types below stand for types of the examined program that have methods. Reflection cannot build such a type, and the schema asks
// only which of these methods a type has, and of which kind it is.

// Types that encode themselves.
type (
	selfString string
	selfInt    int64
	selfFloat  float64
	selfBool   bool
	selfID     [16]byte
	selfSlice  []string
	selfMap    map[string]string
	selfStruct struct{ Content string }
	selfByAddr struct{ Content string }
)

func (selfString) MarshalDynamoDBAttributeValue() (sdk.AttributeValue, error)  { return none, nil }
func (selfInt) MarshalDynamoDBAttributeValue() (sdk.AttributeValue, error)     { return none, nil }
func (selfFloat) MarshalDynamoDBAttributeValue() (sdk.AttributeValue, error)   { return none, nil }
func (selfBool) MarshalDynamoDBAttributeValue() (sdk.AttributeValue, error)    { return none, nil }
func (selfID) MarshalDynamoDBAttributeValue() (sdk.AttributeValue, error)      { return none, nil }
func (selfSlice) MarshalDynamoDBAttributeValue() (sdk.AttributeValue, error)   { return none, nil }
func (selfMap) MarshalDynamoDBAttributeValue() (sdk.AttributeValue, error)     { return none, nil }
func (selfStruct) MarshalDynamoDBAttributeValue() (sdk.AttributeValue, error)  { return none, nil }
func (*selfByAddr) MarshalDynamoDBAttributeValue() (sdk.AttributeValue, error) { return none, nil }

// none is the zero value of all of them: a text, which can be in a key. Whether that of the examined type can New finds.
var none = &sdk.AttributeValueMemberS{}

var selves = map[reflect.Kind]reflect.Type{
	reflect.String: reflect.TypeFor[selfString](), reflect.Int64: reflect.TypeFor[selfInt](), reflect.Uint64: reflect.TypeFor[selfInt](), reflect.Float64: reflect.TypeFor[selfFloat](), reflect.Bool: reflect.TypeFor[selfBool](),
	reflect.Array: reflect.TypeFor[selfID](), reflect.Slice: reflect.TypeFor[selfSlice](), reflect.Map: reflect.TypeFor[selfMap](), reflect.Struct: reflect.TypeFor[selfStruct](),
}

// Types that also read what they encode themselves as, and so can be in a key.
type (
	bothString string
	bothInt    int64
	bothID     [16]byte
	bothSlice  []string
	bothStruct struct{ Content string }
	bothByAddr struct{ Content string }
)

func (bothString) MarshalDynamoDBAttributeValue() (sdk.AttributeValue, error)  { return none, nil }
func (bothInt) MarshalDynamoDBAttributeValue() (sdk.AttributeValue, error)     { return none, nil }
func (bothID) MarshalDynamoDBAttributeValue() (sdk.AttributeValue, error)      { return none, nil }
func (bothSlice) MarshalDynamoDBAttributeValue() (sdk.AttributeValue, error)   { return none, nil }
func (bothStruct) MarshalDynamoDBAttributeValue() (sdk.AttributeValue, error)  { return none, nil }
func (*bothByAddr) MarshalDynamoDBAttributeValue() (sdk.AttributeValue, error) { return none, nil }
func (*bothString) UnmarshalDynamoDBAttributeValue(sdk.AttributeValue) error   { return nil }
func (*bothInt) UnmarshalDynamoDBAttributeValue(sdk.AttributeValue) error      { return nil }
func (*bothID) UnmarshalDynamoDBAttributeValue(sdk.AttributeValue) error       { return nil }
func (*bothSlice) UnmarshalDynamoDBAttributeValue(sdk.AttributeValue) error    { return nil }
func (*bothStruct) UnmarshalDynamoDBAttributeValue(sdk.AttributeValue) error   { return nil }
func (*bothByAddr) UnmarshalDynamoDBAttributeValue(sdk.AttributeValue) error   { return nil }

var boths = map[reflect.Kind]reflect.Type{
	reflect.String: reflect.TypeFor[bothString](), reflect.Int64: reflect.TypeFor[bothInt](), reflect.Uint64: reflect.TypeFor[bothInt](), reflect.Array: reflect.TypeFor[bothID](),
	reflect.Slice: reflect.TypeFor[bothSlice](), reflect.Struct: reflect.TypeFor[bothStruct](),
}

// Types that read themselves from text. A constant that they read may be wrong for the type that they stand for: New finds that.
type (
	readString string
	readInt    int64
	readUint   uint64
	readFloat  float64
	readBool   bool
)

func (t *readString) UnmarshalText(text []byte) error { *t = readString(text); return nil }
func (t *readInt) UnmarshalText(text []byte) error    { *t = readInt(number(text)); return nil }
func (t *readUint) UnmarshalText(text []byte) error   { *t = readUint(number(text)); return nil }
func (t *readFloat) UnmarshalText(text []byte) error  { *t = readFloat(number(text)); return nil }
func (t *readBool) UnmarshalText([]byte) error        { *t = true; return nil }

// number returns a number that is not zero, and differs for different texts.
func number(text []byte) uint32 {
	h := fnv.New32a()
	_, _ = h.Write(text) // it has no errors
	return max(h.Sum32(), 1)
}

var readers = map[reflect.Kind]reflect.Type{
	reflect.String: reflect.TypeFor[readString](), reflect.Int64: reflect.TypeFor[readInt](), reflect.Uint64: reflect.TypeFor[readUint](),
	reflect.Float64: reflect.TypeFor[readFloat](), reflect.Bool: reflect.TypeFor[readBool](),
}

// Types that are text both ways. Those that are made of several values keep the text of a constant.
type (
	textString string
	textInt    int64
	textUint   uint64
	textFloat  float64
	textBool   bool
	textBytes  []byte
	textID     [16]byte
	textArray  [8]byte
	textOpen   struct{ Content string }
	textStruct struct{ content string }
)

func (t textString) MarshalText() ([]byte, error) { return []byte(t), nil }
func (t textInt) MarshalText() ([]byte, error)    { return written(t != 0, int64(t)), nil }
func (t textUint) MarshalText() ([]byte, error)   { return written(t != 0, int64(t)), nil }
func (t textFloat) MarshalText() ([]byte, error)  { return written(t != 0, int64(t)), nil }
func (t textBool) MarshalText() ([]byte, error)   { return written(bool(t), 1), nil }
func (t textBytes) MarshalText() ([]byte, error)  { return t, nil }
func (t textID) MarshalText() ([]byte, error)     { return bytes.Trim(t[:], "\x00"), nil }
func (t textArray) MarshalText() ([]byte, error)  { return bytes.Trim(t[:], "\x00"), nil }
func (t textOpen) MarshalText() ([]byte, error)   { return []byte(t.Content), nil }
func (t textStruct) MarshalText() ([]byte, error) { return []byte(t.content), nil }

// written returns the text of a number, none for zero: the zero value of a type can be an empty text.
func written(given bool, n int64) (text []byte) {
	if given {
		text = strconv.AppendInt(text, n, 36)
	}
	return text
}

func (t *textString) UnmarshalText(text []byte) error { *t = textString(text); return nil }
func (t *textInt) UnmarshalText(text []byte) error    { *t = textInt(number(text)); return nil }
func (t *textUint) UnmarshalText(text []byte) error   { *t = textUint(number(text)); return nil }
func (t *textFloat) UnmarshalText(text []byte) error  { *t = textFloat(number(text)); return nil }
func (t *textBool) UnmarshalText([]byte) error        { *t = true; return nil }
func (t *textBytes) UnmarshalText(text []byte) error  { *t = append(textBytes{}, text...); return nil }
func (t *textID) UnmarshalText(text []byte) error {
	copy(t[:], written(true, int64(number(text))))
	return nil
}
func (t *textArray) UnmarshalText(text []byte) error {
	copy(t[:], written(true, int64(number(text))))
	return nil
}
func (t *textOpen) UnmarshalText(text []byte) error   { t.Content = string(text); return nil }
func (t *textStruct) UnmarshalText(text []byte) error { t.content = string(text); return nil }

var texts = map[reflect.Kind]reflect.Type{
	reflect.String: reflect.TypeFor[textString](), reflect.Int64: reflect.TypeFor[textInt](), reflect.Uint64: reflect.TypeFor[textUint](),
	reflect.Float64: reflect.TypeFor[textFloat](), reflect.Bool: reflect.TypeFor[textBool](), reflect.Slice: reflect.TypeFor[textBytes](),
	reflect.Array: reflect.TypeFor[textID](), reflect.Struct: reflect.TypeFor[textStruct](),
}

// Types of the keys of maps: one that prints itself, and two that are text one way only.
type (
	printed     = time.Month
	writtenOnly string
	readOnly    string
)

func (t writtenOnly) MarshalText() ([]byte, error) { return []byte(t), nil }
func (*readOnly) UnmarshalText([]byte) error       { return nil }

// octet is a byte type with a name of its own, object an interface whose name is no word of a message, and pointer one that points to
// itself.
type (
	octet   byte
	object  error
	pointer *pointer
)

// inside stands for a struct that has been examined already: one that contains itself.
var inside = reflect.TypeFor[struct{}]()

type (
	base   int
	hidden struct{ A int }
	// Instant is a time without methods.
	Instant time.Time
)

// Types that are text because of what they embed.
type (
	textTime struct {
		time.Time
		N int
	}
	textSealed struct {
		netip.Addr
		N int
	}
)

// selfBorrowed has the method of what it embeds.
type selfBorrowed struct {
	selfStruct
	N int
}

// Cycle stands for a struct that embeds itself.
type Cycle struct{ *Cycle }

// Embedded fields that reflect.StructOf refuses are replaced by structs in which the schema finds the same mistake. They have no name,
// since reflect embeds few types that could have methods.
var (
	hiddenPointer = reflect.TypeFor[struct{ *hidden }]()
	hiddenValue   = reflect.TypeFor[struct{ base }]()
	hiddenNamed   = reflect.TypeFor[struct {
		hidden `dynamodbav:"hidden"`
	}]()
	nestedTime = reflect.TypeFor[struct{ Instant }]()
	ownForm    = reflect.TypeFor[struct {
		selfStruct
		MarshalDynamoDBAttributeValue int `dynamodbav:"-"` // instead of the method
	}]()
	cyclic = reflect.TypeFor[struct{ *Cycle }]()
)

// unstorable are types of values that are never stored.
var unstorable = struct{ channel, function, object, pointer reflect.Type }{
	reflect.TypeFor[chan int](), reflect.TypeFor[func()](), reflect.TypeFor[object](), reflect.TypeFor[pointer](),
}
