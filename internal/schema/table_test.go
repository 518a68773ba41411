package schema_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/timeseries"
)

// reading is a series.
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

// device is what most tables of these tests hold already.
type device struct {
	_     entity.Key `name:"Device" pk:"$#{id}" sk:"$"`
	_     entity.GSI `name:"byOwner" index:"gsi1" pk:"$#{owner}" sk:"$#{id}"`
	ID    string     `dynamodbav:"id"`
	Owner string     `dynamodbav:"owner"`
}

func TestTable_NameIsFreeOnAnotherTable(t *testing.T) {
	t.Parallel()
	type elsewhere struct {
		_  entity.Key `name:"Device" table:"other" pk:"id"`
		ID string     `dynamodbav:"id"`
	}
	type alias struct {
		_  entity.Key `name:"Device" table:"same" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
	}
	db := entity.Must(entity.Open(nil, entity.Config{Table: "t", Tables: map[string]string{"same": "t"}}))
	entity.Must(entity.New[device](db))
	entity.Must(entity.New[elsewhere](db))
	_, err := entity.New[alias](db) // logical names that lead to one physical table
	checkMistakes[alias](t, err, mistake{"EDD-9031", ""})
}

// One database gives all its entities one TTL attribute, so that this is seen only where two databases' schemas meet.
func TestTable_HasOneTTLAttribute(t *testing.T) {
	t.Parallel()
	type log struct {
		_  entity.Key        `name:"Log" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at" ttl:"7d"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	type other struct {
		_  entity.Key        `name:"Other" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at" ttl:"7d"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	build := func(typ reflect.Type, ttl string) *schema.Schema {
		o := options
		o.TTL = ttl
		s := entity.Must(schema.Build(typ, o))
		return s
	}
	table := &schema.Table{Name: "t"}
	require.NoError(t, table.Add(build(reflect.TypeFor[reading](), "ttl")))
	checkMistakes[log](t, table.Add(build(reflect.TypeFor[log](), "expires")), mistake{"EDD-9041", ""})
	require.NoError(t, table.Add(build(reflect.TypeFor[device](), "expires")), "it writes no TTL")
	require.NoError(t, table.Add(build(reflect.TypeFor[other](), "ttl")))
	err := table.Add(build(reflect.TypeFor[log](), "expires"))
	checkMistakes[log](t, err, mistake{"EDD-9041", ""}) // once, whatever the number of the others
	require.ErrorContains(t, err, "give Config.TTL, and attr of each lifecycle.TTL, the same name")
	require.NoError(t, table.Add(build(reflect.TypeFor[log](), "ttl")))
}

func TestTable_MistakesAreReportedTogetherAndChangeNothing(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_  entity.Key `name:"DEVICE" pk:"pk=x_{id}"`
		_  entity.GSI `name:"byID" index:"gsi1" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
	}
	type right struct {
		_  entity.Key `name:"Right" pk:"pk=x_{id}" sk:"sk=y"`
		ID string     `dynamodbav:"id"`
	}
	db := open(t)
	entity.Must(entity.New[device](db))
	_, err := entity.New[wrong](db)
	checkMistakes[wrong](t, err, mistake{"EDD-9031", ""}, mistake{"EDD-9049", ""}, mistake{"EDD-9033", ""})
	_, err = entity.New[right](db)
	require.NoError(t, err, "the refused verbatim entity is not on the table")
}

// gauge has instances of several types; they are entities of their own.
type gauge[V any] struct {
	_     entity.Key `name:"Gauge" pk:"$#{id}" sk:"$"`
	ID    string     `dynamodbav:"id"`
	Value V          `dynamodbav:"value"`
}

func TestTable_GenericStructIsNamedPerInstance(t *testing.T) {
	t.Parallel()
	db := open(t)
	ints := entity.Must(entity.New[gauge[int]](db))
	_, err := entity.New[gauge[string]](db)
	checkMistakes[gauge[string]](t, err, mistake{"EDD-9031", ""})
	texts := entity.Must(entity.New[gauge[string]](db, entity.Named("TextGauge")))
	require.Equal(t, "$app#v1#gauge", engine.Of(ints).Schema.Prefix)
	require.Equal(t, "$app#v1#textgauge", engine.Of(texts).Schema.Prefix)

	_, err = entity.New[gauge[string]](db, entity.Named("text gauge"))
	checkMistakes[gauge[string]](t, err, mistake{"EDD-9003", theKey})
	refused[gauge[chan int]](t, "EDD-9052", "Value")
}

func TestTable_NewTwiceGivesTheSameStore(t *testing.T) {
	t.Parallel()
	db := open(t)
	first := entity.Must(entity.New[device](db))
	second := entity.Must(entity.New[device](db))
	require.Same(t, first, second)

	named := entity.Must(entity.New[device](db, entity.Named("Spare")))
	require.NotSame(t, first, named)
	again := entity.Must(entity.New[device](db, entity.Named("Spare")))
	require.Same(t, named, again)

	other := entity.Must(entity.New[device](open(t)))
	require.NotSame(t, first, other)
}

func TestTable_EveryEntityHasOne(t *testing.T) {
	t.Parallel()
	type placed struct {
		_  entity.Key `name:"Placed" table:"somewhere" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
	}
	db := entity.Must(entity.Open(nil, entity.Config{}))
	_, err := entity.New[device](db)
	found := mistakes(err)
	require.Len(t, found, 1)
	require.Equal(t, mistake{"EDD-9050", "Table"}, mistake{found[0].Code, found[0].Field})
	entity.Must(entity.New[placed](db))
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
	entity.Must(timeseries.New[reading](db))
	_, err = entity.New[reading](db)
	checkMistakes[reading](t, err, mistake{"EDD-9047", ""})
}
