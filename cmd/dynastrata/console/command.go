package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
)

// root returns the command with its subcommands.
func (s *session) root() *cli.Command {
	root := &cli.Command{
		Name: s.app.called(), Usage: "see what is in a table, check it, mend it",
		Flags: s.flags(), EnableShellCompletion: true, ConfigureShellCompletionCommand: shownCompletion, Version: version(), Action: missingCommand,
		Commands: s.commands(),
	}
	strict(root)
	return root
}

// shownCompletion shows the command completion in the help.
func shownCompletion(c *cli.Command) {
	c.Hidden, c.Usage = false, "print the script for a shell: bash, zsh, fish or pwsh"
}

// version returns the version of the command in the running program: that of its module, "(devel)" in a checkout of it.
func version() string {
	const module = "github.com/dynastrata/dynastrata/cmd/dynastrata"
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return "(unknown)"
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module && m.Version != "" {
			return m.Version
		}
	}
	return "(devel)"
}

// called returns the name of the command.
func (a App) called() string { return cmp.Or(a.name, "dynastrata") }

// strict makes each mistake on a command line a usageError.
func strict(c *cli.Command) {
	c.OnUsageError = func(_ context.Context, c *cli.Command, err error, _ bool) error { return &usageError{c, err} }
	for _, sub := range c.Commands {
		strict(sub)
	}
}

// missingCommand is the action of a command that only has subcommands.
func missingCommand(_ context.Context, c *cli.Command) error {
	if c.NArg() > 0 {
		return &usageError{c, fmt.Errorf("there is no command %s", item.Text(c.Args().First()))}
	}
	return &usageError{c, errors.New("give a command")}
}

// help prints the help of a command on standard error.
func (s *session) help(c *cli.Command) {
	text := cli.CommandHelpTemplate
	switch {
	case c.Root() == c:
		text = cli.RootCommandHelpTemplate
	case len(c.VisibleCommands()) > 0:
		text = cli.SubcommandHelpTemplate
	}
	cli.HelpPrinter(s.std.Err, text, c)
}

// action sets up the output before f runs, and refuses arguments that the command does not have.
func (s *session) action(f cli.ActionFunc) cli.ActionFunc {
	return func(ctx context.Context, c *cli.Command) error {
		s.printers(c)
		if most := len(strings.Fields(c.ArgsUsage)); c.NArg() > most && !strings.Contains(c.ArgsUsage, "…") {
			return &usageError{c, fmt.Errorf("%s takes at most %s", c.Name, count(most, "argument"))}
		}
		if name := s.withoutValue(c); name != "" {
			return &usageError{c, fmt.Errorf("--%s is given without a value", name)}
		}
		ctx, err := s.by(ctx, c)
		if err != nil {
			return err
		}
		return f(ctx, c)
	}
}

// withoutValue returns the name of a flag of the command line whose value is empty, as that of a variable that is not set. An environment
// variable without a value does not count.
func (s *session) withoutValue(c *cli.Command) string {
	for _, f := range slices.Concat(s.flags(), c.Flags) {
		switch f := f.(type) {
		case *cli.StringFlag:
			of, _, variable := f.Sources.LookupWithSource()
			if c.IsSet(f.Name) && c.String(f.Name) == "" && (!variable || of != "") {
				return f.Name
			}
		case *cli.StringSliceFlag:
			for _, one := range c.StringSlice(f.Name) {
				if one == "" || strings.HasSuffix(one, "=") {
					return f.Name
				}
			}
		}
	}
	return ""
}

// again returns the command line that goes on with a command, with one more flag if it is not "". A shell reads it as it is. It has no
// secrets: a command line with one is not printed.
func (s *session) again(c *cli.Command, flag string) string {
	untold := "the same command again"
	if flag != "" {
		untold += ", with " + flag
	}
	words := s.flagged(c, s.flags())
	if words == nil {
		return untold
	}
	words = append([]string{s.app.called()}, words...)
	words = append(words, strings.Fields(strings.TrimPrefix(c.FullName(), c.Root().Name))...)
	words = append(words, s.flagged(c, slices.DeleteFunc(slices.Clone(c.Flags), func(f cli.Flag) bool { return f.Names()[0] == "help" }))...)
	if flag != "" && !c.Bool(strings.TrimPrefix(flag, "--")) {
		words = append(words, flag)
	}
	for i, arg := range c.Args().Slice() {
		name, _, part := strings.Cut(arg, "=")
		if e, err := s.m.entity(c.Args().First()); err == nil && i > 0 && part && s.m.hides(e, name) {
			return untold
		}
		words = append(words, quoted(arg))
	}
	return strings.Join(words, " ")
}

// flagged returns flags as they were given, without --yes; nil if the endpoint has a secret.
func (s *session) flagged(c *cli.Command, all []cli.Flag) []string {
	words := []string{}
	if u, err := url.Parse(c.String("endpoint")); err != nil || u.User != nil {
		return nil
	}
	for _, f := range all {
		name := f.Names()[0]
		switch v := c.Value(name).(type) {
		case bool:
			if v && c.IsSet(name) && name != "yes" {
				words = append(words, "--"+name)
			}
		case []string:
			for _, one := range v {
				words = append(words, "--"+name, quoted(one))
			}
		default:
			if c.IsSet(name) {
				words = append(words, "--"+name, quoted(fmt.Sprint(v)))
			}
		}
	}
	return words
}

// line returns a command line of the program, with the flags that say where the tables are, for a shell; "" if one of these is secret.
func (s *session) line(c *cli.Command, words ...string) string {
	flags := s.flagged(c, slices.DeleteFunc(s.flags(), func(f cli.Flag) bool {
		return !slices.Contains([]string{"lock", "table", "endpoint", "region"}, f.Names()[0])
	}))
	if flags == nil {
		return ""
	}
	return strings.Join(slices.Concat([]string{s.app.called()}, flags, words), " ")
}

// words returns the entity and key parts of an item, for a shell; nil if a part is hidden.
func (x stored) words() []string {
	all := []string{quoted(x.Entity)}
	for _, p := range x.Parts {
		if p.Value == hidden {
			return nil
		}
		text := fmt.Sprint(p.Plain)
		if b, ok := p.Plain.([]byte); ok {
			text = string(b)
		}
		all = append(all, quoted(p.Name+"="+text))
	}
	return all
}

var bare = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// quoted returns a word as a shell reads it.
func quoted(word string) string {
	switch {
	case bare.MatchString(word):
		return word
	case printable(word, false) == word:
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder
	for _, c := range []byte(word) {
		fmt.Fprintf(&b, `\x%02x`, c)
	}
	return "$'" + b.String() + "'"
}

// target reads the arguments of a command about one item: an entity and its key parts.
func (s *session) target(args []string) (*entityModel, given, error) {
	if len(args) == 0 {
		return nil, nil, invalid(bind.CodeConsoleName, "give the name of an entity")
	}
	e, err := s.m.entity(args[0])
	if err != nil {
		return nil, nil, err
	}
	g, err := parseGiven(args[1:])
	return e, g, err
}

func (s *session) commands() []*cli.Command {
	all := []*cli.Command{s.schemaCommand(), s.findCommand(), s.showCommand(), s.getCommand(), s.queryCommand(), s.logCommand(), s.diffCommand(),
		s.undeleteCommand(), s.revertCommand(), s.checkCommand(), s.planCommand(), s.tailCommand(), s.dumpCommand(), s.loadCommand(), s.runCommand(), s.lockCommand(), s.studioCommand()}
	if s.app.Vet != nil {
		all = append(all, s.vetCommand())
	}
	return all
}
