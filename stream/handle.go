package stream

import (
	"context"
	"errors"

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

// Response is what a Lambda function answers; its JSON is {"batchItemFailures":[{"itemIdentifier":"<sequence number>"}]}.
type Response struct {
	// BatchItemFailures has the record at which handling stopped, or nothing.
	BatchItemFailures []BatchItemFailure `json:"batchItemFailures"`

	Handled int      `json:"-"` // records that a store's route took
	Ignored int      `json:"-"` // records that no route wanted, or that OnUnrouted took
	Skipped int      `json:"-"` // records that OnUndecodable took
	Failure *Failure `json:"-"` // why handling stopped; nil when all records are done
}

// BatchItemFailure names a record by its sequence number.
type BatchItemFailure struct {
	ItemIdentifier string `json:"itemIdentifier"`
}

// Failure is a record that could not be handled, and why.
type Failure struct {
	Record Record
	Err    error
}

// Err is the error of the record at which handling stopped, or nil: what a function returns whose event source mapping does
// not have ReportBatchItemFailures. Lambda repeats the whole batch then.
func (r Response) Err() error {
	if r.Failure == nil {
		return nil
	}
	return r.Failure.Err
}

// Handle gives each record to the routes that know it, one after the other, in order. It stops at the first record that
// fails, and answers with that one: Lambda then repeats it and all after it, so that no change overtakes another. The event
// source mapping must have ReportBatchItemFailures, else Lambda takes the answer for success: see [Response.Err].
//
// A record fails when a function returns an error, when its meaning is unknown (unless there is an
// [OnUndecodable]), and when ctx is done before its turn. Records that no route knows are passed over and counted. A panic
// of a function is not caught.
//
// The error of a record is in Response.Failure. The error of Handle itself is an *entity.InputError for a mistake in the
// routes, found before any record is handled, or a *[RecordError] for a failed record without a sequence number, by which
// Lambda would have to know it; returned from a Lambda function, it makes Lambda repeat the whole batch.
func Handle(ctx context.Context, e Event, routes ...Route) (Response, error) {
	h, err := newHandler(routes)
	resp := Response{BatchItemFailures: []BatchItemFailure{}}
	if err != nil {
		return resp, err
	}
	for _, r := range e.Records {
		err := ctx.Err()
		if err == nil {
			err = h.record(ctx, r, &resp)
		}
		if err == nil {
			continue
		}
		resp.Failure = &Failure{Record: r, Err: err}
		if r.SequenceNumber == "" {
			return resp, errors.Join(&RecordError{EventID: r.EventID, Problem: "it failed, and has no SequenceNumber"}, err)
		}
		resp.BatchItemFailures = append(resp.BatchItemFailures, BatchItemFailure{ItemIdentifier: r.SequenceNumber})
		return resp, nil
	}
	return resp, nil
}

// handler is the routes by what they are for.
type handler struct {
	stores      []Route
	undecodable func(context.Context, Record, error) error
	unrouted    func(context.Context, Record) error
}

func newHandler(routes []Route) (*handler, error) {
	h := &handler{}
	var mistakes []error
	for _, r := range routes {
		switch {
		case r.mistake != nil:
			mistakes = append(mistakes, r.mistake)
		case r.try != nil:
			h.stores = append(h.stores, r)
		case r.undecodable != nil && h.undecodable == nil:
			h.undecodable = r.undecodable
		case r.unrouted != nil && h.unrouted == nil:
			h.unrouted = r.unrouted
		default:
			mistakes = append(mistakes, routeError("stream.Route", "a route is given twice, or was not made by this package"))
		}
	}
	if len(h.stores) == 0 && len(mistakes) == 0 {
		mistakes = append(mistakes, routeError("stream.Route", "no route is for a store: every record would be passed over"))
	}
	return h, errors.Join(mistakes...)
}

// record gives one record to all routes.
func (h *handler) record(ctx context.Context, r Record, resp *Response) error {
	if err := r.Err(); err != nil {
		if err := h.giveUndecodable(ctx, r, err); err != nil {
			return err
		}
		resp.Skipped++
		return nil
	}
	known, took, skipped := false, false, false
	for _, route := range h.stores {
		x, err := route.try(ctx, r)
		if x.undecided != nil {
			skipped, err = true, h.giveUndecodable(ctx, r, x.undecided)
		}
		if err != nil {
			return err
		}
		known, took = known || x.known, took || x.took
	}
	if !known && h.unrouted != nil {
		if err := h.unrouted(ctx, r); err != nil {
			return err
		}
	}
	switch {
	case took:
		resp.Handled++
	case skipped:
		resp.Skipped++
	default:
		resp.Ignored++
	}
	return nil
}

// bad is for a record of which err says why its meaning is unknown.
func (h *handler) giveUndecodable(ctx context.Context, r Record, err error) error {
	if h.undecodable == nil {
		return err
	}
	return h.undecodable(ctx, r, err)
}
