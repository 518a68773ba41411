package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb"
)

// Each sabotage changes what was read from a sound table. The check must find that and nothing else.
func TestCheck_FindsEverySabotage(t *testing.T) {
	t.Parallel()
	client, table := localdb.Test(t)
	s, err := newStory(io.Discard, client, table)
	require.NoError(t, err)
	all := slices.DeleteFunc(chapters(s), func(c chapter) bool { return strings.HasPrefix(c.title, "Restore under reserve") })
	last := slices.IndexFunc(all, func(c chapter) bool { return strings.HasPrefix(c.title, "Policy reserve") })
	require.NoError(t, s.tell(t.Context(), all[:last+1]))
	sound, err := readTable(t.Context(), client, table)
	require.NoError(t, err)
	require.Empty(t, sound.check())

	at := func(brief string) int {
		i := slices.IndexFunc(sound, func(r row) bool { return r.brief() == brief })
		require.GreaterOrEqual(t, i, 0, "%s is not stored: %v", brief, sound.briefs())
		return i
	}
	without := func(brief string) func(rows) rows {
		return func(all rows) rows { return slices.Delete(all, at(brief), at(brief)+1) }
	}
	with := func(brief string, change func(*row)) func(rows) rows {
		return func(all rows) rows { change(&all[at(brief)]); return all }
	}
	for name, c := range map[string]struct {
		sabotage func(rows) rows
		rule     string
	}{
		"a sentinel is missing":          {without("emp-bob: sentinel bob@acme.com"), ruleClaim},
		"a reserved sentinel is missing": {without("con-dora: sentinel dora@agency.com expires"), ruleClaim},
		"a sentinel was left behind": {func(all rows) rows {
			return append(all, row{PK: "$x#e.email#old@acme.com", Entity: "Employee._unique.email", OwnerPK: "$x#emp-bob"})
		}, ruleSentinel},
		"a version is missing":          {without("emp-alice: snapshot 4 expires"), ruleVersions},
		"a version is there twice":      {func(all rows) rows { return append(all, all[at("emp-alice: snapshot 4 expires")]) }, ruleVersions},
		"a current item is not indexed": {with("emp-bob: current 1", func(r *row) { r.IndexKey = "" }), ruleIndex},
		"a snapshot is indexed":         {with("emp-bob: snapshot 1", func(r *row) { r.IndexKey = "t-acme" }), ruleIndex},
		"a current item expires":        {with("emp-bob: current 1", func(r *row) { r.TTL = 1 }), ruleExpiry},
		"a deleted copy stays for ever": {with("con-dora: deleted copy 2 expires", func(r *row) { r.TTL = 0 }), ruleExpiry},
	} {
		broken := c.sabotage(slices.Clone(sound)).check()
		require.Len(t, broken, 1, "%s: %v", name, broken)
		require.ErrorContains(t, broken[0], c.rule, name)
	}
}
