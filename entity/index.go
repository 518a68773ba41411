package entity

import (
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// useFilter is the advice in errors about conditions on other fields.
const useFilter = "put conditions on other fields into entity.Filter"

// Query reads the items of one partition of the table: current items of T only, in the order of the sort key.
// partition has the fields of the partition key and, from the left, as many of the sort key as are to be fixed; a field
// outside the key that is filled in is an error. One [Cond] may bound the next part of the sort key, or two: one of [Gt] and
// [Ge], and one of [Lt] and [Le]. It costs one request per MB read. In a partition where items have events or copies beside them, these are read (and charged) too,
// and dropped.
func (s *Store[T]) Query(partition T, opts ...QueryOption) Query[T] {
	c := core.Of(s)
	return core.NewItemQuery[T](c, queryTable(c, reflect.ValueOf(partition), opt.Queries(opts)))
}

// Scan reads every current item of T in the table, reading, and paying for, all that the table holds. Only [Filter] can
// restrict it, by any attribute. Plain Scan reads page after page; see [Segments]. It costs one request per MB.
func (s *Store[T]) Scan(opts ...ScanOption) Query[T] {
	c := core.Of(s)
	return core.NewItemQuery[T](c, scanTable(c, opt.Scans(opts)))
}

// queryTable compiles the query of one partition of the table.
func queryTable(c *core.Core, partition reflect.Value, spec opt.Query) *query.Plan {
	if c.Err() != nil {
		return core.Refused(c, "Query")
	}
	src := source(c, nil)
	src.PK, src.SK, src.Base = c.Schema.PK, c.Schema.SK, inTable(c, nil)
	src.Own, src.Needs = current(c.Schema)
	return query.Build(src, partition, spec)
}

// scanTable compiles the scan of the table.
func scanTable(c *core.Core, spec opt.Scan) *query.Plan {
	if c.Err() != nil {
		return core.Refused(c, "Scan")
	}
	src := source(c, nil)
	src.Verb, src.PK, src.SK, src.Base = "Scan", c.Schema.PK, c.Schema.SK, inTable(c, nil, plan.InNamespace(c.Schema))
	src.Own, src.Needs = current(c.Schema)
	return query.BuildScan(src, spec)
}

func source(c *core.Core, x *schema.Index) query.Source {
	return query.Source{
		Schema: c.Schema, Table: c.Table, Index: x, Verb: "Query", Expire: c.Schema.Expires,
		Code: schema.CodeUnknownTarget, Other: useFilter,
	}
}

// inTable holds for the current items of s among everything in its table for which more holds.
func inTable(c *core.Core, x *schema.Index, more ...expr.Cond) func(time.Time) expr.Cond {
	s, alone := c.Schema, expr.Cond{}
	if s.HasMetadata {
		alone = expr.Compare(expr.NotExists, expr.Attr(schema.KindAttr))
	}
	cond := expr.All(append(more, alone, plan.OwnItems(s))...)
	return func(time.Time) expr.Cond { return expr.All(cond, unmarked(c, x)) }
}

// current selects the current items of s among what effect-dynamodb stores with them, which nothing in the item does: the
// sort key of a current item is what its own attributes give. It is nil where a filter is enough.
func current(s *schema.Schema) (own func(item.Item) (bool, error), needs []string) {
	if !s.Templated || s.HasMetadata || s.SK == nil {
		return nil, nil
	}
	for _, a := range s.SK.Parts {
		needs = append(needs, a.Name)
	}
	return func(it item.Item) (bool, error) {
		if attr, problem := s.Profile.CheckDigits(s.SK, it); problem != "" {
			return false, &DecodeError{Entity: s.Name, Attr: attr, Problem: problem}
		}
		sk, ok := it[s.SK.Attr].(*types.AttributeValueMemberS)
		return ok && s.SK.Template.Recomposes(it, sk.Value), nil
	}, needs
}

// Index is a secondary index of a store. It holds current items only; those that hold deleted copies are opened by package
// lifecycle.
type Index[T any] struct {
	handle
	x *schema.Index
}

// Index returns the index that T declares under name, an accessor name and not the physical one. The error is a
// *[SchemaError] with code EDD-9051.
func (s *Store[T]) Index(name string) (*Index[T], error) {
	x, err := indexNamed(core.Of(s), name)
	if err != nil {
		return nil, err
	}
	return &Index[T]{s.handle, x}, nil
}

func indexNamed(c *core.Core, name string) (*schema.Index, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	x := c.Schema.IndexNamed(name)
	switch {
	case x == nil:
		return nil, &SchemaError{Code: schema.CodeUnknownIndex, Type: c.Schema.Type.String(), Problem: "there is no index declared with the name " + name}
	case c.Schema.HoldsCopies(x):
		return nil, &SchemaError{Code: schema.CodeUnknownIndex, Type: c.Schema.Type.String(), Problem: "the index " + name + " holds deleted copies and no items; lifecycle.Deleted.Index opens it"}
	}
	return x, nil
}

// Query reads the items of one partition of the index, as [Store.Query] does for the table. Reads of a global index are
// eventually consistent: a write may not be visible yet.
func (x *Index[T]) Query(partition T, opts ...QueryOption) Query[T] {
	c := core.Of(x)
	return core.NewItemQuery[T](c, queryIndex(c, x.opened(), reflect.ValueOf(partition), opt.Queries(opts)))
}

// Scan reads every item of T in the index; see [Store.Scan].
func (x *Index[T]) Scan(opts ...ScanOption) Query[T] {
	c := core.Of(x)
	return core.NewItemQuery[T](c, scanIndex(c, x.opened(), opt.Scans(opts)))
}

// opened is what is declared of the index, nil of one that is nil or a zero value.
func (x *Index[T]) opened() *schema.Index {
	if x == nil {
		return nil
	}
	return x.x
}

// queryIndex compiles the query of one partition of an index.
func queryIndex(c *core.Core, x *schema.Index, partition reflect.Value, spec opt.Query) *query.Plan {
	if c.Err() != nil {
		return core.Refused(c, "Query")
	}
	own := expr.Cond{}
	if !x.PK.Prefixed {
		own = expr.All(plan.InNamespace(c.Schema), plan.OwnItems(c.Schema))
	}
	return query.Build(indexSource(c, x, own), partition, spec)
}

// scanIndex compiles the scan of an index.
func scanIndex(c *core.Core, x *schema.Index, spec opt.Scan) *query.Plan {
	if c.Err() != nil {
		return core.Refused(c, "Scan")
	}
	src := indexSource(c, x, expr.All(plan.InNamespace(c.Schema), plan.OwnItems(c.Schema)))
	src.Verb = "Scan"
	return query.BuildScan(src, spec)
}

// indexSource reads an index; own holds for the items of the entity in it.
func indexSource(c *core.Core, x *schema.Index, own expr.Cond) query.Source {
	src := source(c, x)
	src.PK, src.SK = x.PK, x.SK
	src.Base = func(time.Time) expr.Cond { return expr.All(own, unmarked(c, x)) }
	if x.Local {
		src.Base = inTable(c, x, plan.InNamespace(c.Schema))
		src.Own, src.Needs = current(c.Schema)
	}
	return src
}
