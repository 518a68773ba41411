package timeline

import (
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/timeseries"
)

// clocked is what a time series has compiled.
type seriesDecl interface {
	OrderBy() *schema.Attr
	Kept() time.Duration
}

// Series reads the events of a time series, all of them named <entity>.appended with the entity's name in lower case. Their
// time is orderBy, which must be a time or count one, and the store accepted them when it says.
func Series[T any](s *timeseries.Series[T], opts ...SourceOption) Source {
	if s == nil {
		return &origin{problems: []string{"the series is nil"}}
	}
	o := newOrigin("series", s, reflect.TypeFor[T]())
	if o.core == nil {
		return o
	}
	c, ok := schema.Feature[seriesDecl](o.core.Schema)
	if !ok || !o.core.Schema.HasMetadata {
		o.problem("in tables that are shared with effect-dynamodb events do not tell when they were accepted")
		return o
	}
	clock := c.OrderBy()
	if clock.Key.Kind != key.Time && !clock.Epoch {
		o.problem("orderBy %s is no time", clock.Name)
	}
	o.eventNames, o.retention, o.hasAcceptTimes = []string{o.eventName("appended")}, c.Kept(), true
	o.acceptedAt = func(it item.Item) (time.Time, error) { return key.Nano.FromValue(it[schema.AtAttr]) }
	o.filter = func(own expr.Cond, now time.Time) expr.Cond {
		return expr.All(expr.Compare(expr.Eq, expr.Attr(schema.KindAttr), item.S(plan.EventKind)), own, plan.NotExpired(o.core.Schema, now))
	}
	o.assemble = func() assembler { return itemEvents{o, o.eventName("appended"), clock, o.acceptedAt} }
	return o.finish(opts)
}

// each makes one event of every item.
type itemEvents struct {
	o     *origin
	name  string // of the events
	clock *schema.Attr
	seen  func(item.Item) (time.Time, error) // when the item was accepted; nil: it does not tell
}

func (e itemEvents) push(it map[string]value, give func(*record) error) error {
	r := &record{name: e.name, key: plan.KeyID(plan.KeyOf(e.o.core.Schema, it)), item: it, payloadVersion: storedVersion(it)}
	at, err := e.clock.Format.FromValue(it[e.clock.Name])
	if err == nil && e.seen != nil {
		r.acceptedAt, err = e.seen(it)
	}
	r.at = at
	if err != nil {
		return e.o.eventError(r, Decoding, err)
	}
	return give(r)
}

func (itemEvents) flush(func(*record) error) error { return nil }
