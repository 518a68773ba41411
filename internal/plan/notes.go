package plan

import "github.com/dynastrata/dynastrata/internal/schema"

// Noter is a feature that says, for printed plans, what it adds to a mutation which is planned from a read.
type Noter interface{ Notes(Kind) []string }

// Notes are what the features of s add to a mutation, in the order in which it is sent.
func Notes(s *schema.Schema, kind Kind) []string {
	var moves, states, claims []string
	for _, f := range s.Features {
		n, ok := f.(Noter)
		if !ok {
			continue
		}
		switch f.(type) {
		case SoftDeleter:
			moves = append(moves, n.Notes(kind)...)
		case Snapshotter:
			states = append(states, n.Notes(kind)...)
		default:
			claims = append(claims, n.Notes(kind)...)
		}
	}
	if kind == Created {
		states, claims = claims, states
	}
	return append(append(moves, states...), claims...)
}
