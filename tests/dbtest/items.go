package dbtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
)

// Item is an item as DynamoDB has it.
type Item = map[string]types.AttributeValue

// S returns a string.
func S(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }

// N returns a number.
func N(digits string) types.AttributeValue { return &types.AttributeValueMemberN{Value: digits} }

// Text returns the content of a string or a number, "" for other values and for nil.
func Text(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return ""
}

// Typed writes a string, a number, a boolean or NULL with its type: S x, N 1, BOOL true, NULL.
func Typed(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return "S " + v.Value
	case *types.AttributeValueMemberN:
		return "N " + v.Value
	case *types.AttributeValueMemberBOOL:
		return fmt.Sprint("BOOL ", v.Value)
	case *types.AttributeValueMemberNULL:
		return "NULL"
	}
	return fmt.Sprintf("%T", av)
}

// Items returns everything in the table, in no certain order.
func (b *Bench) Items() []Item {
	b.T.Helper()
	var all []Item
	pages := dynamodb.NewScanPaginator(b.Raw, &dynamodb.ScanInput{TableName: &b.Table, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(b.Ctx, func(o *dynamodb.Options) { o.RetryMaxAttempts = 10 }) // a busy database breaks answers off
		require.NoError(b.T, err)
		all = append(all, page.Items...)
	}
	return all
}

// ItemsByKey returns everything in the table by the texts of partition key and sort key, with a space between them.
func (b *Bench) ItemsByKey() map[string]Item {
	b.T.Helper()
	all := map[string]Item{}
	for _, it := range b.Items() {
		pk, sk := b.KeyOf(it)
		all[strings.TrimSuffix(pk+" "+sk, " ")] = it
	}
	return all
}

// Item returns a stored item, or nil if it does not exist. For a table without sort keys, sk is "".
func (b *Bench) Item(pk, sk string) Item {
	b.T.Helper()
	out, err := b.Raw.GetItem(b.Ctx, &dynamodb.GetItemInput{TableName: &b.Table, Key: b.Key(pk, sk), ConsistentRead: aws.Bool(true)})
	require.NoError(b.T, err)
	return out.Item
}

// IsSentinel reports whether an item is the sentinel of a unique value.
func IsSentinel(it Item) bool { return it["_entity_pk"] != nil }

// Sentinel returns the sentinel of a unique value, nil if absent. Its key must end in "#" and value.
func (b *Bench) Sentinel(value string) Item {
	b.T.Helper()
	for _, it := range b.Items() {
		if pk, _ := b.KeyOf(it); IsSentinel(it) && strings.HasSuffix(pk, "#"+value) {
			return it
		}
	}
	return nil
}

// Current returns the current item whose attribute id has a value, nil if absent.
func (b *Bench) Current(id string) Item {
	b.T.Helper()
	for _, it := range b.Items() {
		if Text(it["id"]) == id && it["_k"] == nil {
			return it
		}
	}
	return nil
}

// PutItem stores an item without the library.
func (b *Bench) PutItem(it Item) {
	b.T.Helper()
	_, err := b.Raw.PutItem(b.Ctx, &dynamodb.PutItemInput{TableName: &b.Table, Item: it})
	require.NoError(b.T, err)
}

// ChangeItem writes attributes of a stored item without the library. A nil value removes one.
func (b *Bench) ChangeItem(pk, sk string, attributes Item) {
	b.T.Helper()
	it := b.Item(pk, sk)
	require.NotNil(b.T, it, "there is no item %s %s", pk, sk)
	for name, av := range attributes {
		if it[name] = av; av == nil {
			delete(it, name)
		}
	}
	b.PutItem(it)
}

// RemoveItem deletes a stored item without the library, as DynamoDB deletes an expired one. Only its key counts.
func (b *Bench) RemoveItem(it Item) {
	b.T.Helper()
	pk, sk := b.KeyOf(it)
	_, err := b.Raw.DeleteItem(b.Ctx, &dynamodb.DeleteItemInput{TableName: &b.Table, Key: b.Key(pk, sk)})
	require.NoError(b.T, err)
}

// Wipe removes everything from the table.
func (b *Bench) Wipe() {
	b.T.Helper()
	for items := range slices.Chunk(b.Items(), 25) {
		var deletes []types.WriteRequest
		for _, it := range items {
			deletes = append(deletes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: b.Key(b.KeyOf(it))}})
		}
		out, err := b.Raw.BatchWriteItem(b.Ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{b.Table: deletes}})
		require.NoError(b.T, err)
		require.Empty(b.T, out.UnprocessedItems)
	}
}

// Key returns the primary key of an item, of strings.
func (b *Bench) Key(pk, sk string) Item {
	b.T.Helper()
	key := Item{}
	for i, text := range []string{pk, sk}[:len(b.keys())] {
		key[*b.keys()[i].AttributeName] = S(text)
	}
	return key
}

// KeyOf returns the texts of an item's primary key. For a table without sort keys, sk is "".
func (b *Bench) KeyOf(it Item) (pk, sk string) {
	b.T.Helper()
	keys := b.keys()
	pk = Text(it[*keys[0].AttributeName])
	if len(keys) > 1 {
		sk = Text(it[*keys[1].AttributeName])
	}
	return pk, sk
}

// keySchema reads the table's key attributes, the partition key first.
func (b *Bench) keySchema() []types.KeySchemaElement {
	b.T.Helper()
	return b.Described(b.Table).KeySchema
}

// Described returns what DynamoDB knows about a table.
func (b *Bench) Described(table string) *types.TableDescription {
	b.T.Helper()
	out, err := b.Raw.DescribeTable(b.Ctx, &dynamodb.DescribeTableInput{TableName: &table})
	require.NoError(b.T, err)
	return out.Table
}

// KeyText returns a key schema as text: pk HASH, sk RANGE.
func KeyText(key []types.KeySchemaElement) []string {
	var parts []string
	for _, k := range key {
		parts = append(parts, *k.AttributeName+" "+string(k.KeyType))
	}
	return parts
}
