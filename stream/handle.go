package stream

import (
	"context"
	"errors"
)

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
