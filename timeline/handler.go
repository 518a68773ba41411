package timeline

import "reflect"

// Handler says what one type of event does to the state of its group; [On] and [Ensure] make them.
type Handler[K comparable, S any] struct {
	event   string
	payload reflect.Type
	key     func(*decodedEvent) K
	apply   func(*S, *decodedEvent) error // nil: the event only makes its group exist
	missing bool                          // a function is nil
}

// On handles events of one name: key gives the group of an event, and apply brings the group's state up to it. P is the
// payload of the event's source. Both must depend on nothing but their arguments: no clock, no database, no global state.
// An error of apply stops the replay with an *[EventError].
func On[P any, K comparable, S any](event string, key func(P) K, apply func(*S, Event[P]) error) Handler[K, S] {
	h := Ensure[P, K, S](event, key)
	h.missing = h.missing || apply == nil
	h.apply = func(s *S, x *decodedEvent) error { return apply(s, typedEvent[P](x)) }
	return h
}

// Ensure makes the group of an event exist, in its state at that time, and changes nothing else.
func Ensure[P any, K comparable, S any](event string, key func(P) K) Handler[K, S] {
	return Handler[K, S]{
		event: event, payload: reflect.TypeFor[P](), missing: key == nil,
		key: func(x *decodedEvent) K { return key(x.Payload.(P)) },
	}
}

// erased is h for an engine that knows neither type: the state is a pointer in the any that it gets.
func (h Handler[K, S]) erased() Handler[any, any] {
	e := Handler[any, any]{event: h.event, payload: h.payload, missing: h.missing}
	if h.key != nil {
		e.key = func(x *decodedEvent) any { return h.key(x) }
	}
	if h.apply != nil {
		e.apply = func(s *any, x *decodedEvent) error { return h.apply((*s).(*S), x) }
	}
	return e
}
