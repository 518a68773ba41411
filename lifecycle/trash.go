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
// their snapshots. Of one item alone, [Deleted.List] reads nothing but copies.
func (b *Deleted[T]) Query(partition T, opts ...entity.QueryOption) entity.Query[DeletedItem[T]] {
	c := core.Of(b)
	if c.Err() != nil {
		return copies[T](c, core.Refused(c, "Deleted.Query"))
	}
	src := sourceOfMany(c, "Deleted.Query", expr.Cond{})
	src.Most = append([]*schema.Attr{}, c.Schema.SK.Parts...)
	return copies[T](c, query.Build(src, reflect.ValueOf(partition), opt.Queries(opts)))
}

// Scan reads the deleted copies of all items in the table, in no order, and pays for all that the table holds; see
// entity.Store.Scan. entity.Filter restricts it, by any attribute, and Limit, cursors and entity.Segments are those of any
// scan.
func (b *Deleted[T]) Scan(opts ...entity.ScanOption) entity.Query[DeletedItem[T]] {
	c := core.Of(b)
	if c.Err() != nil {
		return copies[T](c, core.Refused(c, "Deleted.Scan"))
	}
	src := sourceOfMany(c, "Deleted.Scan", inNamespace(c.Schema))
	return copies[T](c, query.BuildScan(src, opt.Scans(opts)))
}

// Index is an index of deleted copies, the trash of whatever its partition is: one whose key has the field with the role
// deleted_at as a part. Current items are not in it, since they have no such time.
//
//	_ entity.GSI `name:"trash" index:"gsi2" pk:"$#{tenantId}" sk:"$#{deletedAt}"`
//
// Like other indexes it is eventually consistent, unless it is a local one, and costs a write for each delete, restore and
// purge of an item that is in it.
type Index[T any] struct {
	handle
	x *schema.Index
}

// Index returns the index of deleted copies that T declares under name. The error is an *entity.SchemaError with code
// EDD-9051 when there is none of that name, or when it holds current items, as [entity.Store.Index] returns.
func (b *Deleted[T]) Index(name string) (*Index[T], error) {
	x, err := indexOfCopies(core.Of(b), name)
	if err != nil {
		return nil, err
	}
	return &Index[T]{core.HandleOf(b), x}, nil
}

func indexOfCopies(c *core.Core, name string) (*schema.Index, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	x := c.Schema.IndexNamed(name)
	if x == nil || !c.Schema.OfCopies(x) {
		return nil, &entity.SchemaError{Code: schema.CodeUnknownIndex, Type: c.Schema.Type.String(), Problem: "there is no index of deleted copies declared with the name " + name}
	}
	return x, nil
}

// Query reads the deleted copies in one partition of the index, in the order of its sort key: the oldest delete first
// where the key begins with its time, or, with entity.Desc, the newest. Fields, conditions and costs are those of
// entity.Index.Query; a condition on the field with the role deleted_at can bound the key. Copies whose time to live has
// passed are left out unless entity.IncludeExpired is given.
func (x *Index[T]) Query(partition T, opts ...entity.QueryOption) entity.Query[DeletedItem[T]] {
	c := core.Of(x)
	if c.Err() != nil {
		return copies[T](c, core.Refused(c, "Deleted.Index.Query"))
	}
	return copies[T](c, query.Build(sourceOfIndex(c, x.x, "Deleted.Index.Query"), reflect.ValueOf(partition), opt.Queries(opts)))
}

// Scan reads every deleted copy in the index; see [Deleted.Scan].
func (x *Index[T]) Scan(opts ...entity.ScanOption) entity.Query[DeletedItem[T]] {
	c := core.Of(x)
	if c.Err() != nil {
		return copies[T](c, core.Refused(c, "Deleted.Index.Scan"))
	}
	src := sourceOfIndex(c, x.x, "Deleted.Index.Scan")
	return copies[T](c, query.BuildScan(src, opt.Scans(opts)))
}

// sourceOfIndex reads an index. What the entity has in it are deleted copies; other entities can have items in it, too.
func sourceOfIndex(c *core.Core, x *schema.Index, verb string) query.Source {
	src := copySource(c, verb)
	src.Index, src.PK, src.SK = x, x.PK, x.SK
	src.Code, src.Other = schema.CodeUnknownTarget, useFilter
	base := expr.All(inNamespace(c.Schema), ofEntity(c.Schema))
	src.Base = func(time.Time) expr.Cond { return base }
	return src
}

// useFilter is the advice in errors about conditions on other fields.
const useFilter = "put conditions on other fields into entity.Filter"

func ofEntity(s *schema.Schema) expr.Cond {
	return expr.Compare(expr.Eq, expr.Attr(schema.EntityAttr), item.S(s.Name))
}

// inNamespace holds for what is not of an entity of the same name in another version or namespace.
func inNamespace(s *schema.Schema) expr.Cond {
	return expr.Compare(expr.BeginsWith, expr.Attr(s.SK.Attr), item.S(s.Prefix))
}

// sourceOfMany reads the copies of all items for which more holds among everything else.
func sourceOfMany(c *core.Core, verb string, more expr.Cond) query.Source {
	s, src := c.Schema, copySource(c, verb)
	src.Code, src.Other = schema.CodeUnknownTarget, useFilter
	name, _ := plan.DeletedAttr(s)
	copied := expr.Compare(expr.Exists, expr.Attr(name))
	if s.HasMetadata {
		copied = expr.Compare(expr.Eq, expr.Attr(schema.KindAttr), item.S(kind))
	} else {
		src.Own, src.Needs = ownCopy(s)
	}
	base := expr.All(more, copied, ofEntity(s))
	src.Base = func(time.Time) expr.Cond { return base }
	return src
}

// ownCopy knows the deleted copies in a shared table, where nothing but its key says what an item is.
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
