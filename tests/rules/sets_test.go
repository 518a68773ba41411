package rules_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/versioned"
)

type words = map[string]struct{}

// marking validates itself.
type marking string

func (l marking) Validate() error {
	if l == "bad" {
		return errors.New("no marking")
	}
	return nil
}

// lamp encodes itself as a text.
type lamp struct{ room, n int }

func (l lamp) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return dbtest.S(fmt.Sprint(l.room, "/", l.n)), nil
}

func (l *lamp) UnmarshalDynamoDBAttributeValue(v types.AttributeValue) error {
	_, err := fmt.Sscanf(dbtest.Text(v), "%d/%d", &l.room, &l.n)
	return err
}

// keyed has its sets as maps, and a history that expires.
type keyed struct {
	_       entity.Key                         `name:"Keyed" pk:"$#{id}" sk:"$"`
	_       versioned.Retain                   `ttl:"1h"`
	ID      string                             `dynamodbav:"id"`
	Tags    words                              `dynamodbav:"tags,omitempty,stringset"`
	Labels  map[marking]struct{}               `dynamodbav:"labels,stringset"`
	Nums    map[int]struct{}                   `dynamodbav:"nums,omitempty,numberset"`
	Digits  map[attributevalue.Number]struct{} `dynamodbav:"digits,omitempty,numberset"`
	Prints  map[[4]byte]struct{}               `dynamodbav:"prints,omitempty,binaryset"`
	Lamps   map[lamp]struct{}                  `dynamodbav:"lamps,omitempty,stringset"`
	Plain   words                              `dynamodbav:"plain,omitempty"`
	Version int64                              `dynamodbav:"version" entity:"version"`
}

func setOf[T comparable](es ...T) map[T]struct{} {
	m := map[T]struct{}{}
	for _, e := range es {
		m[e] = struct{}{}
	}
	return m
}

func TestSets_OfMapsAreStoredAsSets(t *testing.T) {
	b, p, ctx := open[keyed](t), entity.Fields[keyed](), t.Context()
	v := keyed{
		ID: "x", Tags: setOf("b", "a"), Labels: setOf[marking]("l"), Nums: setOf(10, 9), Digits: setOf[attributevalue.Number]("12345678901234567890"),
		Prints: setOf([4]byte{1}, [4]byte{}), Lamps: setOf(lamp{1, 2}), Plain: setOf("kept as a map"),
	}
	got := entity.Must(b.Create(ctx, v))
	v.Version = 1
	require.Equal(t, v, got)
	require.Equal(t, v, entity.Must(b.Get(ctx, keyed{ID: "x"}, entity.Consistent())))
	it := b.stored(t)
	require.ElementsMatch(t, []string{"a", "b"}, it["tags"].(*types.AttributeValueMemberSS).Value)
	require.ElementsMatch(t, []string{"9", "10"}, it["nums"].(*types.AttributeValueMemberNS).Value)
	require.ElementsMatch(t, [][]byte{{1, 0, 0, 0}, {0, 0, 0, 0}}, it["prints"].(*types.AttributeValueMemberBS).Value)
	require.Equal(t, &types.AttributeValueMemberSS{Value: []string{"1/2"}}, it["lamps"])
	require.IsType(t, &types.AttributeValueMemberM{}, it["plain"])

	got = entity.Must(b.Update(ctx, v, entity.AddKeys(&p.Tags, "c", "a"), entity.DeleteKeys(&p.Nums, 9, 10), entity.Attr[map[lamp]struct{}]("lamps").AddToSet(setOf(lamp{3, 4})),
		entity.If(entity.ContainsKey(&p.Tags, "b"), entity.ContainsKey(&p.Lamps, lamp{1, 2}), entity.Not(entity.ContainsKey(&p.Nums, 8)), entity.Eq(&p.Prints, setOf([4]byte{}, [4]byte{1})))))
	v.Tags, v.Nums, v.Lamps, v.Version = setOf("a", "b", "c"), nil, setOf(lamp{1, 2}, lamp{3, 4}), 2
	require.Equal(t, v, got)
	b.Operations()
	got = entity.Must(b.Modify(ctx, v, func(v *keyed) error { v.Tags["a"] = struct{}{}; return nil }))
	require.Equal(t, v, got)
	require.Equal(t, []string{"GetItem"}, b.Operations(), "nothing changed")
	got = entity.Must(b.Modify(ctx, v, func(v *keyed) error { delete(v.Tags, "a"); clear(v.Prints); v.Labels = nil; return nil }))
	v.Tags, v.Prints, v.Labels, v.Version = setOf("b", "c"), nil, nil, 3
	require.Equal(t, v, got)
	for _, absent := range []string{"prints", "nums"} {
		require.NotContains(t, b.stored(t), absent)
	}
	require.IsType(t, &types.AttributeValueMemberNULL{}, b.stored(t)["labels"])
	n, err := b.Scan(entity.Filter(entity.ContainsKey(&p.Tags, "c"), entity.Eq(&p.Nums, setOf[int]()))).Count(ctx)
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestSets_OfMapsTakeNoEntriesAndNoWrongElements(t *testing.T) {
	b, p := open[keyed](t), entity.Fields[keyed]()
	key := keyed{ID: "x"}
	for text, err := range map[string]error{
		"EDD-9102":                       dbtest.ErrorOf(b.Update(t.Context(), key, entity.MapEntry(&p.Tags, "a").Set(struct{}{}))),
		"which has no entries":           dbtest.ErrorOf(b.Update(t.Context(), key, entity.Set(&p.Tags, nil), entity.If(entity.MapEntry(&p.Tags, "a").Exists()))),
		"there is no element":            dbtest.ErrorOf(b.Update(t.Context(), key, entity.AddKeys(&p.Tags))),
		"not stored as a set":            dbtest.ErrorOf(b.Update(t.Context(), key, entity.AddKeys(&p.Plain, "a"))),
		"the map is not stored as a set": dbtest.ErrorOf(b.Update(t.Context(), key, entity.AddKeys(&p.Tags, "a"), entity.If(entity.ContainsKey(&p.Plain, "a")))),
		`Labels["bad"]: no marking`:      dbtest.ErrorOf(b.Create(t.Context(), keyed{ID: "x", Labels: setOf[marking]("bad", "good")})),
		"Labels: no marking":             dbtest.ErrorOf(b.Update(t.Context(), key, entity.AddKeys(&p.Labels, "bad"))),
		"in the set twice":               dbtest.ErrorOf(b.Create(t.Context(), keyed{ID: "x", Digits: setOf[attributevalue.Number]("1", "1.0")})),
	} {
		require.ErrorContains(t, err, text)
	}
	require.Empty(t, b.Operations())
}
