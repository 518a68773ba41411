package subject

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/layout/identify"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Request says whose data it is about.
type Request struct {
	ID        string // of the subject, as the fields with the role have it; it is stored nowhere
	Reference string // names the request in the report instead of the id
	DryRun    bool   // Erase only reads, once, and says what it would do
	Secrets   bool   // Export writes secret fields too
	Cursor    string // Report.Cursor or Progress.Cursor of an earlier run of the same request, to go on; "" begins

	// OnProgress is called after each page of items, one call at a time. It may be nil.
	OnProgress func(Progress)
}

// Progress says how far a run is.
type Progress struct {
	Pass      int    // from 1
	Table     string // physical name
	Evaluated int    // items read, of all runs
	Erased    int    // items that are gone or emptied, of all runs; of a dry run those that would be
	Cursor    string // where a run would go on if this one ended now; it holds keys
}

const (
	actionExport = "export"
	actionErase  = "erase"
	actionDryRun = "dry run"
)

// Erase removes what names the subject. It reads the tables until a pass finds nothing to erase, so that what programs write meanwhile is
// found too, at most Options.Passes times. Then it builds the views that are made from erased items. README.md says what becomes of
// which item.
//
// Each write is made under the condition that the item is as it was read; otherwise it is read again. The report counts what a later
// reading has shown to be gone. Report.Clean says whether nothing stays. Erase can be ended at any time, and goes on by Request.Cursor.
//
// It costs, for each pass, a strongly consistent scan of each table, or a query where all entities of a table have the subject as their
// partition key; and for each item that names the subject two readings of all that belongs to it and of its claims, and the removal:
// two write units for each KB of all that goes with an item, in transactions; one for each KB of an event or past state that goes alone.
//
// Errors: *entity.InputError with SUBJ-05, SUBJ-06 or SUBJ-07 before any request; those of requests that failed after all attempts; those of
// Rebuild. The report is of what was done until then.
func (x *Subjects) Erase(ctx context.Context, req Request) (Report, error) {
	action := actionErase
	if req.DryRun {
		action = actionDryRun
	}
	return x.start(ctx, action, req, nil)
}

// Export writes what names the subject to w: a line of JSON for each item, of type [Line], in the order of the tables. It writes each page of
// items with one call of Write. Secret fields are left out, and listed in the report, unless Request.Secrets is set. An item that is
// written meanwhile is in the export as it was when it was read.
//
// It costs a strongly consistent scan of each table, or a query where all entities of a table have the subject as their partition key, and
// for each item that names the subject one reading of all that belongs to it and of its claims.
//
// Errors: *entity.InputError with SUBJ-05, SUBJ-06 or SUBJ-07 before any request; those of requests that failed after all attempts; those
// of w, after which a part of the last page may be written, which a run from the cursor writes again.
func (x *Subjects) Export(ctx context.Context, req Request, w io.Writer) (Report, error) {
	return x.start(ctx, actionExport, req, w)
}

// start checks a request and runs it as one measured call.
func (x *Subjects) start(ctx context.Context, action string, req Request, w io.Writer) (Report, error) {
	if err := x.opened(); err != nil {
		return Report{}, err
	}
	invalid := func(code, field, problem string) (Report, error) {
		return Report{}, mistake(code, "subject.Request", field, problem)
	}
	switch {
	case req.ID == "":
		return invalid(codeRequest, "ID", "it must not be empty")
	case action == actionExport && w == nil:
		return invalid(codeRequest, "", "an export needs a writer")
	case action == actionExport && req.DryRun:
		return invalid(codeRequest, "DryRun", "an export removes nothing in any case")
	case action != actionExport && req.Secrets:
		return invalid(codeRequest, "Secrets", "only an export writes fields")
	}
	r := &run{Subjects: x, req: req, dry: action == actionDryRun, out: w}
	if err := r.begin(action); err != nil {
		return Report{}, err
	}
	verb := map[string]string{actionExport: "Subject.Export", actionErase: "Subject.Erase", actionDryRun: "Subject.DryRun"}[action]
	err := x.runner.Measure(ctx, entitytype.Call{Verb: verb, Entities: x.names()}, func(ctx context.Context) error { return r.run(x.pace(ctx)) })
	r.report.Finished = x.runner.Clock().UTC()
	return r.result(), err
}

// A step reads a table, or the partition of an entity in it.
type step struct {
	*place
	query *tracked // nil for a scan of the table
}

// steps returns what a pass reads, in order.
func (x *Subjects) steps() (all []step) {
	for _, p := range x.places {
		if p.scanned {
			all = append(all, step{p, nil})
			continue
		}
		for _, t := range x.tracked {
			if p.tracked[t.s] == t {
				all = append(all, step{p, t})
			}
		}
	}
	return all
}

// run is one run of a request.
type run struct {
	*Subjects
	req Request
	dry bool
	out io.Writer // of an export; nil otherwise

	reporting sync.Mutex // held while the progress is reported

	mu     sync.Mutex // guards what follows
	report Report
	at     position
}

// run makes the passes and builds the views.
func (r *run) run(ctx context.Context) error {
	for !r.at.Read {
		if err := r.pass(ctx); err != nil {
			return err
		}
		r.report.Passes++
		enough := r.report.Action != actionErase || r.report.LastPass == 0 || r.report.Passes >= r.o.Passes
		if r.at.Step = 0; enough {
			r.at.Read = true
		} else {
			r.report.begin()
		}
	}
	if err := r.rebuild(ctx); err != nil {
		return err
	}
	r.report.Done = true
	return nil
}

// pass makes the rest of a pass.
func (r *run) pass(ctx context.Context) error {
	steps := r.steps()
	for ; r.at.Step < len(steps); r.at.Step++ {
		s := steps[r.at.Step]
		if r.at.Segments == nil {
			n := 1
			if s.query == nil && r.out == nil {
				n = r.o.Segments
			}
			r.at.Segments = make([]segment, n)
		}
		if err := r.segments(ctx, s); err != nil {
			return err
		}
		r.at.Segments = nil
	}
	return nil
}

// segments works on all segments of a step at the same time. The first error ends them.
func (r *run) segments(ctx context.Context, s step) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	n := len(r.at.Segments)
	engine.Parallel(n, n, func(i int) {
		if err := r.segment(ctx, s, i, n); err != nil {
			stop(err)
		}
	})
	return context.Cause(ctx)
}

// segment reads the rest of a segment, page by page, and deals with what it finds.
func (r *run) segment(ctx context.Context, s step, i, n int) error {
	for !r.at.Segments[i].Done {
		if err := ctx.Err(); err != nil {
			return err
		}
		p, last := newPart(&r.report), item.Item(nil)
		cost, err := engine.Metered(ctx, func(ctx context.Context) (err error) {
			last, err = r.page(ctx, s, i, n, p)
			return err
		})
		if err == nil && len(p.lines) > 0 {
			_, err = r.out.Write(p.lines)
		}
		r.mu.Lock()
		r.report.Cost.add(cost)
		if r.report.add(p, err == nil); err == nil {
			r.at.Segments[i] = segment{last, last == nil}
		}
		progress := r.progress(s)
		r.mu.Unlock()
		if err != nil {
			return err
		}
		if r.req.OnProgress != nil {
			r.reporting.Lock()
			r.req.OnProgress(progress)
			r.reporting.Unlock()
		}
	}
	return nil
}

// progress returns the progress; r.mu is held.
func (r *run) progress(s step) Progress {
	p := Progress{Pass: r.report.Passes + 1, Table: s.table, Evaluated: r.report.Evaluated, Erased: r.report.Erased()}
	if r.req.OnProgress != nil {
		p.Cursor = r.cursor()
	}
	return p
}

// result returns the report.
func (r *run) result() Report {
	out := r.report.clone()
	if out.Action != actionDryRun {
		out.Estimate = nil
	}
	if !out.Done {
		out.Cursor = r.cursor()
	}
	return out
}

// pageItems is how many items a request evaluates.
const pageItems = 250

// page reads a page of a segment. last is nil after the last one.
func (r *run) page(ctx context.Context, s step, i, n int, p *part) (last item.Item, err error) {
	in := &layout.Range{Table: s.table, Strong: true, Limit: pageItems, Start: r.at.Segments[i].After}
	switch {
	case s.query != nil:
		return nil, r.partitions(ctx, s, in, p)
	case n > 1:
		in.Segment, in.Segments = i, n
	}
	page, err := r.runner.ReadPage(ctx, in)
	if err != nil {
		return nil, err
	}
	p.Evaluated += page.Evaluated
	return page.Last, r.items(ctx, s.place, page.Items(), p)
}

// partitions reads the partition of a keyed entity, and those of the events of a series.
func (r *run) partitions(ctx context.Context, s step, in *layout.Range, p *part) error {
	t, pk := s.query, s.query.s.PK.Attribute()
	key := t.partition(r.req.ID)
	if key == nil {
		return nil // no key can hold the id
	}
	keys := []item.Item{{pk: key}}
	if t.s.SK != nil {
		keys = append(keys, layout.EventPartitions(t.s, keys[0])...)
	}
	for _, k := range keys {
		one := *in
		one.Key, one.Start = expr.Compare(expr.Eq, expr.Attr(pk), k[pk]), nil
		for items, err := range layout.RawPages(ctx, r.runner, &one) {
			if err != nil {
				return err
			}
			p.Evaluated += len(items)
			if err := r.items(ctx, s.place, items, p); err != nil {
				return err
			}
		}
	}
	return nil
}

// items deals with the items of a page.
func (r *run) items(ctx context.Context, at *place, page []item.Item, p *part) error {
	settled := map[string]bool{} // owners
	groups := map[string]*group{}
	for _, raw := range page {
		s, id := at.identify(raw)
		t := at.tracked[s]
		switch {
		case t != nil && id.Role == identify.Own:
			if err := r.own(ctx, t, t.member(raw, id, r.req.ID), settled, groups, p); err != nil {
				return err
			}
		case t != nil && id.Role == identify.Sentinel && r.out == nil && t.claimNames(raw, id, r.req.ID):
			if err := r.orphan(ctx, t, raw, id.Owner, p); err != nil {
				return err
			}
		case s != nil && at.rows[s] != "" && mentioned(raw, r.req.ID):
			if err := r.row(s, at.rows[s], raw, p); err != nil {
				return err
			}
		case id.Role == identify.Checkpoint && mentioned(raw, r.req.ID):
			p.Others = leave(p.Others, Other, leftCheckpoint, 1)
		case id.Role == identify.Foreign && mentioned(raw, r.req.ID):
			p.Others = leave(p.Others, Other, leftForeign, 1)
		}
	}
	return nil
}

// identify returns the entity that an item is of, nil for none, and what it is to that.
func (p *place) identify(raw item.Item) (s *schema.Schema, id identify.Identity) {
	for _, s = range p.all {
		if id = identify.Of(s, raw); id.Role != identify.Foreign {
			return s, id
		}
	}
	return nil, id
}

// own deals with an item of an entity with a subject.
func (r *run) own(ctx context.Context, t *tracked, m *member, settled map[string]bool, groups map[string]*group, p *part) error {
	switch {
	case m.naming == unnamed && m.left == "":
		return nil
	case m.owner == nil || t.kept != "" && r.out == nil:
		reason := m.left
		if t.kept != "" {
			reason = t.kept
		}
		p.all(t, []*member{m}, reason)
		return nil
	}
	owner := layout.KeyID(m.owner)
	if r.out == nil && !r.dry {
		if settled[owner] {
			return nil
		}
		settled[owner] = true
		return r.settle(ctx, t, m.owner, p)
	}
	g := groups[owner]
	if g == nil {
		var err error
		if g, err = r.read(ctx, t, m.owner); err != nil {
			return err
		}
		groups[owner] = g
	}
	list := g.with(m)
	if r.out != nil {
		return r.export(g, list, p)
	}
	p.planned(g, list)
	return nil
}

// with returns the members that a reading of the tables deals with when it comes to m, so that it deals with each once: everything that
// belongs to a current item with that item, and other items each by itself.
func (g *group) with(m *member) []*member {
	now := g.has(m.key(g.t.s))
	switch {
	case now == nil: // it was removed meanwhile
		return nil
	case g.current == nil || !g.whole():
		return []*member{now}
	case now == g.current:
		return g.members
	}
	return nil
}

// claimNames reports whether a sentinel names the subject: in the key of its item, or as its value.
func (t *tracked) claimNames(raw item.Item, id identify.Identity, subject string) bool {
	for _, av := range id.Owner {
		if av == nil {
			return false
		}
	}
	for _, a := range t.s.Subjects {
		if t.s.KeyPart(a) {
			for _, half := range []*schema.KeyDef{t.s.PK, t.s.SK} {
				if half == nil || half.Template == nil || !half.Template.Determines(a.Name) {
					continue
				}
				text, _ := id.Owner[half.Attr].(*types.AttributeValueMemberS)
				if text == nil {
					continue
				}
				if av, err := half.Template.Read(text.Value, a.Name); err == nil && names(av, subject) {
					return true
				}
			}
		}
		for _, c := range plan.UniqueConstraints(t.s) {
			if fields := c.Fields(); c.Name() != id.Name || len(fields) != 1 || fields[0] != a {
				continue
			}
			keys, err := c.Sentinels(item.Item{a.Name: item.S(subject)})
			own := layout.KeyID(layout.KeyOf(t.s, raw))
			if err == nil && slices.ContainsFunc(keys, func(k item.Item) bool { return layout.KeyID(k) == own }) {
				return true
			}
		}
	}
	return false
}

// erased reports whether an item of one of these entities was erased or emptied.
func (r *run) erased(entities []string) bool {
	return slices.ContainsFunc(r.report.Entities, func(e EntityReport) bool {
		return slices.Contains(entities, e.Entity) && sum(e.Erased)+sum(e.Emptied) > 0
	})
}

// rebuild builds the views again that are made from what was erased.
func (r *run) rebuild(ctx context.Context) error {
	if r.report.Action == actionExport {
		return nil
	}
	for i := range r.report.Views {
		v := &r.report.Views[i]
		if v.Rebuilt {
			continue
		}
		at := slices.IndexFunc(r.o.Views, func(x View) bool { return x.Name == v.View })
		switch {
		case v.Rows == 0 && !r.erased(r.sources[v.View]):
			v.Advice = ""
		case at < 0:
			v.Advice = leftRow
		case r.dry:
			v.Advice = "Erase builds it again"
		default:
			v.Advice = leftRow
			if err := r.o.Views[at].Rebuild(ctx); err != nil {
				return fmt.Errorf("view %s: %w", v.View, err)
			}
			v.Rebuilt, v.Advice = true, ""
			if v.Rows > 0 {
				v.Advice = leftReplaced
			}
		}
	}
	return nil
}
