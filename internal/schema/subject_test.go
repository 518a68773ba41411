package schema_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestSubject_NeedsAString(t *testing.T) {
	t.Parallel()
	type number struct {
		_  entity.Key `name:"Number" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		N  int        `dynamodbav:"n" entity:"subject"`
	}
	type bytes struct {
		_  entity.Key `name:"Bytes" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		N  []byte     `dynamodbav:"n" entity:"subject"`
	}
	type numbers struct {
		_  entity.Key `name:"Numbers" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		N  []int      `dynamodbav:"n,numberset" entity:"subject"`
	}
	type nested struct {
		_  entity.Key          `name:"Nested" pk:"$#{id}"`
		ID string              `dynamodbav:"id"`
		N  []map[string]string `dynamodbav:"n" entity:"subject"`
	}
	refused[number](t, "EDD-9035", "N")
	refused[bytes](t, "EDD-9035", "N")
	refused[numbers](t, "EDD-9035", "N")
	refused[nested](t, "EDD-9035", "N")
}

func TestSubject_CanBeStringsOfManyKinds(t *testing.T) {
	t.Parallel()
	type named struct {
		_    entity.Key          `name:"Named" pk:"$#{id}"`
		ID   string              `dynamodbav:"id" entity:"subject"`
		P    *string             `dynamodbav:"p" entity:"subject"`
		Set  []string            `dynamodbav:"set,stringset,omitempty" entity:"subject"`
		Keys map[string]struct{} `dynamodbav:"keys,stringset,omitempty" entity:"subject"`
		List []name              `dynamodbav:"list" entity:"subject"`
		Text hue                 `dynamodbav:"text" entity:"text,subject"`
	}
	require.NoError(t, alone[named]())
}
