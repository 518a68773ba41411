package schema_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/schema"
)

type place struct {
	Street string   `dynamodbav:"street"` // at the same address as the place itself
	City   string   `dynamodbav:"city"`
	Spot   *spot    `dynamodbav:"spot"`
	Tags   []string `dynamodbav:"tags,stringset"`
	Secret string   `dynamodbav:"-"`
	hidden string
}

type spot struct {
	Lat, Lon float64
	Up       *spot
}

type Stamps struct {
	CreatedAt time.Time  `dynamodbav:"createdAt"`
	SeenAt    *time.Time `dynamodbav:"seenAt"`
}

type Extra struct {
	Note *string `dynamodbav:"note"`
}

type inner struct {
	Depth *int `dynamodbav:"depth"`
}

type boxed struct{ text string }

func (b boxed) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberS{Value: b.text}, nil
}

// site has every kind of field that an address can be taken of.
type site struct {
	_ entity.Key `name:"Site" pk:"$#{id}"`
	Stamps
	*Extra
	inner
	Kept  Stamps `dynamodbav:"kept"`
	ID    string `dynamodbav:"id"`
	Alert *bool  `dynamodbav:"alert"`
	Deep  **int  `dynamodbav:"deep"`
	Home  place  `dynamodbav:"home"`
	Work  *place `dynamodbav:"work"`
	Plain int
	Seen  time.Time `dynamodbav:"seen"`
	Boxed *boxed    `dynamodbav:"boxed"`
	Sizes map[string]int
	Next  *site  `dynamodbav:"next"`
	Root  tree   `dynamodbav:"root"`
	Other *tree  `dynamodbav:"other"`
	Out   string `dynamodbav:"-"`
}

type tree struct {
	Name string
	Left *tree
	Pair *pair
}

type pair struct {
	Mark string
	Of   *tree
}

func schemaOf[T any](t *testing.T) *schema.Schema {
	t.Helper()
	return entity.Must(schema.Build(reflect.TypeFor[T](), options))
}

func nodeAt(s *schema.Schema, p any) *schema.Node { return s.Node(reflect.ValueOf(p)) }

func TestAddress_NamesTheAttributeOfEveryField(t *testing.T) {
	t.Parallel()
	s, f := schemaOf[site](t), entity.Fields[site]()
	for _, c := range []struct {
		pointer any
		path    string
		top     bool
	}{
		{&f.ID, "id", true},
		{&f.Plain, "Plain", true},
		{&f.Seen, "seen", true},
		{&f.Sizes, "Sizes", true},
		// A struct and its first field share an address.
		{&f.Home, "home", true},
		{&f.Home.Street, "home.street", false},
		{&f.Home.City, "home.city", false},
		{&f.Home.Tags, "home.tags", false},
		// The address of a pointer field and the pointer itself name one attribute.
		{&f.Alert, "alert", true},
		{f.Alert, "alert", true},
		{&f.Work, "work", true},
		{f.Work, "work", true},
		{&f.Work.Street, "work.street", false},
		{&f.Work.City, "work.city", false},
		{&f.Home.Spot, "home.spot", false},
		{f.Home.Spot, "home.spot", false},
		{&f.Home.Spot.Lon, "home.spot.Lon", false},
		{&f.Work.Spot.Lat, "work.spot.Lat", false},
		{&f.Deep, "deep", true},
		{&f.Boxed, "boxed", true},
		{f.Boxed, "boxed", true},
		// Fields of embedded structs are the outer struct's, unless the embedding has a name.
		{&f.CreatedAt, "createdAt", true},
		{&f.SeenAt, "seenAt", true},
		{f.SeenAt, "seenAt", true},
		{&f.Note, "note", true},
		{f.Note, "note", true},
		{&f.Depth, "depth", true},
		{f.Depth, "depth", true},
		{&f.Kept, "kept", true},
		{&f.Kept.CreatedAt, "kept.createdAt", false},
		{f.Kept.SeenAt, "kept.seenAt", false},
		// A type that contains itself is followed once.
		{&f.Root.Name, "root.Name", false},
		{&f.Root.Left, "root.Left", false},
		{&f.Root.Pair.Mark, "root.Pair.Mark", false},
		{&f.Root.Pair.Of, "root.Pair.Of", false},
		{&f.Other.Name, "other.Name", false},
		{&f.Other.Pair.Mark, "other.Pair.Mark", false},
		{&f.Home.Spot.Up, "home.spot.Up", false},
		{&f.Next, "next", true},
	} {
		v := reflect.ValueOf(c.pointer)
		if !assert.False(t, v.IsNil(), "%s is not allocated", c.path) {
			continue
		}
		n := s.Node(v)
		if assert.NotNil(t, n, c.path) {
			assert.Equal(t, c.path, n.Path.String())
			assert.Equal(t, c.top, n.Top, c.path)
			assert.Same(t, s.Attr(n.Path.Root()), n.Attr, c.path)
			assert.Equal(t, v.Type().Elem(), n.Type, c.path)
		}
	}
}

func TestAddress_RecursionEnds(t *testing.T) {
	t.Parallel()
	f := entity.Fields[site]()
	for name, p := range map[string]any{
		"Next": f.Next, "Root.Left": f.Root.Left, "Root.Pair.Of": f.Root.Pair.Of, "Home.Spot.Up": f.Home.Spot.Up,
	} {
		assert.True(t, reflect.ValueOf(p).IsNil(), name)
	}
}

func TestAddress_CodecOptionsOfTheFieldAreKnown(t *testing.T) {
	t.Parallel()
	s, f := schemaOf[site](t), entity.Fields[site]()
	require.Equal(t, ",stringset", nodeAt(s, &f.Work.Tags).Options)
	require.Equal(t, "string", nodeAt(s, &f.Home.Tags).Tag.Set)
	require.Empty(t, nodeAt(s, &f.Home.City).Options)
}

func TestAddress_WhatIsNotStoredHasNone(t *testing.T) {
	t.Parallel()
	s, f := schemaOf[site](t), entity.Fields[site]()
	require.Nil(t, nodeAt(s, &f.Out))
	require.Nil(t, nodeAt(s, &f.Home.Secret))
	require.Nil(t, nodeAt(s, &f.Home.hidden))
	require.Nil(t, nodeAt(s, &f.Boxed.text))
	require.Nil(t, nodeAt(s, f), "the prototype as a whole is no attribute")
	require.Nil(t, nodeAt(s, &f.Stamps), "an embedded struct is no attribute")
}

func TestAddress_OfAnotherStructIsUnknown(t *testing.T) {
	t.Parallel()
	type twin site // the same fields at the same offsets
	type neighbour struct {
		_ entity.Key `name:"Neighbour" pk:"$#{id}"`
		Stamps
		ID   string `dynamodbav:"id"`
		Home place  `dynamodbav:"home"`
	}
	s, f, n := schemaOf[site](t), entity.Fields[site](), entity.Fields[neighbour]()
	schemaOf[neighbour](t)
	tw, mine, lone := entity.Fields[twin](), site{Alert: new(bool), Work: &place{}}, "id"
	for i, p := range []any{
		&n.ID, &n.Home, &n.Home.City, &n.CreatedAt, // shares the embedded type
		&tw.ID, tw.Alert, &tw.Home.Street,
		&mine.ID, &mine.Alert, mine.Alert, &mine.Work.City, // a value instead of the prototype
		&lone,
	} {
		assert.Nil(t, nodeAt(s, p), "pointer %d", i)
	}
	copied := *f // a copy has fields of its own, but its pointers still lead into the prototype
	assert.Nil(t, nodeAt(s, &copied.ID))
	assert.Nil(t, nodeAt(s, &copied.Work))
	assert.Equal(t, "work.city", nodeAt(s, &copied.Work.City).Path.String())
}

func TestAddress_TypeTellsFieldsAtOnePlaceApart(t *testing.T) {
	t.Parallel()
	type core struct {
		Name string `dynamodbav:"name"`
	}
	type shell struct {
		Core core `dynamodbav:"core"`
	}
	type onion struct {
		Shell shell      `dynamodbav:"shell"`
		_     entity.Key `name:"Onion" pk:"$#{id}"`
		ID    string     `dynamodbav:"id"`
	}
	s, f := schemaOf[onion](t), entity.Fields[onion]()
	require.Equal(t, reflect.ValueOf(&f.Shell).Pointer(), reflect.ValueOf(&f.Shell.Core.Name).Pointer())
	require.Equal(t, "shell", nodeAt(s, &f.Shell).Path.String())
	require.Equal(t, "shell.core", nodeAt(s, &f.Shell.Core).Path.String())
	require.Equal(t, "shell.core.name", nodeAt(s, &f.Shell.Core.Name).Path.String())
	require.Nil(t, nodeAt(s, f), "the struct begins there too")
}

func TestAddress_PrototypeIsOneForTheProgram(t *testing.T) {
	t.Parallel()
	f := entity.Fields[site]()
	require.Same(t, f, entity.Fields[site]())
	for _, name := range []string{"One", "Two"} {
		o := options
		o.Name = name
		require.Equal(t, "home.city", nodeAt(entity.Must(schema.Build(reflect.TypeFor[site](), o)), &f.Home.City).Path.String())
	}
	require.NotSame(t, entity.Fields[gauge[int8]](), any(entity.Fields[gauge[int16]]()))
}

func TestAddress_PrototypeIsSafeToAskForAtOnce(t *testing.T) {
	t.Parallel()
	type raced struct {
		ID    string
		Alert *bool
	}
	const callers = 16
	got := make(chan *raced, callers)
	for range callers {
		go func() { got <- entity.Fields[raced]() }()
	}
	first := <-got
	for range callers - 1 {
		require.Same(t, first, <-got)
	}
	require.NotNil(t, first.Alert)
}
