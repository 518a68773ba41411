package entity_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

type loose struct {
	_     entity.Key     `name:"Loose" pk:"$#{id}" sk:"$"`
	ID    string         `dynamodbav:"id"`
	Any   map[string]any `dynamodbav:"any"`
	Place place          `dynamodbav:"place"`
	Stops []place        `dynamodbav:"stops"`
}

type place struct {
	City string `dynamodbav:"city"`
}

func TestModify_KeepsInsideAnAttributeWhatTheCallerDidNotChange(t *testing.T) {
	t.Parallel()
	l, s := open[loose](t)
	_, err := s.Create(t.Context(), loose{ID: "a", Any: map[string]any{}, Place: place{"Bern"}, Stops: []place{{"Rom"}, {"Ulm"}}})
	require.NoError(t, err)
	at := keys("pk", "$app#v1#loose#a", "sk", "$app#v1#loose")
	stop := func(city string) types.AttributeValue {
		return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"city": str(city), "unknown": str("u-" + city)}}
	}
	l.patch(t, at, "any", &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
		"set": &types.AttributeValueMemberSS{Value: []string{"x", "y"}},
		"n":   num("9007199254740993"),
	}})
	l.patch(t, at, "place", stop("Bern"))
	l.patch(t, at, "stops", &types.AttributeValueMemberL{Value: []types.AttributeValue{stop("Rom"), stop("Ulm")}})

	_, err = s.Modify(t.Context(), loose{ID: "a"}, func(v *loose) error {
		v.Any["new"] = true
		v.Place.City = "Basel"
		v.Stops[1].City = "Linz"
		return nil
	})
	require.NoError(t, err)
	stored := l.stored(t, at)
	require.Equal(t, `M{n=N9007199254740993 new=true set=SS[x y]}`, stored["any"], "a set stays a set, and a number exact")
	require.Equal(t, `M{city=S"Basel" unknown=S"u-Bern"}`, stored["place"])
	require.Equal(t, `L[M{city=S"Rom" unknown=S"u-Rom"} M{city=S"Linz"}]`, stored["stops"], "a changed element is taken as it is: it may be another one")
}
