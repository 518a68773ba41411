package schema_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

// reading is a series without a mistake; the others differ from it in one place.
type reading struct {
	_       entity.Key        `name:"Reading" pk:"$#{id}" sk:"$"`
	_       timeseries.Events `orderBy:"at" ttl:"7d" late:"record" maxAhead:"1h"`
	ID      string            `dynamodbav:"id"`
	At      time.Time         `dynamodbav:"at"`
	A       *int              `dynamodbav:"a,omitempty" entity:"append"`
	B       int               `dynamodbav:"b" entity:"append"`
	Owner   string            `dynamodbav:"owner,omitempty" entity:"set_once"`
	Created time.Time         `dynamodbav:"created" entity:"created_at"`
}

func TestSeriesDeclaration_WithoutAMistake(t *testing.T) {
	t.Parallel()
	accepted[reading](t)
}

func TestSeriesDeclaration_OrderByIsAnAttribute(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"At"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	type missing struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events
		ID string    `dynamodbav:"id"`
		At time.Time `dynamodbav:"at"`
		A  int       `dynamodbav:"a" entity:"append"`
	}
	refused[wrong](t, "EDD-9010", theEvents)
	refused[missing](t, "EDD-9003", theEvents)
}

func TestSeriesDeclaration_OrderByIsNoKeyPart(t *testing.T) {
	t.Parallel()
	type sorted struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$#{at}"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	type stream struct {
		_  entity.Key        `name:"Right" pk:"$#{id}" sk:"$#{stream}"` // several streams in a partition
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		S  string            `dynamodbav:"stream"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	refused[sorted](t, "EDD-9011", theEvents)
	accepted[stream](t)
}

func TestSeriesDeclaration_OrderByIsAlwaysThere(t *testing.T) {
	t.Parallel()
	type pointer struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At *time.Time        `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	type omitted struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at,omitempty"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	refused[pointer](t, "EDD-9013", theEvents)
	refused[omitted](t, "EDD-9013", theEvents)
}

func TestSeriesDeclaration_KeyPartsAreNotAppended(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id" entity:"append"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	refused[wrong](t, "EDD-9013", theKey)
}

func TestSeriesDeclaration_OrderByCanOrder(t *testing.T) {
	t.Parallel()
	type boolean struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At bool              `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	type float struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At float64           `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	type integer struct {
		_  entity.Key        `name:"Right" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At int64             `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	type text struct {
		_  entity.Key        `name:"Right" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At string            `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	refused[boolean](t, "EDD-9014", theEvents)
	refused[float](t, "EDD-9014", theEvents)
	accepted[integer](t)
	accepted[text](t)
}

func TestSeriesDeclaration_SomethingIsAppended(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a"`
	}
	refused[wrong](t, "EDD-9016", theEvents)
}

func TestSeriesDeclaration_DurationsFollowTheGrammar(t *testing.T) {
	t.Parallel()
	type malformed struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at" ttl:"7 days"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	type negative struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at" ttl:"-7d"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	type rising struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at" maxAhead:"30m1h"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	type empty struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at" ttl:""`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	type zero struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at" ttl:"0d"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	refused[malformed](t, "EDD-9003", theEvents)
	refused[negative](t, "EDD-9003", theEvents)
	refused[rising](t, "EDD-9003", theEvents)
	refused[empty](t, "EDD-9003", theEvents)
	refused[zero](t, "EDD-9036", theEvents)
}

func TestSeriesDeclaration_OptionsFitEachOther(t *testing.T) {
	t.Parallel()
	type late struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at" late:"keep"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	type ahead struct { // an hour ahead of a number means nothing
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at" maxAhead:"1h"`
		ID string            `dynamodbav:"id"`
		At int64             `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	type unknown struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderby:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	refused[late](t, "EDD-9003", theEvents)
	refused[ahead](t, "EDD-9003", theEvents)
	checkMistakes[unknown](t, alone[unknown](), mistake{"EDD-9003", theEvents}, mistake{"EDD-9003", theEvents})
}

func TestSeriesDeclaration_EventsNeedASortKeyWithAPrefix(t *testing.T) {
	t.Parallel()
	type partitionOnly struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	type verbatim struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"sk=current"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	type together struct { // not only after orderBy is mended
		_  entity.Key        `name:"Wrong" pk:"$#{id}"`
		_  timeseries.Events `orderBy:"when"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	refused[partitionOnly](t, "EDD-9038", "")
	refused[verbatim](t, "EDD-9038", "")
	checkMistakes[together](t, alone[together](), mistake{"EDD-9038", ""}, mistake{"EDD-9010", theEvents})
}

func TestSeriesDeclaration_ZeroIsNotNotReported(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a,omitempty" entity:"append"`
	}
	type moment struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  time.Time         `dynamodbav:"a,omitempty" entity:"append"`
	}
	type right struct {
		_  entity.Key        `name:"Right" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  *int              `dynamodbav:"a,omitempty" entity:"append"`
		B  []string          `dynamodbav:"b,omitempty" entity:"append"`
		C  map[string]int    `dynamodbav:"c,omitempty" entity:"append"`
		D  int               `dynamodbav:"d" entity:"append"`
	}
	refused[wrong](t, "EDD-9042", "A")
	refused[moment](t, "EDD-9042", "A")
	accepted[right](t)
}

func TestSeriesDeclaration_OrderByIsTheUpdateClock(t *testing.T) {
	t.Parallel()
	type updated struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
		U  time.Time         `dynamodbav:"u" entity:"updated_at"`
	}
	type version struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
		V  int64             `dynamodbav:"v" entity:"version"`
	}
	type once struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append,set_once"`
	}
	type owned struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at" entity:"created_at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	refused[updated](t, "EDD-9043", theEvents)
	refused[version](t, "EDD-9043", theEvents)
	refused[once](t, "EDD-9043", theEvents)
	refused[owned](t, "EDD-9043", theEvents)

	type deleted struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
		D  time.Time         `dynamodbav:"d" entity:"deleted_at"`
	}
	checkMistakes[deleted](t, alone[deleted](), mistake{"EDD-9043", theEvents}, mistake{"EDD-9044", "D"})
}

func TestSeriesDeclaration_OneEventsDeclaration(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		_  timeseries.Events `orderBy:"n"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		N  int               `dynamodbav:"n"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	refused[wrong](t, "EDD-9003", theEvents)
}

func TestSeriesDeclaration_HasAHandleOfItsOwn(t *testing.T) {
	t.Parallel()
	type plain struct {
		_  entity.Key `name:"Plain" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
	}
	db := open(t)
	_, err := timeseries.New[plain](db)
	checkMistakes[plain](t, err, mistake{"EDD-9047", ""})
	_, err = entity.New[reading](db)
	checkMistakes[reading](t, err, mistake{"EDD-9047", ""})
	_, err = timeseries.New[reading](db)
	require.NoError(t, err, "a refused declaration leaves nothing behind")
	_, err = timeseries.New[reading](db)
	require.NoError(t, err)
	_, err = entity.New[reading](db)
	checkMistakes[reading](t, err, mistake{"EDD-9047", ""})
}

func TestSeriesDeclaration_MistakesAreReportedTogether(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$#{at}"`
		_  entity.GSI        `name:"byA" index:"gsi1" pk:"$#{a}#{owner}"`
		_  timeseries.Events `orderBy:"at" ttl:"0d" late:"never"`
		_  retain
		_  softDelete
		ID string `dynamodbav:"id"`
		At bool   `dynamodbav:"at"`
		A  int    `dynamodbav:"a,omitempty" entity:"append"`
		O  string `dynamodbav:"owner"`
		V  int64  `dynamodbav:"v" entity:"version"`
	}
	checkMistakes[wrong](t, alone[wrong](),
		mistake{"EDD-9011", theEvents}, mistake{"EDD-9014", theEvents}, mistake{"EDD-9017", theEvents},
		mistake{"EDD-9036", theEvents}, mistake{"EDD-9003", theEvents}, mistake{"EDD-9012", theEvents},
		mistake{"EDD-9015", theEvents}, mistake{"EDD-9042", "A"}, mistake{"EDD-9043", theEvents},
	)
}
