package entitytype

import (
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// StringSet is a stored set of strings that is read into an any. It is stored as a set again.
type StringSet []string

// NumberSet is a stored set of numbers that is read into an any. It is stored as a set again, with all digits.
type NumberSet []attributevalue.Number

// MarshalDynamoDBAttributeValue implements attributevalue.Marshaler. An empty set is NULL.
func (s StringSet) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return set(struct {
		V []string `dynamodbav:",stringset"`
	}{s})
}

// MarshalDynamoDBAttributeValue implements attributevalue.Marshaler. An empty set is NULL.
func (s NumberSet) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return set(struct {
		V []attributevalue.Number `dynamodbav:",numberset"`
	}{s})
}

func set(v any) (types.AttributeValue, error) {
	it, err := attributevalue.MarshalMap(v)
	return it["V"], err
}
