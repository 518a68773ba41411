package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// revertCommand gives an item the content of one of its versions.
func (s *session) revertCommand() *cli.Command {
	return &cli.Command{
		Name: "revert", Usage: "give an item the content of a version; asks before it writes", ArgsUsage: "entity part=value… version", Flags: []cli.Flag{dryRun()},
		ShellComplete: s.complete(s.nextPart(s.nextStore(store.reverts))), Action: s.action(s.revert),
	}
}

func (s *session) revert(ctx context.Context, c *cli.Command) error {
	args := c.Args().Slice()
	last := len(args) - 1
	if last < 1 {
		return invalid(bind.CodeConsoleName, "give an entity, its key parts, and a version; log lists the versions")
	}
	if _, err := strconv.ParseInt(args[last], 10, 64); err != nil {
		return invalid(bind.CodeConsoleName, "give a version after the parts of the key, such as 1; log %s with the same parts lists them", item.Text(args[0]))
	}
	w, err := s.item(ctx, c, args[:last])
	if err != nil {
		return err
	}
	if !w.x.reverts() {
		return invalid(bind.CodeConsoleProgram, "%s keeps no versions; versioned.Retain does", w.e.s.Name)
	}
	live := slices.DeleteFunc(w.f.of(KindCurrent), func(x stored) bool { return x.Expired })
	if len(live) == 0 {
		return s.absentIn(w.f, w.e)
	}
	past, err := pick(w.f.states(w.e), args[last])
	if err != nil {
		return err
	}
	lines, err := s.whoWrites(ctx, w)
	if err != nil {
		return err
	}
	changes, err := s.reverted(w, live[0], past)
	if err != nil {
		return err
	}
	if len(changes) == 0 {
		return s.result(w.e.s.Name, "it has the content of version "+args[last]+"; nothing was written", map[string]any{"changed": []string{}})
	}
	from := versionOf(live[0])
	p := proposal{title: fmt.Sprintf("give %s %s, now version %d, the content of version %s", w.e.s.Name, live[0].keyText(), from, args[last])}
	for _, d := range changes {
		p.lines = append(p.lines, d.text())
	}
	p.lines, p.fields = append(p.lines, lines...), map[string]any{"name": w.e.s.Name, "version": from, "changed": plainChanges(changes)}
	if yes, err := s.agreed(ctx, c, p); !yes {
		return err
	}
	if err := w.x.revert(ctx, w.key, versionOf(past), from); err != nil {
		return err
	}
	return s.result(w.e.s.Name, "has the content of version "+args[last], map[string]any{"reverted": versionOf(past)})
}

// reverted returns what a revert changes: differences of the two states in today's form.
func (s *session) reverted(w written, now, past stored) ([]difference, error) {
	var two [2]stored
	for i, x := range []stored{now, past} {
		if err := bind.Omitted(w.e.s, x.raw); err != nil {
			return nil, err
		}
		opened, err := layout.Open(w.x.Schema, x.raw)
		if err != nil {
			return nil, err
		}
		two[i] = s.m.decode(w.e.table, opened.Item, s.app.Clock())
	}
	return slices.DeleteFunc(differences(two[0], two[1]), func(d difference) bool {
		a := w.x.Schema.Attr(d.name)
		return a == nil || !plan.Reverts(w.x.Schema, a)
	}), nil
}

// text returns a difference on one line.
func (d difference) text() string {
	name := item.Text(d.name)
	if d.odd() {
		name += " " + notDeclared
	}
	if d.old.Value == hidden || d.new.Value == hidden {
		return name + ": " + hidden
	}
	return name + ": " + cmp.Or(d.old.Value, "–") + " → " + cmp.Or(d.new.Value, "–")
}
