package timeline

import (
	"reflect"
	"time"
)

// Defaults of a [Projection].
const (
	DefaultPageSize = 20
	DefaultMaxPage  = 100
	DefaultMemory   = 64 << 20 // bytes
)

// Projection defines a read model: the events of a source, in the order of time, are split into groups, and handlers bring the
// state of each group from its start to where it is.
//
// Everything here but PageSize, MaxPageSize, Memory, TempDir and Table takes part in the definition's fingerprint: rows that were built
// by a definition with another one are not served. What functions do cannot be seen; raise Version when it changes.
type Projection[K comparable, S any] struct {
	Name     string          // of the view: a letter, then letters, digits, "_" and "-", at most 64; it names the rows
	Version  int             // of what the functions do, from 1
	Source   Source          // where events come from
	Start    func() S        // state of a group before its first event; nil: the zero S
	Handlers []Handler[K, S] // one for each event that counts; others of the source are passed over

	Descending    bool          // newest events first, so that "last" means "first"
	SkipUngrouped bool          // pass over events without a group key, and count them, instead of stopping
	Retention     time.Duration // rows live so long after their last event, in whole seconds; 0: for ever

	PageSize    int    // rows of a page when the caller does not say; default 20
	MaxPageSize int    // more are refused; default 100
	Memory      int    // bytes of events that a replay holds in memory; what is more goes to temporary files; default 64 MiB
	TempDir     string // where these files lie; default the system's
	Table       string // logical table of the rows, which has keys as `$` entities need them; default the database's
}

// erased is f without its types, and with its defaults: a key is held as any, a state as a pointer in any. So one compiled
// engine runs all views.
func (f Projection[K, S]) erased() Projection[any, any] {
	e := Projection[any, any]{
		Name: f.Name, Version: f.Version, Source: f.Source, Start: func() any { return new(S) },
		Descending: f.Descending, SkipUngrouped: f.SkipUngrouped, Retention: f.Retention,
		PageSize: f.PageSize, MaxPageSize: f.MaxPageSize, Memory: f.Memory, TempDir: f.TempDir, Table: f.Table,
	}
	if f.Start != nil {
		e.Start = func() any {
			s := f.Start()
			return &s
		}
	}
	for _, h := range f.Handlers {
		e.Handlers = append(e.Handlers, h.erased())
	}
	return e.withDefaults()
}

func (f Projection[K, S]) withDefaults() Projection[K, S] {
	if f.MaxPageSize == 0 {
		f.MaxPageSize = DefaultMaxPage
	}
	if f.PageSize == 0 {
		f.PageSize = min(DefaultPageSize, f.MaxPageSize)
	}
	if f.Memory == 0 {
		f.Memory = DefaultMemory
	}
	return f
}

// modelTypes are those of a view's keys and states, and the boxes that they are stored in.
type rowTypes struct {
	key, state       reflect.Type
	keyBox, stateBox reflect.Type
}

func rowTypesOf[K comparable, S any]() rowTypes {
	return rowTypes{reflect.TypeFor[K](), reflect.TypeFor[S](), reflect.TypeFor[box[K]](), reflect.TypeFor[box[S]]()}
}
