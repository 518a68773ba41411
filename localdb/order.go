package localdb

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrUnavailable is matched by the error of [Start] when no database can be had.
var ErrUnavailable = errors.New("localdb: no database is available")

// candidate is one way to get a database.
type candidate struct {
	kind  string
	start func(context.Context, settings) (*Server, error)
}

// candidates are tried in this order: the most faithful first.
var candidates = []candidate{
	{KindDDBLocal, startDDBLocal},
	{KindDynoxide, startDynoxide},
	{KindDocker, startDocker},
}

// start returns the first database of the list that can be had, or the one that the settings name.
func start(ctx context.Context, cfg settings, list []candidate) (*Server, error) {
	if cfg.endpoint != "" {
		return attach(ctx, cfg)
	}
	list, err := chosen(cfg.kind, list)
	if err != nil {
		return nil, err
	}
	var passed []error
	for _, c := range list {
		server, err := c.start(ctx, cfg)
		if err == nil {
			server.passed = reasons(passed)
			if server.passed != "" {
				_, _ = fmt.Fprintf(cfg.notify, "localdb: using %s, for want of a better one:\n%s\n", c.kind, server.passed)
			}
			return server, nil
		}
		passed = append(passed, fmt.Errorf("%s: %w", c.kind, err))
		if ctx.Err() != nil { // the others would only fail for the same reason
			return nil, fmt.Errorf("localdb: start interrupted: %w: %s: %w", ctx.Err(), c.kind, err)
		}
	}
	return nil, &unavailableError{passed}
}

// chosen narrows the list to the kind that LOCALDB_KIND names.
func chosen(kind string, list []candidate) ([]candidate, error) {
	if kind == "" {
		return list, nil
	}
	var known []string
	for _, c := range list {
		if c.kind == kind {
			return []candidate{c}, nil
		}
		known = append(known, c.kind)
	}
	return nil, fmt.Errorf("%w: LOCALDB_KIND=%q: want one of %s", ErrUnavailable, kind, strings.Join(known, ", "))
}

// unavailableError lists why each candidate was passed over.
type unavailableError struct{ passed []error }

func (e *unavailableError) Error() string { return ErrUnavailable.Error() + "\n" + reasons(e.passed) }

func (e *unavailableError) Unwrap() []error { return append([]error{ErrUnavailable}, e.passed...) }

// reasons lists why kinds were passed over, one below the other.
func reasons(passed []error) string {
	var lines []string
	for _, err := range passed {
		lines = append(lines, "  - "+strings.ReplaceAll(err.Error(), "\n", "\n    "))
	}
	return strings.Join(lines, "\n")
}
