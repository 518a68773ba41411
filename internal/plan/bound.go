package plan

import (
	"math"

	"github.com/dynastrata/dynastrata/internal/schema"
)

// Bound is the number that the option called name gives a read, 0 when it is not given. DynamoDB counts in 32 bits.
func Bound(s *schema.Schema, name string, given *int) (int, error) {
	switch {
	case given == nil:
		return 0, nil
	case *given <= 0:
		return 0, input(s, CodeOption, nil, "%s must be greater than zero", name)
	case *given > math.MaxInt32:
		return 0, input(s, CodeOption, nil, "%s can be at most %d", name, math.MaxInt32)
	}
	return *given, nil
}
