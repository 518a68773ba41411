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
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// sharedOptions are those of a database that shares its tables.
func sharedOptions() schema.Options {
	o := options
	o.LowerCase, o.Interop, o.Precision = true, true, key.Milli
	return o
}

func build[T any](o schema.Options) error {
	_, err := schema.Build(reflect.TypeFor[T](), o)
	return err
}

func TestConfig_ASharedTableNeedsLowerCaseAndMilliseconds(t *testing.T) {
	t.Parallel()
	lower := entity.Namespace{Casing: entity.LowerCase}
	for name, c := range map[string]struct {
		cfg  entity.Config
		want []string
	}{
		"casing":           {entity.Config{Interop: true, TimePrecision: time.Millisecond}, []string{"Namespace.Casing"}},
		"default times":    {entity.Config{Interop: true, Namespace: lower}, []string{"TimePrecision"}},
		"seconds":          {entity.Config{Interop: true, Namespace: lower, TimePrecision: time.Second}, []string{"TimePrecision"}},
		"both":             {entity.Config{Interop: true}, []string{"Namespace.Casing", "TimePrecision"}},
		"unknown casing":   {entity.Config{Namespace: entity.Namespace{Casing: 2}}, []string{"Namespace.Casing"}},
		"negative casing":  {entity.Config{Namespace: entity.Namespace{Casing: -1}}, []string{"Namespace.Casing"}},
		"as it should be":  {entity.Config{Interop: true, Namespace: lower, TimePrecision: time.Millisecond}, nil},
		"lower case alone": {entity.Config{Namespace: lower}, nil},
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

func TestInterop_TimesAreTextInMillisecondsOrNumbers(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_     entity.Key `name:"Wrong" pk:"$#id_{id}" sk:"$"`
		ID    string     `dynamodbav:"id"`
		Nano  time.Time  `dynamodbav:"nano" entity:"time=ns"`
		Micro *time.Time `dynamodbav:"micro" entity:"time=us"`
		Whole time.Time  `dynamodbav:"whole" entity:"time=s"`
	}
	type right struct {
		_     entity.Key `name:"Right" pk:"$#id_{id}" sk:"$"`
		ID    string     `dynamodbav:"id"`
		At    time.Time  `dynamodbav:"at"`
		Milli time.Time  `dynamodbav:"milli" entity:"time=ms"`
		Unix  time.Time  `dynamodbav:"unix" entity:"time=unix"`
		Since time.Time  `dynamodbav:"since" entity:"time=unixms"`
	}
	checkMistakes[wrong](t, build[wrong](sharedOptions()), mistake{"EDD-9053", "Nano"}, mistake{"EDD-9053", "Micro"}, mistake{"EDD-9053", "Whole"})
	assert.NoError(t, build[wrong](options))
	assert.NoError(t, build[right](sharedOptions()))
}

func TestInterop_APayloadVersionHasNoPlace(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_  entity.Key `name:"Wrong" pk:"$#id_{id}" sk:"$" payload:"2"`
		ID string     `dynamodbav:"id"`
	}
	type first struct {
		_  entity.Key `name:"Right" pk:"$#id_{id}" sk:"$" payload:"1"`
		ID string     `dynamodbav:"id"`
	}
	checkMistakes[wrong](t, build[wrong](sharedOptions()), mistake{"EDD-9053", ""})
	assert.NoError(t, build[first](sharedOptions()))
}

func TestInterop_NumbersInKeysHaveSixteenDigits(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_ entity.Key `name:"Wrong" pk:"$#n_{n:06}" sk:"$"`
		_ entity.GSI `name:"byM" index:"gsi1" pk:"$" sk:"$#m_{m:019}"`
		N int        `dynamodbav:"n"`
		M int        `dynamodbav:"m"`
	}
	type right struct {
		_ entity.Key `name:"Right" pk:"$#n_{n:016}" sk:"$#m_{m}"`
		N int        `dynamodbav:"n"`
		M uint64     `dynamodbav:"m"`
	}
	type verbatim struct {
		_ entity.Key `name:"Verbatim" pk:"pk=n_{n:06}" payload:"2"`
		N int        `dynamodbav:"n"`
		T time.Time  `dynamodbav:"t" entity:"time=ns"`
	}
	checkMistakes[wrong](t, build[wrong](sharedOptions()), mistake{"EDD-9053", "N"}, mistake{"EDD-9053", "M"})
	assert.NoError(t, build[right](sharedOptions()))
	assert.NoError(t, build[verbatim](sharedOptions()), "the profile is about $ entities")
}

func TestInterop_FeaturesCanBeSharedIfADeletionHasItsAttribute(t *testing.T) {
	t.Parallel()
	type right struct {
		_         entity.Key           `name:"Right" pk:"$#id_{id}" sk:"$"`
		_         versioned.Retain     `ttl:"90d"`
		_         lifecycle.SoftDelete `ttl:"30d"`
		_         unique.Constraint    `name:"email" fields:"email"`
		ID        string               `dynamodbav:"id"`
		Email     string               `dynamodbav:"email"`
		Version   int64                `dynamodbav:"version" entity:"version"`
		DeletedAt time.Time            `dynamodbav:"deletedAt,omitempty" entity:"deleted_at"`
	}
	type renamed struct {
		_    entity.Key `name:"Renamed" pk:"$#id_{id}" sk:"$"`
		_    lifecycle.SoftDelete
		ID   string    `dynamodbav:"id"`
		Gone time.Time `dynamodbav:"gone,omitempty" entity:"deleted_at"`
	}
	type number struct {
		_    entity.Key `name:"Number" pk:"$#id_{id}" sk:"$"`
		_    lifecycle.SoftDelete
		ID   string    `dynamodbav:"id"`
		Gone time.Time `dynamodbav:"deletedAt,omitempty" entity:"deleted_at,time=unixms"`
	}
	type locked struct {
		_       entity.Key `name:"Right" pk:"$#id_{id}" sk:"$"`
		_       versioned.Lock
		ID      string `dynamodbav:"id"`
		Version int64  `dynamodbav:"version" entity:"version"`
	}
	assert.NoError(t, build[right](sharedOptions()))
	checkMistakes[renamed](t, build[renamed](sharedOptions()), mistake{"EDD-9053", "Gone"})
	checkMistakes[number](t, build[number](sharedOptions()), mistake{"EDD-9053", "Gone"})
	assert.NoError(t, build[renamed](options))
	assert.NoError(t, build[number](options))
	assert.NoError(t, build[locked](sharedOptions()))
}

func TestLowerCase_AStringCannotOrderEvents(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At string            `dynamodbav:"at"`
		A  int               `dynamodbav:"a" entity:"append"`
	}
	lower := options
	lower.LowerCase = true
	checkMistakes[wrong](t, build[wrong](lower), mistake{"EDD-9054", theEvents})
	checkMistakes[wrong](t, build[wrong](sharedOptions()), mistake{"EDD-9054", theEvents})
	assert.NoError(t, build[wrong](options))
	assert.NoError(t, build[reading](lower))
}

func TestLowerCase_IsAboutDollarKeys(t *testing.T) {
	t.Parallel()
	type item struct {
		_ entity.Key `name:"Item" pk:"$#Id_{id}" sk:"$#{when}#{n}"`
		_ entity.GSI `name:"byID" index:"gsi1" pk:"gsi1pk=Item_{id}"`

		ID   string    `dynamodbav:"id"`
		When time.Time `dynamodbav:"when"`
		N    int       `dynamodbav:"n"`
	}
	o := options
	o.LowerCase, o.Namespace = true, "MyApp"
	s, err := schema.Build(reflect.TypeFor[item](), o)
	require.NoError(t, err)
	require.Equal(t, "$myapp#v1#item", s.Prefix)
	require.Equal(t, "id_", s.PK.Template.Segments[0].Literal)
	for _, f := range append(s.PK.Template.Fields(), s.SK.Template.Fields()...) {
		require.Equal(t, f.Kind != key.Int, f.Lower, f.Attr)
		require.False(t, f.Plain)
	}
	require.Equal(t, "Item_", s.Indexes[0].PK.Template.Segments[0].Literal)
	require.False(t, s.Indexes[0].PK.Template.Fields()[0].Lower)
	require.Equal(t, []*schema.Attr{s.Attr("id")}, s.Cased(), "only strings can differ in case")
	o.LowerCase = false
	s, err = schema.Build(reflect.TypeFor[item](), o)
	require.NoError(t, err)
	require.Equal(t, "$MyApp#v1#item", s.Prefix)
	require.Empty(t, s.Cased())
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
		s, err := schema.Build(reflect.TypeFor[dollar](), c.o)
		require.NoError(t, err)
		require.Equal(t, c.dollar, s.Templated)
		require.Equal(t, c.hidden, s.HasMetadata)
	}
}
