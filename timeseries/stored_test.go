package timeseries_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
)

type item = map[string]types.AttributeValue

func avS(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }

func avN(digits string) types.AttributeValue { return &types.AttributeValueMemberN{Value: digits} }

// scan is everything in the table.
func (w *world[T]) scan() []item {
	w.t.Helper()
	var all []item
	consistent := true
	pages := dynamodb.NewScanPaginator(w.raw, &dynamodb.ScanInput{TableName: &w.table, ConsistentRead: &consistent})
	for pages.HasMorePages() {
		page, err := pages.NextPage(w.ctx)
		require.NoError(w.t, err)
		all = append(all, page.Items...)
	}
	return all
}

// partition is what is stored under one partition key, by sort key.
func (w *world[T]) partition(pk string) map[string]map[string]string {
	w.t.Helper()
	all := map[string]map[string]string{}
	for _, it := range w.scan() {
		if text(it["pk"]) == "S "+pk {
			all[text(it["sk"])[2:]] = plain(it)
		}
	}
	return all
}

// item is one stored item, nil if absent.
func (w *world[T]) item(pk, sk string) item {
	w.t.Helper()
	consistent := true
	out, err := w.raw.GetItem(w.ctx, &dynamodb.GetItemInput{TableName: &w.table, Key: item{"pk": avS(pk), "sk": avS(sk)}, ConsistentRead: &consistent})
	require.NoError(w.t, err)
	return out.Item
}

// change rewrites a stored item behind the library's back. With nothing in it the item is deleted.
func (w *world[T]) change(pk, sk string, f func(item)) {
	w.t.Helper()
	it := w.item(pk, sk)
	if it == nil {
		it = item{"pk": avS(pk), "sk": avS(sk)}
	}
	f(it)
	if len(it) == 0 {
		_, err := w.raw.DeleteItem(w.ctx, &dynamodb.DeleteItemInput{TableName: &w.table, Key: item{"pk": avS(pk), "sk": avS(sk)}})
		require.NoError(w.t, err)
		return
	}
	_, err := w.raw.PutItem(w.ctx, &dynamodb.PutItemInput{TableName: &w.table, Item: it})
	require.NoError(w.t, err)
}

func (w *world[T]) remove(pk, sk string) {
	w.t.Helper()
	w.change(pk, sk, func(it item) { clear(it) })
}

// plain writes an item as text, types included.
func plain(it item) map[string]string {
	out := map[string]string{}
	for name, av := range it {
		out[name] = text(av)
	}
	return out
}

func text(av types.AttributeValue) string {
	switch v := av.(type) {
	case nil:
		return "none"
	case *types.AttributeValueMemberS:
		return "S " + v.Value
	case *types.AttributeValueMemberN:
		return "N " + v.Value
	case *types.AttributeValueMemberBOOL:
		return fmt.Sprintf("BOOL %t", v.Value)
	case *types.AttributeValueMemberNULL:
		return "NULL"
	}
	return fmt.Sprintf("%T", av)
}

// body decodes the JSON of a request.
func body(t testing.TB, raw []byte) map[string]any {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal(raw, &m))
	return m
}

// Where the current item and the events of [device] lie.
const (
	devicePK = "$app#v1#telemetry#c-1#d-7"
	deviceSK = "$app#v1#telemetry"
)

func eventSK(stamp string) string { return deviceSK + "#e#" + stamp }
