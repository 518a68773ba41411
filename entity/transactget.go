package entity

import (
	"context"
	"fmt"

	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// TransactGet reads up to 100 items at one instant, each into the struct that its [Ops.GetInto] was given. An item that
// is not there makes the call fail with a *[TransactError] that names it ([ErrNotFound]) and leaves every struct as it
// was. It costs one request and twice the read units of consistent reads. Errors: *[InputError] before any request;
// [ErrConflict].
func (db *DB) TransactGet(ctx context.Context, loads ...GetOp) error {
	return db.measure(ctx, "TransactGet", func(ctx context.Context) error { return db.transactGet(ctx, loads) })
}

func (db *DB) transactGet(ctx context.Context, loads []GetOp) error {
	if len(loads) == 0 {
		return nil
	}
	if len(loads) > plan.MaxActions {
		problem := fmt.Sprintf("%d loads, a transaction can have %d", len(loads), plan.MaxActions)
		return &Error{Verb: "TransactGet", Err: &InputError{Code: plan.CodeTooMany, Type: "entity.DB", Problem: problem}}
	}
	parts, err := db.loadings(loads)
	if err != nil {
		return &Error{Verb: "TransactGet", Err: err}
	}
	keys, te, seen := make([]exec.Key, len(parts)), &TransactError{}, map[string]bool{}
	fail := func(i int, err error) {
		te.Failed = append(te.Failed, OpError{Index: i, Err: parts[i].c.Wrap("GetInto", parts[i].text, err)})
	}
	for i, l := range parts {
		if keys[i] = l.key; l.err != nil {
			fail(i, l.err)
			continue
		}
		if seen[l.id()] {
			fail(i, &InputError{Code: plan.CodeSameItem, Type: l.c.Schema.Type.String(), Problem: "the item is loaded twice; a transaction can read an item once"})
		}
		seen[l.id()] = true
	}
	if len(te.Failed) > 0 {
		return te
	}
	items, err := db.runner.TransactGet(ctx, keys)
	if err != nil {
		return &Error{Verb: "TransactGet", Err: err}
	}
	for i, it := range items {
		switch it, err := parts[i].fits(it); {
		case err != nil:
			fail(i, err)
		case it == nil:
			fail(i, ErrNotFound)
		}
	}
	if len(te.Failed) > 0 {
		return te
	}
	fills := make([]func(), len(items))
	for i, it := range items {
		if fills[i], err = parts[i].decode(it); err != nil {
			fail(i, err)
		}
	}
	if len(te.Failed) > 0 {
		return te
	}
	for i, fill := range fills {
		parts[i].kept(items[i])
		fill()
	}
	return nil
}
