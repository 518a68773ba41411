package schema_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/timeseries"
)

// device is what most tables of these tests hold already.
type device struct {
	_     entity.Key `name:"Device" pk:"$#{id}" sk:"$"`
	_     entity.GSI `name:"byOwner" index:"gsi1" pk:"$#{owner}" sk:"$#{id}"`
	ID    string     `dynamodbav:"id"`
	Owner string     `dynamodbav:"owner"`
}

// beside declares T on a table that holds H.
func beside[H, T any](t *testing.T) error {
	t.Helper()
	table := &schema.Table{Name: "t"}
	require.NoError(t, declare(table, reflect.TypeFor[H]()))
	return declare(table, reflect.TypeFor[T]())
}

func TestTable_EntityNamesDifferInMoreThanCase(t *testing.T) {
	t.Parallel()
	type same struct {
		_  entity.Key `name:"dEVICE" pk:"$#{id}" sk:"$"` // $ keys hold names in lower case
		ID string     `dynamodbav:"id"`
	}
	type longer struct {
		_  entity.Key `name:"Devices" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
	}
	checkMistakes[same](t, beside[device, same](t), mistake{"EDD-9031", ""})
	require.NoError(t, beside[device, longer](t))
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
	db, err := entity.Open(nil, entity.Config{Table: "t", Tables: map[string]string{"same": "t"}})
	require.NoError(t, err)
	_, err = entity.New[device](db)
	require.NoError(t, err)
	_, err = entity.New[elsewhere](db)
	require.NoError(t, err)
	_, err = entity.New[alias](db) // logical names that lead to one physical table
	checkMistakes[alias](t, err, mistake{"EDD-9031", ""})
}

func TestTable_HasOneKey(t *testing.T) {
	t.Parallel()
	type partitionOnly struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
	}
	type otherName struct {
		_  entity.Key `name:"Wrong" pk:"pk2=x_{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
	}
	type number struct {
		_  entity.Key `name:"Wrong" pk:"pk" sk:"sk"`
		PK int        `dynamodbav:"pk"`
		SK string     `dynamodbav:"sk"`
	}
	type right struct {
		_  entity.Key `name:"Right" pk:"pk" sk:"sk=x_{n}"`
		PK string     `dynamodbav:"pk"`
		N  int        `dynamodbav:"n"`
	}
	checkMistakes[partitionOnly](t, beside[device, partitionOnly](t), mistake{"EDD-9049", ""})
	checkMistakes[otherName](t, beside[device, otherName](t), mistake{"EDD-9049", ""})
	checkMistakes[number](t, beside[device, number](t), mistake{"EDD-9049", ""}, mistake{"EDD-9033", ""})
	require.NoError(t, beside[device, right](t))
}

func TestTable_IndexHasOneShape(t *testing.T) {
	t.Parallel()
	type noSort struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  entity.GSI `name:"byID" index:"gsi1" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
	}
	type otherAttribute struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  entity.GSI `name:"byID" index:"gsi1" pk:"mine={id}" sk:"$"`
		ID string     `dynamodbav:"id"`
	}
	type local struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  entity.LSI `name:"byID" index:"gsi1" sk:"id"`
		ID string     `dynamodbav:"id"`
	}
	type right struct {
		_  entity.Key `name:"Right" pk:"$#{id}" sk:"$"`
		_  entity.GSI `name:"anything" index:"gsi1" pk:"gsi1pk={n}_x" sk:"$" project:"keys"`
		ID string     `dynamodbav:"id"`
		N  int        `dynamodbav:"n"`
	}
	checkMistakes[noSort](t, beside[device, noSort](t), mistake{"EDD-9033", ""})
	checkMistakes[otherAttribute](t, beside[device, otherAttribute](t), mistake{"EDD-9033", ""})
	checkMistakes[local](t, beside[device, local](t), mistake{"EDD-9033", ""})
	require.NoError(t, beside[device, right](t))
}

func TestTable_KeyAttributeHasOneType(t *testing.T) {
	t.Parallel()
	type wrong struct { // another index, but DynamoDB has one type for owner
		_     entity.Key `name:"Wrong" pk:"$#{id}" sk:"$"`
		_     entity.GSI `name:"byOwner" index:"gsi2" pk:"gsi1pk"`
		ID    string     `dynamodbav:"id"`
		Owner int        `dynamodbav:"gsi1pk"`
	}
	checkMistakes[wrong](t, beside[device, wrong](t), mistake{"EDD-9033", ""})
}

func TestTable_VerbatimEntitiesTellTheirItemsApart(t *testing.T) {
	t.Parallel()
	type first struct {
		_  entity.Key `name:"First" pk:"pk=first_{id}" sk:"sk=x"`
		ID string     `dynamodbav:"id"`
	}
	type second struct {
		_  entity.Key `name:"Second" pk:"pk=second_{id}" sk:"sk=x" kind:"type=second"`
		ID string     `dynamodbav:"id"`
	}
	type third struct {
		_  entity.Key `name:"Third" pk:"pk=third_{id}" sk:"sk=x" kind:"type=third"`
		ID string     `dynamodbav:"id"`
	}
	type again struct {
		_  entity.Key `name:"Again" pk:"pk=again_{id}" sk:"sk=x" kind:"type=second"`
		ID string     `dynamodbav:"id"`
	}
	checkMistakes[second](t, beside[first, second](t), mistake{"EDD-9040", ""})
	checkMistakes[first](t, beside[second, first](t), mistake{"EDD-9040", ""})
	checkMistakes[again](t, beside[second, again](t), mistake{"EDD-9040", ""})
	require.NoError(t, beside[second, third](t))
	require.NoError(t, beside[device, first](t), "a $ entity is told apart by its own marks")
}

func TestTable_SatellitesStayOutOfNativeIndexes(t *testing.T) {
	t.Parallel()
	type ownIndex struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  entity.GSI        `name:"byA" index:"gsi2" pk:"a"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	type localIndex struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  entity.LSI        `name:"byAt" index:"lsi1" sk:"at"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	type copied struct {
		_  entity.Key        `name:"Right" pk:"$#{id}" sk:"$"`
		_  entity.GSI        `name:"byA" index:"gsi2" pk:"gsi2pk={a}"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	refused[ownIndex](t, "EDD-9039", "")
	refused[localIndex](t, "EDD-9039", "")
	accepted[copied](t)

	type otherIndex struct { // the events of reading have an attribute "a" and would appear in this index
		_ entity.Key `name:"Other" pk:"$#{b}" sk:"$"`
		_ entity.GSI `name:"byA" index:"gsi2" pk:"a"`
		A int        `dynamodbav:"a"`
		B int        `dynamodbav:"b"`
	}
	type apart struct {
		_ entity.Key `name:"Apart" pk:"$#{b}" sk:"$"`
		_ entity.GSI `name:"byZ" index:"gsi2" pk:"z"`
		B int        `dynamodbav:"b"`
		Z int        `dynamodbav:"z"`
	}
	checkMistakes[otherIndex](t, beside[reading, otherIndex](t), mistake{"EDD-9039", ""})
	checkMistakes[reading](t, beside[otherIndex, reading](t), mistake{"EDD-9039", ""})
	require.NoError(t, beside[reading, apart](t))
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
	build := func(typ reflect.Type, ttl string) *schema.Schema {
		o := options
		o.TTL = ttl
		s, err := schema.Build(typ, o)
		require.NoError(t, err)
		return s
	}
	table := &schema.Table{Name: "t"}
	require.NoError(t, table.Add(build(reflect.TypeFor[reading](), "ttl")))
	checkMistakes[log](t, table.Add(build(reflect.TypeFor[log](), "expires")), mistake{"EDD-9041", ""})
	require.NoError(t, table.Add(build(reflect.TypeFor[device](), "expires")), "it writes no TTL")
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
	_, err := entity.New[device](db)
	require.NoError(t, err)
	_, err = entity.New[wrong](db)
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
	ints, err := entity.New[gauge[int]](db)
	require.NoError(t, err)
	_, err = entity.New[gauge[string]](db)
	checkMistakes[gauge[string]](t, err, mistake{"EDD-9031", ""})
	texts, err := entity.New[gauge[string]](db, entity.Named("TextGauge"))
	require.NoError(t, err)
	require.Equal(t, "$app#v1#gauge", core.Of(ints).Schema.Prefix)
	require.Equal(t, "$app#v1#textgauge", core.Of(texts).Schema.Prefix)

	_, err = entity.New[gauge[string]](db, entity.Named("text gauge"))
	checkMistakes[gauge[string]](t, err, mistake{"EDD-9003", theKey})
	refused[gauge[chan int]](t, "EDD-9052", "Value")
}

func TestTable_NewTwiceGivesTheSameStore(t *testing.T) {
	t.Parallel()
	db := open(t)
	first, err := entity.New[device](db)
	require.NoError(t, err)
	second, err := entity.New[device](db)
	require.NoError(t, err)
	require.Same(t, first, second)

	named, err := entity.New[device](db, entity.Named("Spare"))
	require.NoError(t, err)
	require.NotSame(t, first, named)
	again, err := entity.New[device](db, entity.Named("Spare"))
	require.NoError(t, err)
	require.Same(t, named, again)

	other, err := entity.New[device](open(t))
	require.NoError(t, err)
	require.NotSame(t, first, other)
}

func TestTable_EveryEntityHasOne(t *testing.T) {
	t.Parallel()
	type placed struct {
		_  entity.Key `name:"Placed" table:"somewhere" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
	}
	db, err := entity.Open(nil, entity.Config{})
	require.NoError(t, err)
	_, err = entity.New[device](db)
	found := mistakes(err)
	require.Len(t, found, 1)
	require.Equal(t, mistake{"EDD-9050", "Table"}, mistake{found[0].Code, found[0].Field})
	_, err = entity.New[placed](db)
	require.NoError(t, err)
}
