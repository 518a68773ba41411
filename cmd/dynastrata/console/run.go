package console

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/timeline"
)

// runCommand has the commands that write, with the declarations of the program.
func (s *session) runCommand() *cli.Command {
	dry := dryRun()
	resume := &cli.BoolFlag{Name: "resume", Usage: "go on where an earlier run was cut off"}
	return &cli.Command{
		Name: "run", Usage: "rebuild and repair what is stored; asks before it writes", Action: missingCommand,
		Commands: []*cli.Command{
			{
				Name: "rebuild", Usage: "build the rows of a read model again", ArgsUsage: "view",
				Flags: []cli.Flag{dry, resume}, ShellComplete: s.complete(s.nextView), Action: s.action(s.rebuild),
			},
			{
				Name: "catchup", Usage: "apply new events to the rows of a read model", ArgsUsage: "view",
				Flags: []cli.Flag{dry}, ShellComplete: s.complete(s.nextView), Action: s.action(s.catchUp),
			},
			{
				Name: "repair", Usage: "repair the sentinels of a unique constraint", ArgsUsage: "entity [constraint]",
				Flags: []cli.Flag{dry}, ShellComplete: s.complete(s.nextConstraint), Action: s.action(s.repair),
			},
			{
				Name: "restore", Usage: "restore the deleted item of a key, or all with the given parts", ArgsUsage: "entity [part=value…]",
				Flags: []cli.Flag{dry}, Action: s.action(s.restore),
				ShellComplete: s.complete(s.nextPart(s.nextStore(store.restores))),
			},
			{
				Name: "purge", Usage: "remove an item and everything that belongs to it", ArgsUsage: "entity part=value…",
				Flags: []cli.Flag{dry}, ShellComplete: s.complete(s.nextPart(s.nextStore(anyStore))), Action: s.action(s.purge),
			},
			{
				Name: "rewrite", Usage: "bring the items of an entity to its declaration", ArgsUsage: "entity",
				Flags:         []cli.Flag{dry, resume, &cli.BoolFlag{Name: "new-version", Usage: "give rewritten items their next version"}, &cli.BoolFlag{Name: "ends", Usage: "set the end that an item lacks"}},
				ShellComplete: s.complete(s.nextStore(anyStore)), Action: s.action(s.rewrite),
			},
		},
	}
}

func (s *session) rebuild(ctx context.Context, c *cli.Command) error {
	v, x, err := s.view(ctx, c)
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return s.printExplanation(x)
	}
	if err := s.confirm(ctx, c, fmt.Sprintf("Build %s again? It reads about %.1f read units.", x.View, x.ReadUnits())); err != nil {
		return err
	}
	s.resume = s.again(c, "--resume")
	var opts []timeline.BuildOption
	if c.Bool("resume") {
		opts = append(opts, timeline.Resume())
	}
	return s.build(ctx, x.View, v.Rebuild, opts...)
}

func (s *session) catchUp(ctx context.Context, c *cli.Command) error {
	v, x, err := s.view(ctx, c)
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return s.printExplanation(x)
	}
	if err := s.confirm(ctx, c, fmt.Sprintf("Apply new events to %s? It reads up to about %.1f read units.", x.View, x.ReadUnits())); err != nil {
		return err
	}
	s.resume = s.again(c, "")
	return s.build(ctx, x.View, v.CatchUp)
}

// build runs a build of a read model, and shows its progress in thousandths.
func (s *session) build(ctx context.Context, view string, run func(context.Context, ...timeline.BuildOption) (timeline.Meta, error), opts ...timeline.BuildOption) error {
	bar := newShare(s.err, "build "+view)
	m, err := run(ctx, append(opts, timeline.OnProgress(func(m timeline.Meta) {
		if p := m.RebuildProgress; p != nil {
			bar.set(int64(*p * 1000))
		}
	}))...)
	bar.clear()
	if err != nil {
		return err
	}
	if s.out.json {
		return s.out.object(m)
	}
	s.out.line("%s of %s, %s applied", count(int(m.Rows), "row"), count(int(m.Counters.Scanned), "event"), count(int(m.Counters.Folded), "event"))
	return nil
}

func (s *session) repair(ctx context.Context, c *cli.Command) error {
	x, err := s.store(ctx, c)
	if err != nil {
		return err
	}
	e, err := s.m.entity(x.name())
	if err != nil {
		return err
	}
	var names []string
	for _, u := range e.uniques {
		if c.NArg() < 2 || c.Args().Get(1) == u.name {
			names = append(names, u.name)
		}
	}
	if len(names) == 0 {
		return invalid(bind.CodeConsoleName, "%s has no such unique constraint", e.s.Name)
	}
	if !c.Bool("dry-run") {
		if err := s.confirm(ctx, c, fmt.Sprintf("Repair the sentinels of %s (%s)? It scans the table.", e.s.Name, strings.Join(names, ", "))); err != nil {
			return err
		}
	}
	s.resume = s.again(c, "")
	for _, name := range names {
		bar := newProgress(s.err, "compare "+name, 0)
		compared := migrate.OnProgress(func(p migrate.Progress) { bar.set(int64(p.Items)) })
		values := lookup{x.handle(), name}
		if c.Bool("dry-run") {
			r, err := migrate.VerifyUnique(ctx, values, compared)
			bar.clear()
			if err != nil {
				return err
			}
			if err := s.result(name, r.String(), map[string]any{"items": r.Items, "sentinels": r.Sentinels, "findings": len(r.Findings)}); err != nil {
				return err
			}
			continue
		}
		r, err := migrate.RepairUnique(ctx, values, compared)
		bar.clear()
		if err != nil {
			return err
		}
		s.wrote = name + " repaired"
		if err := s.result(name, r.String(), map[string]any{"fixed": len(r.Fixed), "remaining": len(r.Remaining)}); err != nil {
			return err
		}
	}
	return nil
}

// result prints one result about something with a name.
func (s *session) result(name, text string, fields map[string]any) error {
	if s.out.json {
		fields["name"] = name
		return s.out.object(fields)
	}
	s.out.line("%s: %s", name, text)
	return nil
}

// written is an item that a command writes.
type written struct {
	x   store
	e   *entityModel
	f   family
	key item.Item // with the parts as attributes, from which the program's type is decoded
}

// item reads what belongs to the key in the arguments.
func (s *session) item(ctx context.Context, c *cli.Command, args []string) (w written, err error) {
	if w.x, err = s.store(ctx, c); err != nil {
		return
	}
	var g given
	if w.e, g, err = s.target(args); err != nil {
		return
	}
	primary, err := w.e.primary(g)
	if err != nil {
		return
	}
	if w.f, err = s.family(ctx, w.e, primary); err != nil {
		return
	}
	w.key, err = w.e.withParts(primary, g)
	return w, err
}

func (s *session) purge(ctx context.Context, c *cli.Command) error {
	w, err := s.item(ctx, c, c.Args().Slice())
	if err != nil {
		return err
	}
	f, e := w.f, w.e
	if len(f.items) == 0 {
		return fmt.Errorf("%w: %s with this key", errNotFound, e.s.Name)
	}
	var kinds []string
	for _, k := range append(e.kinds(), KindSentinel) {
		if n := len(f.of(k)); n > 0 {
			kinds = append(kinds, fmt.Sprintf("%d %s", n, k))
		}
	}
	what := strings.Join(kinds, ", ")
	if c.Bool("dry-run") {
		return s.result(e.s.Name, "would remove "+what, map[string]any{"items": len(f.items)})
	}
	if err := s.confirm(ctx, c, fmt.Sprintf("Remove %s %s for good: %s?", e.s.Name, f.items[0].keyText(), what)); err != nil {
		return err
	}
	s.resume = s.again(c, "")
	bar := newProgress(s.err, "purge", int64(len(f.items)))
	err = w.x.purge(ctx, w.key, entity.OnProgress(func(n int) { bar.set(int64(n)) }))
	bar.clear()
	if err != nil {
		return err
	}
	return s.result(e.s.Name, "removed "+what, map[string]any{"items": len(f.items)})
}

// checkpointName is the name of the checkpoint of a rewrite.
const checkpointName = "console"

func (s *session) rewrite(ctx context.Context, c *cli.Command) error {
	x, err := s.store(ctx, c)
	if err != nil {
		return err
	}
	if c.Bool("dry-run") {
		return s.rewriteDry(ctx, x, rewriteOptions(c)...)
	}
	if c.Bool("new-version") {
		if _, err := s.named(ctx, x); err != nil {
			return err
		}
	}
	if err := s.confirm(ctx, c, fmt.Sprintf("Rewrite the items of %s? The same with --dry-run says which.", x.name())); err != nil {
		return err
	}
	bar := newProgress(s.err, "rewrite "+x.name(), 0)
	opts := append(rewriteOptions(c), migrate.OnProgress(func(p migrate.Progress) { bar.set(int64(p.Evaluated)) }))
	s.resume = s.again(c, "")
	if holdsCheckpoints(x.Schema) {
		opts = append(opts, migrate.Checkpoint(checkpointName))
		s.resume = s.again(c, "--resume")
		if !c.Bool("resume") {
			opts = append(opts, migrate.Restart())
		}
	}
	r, err := migrate.Rewrite(ctx, x.handle(), opts...)
	bar.clear()
	if err != nil {
		return err
	}
	if s.out.json {
		return s.out.object(map[string]any{"evaluated": r.Evaluated, "items": r.Items, "rewritten": r.Rewritten, "reasons": r.Reasons, "problems": r.Problems, "resumed": r.Resumed, "cost": r.Cost})
	}
	s.out.line("%s", r)
	s.printExamples(x.name(), r)
	s.out.line("%s", r.Cost)
	return nil
}

// rewriteOptions returns what the flags of a rewrite ask for.
func rewriteOptions(c *cli.Command) (opts []migrate.Option) {
	if c.Bool("new-version") {
		opts = append(opts, migrate.NewVersion())
	}
	if c.Bool("ends") {
		opts = append(opts, migrate.Ends())
	}
	return opts
}

// holdsCheckpoints reports whether the keys of a table are strings, as those of a checkpoint.
func holdsCheckpoints(x *schema.Schema) bool {
	return x.PK.Type == types.ScalarAttributeTypeS && (x.SK == nil || x.SK.Type == types.ScalarAttributeTypeS)
}
