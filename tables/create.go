package tables

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// tablePause is the pause between two requests for the state of a table that is being created.
const tablePause = 200 * time.Millisecond

// mostLooks limits the reads of a table's time to live while it cannot be enabled.
const mostLooks = 10

// invalid is the code of DynamoDB's refusal to enable what is enabled already; there is no Go type for it.
const invalid = "ValidationException"

// unknownOperation is the code for a call that the database does not have; there is no Go type for it.
const unknownOperation = "UnknownOperationException"

// A backupClient has the operations that point-in-time recovery needs in addition to those of [entity.Client].
type backupClient interface {
	DescribeContinuousBackups(context.Context, *dynamodb.DescribeContinuousBackupsInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeContinuousBackupsOutput, error)
	UpdateContinuousBackups(context.Context, *dynamodb.UpdateContinuousBackupsInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateContinuousBackupsOutput, error)
}

// ErrNoRecovery says that the database has no point-in-time recovery, as no local one has. [Create] returns it
// after it has done everything else. Test for it and continue if that does not matter.
var ErrNoRecovery = errors.New("the database has no point-in-time recovery")

func (t Table) attributes() []types.AttributeDefinition {
	var all []types.AttributeDefinition
	for _, a := range t.KeyAttributes() {
		all = append(all, types.AttributeDefinition{AttributeName: &a.Name, AttributeType: a.Type})
	}
	return all
}

// units returns nil for an on demand table.
func units(t entity.Throughput) *types.ProvisionedThroughput {
	if t == (entity.Throughput{}) {
		return nil
	}
	return &types.ProvisionedThroughput{ReadCapacityUnits: &t.Read, WriteCapacityUnits: &t.Write}
}

func (k Key) elements() []types.KeySchemaElement {
	var elements []types.KeySchemaElement
	for _, a := range k.Partition {
		elements = append(elements, types.KeySchemaElement{AttributeName: &a.Name, KeyType: types.KeyTypeHash})
	}
	for _, a := range k.Sort {
		elements = append(elements, types.KeySchemaElement{AttributeName: &a.Name, KeyType: types.KeyTypeRange})
	}
	return elements
}

func (p Projection) input() *types.Projection {
	return &types.Projection{ProjectionType: p.Type, NonKeyAttributes: p.Include}
}

// input returns the request that creates t.
func (t Table) input() *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{
		TableName: &t.Name, BillingMode: t.Billing, KeySchema: t.Key.elements(), ProvisionedThroughput: units(t.Throughput),
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
			IndexName: &x.Name, KeySchema: x.Key.elements(), Projection: x.Projection.input(), ProvisionedThroughput: units(x.Throughput),
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

// ask sends a request about a table, and repeats it like a read.
func ask[I, O any](ctx context.Context, m *manager, send func(context.Context, *I, ...func(*dynamodb.Options)) (*O, error), operation, table string, in *I) (out *O, err error) {
	err = m.runner.Repeat(ctx, operation, table, func(ctx context.Context) (int, error) {
		out, err = send(ctx, in, engine.Once)
		return 0, err
	})
	return out, err
}

// awaitTable creates the table unless it exists, and waits until it and its indexes are active. Another program may
// create it at the same time. A table that is not visible has just been created, or removed: creating it again does no
// harm. building is called for each index that is not active yet; it may be nil.
func (m *manager) awaitTable(ctx context.Context, t Table, building func(IndexProgress)) (*types.TableDescription, error) {
	for absent := true; ; {
		if absent {
			_, err := ask(ctx, m, m.runner.Client.CreateTable, "CreateTable", t.Name, t.input())
			var exists *types.ResourceInUseException
			if err != nil && !errors.As(err, &exists) {
				return nil, err
			}
		}
		got, err := m.runner.DescribeTable(ctx, t.Name)
		absent = errors.Is(err, entity.ErrNoTable)
		switch {
		case absent:
		case err != nil:
			return nil, err
		case active(got):
			return got, nil
		case building != nil:
			reportIndexes(got, building)
		}
		if err := m.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// pause waits before the next look at a table.
func (m *manager) pause(ctx context.Context) error {
	return engine.Sleep(ctx, cmp.Or(m.runner.TablePause, tablePause))
}

// elsewhere reports whether a change of a table was refused because another one is under way or was made already.
func elsewhere(err error) bool {
	var inUse *types.ResourceInUseException
	var building *types.LimitExceededException // only so many indexes are built at the same time
	var api smithy.APIError
	return errors.As(err, &inUse) || errors.As(err, &building) || errors.As(err, &api) && api.ErrorCode() == invalid
}

// storedTTL returns the attribute by which the table expires items, "" if it does not.
func (m *manager) storedTTL(ctx context.Context, table string) (string, error) {
	out, err := ask(ctx, m, m.runner.Client.DescribeTimeToLive, "DescribeTimeToLive", table, &dynamodb.DescribeTimeToLiveInput{TableName: &table})
	if err != nil {
		return "", err
	}
	d := out.TimeToLiveDescription
	if d == nil || d.AttributeName == nil || d.TimeToLiveStatus != types.TimeToLiveStatusEnabled && d.TimeToLiveStatus != types.TimeToLiveStatusEnabling {
		return "", nil
	}
	return *d.AttributeName, nil
}

func (m *manager) updateTTL(ctx context.Context, t Table) error {
	enabled := true
	_, err := ask(ctx, m, m.runner.Client.UpdateTimeToLive, "UpdateTimeToLive", t.Name, &dynamodb.UpdateTimeToLiveInput{
		TableName: &t.Name, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &t.TTL, Enabled: &enabled},
	})
	return err
}

// enableTTL enables time to live if an entity on the table writes the attribute. Another program may do so after the
// table was read; DynamoDB then refuses the request as invalid, and the next read may not show the change yet.
func (m *manager) enableTTL(ctx context.Context, t Table) error {
	if t.TTL == "" {
		return nil
	}
	for n := 1; ; n++ {
		stored, err := m.storedTTL(ctx, t.Name)
		switch {
		case err != nil || stored == t.TTL:
			return err
		case stored != "":
			return &entity.SchemaError{Code: schema.CodeTTLAttr, Type: "table " + t.Name, Problem: fmt.Sprintf("time to live is enabled on %q, the declarations need %q", stored, t.TTL)}
		}
		if err := m.updateTTL(ctx, t); err == nil || n == mostLooks || !elsewhere(err) {
			return err
		}
		if err := m.pause(ctx); err != nil {
			return err
		}
	}
}

func (m *manager) createTable(ctx context.Context, t Table, how options) error {
	got, err := m.awaitTable(ctx, t, how.building)
	if err == nil && how.add {
		got, err = m.addIndexes(ctx, t, got, how.building)
	}
	if err != nil {
		return &Error{Table: t.Name, Err: err}
	}
	if found := t.lacking(describedTable(got)); len(found) > 0 {
		return &Error{Table: t.Name, Differences: found}
	}
	if err := m.enableTTL(ctx, t); err != nil {
		return &Error{Table: t.Name, Err: err}
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

// backupsOf returns the client for point-in-time recovery, nil if no table needs it.
func (m *manager) backupsOf() (backupClient, error) {
	for _, t := range m.spec.Tables {
		if !t.PointInTimeRecovery {
			continue
		}
		if c, ok := m.runner.Client.(backupClient); ok {
			return c, nil
		}
		return nil, &entity.SchemaError{Code: schema.CodeTableClient, Type: "entity.Config", Field: "TableOptions", Problem: fmt.Sprintf("table %s has point-in-time recovery, and the client %T has no DescribeContinuousBackups and UpdateContinuousBackups", t.Name, m.runner.Client)}
	}
	return nil, nil
}

// storedRecovery reports whether a table has point-in-time recovery.
func (m *manager) storedRecovery(ctx context.Context, table string) (bool, error) {
	out, err := ask(ctx, m, m.backups.DescribeContinuousBackups, "DescribeContinuousBackups", table, &dynamodb.DescribeContinuousBackupsInput{TableName: &table})
	if err != nil {
		return false, recoveryError(err)
	}
	d := out.ContinuousBackupsDescription
	return d != nil && d.PointInTimeRecoveryDescription != nil &&
		d.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled, nil
}

// enableRecovery enables point-in-time recovery if it is declared and disabled. DynamoDB starts continuous backups some
// time after a table became active; until then it reports that they are unavailable.
func (m *manager) enableRecovery(ctx context.Context, t Table) error {
	if !t.PointInTimeRecovery {
		return nil
	}
	enabled := true
	for {
		if on, err := m.storedRecovery(ctx, t.Name); err != nil || on {
			return err
		}
		_, err := ask(ctx, m, m.backups.UpdateContinuousBackups, "UpdateContinuousBackups", t.Name, &dynamodb.UpdateContinuousBackupsInput{
			TableName: &t.Name, PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: &enabled},
		})
		var early *types.ContinuousBackupsUnavailableException
		if !errors.As(err, &early) {
			return recoveryError(err)
		}
		if err := m.pause(ctx); err != nil {
			return err
		}
	}
}

// Create creates every table of [Of] and waits until all tables and indexes are active or ctx ends. It
// changes two settings of an existing table: it enables time to live and point-in-time recovery if they are needed and
// disabled. With [AddIndexes] it also adds global indexes that the table lacks. A key, index or stream that an existing
// table lacks is otherwise a *[Error]; its billing and deletion protection are compared by [Verify] only. Several
// programs can call it at the same time. Waiting costs a DescribeTable every 200 ms.
//
// If the database has no point-in-time recovery, everything else is done and the error is [ErrNoRecovery]. Before any
// request come [Spec.Err], EDD-9069 for a client that lacks DescribeContinuousBackups and UpdateContinuousBackups, or UpdateTable, and needs them, EDD-9050 for
// a table configured by ARN or by another text that is not a name, EDD-9108 for a mistake in an option, and [entity.ErrNoClient].
func Create(ctx context.Context, db *entity.DB, opts ...Option) error {
	return manage(ctx, db, "CreateTables", func(ctx context.Context, m *manager, err error) error {
		if bad := m.spec.misnamed(); bad != nil {
			return errors.Join(append(bad, err)...)
		}
		if err != nil {
			return err
		}
		return m.create(ctx, opts)
	})
}

func (m *manager) create(ctx context.Context, opts []Option) error {
	how, err := collect(opts)
	if err != nil {
		return err
	}
	if _, ok := m.runner.Client.(indexClient); how.add && !ok {
		return &entity.SchemaError{Code: schema.CodeTableClient, Type: "entity.Config", Problem: fmt.Sprintf("indexes are to be added, and the client %T has no UpdateTable", m.runner.Client)}
	}
	var without []error // errors of tables for which the database has no recovery
	for _, t := range m.spec.Tables {
		if err := m.createTable(ctx, t, how); err != nil {
			return err
		}
		err := m.enableRecovery(ctx, t)
		if err != nil {
			err = &Error{Table: t.Name, Err: err}
		}
		if errors.Is(err, ErrNoRecovery) {
			without = append(without, err)
		} else if err != nil {
			return err
		}
	}
	return errors.Join(without...)
}
