package stream

import (
	"context"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// Route is what [Handle] does with records: made by [On], [OnUndecodable] and [OnUnrouted].
type Route struct {
	// try offers a record: known when it is the store's, took when the function was called.
	try         func(context.Context, Record) (known, took bool, err error)
	undecodable func(context.Context, Record, error) error
	unrouted    func(context.Context, Record) error
	mistake     error
}

// undecided is the error of a record of which a route could not tell what it means.
type undecided struct{ err error }

func (e undecided) Error() string { return e.err.Error() }
func (e undecided) Unwrap() error { return e.err }

// On routes the changes of a store to f: those of the given kinds, or all. Several routes can be of one store; they are
// called in the order in which they were given to [Handle], and when one fails, all are called again with the same record.
//
// DynamoDB can deliver a record more than once: f must not mind. Change.Record.EventID is the same each time.
func On[T any](store Source[T], f func(context.Context, Change[T]) error, kinds ...Kind) Route {
	c := core.Of(store)
	r := Route{mistake: check(c, f != nil, kinds)}
	wanted := map[Kind]bool{}
	for _, k := range kinds {
		wanted[k] = true
	}
	r.try = func(ctx context.Context, record Record) (known, took bool, err error) {
		x, known, err := tell(c, record)
		if err != nil || !known {
			return known, false, undecide(err)
		}
		if len(wanted) > 0 && !wanted[x.kind] {
			return true, false, nil
		}
		change, err := decode[T](c, record, x)
		if err != nil {
			return true, false, undecide(wrap(c, record, err))
		}
		return true, true, f(ctx, change)
	}
	return r
}

func undecide(err error) error {
	if err == nil {
		return nil
	}
	return undecided{err}
}

func check(c *core.Core, function bool, kinds []Kind) error {
	if !function {
		return routeError(c.Schema.Type.String(), "the route has no function")
	}
	for _, k := range kinds {
		if !all[k] {
			return routeError(c.Schema.Type.String(), "the route is for a kind of change that there is not")
		}
	}
	return nil
}

func routeError(typ, problem string) error {
	return &entity.InputError{Code: plan.CodeRoute, Type: typ, Problem: problem}
}

// OnUndecodable routes the records that would otherwise fail, and hold up their shard, because nobody can tell what they
// mean: the error says why, as that of [Of] does. When f returns nil the record counts as done, and [Handle] goes on: f has
// to put it where it is not lost. Where several stores cannot tell, f is called for each; for a record that cannot be used
// at all, once.
func OnUndecodable(f func(context.Context, Record, error) error) Route {
	r := Route{undecodable: f}
	if f == nil {
		r.mistake = routeError("stream.Route", "the route has no function")
	}
	return r
}

// OnUnrouted routes the records that belong to none of the stores: other entities of the table, and the sentinels of
// unique values. Without it they are passed over.
func OnUnrouted(f func(context.Context, Record) error) Route {
	r := Route{unrouted: f}
	if f == nil {
		r.mistake = routeError("stream.Route", "the route has no function")
	}
	return r
}
