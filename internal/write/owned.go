package write

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Later returns now, or one unit after the stored updated_at if that is not before now, so that updated_at always
// increases.
func Later(s *schema.Schema, image item.Item, now time.Time) time.Time {
	if s.UpdatedAt == nil {
		return now
	}
	stored, err := s.UpdatedAt.Format.FromValue(image[s.UpdatedAt.Name])
	if err != nil || stored.Before(s.UpdatedAt.Format.Truncate(now)) {
		return now
	}
	return stored.Add(s.UpdatedAt.Format.Unit())
}

var (
	writePath = expr.Attr(schema.WriteAttr)
	// clearRestoreMark removes the mark of a restored item, which belongs to the write that restored it.
	clearRestoreMark = expr.Change{Kind: expr.Remove, Path: expr.Attr(schema.OpAttr)}
)

// WithWriteID adds the change of the write id to changes. It returns the id that is stored, "" for entities without hidden
// attributes.
func WithWriteID(s *schema.Schema, changes []expr.Change, writeID string) ([]expr.Change, string) {
	if !s.HasMetadata {
		return changes, ""
	}
	changes = append(changes, expr.Change{Kind: expr.Set, Path: writePath, Value: &types.AttributeValueMemberS{Value: writeID}})
	if s.SoftDeletes {
		changes = append(changes, clearRestoreMark)
	}
	return changes, writeID
}

// WriteID returns the write id that an action stores, or "" for entities without hidden attributes.
func WriteID(s *schema.Schema, in Input) string {
	if s.HasMetadata {
		return in.WriteID
	}
	return ""
}
