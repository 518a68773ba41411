package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
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

	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/tests/wiretest"
)

// writtenHere are the operations whose text a call can have.
var writtenHere = []*smithy.OperationSchema{
	smithy.NewOperationSchema(schemas.PutItem, schemas.PutItemInput, schemas.PutItemOutput),
	smithy.NewOperationSchema(schemas.UpdateItem, schemas.UpdateItemInput, schemas.UpdateItemOutput),
	smithy.NewOperationSchema(schemas.DeleteItem, schemas.DeleteItemInput, schemas.DeleteItemOutput),
	smithy.NewOperationSchema(schemas.GetItem, schemas.GetItemInput, schemas.GetItemOutput),
	smithy.NewOperationSchema(schemas.Query, schemas.QueryInput, schemas.QueryOutput),
	smithy.NewOperationSchema(schemas.Scan, schemas.ScanInput, schemas.ScanOutput),
	smithy.NewOperationSchema(schemas.BatchGetItem, schemas.BatchGetItemInput, schemas.BatchGetItemOutput),
	smithy.NewOperationSchema(schemas.BatchWriteItem, schemas.BatchWriteItemInput, schemas.BatchWriteItemOutput),
	smithy.NewOperationSchema(schemas.TransactGetItems, schemas.TransactGetItemsInput, schemas.TransactGetItemsOutput),
	smithy.NewOperationSchema(schemas.TransactWriteItems, schemas.TransactWriteItemsInput, schemas.TransactWriteItemsOutput),
}

func unsent(path string) *smithyhttp.Request {
	return &smithyhttp.Request{Request: &http.Request{URL: &url.URL{Path: path}, Header: http.Header{"A": {"b"}}, ContentLength: -1}}
}

// protocolWith returns the protocol of a call whose request has a text.
func protocolWith(text []byte, table *string) smithyhttp.ClientProtocol {
	o := dynamodb.Options{Protocol: sdk}
	(&Call{Own: true, Text: text, Table: table}).Options(&o)
	return o.Protocol
}

// finished returns what write writes as a whole text.
func finished(t *testing.T, write func(w *Writer)) []byte {
	t.Helper()
	var w Writer
	write(&w)
	require.NoError(t, w.Err)
	require.True(t, utf8.Valid(w.Text), "%q", w.Text)
	return w.Text
}

// bySDK returns the text that the SDK writes for an input.
func bySDK(t *testing.T, schema *smithy.OperationSchema, in smithy.Serializable) []byte {
	t.Helper()
	req := unsent("/")
	require.NoError(t, sdk.SerializeRequest(t.Context(), schema, in, req))
	return bodyIn(t, req)
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

func TestWriter_ItemsAreThoseOfTheSDK(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testsize.Seed(t), 2))
	n := testsize.Pick(2000, 15_000) * int(testsize.Number(t, "DYNASTRATA_ROUNDS", 1))
	for range n {
		table, it := wiretest.Text(r), map[string]types.AttributeValue{}
		for range r.IntN(20) {
			it[wiretest.Text(r)] = wiretest.Value(r, 3)
		}
		want := bySDK(t, writtenHere[0], &dynamodb.PutItemInput{TableName: &table, Item: it})
		got := finished(t, func(w *Writer) {
			w.Part("{")
			w.Name("TableName")
			w.String(table)
			w.Name("Item")
			w.Item(it)
			w.Part("}")
		})
		require.Equal(t, decoded(t, want), decoded(t, got), "%s\n%s", want, got)
	}
	t.Logf("%d items", n)
}

func TestWriter_KeysAreThoseOfTheSDK(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testsize.Seed(t), 4))
	for range testsize.Pick(500, 15_000) {
		var keys []Key
		var maps []map[string]types.AttributeValue
		names := []string{wiretest.Text(r) + "1", wiretest.Text(r) + "2"}[:1+r.IntN(2)]
		for range 1 + r.IntN(4) {
			m := map[string]types.AttributeValue{}
			for _, name := range names {
				m[name] = wiretest.Value(r, 1)
			}
			key := KeyOf(m)
			require.Equal(t, m, key.Map())
			require.Equal(t, key, key.With(m))
			maps, keys = append(maps, m), append(keys, key)
		}
		table := wiretest.Text(r)
		want := bySDK(t, writtenHere[6], &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{table: {Keys: maps}}})
		got := finished(t, func(w *Writer) {
			w.Part("{")
			w.Name("RequestItems")
			w.Part("{")
			w.Name(table)
			w.Part("{")
			w.Name("Keys")
			w.Part("[")
			for _, key := range keys {
				w.Key(key)
			}
			w.Text = append(w.Text, `]}}}`...)
		})
		require.Equal(t, decoded(t, want), decoded(t, got), "%s\n%s", want, got)
	}
}

func TestWriter_Texts(t *testing.T) {
	t.Parallel()
	texts := []string{"", "\u2028\u2029", "<>&", "\x7f", "\ufffd", "\xed\xa0\x80", "\xf0\x9f\x98", "😀", "a\xffb", "\xc3(", "\U0010ffff", "\xf4\x90\x80\x80"}
	for c := range 256 {
		texts = append(texts, string([]byte{byte(c)}), "ab"+string([]byte{byte(c)})+"cd")
	}
	for _, s := range texts {
		it := map[string]types.AttributeValue{s: &types.AttributeValueMemberS{Value: s}}
		want := bySDK(t, writtenHere[0], &dynamodb.PutItemInput{Item: it})
		got := finished(t, func(w *Writer) {
			w.Part("{")
			w.Name("Item")
			w.Item(it)
			w.Part("}")
		})
		require.Equal(t, decoded(t, want), decoded(t, got), "%s\n%s", want, got)
	}
}

func TestWriter_TextsAndErrors(t *testing.T) {
	t.Parallel()
	it := map[string]types.AttributeValue{
		"n": &types.AttributeValueMemberN{Value: "1"}, "b": &types.AttributeValueMemberB{}, "e": &types.AttributeValueMemberB{Value: []byte{}},
		"l": &types.AttributeValueMemberL{}, "s": &types.AttributeValueMemberSS{Value: []string{"x", "y"}},
		"m": &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"z": &types.AttributeValueMemberNULL{Value: true}, "a": &types.AttributeValueMemberBOOL{}}},
	}
	const want = `{"b":{"B":null},"e":{"B":""},"l":{"L":[]},"m":{"M":{"a":{"BOOL":false},"z":{"NULL":true}}},"n":{"N":"1"},"s":{"SS":["x","y"]}}`
	require.Equal(t, want, string(finished(t, func(w *Writer) { w.Item(it) })))
	for name, v := range map[string]types.AttributeValue{
		"nil": nil, "nil in a list": &types.AttributeValueMemberL{Value: []types.AttributeValue{nil}}, "an unknown kind": &types.UnknownUnionMember{Tag: "X"},
	} {
		var w Writer
		w.Item(map[string]types.AttributeValue{"a": v, "b": &types.AttributeValueMemberS{}})
		var unwritten *smithy.SerializationError
		require.ErrorAs(t, w.Err, &unwritten, name)
	}
}

// The text of a call is sent as the SDK would have sent it, however often, and never changes.
func TestRequests_HaveTheTextOfTheCall(t *testing.T) {
	t.Parallel()
	for _, op := range writtenHere {
		sent := []byte(`{"TableName":"t"}`)
		for _, path := range []string{"", "/x"} {
			want, got, again := unsent(path), unsent(path), unsent(path)
			in := &dynamodb.GetItemInput{TableName: aws.String("table")}
			require.NoError(t, sdk.SerializeRequest(t.Context(), op, in, want))
			p := protocolWith(sent, in.TableName)
			require.NoError(t, p.SerializeRequest(t.Context(), op, in, got))
			require.NoError(t, p.SerializeRequest(t.Context(), op, in, again))
			require.Equal(t, string(sent), string(bodyIn(t, got)))
			require.Equal(t, string(sent), string(bodyIn(t, again)))
			require.Equal(t, want.Header, got.Header)
			require.Equal(t, want.Method, got.Method)
			require.Equal(t, want.URL, got.URL)
			require.EqualValues(t, len(bodyIn(t, want)), want.ContentLength)
			require.EqualValues(t, len(sent), got.ContentLength)
			require.Equal(t, want.IsStreamSeekable(), got.IsStreamSeekable())
			require.IsType(t, want.GetStream(), got.GetStream())
		}
	}
}

// A request whose table was changed would be sent to another one than its text says.
func TestRequests_RefuseAnotherTable(t *testing.T) {
	t.Parallel()
	table := aws.String("t")
	for i, in := range []smithy.Serializable{
		&dynamodb.PutItemInput{TableName: aws.String("prod-t")}, &dynamodb.UpdateItemInput{}, &dynamodb.DeleteItemInput{TableName: aws.String("prod-t")},
		&dynamodb.GetItemInput{TableName: aws.String("prod-t")}, &dynamodb.QueryInput{TableName: aws.String("prod-t")}, &dynamodb.ScanInput{TableName: aws.String("prod-t")},
	} {
		var unwritten *smithy.SerializationError
		require.ErrorAs(t, protocolWith([]byte(`{}`), table).SerializeRequest(t.Context(), writtenHere[i], in, unsent("/")), &unwritten, "%T", in)
	}
	require.NoError(t, protocolWith([]byte(`{}`), nil).SerializeRequest(t.Context(), writtenHere[6], &dynamodb.BatchGetItemInput{}, unsent("/")))
}

// Without a text, the SDK writes the request.
func TestRequests_WithoutATextAreTheSDKs(t *testing.T) {
	t.Parallel()
	in, got := &dynamodb.GetItemInput{TableName: aws.String("t"), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberN{Value: "1"}}}, unsent("/")
	require.NoError(t, protocolWith(nil, nil).SerializeRequest(t.Context(), writtenHere[3], in, got))
	require.JSONEq(t, `{"TableName":"t","Key":{"pk":{"N":"1"}}}`, string(bodyIn(t, got)))
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
