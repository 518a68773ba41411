package entity

import (
	"context"
	"errors"
	"reflect"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/purge"
)

// PurgeOption is accepted by Purge: [OnProgress].
type PurgeOption interface{ opt.PurgeOption }

// OnProgress makes Purge call f after each removal with the number of items that it has removed so far, sentinels not
// counted. The calls come one after the other, from several goroutines.
func OnProgress(f func(deleted int)) PurgeOption {
	return opt.ForPurge{Do: func(s *opt.Purge) {
		if s.Progress = f; f == nil {
			s.Add(errors.New("OnProgress needs a function"))
		}
	}}
}

// Purge removes everything that belongs to the item with key's primary key, for good: the current item, its deleted
// copies, snapshots and events, expired or not, and the unique values that it still has. An item of which there is
// nothing is no error. Current item, copies and unique values go in one transaction (in several, the current item last,
// when they are more than 100); the rest goes one by one, 8 at the same time, each only as it was read. It can be
// stopped at any request and run again. It costs the reads of all of them, and a write each.
//
// Errors: [ErrConflict] when the item was there again each time that all had been removed; *[InputError].
func (s *Store[T]) Purge(ctx context.Context, key T, opts ...PurgeOption) error {
	c, spec := core.Of(s), opt.Purges(opts)
	if err := spec.Err(); err != nil {
		return c.Wrap("Purge", "", &InputError{Code: plan.CodeOption, Type: c.Schema.Type.String(), Problem: err.Error()})
	}
	primary, parts, err := plan.Key(c.Schema, reflect.ValueOf(key))
	text := plan.KeyText(c.Schema, primary)
	if err != nil {
		return c.Wrap("Purge", text, err)
	}
	p := &purge.Purge{Runner: c.Runner, Schema: c.Schema, Table: c.Table, Key: primary, Parts: parts, Progress: spec.Progress}
	return c.Measure(ctx, "Purge", text, p.Run)
}
