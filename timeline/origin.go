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
	id             string        // in positions and fingerprints, unique in a fold
	kind           string        // series, versions, items or feed
	core           *core.Core    // of the entity; nil for a feed
	payload        reflect.Type  // of its events
	eventNames     []string      // of its events
	payloadVersion int           // of today's payload
	upgrades       []upgradeStep // from earlier payloads to today's
	timeAttrs      []string      // attributes that say when an event happened and was accepted, where the payload does not
	hasAcceptTimes bool          // events tell when the store accepted them
	retention      time.Duration
	problems       []string // what is wrong with it

	classify         func(*decodedEvent) string                            // nil: events keep their names
	partitionKeyType reflect.Type                                          // of within's argument
	partitionOf      func(any) reflect.Value                               // group → item of the partition; nil: unknown
	decode           func(*origin, *record, item.Item) (any, Stage, error) // a stored payload in today's shape

	acceptedAt func(item.Item) (time.Time, error)           // when an item was accepted; nil: it does not tell
	filter     func(own expr.Cond, now time.Time) expr.Cond // items that carry history, among those for which own holds
	assemble   func() assembler                             // items → events
	feed       func(context.Context) iter.Seq2[*record, error]
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
		return &origin{kind: kind, payload: t, problems: []string{kind + ": its handle is a zero value, and was not opened on a database"}}
	}
	o := &origin{kind: kind, core: c, payload: t, payloadVersion: c.Schema.Payload, decode: decodeStored}
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
	slices.SortStableFunc(o.upgrades, func(a, b upgradeStep) int { return a.from - b.from })
	return o
}

// scanFilter holds for the items in the entity's table that carry history.
func (o *origin) scanFilter(now time.Time) expr.Cond {
	s := o.core.Schema
	return o.filter(expr.All(plan.OwnItems(s), plan.InNamespace(s)), now)
}

// queryFilter is scanFilter for a query of a partition, where DynamoDB refuses a filter on the sort key. The key
// condition excludes other namespaces already.
func (o *origin) queryFilter(now time.Time) expr.Cond {
	return o.filter(plan.OwnItems(o.core.Schema), now)
}

// event is the default name of an event: the entity's, in lower case, and what happened.
func (o *origin) eventName(what string) string {
	return strings.ToLower(o.core.Schema.Name) + "." + what
}
