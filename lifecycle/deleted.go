package lifecycle

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/wire"
)

type handle = engine.Handle

// Deleted reads, restores and purges the deleted items of type T. It is safe for concurrent use.
type Deleted[T any] struct {
	_ deletedOf[T]
	handle
	store *entity.Store[T]
}

// Of opens the deleted items of a store. The error is an *entity.SchemaError if T does not declare [SoftDelete].
func Of[T any](store *entity.Store[T]) (*Deleted[T], error) { return open[T](store) }

func open[T any](h entity.Handle) (*Deleted[T], error) {
	c := engine.Of(h)
	if err := c.Err(); err != nil {
		return nil, err
	}
	if _, ok := schema.Feature[*softDelete](c.Schema); !ok {
		return nil, &entity.SchemaError{Code: schema.CodeHandle, Type: c.Schema.Type.String(), Problem: "the struct lacks the declaration lifecycle.SoftDelete"}
	}
	return &Deleted[T]{handle: engine.NewHandle(c), store: h.(*entity.Store[T])}, nil
}

// deletedOf opens deleted items, and indexOf their indexes, for entity.Bind.
type (
	deletedOf[T any] struct{}
	indexOf[T any]   struct{ deletedOf[T] }
)

func (*deletedOf[T]) Entity() any { return (*T)(nil) }

func (*deletedOf[T]) OpenStore(db *entity.DB, opts []entity.StoreOption) (entity.Handle, error) {
	return entity.New[T](db, opts...)
}

func (*deletedOf[T]) OpenPart(store entity.Handle, _ string) (any, error) { return open[T](store) }

func (*indexOf[T]) Named() {}

func (*indexOf[T]) OpenPart(store entity.Handle, name string) (any, error) {
	d, err := open[T](store)
	if err != nil {
		return nil, err
	}
	return d.Index(name)
}

// DeletedItem is an item as it was when it was deleted.
type DeletedItem[T any] struct {
	Item      T         `json:"item"`
	DeletedAt time.Time `json:"deleted_at"`
	ExpiresAt time.Time `json:"expires_at,omitzero"` // when it can no longer be restored; zero if never
	Omitted   error     `json:"omitted,omitempty"`   // an entity.ErrOmitted for a copy without its content: Item has only what the library needs
}

// Get returns the newest deleted copy of the item with key's primary key. It costs one strongly consistent request,
// more only if copies have expired. Errors: entity.ErrNotFound; *entity.InputError.
func (d *Deleted[T]) Get(ctx context.Context, key T) (DeletedItem[T], error) {
	c := engine.Of(d)
	found, err := copyQuery[T](c, listCopies(c, "Deleted.Get", reflect.ValueOf(key), &bind.Options{})).First(ctx)
	if errors.Is(err, entity.ErrNotFound) && sharesKeys(c.Schema) {
		err = wrongCase(ctx, c, reflect.ValueOf(key))
	}
	return found, err
}

// wrongCase returns the error for a key without a copy: that of the newest copy if the stored key differs in case,
// otherwise entity.ErrNotFound.
func wrongCase(ctx context.Context, c *engine.Core, key reflect.Value) error {
	op := new(plan.Op).Begin(c.Schema, c.Table, "Deleted.Get", key, nil, &bind.Options{})
	return c.MeasureItem(ctx, op.Verb, op.Key, func(ctx context.Context) error {
		_, it, err := plan.ReadNewest(ctx, c.Runner, op, schema.CopyInfix, c.Runner.Clock(), true)
		if err == nil {
			err = layout.SameCase(c.Schema, op.Parts, it.Item)
		}
		if err == nil {
			err = entity.ErrNotFound
		}
		return err
	})
}

// ListOption is accepted by [Deleted.List]: entity.Filter, entity.Limit, entity.MaxEvaluated, entity.MaxRequests,
// entity.Consistent, entity.IncludeExpired.
type ListOption interface{ bind.DeletedOption }

// List reads the deleted copies of one item, newest first, at one strongly consistent request per MB. Expired copies are left out unless
// entity.IncludeExpired is given.
func (d *Deleted[T]) List(key T, opts ...ListOption) entity.Query[DeletedItem[T]] {
	c := engine.Of(d)
	return copyQuery[T](c, listCopies(c, "Deleted.List", reflect.ValueOf(key), bind.Collect(opts)))
}

// listCopies compiles the query of one item's deleted copies.
func listCopies(c *engine.Core, verb string, v reflect.Value, spec *bind.Options) *query.Plan {
	if c.Err() != nil {
		return query.ClosedQuery(c, verb)
	}
	src := copiesSource(c, verb)
	src.Exact, src.Base = true, func() expr.Cond { return expr.Cond{} }
	if _, parts, err := bind.Key(c.Schema, v, nil, nil); err == nil && len(c.Schema.Folded) > 0 {
		src.Own = func(it item.Item) (bool, error) {
			err := layout.SameCase(c.Schema, parts, it)
			if sharesKeys(c.Schema) {
				return err == nil, nil
			}
			return true, err
		}
		for _, a := range c.Schema.Folded {
			src.Needs = append(src.Needs, a.Name)
		}
	}
	newest := *spec
	newest.Desc = true
	return query.Build(src, v, &newest)
}

// sharesKeys reports whether copies of items whose keys differ only in case can be stored under one key: if creating an
// item does not read earlier copies.
func sharesKeys(s *schema.Schema) bool {
	return len(s.Folded) > 0 && !s.LooksBack
}

// Query reads the deleted copies of all items in one partition of the table, in the order of the sort key: those of one item together,
// oldest first, or newest first with entity.Desc. partition has the fields of the partition key and, from the left, the fields of the sort
// key that are fixed; one condition may bound the next field. Other conditions go into entity.Filter, including one on the field with the
// role deleted_at. Expired copies are left out unless entity.IncludeExpired is given.
//
// It costs one strongly consistent request per MB read. DynamoDB also reads, and charges, what is stored between the copies: the items of
// the partition and their snapshots. [Deleted.List], for one item, reads copies only.
func (d *Deleted[T]) Query(partition T, opts ...entity.QueryOption) entity.Query[DeletedItem[T]] {
	c := engine.Of(d)
	if c.Err() != nil {
		return copyQuery[T](c, query.ClosedQuery(c, "Deleted.Query"))
	}
	src := tableSource(c, "Deleted.Query", expr.Cond{})
	return copyQuery[T](c, query.Build(src, reflect.ValueOf(partition), bind.Collect(opts)))
}

// Scan reads the deleted copies of all items in the table, in no order, and costs a strongly consistent read of the whole table; see
// entity.Store.Scan. entity.Filter restricts it by any attribute; entity.Limit, entity.Segments and cursors work as for any scan.
func (d *Deleted[T]) Scan(opts ...entity.ScanOption) entity.Query[DeletedItem[T]] {
	c := engine.Of(d)
	if c.Err() != nil {
		return copyQuery[T](c, query.ClosedQuery(c, "Deleted.Scan"))
	}
	src := tableSource(c, "Deleted.Scan", c.Schema.InNamespace)
	return copyQuery[T](c, query.BuildScan(src, bind.Collect(opts)))
}

// Index is an index of deleted copies. The field with the role deleted_at is a part of its key. Current items have no
// such time, so they are not in the index.
//
//	_ entity.GSI `name:"deleted" index:"gsi2" pk:"$#{tenantId}" sk:"$#{deletedAt}"`
//
// A global index is eventually consistent, as always, and a local one is read consistently. Neither is read from Config.ReadClient. It
// costs one write for each delete, restore and purge of an item that is in it.
type Index[T any] struct {
	_ indexOf[T]
	handle
	x *schema.Index
}

// Index returns the index of deleted copies that T declares under name. The error is an *entity.SchemaError with code EDD-9051 if T
// declares no index of that name, or if the index holds current items, which [entity.Store.Index] returns.
func (d *Deleted[T]) Index(name string) (*Index[T], error) {
	x, err := indexOfCopies(engine.Of(d), name)
	if err != nil {
		return nil, err
	}
	return &Index[T]{handle: engine.HandleOf(d), x: x}, nil
}

func indexOfCopies(c *engine.Core, name string) (*schema.Index, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	x := c.Schema.IndexNamed(name)
	if x == nil || !c.Schema.HoldsCopies(x) {
		return nil, &entity.SchemaError{Code: schema.CodeUnknownIndex, Type: c.Schema.Type.String(), Problem: "T declares no index of deleted copies with the name " + name + c.Schema.KnownIndexes(true)}
	}
	return x, nil
}

// Query reads the deleted copies in one partition of the index, in the order of its sort key: if this begins with the time of the delete,
// oldest first, or newest first with entity.Desc. Fields, conditions and costs are those of entity.Index.Query; a condition on the field
// with the role deleted_at can bound the key. Expired copies are left out unless entity.IncludeExpired is given.
func (x *Index[T]) Query(partition T, opts ...entity.QueryOption) entity.Query[DeletedItem[T]] {
	c := engine.Of(x)
	if c.Err() != nil {
		return copyQuery[T](c, query.ClosedQuery(c, "Deleted.Index.Query"))
	}
	return copyQuery[T](c, query.BuildEach(indexSource(c, x.x, "Deleted.Index.Query"), reflect.ValueOf(partition), bind.Collect(opts))...)
}

// Scan reads every deleted copy in the index; see [Deleted.Scan].
func (x *Index[T]) Scan(opts ...entity.ScanOption) entity.Query[DeletedItem[T]] {
	c := engine.Of(x)
	if c.Err() != nil {
		return copyQuery[T](c, query.ClosedQuery(c, "Deleted.Index.Scan"))
	}
	src := indexSource(c, x.x, "Deleted.Index.Scan")
	return copyQuery[T](c, query.BuildScan(src, bind.Collect(opts)))
}

// indexSource reads an index. Of this entity it holds deleted copies only, but other entities may have items in it.
func indexSource(c *engine.Core, x *schema.Index, verb string) query.Source {
	src := copiesSource(c, verb)
	src.Index, src.PK, src.SK, src.Spread = x, x.PK, x.SK, x.Shards
	src.Code, src.Other = schema.CodeUnknownTarget, useFilter
	base := expr.All(c.Schema.InNamespace, c.Schema.Own)
	src.Base = func() expr.Cond { return base }
	return src
}

// useFilter is the advice in errors about conditions on other fields.
const useFilter = "put conditions on other fields into entity.Filter"

// tableSource reads the copies of all items for which more holds, among everything in the table.
func tableSource(c *engine.Core, verb string, more expr.Cond) query.Source {
	s, src := c.Schema, copiesSource(c, verb)
	src.Code, src.Other = schema.CodeUnknownTarget, useFilter
	name, _ := layout.DeletedAttr(s)
	copied := expr.Compare(expr.Exists, expr.Attr(name))
	if s.HasMetadata {
		copied = expr.Compare(expr.Eq, expr.Attr(schema.KindAttr), item.S(layout.CopyKind))
	} else {
		for _, a := range s.SK.Parts { // in a shared table, only the key shows what an item is
			src.Needs = append(src.Needs, a.Name)
		}
		src.Own = func(it item.Item) (bool, error) {
			kind, known := layout.KindOf(s, it)
			return known && kind == layout.CopyKind, nil
		}
	}
	base := expr.All(more, copied, s.Own)
	src.Base = func() expr.Cond { return base }
	return src
}

// copyQuery makes a query of deleted copies from its plans.
func copyQuery[T any](c *engine.Core, plans ...*query.Plan) entity.Query[DeletedItem[T]] {
	d := query.Items(query.OfEach("", plans))
	decode := d.Decode
	d.Decode = func(it wire.Item, into any) error {
		deleted := into.(*DeletedItem[T])
		if err := decode(it, &deleted.Item); err != nil {
			return err
		}
		stored, err := layout.Open(c.Schema, it.Map())
		if err == nil {
			deleted.Omitted = bind.Omitted(c.Schema, stored.Item)
			deleted.DeletedAt, deleted.ExpiresAt, err = copyTimes(c.Schema, stored.Item)
		}
		return layout.OfItem(c.Schema, stored.Raw, err)
	}
	return &query.Query[DeletedItem[T]]{From: d}
}

// copiesSource reads items whose sort key is that of a deleted copy.
func copiesSource(c *engine.Core, verb string) query.Source {
	name, format := layout.DeletedAttr(c.Schema)
	sk := layout.RelatedSortKey(c.Schema, schema.CopyInfix, &schema.Attr{Name: name}, &key.Field{Attr: name, Kind: key.Time, Time: format})
	return query.Source{Core: c, PK: c.Schema.PK, SK: sk, Verb: verb, Expire: true, Truth: true}
}

// copyTimes returns when a stored copy was deleted and when it expires; zero if never.
func copyTimes(s *schema.Schema, it item.Item) (deleted, expires time.Time, err error) {
	name, format := layout.DeletedAttr(s)
	if deleted, err = format.FromValue(it[name]); err != nil {
		return deleted, expires, &entity.DecodeError{Entity: s.Name, Attr: name, Problem: "it is not a time"}
	}
	if n, ok := it[s.Options.TTL].(*types.AttributeValueMemberN); ok {
		if expires, err = key.Unix.FromValue(n); err != nil {
			return deleted, expires, &entity.DecodeError{Entity: s.Name, Attr: s.Options.TTL, Problem: "it is not a time in seconds: it " + err.Error()}
		}
	}
	return deleted, expires, nil
}

// Purge removes the item for good, with its deleted copies, its snapshots and the unique values that it holds; see entity.Store.Purge.
func (d *Deleted[T]) Purge(ctx context.Context, key T, opts ...entity.PurgeOption) error {
	if err := engine.Of(d).Err(); err != nil {
		return engine.Of(d).Wrap("Purge", "", err)
	}
	return d.store.Purge(ctx, key, opts...)
}
