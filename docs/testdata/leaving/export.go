package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// added are the attributes that the library adds to items, besides keys.
var added = map[string]bool{"__edd_e__": true, "_w": true, "_pv": true, "_k": true, "_at": true, "_ttl": true, "_op": true, "_touched": true,
	"_deleted": true, "_omitted": true, "_ends": true, "_entity_pk": true, "_entity_sk": true}

// Export writes each item of a table as a line of JSON: its kind, its entity, the attributes of the struct and those of the library. It returns how
// many items of each kind there are.
func Export(ctx context.Context, client *dynamodb.Client, table string, to io.Writer) (map[string]int, error) {
	described, err := client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table})
	if err != nil {
		return nil, err
	}
	isKey := map[string]bool{}
	for _, attribute := range described.Table.AttributeDefinitions {
		isKey[*attribute.AttributeName] = true
	}
	counts, lines := map[string]int{}, json.NewEncoder(to)
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return counts, err
		}
		for _, item := range page.Items {
			kind, entity := classify(item)
			counts[kind]++
			parts := map[bool]map[string]any{true: {}, false: {}}
			for name, av := range item {
				hidden := added[name] || isKey[name] && strings.HasPrefix(text(av), "$")
				parts[hidden && kind != "verbatim"][name] = typed(av)
			}
			if err := lines.Encode(map[string]any{"kind": kind, "entity": entity, "own": parts[false], "added": parts[true]}); err != nil {
				return counts, err
			}
		}
	}
	return counts, nil
}

// classify returns the kind and the entity of an item.
func classify(item map[string]types.AttributeValue) (kind, entity string) {
	name, mark, _ := strings.Cut(text(item["__edd_e__"]), "._")
	base, of, _ := strings.Cut(name, "-")
	switch {
	case name == "":
		return "verbatim", ""
	case item["_entity_pk"] != nil:
		return "sentinel", name
	case mark != "":
		return mark, name
	case base == "Leases", base == "StreamReader", strings.HasPrefix(base, "Timeline") && of != "":
		return base, of
	}
	return cmp.Or(map[string]string{"e": "event", "v": "snapshot", "d": "deleted"}[text(item["_k"])], "current"), name
}

// text returns a string, and "" for a value of another type.
func text(av types.AttributeValue) string {
	if s, ok := av.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// typed returns a value with its type, as DynamoDB writes it in JSON.
func typed(av types.AttributeValue) any {
	value := reflect.ValueOf(av).Elem().FieldByName("Value").Interface()
	switch v := value.(type) {
	case map[string]types.AttributeValue:
		entries := map[string]any{}
		for name, entry := range v {
			entries[name] = typed(entry)
		}
		value = entries
	case []types.AttributeValue:
		list := make([]any, len(v))
		for i, element := range v {
			list[i] = typed(element)
		}
		value = list
	}
	return map[string]any{strings.TrimPrefix(fmt.Sprintf("%T", av), "*types.AttributeValueMember"): value}
}
