package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/internal/wire/wiretest"
)

// inputs are those of the operations whose requests are written here.
var inputs = []struct {
	in     func() smithy.Serializable
	schema *smithy.OperationSchema
}{
	{func() smithy.Serializable { return &dynamodb.PutItemInput{} }, smithy.NewOperationSchema(schemas.PutItem, schemas.PutItemInput, schemas.PutItemOutput)},
	{func() smithy.Serializable { return &dynamodb.UpdateItemInput{} }, smithy.NewOperationSchema(schemas.UpdateItem, schemas.UpdateItemInput, schemas.UpdateItemOutput)},
	{func() smithy.Serializable { return &dynamodb.DeleteItemInput{} }, smithy.NewOperationSchema(schemas.DeleteItem, schemas.DeleteItemInput, schemas.DeleteItemOutput)},
	{func() smithy.Serializable { return &dynamodb.GetItemInput{} }, smithy.NewOperationSchema(schemas.GetItem, schemas.GetItemInput, schemas.GetItemOutput)},
	{func() smithy.Serializable { return &dynamodb.QueryInput{} }, smithy.NewOperationSchema(schemas.Query, schemas.QueryInput, schemas.QueryOutput)},
	{func() smithy.Serializable { return &dynamodb.ScanInput{} }, smithy.NewOperationSchema(schemas.Scan, schemas.ScanInput, schemas.ScanOutput)},
	{func() smithy.Serializable { return &dynamodb.BatchGetItemInput{} }, smithy.NewOperationSchema(schemas.BatchGetItem, schemas.BatchGetItemInput, schemas.BatchGetItemOutput)},
	{func() smithy.Serializable { return &dynamodb.BatchWriteItemInput{} }, smithy.NewOperationSchema(schemas.BatchWriteItem, schemas.BatchWriteItemInput, schemas.BatchWriteItemOutput)},
	{func() smithy.Serializable { return &dynamodb.TransactGetItemsInput{} }, smithy.NewOperationSchema(schemas.TransactGetItems, schemas.TransactGetItemsInput, schemas.TransactGetItemsOutput)},
	{func() smithy.Serializable { return &dynamodb.TransactWriteItemsInput{} }, smithy.NewOperationSchema(schemas.TransactWriteItems, schemas.TransactWriteItemsInput, schemas.TransactWriteItemsOutput)},
}

// unwritten are the members that leave a request to the SDK.
var unwritten = map[string]bool{
	"PutItemInput.ConditionalOperator": true, "PutItemInput.Expected": true,
	"UpdateItemInput.ConditionalOperator": true, "UpdateItemInput.Expected": true, "UpdateItemInput.AttributeUpdates": true,
	"DeleteItemInput.ConditionalOperator": true, "DeleteItemInput.Expected": true,
	"GetItemInput.AttributesToGet": true,
	"QueryInput.AttributesToGet":   true, "QueryInput.ConditionalOperator": true, "QueryInput.KeyConditions": true, "QueryInput.QueryFilter": true,
	"ScanInput.AttributesToGet": true, "ScanInput.ConditionalOperator": true, "ScanInput.ScanFilter": true,
	"KeysAndAttributes.AttributesToGet": true,
}

var attributeValue = reflect.TypeFor[types.AttributeValue]()

// filler sets the members of an input.
type filler struct {
	r    *rand.Rand // nil to set every member
	with func(member string) bool
	left bool // a member that leaves the request to the SDK was set
}

func (f *filler) one(in int) bool { return f.r != nil && f.r.IntN(in) == 0 }

func (f *filler) text() string {
	if f.r == nil {
		return "x"
	}
	return wiretest.Text(f.r)
}

func (f *filler) fill(v reflect.Value) {
	n := 1
	if f.r != nil {
		n = f.r.IntN(4)
	}
	switch t := v.Type(); {
	case t == attributeValue && f.r == nil:
		v.Set(reflect.ValueOf(&types.AttributeValueMemberS{Value: "x"}))
	case t == attributeValue:
		v.Set(reflect.ValueOf(wiretest.Value(f.r, 3)))
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			name := t.Name() + "." + t.Field(i).Name
			if !t.Field(i).IsExported() || unwritten[name] && !f.with(name) {
				continue
			}
			f.fill(v.Field(i))
			f.left = f.left || unwritten[name] && !v.Field(i).IsZero()
		}
	case f.one(4): // stays zero
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		f.fill(v.Elem())
	case t.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(t, n, n))
		for i := range n {
			f.fill(v.Index(i))
		}
	case t.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(t))
		for range n {
			name, elem := reflect.ValueOf(f.text()), reflect.New(t.Elem()).Elem()
			if !v.MapIndex(name).IsValid() {
				f.fill(elem)
				v.SetMapIndex(name, elem)
			}
		}
	case t.Kind() == reflect.String:
		v.SetString(f.text())
	case t.Kind() == reflect.Bool:
		v.SetBool(f.r == nil || f.one(2))
	case t.Kind() == reflect.Int32:
		v.SetInt(7)
		if f.r != nil {
			v.SetInt(int64(int32(f.r.Uint32())))
		}
	default:
		panic("a member of type " + t.String())
	}
}

func unsent(path string) *smithyhttp.Request {
	return &smithyhttp.Request{Request: &http.Request{URL: &url.URL{Path: path}, Header: http.Header{"A": {"b"}}, ContentLength: -1}}
}

// sameRequest compares the request of the SDK with that of an option.
func sameRequest(t *testing.T, schema *smithy.OperationSchema, in smithy.Serializable, option func(*dynamodb.Options)) {
	t.Helper()
	opts := dynamodb.Options{Protocol: sdk}
	option(&opts)
	require.NotEqual(t, sdk, opts.Protocol)
	for _, path := range []string{"", "/x"} {
		want, got := unsent(path), unsent(path)
		require.NoError(t, sdk.SerializeRequest(t.Context(), schema, in, want))
		require.NoError(t, opts.Protocol.SerializeRequest(t.Context(), schema, in, got))
		wantBody, body := bodyIn(t, want), bodyIn(t, got)
		require.True(t, utf8.Valid(body), "%q", body)
		require.Equal(t, decoded(t, wantBody), decoded(t, body), "%s\n%s", wantBody, body)
		require.Equal(t, want.Header, got.Header)
		require.Equal(t, want.Method, got.Method)
		require.Equal(t, want.URL, got.URL)
		require.EqualValues(t, len(wantBody), want.ContentLength)
		require.EqualValues(t, len(body), got.ContentLength)
		require.Equal(t, want.IsStreamSeekable(), got.IsStreamSeekable())
		require.IsType(t, want.GetStream(), got.GetStream())
	}
}

// bodyIn reads the body of a request twice, as signing and sending do.
func bodyIn(t *testing.T, req *smithyhttp.Request) []byte {
	t.Helper()
	body, err := io.ReadAll(req.GetStream())
	require.NoError(t, err)
	require.NoError(t, req.RewindStream())
	again, err := io.ReadAll(req.GetStream())
	require.NoError(t, err)
	require.Equal(t, body, again)
	return body
}

func decoded(t *testing.T, body []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	require.NoError(t, d.Decode(&v), "%s", body)
	_, err := d.Token()
	require.Equal(t, io.EOF, err, "%s", body)
	return v
}

// bodyOf returns the body that is written for an input, nil if that is left to the SDK or fails.
func bodyOf(in smithy.Serializable) []byte {
	w := &writer{b: []byte("{")}
	if !w.input(in) || w.unknown {
		return nil
	}
	return append(w.b, '}')
}

func TestRequests_AgreeWithTheSDK(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testsize.Seed(t), 2))
	c := Call{Own: true}
	written := 0
	n := testsize.Pick(2000, 50_000) * int(testsize.Number(t, "DYNASTRATA_ROUNDS", 1))
	for range n {
		op := inputs[r.IntN(len(inputs))]
		in := op.in()
		f := filler{r: r, with: func(string) bool { return r.IntN(40) == 0 }}
		f.fill(reflect.ValueOf(in).Elem())
		require.Equal(t, f.left, bodyOf(in) == nil, "%T", in)
		if !f.left {
			written++
		}
		sameRequest(t, op.schema, in, (&Call{Own: true}).Options)
		sameRequest(t, op.schema, in, c.Options)
	}
	assert.Greater(t, written, n/2)
	t.Logf("%d requests, of which %d were left to the SDK", n, n-written)
}

// A newer SDK with another member fails here, until the member is written or leaves the request to the SDK.
func TestRequests_WriteEveryMember(t *testing.T) {
	t.Parallel()
	left := map[string]bool{}
	for _, op := range inputs {
		in := op.in()
		f := filler{with: func(name string) bool { left[name] = false; return false }}
		f.fill(reflect.ValueOf(in).Elem())
		require.NotNil(t, bodyOf(in), "%T", in)
		sameRequest(t, op.schema, in, (&Call{Own: true}).Options)
		for name := range left {
			in := op.in()
			f := filler{with: func(member string) bool { return member == name }}
			if f.fill(reflect.ValueOf(in).Elem()); f.left {
				left[name] = true
				require.Nil(t, bodyOf(in), "%s", name)
				sameRequest(t, op.schema, in, (&Call{Own: true}).Options)
			}
		}
	}
	require.Equal(t, unwritten, left)
}

func TestRequests_Texts(t *testing.T) {
	t.Parallel()
	texts := []string{"", "\u2028\u2029", "<>&", "\x7f", "\ufffd", "\xed\xa0\x80", "\xf0\x9f\x98", "😀", "a\xffb", "\xc3(", "\U0010ffff", "\xf4\x90\x80\x80"}
	for c := range 256 {
		texts = append(texts, string([]byte{byte(c)}), "ab"+string([]byte{byte(c)})+"cd")
	}
	for _, s := range texts {
		in := &dynamodb.GetItemInput{TableName: &s, Key: map[string]types.AttributeValue{s: &types.AttributeValueMemberS{Value: s}}}
		require.NotNil(t, bodyOf(in))
		sameRequest(t, inputs[3].schema, in, (&Call{Own: true}).Options)
	}
}

func TestRequests_Bodies(t *testing.T) {
	t.Parallel()
	item := map[string]types.AttributeValue{
		"n": &types.AttributeValueMemberN{Value: "1"}, "b": &types.AttributeValueMemberB{}, "e": &types.AttributeValueMemberB{Value: []byte{}},
		"l": &types.AttributeValueMemberL{}, "m": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"z": &types.AttributeValueMemberNULL{Value: true}, "a": &types.AttributeValueMemberBOOL{}}},
	}
	put := &dynamodb.PutItemInput{TableName: aws.String("t"), Item: item}
	request := func(in smithy.Serializable) *smithyhttp.Request {
		o, req := dynamodb.Options{Protocol: sdk}, unsent("/")
		(&Call{Own: true}).Options(&o)
		require.NoError(t, o.Protocol.SerializeRequest(t.Context(), inputs[0].schema, in, req))
		return req
	}
	first, long := request(put), request(&dynamodb.PutItemInput{TableName: aws.String(strings.Repeat("t", 1000)), Item: item})
	longText := string(bodyIn(t, long))
	const want = `{"TableName":"t","Item":{"b":{"B":null},"e":{"B":""},"l":{"L":[]},"m":{"M":{"a":{"BOOL":false},"z":{"NULL":true}}},"n":{"N":"1"}}}`
	assert.Equal(t, want, string(bodyIn(t, first)))
	for n := range 20 { // other requests use other memory
		request(&dynamodb.PutItemInput{TableName: aws.String(strings.Repeat("another table", 10*n)), Item: item})
	}
	require.NoError(t, first.RewindStream())
	require.NoError(t, long.RewindStream())
	assert.Equal(t, want, string(bodyIn(t, first)))
	assert.Equal(t, longText, string(bodyIn(t, long)))

	for name, in := range map[string]smithy.Serializable{
		"nil":                  &dynamodb.PutItemInput{Item: map[string]types.AttributeValue{"a": nil}},
		"nil in a list":        &dynamodb.PutItemInput{Item: map[string]types.AttributeValue{"a": &types.AttributeValueMemberL{Value: []types.AttributeValue{nil}}}},
		"an unknown kind":      &dynamodb.PutItemInput{Item: map[string]types.AttributeValue{"a": &types.UnknownUnionMember{Tag: "X"}}},
		"of another operation": &dynamodb.DescribeTableInput{TableName: aws.String("t")},
	} {
		assert.Nil(t, bodyOf(in), name)
	}
	o := dynamodb.Options{Protocol: sdk}
	(&Call{Own: true}).Options(&o)
	var unwritten *smithy.SerializationError
	require.ErrorAs(t, o.Protocol.SerializeRequest(t.Context(), inputs[0].schema, &dynamodb.PutItemInput{Item: map[string]types.AttributeValue{"a": nil}}, unsent("/")), &unwritten)
	many := map[string]types.AttributeValue{}
	for len(many) < 100 {
		many[string(rune('a'+len(many)))] = &types.AttributeValueMemberB{Value: make([]byte, mostKept/64)}
	}
	sameRequest(t, inputs[0].schema, &dynamodb.PutItemInput{Item: many}, (&Call{Own: true}).Options)
}

func TestRequests_LeaveOtherProtocolsAlone(t *testing.T) {
	t.Parallel()
	c := Call{Own: true}
	for _, p := range []smithyhttp.ClientProtocol{awsjson.New11(schemas.DynamoDB_20120810), struct{ *awsjson.Protocol }{sdk}, nil} {
		o := dynamodb.Options{Protocol: p}
		assert.False(t, Ours(&o))
		if _, same := p.(*awsjson.Protocol); same {
			continue
		}
		c.Options(&o)
		assert.Equal(t, p, o.Protocol)
	}
}
