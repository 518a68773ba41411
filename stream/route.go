package stream

import (
	"context"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// Route is what [Handle] does with records: made by [On], [OnUndecodable] and [OnUnrouted].
type Route struct {
	try         func(context.Context, Record) (outcome, error) // the error is that of the route's function
	undecodable func(context.Context, Record, error) error
	unrouted    func(context.Context, Record) error
	mistake     error
}

// outcome is what became of a record that was offered to a route.
type outcome struct {
	known     bool  // the record is the store's
	took      bool  // the function was called
	undecided error // why the meaning of the record is unknown
}

// On routes the changes of a store to f: those of the given kinds, or all. Several routes can be of one store; they are
// called in the order in which they were given to [Handle], and when one fails, all are called again with the same record.
//
// DynamoDB can deliver a record more than once: f must not mind. Change.Record.EventID is the same each time.
func On[T any](store Source[T], f func(context.Context, Change[T]) error, kinds ...Kind) Route {
	c := core.Of(store)
	wanted := map[Kind]bool{}
	for _, k := range kinds {
		wanted[k] = true
	}
	try := func(ctx context.Context, record Record) (outcome, error) {
		x, known, err := interpret(c, record)
		switch {
		case err != nil:
			return outcome{known: true, undecided: err}, nil
		case !known:
			return outcome{}, nil
		case len(wanted) > 0 && !wanted[x.kind]:
			return outcome{known: true}, nil
		}
		change, err := decode[T](c, record, x)
		if err != nil {
			return outcome{known: true, undecided: wrap(c, record, err)}, nil
		}
		return outcome{known: true, took: true}, f(ctx, change)
	}
	return Route{try: try, mistake: checkRoute(c, f != nil, kinds)}
}

func checkRoute(c *core.Core, function bool, kinds []Kind) error {
	if err := c.Err(); err != nil {
		return err
	}
	if !function {
		return routeError(c.Schema.Type.String(), "the route has no function")
	}
	for _, k := range kinds {
		if !allKinds[k] {
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
