package timeseries_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

type Zoned struct {
	Zone string `dynamodbav:"zone" entity:"append"`
}

// zonedVote can lack its zone as a whole, beside a kind that every event has.
type zonedVote struct {
	_    entity.Key        `name:"ZonedVote" pk:"$#{id}" sk:"$"`
	_    entity.GSI        `name:"byZone" index:"gsi1" pk:"$#{zone}#{kind}" sk:"$#{id}"`
	_    timeseries.Events `orderBy:"at"`
	ID   string            `dynamodbav:"id"`
	At   time.Time         `dynamodbav:"at"`
	Kind string            `dynamodbav:"kind" entity:"append"`
	*Zoned
}

func TestEvents_AFieldBehindAnEmbeddedPointerCanBeLeftOutOfAnEvent(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "t"}))
	_, err := timeseries.New[zonedVote](db)
	var mistake *entity.SchemaError
	require.ErrorAs(t, err, &mistake)
	require.Equal(t, "EDD-9017", mistake.Code)
}
