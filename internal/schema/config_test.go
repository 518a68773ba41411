package schema_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/declaretest"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestConfig_MistakesAreReportedTogether(t *testing.T) {
	t.Parallel()
	_, err := entity.Open(nil, entity.Config{
		Namespace:     entity.Namespace{Name: "app#1", Version: -1},
		TimePrecision: time.Minute,
		MaxAttempts:   -1,
		CursorKey:     []byte("short"),
		PK:            "key", SK: "key",
	})
	var got []mistake
	for _, m := range mistakes(err) {
		require.Equal(t, "entity.Config", m.Type)
		got = append(got, mistake{m.Code, m.Field})
	}
	require.ElementsMatch(t, []mistake{
		{"EDD-9050", "Namespace.Name"}, {"EDD-9050", "Namespace.Version"}, {"EDD-9050", "TimePrecision"},
		{"EDD-9050", "MaxAttempts"}, {"EDD-9050", "CursorKey"}, {"EDD-9050", "PK"},
	}, got)

	_, err = entity.Open(nil, entity.Config{
		Namespace:     entity.Namespace{Name: "shop", Version: 2},
		TimePrecision: time.Millisecond,
		MaxAttempts:   1,
		CursorKey:     []byte("0123456789abcdef"),
		PK:            "key", SK: "sort", TTL: "expires",
	})
	require.NoError(t, err)
}

func TestConfig_LibraryAttributesAreNotForKeysOrExpiry(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"_w", "_k", "_at", "_pv", "_op", "__edd_e__"} {
		for field, cfg := range map[string]entity.Config{"PK": {PK: name}, "SK": {SK: name}, "TTL": {TTL: name}} {
			_, err := entity.Open(nil, cfg)
			found := mistakes(err)
			if assert.Len(t, found, 1, "%s is %s", field, name) {
				assert.Equal(t, mistake{"EDD-9050", field}, mistake{found[0].Code, found[0].Field})
			}
		}
	}
}

func TestConfig_ASharedTableNeedsMilliseconds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cfg  entity.Config
		want []string
	}{
		"default times":   {entity.Config{Interop: true}, []string{"TimePrecision"}},
		"seconds":         {entity.Config{Interop: true, TimePrecision: time.Second}, []string{"TimePrecision"}},
		"as it should be": {entity.Config{Interop: true, TimePrecision: time.Millisecond}, nil},
	} {
		_, err := entity.Open(nil, c.cfg)
		var got []string
		for _, m := range mistakes(err) {
			assert.Equal(t, "EDD-9050", m.Code, name)
			got = append(got, m.Field)
		}
		assert.ElementsMatch(t, c.want, got, name)
	}
}

// sharedOptions are those of a database that shares its tables.
func sharedOptions() schema.Options {
	o := options
	o.Profile, o.Precision = schema.NewProfile(true), key.Milli
	return o
}

func TestProfile_LowerCaseIsAboutDollarKeys(t *testing.T) {
	t.Parallel()
	type item struct {
		_ entity.Key `name:"Item" pk:"$#Id_{id}" sk:"$#{when}#{n}"`
		_ entity.GSI `name:"byID" index:"gsi1" pk:"gsi1pk=Item_{id}"`

		ID   string    `dynamodbav:"id"`
		When time.Time `dynamodbav:"when"`
		N    int       `dynamodbav:"n"`
	}
	o := sharedOptions()
	o.Namespace = "MyApp"
	s := entity.Must(schema.Build(reflect.TypeFor[item](), o))
	require.Equal(t, "$myapp#v1#item", s.Prefix)
	require.Equal(t, "id_", s.PK.Template.Segments[0].Literal)
	for _, f := range append(s.PK.Template.Fields(), s.SK.Template.Fields()...) {
		require.Equal(t, f.Kind != key.Int, f.Lower, f.Attr)
	}
	require.Equal(t, "Item_", s.Indexes[0].PK.Template.Segments[0].Literal)
	require.False(t, s.Indexes[0].PK.Template.Fields()[0].Lower)
	require.Equal(t, []*schema.Attr{s.Attr("id")}, s.Folded, "only strings can differ in case")
	o.Profile = schema.Profile{}
	s = entity.Must(schema.Build(reflect.TypeFor[item](), o))
	require.Equal(t, "$MyApp#v1#item", s.Prefix)
	require.Empty(t, s.Folded)
}

func TestProfile_OnlySharedTablesDifferInWhatIsStored(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p      schema.Profile
		shared bool
	}{{schema.Profile{}, false}, {schema.NewProfile(true), true}} {
		require.Equal(t, c.shared, c.p.KeysLowerCase())
		require.Equal(t, !c.shared, c.p.MarksItems())
		for _, shared := range []bool{c.p.SharesSentinels(), c.p.VersionsRestart(), c.p.CopiesLag(), c.p.PadsNumbers()} {
			require.Equal(t, c.shared, shared)
		}
		number := c.p.InDollar(&key.Field{Kind: key.Int})
		require.Equal(t, map[bool]int{true: 16}[c.shared], number.Width)
		require.Equal(t, c.shared, number.Plain)
		c.p.Bigint(number)
		require.Equal(t, 38, number.Width)
		require.Equal(t, c.shared, c.p.InDollar(&key.Field{Kind: key.String}).Lower)
	}
}

func TestInterop_SeparatesTheEntityNameFromHiddenAttributes(t *testing.T) {
	t.Parallel()
	type dollar struct {
		_  entity.Key `name:"Dollar" pk:"$#id_{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
	}
	for _, c := range []struct {
		o              schema.Options
		dollar, hidden bool
	}{{options, true, true}, {sharedOptions(), true, false}} {
		s := entity.Must(schema.Build(reflect.TypeFor[dollar](), c.o))
		require.Equal(t, c.dollar, s.Templated)
		require.Equal(t, c.hidden, s.HasMetadata)
	}
}

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
	build := func(typ reflect.Type, ttl, name string) *schema.Schema {
		o := options
		o.TTL, o.Name = ttl, name
		return entity.Must(schema.Build(typ, o))
	}
	table := &schema.Table{Name: "t"}
	require.NoError(t, table.Add(build(reflect.TypeFor[reading](), "ttl", "")))
	checkMistakes[log](t, table.Add(build(reflect.TypeFor[log](), "expires", "")), mistake{"EDD-9041", ""})
	require.NoError(t, table.Add(build(reflect.TypeFor[device](), "expires", "")), "it writes no TTL")
	require.NoError(t, table.Add(build(reflect.TypeFor[log](), "ttl", "Other")))
	err := table.Add(build(reflect.TypeFor[log](), "expires", ""))
	checkMistakes[log](t, err, mistake{"EDD-9041", ""}) // once, whatever the number of the others
	require.ErrorContains(t, err, "give Config.TTL, and attr of each lifecycle.TTL, the same name")
	require.NoError(t, table.Add(build(reflect.TypeFor[log](), "ttl", "")))
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
	table := &schema.Table{Name: "t"}
	add := func(typ reflect.Type) error { return declaretest.Declare(table, typ, options) }
	require.NoError(t, add(reflect.TypeFor[device]()))
	checkMistakes[wrong](t, add(reflect.TypeFor[wrong]()), mistake{"EDD-9031", ""}, mistake{"EDD-9049", ""}, mistake{"EDD-9033", ""})
	require.NoError(t, add(reflect.TypeFor[right]()), "the refused verbatim entity is not on the table")
}

// gauge has instances of several types; they are entities of their own.
type gauge[V any] struct {
	_     entity.Key `name:"Gauge" pk:"$#{id}" sk:"$"`
	ID    string     `dynamodbav:"id"`
	Value V          `dynamodbav:"value"`
}

func TestTable_GenericStructIsNamedPerInstance(t *testing.T) {
	t.Parallel()
	table, o, texts := &schema.Table{Name: "t"}, options, reflect.TypeFor[gauge[string]]()
	require.NoError(t, declaretest.Declare(table, reflect.TypeFor[gauge[int]](), o))
	checkMistakes[gauge[string]](t, declaretest.Declare(table, texts, o), mistake{"EDD-9031", ""})
	o.Name = "TextGauge"
	require.NoError(t, declaretest.Declare(table, texts, o))
	require.Equal(t, "$app#v1#gauge", schemaOf[gauge[int]](t).Prefix)
	require.Equal(t, "$app#v1#textgauge", entity.Must(schema.Build(texts, o)).Prefix)
	o.Name = "text gauge"
	checkMistakes[gauge[string]](t, declaretest.Declare(table, texts, o), mistake{"EDD-9003", theKey})
	refused[gauge[chan int]](t, "EDD-9052", "Value")
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
	require.ErrorContains(t, err, "the declaration that timeseries.New is for: _ timeseries.Events")
	_, err = entity.New[reading](db)
	checkMistakes[reading](t, err, mistake{"EDD-9047", ""})
	require.ErrorContains(t, err, "_ timeseries.Events needs timeseries.New, and not entity.New")
	require.NoError(t, dbtest.ErrorOf(timeseries.New[reading](db)), "a refused declaration leaves nothing behind")
	entity.Must(timeseries.New[reading](db))
	checkMistakes[reading](t, dbtest.ErrorOf(entity.New[reading](db)), mistake{"EDD-9047", ""})
}
