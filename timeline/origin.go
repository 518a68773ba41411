package timeline

import (
	"context"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// origin is one source that is no merge of others.
type origin struct {
	id       string       // in positions and fingerprints, unique in a fold
	kind     string       // series, versions, items or feed
	core     *core.Core   // of the entity; nil for a feed
	payload  reflect.Type // of its events
	names    []string     // of its events
	version  int          // of today's payload
	steps    []step       // from earlier payloads to today's
	clocks   []string     // attributes that say when an event happened and was accepted, where the payload does not
	accepted bool         // events tell when the store accepted them
	kept     time.Duration
	errs     []string // what is wrong with it

	classify func(*occurrence) string                              // nil: events keep their names
	groups   reflect.Type                                          // of within's argument
	within   func(any) reflect.Value                               // group → item of the partition; nil: unknown
	decode   func(*origin, *record, item.Item) (any, Stage, error) // a stored payload in today's shape

	seen     func(item.Item) (time.Time, error) // when an item was accepted; nil: it does not tell
	filter   func(now time.Time) expr.Cond      // items that carry history
	assemble func() assembler                   // items → events
	feed     func(context.Context) iter.Seq2[*record, error]
}

func (o *origin) origins() []*origin { return []*origin{o} }

// assembler makes events of the items of a table, which come partition by partition in the order of the sort key.
type assembler interface {
	push(it map[string]value, give func(*record) error) error
	flush(give func(*record) error) error // at the end of a partition
}

// newOrigin begins the source of an entity's items. Its core is nil when the handle was not opened.
func newOrigin(kind string, h core.Holder, t reflect.Type) *origin {
	c := core.Of(h)
	if c.Err() != nil {
		return &origin{kind: kind, payload: t, errs: []string{kind + ": its handle is a zero value, and was not opened on a database"}}
	}
	o := &origin{kind: kind, core: c, payload: t, version: c.Schema.Payload, decode: decodeStored}
	o.id = kind + ":" + c.Table + ":" + c.Schema.Prefix
	if c.Schema.Prefix == "" {
		o.id += c.Schema.Name
	}
	return o
}

// finish applies the options of a source.
func (o *origin) finish(opts []SourceOption) *origin {
	for _, opt := range opts {
		if opt == nil {
			o.problem("an option is nil")
			continue
		}
		opt(o)
	}
	slices.SortStableFunc(o.steps, func(a, b step) int { return a.from - b.from })
	return o
}

// own holds for the items of the entity, of whatever kind.
func (o *origin) own() expr.Cond {
	return expr.All(plan.OfEntity(o.core.Schema), plan.InNamespace(o.core.Schema))
}

// unexpired is own without the items whose time to live has passed, whether or not DynamoDB has removed them.
func (o *origin) unexpired(now time.Time, more ...expr.Cond) expr.Cond {
	return expr.All(append(more, o.own(), plan.NotExpired(o.core.Schema, now))...)
}

// event is the default name of an event: the entity's, in lower case, and what happened.
func (o *origin) event(what string) string { return strings.ToLower(o.core.Schema.Name) + "." + what }
