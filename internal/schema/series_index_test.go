package schema_test

import (
	"testing"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestSeriesDeclaration_IndexHalfIsKnownToAnAppendOrUntouchedByIt(t *testing.T) {
	t.Parallel()
	type mixed struct {
		_     entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_     entity.GSI        `name:"byA" index:"gsi1" pk:"$#{a}#{owner}"`
		_     timeseries.Events `orderBy:"at"`
		ID    string            `dynamodbav:"id"`
		At    time.Time         `dynamodbav:"at"`
		A     int               `dynamodbav:"a" entity:"append"`
		Owner string            `dynamodbav:"owner"`
	}
	type clock struct {
		_     entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_     entity.GSI        `name:"byA" index:"gsi1" pk:"$#{id}" sk:"$#{owner}#{at}"`
		_     timeseries.Events `orderBy:"at"`
		ID    string            `dynamodbav:"id"`
		At    time.Time         `dynamodbav:"at"`
		A     int               `dynamodbav:"a" entity:"append"`
		Owner string            `dynamodbav:"owner"`
	}
	type pointers struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  entity.GSI        `name:"byA" index:"gsi1" pk:"$#{a}#{b}"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  *int              `dynamodbav:"a" entity:"append"`
		B  int               `dynamodbav:"b" entity:"append"`
	}
	refused[mixed](t, "EDD-9017", theEvents)
	refused[clock](t, "EDD-9017", theEvents)
	refused[pointers](t, "EDD-9017", theEvents)

	type right struct {
		_     entity.Key        `name:"Right" pk:"$#{id}" sk:"$"`
		_     entity.GSI        `name:"byOwner" index:"gsi1" pk:"$#{owner}" sk:"$#{id}"`
		_     entity.GSI        `name:"byA" index:"gsi2" pk:"$#{a}" sk:"$#{b}#{c}#{at}#{id}"`
		_     timeseries.Events `orderBy:"at"`
		ID    string            `dynamodbav:"id"`
		At    time.Time         `dynamodbav:"at"`
		A     *int              `dynamodbav:"a" entity:"append"` // alone in its half
		B     int               `dynamodbav:"b" entity:"append"`
		C     int               `dynamodbav:"c" entity:"append"`
		Owner string            `dynamodbav:"owner"`
	}
	accepted[right](t)
}

// An append knows created_at only of an item that it creates; a bare copy is kept right by if_not_exists.
func TestSeriesDeclaration_IndexHoldsCreatedAtAsABareCopyOnly(t *testing.T) {
	t.Parallel()
	type prefixed struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  entity.GSI        `name:"byAge" index:"gsi1" pk:"$#{id}" sk:"$#{created}"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
		C  time.Time         `dynamodbav:"created" entity:"created_at"`
	}
	type literal struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  entity.GSI        `name:"byAge" index:"gsi1" pk:"$#{id}" sk:"gsi1sk=c-{created}"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
		C  time.Time         `dynamodbav:"created" entity:"created_at"`
	}
	type twoParts struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  entity.GSI        `name:"byAge" index:"gsi1" pk:"$#{id}" sk:"gsi1sk={created}#{id}"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
		C  time.Time         `dynamodbav:"created" entity:"created_at"`
	}
	type number struct { // stored as a number, which an attribute of text cannot be a copy of
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  entity.GSI        `name:"byAge" index:"gsi1" pk:"$#{id}" sk:"gsi1sk={created}"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
		C  time.Time         `dynamodbav:"created" entity:"created_at,time=unix"`
	}
	type right struct {
		_  entity.Key        `name:"Right" pk:"$#{id}" sk:"$"`
		_  entity.GSI        `name:"byAge" index:"gsi1" pk:"$#{id}" sk:"gsi1sk={created}"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
		C  time.Time         `dynamodbav:"created" entity:"created_at"`
	}
	refused[prefixed](t, "EDD-9017", theEvents)
	refused[literal](t, "EDD-9017", theEvents)
	refused[twoParts](t, "EDD-9017", theEvents)
	refused[number](t, "EDD-9017", theEvents)
	accepted[right](t)
}
