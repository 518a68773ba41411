package entity_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// Odd has an encoding of its own, and values that a plain codec would get wrong.
type Odd struct {
	_ entity.Key `name:"Odd" pk:"$#{id}"`

	ID     string         `dynamodbav:"id"`
	Bytes  []byte         `dynamodbav:"bytes,omitempty"`
	Hidden string         `dynamodbav:"-"`
	Text   int            `dynamodbav:"text,string"`
	Any    any            `dynamodbav:"any,omitempty"`
	Map    map[string]any `dynamodbav:"map,omitempty"`
	Money  money          `dynamodbav:"money"`
}

type money int

func (m money) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return str("cents"), nil
}

func (m *money) UnmarshalDynamoDBAttributeValue(types.AttributeValue) error { *m = 42; return nil }

func TestCreate_UsesTheCodecsTagsAndMarshalers(t *testing.T) {
	t.Parallel()
	l, s := open[Odd](t)
	got, err := s.Create(t.Context(), Odd{ID: "a", Bytes: []byte{1, 2}, Hidden: "no", Text: 7, Map: map[string]any{"x": 1.5}})
	require.NoError(t, err)
	it := l.everything(t)[`S"$app#v1#odd#a"`]
	delete(it, "_w")
	require.Equal(t, raw{
		"pk": `S"$app#v1#odd#a"`, "__edd_e__": `S"Odd"`, "id": `S"a"`, "bytes": "B0102", "text": `S"7"`,
		"map": "M{x=N1.5}", "money": `S"cents"`,
	}, it)
	require.EqualValues(t, 42, got.Money)
	require.Empty(t, got.Hidden)
}
