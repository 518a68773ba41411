// Package item turns Go values into DynamoDB items and back, with this module's rules for times, and knows what an
// item weighs and when two attribute values are equal.
package item

import (
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is an undecoded DynamoDB item.
type Item = map[string]types.AttributeValue

// Clone returns a shallow copy: attribute values are never changed in place, so sharing them is safe.
func Clone(it Item) Item {
	if it == nil {
		return Item{}
	}
	return maps.Clone(it)
}

// S is a string attribute value.
func S(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// N is a number attribute value; text must be a decimal number.
func N(text string) types.AttributeValue { return &types.AttributeValueMemberN{Value: text} }

// Absent reports that av is missing, NULL or the empty string: what counts as no value in keys.
func Absent(av types.AttributeValue) bool {
	switch v := av.(type) {
	case nil, *types.AttributeValueMemberNULL:
		return true
	case *types.AttributeValueMemberS:
		return v.Value == ""
	}
	return false
}

// Empty reports that av is absent or an empty collection: what a required attribute must not be.
func Empty(av types.AttributeValue) bool {
	switch v := av.(type) {
	case *types.AttributeValueMemberB:
		return len(v.Value) == 0
	case *types.AttributeValueMemberL:
		return len(v.Value) == 0
	case *types.AttributeValueMemberM:
		return len(v.Value) == 0
	case *types.AttributeValueMemberSS:
		return len(v.Value) == 0
	case *types.AttributeValueMemberNS:
		return len(v.Value) == 0
	case *types.AttributeValueMemberBS:
		return len(v.Value) == 0
	}
	return Absent(av)
}
