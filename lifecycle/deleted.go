package lifecycle

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/schema"
)

type handle = core.Handle

// Deleted reads and restores the deleted items of type T. It is safe for concurrent use.
type Deleted[T any] struct {
	handle
	store *entity.Store[T]
}

// Of opens the bin of a store. The error is an *entity.SchemaError when T does not declare [SoftDelete].
func Of[T any](store *entity.Store[T]) (*Deleted[T], error) {
	c := core.Of(store)
	if err := c.Err(); err != nil {
		return nil, err
	}
	if _, ok := schema.Feature[*softDelete](c.Schema); !ok {
		return nil, &entity.SchemaError{Code: schema.CodeHandle, Type: c.Schema.Type.String(), Problem: "the struct lacks the declaration lifecycle.SoftDelete"}
	}
	return &Deleted[T]{core.NewHandle(c), store}, nil
}

// DeletedItem is an item as it was deleted.
type DeletedItem[T any] struct {
	Item      T
	DeletedAt time.Time
	ExpiresAt time.Time // when its time to live ends; zero: never
}

// Get returns the newest deleted copy of the item with key's primary key. It is strongly consistent and costs one
// request; more only when copies have expired. Errors: entity.ErrNotFound; *entity.InputError.
func (d *Deleted[T]) Get(ctx context.Context, key T) (DeletedItem[T], error) {
	c := core.Of(d)
	found, err := copyQuery[T](c, listCopies(c, "Deleted.Get", reflect.ValueOf(key), opt.Spec{Strong: true})).First(ctx)
	if errors.Is(err, entity.ErrNotFound) && sharesKeys(c.Schema) {
		err = wrongCase(ctx, c, reflect.ValueOf(key))
	}
	return found, err
}

// otherSpelling is the error where no copy has the key as it is given: that of the newest copy under the stored key, if
// it is spelled in another case.
func wrongCase(ctx context.Context, c *core.Core, key reflect.Value) error {
	op, _ := plan.Begin(c.Schema, c.Table, "Deleted.Get", key, opt.Spec{})
	return c.Measure(ctx, op.Verb, op.KeyIs, func(ctx context.Context) error {
		it, err := plan.Newest(ctx, c.Runner, op, schema.CopyInfix, c.Runner.Clock())
		if err == nil {
			err = plan.SameCase(c.Schema, op.Parts, it)
		}
		if err == nil {
			err = entity.ErrNotFound
		}
		return err
	})
}

// List reads the deleted copies of one item, the newest first, a request per MB. Copies whose time to live has passed
// are left out unless entity.IncludeExpired is given. It takes no range condition; entity.Filter takes any other.
func (d *Deleted[T]) List(key T, opts ...entity.QueryOption) entity.Query[DeletedItem[T]] {
	c := core.Of(d)
	return copyQuery[T](c, listCopies(c, "Deleted.List", reflect.ValueOf(key), opt.Queries(opts)))
}

// list compiles the query of one item's deleted copies.
func listCopies(c *core.Core, verb string, v reflect.Value, spec opt.Spec) *query.Plan {
	if c.Err() != nil {
		return core.Refused(c, verb)
	}
	spec.Desc = true
	src := copiesSource(c, verb)
	src.Lead, src.Base = append([]*schema.Attr{}, c.Schema.SK.Parts...), func(time.Time) expr.Cond { return expr.Cond{} }
	src.Code, src.Other = plan.CodeOption, "the bin is read whole; put conditions into entity.Filter"
	if _, parts, err := plan.Key(c.Schema, v); err == nil && len(c.Schema.Cased()) > 0 {
		src.Own = func(it item.Item) (bool, error) {
			err := plan.SameCase(c.Schema, parts, it)
			if sharesKeys(c.Schema) {
				return err == nil, nil
			}
			return true, err
		}
		for _, a := range c.Schema.Cased() {
			src.Needs = append(src.Needs, a.Name)
		}
	}
	if len(spec.Range) > 0 {
		spec.Errs = append(spec.Errs, &entity.InputError{Code: plan.CodeOption, Type: c.Schema.Type.String(), Problem: src.Other})
	}
	return query.Build(src, v, spec)
}

// shared reports that copies of items whose keys differ in case can lie under one key: where a new life begins without a
// look at earlier ones.
func sharesKeys(s *schema.Schema) bool {
	f, _ := schema.Feature[*softDelete](s)
	_, retains := schema.Feature[plan.Snapshotter](s)
	return len(s.Cased()) > 0 && !retains && !f.reserve
}

// Query reads the deleted copies of all items in one partition of the table, in the order of the sort key: those of one
// item together, the oldest first; entity.Desc turns the order around. partition has the fields of the partition key and,
// from the left, as many of the sort key as are to be fixed; one condition may bound the next of them. Other conditions go
// into entity.Filter, one on the field with the role deleted_at among them. Copies whose time to live has passed are left
// out unless entity.IncludeExpired is given.
//
// It costs a request per MB read. What lies between the copies is read, and charged, too: the items of the partition with
// their snapshots. Of one item alone, [Deleted.List] reads nothing but copies.
func (d *Deleted[T]) Query(partition T, opts ...entity.QueryOption) entity.Query[DeletedItem[T]] {
	c := core.Of(d)
	if c.Err() != nil {
		return copyQuery[T](c, core.Refused(c, "Deleted.Query"))
	}
	src := tableSource(c, "Deleted.Query", expr.Cond{})
	src.Most = append([]*schema.Attr{}, c.Schema.SK.Parts...)
	return copyQuery[T](c, query.Build(src, reflect.ValueOf(partition), opt.Queries(opts)))
}

// Scan reads the deleted copies of all items in the table, in no order, and pays for all that the table holds; see
// entity.Store.Scan. entity.Filter restricts it, by any attribute, and Limit, cursors and entity.Segments are those of any
// scan.
func (d *Deleted[T]) Scan(opts ...entity.QueryOption) entity.Query[DeletedItem[T]] {
	c := core.Of(d)
	if c.Err() != nil {
		return copyQuery[T](c, core.Refused(c, "Deleted.Scan"))
	}
	src := tableSource(c, "Deleted.Scan", plan.InNamespace(c.Schema))
	src.Scan = true
	return copyQuery[T](c, query.Build(src, reflect.Value{}, opt.Queries(opts)))
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
func (d *Deleted[T]) Index(name string) (*Index[T], error) {
	x, err := indexOfCopies(core.Of(d), name)
	if err != nil {
		return nil, err
	}
	return &Index[T]{core.HandleOf(d), x}, nil
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
		return copyQuery[T](c, core.Refused(c, "Deleted.Index.Query"))
	}
	return copyQuery[T](c, query.Build(indexSource(c, x.x, "Deleted.Index.Query"), reflect.ValueOf(partition), opt.Queries(opts)))
}

// Scan reads every deleted copy in the index; see [Deleted.Scan].
func (x *Index[T]) Scan(opts ...entity.QueryOption) entity.Query[DeletedItem[T]] {
	c := core.Of(x)
	if c.Err() != nil {
		return copyQuery[T](c, core.Refused(c, "Deleted.Index.Scan"))
	}
	src := indexSource(c, x.x, "Deleted.Index.Scan")
	src.Scan = true
	return copyQuery[T](c, query.Build(src, reflect.Value{}, opt.Queries(opts)))
}

// sourceOfIndex reads an index. What the entity has in it are deleted copies; other entities can have items in it, too.
func indexSource(c *core.Core, x *schema.Index, verb string) query.Source {
	src := copiesSource(c, verb)
	src.Index, src.PK, src.SK = x, x.PK, x.SK
	src.Code, src.Other = schema.CodeUnknownTarget, useFilter
	base := expr.All(plan.InNamespace(c.Schema), plan.OfEntity(c.Schema))
	src.Base = func(time.Time) expr.Cond { return base }
	return src
}

// useFilter is the advice in errors about conditions on other fields.
const useFilter = "put conditions on other fields into entity.Filter"

// sourceOfMany reads the copies of all items for which more holds among everything else.
func tableSource(c *core.Core, verb string, more expr.Cond) query.Source {
	s, src := c.Schema, copiesSource(c, verb)
	src.Code, src.Other = schema.CodeUnknownTarget, useFilter
	name, _ := plan.DeletedAttr(s)
	copied := expr.Compare(expr.Exists, expr.Attr(name))
	if s.HasMetadata {
		copied = expr.Compare(expr.Eq, expr.Attr(schema.KindAttr), item.S(schema.CopyKind))
	} else {
		src.Own, src.Needs = ownCopy(s)
	}
	base := expr.All(more, copied, plan.OfEntity(s))
	src.Base = func(time.Time) expr.Cond { return base }
	return src
}

// ownCopy knows the deleted copies in a shared table, where nothing but its key says what an item is.
func ownCopy(s *schema.Schema) (own func(item.Item) (bool, error), needs []string) {
	for _, a := range s.SK.Parts {
		needs = append(needs, a.Name)
	}
	return func(it item.Item) (bool, error) {
		current, ok := plan.CurrentKey(s, it, schema.CopyInfix)
		if !ok {
			return false, nil
		}
		sk, _ := plan.SortKey(s, current)
		return s.SK.Template.Recomposes(it, sk), nil
	}, needs
}

// copies makes a query of deleted copies of its plan.
func copyQuery[T any](c *core.Core, p *query.Plan) entity.Query[DeletedItem[T]] {
	codec := c.Schema.CodecOf(p.Index)
	return core.NewQuery[DeletedItem[T]](core.Planned(c, p), func(it item.Item, into any) (err error) {
		deleted := into.(*DeletedItem[T])
		if err = c.DecodeBy(codec, it, &deleted.Item); err == nil {
			deleted.DeletedAt, deleted.ExpiresAt, err = copyTimes(c.Schema, it)
		}
		return err
	})
}

// copySource reads what has the sort key of a deleted copy.
func copiesSource(c *core.Core, verb string) query.Source {
	return query.Source{Schema: c.Schema, Table: c.Table, PK: c.Schema.PK, SK: copySortKey(c.Schema), Verb: verb, Expire: true}
}

// copyHalf is the sort key of deleted copies.
func copySortKey(s *schema.Schema) *schema.KeyDef {
	name, format := plan.DeletedAttr(s)
	return plan.SatelliteSortKey(s, schema.CopyInfix, &schema.Attr{Name: name}, &key.Field{Attr: name, Kind: key.Time, Time: format})
}

// times are when a stored copy was deleted and when it expires; zero: never.
func copyTimes(s *schema.Schema, it item.Item) (deleted, expires time.Time, err error) {
	name, format := plan.DeletedAttr(s)
	if deleted, err = format.FromValue(it[name]); err != nil {
		return deleted, expires, &entity.DecodeError{Entity: s.Name, Attr: name, Problem: "it is not a time"}
	}
	if n, ok := it[s.Options.TTL].(*types.AttributeValueMemberN); ok {
		if expires, err = key.Unix.FromValue(n); err != nil {
			return deleted, expires, &entity.DecodeError{Entity: s.Name, Attr: s.Options.TTL, Problem: "it is no time in seconds: it " + err.Error()}
		}
	}
	return deleted, expires, nil
}

// Purge removes the item for good, with its deleted copies, its snapshots and the unique values that it still has; see
// entity.Store.Purge.
func (d *Deleted[T]) Purge(ctx context.Context, key T, opts ...entity.PurgeOption) error {
	if err := core.Of(d).Err(); err != nil {
		return core.Of(d).Wrap("Purge", "", err)
	}
	return d.store.Purge(ctx, key, opts...)
}
