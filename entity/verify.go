package entity

import (
	"context"
	"errors"

	"github.com/dynastrata/dynastrata/internal/exec"
)

// Verify compares every table of [DB.Spec] with what exists: keys and their types, indexes and what they carry, time to
// live, the stream, and what [Config].TableOptions asks for. What a table has beyond that does not matter. It costs two
// requests per table, a third for each with point-in-time recovery, and changes nothing. The error is a *[VerifyError] with
// every difference of every table; [Spec.Err], EDD-9069 for a client that is no [BackupClient] where it must be one, and
// [ErrNoClient] come before any request.
func (db *DB) Verify(ctx context.Context) error {
	spec, backups, err := db.manage(ctx)
	if err != nil {
		return err
	}
	var bad VerifyError
	for _, t := range spec.Tables {
		found, err := db.differences(ctx, t, backups)
		if err != nil || len(found) > 0 {
			bad.Tables = append(bad.Tables, &TableError{Table: t.Name, Differences: found, Err: err})
		}
	}
	if bad.Tables == nil {
		return nil
	}
	return &bad
}

// manage is what managing tables begins with: what is needed, and with what; and what is wrong with it.
func (db *DB) manage(ctx context.Context) (Spec, BackupClient, error) {
	if err := db.unopened(); err != nil {
		return Spec{}, nil, err
	}
	spec := db.Spec()
	if err := exec.CheckContext(ctx); err != nil {
		return spec, nil, err
	}
	if db.runner.Client == nil {
		return spec, nil, ErrNoClient
	}
	if err := spec.Err(); err != nil {
		return spec, nil, err
	}
	backups, err := db.backups(spec)
	return spec, backups, err
}

// differences is all that an existing table lacks of t.
func (db *DB) differences(ctx context.Context, t TableSpec, backups BackupClient) ([]Drift, error) {
	described, err := db.runner.DescribeTable(ctx, t.Name)
	if err != nil {
		return nil, err
	}
	got := describedTable(described)
	found := t.lacking(got)
	if stored, err := db.storedTTL(ctx, t.Name); err != nil {
		return nil, err
	} else if t.TTL != "" && stored != t.TTL {
		found = append(found, Drift{Kind: DifferentTTL, Need: t.TTL, Has: stored})
	}
	if t.PointInTimeRecovery {
		switch on, err := db.storedRecovery(ctx, backups, t.Name); {
		case errors.Is(err, ErrNoRecovery): // does not hide the other differences
			found = append(found, Drift{Kind: DifferentRecovery, Need: "on", Has: "a database without it"})
		case err != nil:
			return nil, err
		case !on:
			found = append(found, Drift{Kind: DifferentRecovery, Need: "on", Has: "off"})
		}
	}
	return append(found, t.unlike(got)...), nil
}
