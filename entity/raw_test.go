package entity_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
)

// raw is an item as DynamoDB has it. Values are written with their type, so that two items compare exactly: S"x", N12.
type raw map[string]string

// text writes one stored value, elements of sets and maps in order.
func text(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return "S" + strconv.Quote(v.Value)
	case *types.AttributeValueMemberN:
		return "N" + v.Value
	case *types.AttributeValueMemberB:
		return fmt.Sprintf("B%x", v.Value)
	case *types.AttributeValueMemberBOOL:
		return strconv.FormatBool(v.Value)
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberL:
		var parts []string
		for _, e := range v.Value {
			parts = append(parts, text(e))
		}
		return "L[" + strings.Join(parts, " ") + "]"
	case *types.AttributeValueMemberM:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			parts = append(parts, name+"="+text(v.Value[name]))
		}
		return "M{" + strings.Join(parts, " ") + "}"
	case *types.AttributeValueMemberSS:
		return "SS[" + strings.Join(slices.Sorted(slices.Values(v.Value)), " ") + "]"
	case *types.AttributeValueMemberNS:
		return "NS[" + strings.Join(slices.Sorted(slices.Values(v.Value)), " ") + "]"
	case *types.AttributeValueMemberBS:
		var parts []string
		for _, e := range v.Value {
			parts = append(parts, fmt.Sprintf("%x", e))
		}
		slices.Sort(parts)
		return "BS[" + strings.Join(parts, " ") + "]"
	}
	return fmt.Sprintf("%T", av)
}

func rawOf(it map[string]types.AttributeValue) raw {
	if it == nil {
		return nil
	}
	out := raw{}
	for name, av := range it {
		out[name] = text(av)
	}
	return out
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
func num(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// keys is a primary key of strings: name, value, name, value …
func keys(pairs ...string) map[string]types.AttributeValue {
	k := map[string]types.AttributeValue{}
	for i := 0; i < len(pairs); i += 2 {
		k[pairs[i]] = str(pairs[i+1])
	}
	return k
}

// stored reads one item, nil if absent.
func (l *lab) stored(t *testing.T, key map[string]types.AttributeValue) raw {
	t.Helper()
	return rawOf(l.values(t, key))
}

// values reads one item as DynamoDB gives it, to be put back with put.
func (l *lab) values(t *testing.T, key map[string]types.AttributeValue) map[string]types.AttributeValue {
	t.Helper()
	out, err := l.raw.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &l.table, Key: key, ConsistentRead: aws.Bool(true)})
	require.NoError(t, err)
	return out.Item
}

// drop removes items by their keys, whether they are there or not.
func (l *lab) drop(t *testing.T, keys ...map[string]types.AttributeValue) {
	t.Helper()
	for _, key := range keys {
		_, err := l.raw.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &l.table, Key: key})
		require.NoError(t, err)
	}
}

// everything reads the whole table. Items are told apart by all of their key attributes.
func (l *lab) everything(t *testing.T) map[string]raw {
	t.Helper()
	if l.keys == nil {
		table, err := l.raw.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &l.table})
		require.NoError(t, err)
		l.keys = table.Table.KeySchema
	}
	all := map[string]raw{}
	pages := dynamodb.NewScanPaginator(l.raw, &dynamodb.ScanInput{TableName: &l.table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		require.NoError(t, err)
		for _, it := range page.Items {
			var id []string
			for _, k := range l.keys {
				id = append(id, text(it[*k.AttributeName]))
			}
			all[strings.Join(id, " ")] = rawOf(it)
		}
	}
	return all
}

// indexed reads the items that an index holds, in its order.
func (l *lab) indexed(t *testing.T, index string) []raw {
	t.Helper()
	out, err := l.raw.Scan(t.Context(), &dynamodb.ScanInput{TableName: &l.table, IndexName: &index})
	require.NoError(t, err)
	var all []raw
	for _, it := range out.Items {
		all = append(all, rawOf(it))
	}
	return all
}

// put stores an item as some other program would.
func (l *lab) put(t *testing.T, it map[string]types.AttributeValue) {
	t.Helper()
	_, err := l.raw.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &l.table, Item: it})
	require.NoError(t, err)
}

// patch sets one attribute as some other program would: the write id stays as it was.
func (l *lab) patch(t *testing.T, key map[string]types.AttributeValue, name string, av types.AttributeValue) {
	t.Helper()
	_, err := l.raw.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: &l.table, Key: key, UpdateExpression: aws.String("SET #n = :v"),
		ExpressionAttributeNames: map[string]string{"#n": name}, ExpressionAttributeValues: map[string]types.AttributeValue{":v": av},
	})
	require.NoError(t, err)
}
