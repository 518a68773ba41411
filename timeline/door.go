package timeline

import (
	"slices"

	"github.com/dynastrata/dynastrata/internal/plan"
)

// open is the one door through which every replay gets its events: the payload is decoded in the shape that it was stored
// in, brought to today's, and named.
func (o *origin) open(r *record) (*occurrence, error) {
	x := &occurrence{}
	x.Name, x.Source, x.Key, x.At, x.AcceptedAt, x.Version, x.PayloadVersion = r.name, o.id, r.key, r.at, r.seen, r.version, r.stored
	payload, category, err := o.decode(o, r, r.item)
	if err != nil {
		return nil, o.failed(r, category, err)
	}
	x.Payload = payload
	if r.before != nil {
		before := *r
		before.stored = storedVersion(r.before)
		if x.before, category, err = o.decode(o, &before, r.before); err != nil {
			return nil, o.failed(r, category, err)
		}
	}
	if o.classify != nil {
		name := o.classify(x)
		if name != "" && !slices.Contains(o.names, name) {
			return nil, o.failed(r, Naming, ErrUnknownEvent)
		}
		x.Name = name
	}
	return x, nil
}

// failed is the error of an event that stops a replay.
func (o *origin) failed(r *record, category Stage, err error) error {
	return o.about(r, category, err)
}

func (o *origin) about(r *record, category Stage, err error) *EventError {
	e := &EventError{Stage: category, Event: r.name, Source: o.id, Key: r.key, Payload: r.stored, Err: err}
	if o.core != nil { // the identity may have secret parts
		e.Key = plan.KeyText(o.core.Schema, plan.KeyOf(o.core.Schema, r.item))
	}
	return e
}
