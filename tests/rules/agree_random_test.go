package rules_test

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

type av = types.AttributeValue

func str(s string) av { return dbtest.S(s) }
func num(s string) av { return dbtest.N(s) }

// Sample has an attribute of every type that conditions and changes can be about. Its index key has two parts:
// changing only one makes an update read the item first, so that changes are tried on both routes.
type Sample struct {
	_ entity.Key `name:"Sample" pk:"$#{group}" sk:"$#{id}"`
	_ entity.GSI `name:"byTeam" index:"gsi1" pk:"$#{team}#{rank}"`

	Group string `dynamodbav:"group"`
	ID    string `dynamodbav:"id"`
	Team  string `dynamodbav:"team,omitempty"`
	Rank  int    `dynamodbav:"rank,omitempty"`

	Text   string                `dynamodbav:"text"`
	Opt    colour                `dynamodbav:"opt,omitempty"`
	Note   *string               `dynamodbav:"note"`
	Num    int                   `dynamodbav:"num"`
	Small  *int8                 `dynamodbav:"small,omitempty"`
	Ratio  float64               `dynamodbav:"ratio"`
	Exact  attributevalue.Number `dynamodbav:"exact"`
	Digits int                   `dynamodbav:"digits,string"`
	Flag   bool                  `dynamodbav:"flag"`
	Blob   []byte                `dynamodbav:"blob"`
	At     time.Time             `dynamodbav:"at" entity:"time=ms"`
	Unix   time.Time             `dynamodbav:"unix" entity:"time=unix"`
	Tags   []string              `dynamodbav:"tags,stringset"`
	Nums   []int                 `dynamodbav:"nums,numberset"`
	Blobs  [][]byte              `dynamodbav:"blobs,binaryset"`
	Log    []string              `dynamodbav:"log"`
	Place  Place                 `dynamodbav:"place"`
	Labels map[string]string     `dynamodbav:"labels"`
}

// Place is nested, and has a set inside.
type Place struct {
	City  string   `dynamodbav:"city"`
	Floor *int     `dynamodbav:"floor,omitempty"`
	Doors []string `dynamodbav:"doors,stringset,omitempty"`
}

type colour string

func pointer[V any](v V) *V { return &v }
