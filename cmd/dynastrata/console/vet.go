package console

import (
	"context"
	"errors"

	"github.com/urfave/cli/v3"
)

// Mistake is one in the source text of a program, found by [App].Vet.
type Mistake struct {
	Place   string `json:"place"` // file:line:column
	Code    string `json:"code"`
	Message string `json:"message"`
}

// vetCommand examines packages.
func (s *session) vetCommand() *cli.Command {
	return &cli.Command{
		Name: "vet", Usage: "find mistakes in the declarations and calls of Go packages", ArgsUsage: "[package…]",
		Action: s.action(func(ctx context.Context, c *cli.Command) error {
			patterns := c.Args().Slice()
			if len(patterns) == 0 {
				patterns = []string{"."}
			}
			found, err := s.app.Vet(ctx, patterns...)
			if err == nil && len(found) > 0 {
				err = errFindings
			}
			for _, m := range found {
				if s.out.json {
					err = errors.Join(err, s.out.object(m))
					continue
				}
				s.out.write(printable(m.Place+": "+m.Message, false) + "\n")
			}
			return err
		}),
	}
}
