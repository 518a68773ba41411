package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each sabotage changes what was seen in a sound run. The check must find that and nothing else.
func checkFindsEverySabotage(t *testing.T, s *story) {
	t.Helper()
	sound := s.seen

	for name, c := range map[string]struct {
		rule, what string
		sabotage   func([]string) []string
	}{
		"a row is missing":              {ruleRows, "after the catch-up", func(got []string) []string { return got[1:] }},
		"a row is there twice":          {ruleRows, "after the first build", func(got []string) []string { return append(got, got[0]) }},
		"a count is off":                {ruleRows, "devices", change("30 events", "29 events")},
		"a row knows the future":        {rulePast, instant(moments[1]), change("messages", "more messages")},
		"a late event was known":        {ruleKnown, instant(moments[2]), change("1 rejections", "2 rejections")},
		"an event is listed twice":      {ruleLog, "by cursors", func(got []string) []string { return slices.Insert(got, 1, got[0]) }},
		"events are in another order":   {ruleLog, "by pages", func(got []string) []string { got[0], got[1] = got[1], got[0]; return got }},
		"a payload was not upgraded":    {ruleLog, "by pages", change("email: ", ": email: ")},
		"a resumed build lost a row":    {ruleResume, "chat", func(got []string) []string { return got[:len(got)-1] }},
		"stale rows were changed":       {ruleStale, "the old rows", change("rejections", "verdicts")},
		"status is complete too early":  {ruleMeta, "after the cut", change("interrupted", "complete")},
		"progress went back":            {ruleProgress, "of the build that died", func([]string) []string { return []string{"from 0.99 to 0.50"} }},
		"events were counted twice":     {ruleCount, "folded by both processes", change("3000", "3290")},
		"the unknowable was not denied": {ruleRefused, "CatchUp", change("true", "false")},
		"nothing was seen of progress":  {ruleProgress, "", nil},
	} {
		s.seen = slices.Clone(sound)
		if c.sabotage == nil {
			s.seen = slices.DeleteFunc(s.seen, func(x sight) bool { return x.rule == c.rule })
		} else {
			i := slices.IndexFunc(s.seen, func(x sight) bool { return x.rule == c.rule && x.what == c.what })
			require.GreaterOrEqual(t, i, 0, "%s: nothing was seen of %s", name, c.what)
			s.seen[i].got = c.sabotage(slices.Clone(s.seen[i].got))
		}
		require.Equal(t, []string{c.rule}, violations(t, s.check()), name)
	}
}

// change replaces a text in the first line that has it.
func change(old, now string) func([]string) []string {
	return func(got []string) []string {
		for i, line := range got {
			if strings.Contains(line, old) {
				got[i] = strings.Replace(line, old, now, 1)
				break
			}
		}
		return got
	}
}
