package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sort"
	"strings"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type item = map[string]types.AttributeValue

// encode returns the attributes of a struct, and those that this library adds to its items: the entity, and for a related item
// its kind.
func encode(v any, entity, kind string) item {
	it, err := attributevalue.MarshalMap(v)
	if err != nil {
		panic(err) // of a struct of this package
	}
	if entity != "" {
		it["__edd_e__"] = &types.AttributeValueMemberS{Value: entity}
	}
	if kind != "" {
		it["_k"] = &types.AttributeValueMemberS{Value: kind}
		it["_at"] = &types.AttributeValueMemberS{Value: now.Format(eventTime)}
	}
	return it
}

// object returns an item as the JSON that DynamoDB answers with.
func object(it item) string {
	names := make([]string, 0, len(it))
	for name := range it {
		names = append(names, name)
	}
	sort.Strings(names)
	fields := make([]string, len(names))
	for i, name := range names {
		fields[i] = quote(name) + ":" + value(it[name])
	}
	return "{" + strings.Join(fields, ",") + "}"
}

func list(items []item) string {
	texts := make([]string, len(items))
	for i, it := range items {
		texts[i] = object(it)
	}
	return "[" + strings.Join(texts, ",") + "]"
}

func value(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return `{"S":` + quote(v.Value) + `}`
	case *types.AttributeValueMemberN:
		return `{"N":` + quote(v.Value) + `}`
	case *types.AttributeValueMemberBOOL:
		return fmt.Sprintf(`{"BOOL":%t}`, v.Value)
	case *types.AttributeValueMemberB:
		return `{"B":"` + base64.StdEncoding.EncodeToString(v.Value) + `"}`
	case *types.AttributeValueMemberNULL:
		return `{"NULL":true}`
	case *types.AttributeValueMemberM:
		return `{"M":` + object(v.Value) + `}`
	case *types.AttributeValueMemberL:
		texts := make([]string, len(v.Value))
		for i, e := range v.Value {
			texts[i] = value(e)
		}
		return `{"L":[` + strings.Join(texts, ",") + `]}`
	}
	panic(fmt.Sprintf("no item here has a %T", av))
}

func quote(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings can be encoded
	}
	return string(text)
}

func itemAnswer(it item) string { return `{"Item":` + object(it) + `}` }

func attributesAnswer(it item) string { return `{"Attributes":` + object(it) + `}` }

func pageAnswer(items []item) string {
	return fmt.Sprintf(`{"Count":%d,"Items":%s,"ScannedCount":%d}`, len(items), list(items), len(items))
}

func batchAnswer(table string, items []item) string {
	return `{"Responses":{` + quote(table) + `:` + list(items) + `},"UnprocessedKeys":{}}`
}
