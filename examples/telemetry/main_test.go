package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tests/exampletest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeseries"
)

// seed is the one that the program uses by default.
const seed = 1

// played runs the scenes on a table of the test's own.
func played(t *testing.T, out io.Writer) (*simulation, *dynamodb.Client, string) {
	t.Helper()
	client, table := localdb.Test(t)
	s, err := newSimulation(out, client, table, seed)
	require.NoError(t, err)
	require.NoError(t, s.play(context.Background()))
	return s, client, table
}

func TestRun_EndsWithEveryInvariantHolding(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	first, client, table := played(t, &out)
	require.NoError(t, first.check(context.Background()))
	for _, rule := range []string{ruleAnswer, ruleCurrent, ruleHistory} {
		require.Contains(t, out.String(), "ok: "+rule)
	}
	for _, d := range newFleet(seed) {
		require.Contains(t, out.String(), d.name())
	}

	// The invariants would hold of an empty fleet, too.
	t.Run("meets every outcome", func(t *testing.T) {
		count := map[timeseries.Reason]int{}
		for _, d := range first.fleet {
			for _, r := range d.receipts {
				count[r.answer.Reason]++
			}
		}
		for _, reason := range []timeseries.Reason{"", timeseries.Older, timeseries.Duplicate, timeseries.Collision} {
			require.Positive(t, count[reason], "reason %q", reason)
		}
		require.Greater(t, len(first.fleet[0].backlog), 99, "the first backlog should need two transactions")
	})

	// Enrichment that nothing could have lost proves nothing.
	t.Run("appends after the last enrichment of each device", func(t *testing.T) {
		for _, d := range first.fleet {
			require.NotEmpty(t, d.enriched.AccountID, d.name())
			uploaded := d.receipts[len(d.receipts)-len(d.backlog):]
			require.True(t, slices.ContainsFunc(uploaded, func(r receipt) bool { return r.answer.Applied }), d.name())
		}
	})

	first.report.out = io.Discard
	t.Run("the check finds every sabotage", func(t *testing.T) { checkFindsEverySabotage(t, first, client, table) })

	if !testsize.Long() {
		return
	}
	t.Run("gives the same answers again", func(t *testing.T) {
		second, _, _ := played(t, io.Discard)
		require.Equal(t, answers(first), answers(second))
		require.NotEqual(t, newFleet(seed), newFleet(seed+1), "the seed makes no difference")
		again, other := localdb.Test(t)
		require.NoError(t, run(context.Background(), io.Discard, again, other, seed))
	})
}

// answered is one answer, without what depends on the time of the run.
type answered struct {
	device string
	event  Telemetry
	reason timeseries.Reason
}

func answers(s *simulation) (all []answered) {
	for _, d := range s.fleet {
		for _, r := range d.receipts {
			all = append(all, answered{d.name(), r.event, r.answer.Reason})
		}
	}
	return all
}

func TestRun_InterruptedReportsIt(t *testing.T) {
	t.Parallel()
	client, table := localdb.Test(t)
	ctx, cancel := context.WithCancel(context.Background())
	out := &exampletest.Interrupter{After: "The fleet publishes", Cancel: cancel}
	err := run(ctx, out, client, table, seed)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, drop(ctx, client, table), "the table of an interrupted run must go, too")
}

func TestTogether_FirstErrorStopsTheOthers(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	err := together(context.Background(), 3, func(ctx context.Context, i int) error {
		if i == 1 {
			return boom
		}
		<-ctx.Done()
		return ctx.Err()
	})
	require.ErrorIs(t, err, boom)
}

func TestFold_LosesNothingAndKeepsToTheScreen(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "  short", "  " + strings.Repeat("word, ", 60) + "end", "  " + strings.Repeat("x", 300) + " y", strings.Repeat("x", 300)} {
		folded := fold(line)
		require.Equal(t, strings.ReplaceAll(line, " ", ""), strings.NewReplacer(" ", "", "\n", "").Replace(folded))
		for _, part := range strings.Split(folded, "\n") {
			require.True(t, len(part) <= screen || strings.Contains(part, strings.Repeat("x", 300)), part)
		}
	}
}
