package timeline

import (
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Items reads the current items of an entity whose items are written once and never changed, such as readings in a table
// of their own: each is an event named <entity>.stored, at the time that at's field holds. at is a field of the entity's
// prototype, a time or an integer whose tag says what it counts: &entity.Fields[Reading]().TimestampMs.
//
// Such items do not tell when the store accepted them, which [View.CatchUp] and [AsKnownAt] need; see [AcceptedAt].
func Items[T any, V any](s *entity.Store[T], at *V, opts ...SourceOption) Source {
	if s == nil {
		return &origin{problems: []string{"the store is nil"}}
	}
	o := newOrigin("items", s, reflect.TypeFor[T]())
	if o.core == nil {
		return o
	}
	clock := o.timeField(at, "the time of an event")
	o.eventNames = []string{o.eventName("stored")}
	o.filter = func(own expr.Cond, now time.Time) expr.Cond {
		current, live := expr.Cond{}, expr.Cond{}
		if o.core.Schema.HasMetadata {
			current = expr.Compare(expr.NotExists, expr.Attr(schema.KindAttr))
		}
		if o.core.Schema.Expires {
			live = plan.NotExpired(o.core.Schema, now)
		}
		return expr.All(own, current, live)
	}
	if clock == nil {
		return o
	}
	o.timeAttrs = append(o.timeAttrs, "at "+clock.Name)
	o.assemble = func() assembler { return itemEvents{o, o.eventName("stored"), clock, o.acceptedAt} }
	if x, ok := schema.Feature[plan.ExpirySetter](o.core.Schema); ok {
		o.retention = lifetime(x)
	}
	if o.core.Schema.Options.Interop {
		o.problem("in tables that are shared with effect-dynamodb nothing shows which current items from others")
	}
	return o.finish(opts)
}

// lifetime is how long an entity's items live, as far as its declaration says.
func lifetime(x plan.ExpirySetter) time.Duration {
	if l, ok := x.(interface{ Kept() time.Duration }); ok {
		return l.Kept()
	}
	return 0
}

// AcceptedAt names the field that says when the store accepted an item of [Items]: the time of a write by the clock of the
// service, such as a created_at, and not one that a client chose.
func AcceptedAt[V any](field *V) SourceOption {
	return func(o *origin) {
		if o.kind != "items" {
			o.problem("AcceptedAt is for Items")
			return
		}
		if a := o.timeField(field, "the time of acceptance"); a != nil {
			o.hasAcceptTimes, o.timeAttrs = true, append(o.timeAttrs, "seen "+a.Name)
			o.acceptedAt = func(it item.Item) (time.Time, error) { return a.Format.FromValue(it[a.Name]) }
		}
	}
}

// clock resolves a field that holds a time.
func (o *origin) timeField(field any, what string) *schema.Attr {
	n, err := plan.Node(o.core.Schema, opt.Target{Pointer: field})
	if err != nil || n.Attr == nil || !n.Top {
		o.problem("%s must be a field of the prototype that entity.Fields gives", what)
		return nil
	}
	if !n.Attr.Time && !n.Attr.Epoch {
		o.problem(`%s, %s, must be a time, or an integer whose tag says what it counts: entity:"time=unixms"`, what, n.Attr.Name)
		return nil
	}
	return n.Attr
}
