package wire

import (
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/internal/wire/wiretest"
)

var batchGet = smithy.NewOperationSchema(schemas.BatchGetItem, schemas.BatchGetItemInput, schemas.BatchGetItemOutput)

// written returns the request that a call writes.
func written(t *testing.T, c *Call, in *dynamodb.BatchGetItemInput) (body []byte, header http.Header, err error) {
	t.Helper()
	o := dynamodb.Options{Protocol: sdk}
	c.Options(&o)
	req := &smithyhttp.Request{Request: &http.Request{URL: &url.URL{}, Header: http.Header{}}}
	if err := o.Protocol.SerializeRequest(t.Context(), batchGet, in, req); err != nil {
		return nil, nil, err
	}
	body, err = io.ReadAll(req.GetStream())
	require.NoError(t, err)
	return body, req.Header, nil
}

func TestKey_RequestsAreThoseOfMaps(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testsize.Seed(t), 4))
	for range testsize.Pick(500, 50_000) {
		full := &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{}, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
		bare := &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{}, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
		call := &Call{Own: true, Keys: map[string][]Key{}}
		for range 1 + r.IntN(3) {
			table, all := wiretest.Text(r), []map[string]types.AttributeValue{}
			call.Keys[table] = nil
			names := []string{wiretest.Text(r) + "1", wiretest.Text(r) + "2"}[:1+r.IntN(2)]
			for range 1 + r.IntN(4) {
				m := map[string]types.AttributeValue{}
				for _, name := range names {
					m[name] = wiretest.Value(r, 1)
				}
				key := KeyOf(m)
				require.Equal(t, m, key.Map())
				require.Equal(t, key, key.With(m))
				all, call.Keys[table] = append(all, m), append(call.Keys[table], key)
			}
			strong := aws.Bool(r.IntN(2) == 0)
			full.RequestItems[table] = types.KeysAndAttributes{Keys: all, ConsistentRead: strong}
			bare.RequestItems[table] = types.KeysAndAttributes{Keys: []map[string]types.AttributeValue{}, ConsistentRead: strong}
		}
		want, wantHeader, err := written(t, &Call{Own: true}, full)
		require.NoError(t, err)
		got, header, err := written(t, call, bare)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
		require.Equal(t, wantHeader, header)
	}
}
