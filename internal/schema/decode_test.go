package schema_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/wire"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/tests/wiretest"
)

type (
	// Leaf, Outer and Again are embedded in random structs; Again embeds a type twice.
	Leaf struct {
		A string `dynamodbav:"a"`
		B int16  `dynamodbav:"leafB,omitempty"`
	}
	Outer struct {
		*Leaf
		C time.Time `dynamodbav:"c,unixtime"`
	}
	Again struct {
		Leaf
		D Outer `dynamodbav:"d"`
	}
	twice struct {
		Outer
		Leaf
	}
	trunk struct {
		Left, Right *trunk
		Twigs       []trunk        `dynamodbav:"twigs"`
		By          map[string]any `dynamodbav:"by"`
		Size        uint8
	}
	// tint is stored as a text that not every text is.
	tint string
	// inky decodes itself.
	inky struct{ Text string }
)

func (h tint) MarshalText() ([]byte, error) { return []byte("h-" + h), nil }

func (h *tint) UnmarshalText(b []byte) error {
	if !bytes.HasPrefix(b, []byte("h-")) {
		return errors.New("no tint")
	}
	*h = tint(b[2:])
	return nil
}

func (i *inky) UnmarshalDynamoDBAttributeValue(av types.AttributeValue) error {
	i.Text = fmt.Sprintf("%T", av)
	return nil
}

func (i inky) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return item.S(i.Text), nil
}

var leaves = []any{"", tint(""), true, 1, int8(1), int16(1), int32(1), int64(1), uint(1), uint8(1), uint16(1), uint32(1), uint64(1), float32(1), 1.5, []byte{}, json.RawMessage{}, [3]byte{}, [2]int{},
	time.Time{}, stamp{}, &time.Time{}, (*any)(nil), netip.Addr{}, &netip.Addr{}, &big.Int{}, json.Number(""), attributevalue.Number(""), attributevalue.UnixTime{}, inky{}, &inky{},
	shade(1), time.Duration(1), Leaf{}, &Outer{}, Again{}, twice{}, trunk{}, &trunk{}, struct{}{}, map[int]string{}, map[tint]int{}, map[string]struct{}{}}

// randomType returns a type that can be a field.
func randomType(r *rand.Rand, depth int) reflect.Type {
	if depth > 0 {
		switch r.IntN(9) {
		case 0:
			return reflect.SliceOf(randomType(r, depth-1))
		case 1:
			return reflect.MapOf(reflect.TypeFor[string](), randomType(r, depth-1))
		case 2:
			return reflect.PointerTo(randomType(r, depth-1))
		case 3:
			return randomStruct(r, depth-1)
		}
	}
	t := reflect.TypeOf(leaves[r.IntN(len(leaves))])
	if t == reflect.TypeFor[*any]() {
		return t.Elem()
	}
	return t
}

// randomStruct returns a struct type with random fields, whose names can differ in case only.
func randomStruct(r *rand.Rand, depth int) reflect.Type {
	options := []string{"", "", "", "", ",omitempty", ",string", ",unixtime", ",stringset", ",numberset", ",binaryset", ",nullempty"}
	var fields []reflect.StructField
	for i := range 1 + r.IntN(6) {
		f := reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: randomType(r, depth)}
		name := fmt.Sprintf("%c%d", "abAB"[r.IntN(4)], i)
		switch r.IntN(12) {
		case 0:
			name = "-"
		case 1:
			name = ""
		case 2:
			name = "a"
		}
		f.Tag = reflect.StructTag(`dynamodbav:"` + name + options[r.IntN(len(options))] + `"`)
		if r.IntN(12) == 0 {
			f = reflect.StructField{Name: "Leaf", Type: reflect.TypeFor[Leaf](), Anonymous: true}
			if i > 0 {
				continue
			}
		}
		fields = append(fields, f)
	}
	return reflect.StructOf(fields)
}

// valueFor returns a value that mostly fits a field of type t.
func valueFor(r *rand.Rand, t reflect.Type, depth int) types.AttributeValue {
	if r.IntN(400) == 0 {
		return wiretest.Value(r, 1)
	}
	if r.IntN(25) == 0 {
		return &types.AttributeValueMemberNULL{Value: true}
	}
	list := func(elem func() types.AttributeValue) types.AttributeValue {
		l := &types.AttributeValueMemberL{Value: []types.AttributeValue{}}
		for range r.IntN(4) {
			l.Value = append(l.Value, elem())
		}
		return l
	}
	small := func() string { return fmt.Sprint(r.IntN(128)) }
	switch t.Kind() {
	case reflect.Pointer:
		return valueFor(r, t.Elem(), depth)
	case reflect.String:
		return item.S([]string{wiretest.Text(r), "h-x", "12"}[r.IntN(3)])
	case reflect.Bool:
		return &types.AttributeValueMemberBOOL{Value: r.IntN(2) == 0}
	case reflect.Interface:
		return wiretest.Value(r, 2)
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return &types.AttributeValueMemberB{Value: []byte("xyz")[:r.IntN(5)%4]}
		}
		switch e := t.Elem(); r.IntN(3) {
		case 0:
			if e.Kind() == reflect.String {
				return &types.AttributeValueMemberSS{Value: []string{wiretest.Text(r), "h-y"}}
			}
		case 1:
			if e.Kind() >= reflect.Int && e.Kind() <= reflect.Float64 {
				return &types.AttributeValueMemberNS{Value: []string{small(), small()}[:r.IntN(3)]}
			}
			if e.Kind() == reflect.Slice {
				return &types.AttributeValueMemberBS{Value: [][]byte{[]byte("a"), {}}[:r.IntN(3)]}
			}
		}
		return list(func() types.AttributeValue { return valueFor(r, t.Elem(), depth-1) })
	case reflect.Map:
		m := &types.AttributeValueMemberM{Value: item.Item{}}
		for range r.IntN(4) {
			m.Value[[]string{small(), "h-" + small(), wiretest.Text(r)}[r.IntN(3)]] = valueFor(r, t.Elem(), depth-1)
		}
		return m
	case reflect.Struct:
		if t.ConvertibleTo(reflect.TypeFor[time.Time]()) {
			if r.IntN(3) == 0 {
				return item.N(fmt.Sprint(r.Int64N(400e9) - 100e9))
			}
			at := time.Unix(r.Int64N(4e9), r.Int64N(1e9))
			return item.S([]string{at.UTC().Format("2006-01-02T15:04:05.000000000Z"), at.UTC().Format(time.RFC3339Nano), at.In(time.FixedZone("", 3600)).Format(time.RFC3339),
				strings.ToLower(at.UTC().Format("2006-01-02T15:04:05Z")), "2024-02-29T23:59:59.5Z", "2026-02-30T00:00:00Z"}[r.IntN(41)%8%6])
		}
		switch t {
		case reflect.TypeFor[netip.Addr]():
			return item.S("10.0.0.1")
		case reflect.TypeFor[big.Int]():
			return item.S(wiretest.Number(r))
		}
		if depth <= 0 {
			return &types.AttributeValueMemberM{Value: item.Item{}}
		}
		return &types.AttributeValueMemberM{Value: itemFor(r, t, depth-1)}
	}
	switch r.IntN(80) {
	case 0:
		return item.S(small())
	case 1, 2:
		return item.N(wiretest.Number(r))
	}
	return item.N(small())
}

// itemFor returns an item that mostly fits a struct type.
func itemFor(r *rand.Rand, t reflect.Type, depth int) item.Item {
	it := item.Item{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("dynamodbav"), ",")
		if name == "" {
			name = f.Name
		}
		if f.Anonymous && f.Tag == "" {
			inner := f.Type
			if inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			for k, v := range itemFor(r, inner, depth) {
				it[k] = v
			}
			continue
		}
		if r.IntN(8) > 0 {
			it[name] = valueFor(r, f.Type, depth)
		}
	}
	if r.IntN(3) == 0 {
		it[[]string{"A", "LEFT", "extra", "a"}[r.IntN(4)]] = wiretest.Value(r, 1)
	}
	return it
}

var (
	protocol   = awsjson.New10(schemas.DynamoDB_20120810)
	queryShape = smithy.NewOperationSchema(schemas.Query, schemas.QueryInput, schemas.QueryOutput)
)

// rowsOf reads a body through the SDK's pipeline for the answer to a query: the rows of its page, nil where it is left to the SDK. The
// items that the SDK reads from it are sdk.
func rowsOf(t *testing.T, body []byte) (rows []wire.Item, sdk []item.Item) {
	answer := func() *smithyhttp.Response {
		return &smithyhttp.Response{Response: &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body))}}
	}
	var plain, out dynamodb.QueryOutput
	require.NoError(t, protocol.DeserializeResponse(context.Background(), queryShape, dynamodb.TypeRegistry, answer(), &plain))
	call, o := wire.Call{Own: true}, dynamodb.Options{Protocol: protocol}
	call.Options(&o)
	require.NoError(t, o.Protocol.DeserializeResponse(context.Background(), queryShape, dynamodb.TypeRegistry, answer(), &out))
	if call.Page != nil {
		rows = call.Items(nil)
	}
	return rows, plain.Items
}

// TestDecode_CompiledIsAsAttributevalue decodes random items into random structs: compiled from the text and from the
// SDK's attribute values, and by attributevalue.
func TestDecode_CompiledIsAsAttributevalue(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testsize.Seed(t), 2))
	types, items, failed, compiled := 0, 0, 0, 0
	for items < testsize.Pick(6000, 60_000)*int(testsize.Number(t, "DYNASTRATA_ROUNDS", 1)) {
		typ := randomStruct(r, 3)
		if r.IntN(20) == 0 {
			typ = []reflect.Type{reflect.TypeFor[trunk](), reflect.TypeFor[Again](), reflect.TypeFor[twice](), reflect.TypeFor[Outer]()}[r.IntN(4)]
		}
		sdk, err := schema.CodecOf(typ, schema.Options{Precision: key.Micro})
		if err != nil {
			continue // not a type that the library accepts
		}
		own := sdk
		canCompile := own.Compile(typ)
		types++
		for range testsize.Pick(4, 10) {
			some := make([]item.Item, testsize.Pick(8, 20))
			for i := range some {
				some[i] = itemFor(r, typ, 4)
			}
			w := wiretest.Writer{R: r, Odd: r.IntN(4) == 0}
			rows, stored := rowsOf(t, append(w.AppendItems([]byte(`{"Items":`), some), '}'))
			if rows == nil {
				assert.True(t, w.Odd)
				continue
			}
			var values []reflect.Value
			var errs []error
			for i := range stored {
				v := reflect.New(typ)
				errs, values = append(errs, own.Read(rows[i], reflect.Value{}, v)), append(values, v)
			}
			wire.ReleaseAll(rows)
			again, _ := rowsOf(t, append(w.AppendItems([]byte(`{"Items":`), some[:1]), '}')) // in the memory of the first
			for i, it := range stored {
				items++
				want, mapped := reflect.New(typ), reflect.New(typ)
				wantErr, mapErr := sdk.Decode(it, want), own.Decode(it, mapped)
				if wantErr != nil {
					failed++
					assert.Equal(t, wantErr, errs[i], "%s\n%v", typ, it)
					assert.Equal(t, wantErr, mapErr, "%s\n%v", typ, it)
				} else if assert.NoError(t, errs[i], "%s\n%v", typ, it) && assert.NoError(t, mapErr) {
					assert.Equal(t, want.Interface(), values[i].Interface(), "%s\n%v", typ, it)
					assert.Equal(t, want.Interface(), mapped.Interface(), "%s\n%v", typ, it)
				}
				if t.Failed() {
					return
				}
			}
			if canCompile {
				compiled += len(stored)
			}
			wire.ReleaseAll(again)
		}
	}
	t.Logf("%d types, %d items, of which %d do not fit; %d compiled", types, items, failed, compiled)
	assert.Greater(t, compiled, items/4)
}
