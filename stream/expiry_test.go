package stream_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/versioned"
)

// patience bounds the wait for the database, which removes what has expired within seconds, or minutes when it is busy.
const patience = 4 * time.Minute

// await reads the stream until each kind was reported as often as given. Only the long run waits for the database to remove what has
// expired. A database other than DynamoDB Local may remove nothing by itself: then there is nothing to wait for either, and ok is false.
func await[T any](t *testing.T, l *lab, s stream.Source[T], want map[stream.Kind]int) (changes []stream.Change[T], ok bool) {
	t.Helper()
	if !testsize.Long() {
		t.Log("the recorded removals stand for those of this database")
		return nil, false
	}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		got, _ := changesOf(t, s, l.next())
		changes = append(changes, got...)
		require.NotEmpty(t, changes)
		if region := changes[0].Record.Region; region != "ddblocal" {
			t.Logf("a database of region %q removes nothing soon; the recorded removals stand for its own", region)
			return nil, false
		}
		have := map[stream.Kind]int{}
		for _, c := range changes {
			have[c.Kind]++
		}
		enough := true
		for k, n := range want {
			enough = enough && have[k] >= n
		}
		if enough {
			return changes, true
		}
	}
	require.Failf(t, "the database removed nothing", "want %v, got %v", want, kinds(changes))
	return nil, false
}

func TestExpiry_RemovalByTTLIsExpired(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(c *entity.Config) { c.Tables = map[string]string{"devices": c.Table} })
	l.Clock.Set(time.Now().Add(-2*time.Hour), 0) // what lives for an hour from now on is gone already
	s := store[Device](l)
	l.create()
	d := entity.Must(s.Create(l.Ctx, Device{ID: "d", Batch: 1, State: "on"}))
	changes, ok := await(t, l, s, map[stream.Kind]int{stream.Created: 1, stream.Expired: 1})
	if !ok {
		return
	}
	c := only(t, changes, stream.Expired)
	require.Equal(t, d, *c.Old)
	require.Nil(t, c.New)
	item, isCurrent, err := c.Current()
	require.NoError(t, err)
	require.True(t, isCurrent)
	require.Nil(t, item, "it is gone")
}

// Member leaves what expires, and nothing else.
type Member struct {
	_ entity.Key           `name:"Member" pk:"$#{id}" sk:"$"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d"`

	ID      string `dynamodbav:"id"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

func TestExpiry_SatellitesHaveTheirOwnKinds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Clock.Set(time.Now().Add(-100*24*time.Hour), 0)
	members := store[Member](l)
	readings := entity.Must(timeseries.New[Reading](l.DB))
	l.create()
	m := entity.Must(members.Create(l.Ctx, Member{ID: "m"}))
	require.NoError(t, members.Delete(l.Ctx, m))
	changes, ok := await(t, l, members, map[stream.Kind]int{stream.CopyExpired: 1, stream.SnapshotExpired: 2})
	if !ok {
		return
	}
	require.NotContains(t, kinds(changes), stream.Expired, "the item itself never expires")
	gone := only(t, changes, stream.CopyExpired)
	require.Equal(t, Member{ID: "m", Version: 2}, *gone.Old)
	require.False(t, gone.DeletedAt.IsZero())
	_, isCurrent, err := gone.Current()
	require.NoError(t, err)
	require.False(t, isCurrent, "the expiry of a copy does not affect the current item")

	l.read = 0
	entity.Must(readings.Append(l.Ctx, Reading{Device: "d", Channel: "c", At: l.Clock.Now().Truncate(time.Second), Door: ptr(true)}))
	events, _ := await(t, l, readings, map[stream.Kind]int{stream.EventExpired: 1})
	require.Equal(t, ptr(true), only(t, events, stream.EventExpired).Old.Door)
	require.Equal(t, []stream.Kind{stream.Appended, stream.Created, stream.EventExpired}, kinds(events))
}

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
