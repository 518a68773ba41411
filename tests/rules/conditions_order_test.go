package rules_test

import (
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

type av = types.AttributeValue

func str(s string) av { return dbtest.S(s) }
func num(s string) av { return dbtest.N(s) }

// Sample has attributes with and without an order.
type Sample struct {
	_ entity.Key `name:"Sample" pk:"$#{group}" sk:"$#{id}"`

	Group  string                `dynamodbav:"group"`
	ID     string                `dynamodbav:"id"`
	Note   *string               `dynamodbav:"note"`
	Num    int                   `dynamodbav:"num"`
	Exact  attributevalue.Number `dynamodbav:"exact"`
	Digits int                   `dynamodbav:"digits,string"`
	Flag   bool                  `dynamodbav:"flag"`
	Blob   []byte                `dynamodbav:"blob"`
	Tags   []string              `dynamodbav:"tags,stringset"`
	Place  Place                 `dynamodbav:"place"`
	Labels map[string]string     `dynamodbav:"labels"`
}

// Place has a set inside.
type Place struct {
	Doors []string `dynamodbav:"doors,stringset,omitempty"`
}

func pointer[V any](v V) *V { return &v }

func sampleKey(i int) Sample { return Sample{Group: "g", ID: strconv.Itoa(i)} }

// DynamoDB refuses to order what has no order, whatever the item; so it is a mistake in the call.
func TestConditions_WithoutAnOrderAreRefusedBeforeARequest(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[Sample](t)
	f := entity.Fields[Sample]()
	for field, conds := range map[string][]entity.Cond{
		"Flag":   {entity.Lt(&f.Flag, true), entity.Le(&f.Flag, true), entity.Gt(&f.Flag, false), entity.Ge(&f.Flag, false), entity.Between(&f.Flag, false, true)},
		"Note":   {entity.Lt(&f.Note, nil), entity.Between(&f.Note, nil, pointer("a")), entity.Between(&f.Note, pointer("a"), nil)},
		"Tags":   {entity.Ge(&f.Tags, []string{"a"})},
		"Place":  {entity.Gt(&f.Place, Place{}), entity.Lt(&f.Place.Doors, []string{"a"})},
		"Labels": {entity.Between(&f.Labels, nil, nil)},
		"Exact":  {entity.BeginsWith(&f.Exact, "1")},
	} {
		for _, c := range conds {
			_, err := s.Update(t.Context(), sampleKey(1), entity.Set(&f.Num, 1), entity.If(c))
			dbtest.RequireInput(t, err, "EDD-9111", field)
			require.Empty(t, l.Operations())
			_, err = s.Scan(entity.Filter(entity.Not(c))).Count(t.Context())
			dbtest.RequireInput(t, err, "EDD-9111", field)
			require.Empty(t, l.Operations())
		}
	}
	for _, c := range []entity.Cond{entity.Lt(&f.Note, pointer("")), entity.Ge(&f.Blob, []byte{}), entity.Lt(&f.Digits, 1), entity.Between(&f.Exact, "1", "2"), entity.Ne(&f.Flag, true), entity.In(&f.Note, nil)} {
		l.OK(s.Scan(entity.Filter(c)).Count(t.Context()))
	}
}
