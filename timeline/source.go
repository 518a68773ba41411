package timeline

import (
	"fmt"
	"reflect"
	"slices"
)

// Source is where a timeline gets its events from: [Series], [Versions], [Items], [Feed], or a [Merge] of them.
type Source interface{ origins() []*origin }

// SourceOption changes what a source gives: [Classify], [Upgrade], [PartitionKey], [AcceptedAt].
type SourceOption func(*origin)

// Merge reads several sources as one. Events of the same time come in the order of the sources' names.
func Merge(sources ...Source) Source { return merged(sources) }

type merged []Source

func (m merged) origins() []*origin {
	var all []*origin
	for _, s := range m {
		if s == nil {
			all = append(all, &origin{problems: []string{"a source is nil"}})
			continue
		}
		all = append(all, s.origins()...)
	}
	return all
}

// Classify gives the events of a source names of their own: names lists them, and name chooses one for each event, which
// has the source's own name until then. "" leaves the event out. name must depend on nothing but the event.
func Classify[T any](names []string, name func(Event[T]) string) SourceOption {
	return func(o *origin) {
		switch {
		case o.classify != nil:
			o.problem("it is classified twice")
		case len(names) == 0 || name == nil:
			o.problem("Classify needs names and a function")
		case o.payload != reflect.TypeFor[T]():
			o.problem("Classify is for events of %s, the source has %s", reflect.TypeFor[T](), o.payload)
		default:
			o.eventNames = slices.Clone(names)
			o.classify = func(x *decodedEvent) string { return name(typedEvent[T](x)) }
		}
	}
}

// PartitionKey says in which item, or partition, the events of a group lie: key gives an item with the partition key's fields
// of it, and as many of the sort key's, from the left, as are the same for the whole group. One group is then read by a
// query of that partition, and a build holds one partition's events at a time. An event that lies elsewhere than key says
// is an *[EventError].
func PartitionKey[K comparable, T any](key func(K) T) SourceOption {
	return func(o *origin) {
		switch {
		case o.partitionOf != nil:
			o.problem("it has two options PartitionKey")
		case key == nil:
			o.problem("PartitionKey needs a function")
		case o.core == nil || o.core.Schema.Type != reflect.TypeFor[T]():
			o.problem("PartitionKey gives a %s, of which the source does not read items", reflect.TypeFor[T]())
		default:
			o.partitionKeyType = reflect.TypeFor[K]()
			o.partitionOf = func(k any) reflect.Value { return reflect.ValueOf(key(k.(K))) }
		}
	}
}

func (o *origin) problem(format string, args ...any) {
	o.problems = append(o.problems, fmt.Sprintf(format, args...))
}
