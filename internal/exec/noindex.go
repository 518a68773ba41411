package exec

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// ErrNoIndex says that the table does not have the index that was read, or is still building it.
var ErrNoIndex = errors.New("no such index")

// IndexError is an ErrNoIndex. Err is what DynamoDB said.
type IndexError struct {
	Table, Index string
	Building     bool // the index is there, but cannot be read yet
	Err          error
}

func (e *IndexError) Error() string {
	if e.Building {
		return "table " + e.Table + " is still building its index " + e.Index
	}
	return "table " + e.Table + " has no index " + e.Index
}

// Is makes the error an ErrNoIndex.
func (e *IndexError) Is(target error) bool { return target == ErrNoIndex }

// Unwrap returns DynamoDB's error.
func (e *IndexError) Unwrap() error { return e.Err }

// indexError makes an *IndexError of the error of a read, where that is why it failed; index is nil for a read of the table
// itself. DynamoDB calls it a ValidationException, as it does many mistakes, and only the text says which. So it is asked
// for the table's indexes. When they cannot be had, the error stays as it is.
func (r *Runner) indexError(ctx context.Context, table string, index *string, err error) error {
	var api smithy.APIError
	if index == nil || !errors.As(err, &api) || api.ErrorCode() != "ValidationException" {
		return err
	}
	found, failed := r.DescribeTable(ctx, table)
	if failed != nil || found == nil {
		return err
	}
	no := &IndexError{Table: table, Index: *index, Err: err}
	for _, x := range found.GlobalSecondaryIndexes {
		if x.IndexName != nil && *x.IndexName == *index {
			if no.Building = x.IndexStatus == types.IndexStatusCreating; no.Building {
				return no
			}
			return err
		}
	}
	for _, x := range found.LocalSecondaryIndexes {
		if x.IndexName != nil && *x.IndexName == *index {
			return err
		}
	}
	return no
}
