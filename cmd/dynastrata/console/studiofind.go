package console

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/dynastrata/dynastrata/cmd/dynastrata/internal/studio"
)

// mostHits are listed by a search.
const mostHits = 50

// Find implements studio.Data, by the search of the command find.
func (d *studioData) Find(ctx context.Context, words []string) (studio.Found, error) {
	f, err := d.s.newFinder(words, mostHits)
	if err != nil {
		return studio.Found{}, mistaken(err)
	}
	why, err := partial(f.byKeys(ctx))
	out := d.hits(f)
	out.Partial = out.Partial || why != ""
	return out, err
}

// Search implements studio.Data, by the search of find --scan.
func (d *studioData) Search(ctx context.Context, words []string, report func(studio.Progress)) (studio.Found, error) {
	f, err := d.s.newFinder(words, mostHits)
	if err != nil {
		return studio.Found{}, mistaken(err)
	}
	total := int64(0)
	for _, table := range d.s.m.tables() {
		t, err := d.s.describe(ctx, table)
		if err != nil {
			return studio.Found{}, stopped(ctx, err)
		}
		total += aws.ToInt64(t.ItemCount)
	}
	err = f.byScan(ctx, func(n int) { report(studio.Progress{Done: int64(n), Total: max(total, int64(n))}) })
	return d.hits(f), stopped(ctx, err)
}

// hits returns what a search has found.
func (d *studioData) hits(f *finder) studio.Found {
	out := studio.Found{Partial: f.more, Cost: studio.Cost{Requests: f.cost.requests, Units: f.cost.units}}
	for _, x := range f.found {
		h := studio.Hit{Entity: x.Entity, Key: d.s.m.partsOf(x.stored), Label: printable(x.keyText(), false), Why: "by " + strings.Join(x.By, ", "), Kind: x.State}
		if x.State == stateDeleted {
			h.Kind = string(KindDeleted)
			h.Why += ", deleted at " + x.Of
		}
		if h.Key != nil {
			out.Hits = append(out.Hits, h)
		}
	}
	slices.SortStableFunc(out.Hits, func(a, b studio.Hit) int { return strings.Compare(a.Entity, b.Entity) })
	return out
}

// stopped returns the error of the context if that is why a read failed.
func stopped(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		return ctx.Err()
	}
	return err
}
