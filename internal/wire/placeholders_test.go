package wire

import (
	"math/rand/v2"
	"reflect"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/internal/wire/wiretest"
)

// somePlaceholders returns random names and values, sometimes more than have a placeholder that is kept.
func somePlaceholders(r *rand.Rand) (p Placeholders) {
	n := r.IntN(4)
	if r.IntN(20) == 0 {
		n = 12 + r.IntN(100)
	}
	for i := range n {
		p.Names = append(p.Names, wiretest.Text(r)+strconv.Itoa(i))
	}
	if r.IntN(3) == 0 {
		n = 0
	}
	for range n {
		p.Values = append(p.Values, wiretest.Value(r, 2))
	}
	return p
}

// lacking returns a random write without the names and values of its expressions, and these.
func lacking(r *rand.Rand) (in smithy.Serializable, schema *smithy.OperationSchema, of []Placeholders) {
	op := inputs[[...]int{0, 1, 2, 9}[r.IntN(4)]]
	in = op.in()
	f := filler{r: r, with: func(string) bool { return r.IntN(60) == 0 }}
	f.fill(reflect.ValueOf(in).Elem())
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		in.ExpressionAttributeNames, in.ExpressionAttributeValues = nil, nil
	case *dynamodb.UpdateItemInput:
		in.ExpressionAttributeNames, in.ExpressionAttributeValues = nil, nil
	case *dynamodb.DeleteItemInput:
		in.ExpressionAttributeNames, in.ExpressionAttributeValues = nil, nil
	case *dynamodb.TransactWriteItemsInput:
		in.TransactItems = nil
		for range 1 + r.IntN(4) {
			of = append(of, somePlaceholders(r))
			in.TransactItems = append(in.TransactItems, oneAction(r))
		}
		return in, op.schema, of
	}
	return in, op.schema, []Placeholders{somePlaceholders(r)}
}

// oneAction returns a random action of a transaction.
func oneAction(r *rand.Rand) (it types.TransactWriteItem) {
	f := filler{r: r, with: func(string) bool { return false }}
	kind := reflect.ValueOf(&it).Elem().Field(r.IntN(4))
	action := reflect.New(kind.Type().Elem())
	f.fill(action.Elem())
	action.Elem().FieldByName("ExpressionAttributeNames").SetZero()
	action.Elem().FieldByName("ExpressionAttributeValues").SetZero()
	kind.Set(action)
	return it
}

// What an input lacks is in the request as if the input had it, also if the SDK writes the request.
func TestPlaceholders_RequestsAreThoseOfMaps(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testsize.Seed(t), 5))
	n, left := int(testsize.Number(t, "DYNASTRATA_REQUESTS", uint64(testsize.Pick(2000, 100_000)))), 0
	for range n {
		in, schema, of := lacking(r)
		if payloadOf(in, schema, of) == nil {
			left++
		}
		before := reflect.ValueOf(in).Elem().Interface()
		full := complete(in, of)
		require.Equal(t, before, reflect.ValueOf(in).Elem().Interface())
		o := dynamodb.Options{Protocol: sdk}
		(&Call{Placeholders: of}).Options(&o)
		want, got := unsent("/"), unsent("/")
		require.NoError(t, sdk.SerializeRequest(t.Context(), schema, full, want))
		require.NoError(t, o.Protocol.SerializeRequest(t.Context(), schema, in, got))
		wantBody, body := bodyIn(t, want), bodyIn(t, got)
		require.Equal(t, decoded(t, wantBody), decoded(t, body), "%T\n%s\n%s", in, wantBody, body)
		require.Equal(t, want.Header, got.Header)
		require.EqualValues(t, len(body), got.ContentLength)
	}
	require.NotZero(t, left)
	t.Logf("%d requests, of which %d were left to the SDK", n, left)
}

func TestPlaceholders_UnknownValuesAreLeftToTheSDK(t *testing.T) {
	t.Parallel()
	in := &dynamodb.DeleteItemInput{Key: map[string]types.AttributeValue{}}
	of := []Placeholders{{Names: []string{"a"}, Values: []types.AttributeValue{nil}}}
	require.Nil(t, payloadOf(in, inputs[2].schema, of))
	o := dynamodb.Options{Protocol: sdk}
	(&Call{Placeholders: of}).Options(&o)
	want, got := unsent("/"), unsent("/")
	require.Equal(t, sdk.SerializeRequest(t.Context(), inputs[2].schema, complete(in, of), want), o.Protocol.SerializeRequest(t.Context(), inputs[2].schema, in, got))
	require.Equal(t, string(bodyIn(t, want)), string(bodyIn(t, got)))
}
