package timeline

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/key"
)

// keyValues are stored attributes as the values of a template's leading parts.
func keyValues(fields []*key.Field, stored []types.AttributeValue) ([]key.Value, error) {
	values := make([]key.Value, len(stored))
	for i, av := range stored {
		v, _, err := fields[i].FromAttribute(av)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}

// expression renders a condition, nil when there is none.
func expression(r *expr.Renderer, c expr.Cond) *string {
	text := r.Cond(c)
	if text == "" {
		return nil
	}
	return &text
}
