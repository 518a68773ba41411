package entity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// tablePause is the time between two looks at a table that is being created.
const tablePause = 200 * time.Millisecond

// CreateTables creates, on demand billing, every table of [DB.Spec], with its key, indexes and time to live, and waits
// until all of it is active or ctx ends. A table that exists is not changed, except that its time to live is enabled; a
// key or index that it lacks is an error. The waiting costs a DescribeTable every 200 ms.
func (db *DB) CreateTables(ctx context.Context) error {
	if db.runner.Client == nil {
		return ErrNoClient
	}
	for _, t := range db.Spec().Tables {
		if err := db.createTable(ctx, t); err != nil {
			return fmt.Errorf("create table %s: %w", t.Name, err)
		}
	}
	return nil
}

func (db *DB) createTable(ctx context.Context, t TableSpec) error {
	var exists *types.ResourceInUseException
	if _, err := db.runner.Client.CreateTable(ctx, t.input()); err != nil && !errors.As(err, &exists) {
		return err
	}
	got, err := db.awaitTable(ctx, t.Name)
	if err != nil {
		return err
	}
	if err := tableProblem(t.Name, t.lacking(describedTable(got))); err != nil {
		return err
	}
	return db.enableTTL(ctx, t)
}

// input is the request that creates t.
func (t TableSpec) input() *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{TableName: &t.Name, BillingMode: t.Billing, KeySchema: t.Key.elements()}
	var keyed []AttributeSpec
	note := func(k KeySpec) { keyed = append(append(keyed, k.Partition...), k.Sort...) }
	note(t.Key)
	for _, x := range t.GSIs {
		note(x.Key)
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: &x.Name, KeySchema: x.Key.elements(), Projection: x.Projection.input(),
		})
	}
	for _, x := range t.LSIs {
		note(x.Key)
		in.LocalSecondaryIndexes = append(in.LocalSecondaryIndexes, types.LocalSecondaryIndex{
			IndexName: &x.Name, KeySchema: x.Key.elements(), Projection: x.Projection.input(),
		})
	}
	slices.SortFunc(keyed, func(a, b AttributeSpec) int { return strings.Compare(a.Name, b.Name) })
	for _, a := range slices.Compact(keyed) {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &a.Name, AttributeType: a.Type})
	}
	return in
}

func (k KeySpec) elements() []types.KeySchemaElement {
	var elements []types.KeySchemaElement
	for _, a := range k.Partition {
		elements = append(elements, types.KeySchemaElement{AttributeName: &a.Name, KeyType: types.KeyTypeHash})
	}
	for _, a := range k.Sort {
		elements = append(elements, types.KeySchemaElement{AttributeName: &a.Name, KeyType: types.KeyTypeRange})
	}
	return elements
}

func (p ProjectionSpec) input() *types.Projection {
	return &types.Projection{ProjectionType: p.Type, NonKeyAttributes: p.Include}
}

// awaitTable waits until the table and its indexes are active.
func (db *DB) awaitTable(ctx context.Context, name string) (*types.TableDescription, error) {
	for {
		out, err := db.runner.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
		if err != nil {
			return nil, err
		}
		ready := out.Table.TableStatus == types.TableStatusActive
		for _, x := range out.Table.GlobalSecondaryIndexes {
			ready = ready && x.IndexStatus == types.IndexStatusActive
		}
		if ready {
			return out.Table, nil
		}
		if err := exec.Sleep(ctx, tablePause); err != nil {
			return nil, err
		}
	}
}

// enableTTL turns the table's time to live on if an entity on it writes the attribute.
func (db *DB) enableTTL(ctx context.Context, t TableSpec) error {
	if t.TTL == "" {
		return nil
	}
	stored, err := db.storedTTL(ctx, t.Name)
	switch {
	case err != nil || stored == t.TTL:
		return err
	case stored != "":
		return &SchemaError{Code: schema.CodeTTLAttr, Type: "table " + t.Name, Problem: fmt.Sprintf("time to live is enabled on %q, the declarations need %q", stored, t.TTL)}
	}
	enabled := true
	_, err = db.runner.Client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &t.Name, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &t.TTL, Enabled: &enabled},
	})
	return err
}

// storedTTL is the attribute that the table expires items by, "" when it does not.
func (db *DB) storedTTL(ctx context.Context, table string) (string, error) {
	out, err := db.runner.Client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	if err != nil {
		return "", err
	}
	d := out.TimeToLiveDescription
	if d == nil || d.AttributeName == nil || d.TimeToLiveStatus != types.TimeToLiveStatusEnabled && d.TimeToLiveStatus != types.TimeToLiveStatusEnabling {
		return "", nil
	}
	return *d.AttributeName, nil
}
