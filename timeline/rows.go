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
func (b *builder) putRows(ctx context.Context, rows []*folded) error {
	errs := make([]error, len(rows))
	exec.Parallel(len(rows), writers, func(i int) {
		g := rows[i]
		if err := b.states.survives(reflect.ValueOf(g.state).Elem()); err != nil {
			errs[i] = g.failed(err)
			return
		}
		err := b.rows.put(ctx, b.id, b.fence, g)
		switch {
		case errors.Is(err, entity.ErrConditionFailed):
			err = ErrLeaseLost
		case refused(err):
			err = g.failed(err)
		}
		errs[i] = err
	})
	return first(errs)
}

// failed names the group that cannot be stored, and its last event.
func (g *folded) failed(err error) error {
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

// row is a stored row as callers see it.
func (v *view) row(g *folded) anyRow {
	row := anyRow{Key: g.key, State: g.state, Events: g.events, First: g.first, Last: g.last}
	if v.Retention > 0 {
		row.ExpiresAt = g.touched.Add(v.Retention)
	}
	return row
}

// replayed is a group as callers see it: as its row would be.
func (v *view) replayed(g *folded) (anyRow, error) {
	row := v.row(g)
	k, err := v.keys.settle(reflect.ValueOf(g.key))
	if err == nil {
		state := reflect.ValueOf(g.state).Elem()
		if err = v.states.survives(state); err == nil {
			state, err = v.states.settle(state)
		}
		if err == nil {
			row.Key, row.State = k.Interface(), state.Addr().Interface()
		}
	}
	if err != nil {
		return anyRow{}, g.failed(err)
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
type rows interface {
	// put stores a row unless a builder with a higher fence has.
	put(ctx context.Context, generation string, fence int64, g *folded) error
	get(ctx context.Context, generation, group string, opts ...entity.GetOption) (*folded, error)
	// all yields the rows of a generation in the order of their groups.
	all(ctx context.Context, generation string, opts ...entity.QueryOption) iter.Seq2[*folded, error]
	// list is all with a part of each row only.
	list(generation string, opts ...entity.QueryOption) entity.Query[listed]
	// after and from narrow all to the groups that follow one, or that begin with it.
	after(group string) entity.QueryOption
	from(group string) entity.QueryOption
	remove(ctx context.Context, generation string, groups []string) error
}

// rowStore is where rows are stored with their types.
type rowStore[K comparable, S any] struct {
	store *entity.Store[stored[K, S]]
}

func (s rowStore[K, S]) put(ctx context.Context, generation string, fence int64, g *folded) error {
	f := entity.Fields[stored[K, S]]()
	_, err := s.store.Put(ctx, stored[K, S]{
		Generation: generation, Group: g.group, Key: g.key.(K), State: *g.state.(*S), Events: g.events,
		First: g.first, Last: g.last, Touched: g.touched, Position: g.position, Fence: fence,
		Newest: g.newest, Tally: g.tally.since(g.newest),
	}, entity.If(entity.Or(entity.NotExists(&f.Fence), entity.Le(&f.Fence, fence))), fenced())
	return err
}

func (s rowStore[K, S]) get(ctx context.Context, generation, group string, opts ...entity.GetOption) (*folded, error) {
	r, err := s.store.Get(ctx, stored[K, S]{Generation: generation, Group: group}, opts...)
	return r.folded(), err
}

func (s rowStore[K, S]) query(generation string, opts ...entity.QueryOption) entity.Query[stored[K, S]] {
	return s.store.Query(stored[K, S]{Generation: generation}, opts...)
}

func (s rowStore[K, S]) all(ctx context.Context, generation string, opts ...entity.QueryOption) iter.Seq2[*folded, error] {
	return func(yield func(*folded, error) bool) {
		for r, err := range s.query(generation, opts...).All(ctx) {
			if !yield(r.folded(), err) {
				return
			}
		}
	}
}

func (s rowStore[K, S]) list(generation string, opts ...entity.QueryOption) entity.Query[listed] {
	return entity.Project[listed](s.query(generation, opts...))
}

func (s rowStore[K, S]) after(group string) entity.QueryOption {
	return entity.Gt(&entity.Fields[stored[K, S]]().Group, group)
}

func (s rowStore[K, S]) from(group string) entity.QueryOption {
	return entity.Ge(&entity.Fields[stored[K, S]]().Group, group)
}

func (s rowStore[K, S]) remove(ctx context.Context, generation string, groups []string) error {
	batch := make([]stored[K, S], len(groups))
	for i, group := range groups {
		batch[i] = stored[K, S]{Generation: generation, Group: group}
	}
	_, err := s.store.DeleteMany(ctx, batch)
	return err
}

// folded is a row as a replay goes on from it.
func (r stored[K, S]) folded() *folded {
	return &folded{
		group: r.Group, key: r.Key, state: &r.State, events: r.Events, first: r.First, last: r.Last, touched: r.Touched,
		position: r.Position, newest: r.Newest, tally: r.Tally,
	}
}
