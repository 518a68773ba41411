package stream_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/stream"
)

// garage puts Car, Bike and Lamp into the lab's table.
func garage(t *testing.T) *lab {
	return newLab(t, func(c *entity.Config) { c.Tables = map[string]string{"garage": c.Table} })
}

func TestShared_VerbatimEntitiesAreToldByTheirKind(t *testing.T) {
	t.Parallel()
	l := garage(t)
	cars, bikes, lamps := store[Car](l), store[Bike](l), store[Lamp](l)
	l.create()
	entity.Must(cars.Create(l.ctx, Car{ID: "1", Plate: "x"}))
	entity.Must(bikes.Create(l.ctx, Bike{ID: "2", Gears: 3}))
	entity.Must(lamps.Create(l.ctx, Lamp{ID: "3"}))
	entity.Must(cars.Update(l.ctx, Car{ID: "1"}, entity.Set(&entity.Fields[Car]().Plate, "y")))
	require.NoError(t, bikes.Delete(l.ctx, Bike{ID: "2"}))
	records := l.next()

	car, others := told(t, cars, records)
	require.Equal(t, []stream.Kind{stream.Created, stream.Updated}, kinds(car))
	require.Equal(t, Car{ID: "1", Plate: "y"}, *only(t, car, stream.Updated).New)
	require.Equal(t, len(records)-2, others)
	bike, _ := told(t, bikes, records)
	require.Equal(t, []stream.Kind{stream.Created, stream.Deleted}, kinds(bike))
	require.Equal(t, Bike{ID: "2", Gears: 3}, *only(t, bike, stream.Deleted).Old)
	lamp, _ := told(t, lamps, records)
	require.Equal(t, []stream.Kind{stream.Created}, kinds(lamp))
	require.Len(t, records, 5+3, "the plate's sentinel: put, deleted, put")
}

// A verbatim item without a kind is not told by its attributes; the sentinels of its own constraint must not pass for it.
type Plate struct {
	_ entity.Key `name:"Plate" pk:"pk={id}" sk:"sk=x"`

	ID string `dynamodbav:"id"`
}

func TestShared_AVerbatimEntityTakesUnmarkedItems(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	plates, teams := store[Plate](l), store[Team](l)
	l.create()
	entity.Must(plates.Create(l.ctx, Plate{ID: "p"}))
	entity.Must(teams.Create(l.ctx, Team{ID: "t"}))
	require.NoError(t, plates.Delete(l.ctx, Plate{ID: "p"}))
	records := l.next()
	got, others := told(t, plates, records)
	require.Equal(t, []stream.Kind{stream.Created, stream.Deleted}, kinds(got))
	require.Equal(t, 1, others)
	_, others = told(t, teams, records)
	require.Equal(t, 2, others)
}

func TestShared_AnItemThatChangesItsKindIsCreatedOrDeleted(t *testing.T) {
	t.Parallel()
	l := garage(t)
	cars, bikes := store[Car](l), store[Bike](l)
	l.create()
	entity.Must(cars.Create(l.ctx, Car{ID: "1"}))
	l.next()
	_, err := l.raw.PutItem(l.ctx, &dynamodb.PutItemInput{TableName: &l.table, Item: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "vehicle-1"}, "sk": &types.AttributeValueMemberS{Value: "v"},
		"type": &types.AttributeValueMemberS{Value: "bike"}, "id": &types.AttributeValueMemberS{Value: "1"}, "gears": &types.AttributeValueMemberN{Value: "1"},
	}})
	require.NoError(t, err)
	records := l.next()
	car, _ := told(t, cars, records)
	require.Equal(t, []stream.Kind{stream.Deleted}, kinds(car))
	require.Nil(t, car[0].New)
	bike, _ := told(t, bikes, records)
	require.Equal(t, []stream.Kind{stream.Created}, kinds(bike))
	require.Nil(t, bike[0].Old)
}

func TestShared_TwoNamespacesInOneTableDoNotMix(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	one := store[Team](l)
	l.create()
	var others []*entity.Store[Team]
	for _, ns := range []entity.Namespace{{Name: "app", Version: 2}, {Name: "app", Version: 11}, {Name: "other", Version: 1}} {
		others = append(others, entity.Must(entity.New[Team](l.open(l.table, func(c *entity.Config) { c.Namespace = ns }))))
	}
	entity.Must(one.Create(l.ctx, Team{ID: "t"}))
	for _, s := range others {
		entity.Must(s.Create(l.ctx, Team{ID: "t"}))
	}
	records := l.next()
	require.Len(t, records, 4)
	for i, s := range append([]*entity.Store[Team]{one}, others...) {
		changes, passed := told(t, s, records)
		require.Equal(t, []stream.Kind{stream.Created}, kinds(changes))
		require.Equal(t, records[i].EventID, changes[0].Record.EventID)
		require.Equal(t, 3, passed)
	}
}

func TestShared_TheStreamOfAnotherTableIsNotOurs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := store[Team](l)
	l.create()
	entity.Must(s.Create(l.ctx, Team{ID: "t"}))
	r := l.next()[0]
	other := entity.Must(entity.New[Team](l.open(l.table + "-other")))
	_, ok, err := stream.Of(other, r)
	require.NoError(t, err)
	require.False(t, ok)
	byARN := entity.Must(entity.New[Team](l.open(strings.Replace(r.SourceARN[:strings.Index(r.SourceARN, "/stream/")], "ddblocal", "eu-west-1", 1))))
	_, ok, err = stream.Of(byARN, r)
	require.NoError(t, err)
	require.True(t, ok, "a table can be configured as an ARN")
	r.SourceARN = ""
	_, ok, err = stream.Of(other, r)
	require.NoError(t, err)
	require.True(t, ok, "a record that does not name its table is judged by its content")
	r.SourceARN = "arn:aws:sqs:eu-west-1:1:queue"
	_, _, err = stream.Of(s, r)
	var bad *stream.RecordError
	require.ErrorAs(t, err, &bad)
}
