package entity

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/write"
)

// tablePause is the pause between two requests for the state of a table that is being created.
const tablePause = 200 * time.Millisecond

// mostLooks is how often the time to live of a table is read while it cannot be enabled.
const mostLooks = 10

// invalid is the code of DynamoDB's refusal to enable what is enabled already; there is no Go type for it.
const invalid = "ValidationException"

// unknownOperation is the code for a call that the database does not have; there is no Go type for it.
const unknownOperation = "UnknownOperationException"

// backupClient is what a [Client] needs in addition for tables with point-in-time recovery.
type backupClient interface {
	DescribeContinuousBackups(context.Context, *dynamodb.DescribeContinuousBackupsInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeContinuousBackupsOutput, error)
	UpdateContinuousBackups(context.Context, *dynamodb.UpdateContinuousBackupsInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateContinuousBackupsOutput, error)
}

// ErrNoRecovery says that the database has no point-in-time recovery, as no local one has. [DB.CreateTables] returns it
// after it has done everything else. Test for it and continue if that does not matter.
var ErrNoRecovery = errors.New("the database has no point-in-time recovery")

func (t TableSpec) attributes() []types.AttributeDefinition {
	var all []types.AttributeDefinition
	for _, a := range t.KeyAttributes() {
		all = append(all, types.AttributeDefinition{AttributeName: &a.Name, AttributeType: a.Type})
	}
	return all
}

// input returns nil for an on demand table.
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

// input returns the request that creates t.
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

// active reports whether a table and all its indexes can be used.
func active(t *types.TableDescription) bool {
	return t.TableStatus == types.TableStatusActive && !slices.ContainsFunc(t.GlobalSecondaryIndexes, func(x types.GlobalSecondaryIndexDescription) bool {
		return x.IndexStatus != types.IndexStatusActive
	})
}

// awaitTable creates the table unless it exists, and waits until it and its indexes are active. Another program may
// create it at the same time. A table that is not visible has just been created, or removed: creating it again does no
// harm. building is called for each index that is not active yet; it may be nil.
func (db *DB) awaitTable(ctx context.Context, t TableSpec, building func(IndexProgress)) (*types.TableDescription, error) {
	for absent := true; ; {
		if absent {
			err := db.runner.Manage(ctx, "CreateTable", t.Name, func(ctx context.Context, once func(*dynamodb.Options)) error {
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
		case building != nil:
			reportIndexes(got, building)
		}
		if err := engine.Sleep(ctx, tablePause); err != nil {
			return nil, err
		}
	}
}

// elsewhere reports whether a change of a table was refused because another one is under way or was made already.
func elsewhere(err error) bool {
	var inUse *types.ResourceInUseException
	var building *types.LimitExceededException // only so many indexes are built at the same time
	var api smithy.APIError
	return errors.As(err, &inUse) || errors.As(err, &building) || errors.As(err, &api) && api.ErrorCode() == invalid
}

// storedTTL returns the attribute by which the table expires items, "" if it does not.
func (db *DB) storedTTL(ctx context.Context, table string) (string, error) {
	var d *types.TimeToLiveDescription
	err := db.runner.Manage(ctx, "DescribeTimeToLive", table, func(ctx context.Context, once func(*dynamodb.Options)) error {
		out, err := db.runner.Client.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &table}, once)
		if err == nil {
			d = out.TimeToLiveDescription
		}
		return err
	})
	if err != nil || d == nil || d.AttributeName == nil || d.TimeToLiveStatus != types.TimeToLiveStatusEnabled && d.TimeToLiveStatus != types.TimeToLiveStatusEnabling {
		return "", err
	}
	return *d.AttributeName, nil
}

func (db *DB) updateTTL(ctx context.Context, t TableSpec) error {
	enabled := true
	return db.runner.Manage(ctx, "UpdateTimeToLive", t.Name, func(ctx context.Context, once func(*dynamodb.Options)) error {
		_, err := db.runner.Client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
			TableName: &t.Name, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &t.TTL, Enabled: &enabled},
		}, once)
		return err
	})
}

// enableTTL enables time to live if an entity on the table writes the attribute. Another program may do so after the
// table was read; DynamoDB then refuses the request as invalid, and the next read may not show the change yet.
func (db *DB) enableTTL(ctx context.Context, t TableSpec) error {
	if t.TTL == "" {
		return nil
	}
	for n := 1; ; n++ {
		stored, err := db.storedTTL(ctx, t.Name)
		switch {
		case err != nil || stored == t.TTL:
			return err
		case stored != "":
			return &SchemaError{Code: schema.CodeTTLAttr, Type: "table " + t.Name, Problem: fmt.Sprintf("time to live is enabled on %q, the declarations need %q", stored, t.TTL)}
		}
		if err := db.updateTTL(ctx, t); err == nil || n == mostLooks || !elsewhere(err) {
			return err
		}
		if err := engine.Sleep(ctx, tablePause); err != nil {
			return err
		}
	}
}

func (db *DB) createTable(ctx context.Context, t TableSpec, spec *write.Options) error {
	got, err := db.awaitTable(ctx, t, spec.Building)
	if err == nil && spec.AddIndexes {
		got, err = db.addIndexes(ctx, t, got, spec.Building)
	}
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

// recoveryError returns err, as an ErrNoRecovery if the database does not know the call.
func recoveryError(err error) error {
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == unknownOperation {
		return fmt.Errorf("%w: %w", ErrNoRecovery, err)
	}
	return err
}

// backups returns the client for point-in-time recovery, nil if no table of s needs it.
func (db *DB) backups(s Spec) (backupClient, error) {
	for _, t := range s.Tables {
		if !t.PointInTimeRecovery {
			continue
		}
		if c, ok := db.runner.Client.(backupClient); ok {
			return c, nil
		}
		return nil, &SchemaError{Code: schema.CodeTableClient, Type: "entity.Config", Field: "TableOptions", Problem: fmt.Sprintf("table %s has point-in-time recovery, and the client %T has no DescribeContinuousBackups and UpdateContinuousBackups", t.Name, db.runner.Client)}
	}
	return nil, nil
}

// storedRecovery reports whether a table has point-in-time recovery.
func (db *DB) storedRecovery(ctx context.Context, c backupClient, table string) (bool, error) {
	var d *types.ContinuousBackupsDescription
	err := db.runner.Manage(ctx, "DescribeContinuousBackups", table, func(ctx context.Context, once func(*dynamodb.Options)) error {
		out, err := c.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &table}, once)
		if err == nil {
			d = out.ContinuousBackupsDescription
		}
		return err
	})
	return err == nil && d != nil && d.PointInTimeRecoveryDescription != nil &&
		d.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled, recoveryError(err)
}

// enableRecovery enables point-in-time recovery if it is declared and disabled. DynamoDB starts continuous backups some
// time after a table became active; until then it reports that they are unavailable.
func (db *DB) enableRecovery(ctx context.Context, c backupClient, t TableSpec) error {
	if !t.PointInTimeRecovery {
		return nil
	}
	enabled := true
	for {
		if on, err := db.storedRecovery(ctx, c, t.Name); err != nil || on {
			return err
		}
		err := db.runner.Manage(ctx, "UpdateContinuousBackups", t.Name, func(ctx context.Context, once func(*dynamodb.Options)) error {
			_, err := c.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{
				TableName: &t.Name, PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: &enabled},
			}, once)
			return err
		})
		var early *types.ContinuousBackupsUnavailableException
		if !errors.As(err, &early) {
			return recoveryError(err)
		}
		if err := engine.Sleep(ctx, tablePause); err != nil {
			return err
		}
	}
}

// CreateTables creates every table of [DB.Spec] and waits until all tables and indexes are active or ctx ends. It
// changes two settings of an existing table: it enables time to live and point-in-time recovery if they are needed and
// disabled. With [AddIndexes] it also adds global indexes that the table lacks. A key, index or stream that an existing
// table lacks is otherwise a *[TableError]; its billing and deletion protection are compared by [DB.Verify] only. Several
// programs can call it at the same time. Waiting costs a DescribeTable every 200 ms.
//
// If the database has no point-in-time recovery, everything else is done and the error is [ErrNoRecovery]. Before any
// request come [Spec.Err], EDD-9069 for a client that lacks DescribeContinuousBackups and UpdateContinuousBackups, or UpdateTable, and needs them, EDD-9050 for
// a table configured by ARN or by another text that is not a name, EDD-9108 for a mistake in an option, and [ErrNoClient].
func (db *DB) CreateTables(ctx context.Context, opts ...TablesOption) error {
	return db.managing(ctx, "CreateTables", func(ctx context.Context) error { return db.createTables(ctx, opts) })
}

func (db *DB) createTables(ctx context.Context, opts []TablesOption) error {
	spec, backups, err := db.manage(ctx)
	if bad := spec.misnamed(); bad != nil {
		return errors.Join(append(bad, err)...)
	}
	if err != nil {
		return err
	}
	how := write.Collect(opts)
	if err := how.Err(); err != nil {
		return &InputError{Code: write.CodeOption, Type: "entity.DB", Problem: "CreateTables: " + err.Error()}
	}
	if _, ok := db.runner.Client.(indexClient); how.AddIndexes && !ok {
		return &SchemaError{Code: schema.CodeTableClient, Type: "entity.Config", Problem: fmt.Sprintf("indexes are to be added, and the client %T has no UpdateTable", db.runner.Client)}
	}
	var without []error // errors of tables for which the database has no recovery
	for _, t := range spec.Tables {
		if err := db.createTable(ctx, t, how); err != nil {
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
