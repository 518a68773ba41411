package entity

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// BackupClient is what a [Client] needs besides for tables with point-in-time recovery. *dynamodb.Client has it. A
// client without it is refused by [DB.CreateTables] and [DB.Verify], with code EDD-9069, only if such a table is
// declared.
type BackupClient = exec.BackupClient

// ErrNoRecovery is a database without point-in-time recovery, as all local ones are. [DB.CreateTables] gives it when
// everything else is done; where it does not matter, test for it and go on.
var ErrNoRecovery = errors.New("the database has no point-in-time recovery")

// unknownOperation is how DynamoDB's protocol says that it does not have a call; there is no Go type for it.
const unknownOperation = "UnknownOperationException"

// backups is the client for point-in-time recovery, nil if no table of s needs one.
func (db *DB) backups(s Spec) (BackupClient, error) {
	for _, t := range s.Tables {
		if !t.PointInTimeRecovery {
			continue
		}
		if c, ok := db.runner.Client.(BackupClient); ok {
			return c, nil
		}
		return nil, &SchemaError{Code: schema.CodeTableClient, Type: "entity.Config", Field: "TableOptions", Problem: fmt.Sprintf("table %s has point-in-time recovery, and the client %T is no entity.BackupClient", t.Name, db.runner.Client)}
	}
	return nil, nil
}

// storedRecovery reports whether a table has point-in-time recovery.
func (db *DB) storedRecovery(ctx context.Context, c BackupClient, table string) (bool, error) {
	var d *types.ContinuousBackupsDescription
	err := db.runner.Manage(ctx, table, func(once func(*dynamodb.Options)) error {
		out, err := c.DescribeContinuousBackups(ctx, &dynamodb.DescribeContinuousBackupsInput{TableName: &table}, once)
		if err == nil {
			d = out.ContinuousBackupsDescription
		}
		return err
	})
	return err == nil && d != nil && d.PointInTimeRecoveryDescription != nil &&
		d.PointInTimeRecoveryDescription.PointInTimeRecoveryStatus == types.PointInTimeRecoveryStatusEnabled, recoveryError(err)
}

// enableRecovery turns point-in-time recovery on where it is declared and off. DynamoDB begins to keep continuous
// backups some time after a table became active; until then it says that they are unavailable.
func (db *DB) enableRecovery(ctx context.Context, c BackupClient, t TableSpec) error {
	if !t.PointInTimeRecovery {
		return nil
	}
	enabled := true
	for {
		if on, err := db.storedRecovery(ctx, c, t.Name); err != nil || on {
			return err
		}
		err := db.runner.Manage(ctx, t.Name, func(once func(*dynamodb.Options)) error {
			_, err := c.UpdateContinuousBackups(ctx, &dynamodb.UpdateContinuousBackupsInput{
				TableName: &t.Name, PointInTimeRecoverySpecification: &types.PointInTimeRecoverySpecification{PointInTimeRecoveryEnabled: &enabled},
			}, once)
			return err
		})
		var early *types.ContinuousBackupsUnavailableException
		if !errors.As(err, &early) {
			return recoveryError(err)
		}
		if err := exec.Sleep(ctx, tablePause); err != nil {
			return err
		}
	}
}

// recoveryError is err, as an ErrNoRecovery if the database does not know the call.
func recoveryError(err error) error {
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == unknownOperation {
		return fmt.Errorf("%w: %w", ErrNoRecovery, err)
	}
	return err
}
