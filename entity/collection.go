package entity

import (
	"context"
	"errors"
	"fmt"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/write"
)

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
func (db *DB) GetCollection(ctx context.Context, parts ...query.CollectionPart) error {
	return db.readTogether(ctx, "GetCollection", query.Opened(parts), nil)
}

// readTogether reads the queries of parts in one pass. An error of a part's items that is stop ends it without an error.
func (db *DB) readTogether(ctx context.Context, verb string, parts []*query.Part, stop error) error {
	return db.measure(ctx, verb, len(parts), func(ctx context.Context) error {
		g, err := db.compileCollection(verb, parts)
		if err != nil {
			return &Error{Verb: verb, Err: err}
		}
		take, fill := make([]func(item.Item) error, len(parts)), make([]func(), len(parts))
		for i, p := range parts {
			take[i], fill[i] = p.Start()
		}
		failed := &Error{Verb: verb, Key: parts[0].Plan.Where()}
		failed.Err = g.Run(ctx, func(i int, it item.Item) error {
			err := take[i](it)
			if err != nil {
				failed.Entity = parts[i].Core.Schema.Name
			}
			return err
		})
		switch {
		case failed.Err == nil:
			for _, f := range fill {
				f()
			}
			return nil
		case errors.Is(failed.Err, stop):
			return nil
		}
		return failed
	})
}

// compileCollection checks the parts of a verb and compiles the common query.
func (db *DB) compileCollection(verb string, parts []*query.Part) (*query.Collection, error) {
	mistake := func(code, format string, args ...any) error {
		return &InputError{Code: code, Type: "entity.DB", Problem: fmt.Sprintf(format, args...)}
	}
	if len(parts) == 0 {
		return nil, mistake(write.CodeCollection, "there is no query to read")
	}
	plans, seen := make([]*query.Plan, len(parts)), map[any]bool{}
	for i, p := range parts {
		switch {
		case p == nil:
			return nil, mistake(write.CodeForeign, "part %d is nil", i)
		case p.Plan == nil:
			return nil, mistake(write.CodeCollection, "part %d cannot be part of a collection: queries of one partition of a store, an index, a history of events or deleted items can", i)
		case p.Core.DB != engine.DatabaseOf(db):
			return nil, mistake(write.CodeForeign, "part %d belongs to another DB", i)
		case p.Problem != "":
			return nil, mistake(p.Code, "part %d %s", i, p.Problem)
		case seen[p.Into]:
			return nil, mistake(write.CodeCollection, "part %d reads into the slice of another part", i)
		case p.Plan.Err != nil:
			return nil, p.Core.Wrap(p.Plan.Verb, p.Plan.Where(), p.Plan.Err)
		}
		plans[i], seen[p.Into] = p.Plan, p.Into != nil
	}
	return query.BuildCollection(verb, plans)
}

// ErrStop is returned by a function given to [Visit] to end [DB.Each] without an error.
var ErrStop = entitytype.ErrStop

// Visit makes q a part of [DB.Each], which calls f with each item of the query, one at a time.
func Visit[T any](q Query[T], f func(T) error) query.VisitPart {
	known, ok := q.(*query.Query[T])
	if !ok {
		known = &query.Query[T]{From: query.Decoding{Reading: failing{&InputError{
			Code: write.CodeCollection, Type: typeOf((*T)(nil)).String(), Problem: "the query is nil, or was not made by this module",
		}}}}
	}
	return query.Visit(known, f)
}

// Each reads several queries of one partition in one pass, like [DB.GetCollection], and calls the function of each query with
// its items. Items of all queries come in one order, that of the sort key: a customer, then orders and payments as they follow each
// other. An item that several queries want goes to each of them, in the order of parts. All calls come from the goroutine
// that runs Each. One response of DynamoDB is held at a time.
//
// An error of a function ends Each, which returns it, wrapped in an *[Error] that names the entity. [ErrStop], also wrapped, ends
// Each without an error. What queries can be read together, their options, and what they cost are as for GetCollection, and so
// are the errors before any request, with code EDD-9127 for a nil function, too. If Each fails, functions may have been called.
func (db *DB) Each(ctx context.Context, parts ...query.VisitPart) error {
	return db.readTogether(ctx, "Each", query.Opened(parts), ErrStop)
}
