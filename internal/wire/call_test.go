package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
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

// operation is one whose answers have items.
type operation struct {
	name   string
	schema *smithy.OperationSchema
	out    func() smithy.Deserializable
	fill   func(out smithy.Deserializable, p *Page) // sets the items of the output
	body   func(w wiretest.Writer, items []wiretest.Item) []byte
}

func mapsOf(items []Item) []wiretest.Item {
	out := make([]wiretest.Item, len(items))
	for i, it := range items {
		out[i] = it.Map()
	}
	return out
}

func itemsOf(p *Page) []Item { return (&Call{Page: p}).Items(nil) }

func first(p *Page) wiretest.Item { return itemsOf(p)[0].Map() }

// around puts the items of an answer among other members.
func around(member string, w wiretest.Writer, items []byte) []byte {
	b, before, after := []byte("{"), w.R.IntN(2) == 0, w.R.IntN(2) == 0
	if before {
		b = append(b, `"Count":7,"ConsumedCapacity":null, `...)
	}
	b = append(append(append(b, `"`+member+`" :`...), items...), ' ')
	if after {
		b = append(b, `, "ScannedCount":9,"LastEvaluatedKey":{"pk":{"S":"a\n"}},"Other":[{"a":[1,-2.5e3,"]"]}]`...)
	}
	return append(b, '}')
}

var operations = []operation{
	{"Query", smithy.NewOperationSchema(schemas.Query, schemas.QueryInput, schemas.QueryOutput),
		func() smithy.Deserializable { return &dynamodb.QueryOutput{} },
		func(out smithy.Deserializable, p *Page) { out.(*dynamodb.QueryOutput).Items = mapsOf(itemsOf(p)) },
		func(w wiretest.Writer, items []wiretest.Item) []byte {
			return around("Items", w, w.AppendItems(nil, items))
		}},
	{"Scan", smithy.NewOperationSchema(schemas.Scan, schemas.ScanInput, schemas.ScanOutput),
		func() smithy.Deserializable { return &dynamodb.ScanOutput{} },
		func(out smithy.Deserializable, p *Page) { out.(*dynamodb.ScanOutput).Items = mapsOf(itemsOf(p)) },
		func(w wiretest.Writer, items []wiretest.Item) []byte {
			return around("Items", w, w.AppendItems(nil, items))
		}},
	{"GetItem", smithy.NewOperationSchema(schemas.GetItem, schemas.GetItemInput, schemas.GetItemOutput),
		func() smithy.Deserializable { return &dynamodb.GetItemOutput{} },
		func(out smithy.Deserializable, p *Page) { out.(*dynamodb.GetItemOutput).Item = first(p) },
		func(w wiretest.Writer, items []wiretest.Item) []byte {
			return around("Item", w, w.AppendItem(nil, items[0]))
		}},
	{"UpdateItem", smithy.NewOperationSchema(schemas.UpdateItem, schemas.UpdateItemInput, schemas.UpdateItemOutput),
		func() smithy.Deserializable { return &dynamodb.UpdateItemOutput{} },
		func(out smithy.Deserializable, p *Page) { out.(*dynamodb.UpdateItemOutput).Attributes = first(p) },
		func(w wiretest.Writer, items []wiretest.Item) []byte {
			return around("Attributes", w, w.AppendItem(nil, items[0]))
		}},
	{"TransactGetItems", smithy.NewOperationSchema(schemas.TransactGetItems, schemas.TransactGetItemsInput, schemas.TransactGetItemsOutput),
		func() smithy.Deserializable { return &dynamodb.TransactGetItemsOutput{} },
		func(out smithy.Deserializable, p *Page) {
			all := []types.ItemResponse{}
			for _, it := range itemsOf(p) {
				all = append(all, types.ItemResponse{Item: it.Map()})
			}
			out.(*dynamodb.TransactGetItemsOutput).Responses = all
		},
		func(w wiretest.Writer, items []wiretest.Item) []byte {
			b := []byte("[{}")
			for _, it := range items {
				b = append(w.AppendItem(append(b, `,{"Item":`...), it), '}')
			}
			return around("Responses", w, append(b, ']'))
		}},
	{"BatchGetItem", smithy.NewOperationSchema(schemas.BatchGetItem, schemas.BatchGetItemInput, schemas.BatchGetItemOutput),
		func() smithy.Deserializable { return &dynamodb.BatchGetItemOutput{} },
		func(out smithy.Deserializable, p *Page) {
			all := map[string][]wiretest.Item{}
			for _, t := range (&Call{Page: p}).Tables(nil) {
				all[t.Name] = mapsOf(t.Items)
			}
			out.(*dynamodb.BatchGetItemOutput).Responses = all
		},
		func(w wiretest.Writer, items []wiretest.Item) []byte {
			b := w.AppendItems([]byte(`{"t1":`), items[1:])
			b = w.AppendItems(append(b, `,"t2":`...), items[:1])
			return around("Responses", w, append(b, '}'))
		}},
}

var sdk = awsjson.New10(schemas.DynamoDB_20120810)

func answered(body []byte) *smithyhttp.Response {
	return &smithyhttp.Response{Response: &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body))}}
}

// compare reads a body by the SDK alone and through a call, and reports whether the call read the items.
func (o operation) compare(t testing.TB, body []byte) (ours bool) {
	t.Helper()
	ctx, want, alone := context.Background(), o.out(), dynamodb.Options{Protocol: sdk}
	new(Call).Options(&alone)
	wantErr := alone.Protocol.DeserializeResponse(ctx, o.schema, dynamodb.TypeRegistry, answered(body), want)
	c, opts := Call{Own: true}, dynamodb.Options{Protocol: sdk}
	c.Options(&opts)
	got := o.out()
	err := opts.Protocol.DeserializeResponse(ctx, o.schema, dynamodb.TypeRegistry, answered(body), got)
	if page := c.Page; page != nil {
		ours = true
		o.fill(got, page)
		Item{page: page}.Release()
	}
	if fmt.Sprint(wantErr) != fmt.Sprint(err) {
		t.Fatalf("%s: the SDK says %v, the call %v, for %q", o.name, wantErr, err, body)
	}
	if err == nil && !assert.ObjectsAreEqual(want, got) {
		t.Fatalf("%s: the SDK and the call differ for %q:\n%v\n%v", o.name, body, want, got)
	}
	return ours
}

// Items are those that the SDK reads, from answers as DynamoDB writes them, spelled in other ways, and broken.
func TestCall_AgreesWithTheSDK(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testsize.Seed(t), 1))
	items, read, broken, rejected := 0, 0, 0, 0
	for items < testsize.Pick(4000, 60_000)*int(testsize.Number(t, "DYNASTRATA_ROUNDS", 1)) {
		some := make([]wiretest.Item, 1+r.IntN(6))
		for i := range some {
			some[i] = wiretest.Item{}
			for range r.IntN(8) {
				some[i][wiretest.Text(r)+fmt.Sprint(r.IntN(3))] = wiretest.Value(r, 3)
			}
		}
		o, w := operations[r.IntN(len(operations))], wiretest.Writer{R: r, Odd: r.IntN(3) == 0}
		body := o.body(w, some)
		items += len(some)
		if o.compare(t, body) {
			read += len(some)
		} else if !w.Odd {
			t.Fatalf("the SDK read %s", body)
		}
		for range 2 {
			mutant := bytes.Clone(body)
			switch at := r.IntN(len(mutant)); r.IntN(4) {
			case 0:
				mutant[at] = byte(r.IntN(256))
			case 1:
				mutant = mutant[:at]
			case 2:
				mutant = append(mutant[:at:at], mutant[at+1:]...)
			case 3:
				mutant = append(append(mutant[:at:at], `{}[]",:\nu0`[r.IntN(11)]), mutant[at:]...)
			}
			broken++
			if !o.compare(t, mutant) {
				rejected++
			}
		}
	}
	t.Logf("%d items, of which %d read by calls; %d changed bodies, %d left to the SDK", items, read, broken, rejected)
	assert.Greater(t, read, items/2)
}

func TestCall_LeavesUnusualBodiesToTheSDK(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"L":[`, 100) + `{"S":"a"}` + strings.Repeat(`]}`, 100)
	for _, body := range []string{
		"", " ", "null", "[]", "{", "{}", `{"Count":1}`, `{"Items":null}`, `{"Items":[null]}`, `{"Items":[],"Items":[]}`, `{"It\u0065ms":[]}`, `{"Items":{}}`,
		`{"Items":[{"a":null}]}`, `{"Items":[{"a":{}}]}`, `{"Items":[{"a":{"X":1}}]}`, `{"Items":[{"a":{"S":"1","N":"2"}}]}`, `{"Items":[{"a":{"S":null}}]}`,
		`{"Items":[{"a":{"S":1}}]}`, `{"Items":[{"a":{"BOOL":"true"}}]}`, `{"Items":[{"a":{"SS":[null]}}]}`, `{"Items":[{"a":{"L":[null]}}]}`,
		`{"Items":[{"a":{"B":"a"}}]}`, `{"Items":[{"a":{"B":"YQ==YQ=="}}]}`, `{"Items":[{"a":{"B":"Y\nQ=="}}]}`, `{"Items":[{"a":{"BOOL":truex}}]}`,
		`{"Items":[{"a":{"S":"\x"}}]}`, `{"Items":[{"a":{"S":"\u12"}}]}`, "{\"Items\":[{\"a\":{\"S\":\"\n\"}}]}", `{"Items":[{"a":` + deep + `}]}`, `{"Items":[{"a":{"M":null}}]}`,
	} {
		assert.False(t, operations[0].compare(t, []byte(body)), "%s", body)
	}
	for _, body := range []string{`{"Items":[]}`, ` { "Items" : [ ] } x`, `{"Items":[{}]}`, `{"Items":[],"Count":01}`, `{"a":[{"b":"}"}],"Items":[{"a":{"B":"YQ=\u003d"}},{"a":{"NULL":false}}]}`,
		`{"Items":[{"a":{"B":"YR=="}}],"Count":3}`, `{"Items":[{"a":{"L":[{"M":{"":{"N":""}}}]}}]}`, `{"Items":[],"Count":3}`} {
		ours := operations[0].compare(t, []byte(body))
		assert.Equal(t, !strings.Contains(body, "01"), ours, "%s", body)
	}
}

func FuzzCall(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 2))
	for i, o := range operations {
		f.Add(i, o.body(wiretest.Writer{R: r}, []wiretest.Item{{"a": wiretest.Value(r, 3)}, {"b": wiretest.Value(r, 3)}}))
	}
	f.Fuzz(func(t *testing.T, i int, body []byte) { operations[uint(i)%uint(len(operations))].compare(t, body) })
}

// A body that is cut, by a connection that breaks or a context that ends, returns its memory once.
func TestPage_MemoryIsReturnedOnce(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	_, err := receive(io.MultiReader(strings.NewReader(`{"Items":[`), iotest.ErrReader(broken)), 0)
	require.ErrorIs(t, err, broken)

	a, err := receive(strings.NewReader(`{"Items":[{"a":{"S":"x"}}]}`), 0)
	require.NoError(t, err)
	_, ok := a.parse("Items", (*answer).items)
	require.True(t, ok)
	page := &Page{a}
	it := itemsOf(page)[0]
	v := it.Value("a")
	it.Release()
	a.body = append(a.body[:0], "another answer"...)
	it.Release()
	assert.Equal(t, "another answer", string(a.body), "a second release leaves the memory alone")
	for _, use := range []func(){
		func() { it.Get("a") }, func() { it.Map() }, func() { it.Fields(finder(1)) }, func() { it.Value("a") },
		func() { itemsOf(page) }, func() { v.Kind() }, func() { v.Text() },
	} {
		assert.Panics(t, use)
	}
}

// A body can be dense with values, whose nodes take more memory than the body.
func TestPage_MuchMemoryIsNotKept(t *testing.T) {
	t.Parallel()
	for body, kept := range map[string]bool{
		`{"Items":[{"a":{"S":"x"}}]}`:                                             true,
		`{"Items":[{"a":{"NS":[` + strings.Repeat(`"",`, maxKept/4) + `""]}}]}`:   false,
		`{"Items":[` + strings.Repeat(`{},`, maxKept/4) + `{}]}`:                  false,
		`{"Items":[{"a":{"S":"` + strings.Repeat("x", maxKept) + `"}}]}`:          false,
		`{"Items":[` + strings.Repeat(`{"a":{"S":"some text"}},`, 1<<16) + `{}]}`: true,
	} {
		a, err := receive(strings.NewReader(body), 0)
		require.NoError(t, err)
		_, ok := a.parse("Items", (*answer).items)
		require.True(t, ok)
		Item{page: &Page{a}}.Release()
		small := cap(a.body) <= maxKept && cap(a.nodes) <= maxKeptNodes && cap(a.rows) <= maxKeptNodes
		assert.Equal(t, kept, small, "%d bytes, %d nodes, %d rows", cap(a.body), cap(a.nodes), cap(a.rows))
	}
}

// A batch is of 100 keys, so more tables are left to the SDK, which finds repeated names faster.
func TestCall_LeavesManyTablesToTheSDK(t *testing.T) {
	t.Parallel()
	for n, ours := range map[int]bool{1: true, mostTables: true, mostTables + 1: false} {
		b := []byte(`{"Responses":{`)
		for i := range n {
			b = fmt.Appendf(b, `"t%d":[{}],`, i)
		}
		assert.Equal(t, ours, operations[5].compare(t, append(b[:len(b)-1], "}}"...)), "%d", n)
	}
}

// A string that is kept keeps little memory besides its own.
func TestPage_TextsShareSmallPieces(t *testing.T) {
	p := answer{shared: shared{left: 1 << 20}}
	for _, n := range []int{1, 10, maxShared, 3 * maxPiece, 100, maxPiece} {
		assert.Len(t, p.text(bytes.Repeat([]byte("x"), n)), n)
		assert.LessOrEqual(t, p.piece.Cap(), maxPiece)
	}
	assert.Zero(t, testing.AllocsPerRun(10, func() { p.text([]byte("a")) }))
}

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

// requireWritten demands that a put of an item is written as the SDK writes it.
func requireWritten(t *testing.T, table string, it map[string]types.AttributeValue) {
	t.Helper()
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

func TestWriter_ItemsAreThoseOfTheSDK(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testsize.Seed(t), 2))
	n := testsize.Pick(2000, 15_000) * int(testsize.Number(t, "DYNASTRATA_ROUNDS", 1))
	for range n {
		table, it := wiretest.Text(r), map[string]types.AttributeValue{}
		for range r.IntN(20) {
			it[wiretest.Text(r)] = wiretest.Value(r, 3)
		}
		requireWritten(t, table, it)
	}
	t.Logf("%d items", n)
}

// A Writer keeps the names of an item for the next one, which need not have them.
func TestWriter_ItemsAfterOthers(t *testing.T) {
	t.Parallel()
	one := func(names ...string) map[string]types.AttributeValue {
		it := map[string]types.AttributeValue{}
		for _, name := range names {
			it[name] = &types.AttributeValueMemberS{Value: name}
		}
		return it
	}
	nested := one("b")
	nested["a"] = &types.AttributeValueMemberM{Value: one("d", "c", "a")}
	all := []map[string]types.AttributeValue{one("b", "a"), one("a", "b"), one("a", "c"), one("a"), one(), nested, one("b", "a"), one("c", "d", "e")}
	w := new(Writer)
	for _, it := range all {
		w.Text = nil
		w.Item(it)
		alone := new(Writer)
		alone.Item(it)
		require.Equal(t, string(alone.Text), string(w.Text))
		require.Len(t, decoded(t, w.Text), len(it))
	}
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
		requireWritten(t, s, map[string]types.AttributeValue{s: &types.AttributeValueMemberS{Value: s}})
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
