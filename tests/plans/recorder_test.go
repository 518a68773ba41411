package plans_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
)

type attributes = map[string]types.AttributeValue

// recorder writes down the requests that it gets. It is no database: conditions always hold, changes are not applied, and
// it answers reads with the items that were put. Plans that are made from a stored item need nothing more.
type recorder struct {
	entity.Client // nil: other requests fail
	items         map[string]attributes
	mu            sync.Mutex
	sent          []string
}

func keyOf(it attributes) string { return value(it["pk"]) + " " + value(it["sk"]) }

// take returns the requests since the last call. Reads that follow each other are sorted, since some are sent at once.
func (r *recorder) take() string {
	isRead := func(s string) bool { return strings.HasPrefix(s, "GetItem ") || strings.HasPrefix(s, "Query ") }
	for i := 0; i < len(r.sent); i++ {
		from := i
		for i < len(r.sent) && isRead(r.sent[i]) {
			i++
		}
		slices.Sort(r.sent[from:i])
	}
	text := strings.Join(r.sent, "\n")
	r.sent = nil
	return text
}

func (r *recorder) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent = append(r.sent, strings.TrimRight(fmt.Sprintf(format, args...), " \n"))
}

func (r *recorder) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	r.note("GetItem %s%s", item(in.Key), consistent(in.ConsistentRead))
	return &dynamodb.GetItemOutput{Item: r.items[keyOf(in.Key)]}, nil
}

// Query finds items of the partition whose sort keys have the given prefix, or lie in the given range.
func (r *recorder) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	e := expressions{in.ExpressionAttributeNames, in.ExpressionAttributeValues}
	condition := e.spell(in.KeyConditionExpression)
	text := "Query " + condition
	if in.FilterExpression != nil {
		text += " filter " + e.spell(in.FilterExpression)
	}
	if in.ScanIndexForward != nil && !*in.ScanIndexForward {
		text += " descending"
	}
	if in.Limit != nil {
		text += fmt.Sprintf(" limit %d", *in.Limit)
	}
	r.note("%s%s", text, consistent(in.ConsistentRead))

	var values []string
	for _, name := range placeholder.FindAllString(*in.KeyConditionExpression, -1) {
		if av, ok := in.ExpressionAttributeValues[name].(*types.AttributeValueMemberS); ok {
			values = append(values, av.Value)
		}
	}
	var found []attributes
	for _, it := range r.items {
		sk := it["sk"].(*types.AttributeValueMemberS).Value
		switch in := it["pk"].(*types.AttributeValueMemberS).Value == values[0]; {
		case !in:
		case strings.Contains(condition, "begins_with"):
			if strings.HasPrefix(sk, values[1]) {
				found = append(found, it)
			}
		case strings.Contains(condition, "BETWEEN"):
			if sk >= values[1] && sk <= values[2] {
				found = append(found, it)
			}
		default:
			return nil, errors.New("a query that the recorder cannot answer: " + condition)
		}
	}
	slices.SortFunc(found, func(a, b attributes) int { return strings.Compare(keyOf(a), keyOf(b)) })
	if in.ScanIndexForward != nil && !*in.ScanIndexForward {
		slices.Reverse(found)
	}
	return &dynamodb.QueryOutput{Items: found}, nil
}

func (r *recorder) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	e := expressions{in.ExpressionAttributeNames, in.ExpressionAttributeValues}
	r.note("PutItem %s%s", item(in.Item), e.rest(nil, in.ConditionExpression, string(in.ReturnValues), string(in.ReturnValuesOnConditionCheckFailure)))
	before := r.items[keyOf(in.Item)]
	r.items[keyOf(in.Item)] = in.Item
	return &dynamodb.PutItemOutput{Attributes: before}, nil
}

func (r *recorder) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	e := expressions{in.ExpressionAttributeNames, in.ExpressionAttributeValues}
	r.note("UpdateItem %s%s", item(in.Key), e.rest(in.UpdateExpression, in.ConditionExpression, string(in.ReturnValues), string(in.ReturnValuesOnConditionCheckFailure)))
	known := maps.Clone(r.items[keyOf(in.Key)])
	if known == nil && in.ReturnValues == types.ReturnValueAllNew {
		known = maps.Clone(in.Key)
	}
	return &dynamodb.UpdateItemOutput{Attributes: known}, nil
}

func (r *recorder) DeleteItem(_ context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	e := expressions{in.ExpressionAttributeNames, in.ExpressionAttributeValues}
	r.note("DeleteItem %s%s", item(in.Key), e.rest(nil, in.ConditionExpression, string(in.ReturnValues), string(in.ReturnValuesOnConditionCheckFailure)))
	before := r.items[keyOf(in.Key)]
	delete(r.items, keyOf(in.Key))
	return &dynamodb.DeleteItemOutput{Attributes: before}, nil
}

func (r *recorder) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	token := ""
	if in.ClientRequestToken != nil {
		token = " token " + *in.ClientRequestToken
	}
	r.note("TransactWriteItems%s", token)
	for _, one := range in.TransactItems {
		switch {
		case one.Put != nil:
			a := one.Put
			e := expressions{a.ExpressionAttributeNames, a.ExpressionAttributeValues}
			r.note("  put %s%s", item(a.Item), e.rest(nil, a.ConditionExpression, "", string(a.ReturnValuesOnConditionCheckFailure)))
			r.items[keyOf(a.Item)] = a.Item
		case one.Update != nil:
			a := one.Update
			e := expressions{a.ExpressionAttributeNames, a.ExpressionAttributeValues}
			r.note("  update %s%s", item(a.Key), e.rest(a.UpdateExpression, a.ConditionExpression, "", string(a.ReturnValuesOnConditionCheckFailure)))
		case one.Delete != nil:
			a := one.Delete
			e := expressions{a.ExpressionAttributeNames, a.ExpressionAttributeValues}
			r.note("  delete %s%s", item(a.Key), e.rest(nil, a.ConditionExpression, "", string(a.ReturnValuesOnConditionCheckFailure)))
			delete(r.items, keyOf(a.Key))
		case one.ConditionCheck != nil:
			a := one.ConditionCheck
			e := expressions{a.ExpressionAttributeNames, a.ExpressionAttributeValues}
			r.note("  check %s%s", item(a.Key), e.rest(nil, a.ConditionExpression, "", string(a.ReturnValuesOnConditionCheckFailure)))
		}
	}
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

func (r *recorder) BatchWriteItem(_ context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	r.note("BatchWriteItem")
	for _, table := range slices.Sorted(maps.Keys(in.RequestItems)) {
		for _, one := range in.RequestItems[table] {
			switch {
			case one.PutRequest != nil:
				r.note("  put %s", item(one.PutRequest.Item))
			case one.DeleteRequest != nil:
				r.note("  delete %s", item(one.DeleteRequest.Key))
			}
		}
	}
	return &dynamodb.BatchWriteItemOutput{}, nil
}

func consistent(strong *bool) string {
	if strong != nil && *strong {
		return " consistent"
	}
	return ""
}

// expressions are the placeholders of a request.
type expressions struct {
	names  map[string]string
	values attributes
}

var placeholder = regexp.MustCompile(`[#:][0-9a-zA-Z_]+`)

// spell writes names and values in place of their placeholders.
func (e expressions) spell(expression *string) string {
	return placeholder.ReplaceAllStringFunc(*expression, func(p string) string {
		if name, ok := e.names[p]; ok {
			return name
		}
		return value(e.values[p])
	})
}

// rest is what a write has besides its key and item; nil and "" leave a part out.
func (e expressions) rest(update, condition *string, returns, onFailure string) string {
	var b strings.Builder
	if update != nil {
		b.WriteString("\n    " + e.spell(update))
	}
	if condition != nil {
		b.WriteString("\n    if " + e.spell(condition))
	}
	if returns != "" && returns != "NONE" {
		b.WriteString("\n    returns " + returns)
	}
	if condition != nil && onFailure != "ALL_OLD" {
		b.WriteString("\n    a failed condition does not return the item")
	}
	return b.String()
}

// item is the key of it, and its other attributes in a line of their own.
func item(it attributes) string {
	var key, others []string
	for _, name := range slices.Sorted(maps.Keys(it)) {
		text := name + "=" + value(it[name])
		if name == "pk" || name == "sk" {
			key = append(key, text)
		} else {
			others = append(others, text)
		}
	}
	text := strings.Join(key, " ")
	if len(others) > 0 {
		text += "\n    {" + strings.Join(others, ", ") + "}"
	}
	return text
}

// value is av for a reader.
func value(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return strconv.Quote(v.Value)
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return strconv.FormatBool(v.Value)
	case *types.AttributeValueMemberNULL:
		return "null"
	case *types.AttributeValueMemberB:
		return "b64:" + base64.StdEncoding.EncodeToString(v.Value)
	case *types.AttributeValueMemberL:
		var parts []string
		for _, e := range v.Value {
			parts = append(parts, value(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *types.AttributeValueMemberM:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			parts = append(parts, name+": "+value(v.Value[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case *types.AttributeValueMemberSS:
		return fmt.Sprintf("SS%q", v.Value)
	case *types.AttributeValueMemberNS:
		return fmt.Sprintf("NS%v", v.Value)
	}
	return fmt.Sprintf("%T", av)
}
