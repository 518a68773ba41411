package key

import (
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

var (
	errNotText   = errors.New("is not a string")
	errNotNumber = errors.New("is not a number")
)

// Value gives t as it is stored: S for the text formats, N for the others.
func (f TimeFormat) Value(t time.Time) (types.AttributeValue, error) {
	text, err := f.Format(t)
	if err != nil {
		return nil, err
	}
	if f.Text() {
		return &types.AttributeValueMemberS{Value: text}, nil
	}
	return &types.AttributeValueMemberN{Value: text}, nil
}

// FromValue reads a stored time. A number under a text format is an error, and
// the other way round: the two do not compare, so one of them is a mistake.
func (f TimeFormat) FromValue(av types.AttributeValue) (time.Time, error) {
	if f.Text() {
		s, ok := av.(*types.AttributeValueMemberS)
		if !ok || s == nil {
			return time.Time{}, errNotText
		}
		return f.Parse(s.Value)
	}
	n, ok := av.(*types.AttributeValueMemberN)
	if !ok || n == nil {
		return time.Time{}, errNotNumber
	}
	return f.Parse(n.Value)
}
