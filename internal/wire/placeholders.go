package wire

import (
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Placeholders are the names and values that the placeholders of expressions stand for, without the memory of maps: the i-th
// name for #i, the i-th value for :i.
type Placeholders struct {
	Names  []string
	Values []types.AttributeValue
}

// NameMap returns the names as a request has them, nil without any.
func (p *Placeholders) NameMap() map[string]string {
	if len(p.Names) == 0 {
		return nil
	}
	m := make(map[string]string, len(p.Names))
	for i, name := range p.Names {
		m[NamePlaceholder(i)] = name
	}
	return m
}

// ValueMap returns the values as a request has them, nil without any.
func (p *Placeholders) ValueMap() map[string]types.AttributeValue {
	if len(p.Values) == 0 {
		return nil
	}
	m := make(map[string]types.AttributeValue, len(p.Values))
	for i, v := range p.Values {
		m[ValuePlaceholder(i)] = v
	}
	return m
}

// placeholders are those of one digit and two.
var placeholders = func() (all struct{ names, values [100]string }) {
	for i := range 100 {
		all.names[i], all.values[i] = "#"+strconv.Itoa(i), ":"+strconv.Itoa(i)
	}
	return all
}()

// NamePlaceholder returns the placeholder of the i-th name.
func NamePlaceholder(i int) string {
	if i < len(placeholders.names) {
		return placeholders.names[i]
	}
	return "#" + strconv.Itoa(i)
}

// ValuePlaceholder returns the placeholder of the i-th value.
func ValuePlaceholder(i int) string {
	if i < len(placeholders.values) {
		return placeholders.values[i]
	}
	return ":" + strconv.Itoa(i)
}

// placeholders writes the names and values of the expressions of a request.
func (w *writer) placeholders(p *Placeholders) {
	if len(p.Names) > 0 {
		w.open("ExpressionAttributeNames")
		for i, name := range p.Names {
			w.name(NamePlaceholder(i))
			w.b = appendText(w.b, name)
		}
		w.close()
	}
	if len(p.Values) > 0 {
		w.open("ExpressionAttributeValues")
		for i, v := range p.Values {
			w.name(ValuePlaceholder(i))
			w.value(v)
		}
		w.close()
	}
}

// complete returns an input that has placeholders, one for each action, which it lacks.
func complete(in smithy.Serializable, of []Placeholders) smithy.Serializable {
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		full := *in
		full.ExpressionAttributeNames, full.ExpressionAttributeValues = of[0].NameMap(), of[0].ValueMap()
		return &full
	case *dynamodb.UpdateItemInput:
		full := *in
		full.ExpressionAttributeNames, full.ExpressionAttributeValues = of[0].NameMap(), of[0].ValueMap()
		return &full
	case *dynamodb.DeleteItemInput:
		full := *in
		full.ExpressionAttributeNames, full.ExpressionAttributeValues = of[0].NameMap(), of[0].ValueMap()
		return &full
	case *dynamodb.TransactWriteItemsInput:
		full := *in
		full.TransactItems = slices.Clone(in.TransactItems)
		for i := range full.TransactItems {
			full.TransactItems[i] = completeAction(full.TransactItems[i], &of[i])
		}
		return &full
	}
	return in
}

// completeAction is complete for an action of a transaction.
func completeAction(it types.TransactWriteItem, of *Placeholders) types.TransactWriteItem {
	names, values := of.NameMap(), of.ValueMap()
	if it.Put != nil {
		full := *it.Put
		full.ExpressionAttributeNames, full.ExpressionAttributeValues = names, values
		it.Put = &full
	}
	if it.Update != nil {
		full := *it.Update
		full.ExpressionAttributeNames, full.ExpressionAttributeValues = names, values
		it.Update = &full
	}
	if it.Delete != nil {
		full := *it.Delete
		full.ExpressionAttributeNames, full.ExpressionAttributeValues = names, values
		it.Delete = &full
	}
	if it.ConditionCheck != nil {
		full := *it.ConditionCheck
		full.ExpressionAttributeNames, full.ExpressionAttributeValues = names, values
		it.ConditionCheck = &full
	}
	return it
}
