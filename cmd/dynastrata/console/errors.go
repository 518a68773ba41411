package console

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/entity"
)

// Exit codes of the command.
const (
	ExitOK          = 0   // done
	ExitFailed      = 1   // a request, a file or a write failed
	ExitUsage       = 2   // the command line, the schema lock or the declarations are wrong; nothing was written
	ExitFindings    = 3   // check or vet found something; lock --dry-run found changes
	ExitNotFound    = 4   // there is no such item
	ExitDeclined    = 5   // nothing was written, because the question was not answered with yes
	ExitInterrupted = 130 // by ^C; the output says how to go on
)

// errors with exit codes of their own.
var (
	errFindings = errors.New("check, vet or lock found something")
	errNotFound = errors.New("there is no such item")
	errDeclined = errors.New("nothing was written")
)

// invalid returns an *entity.InputError. Its text quotes names, and no values.
func invalid(code, format string, args ...any) error {
	return &entity.InputError{Code: code, Type: "command", Problem: fmt.Sprintf(format, args...)}
}

// exitCode returns the exit code for an error of a command.
func exitCode(err error) int {
	var input *entity.InputError
	var declared *entity.SchemaError
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.Is(err, errFindings):
		return ExitFindings
	case errors.Is(err, errNotFound), errors.Is(err, entity.ErrNotFound):
		return ExitNotFound
	case errors.Is(err, errDeclined):
		return ExitDeclined
	case errors.As(err, &input), errors.As(err, &declared), errors.As(err, new(*usageError)):
		return ExitUsage
	}
	return ExitFailed
}

// usageError is a mistake on the command line of a command.
type usageError struct {
	of  *cli.Command
	err error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }
