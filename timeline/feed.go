package timeline

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Feed reads events from somewhere else than a table, such as an export: read yields them all, in any order, each with
// Name, Key, At and Payload, and Seen if it is known; name distinguishes the source from others. The payload is a struct. An event
// that is yielded twice counts once; two with one At and Key and different content are an *[EventError]. An event without
// Seen counts as accepted before everything else, and is compared with what rows have by each [View.CatchUp].
func Feed[P any](name string, events []string, read func(context.Context) iter.Seq2[Event[P], error], opts ...SourceOption) Source {
	o := &origin{id: "feed:" + name, kind: "feed", payload: reflect.TypeFor[P](), eventNames: slices.Clone(events), payloadVersion: 1}
	if name == "" || strings.Contains(name, separator) {
		o.problem("a feed needs a name")
	}
	if len(events) == 0 || read == nil {
		o.problem("a feed needs the names of its events and a function that reads them")
		return o
	}
	codec, err := schema.CodecOf(o.payload, schema.Options{Precision: key.Nano})
	if err != nil {
		o.problem("the payload cannot be kept: %v", err)
	}
	o.decode = func(_ *origin, r *record, it item.Item) (any, Stage, error) {
		v := reflect.New(o.payload)
		if err := codec.Decode(it, v); err != nil {
			return nil, Decoding, err
		}
		return v.Elem().Interface(), "", nil
	}
	if problem := unstorableField(o.payload, true, map[reflect.Type]bool{}); problem != "" {
		o.problem("the payload cannot be kept: %s", problem)
	}
	o.hasAcceptTimes = true
	o.feed = func(ctx context.Context) iter.Seq2[*record, error] {
		return func(yield func(*record, error) bool) {
			for e, err := range read(ctx) {
				r := &record{name: e.Name, key: e.Key, at: e.At.UTC(), acceptedAt: e.AcceptedAt.UTC(), version: e.Version, payloadVersion: 1}
				if err == nil {
					err = o.checkFed(r)
				}
				if err == nil {
					r.item, err = codec.Encode(reflect.ValueOf(e.Payload))
					if err != nil {
						err = o.eventError(r, Decoding, err)
					}
				}
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
	return o.finish(opts)
}

// given checks what a feed yields.
func (o *origin) checkFed(r *record) error {
	problem := ""
	switch {
	case r.key == "" || strings.Contains(r.key, separator):
		problem = "the event has no key"
	case r.at.IsZero():
		problem = "the event has no time"
	case o.classify == nil && !slices.Contains(o.eventNames, r.name):
		return o.eventError(r, Naming, ErrUnknownEvent)
	}
	if problem != "" {
		return o.eventError(r, History, fmt.Errorf("%s", problem))
	}
	return nil
}
