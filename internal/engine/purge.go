package engine

import (
	"context"
	"errors"
	"iter"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// Purge is the removal of one item.
type Purge struct {
	Runner   *Runner
	Schema   *schema.Schema
	Table    string
	Key      item.Item         // primary key of the current item
	Parts    item.Item         // its parts as given
	Progress func(deleted int) // called after each removal, one call at a time; may be nil
	Only     expr.Cond         // what the current item must meet; with it, its snapshots go together with it or before. None: no matter

	mu      sync.Mutex
	deleted int  // how many removals were reported
	any     bool // something was removed, or may have been

	ours    bool // something with the given spelling was found
	without int  // in how many readings in a row neither the current item nor a copy was there
}

// PurgeItem removes the item of key, a value of the entity's type, with everything that belongs to it.
func (c *Core) PurgeItem(ctx context.Context, key reflect.Value, spec *bind.Options) error {
	err := c.Readable(spec)
	var primary, parts item.Item
	if err == nil {
		primary, parts, err = bind.Key(c.Schema, key, nil, nil)
	}
	if err != nil {
		return c.Wrap("Purge", layout.KeyText(c.Schema, primary), err)
	}
	p := &Purge{Runner: c.Runner, Schema: c.Schema, Table: c.Table, Key: primary, Parts: parts, Progress: spec.Progress}
	return c.MeasureItem(ctx, "Purge", primary, func(ctx context.Context) error { return p.Run(bind.WithPace(ctx, spec.Budget)) })
}

// Run removes what exists until two readings in a row find nothing. It removes the current item and its copies first, and what they leave
// behind in the next rounds: while the item exists, events can be added to it. If either comes back, something was written in between. It
// can be interrupted and run again. The error is ambiguous unless nothing was removed. With Only it is ErrConditionFailed for an item that
// does not meet that, and ErrNotFound for one that others deleted.
func (p *Purge) Run(ctx context.Context) error {
	times := map[found]int{}
	for {
		what, err := p.round(ctx, times)
		switch {
		case err != nil && p.any:
			return &plan.Ambiguous{Err: err, Partly: true}
		case err != nil || what == nothing:
			return err
		}
	}
}

// found counts what a round has read and removed.
type found int

const (
	nothing found = iota
	unsure        // neither the current item nor a copy, but the next reading may find one
	main          // the current item and its copies, or one of the two
	related       // snapshots and events, of an item that is gone
)

// gone counts a reading without the current item and without a copy, and reports whether it is the second in a row. A query
// is not isolated from transactions: it can find the place of the current item empty just before a restore, and those of the
// copies just after it. A delete and another restore would have to follow to hide the item from the second reading too.
func (p *Purge) gone() bool {
	p.without++
	return p.without > 1 || !p.hasRelated()
}

// again counts what a round has found, and returns an error if it was found in too many rounds.
func (p *Purge) again(what found, times map[found]int) error {
	if times[what]++; times[what] > p.Runner.MaxAttempts {
		return sentinel.ErrConflict
	}
	return nil
}

// round reads the item with everything related to it, in the order of sort keys: the current item, the copies, the rest.
// It removes the first two, or if there certainly are none the rest.
func (p *Purge) round(ctx context.Context, times map[found]int) (what found, err error) {
	var current item.Item
	var copies, history []item.Item
	for page, err := range p.pages(ctx, len(times) == 0) {
		if err != nil {
			return what, err
		}
		first, more, rest := p.sort(page)
		if copies = append(copies, more...); first != nil {
			current = first
		}
		if what == nothing && (current != nil || copies != nil) {
			what = main
		}
		switch unmet := p.Only.Op != expr.None && !p.Only.Holds(current); {
		case unmet && current != nil:
			return what, sentinel.ErrConditionFailed
		case unmet && (what == main || rest != nil || !p.any):
			return what, sentinel.ErrNotFound
		case unmet: // an answer may have been lost
			return nothing, nil
		case p.Only.Op != expr.None, len(rest) == 0:
			history = append(history, rest...)
			continue
		case what == nothing && !p.gone():
			return unsure, nil
		case what == nothing:
			what = related
			err = p.again(related, times)
		}
		if what == main {
			break
		}
		if err == nil {
			err = p.spelled(rest)
		}
		if err == nil {
			err = p.removeRelated(ctx, rest)
		}
		if err != nil {
			return what, err
		}
	}
	switch {
	case what == nothing && !p.gone():
		return unsure, nil
	case what != main:
		return what, nil
	}
	if err := p.again(main, times); err != nil {
		return what, err
	}
	if err := plan.CaseError(p.Schema, p.Parts, current); err != nil {
		return what, err
	}
	if err := p.spelled(append(slices.Clone(copies), current)); err != nil {
		return what, err
	}
	if err = p.currentAndCopies(ctx, current, copies, history); p.Only.Op != expr.None && p.without > 0 {
		return nothing, err // while an item is unchanged, nothing that belongs to it is added
	}
	return what, err
}

// pages reads the current item and its related items, including expired ones and those of features that are no longer
// declared, and then the events of a series that spreads them over other partitions. Only a short first page is read at
// first, because the rest is read again once the item is gone.
func (p *Purge) pages(ctx context.Context, first bool) iter.Seq2[[]item.Item, error] {
	if !p.hasRelated() {
		return func(yield func([]item.Item, error) bool) {
			it, err := p.Runner.Get(ctx, p.Table, p.Key, true)
			yield([]item.Item{it}, err)
		}
	}
	in := layout.QueryBetween(p.Schema, p.Table, p.Key, "", strings.TrimSuffix(schema.SnapshotInfix, "#")+"$")
	if first {
		in.Limit = plan.MaxActions
	}
	return func(yield func([]item.Item, error) bool) {
		for page, err := range layout.RawPages(ctx, p.Runner, in) {
			if in.Limit = 0; !yield(page, err) || err != nil {
				return
			}
		}
		for _, partition := range layout.EventPartitions(p.Schema, p.Key) {
			for page, err := range layout.RawPages(ctx, p.Runner, layout.QueryRelated(p.Schema, p.Table, partition, schema.EventInfix)) {
				if !yield(page, err) || err != nil {
					return
				}
			}
		}
	}
}

// hasRelated reports whether the item can have copies, snapshots and events.
func (p *Purge) hasRelated() bool { return p.Schema.SK != nil && p.Schema.SK.Prefixed }

// sort separates the items of a page. It leaves out what does not belong to the item.
func (p *Purge) sort(page []item.Item) (current item.Item, copies, rest []item.Item) {
	for _, it := range page {
		switch suffix, ok := layout.Suffix(p.Schema, p.Key, it); {
		case it == nil:
		case !p.hasRelated(): // the sort key need not be a text
			current = it
		case !ok:
		case suffix == "":
			current = it
		case strings.HasPrefix(suffix, schema.CopyInfix):
			copies = append(copies, it)
		case strings.HasPrefix(suffix, schema.EventInfix), strings.HasPrefix(suffix, schema.SnapshotInfix):
			rest = append(rest, it)
		}
	}
	return current, copies, rest
}

// spelled rejects items whose key differs from the given one in case, unless something has the given spelling. In that case
// items have shared the key one after the other, and all of them are removed, or none could ever be purged.
func (p *Purge) spelled(items []item.Item) error {
	cased := p.Schema.Folded
	given := func(it item.Item) bool {
		return !slices.ContainsFunc(cased, func(a *schema.Attr) bool { return !item.Equal(it[a.Name], p.Parts[a.Name]) })
	}
	if p.ours = p.ours || slices.ContainsFunc(items, given); p.ours {
		return nil
	}
	for _, it := range items {
		if err := plan.CaseError(p.Schema, p.Parts, it); err != nil {
			return err
		}
	}
	return nil
}

// owned is an item with the sentinels of its possible values.
type owned struct {
	item      item.Item // nil for a current item that must stay absent
	sentinels []item.Item
}

// currentAndCopies removes the current item, the deleted copies and their unique values: in one transaction or, if they are too many,
// the copies first and the current item last. A value is removed with the last item that has it, so that an interrupted
// purge leaves no item without its claim. It stops where something was written in between. If nothing was, the item is gone
// as after a reading that does not find it.
func (p *Purge) currentAndCopies(ctx context.Context, current item.Item, copies, history []item.Item) error {
	var all []owned
	taken := map[string]bool{}
	for _, it := range slices.Backward(append(slices.Clone(copies), current)) {
		o := owned{item: it}
		keys, err := SentinelsOf(p.Schema, it)
		if err != nil {
			return err
		}
		for _, k := range keys {
			if id := layout.KeyID(k); !taken[id] {
				taken[id] = true
				o.sentinels = append(o.sentinels, k)
			}
		}
		all = append(all, o)
	}
	for _, it := range history {
		all = append(all, owned{item: it})
	}
	slices.Reverse(all)
	p.without = 0
	for len(all) > 0 {
		n := chunk(all)
		items, last := all[:n], n == len(all)
		op := p.op(p.Key)
		op.Plan = func(_ context.Context, _ layout.Reader, in *plan.Input) (*plan.Plan, error) {
			return p.plan(in, items, current, last)
		}
		if result, err := p.Runner.Run(ctx, op); err != nil || result.Skipped { // an item has changed
			return err
		}
		all = all[n:]
	}
	p.without = 1
	return nil
}

// SentinelsOf returns the keys of the sentinels for the values of an item: those that it has in today's payload version, and
// those that an earlier one may have claimed. Of an item that cannot be upgraded only the latter are known.
func SentinelsOf(s *schema.Schema, raw item.Item) (keys []item.Item, err error) {
	it, err := layout.Open(s, raw)
	if err != nil && !layout.Outdated(s, raw) {
		return nil, err
	}
	for _, g := range plan.UniqueConstraints(s) {
		if more, err := g.Sentinels(it.Item); err == nil { // a value that no key can hold has no sentinel
			keys = append(keys, more...)
		}
		keys = append(keys, plan.EarlierSentinels(s, g, raw)...)
	}
	return keys, nil
}

// chunk returns how many of the items go into one transaction with their sentinels. The current item is the last and stays
// whole; transactions before the last one check it.
func chunk(all []owned) int {
	actions, checked, bytes := 0, 0, 0
	for i, o := range all {
		bytes += item.Size(o.item)
		if actions += 1 + len(o.sentinels); actions < plan.MaxActions && bytes <= plan.MaxTransactionBytes {
			checked = i + 1
		}
	}
	if actions <= plan.MaxActions && bytes <= plan.MaxTransactionBytes {
		return len(all)
	}
	return max(checked, 1)
}

// purging is the Meaning of a transaction that removes n items and their sentinels.
type purging struct {
	*Purge
	sentinels []item.Item // of the actions on sentinels, the key; nil of the others, which a changed item fails
	n         int
}

// plan removes items as they were read. last says that the current item is among them; otherwise it is checked to be
// as it was read, because a new life may have the values of the copies.
func (p *Purge) plan(in *plan.Input, items []owned, current item.Item, last bool) (*plan.Plan, error) {
	x := &purging{Purge: p}
	out := &plan.Plan{Whole: true, Meaning: x}
	add := func(a plan.Action, sentinel item.Item) {
		a.Table = p.Table
		out.Actions, x.sentinels = append(out.Actions, a), append(x.sentinels, sentinel)
	}
	guard, pin := p.Schema.Absent, (*expr.Cond)(nil)
	if current != nil {
		var err error
		if guard, pin, err = plan.Unchanged(p.Schema, current); err != nil {
			return nil, err
		}
	}
	if !last {
		add(plan.Action{Kind: plan.Check, Key: p.Key, Cond: guard}, nil)
	}
	for i, o := range items {
		switch {
		case o.item == nil:
			add(plan.Action{Kind: plan.Check, Key: p.Key, Cond: guard}, nil)
		case last && i == len(items)-1:
			add(plan.Action{Kind: plan.Delete, Key: p.Key, Cond: guard, Pin: pin}, nil)
			x.n++
		default:
			add(plan.Action{Kind: plan.Delete, Key: layout.KeyOf(p.Schema, o.item), Cond: p.asRead(o.item)}, nil)
			x.n++
		}
		for _, k := range o.sentinels {
			if !in.Learned.Foreign(k) {
				add(plan.Action{Kind: plan.Delete, Key: k, Cond: layout.FreeOrOwnedBy(p.Schema, p.Key)}, k)
			}
		}
	}
	return out, nil
}

func (x *purging) Applied(*plan.Plan, plan.Returned, *plan.Input) (plan.Result, error) {
	x.removed(x.n)
	return plan.Result{}, nil
}

// Refused skips the write if an item has changed. A sentinel that belongs to another item is left to it by the next plan.
func (x *purging) Refused(sent *plan.Plan, f []plan.Failure, in *plan.Input) plan.Resolution {
	for i := range f {
		if f[i].Failed() && f[i].Image == nil && sent.Actions[i].Kind == plan.Delete {
			x.removed(0) // by this purge, whose request was delivered twice, or by another
		}
	}
	v := plan.Resolution{}
	for i, k := range x.sentinels {
		switch {
		case !f[i].Failed():
		case k == nil:
			return plan.Skipped()
		default:
			in.Learned.Sentinel(k, true)
			v.Replan = sentinel.ErrConflict
		}
	}
	return v
}

// atOnce is how many transactions remove related items concurrently.
const atOnce = 8

// removeRelated removes snapshots and events, each only as it was read. Those that have changed stay, and those that are gone are as they
// should be: the others are removed without them.
func (p *Purge) removeRelated(ctx context.Context, list []item.Item) error {
	var ops []*plan.Op
	for len(list) > 0 {
		n := fitting(list)
		part := list[:n]
		op := p.op(layout.KeyOf(p.Schema, part[0]))
		op.Plan = func(context.Context, layout.Reader, *plan.Input) (*plan.Plan, error) { return p.removing(part), nil }
		ops, list = append(ops, op), list[n:]
	}
	return ParallelUntilError(ctx, len(ops), atOnce, func(_ context.Context, i int) error { // what has begun is not cut off
		_, err := p.Runner.Run(ctx, ops[i])
		if ambiguous := new(plan.Ambiguous); errors.As(err, &ambiguous) {
			p.removed(0) // only the first error reaches the caller
		}
		return err
	})
}

// fitting returns how many of the items one transaction can remove: at least one.
func fitting(list []item.Item) int {
	bytes := 0
	for i, it := range list {
		if bytes += item.Size(it); i > 0 && (i == plan.MaxActions || bytes > plan.MaxTransactionBytes) {
			return i
		}
	}
	return len(list)
}

// op returns an operation of the purge without its plan.
func (p *Purge) op(key item.Item) *plan.Op {
	return &plan.Op{
		Verb: "Purge", Schema: p.Schema, Table: p.Table, Key: key, Asked: plan.Asked{SoleWriter: true}, Needs: plan.Needs{AsStored: true},
		Traits: plan.Traits{Unsure: func() { p.removed(0) }},
	}
}

// removing is the Meaning of a transaction that removes related items.
type removing struct {
	*Purge
	list []item.Item
}

func (p *Purge) removing(list []item.Item) *plan.Plan {
	out := &plan.Plan{Actions: make([]plan.Action, len(list)), Whole: true, Meaning: &removing{p, list}}
	for i, it := range list {
		out.Actions[i] = plan.Action{Kind: plan.Delete, Table: p.Table, Key: layout.KeyOf(p.Schema, it), Cond: p.asRead(it)}
	}
	return out
}

// Refused removes the others without those that have changed or are gone.
func (x *removing) Refused(_ *plan.Plan, f []plan.Failure, _ *plan.Input) plan.Resolution {
	var left []item.Item
	for i, it := range x.list {
		switch {
		case !f[i].Failed():
			left = append(left, it)
		case f[i].Image == nil:
			x.removed(0) // by this purge, whose request was delivered twice, or by another
		}
	}
	if left == nil {
		return plan.Resolution{Result: &plan.Result{}}
	}
	return plan.Resolution{Next: x.removing(left)}
}

func (x *removing) Applied(*plan.Plan, plan.Returned, *plan.Input) (plan.Result, error) {
	x.removed(len(x.list))
	return plan.Result{}, nil
}

// asRead holds while an item is as it was read: by its write id, otherwise by what distinguishes states.
func (p *Purge) asRead(it item.Item) expr.Cond {
	if w, ok := it[schema.WriteAttr]; ok {
		return expr.All(p.Schema.Exists, expr.Compare(expr.Eq, expr.Attr(schema.WriteAttr), w))
	}
	conds := []expr.Cond{p.Schema.Exists}
	deletedAt, _ := layout.DeletedAttr(p.Schema)
	names := []string{deletedAt}
	for _, a := range p.Schema.Attrs {
		if a == p.Schema.Version || a.Clock {
			names = append(names, a.Name)
		}
	}
	for _, name := range names {
		if av, ok := it[name]; ok {
			conds = append(conds, expr.Compare(expr.Eq, expr.Attr(name), av))
		}
	}
	return expr.All(conds...)
}

// removed counts n removals and reports them; 0 is a removal that this purge may have made.
func (p *Purge) removed(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.any = true
	if p.deleted += n; n > 0 && p.Progress != nil {
		p.Progress(p.deleted)
	}
}
