package timeline

import (
	"context"
	"errors"

	"github.com/aws/smithy-go"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/plan"
)

const (
	rowsAtOnce = 64 // rows that are held until they are written
	writers    = 8  // that are written at the same time
	resends    = 3  // of a write whose outcome is unknown, each with its own attempts
)

// settled repeats a write under a fence, or a removal, whose outcome is unknown: a second time it does no more than the
// first. No run writes an item twice under one fence.
func settled(ctx context.Context, write func() error) error {
	err := write()
	for range resends {
		if !entity.IsAmbiguous(err) || ctx.Err() != nil {
			break
		}
		err = write()
	}
	return err
}

// putRows writes rows under the builder's fence.
func (b *builder[K, S]) putRows(ctx context.Context, rows []*folded[K, S]) error {
	f := entity.Fields[stored[K, S]]()
	fence := b.fence
	errs := make([]error, len(rows))
	exec.Parallel(len(rows), writers, func(i int) {
		g := rows[i]
		row := stored[K, S]{
			Generation: b.id, Group: g.group, Key: g.key, State: g.state, Events: g.events,
			First: g.first, Last: g.last, Touched: g.touched, Position: g.position, Fence: fence,
			Newest: g.newest, Tally: g.tally.since(g.newest),
		}
		if err := b.states.survives(g.state); err != nil {
			errs[i] = g.failed(err)
			return
		}
		_, err := b.rows.Put(ctx, row, entity.If(entity.Or(entity.NotExists(&f.Fence), entity.Le(&f.Fence, fence))), fenced())
		switch {
		case errors.Is(err, entity.ErrCondition):
			err = ErrLeaseLost
		case refused(err):
			err = g.failed(err)
		}
		errs[i] = err
	})
	return first(errs)
}

// failed names the group that cannot be stored, and its last event.
func (g *folded[K, S]) failed(err error) error {
	e := *g.cause
	e.Err = err
	return &e
}

// refused reports that it is the content of an item that keeps it from being stored, whenever that is tried.
func refused(err error) bool {
	var input *plan.InputError
	var api smithy.APIError
	return errors.As(err, &input) || errors.Is(err, entity.ErrTooLarge) || errors.As(err, &api) && api.ErrorCode() == "ValidationException"
}

// unfold is a row as a replay goes on from it.
func (v *View[K, S]) unfold(r stored[K, S]) *folded[K, S] {
	return &folded[K, S]{
		group: r.Group, key: r.Key, state: r.State, events: r.Events, first: r.First, last: r.Last, touched: r.Touched,
		position: r.Position, newest: r.Newest, tally: r.Tally,
	}
}

// row is a stored row as callers see it.
func (v *View[K, S]) row(r stored[K, S]) Row[K, S] {
	row := Row[K, S]{Key: r.Key, State: r.State, Events: r.Events, First: r.First, Last: r.Last}
	if v.Retention > 0 {
		row.ExpiresAt = r.Touched.Add(v.Retention)
	}
	return row
}

// replayed is a group as callers see it: as its row would be.
func (v *View[K, S]) replayed(g *folded[K, S]) (Row[K, S], error) {
	row := Row[K, S]{Events: g.events, First: g.first, Last: g.last}
	if v.Retention > 0 {
		row.ExpiresAt = g.touched.Add(v.Retention)
	}
	var err error
	if row.Key, err = v.keys.settle(g.key); err == nil {
		if err = v.states.survives(g.state); err == nil {
			row.State, err = v.states.settle(g.state)
		}
	}
	if err != nil {
		err = g.failed(err)
	}
	return row, err
}
