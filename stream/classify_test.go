package stream_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/streamed"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

func TestClassify_ByKeyAlone(t *testing.T) {
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
		"$app#v2#reading#c":                          "",
		"$other#v1#reading#c":                        "", // other namespaces
		"$app#v1#Reading#c":                          "",
		"":                                           "",
		"x$app#v1#reading#c":                         "",
		"$app#v1#reading#c#e#2026-04-22T10:00:00.0Z": stream.EventRemoved,
	} {
		c, ok := changeOf(t, s, keysOnly(attributes{"pk": dbtest.S("$app#v1#reading#d"), "sk": dbtest.S(sk)}), sk)
		require.Equal(t, want != "", ok, sk)
		require.Equal(t, want, c.Kind, sk)
	}
	withIDs := entity.Must(timeseries.New[Charge](offline(t))) // sk:"$#{kind}"
	for sk, want := range map[string]stream.Kind{
		"$app#v1#charge#e":         stream.Deleted,
		"$app#v1#charge#e#e#e":     stream.EventRemoved, // of before the series had ids
		"$app#v1#charge#e#e#e#e":   stream.EventRemoved,
		"$app#v1#charge#c#v#1#2":   "",
		"$app#v1#charge#c#e#1#2#3": "",
	} {
		c, ok := changeOf(t, withIDs, keysOnly(attributes{"pk": dbtest.S("$app#v1#charge#d"), "sk": dbtest.S(sk)}), sk)
		require.Equal(t, want != "", ok, sk)
		require.Equal(t, want, c.Kind, sk)
	}
}

// Bulb has no sort key and no related items.
type Bulb struct {
	_  entity.Key `name:"Bulb" table:"bulbs" pk:"$#{id}"`
	ID string     `dynamodbav:"id"`
}

// Blob has a key of bytes.
type Blob struct {
	_  entity.Key `name:"Blob" table:"blobs" pk:"id" sk:"n"`
	ID []byte     `dynamodbav:"id"`
	N  int        `dynamodbav:"n"`
}

func TestClassify_IgnoresKeysOfAnotherShape(t *testing.T) {
	t.Parallel()
	db := offline(t)
	bulbs, blobs := entity.Must(entity.New[Bulb](db)), entity.Must(entity.New[Blob](db))
	b, n := &types.AttributeValueMemberB{Value: []byte{1}}, &types.AttributeValueMemberN{Value: "1"}
	of := func(keys attributes) [2]bool {
		_, bulb := changeOf(t, bulbs, keysOnly(keys))
		_, blob := changeOf(t, blobs, keysOnly(keys))
		return [2]bool{bulb, blob}
	}
	require.Equal(t, [2]bool{true, false}, of(attributes{"pk": dbtest.S("$app#v1#bulb#1")}))
	require.Equal(t, [2]bool{false, false}, of(attributes{"pk": dbtest.S("$app#v1#bulb#1#e#1")}), "it has no satellites")
	require.Equal(t, [2]bool{false, false}, of(attributes{"pk": dbtest.S("$app#v1#bulb#1"), "sk": dbtest.S("x")}))
	require.Equal(t, [2]bool{false, false}, of(attributes{"pk": n}))
	require.Equal(t, [2]bool{false, true}, of(attributes{"id": b, "n": n}))
	require.Equal(t, [2]bool{false, false}, of(attributes{"id": n, "n": b}))
	require.Equal(t, [2]bool{false, false}, of(attributes{"id": b}))
	require.Equal(t, [2]bool{false, false}, of(attributes{"id": b, "n": &types.AttributeValueMemberBOOL{Value: true}}))
}

// Badge is verbatim and leaves sentinels in its table.
type Badge struct {
	_    entity.Key        `name:"Badge" pk:"pk={id}" sk:"sk=b"`
	_    unique.Constraint `name:"code" fields:"code"`
	ID   string            `dynamodbav:"id"`
	Code string            `dynamodbav:"code,omitempty" entity:"secret"`
}

func TestClassify_VerbatimEntityWithSentinelsNeedsAnImage(t *testing.T) {
	t.Parallel()
	s := entity.Must(entity.New[Badge](offline(t)))
	r := keysOnly(attributes{"pk": dbtest.S("b-1"), "sk": dbtest.S("b")})
	dbtest.As[*stream.ImageError](t, dbtest.ErrorOf(stream.Of(s, r)))
	r.Old = attributes{"pk": dbtest.S("b-1"), "sk": dbtest.S("b"), "id": dbtest.S("b-1")}
	_, ok := changeOf(t, s, r)
	require.True(t, ok)
	for _, mark := range []string{"Badge._unique.code", "Team"} {
		r.Old["__edd_e__"] = dbtest.S(mark)
		_, ok = changeOf(t, s, r)
		require.False(t, ok, mark)
	}
}

// Card has a secret in its key.
type Card struct {
	_   entity.Key `name:"Card" table:"cards" pk:"$#{pin}" sk:"$"`
	PIN string     `dynamodbav:"pin" entity:"secret"`
}

func TestOf_ErrorsHideSecretKeys(t *testing.T) {
	t.Parallel()
	s := entity.Must(entity.New[Card](offline(t)))
	r := keysOnly(attributes{"pk": dbtest.S("$app#v1#card#hunter2"), "sk": dbtest.S("$app#v1#card")})
	r.Old = attributes{"pk": r.Keys["pk"], "sk": r.Keys["sk"], "__edd_e__": dbtest.S("Card"), "pin": &types.AttributeValueMemberL{Value: []types.AttributeValue{dbtest.S("hunter2")}}}
	_, _, err := stream.Of(s, r)
	dbtest.As[*entity.DecodeError](t, err)
	require.NotContains(t, err.Error(), "hunter2")
	require.Contains(t, err.Error(), "Card")
}

// person is an item stored in the partition of a person, with more attributes; "" removes one.
func person(sk string, more map[string]string) attributes {
	it := attributes{"pk": dbtest.S("$app#v1#person#p"), "sk": dbtest.S("$app#v1#person" + sk), "__edd_e__": dbtest.S("Person"), "id": dbtest.S("p")}
	for name, text := range more {
		if it[name] = dbtest.S(text); text == "" {
			delete(it, name)
		}
	}
	return it
}

func TestClassify_ByMarks(t *testing.T) {
	t.Parallel()
	s := entity.Must(entity.New[Person](offline(t)))
	type marks = map[string]string
	of := func(kind, at string) attributes { return person("#x", marks{"_k": kind, "deletedAt": at}) }
	const before, after = "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"
	for name, c := range map[string]struct {
		old, now attributes
		want     stream.Kind // "": it is no item of the entity
	}{
		"an unknown related item":                   {person("#x#1", marks{"_k": "x"}), nil, ""},
		"an item of another entity":                 {person("#x#1", marks{"__edd_e__": "Somebody"}), nil, ""},
		"an item":                                   {person("", nil), nil, stream.CurrentRemoved},
		"an item that is marked no more":            {person("", nil), person("", marks{"__edd_e__": ""}), stream.Deleted}, // which makes no copy
		"an item of another entity before":          {person("", marks{"__edd_e__": "Somebody"}), person("", nil), stream.Created},
		"a restored item":                           {nil, person("", marks{"_op": "restore"}), stream.Restored},
		"a new item":                                {nil, person("", marks{"_op": "other"}), stream.Created},
		"a copy that another program has changed":   {of("d", before), of("d", after), stream.CopyChanged},
		"a copy that a later delete marks":          {person("#x", marks{"_k": "d", "_w": "1"}), person("#x", marks{"_k": "d", "_w": "2"}), ""},
		"a snapshot that another program changed":   {of("v", before), of("v", after), stream.SnapshotChanged},
		"an event that another program has changed": {of("e", before), of("e", after), stream.EventChanged},
		"an event that was upgraded":                {person("#x", marks{"_k": "e", "_w": "1"}), person("#x", marks{"_k": "e", "_w": "1", "_pv": "2"}), stream.EventChanged},
		"an event over one that has expired":        {person("#x", marks{"_k": "e", "_w": "1"}), person("#x", marks{"_k": "e", "_w": "2"}), stream.Appended},
	} {
		any := c.old
		if any == nil {
			any = c.now
		}
		r := keysOnly(attributes{"pk": any["pk"], "sk": any["sk"]})
		switch r.Old, r.New = c.old, c.now; {
		case c.old == nil:
			r.Operation = "INSERT"
		case c.now != nil:
			r.Operation = "MODIFY"
		}
		got, ok := changeOf(t, s, r, name)
		require.Equal(t, c.want != "", ok, name)
		require.Equal(t, c.want, got.Kind, name)
		require.Equal(t, c.want == stream.CopyChanged, got.DeletedAt.Year() == 2027, "%s: only a copy has the time, that of the new image", name)
		require.False(t, got.Kind == stream.Appended && got.Old != nil, "%s: for reads it was none", name)
		if c.old["_k"] != nil && ok {
			_, isCurrent, err := got.Current()
			require.NoError(t, err, name)
			require.False(t, isCurrent, name)
		}
	}
	r := keysOnly(attributes{"pk": dbtest.S("$app#v1#person#p"), "sk": dbtest.S("$app#v1#person#x")})
	r.Operation, r.New = "INSERT", of("d", "yesterday")
	_, _, err := stream.Of(s, r)
	require.Equal(t, "deletedAt", dbtest.As[*entity.DecodeError](t, err).Attr)

	r.Keys["sk"], r.New = dbtest.S("$app#v1#person"), nil
	changed := keysOnly(attributes{"pk": dbtest.S("$app#v1#person#p"), "sk": dbtest.S("$app#v1#person#x")})
	changed.Operation, changed.New = "MODIFY", person("#x", marks{"_k": "e", "_w": "2"})
	got, _ := changeOf(t, s, changed)
	require.Equal(t, stream.EventChanged, got.Kind, "without the old image nothing shows that it had expired")
	require.True(t, streamed.Of(got).Inserted, "but it counts for a timeline, which knows the events that it has")

	lacks := dbtest.As[*stream.ImageError](t, dbtest.ErrorOf(stream.Of(s, r)), "a new item and a restored one have the same key")
	require.Equal(t, "NewImage", lacks.Needs)
}

// A removal has no new image, and an insertion no old one, whatever a program puts into the record.
func TestClassify_ImagesFollowTheOperation(t *testing.T) {
	t.Parallel()
	s := entity.Must(entity.New[Team](offline(t)))
	keys := attributes{"pk": dbtest.S("$app#v1#team#t"), "sk": dbtest.S("$app#v1#team")}
	image := attributes{"pk": keys["pk"], "sk": keys["sk"], "__edd_e__": dbtest.S("Team"), "id": dbtest.S("t")}
	for operation, want := range map[streamtypes.OperationType][3]any{
		"INSERT": {stream.Created, false, true}, "MODIFY": {stream.Updated, true, true}, "REMOVE": {stream.Deleted, true, false},
	} {
		r := keysOnly(keys)
		r.Operation, r.Old, r.New = operation, image, image
		c, ok := changeOf(t, s, r)
		require.True(t, ok)
		require.Equal(t, want, [3]any{c.Kind, c.Old != nil, c.New != nil})
		require.Equal(t, []bool{operation == "INSERT", operation == "REMOVE"}, []bool{streamed.Of(c).Inserted, streamed.Of(c).Removed})
	}
}

// garage puts Car, Bike and Lamp into the lab's table.
func garage(t *testing.T) *lab {
	return newLab(t, func(c *entity.Config) { c.Tables = map[string]string{"garage": c.Table} })
}

func TestClassify_VerbatimEntitiesByKindAttribute(t *testing.T) {
	l := garage(t)
	cars, bikes, lamps := store[Car](l), store[Bike](l), store[Lamp](l)
	l.create()
	entity.Must(cars.Create(l.Ctx, Car{ID: "1", Plate: "x"}))
	entity.Must(bikes.Create(l.Ctx, Bike{ID: "2", Gears: 3}))
	entity.Must(lamps.Create(l.Ctx, Lamp{ID: "3"}))
	entity.Must(cars.Update(l.Ctx, Car{ID: "1"}, entity.Set(&entity.Fields[Car]().Plate, "y")))
	require.NoError(t, bikes.Delete(l.Ctx, Bike{ID: "2"}))
	records := l.next()

	car, others := changesOf(t, cars, records)
	require.Equal(t, []stream.Kind{stream.Created, stream.Updated}, kinds(car))
	require.Equal(t, Car{ID: "1", Plate: "y"}, *only(t, car, stream.Updated).New)
	require.Equal(t, len(records)-2, others)
	bike, _ := changesOf(t, bikes, records)
	require.Equal(t, []stream.Kind{stream.Created, stream.Deleted}, kinds(bike))
	require.Equal(t, Bike{ID: "2", Gears: 3}, *only(t, bike, stream.Deleted).Old)
	lamp, _ := changesOf(t, lamps, records)
	require.Equal(t, []stream.Kind{stream.Created}, kinds(lamp))
	require.Len(t, records, 5+3, "the plate's sentinel: put, deleted, put")
}

// Plate is verbatim, and has no attribute that shows its kind.
type Plate struct {
	_  entity.Key `name:"Plate" pk:"pk={id}" sk:"sk=x"`
	ID string     `dynamodbav:"id"`
}

func TestClassify_ComparesTableARNs(t *testing.T) {
	t.Parallel()
	const arn, later = "arn:aws:dynamodb:eu-west-1:123456789012:table/app", "/stream/2026-04-22T10:00:00.000"
	of := func(table string) func(source string) bool {
		db := entity.Must(entity.Open(nil, entity.Config{Table: table}))
		s := entity.Must(timeseries.New[Reading](db))
		return func(source string) bool {
			r := keysOnly(attributes{"pk": dbtest.S("$app#v1#reading#d"), "sk": dbtest.S("$app#v1#reading#c")})
			r.SourceARN = source
			_, ok := changeOf(t, s, r)
			return ok
		}
	}
	byARN, byName := of(arn), of("app")
	for source, want := range map[string]struct{ arn, name bool }{
		arn + later: {true, true},
		arn:         {true, true},
		"":          {true, true},
		"arn:aws:dynamodb:eu-west-2:123456789012:table/app" + later:    {false, true},
		"arn:aws:dynamodb:eu-west-1:210987654321:table/app" + later:    {false, true},
		"arn:aws-cn:dynamodb:eu-west-1:123456789012:table/app" + later: {false, true},
		arn + "2" + later: {false, false},
		"arn:aws:dynamodb:ddblocal:000000000000:table/app" + later:  {true, true},
		"arn:aws:dynamodb:ddblocal:000000000000:table/app2" + later: {false, false},
	} {
		require.Equal(t, want.arn, byARN(source), source)
		require.Equal(t, want.name, byName(source), source)
	}
}

// Room is an entity as effect-dynamodb stores it: its items do not mark their related items.
type Room struct {
	_       entity.Key           `name:"Room" pk:"$#id_{id}" sk:"$"`
	_       versioned.Retain     ``
	_       lifecycle.SoftDelete `ttl:"30d"`
	ID      string               `dynamodbav:"id"`
	Name    string               `dynamodbav:"name,omitempty"`
	Version int64                `dynamodbav:"version" entity:"version"`
}

// Signal is a series in such a table.
type Signal struct {
	_      entity.Key        `name:"Signal" pk:"$#device_{device}" sk:"$"`
	_      timeseries.Events `orderBy:"at" late:"record"`
	Device string            `dynamodbav:"device"`
	At     time.Time         `dynamodbav:"at"`
	Level  *int              `dynamodbav:"level,omitempty" entity:"append"`
}

func interop(t *testing.T) *lab {
	return newLab(t, func(c *entity.Config) {
		c.Namespace = entity.Namespace{Name: "app", Version: 1}
		c.TimePrecision, c.Interop = time.Millisecond, true
	})
}

func TestInterop_SatellitesByTheirSortKey(t *testing.T) {
	l := interop(t)
	s := store[Room](l)
	l.create()
	bin, key := entity.Must(lifecycle.Of(s)), Room{ID: "R1"}
	require.NoError(t, dbtest.ErrorOf(s.Create(l.Ctx, Room{ID: "R1", Name: "a"})))
	changes, others := changesOf(t, s, l.next())
	require.Zero(t, others)
	require.Contains(t, kinds(changes), stream.Created)
	require.Contains(t, kinds(changes), stream.SnapshotStored)
	require.Len(t, changes, 2)

	l.Clock.Move(time.Second)
	require.NoError(t, s.Delete(l.Ctx, key))
	changes, others = changesOf(t, s, l.next())
	require.Zero(t, others)
	require.Contains(t, kinds(changes), stream.CurrentRemoved)
	copied, c := entity.Must(bin.Get(l.Ctx, key)), only(t, changes, stream.SoftDeleted)
	require.Equal(t, copied.Item, *c.New)
	require.Equal(t, copied.DeletedAt, c.DeletedAt)

	l.Clock.Move(time.Second)
	require.NoError(t, dbtest.ErrorOf(bin.Restore(l.Ctx, key)))
	changes, others = changesOf(t, s, l.next())
	require.Zero(t, others)
	require.Contains(t, kinds(changes), stream.Created, "nothing marks a restored item there")
	require.Contains(t, kinds(changes), stream.CopyRemoved)
}

func TestInterop_EventsByTheirSortKey(t *testing.T) {
	l := interop(t)
	s := entity.Must(timeseries.New[Signal](l.DB))
	l.create()
	at := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, minutes := range []int{5, 3} {
		entity.Must(s.Append(l.Ctx, Signal{Device: "D-7", At: at.Add(time.Duration(minutes) * time.Minute), Level: ptr(1)}))
	}
	records := l.next()
	changes, others := changesOf(t, s, records)
	require.Zero(t, others)
	require.Equal(t, []stream.Kind{stream.Appended, stream.Appended, stream.Created}, kinds(changes))

	// The same key, and attributes that would not make it.
	r := records[0]
	r.New["device"] = &types.AttributeValueMemberS{Value: "other"}
	r.Keys["sk"] = &types.AttributeValueMemberS{Value: "$app#v1#signal#x#1"}
	r.New["sk"] = r.Keys["sk"]
	_, ok := changeOf(t, s, r)
	require.False(t, ok, "some other program's item")
	r.New, r.Old = nil, nil
	dbtest.As[*stream.ImageError](t, dbtest.ErrorOf(stream.Of(s, r)), "without an image nothing shows which")
}

func TestClassify_AKeyIsEnoughOnlyInATableOfOneEntity(t *testing.T) {
	t.Parallel()
	db := offline(t)
	plates := entity.Must(entity.New[Plate](db))
	r := keysOnly(attributes{"pk": dbtest.S("p"), "sk": dbtest.S("plate")})
	_, ok := changeOf(t, plates, r)
	require.True(t, ok)
	entity.Must(entity.New[Team](db))
	dbtest.As[*stream.ImageError](t, dbtest.ErrorOf(stream.Of(plates, r)))
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
		c, ok := changeOf(t, s, stream.FromSDK("", expiryOf(x.by)), name)
		require.True(t, ok, name)
		require.Equal(t, x.want, c.Kind, name)
		require.EqualValues(t, 3, c.OldVersion)
		require.Equal(t, time.Date(2016, 11, 18, 20, 9, 0, 0, time.UTC), c.Record.Time)
	}
	type session struct {
		_  entity.Key    `name:"Person" pk:"$#{id}" sk:"$"`
		_  lifecycle.TTL `attr:"ends" after:"1h"`
		ID string        `dynamodbav:"id"`
	}
	expiring := entity.Must(entity.New[session](entity.Must(entity.Open(nil, entity.Config{Table: "app"}))))
	const at = 1479499740
	for name, x := range map[string]struct {
		end, region, mark, suffix string
		want                      stream.Kind
	}{
		"long ago":            {"1479000000", "eu-west-1", "", "", stream.Expired},
		"in that second":      {strconv.Itoa(at), "", "", "", stream.Expired},
		"a second later":      {strconv.Itoa(at + 1), "", "", "", stream.Deleted},
		"no end":              {"", "", "", "", stream.Deleted},
		"DynamoDB Local":      {"1479000000", "ddblocal", "", "", stream.Deleted},
		"a snapshot":          {"1479000000", "", "v", "#v#0000001", stream.SnapshotExpired},
		"a snapshot, purged":  {strconv.Itoa(at + 1), "", "v", "#v#0000001", stream.SnapshotRemoved},
		"an attribute of old": {"x", "", "", "", stream.Deleted},
	} {
		r := stream.FromSDK("", expiryOf(nil)) // as in the Regions that did not remove it
		r.Region = x.region
		if r.Old["ends"] = dbtest.N(x.end); x.end == "" {
			delete(r.Old, "ends")
		}
		if x.mark != "" {
			r.Keys["sk"] = dbtest.S("$app#v1#person" + x.suffix)
			r.Old["sk"], r.Old["_k"] = r.Keys["sk"], dbtest.S(x.mark)
		}
		c, ok := changeOf(t, expiring, r, name)
		require.True(t, ok, name)
		require.Equal(t, x.want, c.Kind, name)
	}
	marked := stream.FromSDK("", expiryOf(nil))
	marked.Operation, marked.Old["ends"] = "MODIFY", dbtest.N("1")
	marked.New = map[string]types.AttributeValue{"pk": marked.Keys["pk"], "sk": marked.Keys["sk"]}
	taken, _ := changeOf(t, expiring, marked)
	require.Equal(t, stream.Deleted, taken.Kind, "another program took the mark of the entity away")
	plain := stream.FromSDK("", expiryOf(nil))
	plain.Old["ends"], plain.Old["_ttl"] = dbtest.N("1"), dbtest.N("1")
	kept, _ := changeOf(t, s, plain)
	require.Equal(t, stream.CurrentRemoved, kept.Kind, "items that do not expire have such attributes of their own")

	local := expiryOf(nil)
	local.EventName = "UNKNOWN_TO_SDK_VERSION"
	dbtest.As[*stream.RecordError](t, dbtest.ErrorOf(stream.Of(s, stream.FromSDK("", local))), "only DynamoDB Local has that name")

	// An event, a snapshot, a copy.
	for _, x := range []struct {
		mark, suffix string
		want         stream.Kind
	}{{"e", "#e#1", stream.EventExpired}, {"v", "#v#0000001", stream.SnapshotExpired}, {"d", "#deleted#2026-04-22T14:00:00.123456789Z", stream.CopyExpired}} {
		r := stream.FromSDK("", expiryOf(&streamtypes.Identity{Type: aws.String("Service"), PrincipalId: aws.String("dynamodb.amazonaws.com")}))
		r.Keys["sk"] = &types.AttributeValueMemberS{Value: "$app#v1#person" + x.suffix}
		r.Old["sk"], r.Old["_k"] = r.Keys["sk"], &types.AttributeValueMemberS{Value: x.mark}
		r.Old["deletedAt"] = &types.AttributeValueMemberS{Value: "2026-04-22T14:00:00.123456789Z"}
		c, ok := changeOf(t, s, r)
		require.True(t, ok)
		require.Equal(t, x.want, c.Kind)
		r.Old = nil
		c, ok = changeOf(t, s, r)
		require.True(t, ok)
		require.Equal(t, x.want, c.Kind, "by the key alone")
	}
}
