package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// SizeError says what is larger than DynamoDB allows. It is ErrTooLarge.
type SizeError struct{ Type, Problem string }

func (e *SizeError) Error() string { return e.Type + ": too large: " + e.Problem }

// Is makes the error an ErrTooLarge.
func (e *SizeError) Is(target error) bool { return target == ErrTooLarge }

func tooLarge(s *schema.Schema, format string, args ...any) error {
	return &SizeError{s.Type.String(), fmt.Sprintf(format, args...)}
}

// CheckSize refuses an item that DynamoDB would not store.
func CheckSize(s *schema.Schema, it item.Item) error {
	if n := item.Size(it); n > item.MaxBytes {
		return tooLarge(s, "the item is %d bytes, %d are allowed", n, item.MaxBytes)
	}
	return nil
}

func sortedNames(it item.Item) []string { return slices.Sorted(maps.Keys(it)) }
