package console

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/timeline"
)

// planCommand prints what long work would cost.
func (s *session) planCommand() *cli.Command {
	return &cli.Command{
		Name: "plan", Usage: "print what a scan, rebuild or rewrite would cost", Action: missingCommand,
		Commands: []*cli.Command{
			{
				Name: "scan", Usage: "of the table of an entity, or of all tables", ArgsUsage: "[entity]", ShellComplete: s.complete(s.nextEntity),
				Action: s.action(func(ctx context.Context, c *cli.Command) error {
					if err := s.database(ctx, c); err != nil {
						return err
					}
					tables := s.m.tables()
					if c.NArg() > 0 {
						e, err := s.m.entity(c.Args().First())
						if err != nil {
							return err
						}
						tables = []string{e.table}
					}
					return s.planScan(ctx, tables)
				}),
			},
			{
				Name: "rebuild", Usage: "of a read model", ArgsUsage: "view", ShellComplete: s.complete(s.nextView),
				Action: s.action(func(ctx context.Context, c *cli.Command) error {
					_, x, err := s.view(ctx, c)
					if err != nil {
						return err
					}
					return s.printExplanation(x)
				}),
			},
			{
				Name: "rewrite", Usage: "of the items of an entity: migrate.Rewrite with DryRun, which reads the table", ArgsUsage: "entity", ShellComplete: s.complete(s.nextStore(anyStore)),
				Action: s.action(func(ctx context.Context, c *cli.Command) error {
					store, err := s.store(ctx, c)
					if err != nil {
						return err
					}
					return s.rewriteDry(ctx, store, rewriteOptions(c)...)
				}),
			},
		},
	}
}

// planScan prints the cost of reading tables, from their statistics.
func (s *session) planScan(ctx context.Context, tables []string) error {
	rows := [][]string{{"table", "items", "bytes", "requests", "read units", "consistent"}}
	for _, table := range tables {
		d, err := s.describe(ctx, table)
		if err != nil {
			return err
		}
		n, bytes := aws.ToInt64(d.ItemCount), aws.ToInt64(d.TableSizeBytes)
		units, requests := math.Ceil(float64(bytes)/4096), max(int64(math.Ceil(float64(bytes)/(1<<20))), 1)
		if s.out.json {
			if err := s.out.object(map[string]any{"table": table, "items": n, "bytes": bytes, "requests": requests, "readUnits": units / 2, "consistentReadUnits": units}); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []string{table, fmt.Sprint(n), fmt.Sprint(bytes), fmt.Sprint(requests), fmt.Sprintf("%.1f", units/2), fmt.Sprintf("%.1f", units)})
	}
	if !s.out.json {
		s.out.table(rows)
		s.out.line("%s", s.out.faint("by the statistics of the tables, which DynamoDB renews about every six hours"))
	}
	return nil
}

func (s *session) printExplanation(x timeline.Explanation) error {
	if s.out.json {
		return s.out.object(x)
	}
	for line := range strings.SplitSeq(x.String(), "\n") {
		s.out.line("%s", line)
	}
	return nil
}

// view returns the read model that the first argument names.
func (s *session) view(ctx context.Context, c *cli.Command) (view, timeline.Explanation, error) {
	if err := s.needsProgram(ctx, c); err != nil {
		return nil, timeline.Explanation{}, err
	}
	var names []string
	for _, v := range s.views {
		x, err := v.Explain(ctx)
		if err != nil {
			return nil, x, err
		}
		if x.View == c.Args().First() {
			return v, x, nil
		}
		names = append(names, x.View)
	}
	return nil, timeline.Explanation{}, invalid(bind.CodeConsoleName, "give the name of a view of the program; it has: %s", cmp.Or(strings.Join(names, ", "), "none"))
}

// store returns the store that the first argument names.
func (s *session) store(ctx context.Context, c *cli.Command) (store, error) {
	if err := s.needsProgram(ctx, c); err != nil {
		return store{}, err
	}
	var names []string
	for _, x := range s.stores {
		if strings.EqualFold(x.name(), c.Args().First()) {
			return x, nil
		}
		names = append(names, x.name())
	}
	return store{}, invalid(bind.CodeConsoleName, "give the name of an entity in Handles of the program; there are: %s", cmp.Or(strings.Join(names, ", "), "none"))
}

// needsProgram refuses what needs declarations if there is only a lock.
func (s *session) needsProgram(ctx context.Context, c *cli.Command) error {
	if err := s.hasProgram(); err != nil {
		return err
	}
	return s.database(ctx, c)
}

func (s *session) hasProgram() error {
	if s.app.Open == nil {
		return invalid(bind.CodeConsoleProgram, "this needs the declarations, which are Go code: run it from your own main, with console.Main")
	}
	return nil
}

// rewriteDry prints what a rewrite would do.
func (s *session) rewriteDry(ctx context.Context, x store, with ...migrate.Option) error {
	bar := newProgress(s.err, "read "+x.name(), 0)
	opts := append(with, migrate.DryRun(), migrate.OnProgress(func(p migrate.Progress) { bar.set(int64(p.Evaluated)) }))
	r, err := migrate.Rewrite(ctx, x.handle(), opts...)
	bar.clear()
	if err != nil {
		return err
	}
	if s.out.json {
		return s.out.object(map[string]any{"evaluated": r.Evaluated, "items": r.Items, "rewritten": r.Rewritten, "reasons": r.Reasons, "problems": r.Problems, "estimate": r.Estimate, "cost": r.Cost})
	}
	s.out.line("would be: %s", r)
	s.printExamples(x.name(), r)
	s.out.line("it would cost: %s", r.Estimate)
	s.out.line("reading it has cost: %s", r.Cost)
	return nil
}

// printExamples prints some items of a report. Keys that are composed from unique values are hidden.
func (s *session) printExamples(name string, r migrate.Report) {
	e, err := s.m.entity(name)
	for _, x := range r.Examples {
		if err != nil || s.m.hidesKey(e) {
			x.Key = hidden
		}
		if x.Problem != "" {
			s.out.line("  %s  %s", s.out.alarm(string(x.Problem)), x.Key)
		}
	}
}
