package console

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// By is who writes, and why.
type By struct {
	Actor  string // of --actor, "" if it is not given
	Reason string // of --reason, "" if it is not given
}

// by returns a context with what --actor and --reason say.
func (s *session) by(ctx context.Context, c *cli.Command) (context.Context, error) {
	by := By{c.String("actor"), c.String("reason")}
	switch {
	case s.app.Context != nil:
		return s.app.Context(ctx, by), nil
	case by != By{}:
		return nil, &usageError{c, errors.New("--actor and --reason are for a program that embeds the command and sets App.Context")}
	}
	return ctx, nil
}

// named returns what a write stores of who writes, and why. It refuses a write of an entity that requires to know who writes, or why, if the context does not have it. A write refuses it too,
// but after the question.
func (s *session) named(ctx context.Context, x store) (item.Item, error) {
	values, err := plan.InContext(ctx, x.Schema)
	var input *entity.InputError
	if !errors.As(err, &input) || input.Code != bind.CodeNoContext {
		return values, err
	}
	if s.app.Context == nil {
		return nil, fmt.Errorf("%w; the program has to set App.Context, and then takes --actor and --reason", err)
	}
	return nil, fmt.Errorf("%w; give --actor or --reason", err)
}
