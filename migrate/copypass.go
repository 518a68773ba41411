package migrate

import (
	"context"
	"errors"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// copyPass is one pass of a copy over one of its sides.
type copyPass struct {
	*copier
	writes bool // otherwise it compares
	again  bool // when comparing, items that differ are read again, since they may have been written meanwhile
	strict bool
}

// candidate is a source item of a page.
type candidate struct {
	key    item.Item
	state  string // write id
	now    target
	stored item.Item // under the target's key
}

// sources reads a page of source items and copies those that are not copied.
func (p *copyPass) sources(ctx context.Context, i, n int, after item.Item, part *Report) (last item.Item, err error) {
	var all [fences]fence
	if p.writes { // before the items
		if all, err = p.readFences(ctx); err != nil {
			return nil, err
		}
	} else {
		part.Estimate.Requests, part.Estimate.ReadUnits = 1, fences
	}
	out, err := p.from.scan(ctx, i, n, after)
	if err != nil {
		return nil, err
	}
	part.Evaluated += out.Evaluated
	var page []*candidate
	for _, it := range out.Items() {
		x, err := p.candidate(it, part)
		if err != nil {
			return nil, err
		}
		if x != nil {
			page = append(page, x)
		}
	}
	if err := p.readStored(ctx, page); err != nil {
		return nil, err
	}
	var fresh [fences][]*candidate
	var rest []*candidate
	for _, x := range page {
		switch {
		case x.stored == nil:
			h := fenceOf(x.key)
			fresh[h] = append(fresh[h], x)
		case p.upToDate(x):
		default:
			rest = append(rest, x)
		}
	}
	for h := range fences { // each segment begins with another fence
		h = (h + i) % fences
		left, err := p.create(ctx, all[h], fresh[h], part)
		if err != nil {
			return nil, err
		}
		rest = append(rest, left...)
	}
	for _, x := range rest {
		if err := p.one(ctx, x.key, x.now.key, part); err != nil {
			return nil, err
		}
	}
	return out.Last, nil
}

// candidate counts an item of a page and returns what is to be copied of it; nil if nothing is.
func (p *copyPass) candidate(it item.Item, part *Report) (*candidate, error) {
	f, ok := p.from.own(it)
	if !ok {
		return nil, nil
	}
	part.Items++
	key := layout.KeyOf(p.from.s, it)
	switch now := p.now(); {
	case f.problem != "":
		return nil, part.stayed(settled{problem: f.problem}, p.text(key), p.strict)
	case f.kind != layout.CurrentKind:
		part.Related++
		return nil, nil
	case !layout.Live(p.from.s, it, now):
		part.Expired++
		return nil, nil
	default:
		t := p.target(it, now)
		switch {
		case t.omitted:
			part.Omitted++
		case t.expired:
			part.Expired++
		}
		if t.key == nil {
			return nil, part.stayed(settled{now: t, problem: t.problem, err: t.err}, p.text(key), p.strict)
		}
		return &candidate{key: key, state: text(it[schema.WriteAttr]), now: t}, nil
	}
}

// readStored reads what is stored under the keys of the targets.
func (p *copyPass) readStored(ctx context.Context, page []*candidate) error {
	keys := make([]engine.Key, len(page))
	for i, x := range page {
		keys[i] = engine.Key{Table: p.to.c.Table, Key: x.now.key}
	}
	stored, err := p.to.c.Runner.GetMany(ctx, keys)
	for i, it := range stored {
		page[i].stored = it
	}
	return err
}

// upToDate reports whether the copy of a candidate is what it should be.
func (p *copyPass) upToDate(x *candidate) bool {
	from, copied := p.originOf(x.stored)
	if !copied || layout.KeyID(from.key) != layout.KeyID(x.key) || !layout.Live(p.to.s, x.stored, p.now()) {
		return false
	}
	it, err := p.stamped(x.now, x.stored, p.now())
	return err == nil && p.same(x.stored, it, x.now.key)
}

// create writes new copies of candidates under one fence, as many as fit in each transaction. It returns those that it
// could not write.
func (p *copyPass) create(ctx context.Context, f fence, fresh []*candidate, part *Report) (left []*candidate, err error) {
	now := p.now()
	var copies []newCopyOf
	var due []*candidate
	for _, x := range fresh {
		it, err := p.stamped(x.now, nil, now)
		if err != nil {
			left = append(left, x)
			continue
		}
		due = append(due, x)
		copies = append(copies, newCopyOf{Key: x.now.key, Copy: copying{Item: it, fence: f, source: p.copyID(x.key, x.state)}})
	}
	if !p.writes && p.again {
		return append(left, due...), nil
	}
	r := p.to.c.Runner
	for len(due) > 0 {
		op, taken, err := newCopies(p.to.s, p.to.c.Table, &plan.Input{Now: now.UTC(), WriteID: r.NewID()}, copies)
		switch {
		case err != nil: // of the first one, as if it were alone
			taken, err = 1, entity.ErrConditionFailed
		case p.writes:
			_, err = r.Run(ctx, op)
		default:
			p.estimate(copies[:taken], part)
		}
		switch {
		case err == nil:
			for _, x := range due[:taken] {
				part.wrote(Missing, p.text(x.key))
			}
		case errors.Is(err, entity.ErrConditionFailed) || problemOf(err) != "":
			left = append(left, due[:taken]...)
		default:
			return nil, err
		}
		due, copies = due[taken:], copies[taken:]
	}
	return left, nil
}

// estimate adds what a transaction of new copies costs.
func (p *copyPass) estimate(copies []newCopyOf, part *Report) {
	part.Estimate.Requests++
	part.Estimate.WriteUnits += 2 // of the fence
	for _, x := range copies {
		it, err := p.whole(x.Copy.Item, x.Key, copyID(x.Copy.source, anyID))
		if err != nil {
			continue
		}
		part.Estimate.WriteUnits += 2 * writeUnits(item.Size(it))
		for _, g := range plan.UniqueConstraints(p.to.s) {
			if keys, err := g.Sentinels(it); err == nil {
				part.Estimate.WriteUnits += 2 * float64(len(keys))
			}
		}
		for _, index := range p.to.s.Indexes {
			part.Estimate.WriteUnits += p.to.indexUnits(index, nil, it, false)
		}
	}
}

// one settles a source item by itself, whose copy was or may be under a key.
func (p *copyPass) one(ctx context.Context, source, key item.Item, part *Report) error {
	if p.writes {
		r, err := p.follow(ctx, source, []item.Item{key}, part)
		if err == nil {
			err = part.stayed(r, p.text(source), p.strict)
		}
		return err
	}
	r, err := p.settle(ctx, key, source, toCompare)
	if err != nil {
		return err
	}
	if r.reason != "" {
		part.wrote(r.reason, p.text(source))
	}
	return part.stayed(settled{problem: r.problem, err: r.err}, p.text(source), p.strict)
}

// copies reads a page of the new side and removes copies whose source has gone, or is copied elsewhere.
func (p *copyPass) copies(ctx context.Context, i, n int, after item.Item, part *Report) (last item.Item, err error) {
	out, err := p.to.scan(ctx, i, n, after)
	if err != nil {
		return nil, err
	}
	part.Evaluated += out.Evaluated
	var sources []engine.Key
	var places []item.Item // of their copies
	for _, it := range out.Items() {
		f, ok := p.to.own(it)
		if !ok || f.kind != layout.CurrentKind || !layout.Live(p.to.s, it, p.now()) {
			continue
		}
		from, copied := p.originOf(it)
		if !copied {
			continue
		}
		sources, places = append(sources, engine.Key{Table: p.from.c.Table, Key: from.key}), append(places, layout.KeyOf(p.to.s, it))
	}
	stored, err := p.from.c.Runner.GetMany(ctx, sources)
	if err != nil {
		return nil, err
	}
	for n, source := range stored {
		t := p.target(source, p.now())
		if t.problem != "" || t.key != nil && layout.KeyID(t.key) == layout.KeyID(places[n]) {
			continue
		}
		if err := p.one(ctx, sources[n].Key, places[n], part); err != nil {
			return nil, err
		}
	}
	return out.Last, nil
}

// bothSides is one pass over both sides.
type bothSides func(ctx context.Context, writes bool) (Report, error)

// passes runs f, which makes passes, and returns the report of the last one with the costs of all.
func (c *copier) passes(ctx context.Context, verb, written string, spec *bind.Options, f func(context.Context, bothSides) error) (last Report, err error) {
	last = newReport()
	if _, err := newJob(verb, c.to.c, spec); err != nil {
		return last, c.to.c.Wrap(verb, "", err)
	}
	both := func(ctx context.Context, writes bool) (Report, error) {
		pass := &copyPass{copier: c, writes: writes, again: true}
		last = newReport()
		last.Done, last.written = true, written
		for _, page := range []func(context.Context, int, int, item.Item, *Report) (item.Item, error){pass.sources, pass.copies} {
			side, err := newJob(verb, c.to.c, spec)
			if err != nil {
				return last, err
			}
			side.page = page
			err = side.run(ctx)
			r := side.result()
			last.add(r)
			if last.Done = last.Done && r.Done; err != nil {
				return last, err
			}
		}
		return last, nil
	}
	whole := &job{report: newReport()}
	err = c.to.c.Measure(ctx, verb, "", func(ctx context.Context) error {
		return whole.metered(bind.WithPace(ctx, spec.Budget), func(ctx context.Context) error { return f(ctx, both) })
	})
	last.Cost = whole.report.Cost
	return last, err
}

// cutOver freezes the copy, makes the sides equal, and closes the fences.
func (c *copier) cutOver(ctx context.Context, both bothSides) error {
	is, err := c.state(ctx)
	if err == nil && is != CutOver {
		err = c.freeze(ctx)
	}
	if err == nil && is != CutOver {
		err = c.equalize(ctx, both)
	}
	if errors.Is(err, ErrCutOver) { // by another program, or by this one, whose answer was lost
		return nil
	}
	return err
}

// equalize makes passes until one finds nothing to write, and closes the fences, unless the copy is thawed meanwhile: then the
// old program may have written what the pass had compared already.
func (c *copier) equalize(ctx context.Context, both bothSides) error {
	read, err := c.first(ctx)
	if err != nil {
		return err
	}
	guard := frozen(read)
	for n := 1; ; n++ {
		if err := c.seal(ctx, guard); err != nil {
			return err
		}
		r, err := both(ctx, true)
		switch {
		case err != nil:
			return err
		case r.Clean():
			return c.close(ctx, guard)
		case r.Skipped() > 0, n == mostPasses:
			return &UnsettledError{Report: r}
		}
	}
}
