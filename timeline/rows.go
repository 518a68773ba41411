package timeline

import (
	"context"
	"errors"
	"iter"
	"reflect"

	"github.com/aws/smithy-go"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/plan"
)

const (
	rowBatch   = 64 // rows that are held until they are written
	rowWriters = 8  // that are written at the same time
	maxResends = 3  // of a write whose outcome is unknown, each with its own attempts
)

// settled repeats a write under a fence, or a removal, whose outcome is unknown: a second time it does no more than the
// first. No run writes an item twice under one fence.
func retryUnknown(ctx context.Context, write func() error) error {
	err := write()
	for range maxResends {
		if !entity.IsAmbiguous(err) || ctx.Err() != nil {
			break
		}
		err = write()
	}
	return err
}

// putRows writes rows under the builder's fence.
func (b *builder) putRows(ctx context.Context, rows []*groupState) error {
	errs := make([]error, len(rows))
	exec.Parallel(len(rows), rowWriters, func(i int) {
		g := rows[i]
		if err := b.states.checkRoundTrip(reflect.ValueOf(g.state).Elem()); err != nil {
			errs[i] = g.storeError(err)
			return
		}
		err := b.rows.put(ctx, b.id, b.fence, g)
		switch {
		case errors.Is(err, entity.ErrConditionFailed):
			err = ErrLeaseLost
		case isRejected(err):
			err = g.storeError(err)
		}
		errs[i] = err
	})
	return decisiveError(errs)
}

// rowWriter writes rows in batches.
type rowWriter struct {
	b       *builder
	ctx     context.Context
	rows    []*groupState // not written yet
	written int
	after   func() error // called after each batch; nil: nothing
}

// newRowWriter returns a rowWriter that renews the lease after each batch.
func (b *builder) newRowWriter(ctx context.Context) *rowWriter {
	return &rowWriter{b: b, ctx: ctx, after: func() error { return b.renewIfDue(ctx) }}
}

func (w *rowWriter) add(g *groupState) error {
	if w.rows = append(w.rows, g); len(w.rows) < rowBatch {
		return nil
	}
	return w.flush()
}

func (w *rowWriter) flush() error {
	err := w.b.putRows(w.ctx, w.rows)
	w.written += len(w.rows)
	if w.rows = w.rows[:0]; err == nil && w.after != nil {
		err = w.after()
	}
	return err
}

// failed names the group that cannot be stored, and its last event.
func (g *groupState) storeError(err error) error {
	e := *g.cause
	e.Err = err
	return &e
}

// refused reports that it is the content of an item that keeps it from being stored, whenever that is tried.
func isRejected(err error) bool {
	var input *plan.InputError
	var api smithy.APIError
	return errors.As(err, &input) || errors.Is(err, entity.ErrTooLarge) || errors.As(err, &api) && api.ErrorCode() == "ValidationException"
}

// row is a stored row as callers see it.
func (v *view) toRow(g *groupState) anyRow {
	row := anyRow{Key: g.key, State: g.state, Events: g.events, First: g.first, Last: g.last}
	if v.Retention > 0 {
		row.ExpiresAt = g.touched.Add(v.Retention)
	}
	return row
}

// replayed is a group as callers see it: as its row would be.
func (v *view) replayedRow(g *groupState) (anyRow, error) {
	row := v.toRow(g)
	k, err := v.keys.roundTrip(reflect.ValueOf(g.key))
	if err == nil {
		state := reflect.ValueOf(g.state).Elem()
		if err = v.states.checkRoundTrip(state); err == nil {
			state, err = v.states.roundTrip(state)
		}
		if err == nil {
			row.Key, row.State = k.Interface(), state.Addr().Interface()
		}
	}
	if err != nil {
		return anyRow{}, g.storeError(err)
	}
	return row, nil
}

// anyRow is a row whose types are erased: the state is a pointer.
type anyRow = Row[any, any]

// typed gives a row its types back.
func typedRow[K comparable, S any](r anyRow) Row[K, S] {
	row := Row[K, S]{Events: r.Events, First: r.First, Last: r.Last, ExpiresAt: r.ExpiresAt}
	if r.State != nil { // there is a row
		row.Key, row.State = r.Key.(K), *r.State.(*S)
	}
	return row
}

// typedPage gives the rows of a page their types back.
func typedPage[K comparable, S any](p Page[anyRow]) Page[Row[K, S]] {
	typed := Page[Row[K, S]]{Meta: p.Meta, Page: p.Page, Size: p.Size, Total: p.Total, Pages: p.Pages, Next: p.Next}
	for _, r := range p.Rows {
		typed.Rows = append(typed.Rows, typedRow[K, S](r))
	}
	return typed
}

// rows are the stored rows of a view, by generation and group.
type rowStore interface {
	// put stores a row unless a builder with a higher fence has.
	put(ctx context.Context, generation string, fence int64, g *groupState) error
	get(ctx context.Context, generation, group string, opts ...entity.ReadOption) (*groupState, error)
	// all yields the rows of a generation in the order of their groups.
	all(ctx context.Context, generation string, opts ...entity.QueryOption) iter.Seq2[*groupState, error]
	// list is all with a part of each row only.
	list(generation string, opts ...entity.QueryOption) entity.Query[rowSummary]
	// after and from narrow all to the groups that follow one, or that begin with it.
	after(group string) entity.QueryOption
	from(group string) entity.QueryOption
	remove(ctx context.Context, generation string, groups []string) error
}

// rowStore is where rows are stored with their types.
type typedRowStore[K comparable, S any] struct {
	store *entity.Store[storedRow[K, S]]
}

func (s typedRowStore[K, S]) put(ctx context.Context, generation string, fence int64, g *groupState) error {
	f := entity.Fields[storedRow[K, S]]()
	_, err := s.store.Put(ctx, storedRow[K, S]{
		Generation: generation, Group: g.group, Key: g.key.(K), State: *g.state.(*S), Events: g.events,
		First: g.first, Last: g.last, Touched: g.touched, Position: g.position, Fence: fence,
		Newest: g.newest, Tally: g.tally.since(g.newest),
	}, entity.If(entity.Or(entity.NotExists(&f.Fence), entity.Le(&f.Fence, fence))), fenced())
	return err
}

func (s typedRowStore[K, S]) get(ctx context.Context, generation, group string, opts ...entity.ReadOption) (*groupState, error) {
	r, err := s.store.Get(ctx, storedRow[K, S]{Generation: generation, Group: group}, opts...)
	return r.groupState(), err
}

func (s typedRowStore[K, S]) query(generation string, opts ...entity.QueryOption) entity.Query[storedRow[K, S]] {
	return s.store.Query(storedRow[K, S]{Generation: generation}, opts...)
}

func (s typedRowStore[K, S]) all(ctx context.Context, generation string, opts ...entity.QueryOption) iter.Seq2[*groupState, error] {
	return func(yield func(*groupState, error) bool) {
		for r, err := range s.query(generation, opts...).All(ctx) {
			if !yield(r.groupState(), err) {
				return
			}
		}
	}
}

func (s typedRowStore[K, S]) list(generation string, opts ...entity.QueryOption) entity.Query[rowSummary] {
	return entity.Project[rowSummary](s.query(generation, opts...))
}

func (s typedRowStore[K, S]) after(group string) entity.QueryOption {
	return entity.Gt(&entity.Fields[storedRow[K, S]]().Group, group)
}

func (s typedRowStore[K, S]) from(group string) entity.QueryOption {
	return entity.Ge(&entity.Fields[storedRow[K, S]]().Group, group)
}

func (s typedRowStore[K, S]) remove(ctx context.Context, generation string, groups []string) error {
	batch := make([]storedRow[K, S], len(groups))
	for i, group := range groups {
		batch[i] = storedRow[K, S]{Generation: generation, Group: group}
	}
	_, err := s.store.DeleteMany(ctx, batch)
	return err
}

// folded is a row as a replay goes on from it.
func (r storedRow[K, S]) groupState() *groupState {
	return &groupState{
		group: r.Group, key: r.Key, state: &r.State, events: r.Events, first: r.First, last: r.Last, touched: r.Touched,
		position: r.Position, newest: r.Newest, tally: r.Tally,
	}
}
