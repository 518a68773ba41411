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
