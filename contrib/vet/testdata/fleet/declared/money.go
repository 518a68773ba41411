package declared

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
)

func (m money) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) { return nil, nil }

type encoded struct { // want `EDD-9052: the struct encodes itself`
	_  entity.Key `name:"Wrong" pk:"$#{id}"`
	ID string     `dynamodbav:"id"`
}

func (encoded) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) { return nil, nil }

// counted is stored as a number, texted as a text: which, only New knows.
type counted struct{ n int }

func (c counted) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) { return nil, nil }
func (c *counted) UnmarshalDynamoDBAttributeValue(types.AttributeValue) error  { return nil }

type numbered struct {
	_ entity.Key `name:"Numbered" pk:"$#{n:08}"`
	N counted    `dynamodbav:"n"`
}

type named struct {
	_ entity.Key `name:"Named" pk:"$#{n}" sk:"$#{f}"` // want `EDD-9037: .*`
	N counted    `dynamodbav:"n"`
	F float64    `dynamodbav:"f"`
}

type lined struct {
	_ entity.Key `name:"Lined" pk:"blob"`
	N counted    `dynamodbav:"blob"`
}
