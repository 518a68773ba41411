package item

import (
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// shape is a one-field struct type that gives attributevalue the options a field's tag carries; one per pair of type
// and options, so their number is bounded by the program's types.
type shape struct {
	typ     reflect.Type
	options string
}

var shapes sync.Map // shape → reflect.Type

func (s shape) structType() reflect.Type {
	if t, ok := shapes.Load(s); ok {
		return t.(reflect.Type)
	}
	t := reflect.StructOf([]reflect.StructField{{
		Name: "V",
		Type: s.typ,
		Tag:  reflect.StructTag(`dynamodbav:"V` + s.options + `"`),
	}})
	stored, _ := shapes.LoadOrStore(s, t)
	return stored.(reflect.Type)
}

// EncodeValue encodes one value as a field with the given codec options (",stringset", ",omitempty") would be. It
// returns nil when the options say that the value is to be absent.
func (c *Codec) EncodeValue(v reflect.Value, options string) (types.AttributeValue, error) {
	holder := reflect.New(shape{v.Type(), options}.structType()).Elem()
	holder.Field(0).Set(v)
	it, err := attributevalue.MarshalMapWithOptions(holder.Interface(), c.encoder)
	if err != nil {
		return nil, err
	}
	if strings.Contains(options, "set") && strings.Contains(options, ",omitempty") && isNull(it["V"]) {
		return nil, nil
	}
	return it["V"], CheckNumbers(it)
}

// CheckNumbers returns a *FieldError for the first attribute, by name, that holds a number which DynamoDB cannot
// store: NaN, an infinity, more than 38 digits.
func CheckNumbers(it Item) error {
	var bad []string
	for name, av := range it {
		if !storable(av) {
			bad = append(bad, name)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	slices.Sort(bad)
	return &FieldError{bad[0], ErrNumber.Error()}
}

func storable(av types.AttributeValue) bool {
	number := func(s string) bool {
		_, err := ParseDecimal(s)
		return err == nil
	}
	switch v := av.(type) {
	case *types.AttributeValueMemberN:
		return number(v.Value)
	case *types.AttributeValueMemberNS:
		return !slices.ContainsFunc(v.Value, func(s string) bool { return !number(s) })
	case *types.AttributeValueMemberL:
		return !slices.ContainsFunc(v.Value, func(e types.AttributeValue) bool { return !storable(e) })
	case *types.AttributeValueMemberM:
		for _, e := range v.Value {
			if !storable(e) {
				return false
			}
		}
	}
	return true
}
