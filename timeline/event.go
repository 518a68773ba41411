package timeline

import "time"

// Event is one thing that happened, as handlers see it.
type Event[P any] struct {
	Name           string    // type of the event, such as message.created
	Source         string    // the source it comes from
	Key            string    // identity within the source
	At             time.Time // when it happened: orders a fold
	AcceptedAt     time.Time // when the store accepted it; zero where the source does not tell
	Version        int64     // of a state of a versioned entity: its number; else 0
	PayloadVersion int       // payload version that it was stored with
	Payload        P         // in today's shape; for a versioned entity the item after the change
	Before         *P        // of a versioned entity: the item before the change; nil for a new one, and for other sources
}

// record is one event of a source as it was read: undecoded, so that it can be kept as bytes.
type record struct {
	origin         int // position in the fold's sources
	name           string
	key            string
	at, acceptedAt time.Time
	version        int64
	payloadVersion int
	item, before   map[string]value
}

// occurrence is a decoded event whose payload type is erased.
type decodedEvent struct {
	Event[any]
	before any // nil, or of the payload's type
}

// typed gives an occurrence its payload type back.
func typedEvent[P any](o *decodedEvent) Event[P] {
	e := Event[P]{
		Name: o.Name, Source: o.Source, Key: o.Key, At: o.At, AcceptedAt: o.AcceptedAt, Version: o.Version, PayloadVersion: o.PayloadVersion,
		Payload: o.Payload.(P),
	}
	if before, ok := o.before.(P); ok {
		e.Before = &before
	}
	return e
}
