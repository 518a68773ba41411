package localdb

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStartTakesTheFirstThatCanBeHad(t *testing.T) {
	t.Parallel()
	var tried []string
	with := func(kind string, err error) candidate {
		return candidate{kind, func(context.Context, settings) (*Server, error) {
			tried = append(tried, kind)
			return &Server{kind: kind}, err
		}}
	}
	list := []candidate{with("one", errors.New("no luck")), with("two", nil), with("three", nil)}

	var said bytes.Buffer
	server, err := start(t.Context(), settings{notify: &said}, list)
	require.NoError(t, err)
	assert.Equal(t, "two", server.Kind())
	assert.Equal(t, "  - one: no luck", server.PassedOver())
	assert.Equal(t, "localdb: using two, for want of a better one:\n  - one: no luck\n", said.String())
	assert.Equal(t, []string{"one", "two"}, tried)

	tried = nil
	server, err = start(t.Context(), settings{kind: "three"}, list)
	require.NoError(t, err)
	assert.Equal(t, "three", server.Kind())
	assert.Empty(t, server.PassedOver())
	assert.Equal(t, []string{"three"}, tried)

	_, err = start(t.Context(), settings{kind: "four"}, list)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, `LOCALDB_KIND="four": want one of one, two, three`)
}

func TestStartTellsWhyThereIsNone(t *testing.T) {
	t.Parallel()
	because := errors.New("no luck\nat all")
	list := []candidate{
		{"one", func(context.Context, settings) (*Server, error) { return nil, because }},
		{"two", func(context.Context, settings) (*Server, error) { return nil, ErrNoFetch }},
	}
	_, err := start(t.Context(), settings{}, list)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorIs(t, err, because)
	require.ErrorIs(t, err, ErrNoFetch)
	assert.Equal(t, `localdb: no database is available
  - one: no luck
    at all
  - two: it is not in the cache, and LOCALDB_NO_FETCH=1 forbids fetching it`, err.Error())
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	list := []candidate{
		{"one", func(context.Context, settings) (*Server, error) { cancel(); return nil, ctx.Err() }},
		{"two", func(context.Context, settings) (*Server, error) { panic("not to be tried") }},
	}
	_, err := start(ctx, settings{}, list)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrUnavailable, "that a start was interrupted says nothing about the set-up")
}

func TestCandidatesAreInOrder(t *testing.T) {
	t.Parallel()
	var kinds []string
	for _, c := range candidates {
		kinds = append(kinds, c.kind)
	}
	assert.Equal(t, []string{KindDDBLocal, KindDynoxide, KindDocker}, kinds)
}

func TestNothingOnThisMachine(t *testing.T) {
	t.Parallel()
	nowhere := func(program string) (string, error) { return "", errors.New(program + " is not in PATH") }
	_, err := start(t.Context(), settings{look: nowhere, cache: t.TempDir(), noFetch: true}, candidates)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "ddblocal: needs Java 17 or newer: java is not in PATH")
	require.ErrorContains(t, err, "dynoxide: ")
	require.ErrorContains(t, err, "docker: docker is not in PATH")
}
