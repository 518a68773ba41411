package console

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/dynastrata/dynastrata/cmd/dynastrata/internal/studio"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// editing is a write of the studio. It is guarded by what was seen: the current item, or the copy that is restored.
type editing struct {
	d       *studioData
	w       studio.Write
	e       *entityModel
	x       store
	primary item.Item
	key     reflect.Value // of the program's type
	seen    *stored       // as it is now; nil if it is absent
	past    stored        // the version of a revert
}

// editing reads what a write is about.
func (d *studioData) editing(ctx context.Context, w studio.Write) (*editing, error) {
	e, primary, err := d.named(w.Entity, w.Key)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(d.s.stores, func(x store) bool { return x.name() == e.s.Name })
	if i < 0 {
		return nil, badKey("%s is not among the Handles of the program", e.s.Name)
	}
	c := &editing{d: d, w: w, e: e, x: d.s.stores[i], primary: primary}
	whole, err := e.withParts(primary, given(w.Key))
	if err != nil {
		return nil, mistaken(err)
	}
	if c.key, err = c.x.keyOf(whole); err != nil {
		return nil, mistaken(err)
	}
	return c, c.read(ctx)
}

// withParts returns a primary key with its parts as attributes, from which the program's type is decoded.
func (e *entityModel) withParts(primary item.Item, g given) (item.Item, error) {
	whole := item.Clone(primary)
	for _, k := range []*schema.KeyDef{e.s.PK, e.s.SK} {
		if !k.Written() {
			continue
		}
		for _, f := range k.Template.Fields() {
			v, err := value(f, g[f.Attr])
			if err != nil {
				return nil, err
			}
			if whole[f.Attr], err = f.Attribute(v); err != nil {
				return nil, err
			}
		}
	}
	return whole, nil
}

// read reads the item as it is now, or the newest copy, and the version of a revert.
func (c *editing) read(ctx context.Context) error {
	now := c.d.s.app.Clock()
	l := &life{d: c.d, e: c.e, primary: c.primary, now: now, q: studio.LifeQuestion{Limit: 1}}
	it, err := c.d.s.get(ctx, c.e.table, c.primary, &l.f.cost)
	if err != nil {
		return err
	}
	if it != nil && layout.Live(c.e.s, it, now) {
		l.add(it)
	}
	switch c.w.Verb {
	case studio.VerbRestore:
		if it != nil && layout.Live(c.e.s, it, now) {
			return badKey("the item is not deleted")
		}
		if !c.x.restores() {
			return badKey("%s has no soft delete", c.e.s.Name)
		}
		if _, err := l.related(ctx, c.primary, layout.QueryRelated(c.e.s, c.e.table, c.primary, schema.CopyInfix), ""); err != nil {
			return err
		}
	case studio.VerbRevert:
		if !c.e.has("versioned.Retain") {
			return badKey("%s keeps no versions", c.e.s.Name)
		}
		key := layout.RelatedKey(c.e.s, c.primary, schema.SnapshotInfix+versionText(c.w.Version))
		it, err := c.d.s.get(ctx, c.e.table, key, &l.f.cost)
		if err != nil {
			return err
		}
		if it == nil {
			return badKey("there is no version %d", c.w.Version)
		}
		c.past = c.d.s.m.decode(c.e.table, it, now)
	}
	for _, x := range l.f.items {
		if !x.Expired && (x.Kind == KindCurrent || x.Kind == KindDeleted && c.w.Verb == studio.VerbRestore) {
			c.seen = &x
		}
	}
	return nil
}

// versionText is the text of a version in a sort key.
func versionText(n int64) string {
	if n > 9_999_999 {
		return fmt.Sprintf("~%012d", n)
	}
	return fmt.Sprintf("%07d", n)
}

// changed returns the conflict if the item is not as it was seen.
func (c *editing) changed() error {
	is := ""
	if c.seen != nil {
		is = fingerprint(c.seen.raw)
	}
	if c.w.Seen == is {
		return nil
	}
	return c.conflict()
}

// conflict returns the error that has what is there now.
func (c *editing) conflict() error {
	out := &studio.Conflict{Asks: c.asks()}
	if out.Now.Label = labelOf(&life{d: c.d, e: c.e, primary: c.primary}, studio.Life{}); c.seen != nil {
		out.Now, out.Inputs = c.d.state(*c.seen), c.inputs()
	}
	return out
}

// op returns the write, guarded by what was read.
func (c *editing) op() (*plan.Op, error) {
	var op *plan.Op
	switch c.w.Verb {
	case studio.VerbEdit:
		changes, err := c.changes()
		if err != nil {
			return nil, err
		}
		op = plan.NewUpdate(c.x.Schema, c.x.Table, c.key, &bind.Options{Changes: changes, Terms: bind.Terms{AnyVersion: c.x.Schema.Locked}})
	case studio.VerbRevert:
		f, _ := schema.Feature[reverting](c.x.Schema)
		op = f.RevertOp(c.x.Core, c.key, c.w.Version, &bind.Options{Terms: bind.Terms{AnyVersion: c.x.Schema.Locked}})
	case studio.VerbRestore:
		f, _ := schema.Feature[restoring](c.x.Schema)
		op = f.RestoreOp(c.x.Core, c.key, &bind.Options{})
	default:
		return nil, badKey("there is no such write")
	}
	if op.Err != nil {
		return nil, &studio.Mistaken{Err: op.Err}
	}
	guard, _, err := plan.Unchanged(c.x.Schema, c.seen.raw)
	if err != nil {
		return nil, mistaken(err)
	}
	op.If = expr.All(op.If, guard)
	return op, nil
}

// asks returns what the entity stores of the context of a write.
func (c *editing) asks() (all []string) {
	for _, a := range c.x.Schema.Contexts {
		if !c.d.s.m.hides(c.e, a.Name) {
			all = append(all, a.Role.Context)
		}
	}
	return all
}

// Preview implements studio.Data.
func (d *studioData) Preview(ctx context.Context, w studio.Write) (studio.Preview, error) {
	c, err := d.editing(ctx, w)
	if err != nil {
		return studio.Preview{}, err
	}
	if w.Seen != "" {
		if err := c.changed(); err != nil {
			return studio.Preview{}, err
		}
	}
	out := studio.Preview{Asks: c.asks(), Label: labelOf(&life{d: d, e: c.e, primary: c.primary}, studio.Life{})}
	for _, a := range c.x.Schema.Contexts {
		if a.Role.Has(schema.Required) {
			out.Required = append(out.Required, a.Role.Context)
		}
	}
	if len(out.Asks) > 0 && d.s.app.Context == nil {
		if len(out.Required) > 0 {
			return out, badKey("%s stores who writes: the program has to set App.Context", c.e.s.Name)
		}
		out.Asks = nil
	}
	if w.Verb == studio.VerbPurge {
		return c.purging(ctx, out)
	}
	if c.seen == nil {
		return out, studio.ErrNotFound
	}
	if err := bind.Omitted(c.e.s, c.seen.raw); err != nil {
		return out, mistaken(err)
	}
	out.Seen = fingerprint(c.seen.raw)
	if w.Verb == studio.VerbEdit && len(w.Changes) == 0 {
		out.Inputs = c.inputs()
		return out, nil
	}
	op, err := c.op()
	if err != nil {
		return out, err
	}
	out.Plan = printable(engine.Operation{Core: c.x.Core, Op: op}.String(), false)
	switch w.Verb {
	case studio.VerbRestore:
		out.Notes = append(out.Notes, "The copy that was deleted at "+c.seen.Of+" becomes the item again, with its unique values.")
	case studio.VerbRevert:
		out.Changed = c.reverted()
		out.Notes = append(out.Notes, fmt.Sprintf("The item gets the content of version %d, as a new version.", w.Version))
	default:
		out.Changed, err = c.differences(op.Changes)
	}
	return out, mistaken(err)
}

// differences returns what changes do to the item.
func (c *editing) differences(changes []expr.Change) (all []studio.Difference, err error) {
	after, err := expr.Apply(item.Clone(c.seen.raw), changes)
	if err != nil {
		return nil, err
	}
	y := c.d.s.m.decode(c.e.table, after, c.d.s.app.Clock())
	for _, diff := range differences(*c.seen, y) {
		if !c.d.s.m.hides(c.e, diff.name) {
			all = append(all, c.d.difference(*c.seen, y, diff))
		}
	}
	for _, in := range c.w.Changes { // also if the value is the same: a page must not say that
		if c.d.s.m.hides(c.e, in.Name) {
			secret := studio.Value{Hidden: true}
			all = append(all, studio.Difference{Name: item.Text(in.Name), Old: &secret, New: &secret})
		}
	}
	return all, nil
}

// reverted returns what a revert changes.
func (c *editing) reverted() (all []studio.Difference) {
	for _, diff := range differences(*c.seen, c.past) {
		if a := c.x.Schema.Attr(diff.name); a != nil && plan.Reverts(c.x.Schema, a) && !contextRole(c.e.s.Attr(diff.name)) {
			all = append(all, c.d.difference(*c.seen, c.past, diff))
		}
	}
	return all
}

// purging counts what a purge removes, as far as the budget goes.
func (c *editing) purging(ctx context.Context, out studio.Preview) (studio.Preview, error) {
	f, err := c.d.s.family(ctx, c.e, c.primary)
	why, err := partial(err)
	if err != nil {
		return out, err
	}
	if len(f.items) == 0 && why == "" {
		return out, studio.ErrNotFound
	}
	for _, x := range f.items {
		out.Removes = counted(out.Removes, "", x.Kind, x.Size)
	}
	if why != "" {
		out.Notes = append(out.Notes, "There is more: "+strings.ToLower(why[:1])+why[1:])
	}
	if out.Seen = "absent"; c.seen != nil {
		out.Seen = fingerprint(c.seen.raw)
	}
	out.Asks, out.Required = nil, nil // nothing stays that could say who did it
	out.Plan = fmt.Sprintf("Purge %s on %s\n  delete the item, its copies and claims together, and then what else belongs to it", c.e.s.Name, c.e.table)
	return out, nil
}

// Apply implements studio.Data.
func (d *studioData) Apply(ctx context.Context, w studio.Write) error {
	c, err := d.editing(ctx, w)
	if err != nil {
		return err
	}
	if d.s.app.Context != nil {
		ctx = d.s.app.Context(ctx, By{w.Actor, w.Reason})
	}
	if _, err := d.s.named(ctx, c.x); err != nil && w.Verb != studio.VerbPurge {
		return mistaken(err)
	}
	if w.Verb == studio.VerbPurge {
		if c.seen == nil && w.Seen != "absent" || c.seen != nil && w.Seen != fingerprint(c.seen.raw) {
			return c.conflict()
		}
		return c.failed(ctx, c.x.PurgeItem(ctx, c.key, &bind.Options{}))
	}
	if err := c.changed(); err != nil {
		return err
	}
	op, err := c.op()
	if err != nil {
		return err
	}
	_, err = engine.Operation{Core: c.x.Core, Op: op}.Run(ctx, reflect.New(c.x.Schema.Type).Interface())
	return c.failed(ctx, err)
}

// failed returns the error of a write. If the item changed after it was compared, that is a conflict, too.
func (c *editing) failed(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case entity.IsAmbiguous(err):
		return fmt.Errorf("it is not known whether this was written: open the item to see (%w)", err)
	case errors.Is(err, entity.ErrConditionFailed), errors.Is(err, entity.ErrConflict), errors.Is(err, entity.ErrNotFound), errors.Is(err, entity.ErrNotDeleted):
		c.seen = nil
		if again := c.read(ctx); again == nil {
			return c.conflict()
		}
	}
	var input *entity.InputError
	if errors.As(err, &input) || entity.ClassOf(err) == entity.ClassExists {
		return &studio.Mistaken{Err: err}
	}
	return err
}
