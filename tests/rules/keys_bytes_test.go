package rules_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

// Blob has keys that are arrays of bytes, which DynamoDB compares as bytes.
type Blob struct {
	_ entity.Key `name:"Blob" pk:"id" sk:"part"`
	_ entity.GSI `name:"byOwner" index:"owner-index" pk:"owner" sk:"id"`

	ID    [16]byte  `dynamodbav:"id" entity:"id=uuidv7"`
	Part  [2]byte   `dynamodbav:"part" entity:"zero"`
	Owner *[16]byte `dynamodbav:"owner,omitempty"`
	Text  string    `dynamodbav:"text,omitempty"`
}

// An array of bytes is a native key of the type binary, stored as attributevalue stores it, in every verb.
func TestBytes_AnArrayIsABinaryKey(t *testing.T) {
	t.Parallel()
	b, s := dbtest.OpenStore[Blob](t)
	ctx := t.Context()
	owner, id := [16]byte{255, 1}, [16]byte{0, 128}
	var want []Blob
	for i := range 5 {
		v := Blob{ID: id, Part: [2]byte{byte(i * 60)}, Owner: &owner, Text: "x"}
		want = append(want, entity.Must(s.Create(ctx, v)))
		require.Equal(t, v, want[i])
	}
	for _, it := range b.Items() {
		var v Blob
		require.NoError(t, attributevalue.UnmarshalMap(it, &v))
		plain := entity.Must(attributevalue.MarshalMap(v))
		require.Equal(t, plain, it)
		require.Len(t, it["id"].(*types.AttributeValueMemberB).Value, 16)
	}
	require.Equal(t, types.ScalarAttributeTypeB, b.Described(b.Table).AttributeDefinitions[0].AttributeType)

	require.Equal(t, want[0], entity.Must(s.Get(ctx, Blob{ID: id, Part: want[0].Part})))
	many := entity.Must(s.GetMany(ctx, []Blob{{ID: id, Part: want[3].Part}, {ID: id, Part: [2]byte{9}}}))
	require.Equal(t, &want[3], many[0])
	require.Nil(t, many[1])
	f := entity.Fields[Blob]()
	require.Equal(t, want[2:], entity.Must(s.Query(Blob{ID: id}, entity.Gt(&f.Part, want[1].Part)).Collect(ctx)))
	require.Equal(t, want[1:3], entity.Must(s.Query(Blob{ID: id}, entity.Between(&f.Part, want[1].Part, want[2].Part)).Collect(ctx)))
	byOwner := entity.Must(s.Index("byOwner"))
	for _, q := range []entity.Query[Blob]{s.Query(Blob{ID: id}, entity.Limit(2)), byOwner.Query(Blob{Owner: &owner}, entity.Limit(2)), s.Scan(entity.Limit(2))} {
		var got []Blob
		for _, page := range dbtest.Pages(t, q) {
			got = append(got, page...)
		}
		require.ElementsMatch(t, want, got)
	}

	changed := entity.Must(s.Update(ctx, Blob{ID: id, Part: want[0].Part}, entity.Set(&f.Text, "y"), entity.If(entity.Eq(&f.ID, id))))
	require.Equal(t, "y", changed.Text)
	changed = entity.Must(s.Modify(ctx, Blob{ID: id, Part: want[0].Part}, func(v *Blob) error { v.Owner = nil; return nil }))
	require.Nil(t, changed.Owner)
	changed, _, err := s.Upsert(ctx, Blob{ID: id, Part: want[0].Part, Text: "z"})
	require.NoError(t, err)
	require.Equal(t, "z", changed.Text)
	require.NoError(t, b.DB.Transact(ctx, s.Op().Delete(Blob{ID: id, Part: want[0].Part}), s.Op().CheckExists(Blob{ID: id, Part: want[1].Part})))
	left, err := s.DeleteMany(ctx, want[1:])
	require.NoError(t, err)
	require.Empty(t, left)
	require.Empty(t, b.Items())

	made := entity.Must(s.Create(ctx, Blob{}))
	require.Equal(t, byte(7), made.ID[6]>>4)
	require.Equal(t, made, entity.Must(s.Get(ctx, Blob{ID: made.ID})))
}
