package entity

import (
	"context"
	"fmt"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// CollectionPart is a query of [DB.GetCollection], and where its items go: to a slice ([Query].Into) or a function ([Query].Visit).
// Printing it shows the plan of the query.
type CollectionPart = query.CollectionPart

// ErrStop is returned by a function given to [Query].Visit to end [DB.GetCollection] without an error.
var ErrStop = sentinel.ErrStop

// GetCollection reads several queries of one partition in one pass: a customer with its orders and invoices, for example. It sets the slice
// of a part made by Into to what the query's Collect would return, and calls the function of one made by Visit with each item. Queries of a
// table, of an index, of a history of events and of deleted items can be read together, in any number, also several of one entity. All must
// read the same partition of the same table or index, in the same direction, and all consistently or none. Entities share a partition if
// its key is a verbatim template with equal text, such as `gsi1pk=TENANT#{tenantId}`, or an attribute. A key that begins with `$` contains
// the entity's name, so only queries of that entity share it.
//
// Each query keeps its own bounds, [Filter], [Limit] and [IncludeExpired]. The items of all queries come in one order, that of the sort
// key: a customer, then orders and payments as they follow each other. An item that several queries want goes to each of them, in the order
// of parts. Functions are called one at a time, from the goroutine that runs GetCollection, while one response of DynamoDB is held.
//
// GetCollection reads the one range of the sort key that spans the ranges of all queries; items between them are read
// and charged too. If every query has a Limit, reading ends when all limits are reached. With an error no slice is
// changed, but functions may have been called. An error of a function ends GetCollection, which returns it, wrapped in an
// *[Error] that names the entity; [ErrStop], also wrapped, ends it without an error, and slices get the items up to there.
//
// It costs one request per MB of that range, and none if no query can match. Errors: before any request an
// *[InputError], with code EDD-9126 for queries that cannot be read together and EDD-9127 for no query at all, one that
// cannot be part of a collection, a nil function, or a slice that is given twice; *[DecodeError].
func (db *DB) GetCollection(ctx context.Context, parts ...CollectionPart) error {
	const verb = "GetCollection"
	return db.measure(ctx, verb, len(parts), func(ctx context.Context) error {
		all, err := db.readable(parts)
		var g *query.Collection
		if err == nil {
			g, err = query.BuildCollection(verb, all)
		}
		if err != nil {
			return &Error{Verb: verb, Err: err}
		}
		part, err := g.Run(ctx)
		if err == nil {
			return nil
		}
		failed := &Error{Verb: verb, Key: all[0].Plan.Where(), Err: err}
		if part != nil {
			failed.Entity = part.Plan.Schema.Name
		}
		return failed
	})
}

// readable returns the parts of a collection, or the mistake in one of them.
func (db *DB) readable(parts []CollectionPart) ([]*query.Part, error) {
	mistake := func(code, format string, args ...any) error {
		return &InputError{Code: code, Type: "entity.DB", Problem: fmt.Sprintf(format, args...)}
	}
	if len(parts) == 0 {
		return nil, mistake(bind.CodeCollection, "there is no query to read")
	}
	all, seen := make([]*query.Part, len(parts)), map[any]bool{}
	for i, given := range parts {
		p, _ := given.(*query.Part)
		switch {
		case p == nil:
			return nil, mistake(bind.CodeForeign, "part %d is nil", i)
		case p.Plan == nil:
			return nil, mistake(bind.CodeCollection, "part %d cannot be part of a collection: queries of one partition of a store, an index, a history of events or deleted items can", i)
		case p.Plan.DB != engine.DatabaseOf(db):
			return nil, mistake(bind.CodeForeign, "part %d belongs to another DB", i)
		case p.Problem != "":
			return nil, mistake(p.Code, "part %d %s", i, p.Problem)
		case seen[p.Into]:
			return nil, mistake(bind.CodeCollection, "part %d reads into the slice of another part", i)
		case p.Plan.Err != nil:
			return nil, p.Plan.Wrap(p.Plan.Verb, p.Plan.Where(), p.Plan.Err)
		}
		all[i], seen[p.Into] = p, p.Into != nil
	}
	return all, nil
}
