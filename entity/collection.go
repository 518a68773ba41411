package entity

import (
	"context"
	"fmt"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/query"
)

// CollectionPart is one query of [DB.GetCollection] together with the slice that receives its items, made by Into of a
// [Query]. Printing it prints the query. Only this module implements it.
type CollectionPart = core.CollectionPart

// GetCollection reads several queries of one partition in one pass, and sets the slice of each query to what its
// Collect would return: a customer with its orders and invoices, for example. Queries of a table, of an index, of a
// history of events and of deleted items can be read together, in any number, also several of one entity. All must read
// the same partition of the same table or index, in the same direction, and all consistently or none. Entities share a
// partition if its key is a verbatim template with equal text, such as `gsi1pk=TENANT#{tenantId}`, or an attribute. A
// key that begins with `$` contains the entity's name, so only queries of that entity share it.
//
// Each query keeps its own bounds, [Filter], [Limit] and [IncludeExpired]; its items come in the order of the sort key.
// GetCollection reads the one range of the sort key that spans the ranges of all queries; items between them are read
// and charged too. If every query has a Limit, reading ends when all limits are reached. With an error no slice is
// changed.
//
// It costs one request per MB of that range, and none if no query can match. Errors: before any request an
// *[InputError], with code EDD-9126 for queries that cannot be read together and EDD-9127 for no query at all, one that
// cannot be part of a collection, or a slice that is given twice; *[DecodeError].
func (db *DB) GetCollection(ctx context.Context, parts ...CollectionPart) error {
	return db.measure(ctx, "GetCollection", len(parts), func(ctx context.Context) error {
		list, g, err := db.compileCollection(parts)
		if err != nil {
			return &Error{Verb: "GetCollection", Err: err}
		}
		add, fill := make([]func(item.Item) error, len(list)), make([]func(), len(list))
		for i, p := range list {
			add[i], fill[i] = p.Collect()
		}
		failed := &Error{Verb: "GetCollection", Key: list[0].Plan.Where}
		failed.Err = g.Run(ctx, func(i int, it item.Item) error {
			err := add[i](it)
			if err != nil {
				failed.Entity = list[i].Core.Schema.Name
			}
			return err
		})
		if failed.Err != nil {
			return failed
		}
		for _, f := range fill {
			f()
		}
		return nil
	})
}

// compileCollection checks the parts and compiles the common query.
func (db *DB) compileCollection(parts []CollectionPart) ([]core.CollectionQuery, *query.Collection, error) {
	mistake := func(code, format string, args ...any) error {
		return &InputError{Code: code, Type: "entity.DB", Problem: fmt.Sprintf(format, args...)}
	}
	if len(parts) == 0 {
		return nil, nil, mistake(bind.CodeCollection, "there is no query to read")
	}
	list, plans, seen := make([]core.CollectionQuery, len(parts)), make([]*query.Plan, len(parts)), map[any]bool{}
	for i, p := range parts {
		if p == nil {
			return nil, nil, mistake(bind.CodeForeign, "part %d is nil", i)
		}
		list[i] = core.PartOf(p)
		switch l := list[i]; {
		case l.Plan == nil:
			return nil, nil, mistake(bind.CodeCollection, "part %d cannot be part of a collection: queries of a store, an index, a history of events or deleted items can", i)
		case l.Core.DB != core.DatabaseOf(db):
			return nil, nil, mistake(bind.CodeForeign, "part %d belongs to another DB", i)
		case l.Into == nil:
			return nil, nil, mistake(bind.CodePointer, "part %d needs a pointer to a slice to read into, not nil", i)
		case seen[l.Into]:
			return nil, nil, mistake(bind.CodeCollection, "part %d reads into the slice of another part", i)
		case l.Plan.Err != nil:
			return nil, nil, l.Core.Wrap(l.Plan.Verb, l.Plan.Where, l.Plan.Err)
		}
		seen[list[i].Into], plans[i] = true, list[i].Plan
	}
	g, err := query.BuildCollection(plans)
	return list, g, err
}
