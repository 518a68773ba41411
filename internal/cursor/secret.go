package cursor

import (
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// Allow refuses cursors without a key in reads of s by halves that a secret field is part of. The position would show it,
// and the fingerprint of the query would let it be guessed.
func (c Codec) Allow(s *schema.Schema, halves ...*schema.KeyDef) error {
	if len(c.seals) > 0 {
		return nil
	}
	for _, h := range halves {
		if h == nil {
			continue
		}
		for _, a := range h.Parts {
			if a.Role.Has(tag.Secret) {
				return &plan.InputError{Code: plan.CodeCursorKey, Type: s.Type.String(), Field: a.Field, Problem: "a cursor would show the field, which is secret and part of the key that is read; set Config.CursorKey, under which cursors are encrypted"}
			}
		}
	}
	return nil
}
