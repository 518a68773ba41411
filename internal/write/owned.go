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

// clearRestoreMark returns the removal of the mark of a restored item, which belongs to the write that restored it.
func clearRestoreMark(s *schema.Schema) []expr.Change {
	if softDeleter(s) == nil || !s.HasMetadata {
		return nil
	}
	return []expr.Change{{Kind: expr.Remove, Path: expr.Attr(schema.OpAttr)}}
}

// HiddenChanges returns the hidden attributes as changes, for an update that may create the item.
func HiddenChanges(s *schema.Schema, writeID string) []expr.Change {
	var changes []expr.Change
	Hidden(s, writeID, func(name string, av types.AttributeValue) {
		changes = append(changes, expr.Change{Kind: expr.Set, Path: expr.Attr(name), Value: av})
	})
	return append(changes, clearRestoreMark(s)...)
}

// writeIDChanges returns the change of the write id.
func writeIDChanges(s *schema.Schema, writeID string) []expr.Change {
	if !s.HasMetadata {
		return nil
	}
	return append([]expr.Change{{Kind: expr.Set, Path: expr.Attr(schema.WriteAttr), Value: item.S(writeID)}}, clearRestoreMark(s)...)
}

// StoresID reports whether writes of the entity may store a write id.
func StoresID(s *schema.Schema) bool { return s.HasMetadata || len(s.Features) > 0 || s.Handle != "" }

// WriteID returns the write id that an action stores, or "" for entities without hidden attributes.
func WriteID(s *schema.Schema, in Input) string {
	if s.HasMetadata {
		return in.WriteID
	}
	return ""
}
