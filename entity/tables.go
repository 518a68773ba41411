package entity

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/exec"
)

// tablePause is the time between two looks at a table that is being created.
const tablePause = 200 * time.Millisecond

// CreateTables creates every table of [DB.Spec] as it is printed, and waits until all of it is active or ctx ends. Of a
// table that exists two things are changed: time to live and point-in-time recovery are enabled where they are needed
// and off. A key, index or stream that it lacks is a *[TableError]; billing and deletion protection of such a table are
// for [DB.Verify] to compare. Several programs can call it at the same time. The waiting costs a DescribeTable every
// 200 ms. Where the database has no point-in-time recovery, everything else is done and the error is [ErrNoRecovery].
// [Spec.Err], EDD-9069 for a client that is no
// [BackupClient] where it must be one, EDD-9050 for a table that [Config] knows by an ARN or another text that is no name,
// and [ErrNoClient] come before any request.
func (db *DB) CreateTables(ctx context.Context) error {
	spec, backups, err := db.manage(ctx)
	if bad := spec.misnamed(); bad != nil {
		return errors.Join(append(bad, err)...)
	}
	if err != nil {
		return err
	}
	var without []error // tables that a database without recovery could not give it
	for _, t := range spec.Tables {
		if err := db.createTable(ctx, t); err != nil {
			return err
		}
		err := db.enableRecovery(ctx, backups, t)
		if err != nil {
			err = &TableError{Table: t.Name, Err: err}
		}
		if errors.Is(err, ErrNoRecovery) {
			without = append(without, err)
		} else if err != nil {
			return err
		}
	}
	return errors.Join(without...)
}

func (db *DB) createTable(ctx context.Context, t TableSpec) error {
	got, err := db.awaitTable(ctx, t)
	if err != nil {
		return &TableError{Table: t.Name, Err: err}
	}
	if found := t.lacking(describedTable(got)); len(found) > 0 {
		return &TableError{Table: t.Name, Differences: found}
	}
	if err := db.enableTTL(ctx, t); err != nil {
		return &TableError{Table: t.Name, Err: err}
	}
	return nil
}

// awaitTable creates the table unless it is there, and waits until it and its indexes are active. A table that another
// program is making at the same time is as good as our own. One that is not seen has been made a moment ago, or removed:
// creating it again does no harm.
func (db *DB) awaitTable(ctx context.Context, t TableSpec) (*types.TableDescription, error) {
	for absent := true; ; {
		if absent {
			err := db.runner.Manage(ctx, t.Name, func(once func(*dynamodb.Options)) error {
				_, err := db.runner.Client.CreateTable(ctx, t.input(), once)
				return err
			})
			var exists *types.ResourceInUseException
			if err != nil && !errors.As(err, &exists) {
				return nil, err
			}
		}
		got, err := db.runner.DescribeTable(ctx, t.Name)
		absent = errors.Is(err, ErrNoTable)
		switch {
		case absent:
		case err != nil:
			return nil, err
		case active(got):
			return got, nil
		}
		if err := exec.Sleep(ctx, tablePause); err != nil {
			return nil, err
		}
	}
}

// active reports that a table and its indexes can be used.
func active(t *types.TableDescription) bool {
	return t.TableStatus == types.TableStatusActive && !slices.ContainsFunc(t.GlobalSecondaryIndexes, func(x types.GlobalSecondaryIndexDescription) bool {
		return x.IndexStatus != types.IndexStatusActive
	})
}

// input is the request that creates t.
func (t TableSpec) input() *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName: &t.Name, BillingMode: t.Billing, KeySchema: t.Key.elements(), ProvisionedThroughput: t.Throughput.input(),
	}
	on := true
	if t.Stream != "" {
		in.StreamSpecification = &types.StreamSpecification{StreamEnabled: &on, StreamViewType: t.Stream}
	}
	if t.DeletionProtection {
		in.DeletionProtectionEnabled = &on
	}
	in.AttributeDefinitions = t.attributes()
	for _, x := range t.GSIs {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes, types.GlobalSecondaryIndex{
			IndexName: &x.Name, KeySchema: x.Key.elements(), Projection: x.Projection.input(), ProvisionedThroughput: x.Throughput.input(),
		})
	}
	for _, x := range t.LSIs {
		in.LocalSecondaryIndexes = append(in.LocalSecondaryIndexes, types.LocalSecondaryIndex{
			IndexName: &x.Name, KeySchema: x.Key.elements(), Projection: x.Projection.input(),
		})
	}
	return in
}

func (t TableSpec) attributes() []types.AttributeDefinition {
	var all []types.AttributeDefinition
	for _, a := range t.KeyAttributes() {
		all = append(all, types.AttributeDefinition{AttributeName: &a.Name, AttributeType: a.Type})
	}
	return all
}

// input is nil for on demand.
func (t Throughput) input() *types.ProvisionedThroughput {
	if t == (Throughput{}) {
		return nil
	}
	return &types.ProvisionedThroughput{ReadCapacityUnits: &t.Read, WriteCapacityUnits: &t.Write}
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
