// Package purge removes everything that belongs to one item: the current item, its deleted copies, its snapshots and
// events, and the unique values that it still has.
package purge

import (
	"context"
	"slices"

	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Purge is the removal of one item.
type Purge struct {
	Runner   *exec.Runner
	Schema   *schema.Schema
	Table    string
	Key      item.Item         // primary key of the current item
	Parts    item.Item         // its parts as given
	Progress func(deleted int) // called after each removal, one call at a time; nil: nobody listens

	deleted counter
	ours    bool // something of the given spelling was found
}

// Run removes what there is, round by round, until a round finds no current item at its end. It can be stopped anywhere
// and run again. The error is ambiguous unless nothing at all was removed.
func (p *Purge) Run(ctx context.Context) error {
	p.deleted.notify = p.Progress
	err := p.rounds(ctx)
	if err != nil && p.deleted.any {
		err = &plan.Ambiguous{Err: err, Partly: true}
	}
	return err
}

func (p *Purge) rounds(ctx context.Context) error {
	for range p.Runner.MaxAttempts {
		again, err := p.round(ctx)
		if err != nil || !again {
			return err
		}
	}
	return plan.ErrConflict
}

// round removes what it reads, and reports whether something was written meanwhile.
func (p *Purge) round(ctx context.Context) (again bool, err error) {
	current, err := p.Runner.Get(ctx, p.Table, p.Key, true)
	if err != nil {
		return false, err
	}
	var copies []item.Item
	err = p.under(ctx, schema.CopyInfix, func(page []item.Item) error {
		copies = append(copies, page...)
		return nil
	})
	if err != nil {
		return false, err
	}
	if err := plan.SameCase(p.Schema, p.Parts, current); err != nil {
		return false, err
	}
	if err := p.spelled(append(slices.Clone(copies), current)); err != nil {
		return false, err
	}
	if again, err := p.heart(ctx, current, copies); err != nil || again {
		return again, err
	}
	for _, infix := range []string{schema.EventInfix, schema.SnapshotInfix} {
		err := p.under(ctx, infix, func(page []item.Item) error {
			if err := p.spelled(page); err != nil {
				return err
			}
			changed, err := p.satellites(ctx, page)
			again = again || changed
			return err
		})
		if err != nil {
			return false, err
		}
	}
	if current, err = p.Runner.Get(ctx, p.Table, p.Key, true); err != nil {
		return false, err
	}
	return again || current != nil, nil
}

// spelled refuses items whose key differs from the given one in case, unless something has the given spelling: then
// items have shared the key one after the other, and all that lies under it goes, or none of them could ever be purged.
func (p *Purge) spelled(items []item.Item) error {
	cased := p.Schema.Cased()
	given := func(it item.Item) bool {
		return !slices.ContainsFunc(cased, func(a *schema.Attr) bool { return !item.Equal(it[a.Name], p.Parts[a.Name]) })
	}
	if p.ours = p.ours || slices.ContainsFunc(items, given); p.ours {
		return nil
	}
	for _, it := range items {
		if err := plan.SameCase(p.Schema, p.Parts, it); err != nil {
			return err
		}
	}
	return nil
}
