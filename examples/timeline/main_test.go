package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/exampletest"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

// seed is the one that the program uses by default.
const seed = 1

func TestRun_EndsWithOk(t *testing.T) {
	t.Parallel()
	s, first := fullRun(t)
	require.True(t, strings.HasSuffix(first, "\nok\n"))
	for _, rule := range rules {
		require.Contains(t, first, "ok: "+rule)
	}
	t.Run("the check finds every sabotage", func(t *testing.T) { checkFindsEverySabotage(t, s) })
	if !testsize.Long() {
		return
	}
	t.Run("the same is printed again", func(t *testing.T) {
		_, second := fullRun(t)
		require.Equal(t, first, second)
	})
}

// fullRun runs the whole example and returns its state and its output.
func fullRun(t *testing.T) (*story, string) {
	t.Helper()
	client, table := localdb.Test(t)
	var out bytes.Buffer
	s, err := newStory(&out, client, table, seed)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, drop(context.Background(), client, table)) })
	require.NoError(t, s.run(t.Context()))
	return s, out.String()
}

// What is to be shown has to happen, or the rules would hold of nothing.
func TestNewChat_HasEverythingThatTheStoryShows(t *testing.T) {
	t.Parallel()
	chat := newChat(seed)
	require.NotEqual(t, chat, newChat(seed+1), "the seed makes no difference")
	count := map[string]int{}
	times := map[time.Time]bool{}
	for _, d := range chat {
		count[d.event]++
		require.False(t, times[d.at], "two things happen at %s", d.at)
		times[d.at] = true
		switch {
		case d.event == messageRejected && d.accepted.After(firstBuild) && d.at.Before(firstBuild):
			count["late"]++
		case d.event != "" && d.at.After(firstBuild):
			count["new"]++
		}
		if d.event == messageDeleted && slices.ContainsFunc(chat, func(c deed) bool { return c.id == d.id && c.old }) {
			count["deleted in an old form"]++
		}
	}
	for _, what := range []string{messageCreated, messageRejected, messageDeleted, "", "late", "new", "deleted in an old form"} {
		require.Positive(t, count[what], what)
	}
}

func TestRun_InterruptedReportsIt(t *testing.T) {
	t.Parallel()
	client, table := localdb.Test(t)
	ctx, cancel := context.WithCancel(t.Context())
	out := &exampletest.Interrupter{After: "A month of messages", Cancel: cancel}
	require.ErrorIs(t, run(ctx, out, client, table, seed), context.Canceled)
	require.NotContains(t, out.String(), "\nok\n")
	require.NoError(t, drop(ctx, client, table), "the tables of an interrupted run must go, too")
}

// An additional message is in the rows and the log, but not in what they are compared with.
func TestCheck_FindsWhatTheStoryDidNotDo(t *testing.T) {
	t.Parallel()
	client, table := localdb.Test(t)
	s, err := newStory(io.Discard, client, table, seed)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, drop(context.Background(), client, table)) })
	require.NoError(t, tables.Create(t.Context(), s.db))
	_, err = s.Messages.Create(t.Context(), Message{UserID: "ada", MessageID: "m-000", Message: "who am I?", Channel: "sms"})
	require.NoError(t, err)
	require.NoError(t, s.tell(t.Context(), []scene{s.begin, s.cutOff, s.lookBack, s.listEvents}))
	broken := violations(t, s.check())
	for _, rule := range []string{ruleRows, rulePast, ruleLog} {
		require.Contains(t, broken, rule)
	}
	require.NotContains(t, broken, ruleResume, "both builds have it")
}

// violations are the broken rules in an error of check.
func violations(t *testing.T, err error) (broken []string) {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok, "%v", err)
	for _, e := range joined.Unwrap() {
		var v *violation
		require.True(t, errors.As(e, &v), "%v", e)
		broken = append(broken, v.rule)
	}
	return broken
}
