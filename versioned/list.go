package versioned

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/cursor"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// WithCurrent makes [History.List] include the current state.
func WithCurrent() ListOption {
	return bind.Option{Setting: func(o *bind.Options) { o.Current = true }}
}

// ListOption is accepted by [History.List]: a condition on the version field, entity.Desc, entity.Limit, entity.Filter,
// entity.IncludeExpired, [WithCurrent].
type ListOption interface{ bind.ListOption }

// List reads the past states of the item with key's primary key in the order of their versions, newest first with entity.Desc.
// [WithCurrent] adds the current state. A condition on the version field bounds the versions; other conditions go into entity.Filter.
// Expired snapshots are left out unless entity.IncludeExpired is given. All reads are strongly consistent: of the current item and the
// deleted copies once per run or page, and of the snapshots one request per MB.
func (h *History[T]) List(key T, opts ...ListOption) entity.Query[Version[T]] {
	c := engine.Of(h)
	spec := bind.Collect(opts)
	return &query.Query[Version[T]]{From: query.Decoding{Reading: newList(c, reflect.ValueOf(key), spec), Decode: decode[T](c, false), Skip: spec.Skip}}
}

// list reads the versions of an item. It implements query.Reading.
type list struct {
	c         *engine.Core
	op        *plan.Op
	spec      *bind.Options
	low, high int64
	limit     int
	filter    expr.Cond
	err       error
}

func newList(c *engine.Core, key reflect.Value, spec *bind.Options) *list {
	l := &list{c: c, spec: spec, high: maxVersion}
	if l.op, l.err = newOp(c, "History.List", key); l.err == nil {
		l.err = l.build()
	}
	return l
}

func (l *list) fail(format string, args ...any) error {
	return bind.Invalid(l.c.Schema, bind.CodeOption, nil, format, args...)
}

func (l *list) build() (err error) {
	if err := l.c.Readable(l.spec); err != nil {
		return err
	}
	l.limit = l.spec.Limit
	for _, c := range l.spec.Range {
		if err := l.bound(c); err != nil {
			return err
		}
	}
	if l.filter, err = bind.Conditions(l.c.Schema, l.spec.Filters); err != nil {
		return err
	}
	return bind.InMemory(l.c.Schema, l.filter, "a list of versions")
}

// bound narrows the versions by a condition on the version field.
func (l *list) bound(c bind.Cond) error {
	r, err := bind.KeyCondition(l.c.Schema, c)
	if err != nil {
		return err
	}
	if c.Op == expr.Between && r.Op != expr.Between { // from a higher to a lower version: holds for none
		l.low, l.high = 1, 0
		return nil
	}
	if len(r.Path) != 1 || r.Path.Root() != l.c.Schema.Version.Name || len(r.Values) == 0 {
		return l.fail("versions are bounded by conditions on the version field; put others into entity.Filter")
	}
	lo := versionOf(r.Values[0])
	switch r.Op {
	case expr.Eq:
		l.low, l.high = max(l.low, lo), min(l.high, lo)
	case expr.Ge:
		l.low = max(l.low, lo)
	case expr.Gt:
		l.low = max(l.low, lo+1)
	case expr.Le:
		l.high = min(l.high, lo)
	case expr.Lt:
		l.high = min(l.high, lo-1)
	case expr.Between:
		l.low, l.high = max(l.low, lo), min(l.high, versionOf(r.Values[1]))
	default:
		return l.fail("%s cannot bound versions", r.Op)
	}
	return nil
}

// versionOf returns the version in a condition's value, limited to -1 to maxVersion.
func versionOf(av types.AttributeValue) int64 {
	n, ok := av.(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	v, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil && !strings.HasPrefix(n.Value, "-") {
		return maxVersion
	}
	return min(max(v, -1), maxVersion)
}

// String describes what is read, for printed plans.
func (l *list) String() string {
	title := l.op.Verb + " " + l.c.Schema.Name + " on " + l.c.Table
	if l.err != nil {
		return title + ": " + l.err.Error()
	}
	order := "oldest first"
	if l.spec.Desc {
		order = "newest first"
	}
	return fmt.Sprintf("%s\n  read   %s, its deleted copies, and its snapshots %d to %d, %s", title, l.op.KeyText(), l.low, l.high, order)
}

// states yields the versions between low and high for which the filter holds.
func (l *list) states(ctx context.Context, low, high int64) iter.Seq2[item.Item, error] {
	run := &stateReader{c: l.c, op: l.op, low: low, high: high, desc: l.spec.Desc, current: l.spec.Current, expired: l.spec.Expired}
	return func(yield func(item.Item, error) bool) {
		if l.err != nil {
			yield(nil, l.err)
			return
		}
		if low > high {
			return
		}
		for it, err := range run.all(ctx) {
			if err == nil && !l.filter.Holds(it) {
				continue
			}
			if !yield(it, err) || err != nil {
				return
			}
		}
	}
}

func (l *list) run(ctx context.Context, f func(context.Context) error) error {
	return l.c.MeasureItem(ctx, l.op.Verb, l.op.Key, func(ctx context.Context) error {
		return f(bind.WithPace(ctx, l.spec.Budget))
	})
}

// Each calls f for each version until f returns false, up to the limit, and end after the last one.
func (l *list) Each(ctx context.Context, f func(wire.Item) (bool, error), end func() error) error {
	return l.run(ctx, func(ctx context.Context) error {
		n := 0
		for it, err := range l.states(ctx, l.low, l.high) {
			if err != nil {
				return err
			}
			if more, err := f(wire.Of(it)); err != nil || !more {
				return err
			}
			if n++; n == l.limit {
				break
			}
		}
		return end()
	})
}

func (l *list) AtMost(n int) query.Reading {
	q := *l
	if q.limit == 0 || n < q.limit {
		q.limit = n
	}
	return &q
}

// Count counts the versions, up to the limit.
func (l *list) Count(ctx context.Context) (n int, err error) {
	err = l.Each(ctx, func(wire.Item) (bool, error) {
		n++
		return true, nil
	}, func() error { return nil })
	return n, err
}

// Page passes the versions after a cursor to f, up to the limit, with the cursor of the next page.
func (l *list) Page(ctx context.Context, after string, f func([]wire.Item, query.Cursors) error) error {
	return l.run(ctx, func(ctx context.Context) error {
		low, high, err := l.rangeAfter(after)
		if err == nil {
			err = l.c.Cursor.Allow(l.c.Schema, l.c.Schema.PK, l.c.Schema.SK)
		}
		if err != nil {
			return err
		}
		var items []item.Item
		next := ""
		for it, err := range l.states(ctx, low, high) {
			if err != nil {
				return err
			}
			if l.limit > 0 && len(items) == l.limit { // there is a next page
				last := versionText(layout.StoredVersion(l.c.Schema, items[l.limit-1]))
				if next, err = l.c.Cursor.Encode(l.cursorBinding(), item.Item{"v": item.S(last)}); err != nil {
					return err
				}
				break
			}
			items = append(items, it)
		}
		return f(wire.OfAll(items), query.Cursors{Next: next})
	})
}

// cursorBinding returns a text of which each cursor carries a fingerprint, so that it works for the same list only.
func (l *list) cursorBinding() string {
	return fmt.Sprintf("%s\x00%s\x00%s\x00%d\x00%d\x00%v\x00%v", l.op.Verb, l.c.Table, layout.KeyID(l.op.Key), l.low, l.high, l.spec.Desc, l.spec.Current)
}

// rangeAfter returns the range of versions that come after a cursor.
func (l *list) rangeAfter(after string) (low, high int64, err error) {
	if low, high = l.low, l.high; after == "" || l.err != nil {
		return low, high, l.err
	}
	at, err := l.c.Cursor.Decode(l.cursorBinding(), after, []cursor.Attr{{Name: "v", Type: types.ScalarAttributeTypeS}})
	if err != nil {
		return 0, 0, err
	}
	n := versionOf(item.N(strings.TrimPrefix(at["v"].(*types.AttributeValueMemberS).Value, "~")))
	switch {
	case n < low || n > high:
		return 0, 0, &cursor.Error{Reason: cursor.Altered}
	case l.spec.Desc:
		return low, n - 1, nil
	}
	return n + 1, high, nil
}
