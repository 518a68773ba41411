package wire

import (
	"context"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The parser guesses that an item is like the one before. A guess that is wrong is not taken.
func TestCall_WrongGuessesAndRepeatedNames(t *testing.T) {
	t.Parallel()
	rest := `],"Other":"` + strings.Repeat("x", 32) + `"}` // so that the text before is not near the end
	for _, body := range []string{
		`{"Items":[{"a":{"S":"0"}},{"a":{"S":"1"}},{"a":{"S":"2"x}` + rest, `{"Items":[{"a":{"S":"0"}},{"a":{"S":"1"}},{"a":{"S":"2\}}` + rest, `{"Items":[{"a":{"B":"A==="}}` + rest,
		`{"Items":[],"Other":` + strings.Repeat("[", 2*maxDepth) + strings.Repeat("]", 2*maxDepth) + `}`,
	} {
		assert.False(t, operations[0].compare(t, []byte(body)), "%s", body)
	}
	for _, body := range []string{
		`{"Items":[{"a":{"S":"1"}},{"a":{"N":"2"}},{"b":{"S":"3"}},{"a":{"S":"4" }}` + rest,
		`{"Items":[{"a":{"S":"\ud83dzzde00"}},{"a":{"S":"\ud83d\ude00"}},{"a":{"S":"\ud83d\u0061"}}` + rest, // halves of pairs
	} {
		assert.True(t, operations[0].compare(t, []byte(body)), "%s", body)
	}
	assert.False(t, operations[5].compare(t, []byte(`{"Responses":{"t":[{"a":{"S":"1"}}],"t":[{"a":{"S":"2"}}]}}`)), "a table that comes twice")
}

var (
	batchWrite = smithy.NewOperationSchema(schemas.BatchWriteItem, schemas.BatchWriteItemInput, schemas.BatchWriteItemOutput)
	describe   = smithy.NewOperationSchema(schemas.DescribeTable, schemas.DescribeTableInput, schemas.DescribeTableOutput)
)

// answerTo reads an answer of a status through a call that reads it itself, or leaves it to the SDK.
func answerTo(own bool, op *smithy.OperationSchema, status int, body string, out smithy.Deserializable) error {
	o := dynamodb.Options{Protocol: sdk}
	(&Call{Own: own}).Options(&o)
	resp := answered([]byte(body))
	resp.StatusCode = status
	return o.Protocol.DeserializeResponse(context.Background(), op, dynamodb.TypeRegistry, resp, out)
}

// An empty or foreign body, as a broken proxy may give, is not an empty answer.
func TestCall_AnswersThatAreNone(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{true, false} {
		for _, o := range operations {
			for _, body := range []string{"", " ", "null", "[]", "<html>", `{"Items":[`} {
				var e *smithy.DeserializationError
				require.ErrorAs(t, answerTo(own, o.schema, 200, body, o.out()), &e, "%s %q", o.name, body)
			}
			require.Error(t, answerTo(own, o.schema, 500, "{}", o.out()), o.name)
			require.Error(t, answerTo(own, o.schema, 302, "{}", o.out()), o.name)
		}
		for _, body := range []string{"{}", `{"Unknown":1}`} {
			require.ErrorIs(t, answerTo(own, operations[5].schema, 200, body, new(dynamodb.BatchGetItemOutput)), errLacking)
			require.ErrorIs(t, answerTo(own, operations[4].schema, 200, body, new(dynamodb.TransactGetItemsOutput)), errLacking)
			require.ErrorIs(t, answerTo(own, operations[0].schema, 200, body, new(dynamodb.QueryOutput)), errLacking)
			require.ErrorIs(t, answerTo(own, operations[1].schema, 200, body, new(dynamodb.ScanOutput)), errLacking)
			require.ErrorIs(t, answerTo(own, batchWrite, 200, body, new(dynamodb.BatchWriteItemOutput)), errLacking)
			require.ErrorIs(t, answerTo(own, describe, 200, body, new(dynamodb.DescribeTableOutput)), errLacking)
			require.NoError(t, answerTo(own, operations[2].schema, 200, body, new(dynamodb.GetItemOutput)), "there is no item")
		}
		for body, n := range map[string]int32{`{"Items":[{},{}]}`: 2, `{"Items":[]}`: 0, `{"Items":[{}],"Count":1}`: 1, `{"Count":3}`: 3} {
			var out dynamodb.QueryOutput
			require.NoError(t, answerTo(own, operations[0].schema, 200, body, &out), body)
			require.Equal(t, n, out.Count, body)
		}
	}
}
