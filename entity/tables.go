package entity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// tablePause is the time between two looks at a table that is being created.
const tablePause = 200 * time.Millisecond

// CreateTables creates every table of [DB.Spec] as it is printed, and waits until all of it is active or ctx ends. Of a
// table that exists two things are changed: time to live and point-in-time recovery are enabled where they are needed
// and off. A key, index or stream that it lacks is a *[TableError]; billing and deletion protection of such a table are
// for [DB.Verify] to compare. The waiting costs a DescribeTable every 200 ms. Where the database has no point-in-time
// recovery, everything else is done and the error is [ErrNoRecovery]. [Spec.Err], EDD-9069 for a client that is no
// [BackupClient] where it must be one, EDD-9050 for a table that [Config] knows by an ARN or another text that is no name,
// and [ErrNoClient] come before any request.
func (db *DB) CreateTables(ctx context.Context) error {
	spec, backups, err := db.manage()
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
	var exists *types.ResourceInUseException
	if _, err := db.runner.Client.CreateTable(ctx, t.input()); err != nil && !errors.As(err, &exists) {
		return &TableError{Table: t.Name, Err: err}
	}
	got, err := db.awaitTable(ctx, t.Name)
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
