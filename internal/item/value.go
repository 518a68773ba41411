package item

import (
	"reflect"
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
	if err := checkValue(holder, 0); err != nil {
		return nil, err
	}
	it, err := attributevalue.MarshalMapWithOptions(holder.Addr().Interface(), c.encoder)
	if err != nil {
		return nil, err
	}
	if strings.Contains(options, "set") && strings.Contains(options, ",omitempty") && isNull(it["V"]) {
		return nil, nil
	}
	return it["V"], CheckStorable(it)
}
