package console

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v3"
)

// showCommand prints everything that belongs to an item.
func (s *session) showCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "print an item and everything that belongs to it, as a tree", ArgsUsage: "entity part=value…",
		Flags:         []cli.Flag{&cli.BoolFlag{Name: "brief", Usage: "print attributes of the current item only"}},
		ShellComplete: s.complete(s.nextPart(s.nextEntity)),
		Action: s.action(func(ctx context.Context, c *cli.Command) error {
			f, e, err := s.readFamily(ctx, c)
			if err != nil {
				return err
			}
			if s.out.json {
				for _, x := range f.items {
					if err := s.out.object(x.object()); err != nil {
						return err
					}
				}
				return nil
			}
			s.out.tree(s.familyTree(e, f, c.Bool("brief")))
			return nil
		}),
	}
}

// readFamily reads what the arguments name.
func (s *session) readFamily(ctx context.Context, c *cli.Command) (f family, e *entityModel, err error) {
	if err := s.database(ctx, c); err != nil {
		return f, nil, err
	}
	e, g, err := s.target(c.Args().Slice())
	if err != nil {
		return f, e, err
	}
	primary, err := e.primary(g)
	if err != nil {
		return f, e, err
	}
	f, err = s.family(ctx, e, primary)
	if err == nil && len(f.items) == 0 {
		err = fmt.Errorf("%w: %s with this key", errNotFound, e.s.Name)
	}
	return f, e, err
}

// familyTree returns the tree of a family: a branch for each kind, and in it a branch for each item. A brief one has the attributes
// of the current item only.
func (s *session) familyTree(e *entityModel, f family, brief bool) node {
	bytes := 0
	for _, x := range f.items {
		bytes += x.Size
	}
	root := node{text: fmt.Sprintf("%s %s  %s", s.out.bold(e.s.Name), f.items[0].keyText(),
		s.out.faint(fmt.Sprintf("%s, %s, read with %s", count(len(f.items), "item"), size(bytes), f.cost)))}
	for _, k := range append(e.kinds(), KindSentinel, KindCheckpoint, KindUnknown) {
		some := f.of(k)
		if len(some) == 0 {
			continue
		}
		if k == KindCurrent || e.derived != "" {
			for _, x := range some {
				root.sub = append(root.sub, s.itemNode(x, true))
			}
			continue
		}
		branch := node{text: s.out.kind(k) + s.out.faint(fmt.Sprintf("  %s", count(len(some), "item")))}
		for _, x := range some {
			branch.sub = append(branch.sub, s.itemNode(x, k != KindSentinel && !brief))
		}
		root.sub = append(root.sub, branch)
	}
	return root
}

// itemNode returns the branch of one item.
func (s *session) itemNode(x stored, attrs bool) node {
	n := node{text: s.heading(x)}
	if attrs {
		for _, a := range x.Attrs {
			if library(x, a.Name) {
				continue
			}
			n.sub = append(n.sub, node{text: a.label() + " = " + s.shownValue(a)})
		}
	}
	return n
}

func (s *session) shownValue(a field) string {
	text := a.Value
	if text == hidden {
		text = s.out.faint(hidden)
	}
	if a.Odd {
		text += "  " + s.out.alarm(notDeclared)
	}
	return text
}

// notDeclared follows an attribute that the declaration does not have, wherever its name is printed.
const notDeclared = "! not declared"

// marked returns the text of an attribute in a list.
func (s *session) marked(text string, odd bool) string {
	if !odd {
		return text
	}
	return text + " " + s.out.alarm(notDeclared)
}

// heading returns one line about an item: its kind, what distinguishes it, size and expiry.
func (s *session) heading(x stored) string {
	text := s.out.kind(x.Kind)
	if x.Of != "" {
		text += " " + x.Of
	}
	var notes []string
	add := func(yes bool, note string) {
		if yes {
			notes = append(notes, note)
		}
	}
	add(x.Deleted, "of a deleted state")
	add(x.Restored, "restored")
	add(x.model != nil && x.model.guarded && x.Kind == KindRow, "its state is hidden, because "+x.madeFrom()+" has secrets")
	add(true, size(x.Size))
	add(!x.Expires.IsZero() && !x.Expired, "expires "+x.Expires.Format(time.RFC3339))
	add(!x.Expires.IsZero() && x.Expired, "expired "+x.Expires.Format(time.RFC3339))
	add(x.Expires.IsZero() && x.Expired, "expired")
	text += s.out.faint("  " + strings.Join(notes, ", "))
	if x.Problem != "" {
		text += "  " + s.out.alarm("! "+x.Problem)
	}
	return text
}

// madeFrom names what a row is made from.
func (x stored) madeFrom() string {
	if x.model == nil {
		return ""
	}
	return cmp.Or(strings.Join(strings.Fields(x.model.setting("sources")), " or "), "an entity")
}

// library reports whether an attribute is one that the library adds, or a key of an index. The tree leaves them out.
func library(x stored, name string) bool {
	if strings.HasPrefix(name, "_") {
		return true
	}
	if x.model == nil {
		return false
	}
	for _, k := range x.model.s.IndexKeys() {
		if k.Written() && k.Attr == name {
			return true
		}
	}
	return false
}

// size prints a number of bytes.
func size(n int) string {
	if n < 10_000 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f KB", float64(n)/1024)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (c spent) String() string {
	text := count(c.requests, "request")
	if c.units > 0 {
		text += fmt.Sprintf(", %.1f read units", c.units)
	}
	return text
}
