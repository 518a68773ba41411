package console

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

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
	e, g, err := s.target(c.Args().Slice())
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
	return s.undelete(ctx, c)
}

// restoring many items: first they are read and listed, and after the question read again and restored, each as it was listed.
type manyRestores struct {
	s       *session
	e       *entityModel
	listed  map[digest]bool // the copies to restore
	claimed map[digest]bool // the unique values that these claim
	cannot  int             // items that cannot be restored
}

// digest stands for a text in a set that is kept in memory.
type digest [16]byte

func digestOf(texts ...string) digest {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return digest(sum[:16])
}

func copyDigest(x stored) digest { return digestOf(layout.KeyID(x.owner), x.Of) }

// mostListed is how many items are listed before the question. A dry run lists all.
const mostListed = 20

func (s *session) restoreMany(ctx context.Context, c *cli.Command, x store, e *entityModel, g given) error {
	if _, err := s.named(ctx, x); err != nil {
		return err
	}
	m := &manyRestores{s: s, e: e, listed: map[digest]bool{}, claimed: map[digest]bool{}}
	dry := c.Bool("dry-run")
	read, err := s.deleted(ctx, e, g, "read "+e.table, 0, func(y stored, bar *progress) error { return m.list(ctx, y, bar, dry) })
	n := len(m.listed)
	switch {
	case err != nil:
		return err
	case n+m.cannot == 0:
		return fmt.Errorf("%w: no deleted %s with these parts", errNotFound, e.s.Name)
	case dry && s.out.json:
		return s.out.object(map[string]any{"name": e.s.Name, "items": n, "taken": m.cannot})
	case dry:
		return s.result(e.s.Name, "would restore "+count(n, "item")+m.others(), nil)
	case n == 0:
		return fmt.Errorf("%s cannot be restored", count(m.cannot, "item"))
	}
	if n > mostListed {
		s.err.line("and %d more; --dry-run lists all", n-mostListed)
	}
	if err := s.confirm(ctx, c, fmt.Sprintf("Restore %s of %s%s?", count(n, "deleted item"), e.s.Name, m.others())); err != nil {
		return err
	}
	s.resume = s.again(c, "")
	return m.run(ctx, x, g, read)
}

// others says how many items cannot be restored.
func (m *manyRestores) others() string {
	if m.cannot == 0 {
		return ""
	}
	return fmt.Sprintf(", and not %s", count(m.cannot, "other"))
}

// list prints what the command would do with a deleted item.
func (m *manyRestores) list(ctx context.Context, y stored, bar *progress, all bool) error {
	problem, err := m.problem(ctx, y)
	if err != nil {
		return err
	}
	p, what := m.s.err, "restore"
	if all {
		p, what = m.s.out, "would restore"
	}
	text := fmt.Sprintf("%s %s %s, deleted at %s", what, m.e.s.Name, y.keyText(), y.Of)
	if problem != "" {
		text = fmt.Sprintf("not restored %s %s: %s", m.e.s.Name, y.keyText(), problem)
		m.cannot++
	} else {
		m.listed[copyDigest(y)] = true
	}
	if !all && (problem == "" && len(m.listed) > mostListed || problem != "" && m.cannot > mostListed) {
		return nil
	}
	bar.clear()
	if all && p.json {
		out := map[string]any{"name": m.e.s.Name, "key": plainOf(y.Parts), "deleted": y.Of}
		if problem != "" {
			out["problem"] = problem
		}
		return p.object(out)
	}
	p.line("%s", text)
	return p.failed
}

// problem returns why an item cannot be restored: its content is not kept, or a unique value is taken, also by one that is restored before; ""
// if it can be.
func (m *manyRestores) problem(ctx context.Context, y stored) (string, error) {
	if err := bind.Omitted(m.e.s, y.raw); err != nil {
		return err.Error(), nil //nolint:nilerr // it is what the line says
	}
	claims, taken, err := m.s.claims(ctx, y)
	if err != nil || taken != "" {
		return taken, err
	}
	for _, c := range claims {
		if m.claimed[digestOf(c.name, c.text)] {
			return c.name + " is that of another that is restored", nil
		}
	}
	for _, c := range claims {
		m.claimed[digestOf(c.name, c.text)] = true
	}
	return "", nil
}

// run restores what was listed.
func (m *manyRestores) run(ctx context.Context, x store, g given, total int64) error {
	s, restored, taken, changed := m.s, 0, 0, len(m.listed)
	_, err := s.deleted(ctx, m.e, g, "restore "+m.e.s.Name, total, func(y stored, bar *progress) error {
		if !m.listed[copyDigest(y)] {
			return nil
		}
		var violation *unique.ViolationError
		switch err := x.restore(ctx, m.e.keyAttributes(y), y); {
		case errors.As(err, &violation):
			changed--
			taken++
			bar.clear()
			if s.out.json {
				return s.out.object(map[string]any{"name": m.e.s.Name, "notRestored": plainOf(y.Parts)})
			}
			s.out.line("%s  %s %s: a unique value is taken", s.out.alarm("not restored"), m.e.s.Name, y.keyText())
		case errors.Is(err, errChanged), errors.Is(err, entity.ErrNotFound): // changed since it was listed
		case err != nil:
			return err
		default:
			changed--
			restored++
			s.wrote = count(restored, "item") + " restored"
		}
		return nil
	})
	if err != nil {
		return err
	}
	taken += m.cannot
	if err := s.result(m.e.s.Name, "restored "+count(restored, "item"), map[string]any{"restored": restored, "taken": taken, "changed": changed}); err != nil || taken+changed == 0 {
		return err
	}
	switch {
	case taken == 0:
		return fmt.Errorf("%s changed after the list was made", count(changed, "item"))
	case changed > 0:
		return fmt.Errorf("%s could not be restored, and %s changed after the list was made", count(taken, "item"), count(changed, "other"))
	}
	return fmt.Errorf("%s could not be restored", count(taken, "item"))
}

// deleted calls f for the newest deleted copy of each item of e that has the given parts and is deleted, and returns how many items of the table
// it has read, which it shows, of total if that is known. It holds one page of items.
func (s *session) deleted(ctx context.Context, e *entityModel, g given, what string, total int64, f func(stored, *progress) error) (read int64, err error) {
	bar := newProgress(s.err, what, total)
	defer bar.clear()
	var newest *stored
	end := func() error {
		if newest == nil {
			return nil
		}
		x := *newest
		current, err := s.get(ctx, e.table, x.owner, &spent{})
		if newest = nil; err != nil || current != nil { // made again after the delete
			return err
		}
		return f(x, bar)
	}
	for page, err := range s.scan(ctx, e.table, &spent{}) {
		if err != nil {
			return read, err
		}
		for _, it := range page {
			x := s.m.decode(e.table, it, s.app.Clock())
			if x.model != e || x.Kind != KindDeleted || x.Expired || !g.matches(it, e.s.PK, e.s.SK) {
				continue
			}
			if newest != nil && layout.KeyID(newest.owner) != layout.KeyID(x.owner) { // copies of an item follow each other
				if err := end(); err != nil {
					return read, err
				}
			}
			newest = &x
		}
		read += int64(len(page))
		bar.set(read)
	}
	return read, end()
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
