package console

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/unique"
)

// restore restores the deleted item of a key, or of every key with the given parts.
func (s *session) restore(ctx context.Context, c *cli.Command) error {
	x, err := s.store(ctx, c)
	if err != nil {
		return err
	}
	e, g, err := s.target(c)
	if err != nil {
		return err
	}
	if err := g.only(e.s.PK, e.s.SK); err != nil {
		return err
	}
	if !x.restores() {
		return invalid(bind.CodeConsoleProgram, "%s has no soft delete", e.s.Name)
	}
	if len(g) < len(e.partNames()) {
		return s.restoreMany(ctx, c, x, e, g)
	}
	return s.restoreOne(ctx, c)
}

func (s *session) restoreOne(ctx context.Context, c *cli.Command) error {
	x, f, e, value, err := s.item(ctx, c)
	if err != nil {
		return err
	}
	copies := f.of(KindDeleted)
	if len(copies) == 0 {
		return fmt.Errorf("%w: no deleted copy of %s with this key", errNotFound, e.s.Name)
	}
	newest := copies[len(copies)-1]
	if c.Bool("dry-run") {
		return s.result(e.s.Name, "would restore the copy deleted at "+newest.Of, map[string]any{"deleted": newest.Of})
	}
	if err := s.confirm(ctx, c, fmt.Sprintf("Restore %s %s, deleted at %s?", e.s.Name, newest.keyText(), newest.Of)); err != nil {
		return err
	}
	s.resume = s.again(c, "")
	if err := x.restore(ctx, value); err != nil {
		return err
	}
	return s.result(e.s.Name, "restored", map[string]any{"restored": newest.Of})
}

// restoreMany restores the deleted items with the given parts. It reads the table twice: to count them, and to restore them.
func (s *session) restoreMany(ctx context.Context, c *cli.Command, x store, e *entityModel, g given) error {
	n := 0
	bar := newProgress(s.err, "read "+e.table, 0)
	err := s.deleted(ctx, e, g, func(stored) error { n++; bar.set(int64(n)); return nil })
	bar.clear()
	switch {
	case err != nil:
		return err
	case n == 0:
		return fmt.Errorf("%w: no deleted %s with these parts", errNotFound, e.s.Name)
	case c.Bool("dry-run"):
		return s.result(e.s.Name, "would restore "+count(n, "item"), map[string]any{"items": n})
	}
	if err := s.confirm(ctx, c, fmt.Sprintf("Restore %s of %s?", count(n, "deleted item"), e.s.Name)); err != nil {
		return err
	}
	s.resume = s.again(c, "")
	restored, taken := 0, 0
	bar = newProgress(s.err, "restore "+e.s.Name, int64(n))
	defer bar.clear()
	err = s.deleted(ctx, e, g, func(y stored) error {
		var violation *unique.ViolationError
		switch err := x.restore(ctx, e.keyAttributes(y)); {
		case errors.As(err, &violation):
			taken++
			bar.clear()
			if s.out.json {
				return s.out.object(map[string]any{"name": e.s.Name, "notRestored": plainOf(y.Parts)})
			}
			s.out.line("%s  %s %s: a unique value is taken", s.out.alarm("not restored"), e.s.Name, y.keyText())
		case errors.Is(err, entity.ErrNotDeleted), errors.Is(err, entity.ErrNotFound): // changed since it was read
		case err != nil:
			return err
		default:
			restored++
			s.wrote = count(restored, "item") + " restored"
		}
		bar.set(int64(restored + taken))
		return nil
	})
	if err != nil {
		return err
	}
	bar.clear()
	if err := s.result(e.s.Name, "restored "+count(restored, "item"), map[string]any{"restored": restored, "taken": taken}); err != nil || taken == 0 {
		return err
	}
	return fmt.Errorf("%s could not be restored", count(taken, "item"))
}

// deleted calls f for a deleted copy of each item of e that has the given parts and is deleted. It holds one page of items.
func (s *session) deleted(ctx context.Context, e *entityModel, g given, f func(stored) error) error {
	last := "" // copies of an item follow each other
	for page, err := range s.scan(ctx, e.table, &spent{}) {
		if err != nil {
			return err
		}
		for _, it := range page {
			x := s.m.decode(e.table, it, s.app.Clock())
			if x.model != e || x.Kind != KindDeleted || x.Expired || !g.matches(it, e.s.PK, e.s.SK) || layout.KeyID(x.owner) == last {
				continue
			}
			last = layout.KeyID(x.owner)
			current, err := s.get(ctx, e.table, x.owner, &spent{})
			if err != nil {
				return err
			}
			if current != nil { // made again after the delete
				continue
			}
			if err := f(x); err != nil {
				return err
			}
		}
	}
	return nil
}

// keyAttributes returns the key of the item that x belongs to, with its parts as attributes.
func (e *entityModel) keyAttributes(x stored) item.Item {
	whole := item.Clone(x.owner)
	for _, k := range []*schema.KeyDef{e.s.PK, e.s.SK} {
		if k == nil {
			continue
		}
		for _, a := range k.Parts {
			if av, ok := x.raw[a.Name]; ok {
				whole[a.Name] = av
			}
		}
	}
	return whole
}
