package stream

import (
	"context"
	"errors"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
)

// Route handles some of the records given to [Handle]. [On], [OnUndecodable] and [OnUnrouted] make routes.
type Route struct {
	try         func(context.Context, Record) (outcome, error) // the error is that of the route's function
	undecodable func(context.Context, Record, error) error
	unrouted    func(context.Context, Record) error
	mistake     error
}

// An outcome says what a route did with a record.
type outcome struct {
	known     bool  // the record belongs to the store
	took      bool  // the function was called
	undecided error // why the meaning of the record is unknown
}

// On calls f for the changes of a store of the given kinds, or of all kinds. A store can have several routes. They are
// called in the order in which they were given to [Handle]; if one fails, all are called again with the same record.
//
// DynamoDB can deliver a record more than once, so f must be idempotent. Change.Record.EventID is the same each time.
func On[T any](store entity.Source[T], f func(context.Context, Change[T]) error, kinds ...Kind) Route {
	c := engine.Of(store)
	wanted := map[Kind]bool{}
	for _, k := range kinds {
		wanted[k] = true
	}
	try := func(ctx context.Context, record Record) (outcome, error) {
		x, known, err := interpret(c, record)
		switch {
		case err != nil:
			return outcome{known: true, undecided: err}, nil //nolint:nilerr // Handle reports it, with what other routes say
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

// Stored calls f for all changes of a store, which are not decoded, as timeline.View.Consume does.
func Stored(store entity.Handle, f func(context.Context, StoredChange) error) Route {
	c := engine.Of(store)
	try := func(ctx context.Context, record Record) (outcome, error) {
		x, known, err := interpret(c, record)
		switch {
		case err != nil:
			return outcome{known: true, undecided: err}, nil //nolint:nilerr // Handle reports it, with what other routes say
		case !known:
			return outcome{}, nil
		}
		return outcome{known: true, took: true}, f(ctx, StoredChange{stored(c, record, x)})
	}
	return Route{try: try, mistake: checkRoute(c, f != nil, nil)}
}

func checkRoute(c *engine.Core, function bool, kinds []Kind) error {
	if err := c.Err(); err != nil {
		return err
	}
	if !function {
		return routeError(c.Schema.Type.String(), "the route has no function")
	}
	for _, k := range kinds {
		if !allKinds[k] {
			return routeError(c.Schema.Type.String(), "the route is for an unknown kind of change")
		}
	}
	return nil
}

func routeError(typ, problem string) error {
	return &entity.InputError{Code: bind.CodeRoute, Type: typ, Problem: problem}
}

// OnUndecodable calls f for records that would otherwise fail, and block their shard, because their meaning cannot be
// determined. The error is the one that [Of] returns. If f returns nil the record is done and [Handle] continues, so f
// must save the record. f is called once for each store that cannot classify the record, and once for a record that
// cannot be used at all.
func OnUndecodable(f func(context.Context, Record, error) error) Route {
	r := Route{undecodable: f}
	if f == nil {
		r.mistake = routeError("stream.Route", "the route has no function")
	}
	return r
}

// OnUnrouted calls f for records that belong to none of the stores: other entities of the table, and the sentinels of
// unique values. Without it they are ignored.
func OnUnrouted(f func(context.Context, Record) error) Route {
	r := Route{unrouted: f}
	if f == nil {
		r.mistake = routeError("stream.Route", "the route has no function")
	}
	return r
}

// Response is the answer of a Lambda function. Its JSON is {"batchItemFailures":[{"itemIdentifier":"<sequence
// number>"}]}.
type Response struct {
	// BatchItemFailures has the record at which handling stopped, or is empty.
	BatchItemFailures []BatchItemFailure `json:"batchItemFailures"`

	Handled int      `json:"-"` // records that a store's route handled
	Ignored int      `json:"-"` // records that no route wanted, or that OnUnrouted handled
	Skipped int      `json:"-"` // records that OnUndecodable handled
	Failure *Failure `json:"-"` // why handling stopped; nil if all records are done
}

// BatchItemFailure identifies a record by its sequence number.
type BatchItemFailure struct {
	ItemIdentifier string `json:"itemIdentifier"`
}

// Failure is a record that could not be handled, with the error.
type Failure struct {
	Record Record
	Err    error
}

// Err returns the error of the record at which handling stopped, or nil. A function whose event source mapping does
// not have ReportBatchItemFailures returns it, and Lambda then repeats the whole batch.
func (r Response) Err() error {
	if r.Failure == nil {
		return nil
	}
	return r.Failure.Err
}

// Handle gives each record to its routes, one after the other, in order. It stops at the first record that fails and
// reports that one. Lambda then repeats it and all records after it, so no change overtakes another. The event source
// mapping must have ReportBatchItemFailures, otherwise Lambda takes the answer for success: see [Response.Err].
//
// A record fails if a function returns an error, if its meaning is unknown and there is no [OnUndecodable], or if ctx
// is done before its turn. Records that no route wants are ignored and counted. Panics are not recovered.
//
// The error of a record is in Response.Failure. Handle itself returns an *entity.InputError for a mistake in the
// routes, before any record is handled, or a *[RecordError] for a failed record without a sequence number, by which
// Lambda identifies it; if the function returns that, Lambda repeats the whole batch.
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
			return resp, errors.Join(&RecordError{Code: bind.CodeRecord, EventID: r.EventID, Problem: "it failed, and has no SequenceNumber"}, err)
		}
		resp.BatchItemFailures = append(resp.BatchItemFailures, BatchItemFailure{ItemIdentifier: r.SequenceNumber})
		return resp, nil
	}
	return resp, nil
}

// handler is a set of routes by purpose.
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
		mistakes = append(mistakes, routeError("stream.Route", "no route is for a store: every record would be ignored"))
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

// giveUndecodable gives a record with an unknown meaning to OnUndecodable, or returns err.
func (h *handler) giveUndecodable(ctx context.Context, r Record, err error) error {
	if h.undecodable == nil {
		return err
	}
	return h.undecodable(ctx, r, err)
}
