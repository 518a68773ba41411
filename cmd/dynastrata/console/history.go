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
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "limit", Usage: "print at most so many states"},
			&cli.BoolFlag{Name: "changes", Usage: "print what changed, with the values before and after"},
		},
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
				for i, x := range states[:n] {
					out := x.object()
					if all := changesOf(e, states, i); len(all) > 0 {
						out["changes"] = plainChanges(all)
					}
					if err := s.out.object(out); err != nil {
						return err
					}
				}
				return nil
			}
			who := e.contexts()
			rows := [][]string{slices.Concat([]string{"version", "state", "written"}, who, []string{"changed"})}
			if e.has("timeseries.Events") {
				rows[0] = []string{strings.Join(e.order, "#"), "", "accepted", "reported"}
			}
			for i, x := range states[:n] {
				rows = append(rows, s.logRow(e, states, i, x))
			}
			if s.out.fits(rows) && !c.Bool("changes") {
				s.out.table(rows)
			} else {
				for i, row := range rows[1:] {
					s.out.tree(s.logRecord(e, states, i, rows[0], row))
				}
			}
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
	if x.Restored || !x.Deleted && x.Kind != KindDeleted && i+1 < len(states) && (states[i+1].Deleted || states[i+1].Kind == KindDeleted) {
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
		for _, d := range changesOf(e, states, i) {
			names = append(names, s.marked(item.Text(d.name), d.odd()))
		}
		changed = cmp.Or(strings.Join(names, ", "), "nothing")
	}
	row := []string{strconv.FormatInt(versionOf(x), 10), state, written}
	for _, name := range e.contexts() {
		f, _ := x.attr(name)
		row = append(row, f.Value)
	}
	return append(row, changed)
}

// logRecord returns a row of a history as a tree: what changed with the values before and after, for a version that has one before it.
func (s *session) logRecord(e *entityModel, states []stored, i int, header, row []string) node {
	n := node{text: strings.TrimSpace(header[0] + " " + row[0] + "  " + row[1])}
	last := len(row) - 1
	for j := 2; j < last; j++ {
		if row[j] != "" {
			n.sub = append(n.sub, node{text: header[j] + " " + row[j]})
		}
	}
	all := changesOf(e, states, i)
	if len(all) == 0 {
		n.sub = append(n.sub, node{text: header[last] + " " + row[last]})
	}
	for _, d := range all {
		n.sub = append(n.sub, node{text: d.text()})
	}
	return n
}

// contexts returns the attributes that say who wrote a state, and why.
func (e *entityModel) contexts() (names []string) {
	for _, a := range e.s.Attrs {
		if a.Role.Context != "" {
			names = append(names, a.Name)
		}
	}
	return names
}

// changesOf returns what a version changed, besides who wrote it and why. It returns nothing for an event, and for a version without one before
// it, or without its content.
func changesOf(e *entityModel, states []stored, i int) []difference {
	if i+1 >= len(states) || states[i].Kind == KindEvent || bind.Omitted(e.s, states[i].raw) != nil || bind.Omitted(e.s, states[i+1].raw) != nil {
		return nil
	}
	who := e.contexts()
	return slices.DeleteFunc(differences(states[i+1], states[i]), func(d difference) bool { return slices.Contains(who, d.name) })
}

// plainChanges returns differences for --json.
func plainChanges(all []difference) map[string]any {
	out := map[string]any{}
	for _, d := range all {
		both := map[string]any{"old": d.old.Plain, "new": d.new.Plain}
		if out[d.name] = both; d.odd() {
			both["undeclared"] = true
		}
	}
	return out
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

// stateAt returns the state that an item had at a time, as versioned.History.At; of a series the newest event that is not later.
func (s *session) stateAt(ctx context.Context, e *entityModel, primary item.Item, text string) (stored, error) {
	clock := e.s.UpdatedAt
	if len(e.order) > 0 {
		clock = e.s.Attr(e.order[0])
	}
	if clock == nil || !clock.Time {
		return stored{}, invalid(bind.CodeConsoleName, "--at needs times in the states of %s: the role updated_at, or orderBy of a series", e.s.Name)
	}
	t, err := instant(text)
	if err != nil {
		return stored{}, invalid(bind.CodeConsoleName, "--at must be %s", anInstant)
	}
	f, err := s.family(ctx, e, primary)
	if err != nil {
		return stored{}, err
	}
	states := f.states(e)
	for i, x := range states {
		at, err := clock.Format.FromValue(x.raw[clock.Name])
		if err != nil || at.After(t) {
			continue
		}
		if i > 0 && x.Kind != KindEvent && versionOf(states[i-1]) > versionOf(x)+1 {
			return stored{}, fmt.Errorf("%w: the state at that time is one of versions %d to %d, which have expired", errNotFound, versionOf(x)+1, versionOf(states[i-1])-1)
		}
		return x, nil
	}
	if n := len(states); n > 0 {
		first, _ := states[n-1].attr(clock.Name)
		return stored{}, fmt.Errorf("%w: the oldest state of %s with this key is of %s", errNotFound, e.s.Name, first.Value)
	}
	return stored{}, s.absentIn(f, e)
}

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
	what := "version"
	if len(states) > 0 && states[0].Kind == KindEvent {
		what = "event"
		if m := states[0].model; m != nil && m.s.Attr(m.order[0]).Time && !isTime {
			some = "give " + anInstant + "; " + some
		}
	}
	return stored{}, invalid(bind.CodeConsoleName, "there is no %s %s; %s: %s", what, name, some, cmp.Or(strings.Join(names, ", "), "none"))
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
		return s.out.object(plainChanges(all))
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
