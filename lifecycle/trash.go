package lifecycle

import (
	"reflect"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Query reads the deleted copies of all items in one partition of the table, in the order of the sort key: those of one
// item together, the oldest first; entity.Desc turns the order around. partition has the fields of the partition key and,
// from the left, as many of the sort key as are to be fixed; one condition may bound the next of them. Other conditions go
// into entity.Filter, one on the field with the role deleted_at among them. Copies whose time to live has passed are left
// out unless entity.IncludeExpired is given.
//
// It costs a request per MB read. What lies between the copies is read, and charged, too: the items of the partition with
// their snapshots. Of one item alone, [Bin.List] reads nothing but copies.
func (b *Bin[T]) Query(partition T, opts ...entity.QueryOption) entity.Query[Copy[T]] {
	c := core.Of(b)
	src := sourceOfMany(c, "Bin.Query", expr.Cond{})
	src.Most = append([]*schema.Attr{}, c.Schema.SK.Parts...)
	return copies[T](c, query.Build(src, reflect.ValueOf(partition), opt.Queries(opts)))
}

// Scan reads the deleted copies of all items in the table, in no order, and pays for all that the table holds; see
// entity.Store.Scan. entity.Filter restricts it, by any attribute, and Limit, cursors and entity.Segments are those of any
// scan. A copy is in no index, so that an index cannot find it.
func (b *Bin[T]) Scan(opts ...entity.QueryOption) entity.Query[Copy[T]] {
	c := core.Of(b)
	s := c.Schema // of which the table may have items of another version, under another prefix
	src := sourceOfMany(c, "Bin.Scan", expr.Compare(expr.BeginsWith, expr.Attr(s.SK.Attr), item.S(s.Prefix)))
	src.Scan = true
	return copies[T](c, query.Build(src, reflect.Value{}, opt.Queries(opts)))
}

// sourceOfMany reads the copies of all items for which more holds among everything else.
func sourceOfMany(c *core.Core, verb string, more expr.Cond) query.Source {
	s, src := c.Schema, copySource(c, verb)
	src.Code, src.Other = schema.CodeUnknownTarget, "put conditions on other fields into entity.Filter"
	name, _ := plan.DeletedAttr(s)
	copied := expr.Compare(expr.Exists, expr.Attr(name))
	if s.Hidden {
		copied = expr.Compare(expr.Eq, expr.Attr(schema.KindAttr), item.S(kind))
	} else {
		src.Own, src.Needs = ownCopy(s)
	}
	base := expr.All(more, copied, expr.Compare(expr.Eq, expr.Attr(schema.EntityAttr), item.S(s.Name)))
	src.Base = func(time.Time) expr.Cond { return base }
	return src
}

// ownCopy tells the deleted copies in a shared table, where nothing but its key says what an item is.
func ownCopy(s *schema.Schema) (own func(item.Item) (bool, error), needs []string) {
	for _, a := range s.SK.Parts {
		needs = append(needs, a.Name)
	}
	return func(it item.Item) (bool, error) {
		sk, _ := plan.SortKey(s, it)
		at := strings.LastIndex(sk, infix)
		return at >= 0 && s.SK.Template.Recomposes(it, sk[:at]), nil
	}, needs
}
