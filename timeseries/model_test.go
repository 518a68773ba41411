package timeseries_test

import (
	"cmp"
	"slices"

	"github.com/dynastrata/dynastrata/timeseries"
)

// fact is an event of the model: when it was, one field that it may report, and one more.
type fact struct {
	at   int
	a    int
	hasA bool
	b    string
	hasB bool
}

// model is what a series should do, without a database.
type model struct {
	record  bool
	history map[int]fact
	current fact // folded; at 0: there is none
}

func newModel(record bool) *model { return &model{record: record, history: map[int]fact{}} }

func (m *model) clone() *model {
	c := newModel(m.record)
	for at, f := range m.history {
		c.history[at] = f
	}
	c.current = m.current
	return c
}

// verdict is what the model says of an event.
type verdict struct {
	reason timeseries.Reason // "": applied
	stored fact              // of a duplicate or collision
}

// fold brings the current item up to f.
func (m *model) fold(f fact) {
	m.current.at = f.at
	if f.hasA {
		m.current.a, m.current.hasA = f.a, true
	}
	if f.hasB {
		m.current.b, m.current.hasB = f.b, true
	}
}

func (m *model) append(f fact) verdict {
	if stored, ok := m.history[f.at]; ok {
		if stored != f {
			return verdict{timeseries.Collision, stored}
		}
		if f.at > m.current.at {
			m.fold(f) // current lagged behind
		}
		return verdict{timeseries.Duplicate, stored}
	}
	switch {
	case f.at > m.current.at:
		m.history[f.at] = f
		m.fold(f)
		return verdict{}
	case m.record:
		m.history[f.at] = f
		return verdict{reason: timeseries.LateRecorded}
	}
	return verdict{reason: timeseries.Older}
}

// appendAll appends a batch as a set: in order of time, of equal times in the order given. Events behind one that
// collided with what is stored are looked at when the others are through, which makes a difference only where the
// current item lags.
func (m *model) appendAll(batch []fact) []verdict {
	order := make([]int, len(batch))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(batch[i].at, batch[j].at) })
	verdicts, collided, last := make([]verdict, len(batch)), map[int]bool{}, []int{}
	for _, i := range order {
		if collided[batch[i].at] {
			last = append(last, i)
			continue
		}
		verdicts[i] = m.append(batch[i])
		collided[batch[i].at] = verdicts[i].reason == timeseries.Collision
	}
	for _, i := range last {
		verdicts[i] = m.append(batch[i])
	}
	return verdicts
}

// events are the history in order.
func (m *model) events() []fact {
	var all []fact
	for _, f := range m.history {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b fact) int { return cmp.Compare(a.at, b.at) })
	return all
}
