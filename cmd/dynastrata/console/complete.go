package console

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/internal/schema"
)

// complete returns the function that the shell calls for completion: next returns what can follow the given arguments. Names come
// from the declarations or the lock; no request is sent.
func (s *session) complete(next func(args []string) []string) cli.ShellCompleteFunc {
	return func(ctx context.Context, c *cli.Command) {
		args := joined(c.Args().Slice())
		if n := len(args); n > 0 && strings.HasPrefix(args[n-1], "-") {
			cli.DefaultCompleteWithFlags(ctx, c)
			return
		}
		if s.client == nil {
			s.client = dynamodb.New(dynamodb.Options{Region: "us-east-1"}) // to declare on; it is not used
		}
		if s.open(ctx, c) != nil {
			return
		}
		for _, name := range next(args) {
			_, _ = fmt.Fprintln(s.std.Out, printable(name, false))
		}
	}
}

// joined puts arguments together that a shell has split: bash separates words at each =.
func joined(args []string) []string {
	var all []string
	for i := 0; i < len(args); i++ {
		if n := len(all); args[i] == "=" && n > 0 {
			if all[n-1] += "="; i+1 < len(args) {
				i++
				all[n-1] += args[i]
			}
			continue
		}
		all = append(all, args[i])
	}
	return all
}

// without returns the names that are not among the given ones.
func without(names, given []string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(given, func(g string) bool { return strings.EqualFold(g, name) })
	})
}

// nextEntities completes a list of entities.
func (s *session) nextEntities(args []string) []string {
	var names []string
	for _, e := range s.m.entities {
		names = append(names, e.s.Name)
	}
	return without(names, args)
}

// nextEntity completes one entity.
func (s *session) nextEntity(args []string) []string {
	if len(args) > 0 {
		return nil
	}
	return s.nextEntities(nil)
}

// nextView completes one view of the program.
func (s *session) nextView(args []string) []string {
	if len(args) > 0 {
		return nil
	}
	var names []string
	for _, e := range s.m.entities {
		name := e.view()
		if name != "" && slices.ContainsFunc(s.views, func(v view) bool { return strings.HasPrefix(v.String(), "timeline "+name+" version ") }) {
			names = append(names, name)
		}
	}
	return names
}

// nextStore completes one entity that the program can write, if it has what the command needs.
func (s *session) nextStore(has func(store) bool) func(args []string) []string {
	return func(args []string) []string {
		if len(args) > 0 {
			return nil
		}
		var names []string
		for _, x := range s.stores {
			if has(x) {
				names = append(names, x.name())
			}
		}
		return names
	}
}

// nothingNext is of commands without names. The shell completes files then.
func nothingNext([]string) []string { return nil }

func anyStore(store) bool { return true }

// nextConstraint completes an entity and one of its unique constraints.
func (s *session) nextConstraint(args []string) []string {
	var names []string
	if len(args) == 0 {
		return s.nextStore(func(x store) bool {
			e, err := s.m.entity(x.name())
			return err == nil && len(e.uniques) > 0
		})(nil)
	}
	if e, err := s.m.entity(args[0]); err == nil && len(args) == 1 {
		for _, u := range e.uniques {
			names = append(names, u.name)
		}
	}
	return names
}

// nextPart completes the parts of a primary key, after what first completes.
func (s *session) nextPart(first func(args []string) []string) func(args []string) []string {
	return func(args []string) []string {
		if len(args) == 0 {
			return first(nil)
		}
		e, err := s.m.entity(args[0])
		if err != nil {
			return nil
		}
		return missing(args[1:], e.s.PK, e.s.SK)
	}
}

// nextQuery completes an entity, an index, and the parts of their key.
func (s *session) nextQuery(args []string) []string {
	if len(args) == 0 {
		return s.nextEntity(nil)
	}
	e, err := s.m.entity(args[0])
	if err != nil {
		return nil
	}
	if len(args) > 1 && !strings.Contains(args[1], "=") {
		x, err := e.index(args[1])
		if err != nil {
			return nil
		}
		return missing(args[2:], x.PK, x.SK)
	}
	names := missing(args[1:], e.s.PK, e.s.SK)
	if len(args) == 1 {
		for _, x := range e.s.Indexes {
			names = append(names, cmp.Or(x.Name, x.Index))
		}
	}
	return names
}

// missing returns the parts of keys that are not given yet, each once.
func missing(args []string, keys ...*schema.KeyDef) []string {
	var names []string
	for _, k := range keys {
		if k == nil {
			continue
		}
		for _, a := range k.Parts {
			name := a.Name + "="
			if !slices.Contains(names, name) && !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, name) }) {
				names = append(names, name)
			}
		}
	}
	return names
}
