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

// mostLooks is how often a table is looked at whose time to live cannot be enabled at the moment.
const mostLooks = 10

// enableTTL turns the table's time to live on if an entity on it writes the attribute. Another program may do so between
// our look and our request, which DynamoDB then refuses as invalid, and the next look may not show it yet.
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
		if err := exec.Sleep(ctx, tablePause); err != nil {
			return err
		}
	}
}

func (db *DB) updateTTL(ctx context.Context, t TableSpec) error {
	enabled := true
	return db.runner.Manage(ctx, t.Name, func(once func(*dynamodb.Options)) error {
		_, err := db.runner.Client.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
			TableName: &t.Name, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &t.TTL, Enabled: &enabled},
		}, once)
		return err
	})
}

// invalid is how DynamoDB refuses to enable what is enabled; there is no Go type for it.
const invalid = "ValidationException"

// elsewhere reports that a change of a table was refused as it is when another one is under way, or has been made.
func elsewhere(err error) bool {
	var inUse *types.ResourceInUseException
	var api smithy.APIError
	return errors.As(err, &inUse) || errors.As(err, &api) && api.ErrorCode() == invalid
}

// storedTTL is the attribute that the table expires items by, "" when it does not.
func (db *DB) storedTTL(ctx context.Context, table string) (string, error) {
	var d *types.TimeToLiveDescription
	err := db.runner.Manage(ctx, table, func(once func(*dynamodb.Options)) error {
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
