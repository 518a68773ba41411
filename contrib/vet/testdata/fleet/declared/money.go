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
