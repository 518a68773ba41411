package console

import (
	"cmp"
	"context"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/internal/bind"
)

// root returns the command with its subcommands.
func (s *session) root() *cli.Command {
	return &cli.Command{
		Name: cmp.Or(s.app.name, "dynastrata"), Usage: "see what is in a table, check it, mend it",
		Flags: s.flags(), EnableShellCompletion: true, HideVersion: true,
		OnUsageError: func(_ context.Context, _ *cli.Command, err error, _ bool) error { return &usageError{err} },
		Action: func(ctx context.Context, c *cli.Command) error {
			if c.NArg() > 0 {
				return &usageError{fmt.Errorf("there is no command %s; dynastrata help lists them", c.Args().First())}
			}
			return cli.ShowRootCommandHelp(c)
		},
		Commands: s.commands(),
	}
}

// action sets up the output before f runs.
func (s *session) action(f cli.ActionFunc) cli.ActionFunc {
	return func(ctx context.Context, c *cli.Command) error {
		s.printers(c)
		return f(ctx, c)
	}
}

// target reads the arguments of a command about one item: an entity and its key parts.
func (s *session) target(c *cli.Command) (*entityModel, given, error) {
	if c.NArg() == 0 {
		return nil, nil, invalid(bind.CodeConsoleName, "give the name of an entity")
	}
	e, err := s.m.entity(c.Args().First())
	if err != nil {
		return nil, nil, err
	}
	g, err := parseGiven(c.Args().Tail())
	return e, g, err
}

func (s *session) commands() []*cli.Command {
	return []*cli.Command{s.schemaCommand(), s.showCommand(), s.getCommand(), s.queryCommand(), s.logCommand(), s.diffCommand(),
		s.checkCommand(), s.planCommand(), s.tailCommand(), s.dumpCommand(), s.loadCommand(), s.runCommand()}
}
