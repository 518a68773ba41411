package console

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
)

// dryRun is the flag of commands that write.
func dryRun() cli.Flag {
	return &cli.BoolFlag{Name: "dry-run", Usage: "print what it would do, and write nothing"}
}

// undeleteCommand restores one item.
func (s *session) undeleteCommand() *cli.Command {
	return &cli.Command{
		Name: "undelete", Usage: "restore the deleted item of a key; asks before it writes", ArgsUsage: "entity part=value…", Flags: []cli.Flag{dryRun()},
		ShellComplete: s.complete(s.nextPart(s.nextStore(store.restores))), Action: s.action(s.undelete),
	}
}

// undelete restores the deleted item of a key, if its newest copy is still the one that was shown.
func (s *session) undelete(ctx context.Context, c *cli.Command) error {
	w, err := s.item(ctx, c, c.Args().Slice())
	if err != nil {
		return err
	}
	if !w.x.restores() {
		return invalid(bind.CodeConsoleProgram, "%s has no soft delete", w.e.s.Name)
	}
	copies := slices.DeleteFunc(w.f.of(KindDeleted), func(x stored) bool { return x.Expired })
	current := slices.ContainsFunc(w.f.of(KindCurrent), func(x stored) bool { return !x.Expired })
	switch {
	case current:
		return fmt.Errorf("%w: %s with this key is not deleted", errNotFound, w.e.s.Name)
	case len(copies) == 0:
		return fmt.Errorf("%w: no deleted copy of %s with this key", errNotFound, w.e.s.Name)
	}
	newest := copies[len(copies)-1]
	if err := bind.Omitted(w.e.s, newest.raw); err != nil {
		return err
	}
	lines, err := s.whoWrites(ctx, w)
	if err != nil {
		return err
	}
	claims, taken, err := s.claims(ctx, newest)
	if err != nil {
		return err
	}
	if taken != "" {
		return fmt.Errorf("%s %s cannot be restored: %s", w.e.s.Name, newest.keyText(), taken)
	}
	for _, c := range claims {
		lines = append(lines, "claims "+c.name)
	}
	plan := proposal{
		title: fmt.Sprintf("restore %s %s, deleted at %s", w.e.s.Name, newest.keyText(), newest.Of), lines: lines,
		fields: map[string]any{"name": w.e.s.Name, "deleted": newest.Of},
	}
	if yes, err := s.agreed(ctx, c, plan); !yes {
		return err
	}
	s.resume = s.again(c, "")
	if err := w.x.restore(ctx, w.key, newest); err != nil {
		return err
	}
	return s.result(w.e.s.Name, "restored", map[string]any{"restored": newest.Of})
}

// A proposal is a write of one item, as it is printed before the question.
type proposal struct {
	title  string
	lines  []string
	fields map[string]any // for --json
}

// agreed prints a proposal, and asks. It returns false if nothing is to be written.
func (s *session) agreed(ctx context.Context, c *cli.Command, p proposal) (bool, error) {
	tree := node{text: p.title}
	for _, line := range p.lines {
		tree.sub = append(tree.sub, node{text: line})
	}
	switch dry := c.Bool("dry-run"); {
	case dry && s.out.json:
		return false, s.out.object(p.fields)
	case dry:
		tree.text = "would " + tree.text
		s.out.tree(tree)
		return false, nil
	}
	s.err.tree(tree)
	err := s.confirm(ctx, c, "Write this?")
	return err == nil, err
}

// whoWrites returns what a write stores of who writes, and why, a line for each attribute.
func (s *session) whoWrites(ctx context.Context, w written) (lines []string, err error) {
	values, err := s.named(ctx, w.x)
	for _, a := range w.x.Schema.Contexts {
		if av := values[a.Name]; av != nil {
			f := fieldOf(a.Name, av)
			if s.m.hides(w.e, a.Name) {
				f.Value = hidden
			}
			lines = append(lines, f.label()+" = "+f.Value)
		}
	}
	return lines, err
}

// A claim is a unique value of an item.
type claim struct {
	constraint
	text string // of the partition key of its sentinel
}

// claims returns the unique values that a deleted copy would claim again, and what keeps it from that; "" if nothing does.
func (s *session) claims(ctx context.Context, x stored) (all []claim, taken string, err error) {
	for _, c := range x.model.uniques {
		text, missing, err := c.key.Compose(x.raw)
		if err != nil || len(missing) > 0 {
			continue
		}
		it, err := s.get(ctx, x.Table, x.model.claimKey(c, text), &spent{})
		if err != nil {
			return nil, "", err
		}
		if y := s.m.decode(x.Table, it, s.app.Clock()); it != nil && !y.Expired && y.owner != nil && layout.KeyID(y.owner) != layout.KeyID(x.owner) {
			return nil, fmt.Sprintf("%s is taken by %s %s", c.name, y.Entity, y.keyText()), nil
		}
		all = append(all, claim{c, text})
	}
	return all, "", nil
}

// claimKey returns the primary key of a sentinel.
func (e *entityModel) claimKey(c constraint, text string) item.Item {
	return item.Item{e.s.PK.Attr: item.S(text), e.s.SK.Attr: item.S(c.key.Prefix)}
}

// errChanged is a write that was refused because something else was shown.
var errChanged = errors.New("it was changed after it was shown; nothing was written")

// asShown returns the error of a write that was guarded by what was shown. Of a write that may have been applied it says nothing more.
func asShown(err error) error {
	if entity.IsAmbiguous(err) {
		return err
	}
	if errors.Is(err, entity.ErrConditionFailed) || errors.Is(err, entity.ErrConflict) || errors.Is(err, entity.ErrNotDeleted) {
		return fmt.Errorf("%w: %w", errChanged, err)
	}
	return err
}
