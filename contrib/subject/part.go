package subject

import (
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
)

// part is what a page of items adds to the report.
type part struct {
	Report
	lines []byte // of an export
}

// newPart returns an empty part for the entities and views of a report.
func newPart(r *Report) *part {
	p := &part{}
	p.Entities, p.Views, p.Estimate = make([]EntityReport, len(r.Entities)), make([]ViewReport, len(r.Views)), &Cost{}
	return p
}

func (p *part) entity(t *tracked) *EntityReport { return &p.Entities[t.number] }

// all counts members that stay for one reason.
func (p *part) all(t *tracked, list []*member, reason string) {
	e := p.entity(t)
	for _, m := range list {
		e.Left = leave(e.Left, m.kind, reason, 1)
	}
}

// stay counts the members of a group that stay although they name the subject.
func (p *part) stay(g *group, begun bool) {
	for _, m := range g.members {
		if _, reason := g.fate(m, begun); reason != "" {
			p.all(g.t, []*member{m}, reason)
		}
	}
}

// compare counts the members and claims of a group that were due and are gone, or have lost their content, by a later reading of it.
func (p *part) compare(before, after *group, begun bool) {
	e := p.entity(before.t)
	due := before.due(begun)
	for _, m := range due {
		switch now := after.has(m.key(before.t.s)); {
		case now == nil:
			count(&e.Erased, m.kind, 1)
		case now.naming == unnamed && layout.Erased(now.Raw) && !layout.Erased(m.Raw):
			count(&e.Emptied, m.kind, 1)
		}
	}
	for _, c := range before.released(due) {
		if !after.claimed(c) {
			count(&e.Erased, Claim, 1)
		}
	}
}

// planned counts what would become of members of a group, and what that would cost.
func (p *part) planned(g *group, list []*member) {
	e := p.entity(g.t)
	for _, m := range list {
		f, reason := g.fate(m, false)
		factor := 1.0
		if g.whole() {
			factor = 2 // in a transaction
		}
		switch {
		case reason != "":
			p.all(g.t, []*member{m}, reason)
		case f == goes:
			count(&e.Erased, m.kind, 1)
			p.Estimate.write(units(m.Raw), factor)
		case f == emptied:
			count(&e.Emptied, m.kind, 1)
			p.Estimate.write(units(m.Raw), factor)
		}
	}
	for range g.released(list) {
		count(&e.Erased, Claim, 1)
		p.Estimate.write(1, 2)
	}
}

// write adds a write of so many units to an estimate. A transaction doubles them.
func (c *Cost) write(units, factor float64) {
	c.Requests++
	c.WriteUnits += units * factor
}

// units returns the write units of an item.
func units(it item.Item) float64 { return float64(max((item.Size(it)+1023)/1024, 1)) }

// add adds a part of a page. What was erased counts even if the page failed: it is not found again. All else is counted when the page succeeds.
func (r *Report) add(p *part, succeeded bool) {
	if !succeeded && r.Action != actionErase {
		return
	}
	for i := range p.Entities {
		e, x := &r.Entities[i], &p.Entities[i]
		for k, n := range x.Erased {
			count(&e.Erased, k, n)
		}
		for k, n := range x.Emptied {
			count(&e.Emptied, k, n)
		}
		if r.Action != actionDryRun {
			r.LastPass += sum(x.Erased) + sum(x.Emptied)
		}
		if !succeeded {
			continue
		}
		for k, n := range x.Exported {
			count(&e.Exported, k, n)
		}
		for _, l := range x.Left {
			e.Left = leave(e.Left, l.Kind, l.Reason, l.Count)
		}
	}
	if !succeeded {
		return
	}
	r.Evaluated += p.Evaluated
	for _, l := range p.Others {
		r.Others = leave(r.Others, l.Kind, l.Reason, l.Count)
	}
	for i := range p.Views {
		r.Views[i].Rows += p.Views[i].Rows
	}
	for _, name := range p.Secrets {
		r.secret(name)
	}
	if r.Estimate != nil {
		r.Estimate.Requests += p.Estimate.Requests
		r.Estimate.WriteUnits += p.Estimate.WriteUnits
	}
}
