package calls_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

// order has fields of the common kinds, and one index.
type order struct {
	_ entity.Key `name:"Order" pk:"$#{customer}" sk:"$#{number}"`
	_ entity.GSI `name:"byState" index:"gsi1" pk:"$#{state}" sk:"$#{due}"`

	Customer string    `dynamodbav:"customer"`
	Number   int       `dynamodbav:"number"`
	State    string    `dynamodbav:"state"`
	Due      time.Time `dynamodbav:"due"`
	Note     *string   `dynamodbav:"note,omitempty"`
	Count    int       `dynamodbav:"count"`
	Price    float64   `dynamodbav:"price"`
	Paid     bool      `dynamodbav:"paid"`
	Tags     []string  `dynamodbav:"tags,stringset,omitempty"`
	Created  time.Time `dynamodbav:"createdAt" entity:"created_at"`
	Updated  time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

type sample struct {
	_ entity.Key        `name:"Sample" pk:"$#{device}" sk:"$"`
	_ timeseries.Events `orderBy:"at" ttl:"7d"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Value  float64   `dynamodbav:"value" entity:"append"`
	Unit   *string   `dynamodbav:"unit,omitempty" entity:"append"`
}

// answers is a client without a network. It gives every write and read the same item.
type answers struct {
	entity.Client
	item  map[string]types.AttributeValue
	batch []map[string]types.AttributeValue
}

func (a answers) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return &dynamodb.PutItemOutput{}, nil
}

func (a answers) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return &dynamodb.UpdateItemOutput{Attributes: a.item}, nil
}

func (a answers) DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return &dynamodb.DeleteItemOutput{}, nil
}

func (a answers) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{Item: a.item}, nil
}

func (a answers) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// BatchGetItem answers with as many items as it is asked for.
func (a answers) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{}}
	for table, keys := range in.RequestItems {
		out.Responses[table] = a.batch[:len(keys.Keys)]
	}
	return out, nil
}

func (a answers) BatchWriteItem(context.Context, *dynamodb.BatchWriteItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	return &dynamodb.BatchWriteItemOutput{}, nil
}

// What one call allocates in this module. The client's part is its answer, one or two allocations. A bound leaves room for
// other versions of Go; lower it when a call gets cheaper.
func TestAllocations_OfEachVerbStayBounded(t *testing.T) {
	s := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
	n := func(v string) types.AttributeValue { return &types.AttributeValueMemberN{Value: v} }
	orderItem := map[string]types.AttributeValue{
		"pk": s("$app#v1#order#c"), "sk": s("$app#v1#order#0000000000000000007"), "__edd_e__": s("Order"), "_w": s("w"),
		"customer": s("c"), "number": n("7"), "state": s("open"), "due": s("2026-01-02T00:00:00.000000000Z"), "note": s("x"), "count": n("3"),
		"price": n("9.5"), "paid": &types.AttributeValueMemberBOOL{Value: true}, "tags": &types.AttributeValueMemberSS{Value: []string{"a", "b"}},
		"createdAt": s("2026-01-01T00:00:00.000000000Z"), "updatedAt": s("2026-01-01T00:00:00.000000000Z"),
	}
	var batch []map[string]types.AttributeValue
	for i := range 100 {
		it := maps.Clone(orderItem)
		it["sk"], it["number"] = s(fmt.Sprintf("$app#v1#order#%019d", i+1)), n(strconv.Itoa(i+1))
		batch = append(batch, it)
	}
	db := entity.Must(entity.Open(answers{item: orderItem, batch: batch}, entity.Config{Table: "app"}))
	orders := entity.Must(entity.New[order](db))
	sampleItem := map[string]types.AttributeValue{
		"pk": s("$app#v1#sample#d"), "sk": s("$app#v1#sample"), "__edd_e__": s("Sample"), "_w": s("w"),
		"device": s("d"), "at": s("2026-01-02T00:00:00.000000000Z"), "value": n("9.5"),
	}
	series := entity.Must(timeseries.New[sample](entity.Must(entity.Open(answers{item: sampleItem}, entity.Config{Table: "app"}))))
	f, ctx, note := entity.Fields[order](), context.Background(), "fragile"
	due := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	o := order{Customer: "c", Number: 7, State: "open", Due: due, Note: &note, Count: 3, Price: 9.5, Paid: true, Tags: []string{"a", "b"}}
	second := o
	second.Number = 8
	id := order{Customer: "c", Number: 7}
	var values []order
	for i := range 100 {
		each := o
		each.Number = i + 1
		values = append(values, each)
	}
	for _, verb := range []struct {
		name  string
		bound float64
		call  func() error
	}{
		{"Create", 67, func() error { _, err := orders.Create(ctx, o); return err }},
		{"Put", 93, func() error { _, err := orders.Put(ctx, o); return err }},
		{"Get", 27, func() error { _, err := orders.Get(ctx, id); return err }},
		{"Update", 72, func() error {
			_, err := orders.Update(ctx, id, entity.Set(&f.Note, &note), entity.Add(&f.Count, 1), entity.Set(&f.Paid, true))
			return err
		}},
		{"Upsert", 102, func() error { _, _, err := orders.Upsert(ctx, o); return err }},
		{"Delete", 33, func() error { return orders.Delete(ctx, id) }},
		{"Append", 94, func() error {
			_, err := series.Append(ctx, sample{Device: "d", At: due, Value: 9.5, Unit: &note})
			return err
		}},
		{"GetMany of 100", 1264, func() error {
			found, err := orders.GetMany(ctx, values)
			if err == nil && slices.Contains(found, nil) {
				err = errors.New("an item was not found")
			}
			return err
		}},
		{"PutMany of 25", 1093, func() error {
			_, err := orders.PutMany(ctx, values[:25], entity.Unconditional())
			return err
		}},
		{"Transact of 2", 138, func() error { return db.Transact(ctx, orders.Op().Create(o), orders.Op().Create(second)) }},
		{"TransactFunc of 2", 144, func() error {
			return db.TransactFunc(ctx, func(context.Context) ([]entity.Op, error) {
				return []entity.Op{orders.Op().Create(o), orders.Op().Create(second)}, nil
			})
		}},
	} {
		require.NoError(t, verb.call(), verb.name)
		got := testing.AllocsPerRun(200, func() {
			if err := verb.call(); err != nil {
				t.Error(err)
			}
		})
		assert.LessOrEqual(t, got, verb.bound, "%s makes %.0f allocations", verb.name, got)
	}
}
