package timeline

import (
	"slices"

	"github.com/dynastrata/dynastrata/internal/plan"
)

// open is the one door through which every replay gets its events: the payload is decoded in the shape that it was stored
// in, brought to today's, and named.
func (o *origin) decodeEvent(r *record) (*decodedEvent, error) {
	x := &decodedEvent{}
	x.Name, x.Source, x.Key, x.At, x.AcceptedAt, x.Version, x.PayloadVersion = r.name, o.id, r.key, r.at, r.acceptedAt, r.version, r.payloadVersion
	payload, stage, err := o.decode(o, r, r.item)
	if err != nil {
		return nil, o.eventError(r, stage, err)
	}
	x.Payload = payload
	if r.before != nil {
		before := *r
		before.payloadVersion = storedVersion(r.before)
		if x.before, stage, err = o.decode(o, &before, r.before); err != nil {
			return nil, o.eventError(r, stage, err)
		}
	}
	if o.classify != nil {
		name := o.classify(x)
		if name != "" && !slices.Contains(o.eventNames, name) {
			return nil, o.eventError(r, Naming, ErrUnknownEvent)
		}
		x.Name = name
	}
	return x, nil
}

// eventError returns err as the error of an event that stops a replay.
func (o *origin) eventError(r *record, stage Stage, err error) *EventError {
	e := &EventError{Stage: stage, Event: r.name, Source: o.id, Key: r.key, Payload: r.payloadVersion, Err: err}
	if o.core != nil { // the identity may have secret parts
		e.Key = plan.KeyText(o.core.Schema, plan.KeyOf(o.core.Schema, r.item))
	}
	return e
}
