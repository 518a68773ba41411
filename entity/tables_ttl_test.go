package entity_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func timeToLive(t *testing.T, l *lab) types.TimeToLiveDescription {
	t.Helper()
	out, err := l.raw.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &l.table})
	require.NoError(t, err)
	return *out.TimeToLiveDescription
}

func TestCreateTables_EnablesTimeToLiveWhereItIsUsed(t *testing.T) {
	t.Parallel()
	for name, attr := range map[string]string{"": "_ttl", "expires": "expires"} {
		l, _ := open[Token](t, func(c *entity.Config) { c.TTL = name })
		ttl := timeToLive(t, l)
		require.Equal(t, types.TimeToLiveStatusEnabled, ttl.TimeToLiveStatus)
		require.Equal(t, attr, *ttl.AttributeName)
		require.NoError(t, l.db.CreateTables(t.Context()), "a second time changes nothing")
		require.Zero(t, l.wire.Count("UpdateTimeToLive"))
	}
	l, _ := open[Team](t)
	require.Equal(t, types.TimeToLiveStatusDisabled, timeToLive(t, l).TimeToLiveStatus)
}

func TestCreateTables_EnablesTimeToLiveOfATableThatIsThere(t *testing.T) {
	t.Parallel()
	l, _ := open[Invoice](t)
	db := l.aside(t)
	declare[Pass](t, db)
	require.NoError(t, db.CreateTables(t.Context()))
	require.Equal(t, types.TimeToLiveStatusEnabled, timeToLive(t, l).TimeToLiveStatus)
}

// Pass expires, and needs no index.
type Pass struct {
	_ entity.Key `name:"Pass" pk:"$#{id}" sk:"$"`
	_ mortal

	ID string `dynamodbav:"id"`
}

func TestCreateTables_TimeToLiveOnAnotherAttributeIsASchemaError(t *testing.T) {
	t.Parallel()
	l, _ := open[Team](t)
	_, err := l.raw.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName:               &l.table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expires"), Enabled: aws.Bool(true)},
	})
	require.NoError(t, err)
	db := l.aside(t)
	declare[Pass](t, db)
	err = db.CreateTables(t.Context())
	var differs *entity.SchemaError
	require.ErrorAs(t, err, &differs)
	require.Equal(t, "EDD-9041", differs.Code)
	require.Equal(t, "expires", *timeToLive(t, l).AttributeName)
}
