package stream_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
)

type attributes = map[string]types.AttributeValue

func text(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }

// keysOnly is a removal of which only the key is known.
func keysOnly(keys attributes) stream.Record {
	return stream.Record{Operation: "REMOVE", SequenceNumber: "1", View: "KEYS_ONLY", Keys: keys}
}

func offline(t *testing.T) *entity.DB {
	t.Helper()
	db, err := entity.Open(nil, entity.Config{Table: "app"})
	require.NoError(t, err)
	return db
}

func TestOwn_AKeyAloneTellsWhatLiesThere(t *testing.T) {
	t.Parallel()
	s := entity.Must(timeseries.New[Reading](offline(t))) // sk:"$#{chan}"
	for sk, want := range map[string]stream.Kind{
		"$app#v1#reading#c":                          stream.Deleted,
		"$app#v1#reading#e":                          stream.Deleted, // a channel with the name of an infix
		"$app#v1#reading#c#e#2026":                   stream.EventRemoved,
		"$app#v1#reading#e#e#e":                      stream.EventRemoved,
		"$app#v1#reading#c#v#0000001":                stream.SnapshotRemoved, // of a feature that is declared no more
		"$app#v1#reading#deleted#deleted#2026":       stream.CopyRemoved,
		"$app#v1#reading":                            "",
		"$app#v1#reading#c#x#1":                      "",
		"$app#v1#reading#c#e":                        "",
		"$app#v1#reading#c#e#1#2":                    "",
		"$app#v1#readings#c":                         "",
		"$app#v1#reading.unit#c":                     "",
		"$app#v11#reading#c":                         "",
		"$app#v1#Reading#c":                          "",
		"":                                           "",
		"x$app#v1#reading#c":                         "",
		"$app#v1#reading#c#e#2026-04-22T10:00:00.0Z": stream.EventRemoved,
	} {
		c, ok, err := stream.Of(s, keysOnly(attributes{"pk": text("$app#v1#reading#d"), "sk": text(sk)}))
		require.NoError(t, err, sk)
		require.Equal(t, want != "", ok, sk)
		require.Equal(t, want, c.Kind, sk)
	}
}

// Bulb has no sort key, and nothing beside it.
type Bulb struct {
	_ entity.Key `name:"Bulb" table:"bulbs" pk:"$#{id}"`

	ID string `dynamodbav:"id"`
}

// Blob has a key of bytes.
type Blob struct {
	_ entity.Key `name:"Blob" table:"blobs" pk:"id" sk:"n"`

	ID []byte `dynamodbav:"id"`
	N  int    `dynamodbav:"n"`
}

func TestOwn_AKeyOfAnotherShapeIsAnotherTables(t *testing.T) {
	t.Parallel()
	db := offline(t)
	bulbs, blobs := entity.Must(entity.New[Bulb](db)), entity.Must(entity.New[Blob](db))
	b, n := &types.AttributeValueMemberB{Value: []byte{1}}, &types.AttributeValueMemberN{Value: "1"}
	of := func(keys attributes) [2]bool {
		_, bulb, err := stream.Of(bulbs, keysOnly(keys))
		require.NoError(t, err)
		_, blob, err := stream.Of(blobs, keysOnly(keys))
		require.NoError(t, err)
		return [2]bool{bulb, blob}
	}
	require.Equal(t, [2]bool{true, false}, of(attributes{"pk": text("$app#v1#bulb#1")}))
	require.Equal(t, [2]bool{false, false}, of(attributes{"pk": text("$app#v1#bulb#1#e#1")}), "it has no satellites")
	require.Equal(t, [2]bool{false, false}, of(attributes{"pk": text("$app#v1#bulb#1"), "sk": text("x")}))
	require.Equal(t, [2]bool{false, false}, of(attributes{"pk": n}))
	require.Equal(t, [2]bool{false, true}, of(attributes{"id": b, "n": n}))
	require.Equal(t, [2]bool{false, false}, of(attributes{"id": n, "n": b}))
	require.Equal(t, [2]bool{false, false}, of(attributes{"id": b}))
	require.Equal(t, [2]bool{false, false}, of(attributes{"id": b, "n": &types.AttributeValueMemberBOOL{Value: true}}))
}

// Badge is verbatim and leaves sentinels in its table.
type Badge struct {
	_ entity.Key        `name:"Badge" pk:"pk={id}" sk:"sk=b"`
	_ unique.Constraint `name:"code" fields:"code"`

	ID   string `dynamodbav:"id"`
	Code string `dynamodbav:"code,omitempty" entity:"secret"`
}

func TestOwn_AVerbatimEntityWithSentinelsIsNotToldByItsKey(t *testing.T) {
	t.Parallel()
	s := entity.Must(entity.New[Badge](offline(t)))
	r := keysOnly(attributes{"pk": text("b-1"), "sk": text("b")})
	_, _, err := stream.Of(s, r)
	var lacks *stream.ImageError
	require.ErrorAs(t, err, &lacks)
	r.Old = attributes{"pk": text("b-1"), "sk": text("b"), "id": text("b-1")}
	_, ok, err := stream.Of(s, r)
	require.NoError(t, err)
	require.True(t, ok)
	r.Old["__edd_e__"] = text("Badge._unique.code")
	_, ok, err = stream.Of(s, r)
	require.NoError(t, err)
	require.False(t, ok)
}

// Card has a secret in its key.
type Card struct {
	_ entity.Key `name:"Card" table:"cards" pk:"$#{pin}" sk:"$"`

	PIN string `dynamodbav:"pin" entity:"secret"`
}

func TestOwn_ASecretKeyIsInNoError(t *testing.T) {
	t.Parallel()
	s := entity.Must(entity.New[Card](offline(t)))
	r := keysOnly(attributes{"pk": text("$app#v1#card#hunter2"), "sk": text("$app#v1#card")})
	r.Old = attributes{"pk": r.Keys["pk"], "sk": r.Keys["sk"], "__edd_e__": text("Card"), "pin": &types.AttributeValueMemberL{Value: []types.AttributeValue{text("hunter2")}}}
	_, _, err := stream.Of(s, r)
	var misfit *entity.DecodeError
	require.ErrorAs(t, err, &misfit)
	require.NotContains(t, err.Error(), "hunter2")
	require.Contains(t, err.Error(), "Card")
}

func TestOwn_AnImageOfAKindThatThisVersionDoesNotKnowIsPassedOver(t *testing.T) {
	t.Parallel()
	s := entity.Must(entity.New[Person](offline(t)))
	r := keysOnly(attributes{"pk": text("$app#v1#person#p"), "sk": text("$app#v1#person#x#1")})
	r.Old = attributes{"pk": r.Keys["pk"], "sk": r.Keys["sk"], "__edd_e__": text("Person"), "_k": text("x"), "id": text("p")}
	_, ok, err := stream.Of(s, r)
	require.NoError(t, err)
	require.False(t, ok)
	r.Old["__edd_e__"] = text("Somebody")
	delete(r.Old, "_k")
	_, ok, err = stream.Of(s, r)
	require.NoError(t, err)
	require.False(t, ok, "reads tell by the name, and so does this")
}

func TestOwn_SatellitesThatAnotherProgramChanges(t *testing.T) {
	t.Parallel()
	s := entity.Must(entity.New[Person](offline(t)))
	image := func(k, at string) attributes {
		return attributes{"pk": text("$app#v1#person#p"), "sk": text("$app#v1#person#x"), "__edd_e__": text("Person"), "_k": text(k), "id": text("p"), "deletedAt": text(at)}
	}
	for k, want := range map[string]stream.Kind{"d": stream.CopyChanged, "v": stream.SnapshotChanged, "e": stream.EventChanged} {
		r := keysOnly(attributes{"pk": text("$app#v1#person#p"), "sk": text("$app#v1#person#x")})
		r.Operation, r.Old, r.New = "MODIFY", image(k, "2026-01-01T00:00:00Z"), image(k, "2027-01-01T00:00:00Z")
		c, ok, err := stream.Of(s, r)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, want, c.Kind)
		require.Equal(t, k == "d", c.DeletedAt.Year() == 2027, "of the new image of a copy")
		_, told, err := c.Current()
		require.NoError(t, err)
		require.False(t, told)
	}
	r := keysOnly(attributes{"pk": text("$app#v1#person#p"), "sk": text("$app#v1#person#x")})
	r.Operation, r.New = "INSERT", image("d", "yesterday")
	_, _, err := stream.Of(s, r)
	var misfit *entity.DecodeError
	require.ErrorAs(t, err, &misfit)
	require.Equal(t, "deletedAt", misfit.Attr)
}

func TestFromSDK_KeepsWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := things(t)
	for name, x := range map[string]struct {
		arn string
		r   streamtypes.Record
	}{
		"nothing": {},
		"no body": {r: streamtypes.Record{EventName: "INSERT"}},
		"a value of no type": {r: streamtypes.Record{EventName: "INSERT", Dynamodb: &streamtypes.StreamRecord{
			SequenceNumber: aws.String("1"), Keys: map[string]streamtypes.AttributeValue{"pk": &streamtypes.UnknownUnionMember{Tag: "X"}},
		}}},
		"another source": {arn: "arn:aws:dynamodb:eu-west-1:1:index/x", r: streamtypes.Record{EventName: "INSERT", Dynamodb: &streamtypes.StreamRecord{
			SequenceNumber: aws.String("1"), Keys: map[string]streamtypes.AttributeValue{"pk": &streamtypes.AttributeValueMemberS{Value: "x"}},
		}}},
	} {
		r := stream.FromSDK(x.arn, x.r)
		var bad *stream.RecordError
		require.ErrorAs(t, r.Err(), &bad, name)
		require.NotEmpty(t, bad.Error())
		_, ok, err := stream.Of(s, r)
		require.False(t, ok, name)
		require.ErrorAs(t, err, &bad, name)
	}
}

func TestOwn_AnItemThatIsTakenFromASoftDeletedEntityHasNotMoved(t *testing.T) {
	t.Parallel()
	s := entity.Must(entity.New[Person](offline(t)))
	r := keysOnly(attributes{"pk": text("$app#v1#person#p"), "sk": text("$app#v1#person")})
	r.Old = attributes{"pk": r.Keys["pk"], "sk": r.Keys["sk"], "__edd_e__": text("Person"), "id": text("p")}
	c, _, err := stream.Of(s, r)
	require.NoError(t, err)
	require.Equal(t, stream.CurrentRemoved, c.Kind)
	r.Operation, r.New = "MODIFY", attributes{"pk": r.Keys["pk"], "sk": r.Keys["sk"], "id": text("p")}
	c, _, err = stream.Of(s, r)
	require.NoError(t, err)
	require.Equal(t, stream.Deleted, c.Kind, "no copy is made by a change of what the item says of itself")
}
