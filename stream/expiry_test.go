package stream_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/stream"
)

// expiryOf is the record of a removal by DynamoDB in AWS, which says who did it; DynamoDB Local does not.
func expiryOf(by *streamtypes.Identity) streamtypes.Record {
	s := func(v string) streamtypes.AttributeValue { return &streamtypes.AttributeValueMemberS{Value: v} }
	keys := map[string]streamtypes.AttributeValue{"pk": s("$app#v1#person#p"), "sk": s("$app#v1#person")}
	return streamtypes.Record{
		EventID: aws.String("c9fbe7d0261a5163fcb6940593e41797"), EventName: streamtypes.OperationTypeRemove, EventSource: aws.String("aws:dynamodb"),
		AwsRegion: aws.String("us-east-2"), UserIdentity: by,
		Dynamodb: &streamtypes.StreamRecord{
			Keys: keys, SequenceNumber: aws.String("4421584500000000017450439092"), SizeBytes: aws.Int64(59),
			StreamViewType: streamtypes.StreamViewTypeNewAndOldImages, ApproximateCreationDateTime: aws.Time(time.Unix(1479499740, 0)),
			OldImage: map[string]streamtypes.AttributeValue{
				"pk": keys["pk"], "sk": keys["sk"], "__edd_e__": s("Person"), "id": s("p"), "version": &streamtypes.AttributeValueMemberN{Value: "3"},
			},
		},
	}
}

func TestExpiry_DependsOnTheIdentityOfTheRemover(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	s := entity.Must(entity.New[Person](db))
	for name, x := range map[string]struct {
		by   *streamtypes.Identity
		want stream.Kind
	}{
		"the service": {&streamtypes.Identity{Type: aws.String("Service"), PrincipalId: aws.String("dynamodb.amazonaws.com")}, stream.Expired},
		"no identity": {nil, stream.CurrentRemoved},
		"another":     {&streamtypes.Identity{Type: aws.String("Service"), PrincipalId: aws.String("replication.dynamodb.amazonaws.com")}, stream.CurrentRemoved},
		"a user":      {&streamtypes.Identity{Type: aws.String("AssumedRole"), PrincipalId: aws.String("dynamodb.amazonaws.com")}, stream.CurrentRemoved},
		"empty":       {&streamtypes.Identity{}, stream.CurrentRemoved},
	} {
		c, ok, err := stream.Of(s, stream.FromSDK("", expiryOf(x.by)))
		require.NoError(t, err, name)
		require.True(t, ok, name)
		require.Equal(t, x.want, c.Kind, name)
		require.EqualValues(t, 3, c.OldVersion)
		require.Equal(t, time.Date(2016, 11, 18, 20, 9, 0, 0, time.UTC), c.Record.Time)
	}
	local := expiryOf(nil)
	local.EventName = "UNKNOWN_TO_SDK_VERSION"
	_, _, err := stream.Of(s, stream.FromSDK("", local))
	var bad *stream.RecordError
	require.ErrorAs(t, err, &bad, "only DynamoDB Local has that name")

	// An event, a snapshot, a copy.
	for _, x := range []struct {
		mark, suffix string
		want         stream.Kind
	}{{"e", "#e#1", stream.EventExpired}, {"v", "#v#0000001", stream.SnapshotExpired}, {"d", "#deleted#2026-04-22T14:00:00.123456789Z", stream.CopyExpired}} {
		r := stream.FromSDK("", expiryOf(&streamtypes.Identity{Type: aws.String("Service"), PrincipalId: aws.String("dynamodb.amazonaws.com")}))
		r.Keys["sk"] = &types.AttributeValueMemberS{Value: "$app#v1#person" + x.suffix}
		r.Old["sk"], r.Old["_k"] = r.Keys["sk"], &types.AttributeValueMemberS{Value: x.mark}
		r.Old["deletedAt"] = &types.AttributeValueMemberS{Value: "2026-04-22T14:00:00.123456789Z"}
		c, ok, err := stream.Of(s, r)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, x.want, c.Kind)
		r.Old = nil
		c, ok, err = stream.Of(s, r)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, x.want, c.Kind, "by the key alone")
	}
}
