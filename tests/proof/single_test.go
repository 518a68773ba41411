package proof_test

import (
	"slices"

	"github.com/dynastrata/dynastrata/localdb/faults"
)

// singleVerbs are the operations on an entity whose writes are single requests.
var singleVerbs = []string{"create", "create", "put", "upsert", "set", "set if", "add", "modify", "delete", "delete if", "get", "get"}

// singleGame is the game of an entity without kept states. A single request has no token, so that a network which delivers it twice or late can do
// harm that no client prevents; which faults are stood is said here, and in docs/reliability.md.
func singleGame[T any](name string, at func(*T) *Record) game[recordState, recordIn, recordOut] {
	g := recordGame(name, singleVerbs, at)
	g.paired = true
	g.also = func(f faults.Fault, in recordIn) bool {
		if f != faults.Twice {
			return true
		}
		return in.expect >= 0 && in.verb != "delete" || slices.Contains([]string{"create", "modify"}, in.verb)
	}
	return g
}
