package console

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/urfave/cli/v3"
)

// mostFound is how many items find prints without --limit.
const mostFound = 20

// findCommand finds items by values.
func (s *session) findCommand() *cli.Command {
	return &cli.Command{
		Name: "find", Usage: "find items that have each of some values, also deleted and expired ones", ArgsUsage: "value…",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "scan", Usage: "read the tables, without asking, for what no key leads to"},
			&cli.IntFlag{Name: "limit", Usage: "print at most so many items", Value: mostFound},
		},
		ShellComplete: s.complete(nothingNext),
		Action: s.action(func(ctx context.Context, c *cli.Command) error {
			if err := s.database(ctx, c); err != nil {
				return err
			}
			f, err := s.newFinder(c.Args().Slice(), max(int(c.Int("limit")), 1))
			if err != nil {
				return err
			}
			if err := f.byKeys(ctx); err != nil {
				return err
			}
			scan := c.Bool("scan")
			if len(f.found) == 0 && !scan {
				if scan, err = s.mayScan(ctx); err != nil {
					return err
				}
			}
			if scan && !f.more {
				bar := newProgress(s.err, "read "+strings.Join(s.m.tables(), ", "), 0)
				err := f.byScan(ctx, func(items int) { bar.set(int64(items)) })
				bar.clear()
				if err != nil {
					return err
				}
			}
			return s.printFound(c, f, scan)
		}),
	}
}

// mayScan asks whether to read the tables, and says what that costs.
func (s *session) mayScan(ctx context.Context) (bool, error) {
	var bytes int64
	for _, table := range s.m.tables() {
		d, err := s.describe(ctx, table)
		if err != nil {
			return false, fmt.Errorf("%w: no key, unique value or index leads to one; find --scan reads the tables, for what it costs: %w", errNotFound, err)
		}
		bytes += aws.ToInt64(d.TableSizeBytes)
	}
	s.err.write("No key, unique value or index leads to one. ")
	err := s.ask(ctx, fmt.Sprintf("Read all of %s, for about %.1f read units?", strings.Join(s.m.tables(), ", "), float64(bytes)/4096))
	if errors.Is(err, errDeclined) {
		return false, fmt.Errorf("%w: no key, unique value or index leads to one; find --scan reads the tables", errNotFound)
	}
	return err == nil, err
}

// printFound prints what was found, and the lines that go on from one item.
func (s *session) printFound(c *cli.Command, f *finder, scanned bool) error {
	rows := [][]string{{"item", "state", "has it in"}}
	for _, x := range f.found {
		words := x.words()
		if s.out.json {
			if err := s.out.object(x.found(words)); err != nil {
				return err
			}
			continue
		}
		name := strings.Join(words, " ")
		if words == nil {
			name = x.Entity + " " + x.keyText()
		}
		rows = append(rows, []string{name, s.out.styledState(x), strings.Join(x.By, ", ")})
	}
	switch {
	case len(f.found) == 0:
		return fmt.Errorf("%w, as it is now or was", errNotFound)
	case s.out.json:
		return nil
	}
	if s.out.fits(rows) {
		s.out.table(rows)
	} else {
		for _, row := range rows[1:] {
			s.out.tree(node{text: row[0], sub: []node{{text: row[1]}, {text: rows[0][2] + " " + row[2]}}})
		}
	}
	note := count(len(f.found), "item") + ", " + f.cost.String()
	switch {
	case f.more:
		note += "; there may be more: give other values, or --limit"
	case !scanned:
		note += "; --scan finds more, such as what is deleted or was changed"
	}
	s.out.line("%s", s.out.faint(note))
	if words := f.found[0].words(); len(f.found) == 1 && words != nil {
		s.next(c, append([]string{"log"}, words...)...)
		if f.found[0].State == stateDeleted && !f.found[0].Expired && s.app.Open != nil {
			s.next(c, append([]string{"undelete"}, words...)...)
		}
	}
	return nil
}

// next prints a command line to go on with, whole, however wide.
func (s *session) next(c *cli.Command, words ...string) {
	if line := s.line(c, words...); line != "" {
		s.out.write(s.out.faint("$ "+line) + "\n")
	}
}

// styledState returns the state of an item with its time.
func (p *printer) styledState(x itemFound) string {
	text := x.State
	if x.State == stateDeleted {
		text += " at " + x.Of
		if x.Expired {
			text += ", " + stateExpired
		}
	}
	if x.Expired && !x.Expires.IsZero() {
		text += " at " + x.Expires.Format(time.RFC3339)
	}
	if x.State != stateCurrent {
		return p.alarm(text)
	}
	return text
}

// found returns the item for --json.
func (x itemFound) found(words []string) map[string]any {
	out := map[string]any{"entity": x.Entity, "table": x.Table, "key": plainOf(x.Parts), "state": x.State, "in": x.By}
	if x.State == stateDeleted {
		out["deleted"] = x.Of
	}
	if !x.Expires.IsZero() {
		out["expires"] = x.Expires
	}
	if words != nil {
		out["line"] = strings.Join(words, " ")
	}
	return out
}
