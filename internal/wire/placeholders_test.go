package wire

import (
	"math/rand/v2"
	"reflect"
	"slices"
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
	f := filler{r: r, with: func(string) bool { return false }}
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

// withAll returns a copy of in that has what it lacks.
func withAll(in smithy.Serializable, of []Placeholders) smithy.Serializable {
	full := reflect.New(reflect.TypeOf(in).Elem())
	full.Elem().Set(reflect.ValueOf(in).Elem())
	give := func(v reflect.Value, p *Placeholders) {
		v.FieldByName("ExpressionAttributeNames").Set(reflect.ValueOf(p.NameMap()))
		v.FieldByName("ExpressionAttributeValues").Set(reflect.ValueOf(p.ValueMap()))
	}
	many, ok := full.Interface().(*dynamodb.TransactWriteItemsInput)
	if !ok {
		give(full.Elem(), &of[0])
		return full.Interface().(smithy.Serializable)
	}
	many.TransactItems = slices.Clone(many.TransactItems)
	for i := range many.TransactItems {
		it := reflect.ValueOf(&many.TransactItems[i]).Elem()
		for f := range it.NumField() {
			if action := it.Field(f); action.Kind() == reflect.Pointer && !action.IsNil() {
				own := reflect.New(action.Type().Elem())
				own.Elem().Set(action.Elem())
				give(own.Elem(), &of[i])
				action.Set(own)
			}
		}
	}
	return many
}

// What an input lacks is in the request as if the input had it.
func TestPlaceholders_RequestsAreThoseOfMaps(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testsize.Seed(t), 5))
	for range int(testsize.Number(t, "DYNASTRATA_REQUESTS", uint64(testsize.Pick(2000, 100_000)))) {
		in, schema, of := lacking(r)
		o := dynamodb.Options{Protocol: sdk}
		(&Call{Own: true, Placeholders: of}).Options(&o)
		want, got := unsent("/"), unsent("/")
		require.NoError(t, sdk.SerializeRequest(t.Context(), schema, withAll(in, of), want))
		require.NoError(t, o.Protocol.SerializeRequest(t.Context(), schema, in, got))
		wantBody, body := bodyIn(t, want), bodyIn(t, got)
		require.Equal(t, decoded(t, wantBody), decoded(t, body), "%T\n%s\n%s", in, wantBody, body)
		require.Equal(t, want.Header, got.Header)
		require.EqualValues(t, len(body), got.ContentLength)
	}
}
