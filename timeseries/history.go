package timeseries

import (
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/query"
)

const atMost = expr.Le

// History reads the events of one series in the order of orderBy, entity.Desc for newest first. Conditions must be on
// orderBy (entity.Between, Ge, Gt, Le, Lt, Eq; BeginsWith for strings), at most one; those on other fields go into
// entity.Filter. Expired events are left out unless entity.IncludeExpired is given. The events hold the key, orderBy
// and what the append carried, and no enrichment. Fields of key outside the primary key are ignored, so that a current
// item will do. It costs one request per MB of events read.
func (s *Series[T]) History(key T, opts ...entity.QueryOption) entity.Query[T] {
	return s.history("History", key, opt.Queries(opts))
}

func (s *Series[T]) history(verb string, key T, spec opt.Spec) entity.Query[T] {
	c := core.Of(s)
	if c.Err() != nil {
		return core.Refused[T](c, verb)
	}
	src := query.Source{
		Schema: c.Schema, Table: c.Table, PK: c.Schema.PK, SK: s.e.half, Verb: verb, Expire: true,
		Lead: s.e.half.Parts[:len(s.e.half.Parts)-1],
		Code: plan.CodeOrderByRange, Other: "a history is read by ranges of " + s.e.orderBy.Field + "; put conditions on other fields into entity.Filter",
		Base: func(time.Time) expr.Cond { return expr.Cond{} },
	}
	if _, parts, err := plan.Key(c.Schema, reflect.ValueOf(key)); err == nil && len(c.Schema.Cased()) > 0 {
		src.Own = func(it item.Item) (bool, error) { return true, plan.SameCase(c.Schema, parts, it) }
		for _, a := range c.Schema.Cased() {
			src.Needs = append(src.Needs, a.Name)
		}
	}
	return c.Bind(query.Build(src, reflect.ValueOf(key), spec)).(entity.Query[T])
}
