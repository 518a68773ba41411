package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// lookBack reads the newest snapshot and deleted copy, and retries until two reads agree, because they are not atomic. A history without a
// copy can belong to an item that exists and is deleted soon: its copy would have the newest state, and no snapshot would refuse a plan
// made from that history. Or the copy was made after the copies were read. Such a history is used only if a second read gives the same and
// the item is absent in between. If the item exists, it is the plan's image.
func (r *Runner) lookBack(ctx context.Context, op *plan.Op, in *plan.Input) error {
	before := int64(-1) // version of an odd history
	for n := 0; n < max(r.MaxAttempts, 2); n++ {
		past, err := plan.ReadPast(ctx, r, op, in.Now)
		if err != nil {
			return err
		}
		if in.Past = past; layout.Live(op.Schema, past.Current, in.Now) {
			in.Image = past.Current
			return nil
		}
		if !past.CopyMissing || past.Version == before {
			return nil
		}
		before = past.Version
		if !past.LiveSnapshot {
			continue
		}
		if in.Image, err = r.Get(ctx, op.Table, op.Key, true); err != nil || layout.Live(op.Schema, in.Image, in.Now) {
			return err
		}
	}
	return errComesAndGoes
}

// errComesAndGoes is the error of an operation whose item was found neither existing nor deleted, again and again.
var errComesAndGoes = fmt.Errorf("%w: the item comes and goes", sentinel.ErrConflict)

// plan reads what op needs and plans it. The first plan of most writes needs nothing.
func (r *Runner) plan(ctx context.Context, op *plan.Op, in *plan.Input, first bool) (*plan.Plan, error) {
	if first && !op.Reads() {
		return plan.Make(ctx, r, op, in)
	}
	return r.planRead(ctx, op, in, first)
}

// planRead plans op from what is stored. Only the first plan uses a cached image. If such a plan fails or writes nothing, it is
// confirmed by a read.
func (r *Runner) planRead(ctx context.Context, op *plan.Op, in *plan.Input, first bool) (p *plan.Plan, err error) {
	if r.Client == nil && op.Reads() {
		return nil, ErrNoClient
	}
	in.Read = op.Read || in.Joined && op.Old != nil || in.Learned.ReadFirst
	if in.Learned.Outdated && !in.Read {
		if err := r.upgrade(ctx, op); err != nil {
			return nil, err
		}
	}
	cached := op.Read && first && op.Given != nil
	switch {
	case cached:
		if in.Image = op.Given; op.SoftDeletes {
			var newest layout.Stored
			newest, _, err = plan.ReadNewest(ctx, r, op, schema.CopyInfix, in.Now, false)
			in.NewestCopy = newest.Item
		}
	case op.SoftDeletes:
		var newest layout.Stored
		in.Image, newest, _, err = plan.ReadItemAndNewest(ctx, r, op, in.Now, false)
		in.NewestCopy = newest.Item
	case in.Read:
		in.Image, err = r.Get(ctx, op.Table, op.Key, true)
	}
	if err == nil && in.Learned.Taken != nil {
		in.Past, err = plan.ReadPast(ctx, r, op, in.Now)
	}
	if err == nil && op.Past && !layout.Live(op.Schema, in.Image, in.Now) {
		err = r.lookBack(ctx, op, in)
		if err == nil && (in.Past.Copy != nil || in.Past.CaseErr != nil) && !op.Read && in.Image == nil { // a refusal: the item itself shows whether it is deleted or exists
			in.Image, err = r.Get(ctx, op.Table, op.Key, true)
		}
	}
	if err == nil && in.Image != nil {
		in.Image, err = r.upgraded(ctx, op, in.Image)
	}
	if err == nil {
		p, err = plan.Make(ctx, r, op, in)
	}
	if cached && (err != nil || len(p.Actions) == 0) {
		*in = plan.Input{Now: in.Now, WriteID: in.WriteID, Joined: in.Joined, Context: in.Context, Learned: in.Learned}
		return r.planRead(ctx, op, in, false)
	}
	return p, err
}

// upgrade stores the item of op in today's payload version.
func (r *Runner) upgrade(ctx context.Context, op *plan.Op) error {
	image, err := r.Get(ctx, op.Table, op.Key, true)
	if err == nil {
		_, err = r.upgraded(ctx, op, image)
	}
	return err
}

// upgraded returns the item of op, as it was read, in today's payload version, in which it stores a live item first. So a
// plan is always made from what is stored, and guards it by that.
func (r *Runner) upgraded(ctx context.Context, op *plan.Op, image item.Item) (item.Item, error) {
	for range max(r.MaxAttempts, 2) {
		if op.AsStored || op.Schema == nil || image == nil || op.Discards && layout.Outdated(op.Schema, image) {
			return image, nil
		}
		if !layout.Outdated(op.Schema, image) || !layout.Live(op.Schema, image, r.Clock()) {
			stored, err := layout.Open(op.Schema, image)
			return stored.Item, err
		}
		_, err := r.Run(ctx, plan.NewUpgrade(op.Schema, op.Table, image))
		if err != nil {
			return nil, err
		}
		if image, err = r.Get(ctx, op.Table, op.Key, true); err != nil {
			return nil, err
		}
	}
	return nil, sentinel.ErrConflict
}

// explain adds to the errors of items that were not found whether they have been deleted. again is set if one of them exists by now, as
// after a restore, and its op has changed nothing: the error would be about a moment that has passed, and the ops can be planned again.
// If the ops were not planned, what was read after their last refusal is forgotten.
func (t *transaction) explain(ctx context.Context, failed []OpFailure, planned bool) (again bool) {
	for i := range t.ops {
		if !planned {
			t.ops[i].there = nil
		}
	}
	for i, f := range failed {
		var present *plan.ItemPresent
		var missing *plan.Missing
		var unsure *plan.Ambiguous
		op := t.ops[f.Index].Op
		if !op.AlsoDeleted || !errors.Is(f.Err, sentinel.ErrNotFound) || errors.As(f.Err, &present) {
			continue
		}
		switch deleted, exists, err := plan.Fate(ctx, t.r, op, t.r.Clock().UTC()); {
		case err != nil:
			failed[i].Err = fmt.Errorf("%w; whether it was deleted could not be read: %w", f.Err, err)
		case deleted:
			failed[i].Err = fmt.Errorf("%w: %w", sentinel.ErrDeleted, f.Err)
		case exists && errors.As(f.Err, &missing) && missing.Op == op && !errors.As(f.Err, &unsure):
			failed[i].Err, again = errComesAndGoes, true
		}
	}
	return again
}
