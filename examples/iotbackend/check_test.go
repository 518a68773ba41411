package main

import (
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/dbtest"
)

// Each sabotage changes what was read from sound tables. The check must find it and name the broken rule.
func TestCheck_FindsEverySabotage(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	raw, _ := l.newAPIKey("")
	l.ingested(macA, samples(macA, 3))
	all := map[BatchID]submission{}
	for _, s := range samples(macA, 3) {
		all[s.BatchID] = s
	}
	want := expectation{sent: all, acknowledged: all, secrets: []secret{raw, l.pepper}}
	read := func() tables {
		t.Helper()
		stored, err := readTables(t.Context(), l.client, l.cfg)
		require.NoError(t, err)
		return stored
	}
	require.Empty(t, read().check(l.cfg.Retention, want))

	text := func(v string) types.AttributeValue { return dbtest.S(v) }
	number := func(v string) types.AttributeValue { return dbtest.N(v) }
	for name, c := range map[string]struct {
		sabotage func(*tables)
		rules    []string
	}{
		"an attribute is missing":      {func(all *tables) { delete(all.devices[0], "last_boot_id") }, []string{ruleAttributes}},
		"an attribute too many":        {func(all *tables) { all.keys[0]["_w"] = text("x") }, []string{ruleAttributes}},
		"a copy is behind":             {func(all *tables) { all.devices[0]["gsi1sk"] = text("2099-06-01T09:59:59Z") }, []string{ruleIndex}},
		"another constant":             {func(all *tables) { all.keys[0]["gsi1pk"] = text("keys") }, []string{ruleIndex}},
		"a sort key without its zeros": {func(all *tables) { all.readings[0]["timestamp_ms"] = number("84000000000") }, []string{ruleSortKey, ruleExpiry, ruleStored}},
		"an end in milliseconds":       {func(all *tables) { all.readings[0]["expiration_time"] = number("4091776000000") }, []string{ruleExpiry}},
		"no end":                       {func(all *tables) { delete(all.readings[0], "expiration_time") }, []string{ruleExpiry}},
		"a proof that ends too early":  {func(all *tables) { all.batches[0]["expiration_time"] = number("4084000000") }, []string{ruleExpiry}},
		"a proof is missing":           {func(all *tables) { all.batches = all.batches[1:] }, []string{ruleProof}},
		"another device's proof":       {func(all *tables) { all.batches[0]["hardware_id"] = text(string(macB)) }, []string{ruleProof}},
		"a reading is missing":         {func(all *tables) { all.readings = all.readings[1:] }, []string{ruleProof, ruleStored}},
		"a reading is there twice":     {func(all *tables) { all.readings = append(all.readings, maps.Clone(all.readings[0])) }, []string{ruleProof}},
		"a reading that was not sent":  {func(all *tables) { all.readings[0]["boot_id"] = text(string(boot2)) }, []string{ruleStored}},
		"a key is stored":              {func(all *tables) { all.keys[0]["description"] = text(raw.text) }, []string{ruleSecret}},
	} {
		stored := read()
		c.sabotage(&stored)
		var rules []string
		for _, err := range stored.check(l.cfg.Retention, want) {
			var b *broken
			require.ErrorAs(t, err, &b)
			rules = append(rules, b.rule)
		}
		require.Equal(t, c.rules, rules, name)
	}
}
