package timeline

import (
	"context"
	"errors"

	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/stream"
)

// CheckApply returns the error that [View.Apply] and [View.Consume] return for the definition of the view, nil if they can be
// used. It costs no request: call it when the program starts. Errors: *entity.InputError (EDD-9188), whose text says what to
// change; [ErrNoAcceptTime].
func (v *View[K, S]) CheckApply() error {
	opened := v.opened()
	if err := opened.core.Err(); err != nil {
		return err
	}
	return opened.applicable()
}

// Consume gives the records of a batch to [View.Apply]: it is a whole Lambda function, whose event source mapping has
// ReportBatchItemFailures. The response has the first record that was not applied, from which Lambda delivers again, and its
// Failure the error, to be logged. routes get the records too, before they are applied, such as those of stream.On and
// stream.OnUndecodable. The costs are those of Apply. Errors: those of [View.CheckApply], before any record is handled; those
// of stream.Handle; errors of Apply that no record has. With an error, Lambda repeats the whole batch.
func (v *View[K, S]) Consume(ctx context.Context, e stream.Event, routes ...stream.Route) (stream.Response, ApplyResult, error) {
	if err := v.CheckApply(); err != nil {
		return stream.Response{}, ApplyResult{}, err
	}
	return v.opened().consume(ctx, e, routes)
}

func (v *view) consume(ctx context.Context, e stream.Event, routes []stream.Route) (stream.Response, ApplyResult, error) {
	var changes []Change
	collect := func(_ context.Context, c stream.StoredChange) error {
		changes = append(changes, c)
		return nil
	}
	routes = routes[:len(routes):len(routes)]
	for i, o := range v.all {
		if o.core != nil && v.sourceWith(o.core) == i {
			routes = append(routes, stream.Stored(engine.NewHandle(o.core), collect))
		}
	}
	resp, err := stream.Handle(ctx, e, routes...)
	if err != nil {
		return resp, ApplyResult{}, err
	}
	done, err := v.apply(ctx, changes)
	var failed *ApplyError
	if !errors.As(err, &failed) || failed.Sequence == "" {
		return resp, done, err
	}
	for _, r := range e.Records {
		if r.SequenceNumber == failed.Sequence { // it comes before the record at which Handle stopped
			resp.Failure = &stream.Failure{Record: r, Err: err}
			resp.BatchItemFailures = []stream.BatchItemFailure{{ItemIdentifier: failed.Sequence}}
			break
		}
	}
	return resp, done, nil
}
