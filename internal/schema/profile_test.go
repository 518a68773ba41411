package schema_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// sharedOptions are those of a database that shares its tables.
func sharedOptions() schema.Options {
	o := options
	o.Profile, o.Precision = schema.NewProfile(true, true), key.Milli
	return o
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
	o.Profile, o.Namespace = schema.NewProfile(true, false), "MyApp"
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
	require.Equal(t, []*schema.Attr{s.Attr("id")}, s.FoldedParts(), "only strings can differ in case")
	o.Profile = schema.Profile{}
	s, err = schema.Build(reflect.TypeFor[item](), o)
	require.NoError(t, err)
	require.Equal(t, "$MyApp#v1#item", s.Prefix)
	require.Empty(t, s.FoldedParts())
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
