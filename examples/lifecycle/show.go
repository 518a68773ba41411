package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/dynastrata/dynastrata/cmd/dynastrata/console"
)

// show prints what is stored of some records, with the command dynastrata show --brief.
func (s *story) show(ctx context.Context, who []string) error {
	command := console.App{
		Client: s.client, Clock: s.clock.now,
		Open: func(context.Context, console.Connection) (console.Program, error) {
			return console.Program{DB: s.db}, nil
		},
	}
	for _, id := range who {
		key := []string{"Employee", "employeeId=" + id}
		if strings.HasPrefix(id, "con-") {
			key = []string{"Contractor", "contractorId=" + id}
		}
		var out, problem bytes.Buffer
		switch console.Run(ctx, command, console.Streams{In: nil, Out: &out, Err: &problem}, append([]string{"show", "--brief"}, key...)) {
		case console.ExitOK:
			for line := range strings.Lines(out.String()) {
				s.report.line("%s", strings.TrimSuffix(line, "\n"))
			}
		case console.ExitNotFound:
			s.report.line("nothing is stored of %s", id)
		case console.ExitInterrupted:
			return context.Cause(ctx)
		default:
			return fmt.Errorf("show %s: %w", id, errors.New(problem.String()))
		}
	}
	return nil
}
