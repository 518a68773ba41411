package timeline

import "github.com/dynastrata/dynastrata/internal/expr"

// expression renders a condition, nil for the empty one.
func expression(r *expr.Renderer, c expr.Cond) *string {
	text := r.Cond(c)
	if text == "" {
		return nil
	}
	return &text
}
