package timeline

import (
	"fmt"
	"reflect"

	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// definition is a checked Fold.
type definition struct {
	Projection[any, any] // see Fold.erased
	modelTypes
	all     []*origin
	byEvent map[string]Handler[any, any]
	shape   keyShape
	states  kept
	keys    kept
	print   string // fingerprint
}

// define checks a Fold. The error joins an *entity.SchemaError for every mistake.
func define(f Projection[any, any], t modelTypes) (*definition, error) {
	d := &definition{Projection: f, modelTypes: t, byEvent: map[string]Handler[any, any]{}}
	c := &checker{what: "timeline.Projection " + f.Name}
	c.name(f.Name)
	if f.Version < 1 {
		c.bad(schema.CodeTimelineVersion, "Version", "it must be 1 or more; raise it whenever a function of the definition changes what it does")
	}
	c.memory(f.Memory)
	var byName map[string]*origin
	d.all, byName = c.source(f.Source)
	c.upgrades(d.all)
	c.handlers(f.Handlers, byName)
	d.shape, d.keys = c.groups(t, d.all)
	c.pages(d.PageSize, d.MaxPageSize)
	c.retention(f.Retention, d.all)
	d.checkState(c)
	if err := c.err(); err != nil {
		return nil, err
	}
	for _, w := range f.Handlers {
		d.byEvent[w.event] = w
	}
	var err error
	d.print, err = d.fingerprint()
	return d, err
}

// checkState refuses states that would come back from the table as something else.
func (d *definition) checkState(c *checker) {
	if problem := lost(d.state, false, map[reflect.Type]bool{}); problem != "" {
		c.bad(schema.CodeTimelineState, "Start", "a state is stored in its row, and %s", problem)
		return
	}
	var err error
	if d.states, err = keep(d.stateBox); err == nil {
		err = d.states.survives(reflect.ValueOf(d.Start()).Elem())
	}
	if err != nil {
		c.bad(schema.CodeTimelineState, "Start", "the state %s cannot be stored: %v", d.state, err)
	}
}

// grouped is an event with its group.
type grouped struct {
	key   any
	group string
}

// group opens an event and finds its group. It is nil for an event that does not count.
func (d *definition) group(r *record, n *Counters) (*grouped, error) {
	o := d.all[r.origin]
	if _, handled := d.byEvent[r.name]; !handled && o.classify == nil {
		n.Unhandled++
		return nil, nil
	}
	x, err := o.open(r)
	if err != nil {
		return nil, d.named(err)
	}
	h, handled := d.byEvent[x.Name]
	if !handled {
		n.Unhandled++
		return nil, nil
	}
	if r.stored != o.version {
		n.Upgraded++
	}
	g := &grouped{key: h.key(x)}
	if g.group, err = d.shape.text(reflect.ValueOf(g.key)); err != nil {
		if d.SkipUngrouped {
			n.Ungrouped++
			return nil, nil
		}
		return nil, d.named(o.failed(r, Grouping, err))
	}
	if err := o.inside(g.key, r); err != nil {
		return nil, d.named(o.failed(r, Grouping, err))
	}
	return g, nil
}

// inside refuses an event that does not lie where Within says that its group does.
func (o *origin) inside(k any, r *record) error {
	if o.within == nil {
		return nil
	}
	cond, err := o.under(o.within(k))
	if err != nil {
		return err
	}
	if !cond.Holds(plan.KeyOf(o.core.Schema, r.item)) {
		return fmt.Errorf("the event lies outside of the partition that PartitionKey gives for its group")
	}
	return nil
}

// named gives an error of a source the view's name.
func (d *definition) named(err error) error { return inView(d.Name, err) }

func inView(view string, err error) error {
	switch e := err.(type) {
	case *EventError:
		e.View = view
	case *LimitError:
		e.View = view
	}
	return err
}
