package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

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
