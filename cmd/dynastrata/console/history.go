package console

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// states returns the states of an item, newest first: its versions, the current one, and deleted copies; or the events of a series.
// A state that is stored twice is listed once.
func (f family) states(e *entityModel) []stored {
	if e.has("timeseries.Events") {
		events := f.of(KindEvent)
		slices.Reverse(events)
		return events
	}
	var all []stored
	for _, k := range []Kind{KindCurrent, KindDeleted, KindVersion} {
		for _, x := range f.of(k) {
			same := func(y stored) bool { return e.s.Version != nil && versionOf(y) == versionOf(x) }
			if k != KindVersion || !slices.ContainsFunc(all, same) {
				all = append(all, x)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b stored) int { return cmp.Compare(versionOf(b), versionOf(a)) })
	return all
}

// versionOf returns the version of a state.
func versionOf(x stored) int64 { return layout.StoredVersion(x.model.s, x.raw) }

// logCommand prints the history of an item.
func (s *session) logCommand() *cli.Command {
	return &cli.Command{
		Name: "log", Usage: "print the history of an item, newest first", ArgsUsage: "entity part=value…",
		Flags:         []cli.Flag{&cli.IntFlag{Name: "limit", Usage: "print at most so many states"}},
		ShellComplete: s.complete(s.nextPart(s.nextEntity)),
		Action: s.action(func(ctx context.Context, c *cli.Command) error {
			f, e, err := s.readFamily(ctx, c)
			if err != nil {
				return err
			}
			states := f.states(e)
			n := len(states)
			if limit := int(c.Int("limit")); limit > 0 {
				n = min(n, limit)
			}
			if s.out.json {
				for _, x := range states[:n] {
					if err := s.out.object(x.object()); err != nil {
						return err
					}
				}
				return nil
			}
			rows := [][]string{{"version", "state", "written", "changed"}}
			if e.has("timeseries.Events") {
				rows[0] = []string{strings.Join(e.order, "#"), "", "accepted", "reported"}
			}
			for i, x := range states[:n] {
				rows = append(rows, s.logRow(e, states, i, x))
			}
			s.out.table(rows)
			if n < len(states) {
				s.out.line("%s", s.out.faint(fmt.Sprintf("%d of %s", n, count(len(states), "state"))))
			}
			return nil
		}),
	}
}

func (s *session) logRow(e *entityModel, states []stored, i int, x stored) []string {
	if x.Kind == KindEvent {
		at, _ := x.attr(schema.AtAttr)
		var said []string
		for _, a := range x.Attrs {
			if attr := e.s.Attr(a.Name); attr != nil && attr.Append {
				said = append(said, a.label()+"="+a.Value)
			}
		}
		return []string{x.Of, s.out.kind(x.Kind), at.Value, strings.Join(said, " ")}
	}
	state := s.out.kind(x.Kind)
	if x.Deleted {
		state += " (deleted)"
	}
	if x.Restored {
		state += " (restored)"
	}
	written := ""
	if a := layout.StateClock(e.s); a != nil {
		f, _ := x.attr(a.Name)
		written = f.Value
	}
	changed := "first"
	switch omitted := bind.Omitted(e.s, x.raw); {
	case omitted != nil:
		changed = omitted.Error()
	case i+1 < len(states) && bind.Omitted(e.s, states[i+1].raw) != nil:
		changed = "unknown"
	case i+1 < len(states):
		var names []string
		for _, d := range differences(states[i+1], x) {
			names = append(names, s.marked(item.Text(d.name), d.odd()))
		}
		changed = cmp.Or(strings.Join(names, ", "), "nothing")
	}
	return []string{strconv.FormatInt(versionOf(x), 10), state, written, changed}
}

// difference is an attribute that two states have not in common.
type difference struct {
	name     string
	old, new field
}

// odd reports whether the attribute is not declared.
func (d difference) odd() bool { return d.old.Odd || d.new.Odd }

// differences returns the attributes of the model in which two states differ; the version and the time of the write always do.
func differences(a, b stored) []difference {
	var all []difference
	if a.model == nil || b.model == nil {
		return nil
	}
	names := map[string]bool{}
	for _, f := range slices.Concat(a.Attrs, b.Attrs) {
		owned := false
		if attr := a.model.s.Attr(f.Name); attr != nil {
			owned = attr == a.model.s.Version || attr == a.model.s.UpdatedAt
		}
		if owned || names[f.Name] || library(a, f.Name) || f.Name == schema.DeletedAtAttr {
			continue
		}
		names[f.Name] = true
		if !item.Equal(a.raw[f.Name], b.raw[f.Name]) {
			old, _ := a.attr(f.Name)
			now, _ := b.attr(f.Name)
			all = append(all, difference{f.Name, old, now})
		}
	}
	slices.SortFunc(all, func(x, y difference) int { return cmp.Compare(x.name, y.name) })
	return all
}

// diffCommand prints two states side by side.
func (s *session) diffCommand() *cli.Command {
	return &cli.Command{
		Name: "diff", Usage: "print what differs between two versions, or two events", ArgsUsage: "entity part=value… old new",
		ShellComplete: s.complete(s.nextPart(s.nextEntity)),
		Action: s.action(func(ctx context.Context, c *cli.Command) error {
			if err := s.database(ctx, c); err != nil {
				return err
			}
			args := c.Args().Slice()
			if len(args) == 0 {
				return invalid(bind.CodeConsoleName, "give an entity, its key parts, and two versions; log lists the versions")
			}
			e, err := s.m.entity(args[0])
			if err != nil {
				return err
			}
			if missing := e.withoutVersions(args[1:]); missing {
				return invalid(bind.CodeConsoleName, "give two versions after the parts of the key (%s), the old one and the new one; log %s with the same parts lists them", strings.Join(e.partNames(), ", "), e.s.Name)
			}
			g, err := parseGiven(args[1 : len(args)-2])
			if err != nil {
				return err
			}
			primary, err := e.primary(g)
			if err != nil {
				return err
			}
			f, err := s.family(ctx, e, primary)
			if err != nil {
				return err
			}
			var two [2]stored
			for i, name := range args[len(args)-2:] {
				if two[i], err = pick(f.states(e), name); err != nil {
					return err
				}
			}
			for _, x := range two {
				if err := bind.Omitted(e.s, x.raw); err != nil {
					return err
				}
			}
			return s.printDiff(two[0], two[1])
		}),
	}
}

// withoutVersions reports whether diff lacks a version: it has too few arguments, or one of the last two is a part of the key.
func (e *entityModel) withoutVersions(args []string) bool {
	return len(args) < 2 || slices.ContainsFunc(args[len(args)-2:], func(arg string) bool {
		name, _, part := strings.Cut(arg, "=")
		return part && slices.Contains(e.partNames(), name)
	})
}

// beginning is the beginning of a time: a date, or one with a time of day. A number that begins another number is a different one.
var beginning = regexp.MustCompile(`^\d{4}-\d\d-\d\d(T\d\d(:\d\d(:\d\d(\.\d+)?)?)?)?Z?$`)

// pick returns the state with a version, or the event with a value of orderBy and id. Of a time, what no other event begins with is
// enough.
func pick(states []stored, name string) (stored, error) {
	names := make([]string, len(states))
	var begun []string
	var one stored
	isTime := beginning.MatchString(name)
	for i, x := range states {
		names[i] = x.Of
		if x.Kind != KindEvent {
			names[i] = strconv.FormatInt(versionOf(x), 10)
		} else if isTime && strings.HasPrefix(x.Of, strings.TrimSuffix(name, "Z")) {
			begun, one = append(begun, x.Of), x
		}
		if names[i] == name {
			return x, nil
		}
	}
	switch n := len(begun); {
	case n == 1:
		return one, nil
	case n > 1:
		return stored{}, invalid(bind.CodeConsoleName, "%d events begin with %s; the newest are: %s", n, name, strings.Join(begun[:min(n, nearest)], ", "))
	}
	some := "there are"
	if len(names) > nearest {
		some, names = "the nearest are", near(names, name)
	}
	return stored{}, invalid(bind.CodeConsoleName, "there is no version %s; %s: %s", name, some, cmp.Or(strings.Join(names, ", "), "none"))
}

// nearest is how many states an error suggests.
const nearest = 3

// near returns the names around the place that name has among more of them, which are sorted, the newest first.
func near(names []string, name string) []string {
	after := func(a, b string) bool {
		x, wrong := strconv.ParseInt(a, 10, 64)
		y, other := strconv.ParseInt(b, 10, 64)
		if wrong != nil || other != nil {
			return a > b
		}
		return x > y
	}
	at := slices.IndexFunc(names, func(n string) bool { return !after(n, name) })
	if at < 0 {
		at = len(names)
	}
	from := max(0, min(at-nearest/2, len(names)-nearest))
	return names[from : from+nearest]
}

func (s *session) printDiff(a, b stored) error {
	all := differences(a, b)
	if s.out.json {
		out := map[string]any{}
		for _, d := range all {
			both := map[string]any{"old": d.old.Plain, "new": d.new.Plain}
			if out[d.name] = both; d.odd() {
				both["undeclared"] = true
			}
		}
		return s.out.object(out)
	}
	if len(all) == 0 {
		s.out.line("no difference")
		return nil
	}
	title := func(x stored) string {
		if x.Kind == KindEvent {
			return x.Of
		}
		return fmt.Sprintf("version %d", versionOf(x))
	}
	rows := [][]string{{"attribute", title(a), title(b)}}
	for _, d := range all {
		rows = append(rows, []string{s.marked(item.Text(d.name), d.odd()), cmp.Or(d.old.Value, "–"), cmp.Or(d.new.Value, "–")})
	}
	if s.out.fits(rows) {
		s.out.table(rows)
		return nil
	}
	for _, row := range rows[1:] {
		s.out.tree(node{text: row[0], sub: []node{{text: rows[0][1] + "  " + row[1]}, {text: rows[0][2] + "  " + row[2]}}})
	}
	return nil
}
