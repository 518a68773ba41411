package timeline

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// View builds and reads the rows of a [Projection]. It is safe for concurrent use.
type View[K comparable, S any] struct{ view *view }

// view is a [View] whose types are erased.
type view struct {
	*definition
	stores
}

// New checks a definition and declares its rows on db, so that entity.DB.CreateTables makes their table. It does no I/O.
// The error joins an *entity.SchemaError for every mistake, one of them being that another definition has the name;
// without a database it is an *entity.InputError.
func New[K comparable, S any](db *entity.DB, f Projection[K, S]) (*View[K, S], error) {
	d, err := define(f.erased(), typesOf[K, S]())
	if err != nil {
		return nil, err
	}
	if db == nil {
		return nil, errNoDB
	}
	rows, err := entity.New[stored[K, S]](db, rowOptions(d.Projection)...)
	if err != nil {
		return nil, err
	}
	opened, err := newView(db, d, rowStore[K, S]{rows})
	if err != nil {
		return nil, err
	}
	return &View[K, S]{opened}, nil
}

func newView(db *entity.DB, d *definition, rows rows) (*view, error) {
	s, err := open(db, d.Projection, rows)
	if err != nil {
		return nil, err
	}
	if !s.core.DB.View(d.Name, d.print) {
		return nil, &schema.Error{Code: schema.CodeTimelineName, Type: "timeline.Projection " + d.Name, Field: "Name", Problem: "another definition has the name"}
	}
	return &view{d, s}, nil
}

// opened is the view of v, or one of which every call fails.
func (v *View[K, S]) opened() *view {
	if v != nil && v.view != nil {
		return v.view
	}
	none := &view{definition: &definition{}}
	none.core = core.Closed(reflect.TypeOf(v))
	return none
}

// Fingerprint identifies the definition: rows of another one are not served.
func (v *View[K, S]) Fingerprint() string { return v.opened().print }

// DependsOn reports whether rows may change by events of these names.
func (v *View[K, S]) DependsOn(events ...string) bool {
	byEvent := v.opened().byEvent
	return slices.ContainsFunc(events, func(name string) bool { _, handled := byEvent[name]; return handled })
}

func (v *view) now() time.Time { return v.core.Runner.Clock().UTC() }

// floor is the instant from which on nothing has expired; zero when nothing expires. Times to live end with whole seconds:
// the events of the second that is passing may have gone already.
func (d *definition) floor(now time.Time) time.Time { return floor(d.all, now) }

func floor(all []*origin, now time.Time) time.Time {
	var latest time.Time
	for _, o := range all {
		if o.kept > 0 {
			if t := now.Add(-o.kept).Truncate(time.Second).Add(time.Second); t.After(latest) {
				latest = t
			}
		}
	}
	return latest
}

// String prints the definition.
func (v *View[K, S]) String() string {
	d := v.opened()
	return fmt.Sprintf("timeline %s version %d, definition %s", d.Name, d.Version, d.print)
}
