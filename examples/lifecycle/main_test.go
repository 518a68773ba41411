package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tests/exampletest"
)

func TestRun_EndsWithOk(t *testing.T) {
	t.Parallel()
	client, table := localdb.Test(t)
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, client, table))
	require.True(t, strings.HasSuffix(out.String(), "\nok\n"))
	s, err := newStory(io.Discard, client, table)
	require.NoError(t, err)
	for _, c := range chapters(s) {
		require.Contains(t, out.String(), "\n"+c.title, "a chapter was left out")
	}
	for _, kind := range []string{"current", "version", "deleted copy", "sentinel", "nothing is stored"} {
		require.Contains(t, out.String(), kind)
	}
}

// A story that compares nothing would succeed too.
func TestTell_ReportsWhatIsNotAsItMustBe(t *testing.T) {
	t.Parallel()
	client, table := localdb.Test(t)
	s, err := newStory(io.Discard, client, table)
	require.NoError(t, err)
	all := chapters(s)
	all[1].disk = all[0].disk // as if the update had not been stored
	all = append(all[:2], chapter{"Wrong expectations", nil, func(context.Context) error {
		s.refused("a call that went well", nil, io.EOF)
		as[*violation](s, "a call that went well", nil)
		s.equal("sum", 1+1, 3)
		return nil
	}, nil})
	err = s.tell(t.Context(), all)
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok, "%v", err)
	var where []string
	for _, e := range joined.Unwrap() {
		var v *violation
		require.ErrorAs(t, e, &v)
		where = append(where, v.where)
	}
	require.Equal(t, []string{"Update", "Wrong expectations", "Wrong expectations", "Wrong expectations"}, where)
}

func TestRun_InterruptedReportsIt(t *testing.T) {
	t.Parallel()
	client, table := localdb.Test(t)
	ctx, cancel := context.WithCancel(t.Context())
	out := &exampletest.Interrupter{After: "Restore", Cancel: cancel}
	require.ErrorIs(t, run(ctx, out, client, table), context.Canceled)
	require.NotContains(t, out.String(), "\nok\n")
	require.NoError(t, drop(ctx, client, table), "the table of an interrupted run must go, too")
}
