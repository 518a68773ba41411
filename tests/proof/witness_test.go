package proof_test

import (
	"cmp"
	"slices"

	"github.com/anishathalye/porcupine"
)

// mostSteps is how far a witness is looked for.
const mostSteps = 200_000

// witness looks for an order that explains a history, and returns the history with each operation at its place in that order, which lies between its
// call and its end. What holds for this holds for the history; for the checker it takes no search. nil when none was found.
//
// The search knows what the checker does not: an operation that may come next, and leaves the state as it is, can always be put next.
func (g game[S, I, O]) witness(ops []porcupine.Operation) []porcupine.Operation {
	w := &search[S]{ops: slices.Clone(ops), dead: map[string]bool{}}
	slices.SortStableFunc(w.ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	model := g.model()
	w.step = func(s S, i int) (S, bool) {
		ok, next := model.Step(s, w.ops[i].Input, w.ops[i].Output)
		return next.(S), ok
	}
	w.done, w.key = make([]bool, len(ops)), func(s S) string { return g.show(s) }
	if !w.from(g.begin) {
		return nil
	}
	sharp := make([]porcupine.Operation, len(w.order))
	for at, i := range w.order {
		sharp[at] = w.ops[i]
		sharp[at].Call, sharp[at].Return = int64(2*at), int64(2*at+1)
	}
	return sharp
}

type search[S comparable] struct {
	ops   []porcupine.Operation
	step  func(s S, i int) (S, bool)
	key   func(S) string
	done  []bool
	order []int
	steps int
	dead  map[string]bool // what leads nowhere: operations that are done, and the state
}

// from continues the order from a state; it puts everything back when that leads nowhere.
func (w *search[S]) from(s S) bool {
	if w.steps++; w.steps > mostSteps {
		return false
	}
	begun := len(w.order)
	back := func() bool {
		for _, i := range w.order[begun:] {
			w.done[i] = false
		}
		w.order = w.order[:begun]
		return false
	}
	var ready []int
	for again := true; again; {
		again, ready = false, ready[:0]
		for _, i := range w.ready() {
			switch next, ok := w.step(s, i); {
			case ok && next == s:
				w.take(i)
				again = true
			case ok:
				ready = append(ready, i)
			}
		}
	}
	if len(w.order) == len(w.ops) {
		return true
	}
	id := w.id(s)
	if w.dead[id] {
		return back()
	}
	for _, i := range ready {
		next, _ := w.step(s, i)
		w.take(i)
		if w.from(next) {
			return true
		}
		w.order = w.order[:len(w.order)-1]
		w.done[i] = false
	}
	w.dead[id] = true
	return back()
}

func (w *search[S]) take(i int) {
	w.done[i] = true
	w.order = append(w.order, i)
}

// ready are the operations that may come next: those that began before any other that is left has ended.
func (w *search[S]) ready() (all []int) {
	first := int64(1) << 62
	for i, op := range w.ops {
		if !w.done[i] {
			first = min(first, op.Return)
		}
	}
	for i, op := range w.ops {
		if !w.done[i] && op.Call <= first {
			all = append(all, i)
		}
	}
	return all
}

func (w *search[S]) id(s S) string {
	bits := make([]byte, len(w.done))
	for i, d := range w.done {
		if d {
			bits[i] = 1
		}
	}
	return string(bits) + w.key(s)
}
