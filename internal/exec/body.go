package exec

import (
	"fmt"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// body is what one request carries: the actions of its steps in order, those on one item merged into one, because
// DynamoDB refuses two.
type body struct {
	steps   []plan.Step
	actions []plan.Action
	at      [][]int // action j of step i is part of actions[at[i][j]]
	parts   []int   // how many actions of steps are in each of actions
}

// alone is the body of one step.
func alone(step plan.Step) body {
	b, _ := newBody([]plan.Step{step})
	return b
}

// newBody merges the actions of steps. Where that is impossible, clash holds the indexes of the two steps.
func newBody(steps []plan.Step) (b body, clash []int) {
	type place struct{ action, step int }
	b.steps, b.at = steps, make([][]int, len(steps))
	places := map[string]place{}
	for i, s := range steps {
		b.at[i] = make([]int, len(s.Actions))
		for j, a := range s.Actions {
			id := a.Table + " " + plan.KeyID(a.Key)
			p, taken := places[id]
			if !taken {
				p = place{len(b.actions), i}
				places[id] = p
				b.actions, b.parts = append(b.actions, a), append(b.parts, 0)
			} else {
				merged, ok := plan.Merge(b.actions[p.action], a)
				if !ok {
					return body{}, []int{p.step, i}
				}
				b.actions[p.action] = merged
			}
			b.at[i][j] = p.action
			b.parts[p.action]++
		}
	}
	return b, nil
}

// merge makes one body of the steps of ops, or says which op cannot be a part of it.
func merge(ops []*plan.Op, steps []plan.Step) (body, []OpFailure) {
	b, clash := newBody(steps)
	if clash != nil {
		return body{}, []OpFailure{{clash[1], clashed(ops[clash[0]], ops[clash[1]])}}
	}
	for i, s := range steps {
		for j, a := range s.Actions {
			if b.parts[b.at[i][j]] == 1 {
				continue
			}
			if err := plan.InMemory(ops[i].Schema, a.Cond, "a transaction with several operations on one item"); err != nil {
				return body{}, []OpFailure{{i, err}}
			}
		}
	}
	return b, nil
}

// own picks from the failures of the body's actions those of step i. Of a merged action only the parts whose own
// condition does not hold on the stored item have failed.
func (b body) own(i int, failures []plan.Failure) []plan.Failure {
	own := make([]plan.Failure, len(b.at[i]))
	for j, k := range b.at[i] {
		own[j] = failures[k]
		if b.parts[k] > 1 && own[j].Failed() && !own[j].Hidden && b.steps[i].Actions[j].Cond.Holds(own[j].Image) {
			own[j] = plan.Failure{}
		}
	}
	return own
}

// tables are those of the body's actions.
func (b body) tables() []string {
	names := make([]string, len(b.actions))
	for i, a := range b.actions {
		names[i] = a.Table
	}
	return names
}

// bytes is what the items and values of the body weigh.
func (b body) bytes() int {
	n := 0
	for _, a := range b.actions {
		n += item.Size(a.Item) + item.Size(a.Key)
		for _, c := range a.Changes {
			n += item.ValueSize(c.Value)
		}
	}
	return n
}

// clashed is the error of two ops that act on one item in ways that no one action has.
func clashed(a, b *plan.Op) error {
	return &plan.InputError{Code: plan.CodeSameItem, Type: b.Schema.Type.String(), Problem: fmt.Sprintf("%s and %s write one item; a transaction can write an item once", a.Verb, b.Verb)}
}
