// Package avjson parses attribute values in DynamoDB's JSON, as Lambda, exports and dumps have it. The text can come from anywhere.
package avjson

import (
	"encoding/json"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
)

// maxDepth is more than the levels of nesting that DynamoDB allows.
const maxDepth = 40

// Item parses a JSON object of attribute values. The problem, if any, never contains a value.
func Item(text json.RawMessage) (it item.Item, problem string) { return parseItem(text, 0) }

// Value parses one attribute value, such as {"S":"text"}.
func Value(text json.RawMessage) (av types.AttributeValue, problem string) {
	return parseValue(text, 0)
}

func parseItem(text json.RawMessage, depth int) (item.Item, string) {
	var raw map[string]json.RawMessage
	if json.Unmarshal(text, &raw) != nil || raw == nil {
		return nil, "a map is expected"
	}
	it := make(item.Item, len(raw))
	for name, one := range raw {
		av, problem := parseValue(one, depth)
		if problem != "" {
			return nil, problem
		}
		it[name] = av
	}
	return it, ""
}

func parseValue(text json.RawMessage, depth int) (types.AttributeValue, string) {
	if depth > maxDepth {
		return nil, "it is nested too deeply"
	}
	var raw map[string]json.RawMessage
	if json.Unmarshal(text, &raw) != nil || len(raw) != 1 {
		return nil, "an object with one type is expected"
	}
	for kind, content := range raw {
		return parseTyped(kind, content, depth)
	}
	return nil, "it is empty"
}

func parseTyped(kind string, text json.RawMessage, depth int) (types.AttributeValue, string) {
	bad := func(problem string) (types.AttributeValue, string) { return nil, problem }
	switch kind {
	case "S":
		if s, ok := parseJSON[string](text); ok {
			return &types.AttributeValueMemberS{Value: s}, ""
		}
	case "N":
		if s, ok := parseJSON[string](text); ok && isNumber(s) {
			return &types.AttributeValueMemberN{Value: s}, ""
		}
	case "B":
		if b, ok := parseJSON[[]byte](text); ok {
			return &types.AttributeValueMemberB{Value: b}, ""
		}
	case "BOOL":
		if b, ok := parseJSON[bool](text); ok {
			return &types.AttributeValueMemberBOOL{Value: b}, ""
		}
	case "NULL":
		if b, ok := parseJSON[bool](text); ok && b {
			return &types.AttributeValueMemberNULL{Value: true}, ""
		}
	case "SS":
		if list, ok := parseList[string](text); ok {
			return &types.AttributeValueMemberSS{Value: list}, ""
		}
	case "NS":
		list, ok := parseList[string](text)
		for _, s := range list {
			ok = ok && isNumber(s)
		}
		if ok {
			return &types.AttributeValueMemberNS{Value: list}, ""
		}
	case "BS":
		if list, ok := parseList[[]byte](text); ok {
			return &types.AttributeValueMemberBS{Value: list}, ""
		}
	case "M":
		it, problem := parseItem(text, depth+1)
		if problem != "" {
			return bad(problem)
		}
		return &types.AttributeValueMemberM{Value: it}, ""
	case "L":
		return parseListValue(text, depth)
	default:
		return bad("its type is unknown")
	}
	return bad("its content does not fit its type, " + kind)
}

func parseListValue(text json.RawMessage, depth int) (types.AttributeValue, string) {
	var raw []json.RawMessage
	if json.Unmarshal(text, &raw) != nil || raw == nil {
		return nil, "its content does not fit its type, L"
	}
	list := make([]types.AttributeValue, len(raw))
	for i, one := range raw {
		av, problem := parseValue(one, depth+1)
		if problem != "" {
			return nil, problem
		}
		list[i] = av
	}
	return &types.AttributeValueMemberL{Value: list}, ""
}

// parseJSON parses a JSON value that must not be null.
func parseJSON[V any](text json.RawMessage) (V, bool) {
	var v *V
	if json.Unmarshal(text, &v) != nil || v == nil {
		var none V
		return none, false
	}
	return *v, true
}

// parseList parses the elements of a set: a list without nulls that is not empty.
func parseList[V any](text json.RawMessage) ([]V, bool) {
	list, ok := parseJSON[[]*V](text)
	all := make([]V, 0, len(list))
	for _, v := range list {
		if v == nil {
			return nil, false
		}
		all = append(all, *v)
	}
	return all, ok && len(all) > 0
}

func isNumber(text string) bool {
	_, err := item.ParseDecimal(text)
	return err == nil
}
