package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// database is the two tables on a local DynamoDB.
type database struct {
	client *dynamodb.Client
	tables
}

// openDatabase creates the tables. Their names begin with name.
func openDatabase(ctx context.Context, client *dynamodb.Client, name string) (*database, error) {
	db := &database{client, tables{name + "-plain", name + "-prefixed"}}
	for _, table := range []string{db.plain, db.prefixed} {
		_, err := client.CreateTable(ctx, &dynamodb.CreateTableInput{
			TableName: &table, BillingMode: types.BillingModePayPerRequest,
			AttributeDefinitions: []types.AttributeDefinition{
				{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS},
				{AttributeName: aws.String("sk"), AttributeType: types.ScalarAttributeTypeS},
			},
			KeySchema: []types.KeySchemaElement{
				{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}, {AttributeName: aws.String("sk"), KeyType: types.KeyTypeRange},
			},
		})
		if err != nil {
			return nil, errors.Join(err, db.drop(ctx))
		}
	}
	return db, nil
}

// drop deletes the tables.
func (db *database) drop(ctx context.Context) error {
	var errs []error
	for _, table := range []string{db.plain, db.prefixed} {
		_, err := db.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table})
		if missing := new(types.ResourceNotFoundException); !errors.As(err, &missing) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// store replaces everything in the tables.
func (db *database) store(ctx context.Context, wanted []seed) error {
	writes := map[string][]types.WriteRequest{}
	for _, table := range []string{db.plain, db.prefixed} {
		pages := dynamodb.NewScanPaginator(db.client, &dynamodb.ScanInput{
			TableName: &table, ConsistentRead: aws.Bool(true), ProjectionExpression: aws.String("pk, sk"),
		})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				return err
			}
			for _, k := range page.Items {
				writes[table] = append(writes[table], types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: k}})
			}
		}
		if err := db.batch(ctx, table, writes[table]); err != nil {
			return err
		}
		writes[table] = nil
	}
	for _, s := range wanted {
		writes[s.table] = append(writes[s.table], types.WriteRequest{PutRequest: &types.PutRequest{Item: s.item}})
	}
	return errors.Join(db.batch(ctx, db.plain, writes[db.plain]), db.batch(ctx, db.prefixed, writes[db.prefixed]))
}

func (db *database) batch(ctx context.Context, table string, writes []types.WriteRequest) error {
	for len(writes) > 0 {
		n := min(25, len(writes))
		out, err := db.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: writes[:n]}})
		if err != nil {
			return err
		}
		writes = append(out.UnprocessedItems[table], writes[n:]...)
	}
	return nil
}

// meter passes requests on and counts them. With units it makes each ask for the capacity that it consumes, which takes CPU time. A
// local database does not check signatures, so a signed request can be changed.
type meter struct {
	next  dynamodb.HTTPClient
	units bool

	mu  sync.Mutex
	sum cost
}

// cost sums up what some calls of a verb sent and consumed.
type cost struct {
	requests int
	units    float64
}

func (m *meter) Do(r *http.Request) (*http.Response, error) {
	if !m.units {
		m.add(cost{requests: 1})
		return m.next.Do(r)
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var body map[string]any
	if err := json.Unmarshal(text, &body); err != nil {
		return nil, err
	}
	body["ReturnConsumedCapacity"] = "TOTAL"
	if text, err = json.Marshal(body); err != nil {
		return nil, err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	response, err := m.next.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	response.Body = io.NopCloser(bytes.NewReader(answer))
	units := consumed(answer)
	if actions, ok := body["TransactItems"].([]any); ok { // a local database counts an item once, and those of deletes together
		units = 2 * max(units, float64(len(actions)))
	}
	m.add(cost{1, units})
	return response, nil
}

func (m *meter) add(c cost) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sum.requests += c.requests
	m.sum.units += c.units
}

// consumed adds up the capacity units in an answer, which has them for one table or for several.
func consumed(answer []byte) float64 {
	type capacity struct{ CapacityUnits float64 }
	var one struct{ ConsumedCapacity capacity }
	if json.Unmarshal(answer, &one) == nil {
		return one.ConsumedCapacity.CapacityUnits
	}
	var several struct{ ConsumedCapacity []capacity }
	var sum float64
	if json.Unmarshal(answer, &several) == nil {
		for _, c := range several.ConsumedCapacity {
			sum += c.CapacityUnits
		}
	}
	return sum
}

// take returns what has been counted, and forgets it.
func (m *meter) take() cost {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := m.sum
	m.sum = cost{}
	return sum
}

func (c cost) String() string { return fmt.Sprintf("%d/%s", c.requests, number(c.units)) }
