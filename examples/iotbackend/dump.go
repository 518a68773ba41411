package main

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// item is an item as it is stored.
type item = map[string]types.AttributeValue

// readRaw reads all items of a table without the library, as an independent proof, sorted by their text.
func readRaw(ctx context.Context, client *dynamodb.Client, table string) ([]item, error) {
	var all []item
	pages := dynamodb.NewScanPaginator(client, &dynamodb.ScanInput{TableName: &table, ConsistentRead: &yes})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
	}
	slices.SortFunc(all, func(a, b item) int { return strings.Compare(text(a), text(b)) })
	return all, nil
}

var yes = true

// text formats an item on one line, in DynamoDB's own JSON.
func text(it item) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(typed(it)) // maps, lists and texts can always be encoded
	return strings.TrimSuffix(b.String(), "\n")
}

// typed returns an item with the types of its values.
func typed(it item) map[string]any {
	all := map[string]any{}
	for name, av := range it {
		all[name] = typedValue(av)
	}
	return all
}

func typedValue(av types.AttributeValue) any {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}
	case *types.AttributeValueMemberNULL:
		return map[string]any{"NULL": v.Value}
	case *types.AttributeValueMemberM:
		return map[string]any{"M": typed(v.Value)}
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, e := range v.Value {
			list[i] = typedValue(e)
		}
		return map[string]any{"L": list}
	case *types.AttributeValueMemberSS:
		return map[string]any{"SS": v.Value}
	case *types.AttributeValueMemberNS:
		return map[string]any{"NS": v.Value}
	case *types.AttributeValueMemberB:
		return map[string]any{"B": v.Value}
	case *types.AttributeValueMemberBS:
		return map[string]any{"BS": v.Value}
	}
	return nil
}
