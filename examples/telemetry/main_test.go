package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables/schemalock"
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

// rules returns which rules of which devices err says to be broken.
func rules(t *testing.T, err error) map[[2]string]int {
	t.Helper()
	found := map[[2]string]int{}
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok, "want joined violations, got %v", err)
	for _, e := range joined.Unwrap() {
		var v *violation
		require.True(t, errors.As(e, &v), "%v", e)
		found[[2]string{v.device, v.rule}]++
	}
	return found
}

type attributes = map[string]types.AttributeValue

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// Each sabotage changes one stored item behind the library's back; check must find just that, and nothing once it is
// undone.
func checkFindsEverySabotage(t *testing.T, s *simulation, client *dynamodb.Client, table string) {
	t.Helper()
	ctx := context.Background()
	d := s.fleet[3]
	pk := text("$app#v1#telemetry#" + d.key.Channel + "#" + d.key.DeviceID)
	current := attributes{"pk": pk, "sk": text("$app#v1#telemetry")}
	moment := d.receipts[0].event.Timestamp // the first report of a device is always applied
	event := attributes{"pk": pk, "sk": text("$app#v1#telemetry#e#" + moment.Format(time.RFC3339))}
	before := epoch.Add(-time.Hour).Format(time.RFC3339)
	stray := attributes{"pk": pk, "sk": text("$app#v1#telemetry#e#" + before)}

	for name, c := range map[string]struct {
		key    attributes
		change func(attributes) // nil: delete
		rule   string
	}{
		"an event is missing":            {event, nil, ruleHistory},
		"an event reports another value": {event, func(it attributes) { it["gpio"] = number("1000") }, ruleHistory},
		"an event lacks a value":         {event, func(it attributes) { delete(it, "gpio") }, ruleHistory},
		"an event holds enrichment":      {event, func(it attributes) { it["accountId"] = text("acct-9") }, ruleHistory},
		"an event was never sent": {stray, func(it attributes) {
			maps.Copy(it, attributes{"channel": text(d.key.Channel), "deviceId": text(d.key.DeviceID), "timestamp": text(before), "__edd_e__": text("Telemetry"), "_k": text("e")})
		}, ruleHistory},
		"the current item is missing":         {current, nil, ruleCurrent},
		"the current item is an older one":    {current, func(it attributes) { it["timestamp"] = text(before) }, ruleCurrent},
		"the current item kept an old value":  {current, func(it attributes) { it["gpio"] = number("1000") }, ruleCurrent},
		"an append wiped the account":         {current, func(it attributes) { delete(it, "accountId") }, ruleCurrent},
		"an append took older diagnostics":    {current, func(it attributes) { it["diagnostics"] = text("sold, not seen yet") }, ruleCurrent},
		"an append replaced the created time": {current, func(it attributes) { it["createdAt"] = text(before) }, ruleCurrent},
	} {
		got, err := client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: c.key})
		require.NoError(t, err)
		original := got.Item
		require.Equal(t, name == "an event was never sent", original == nil, "%s: is the item there?", name)

		if c.change == nil {
			_, err = client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &table, Key: c.key})
		} else {
			changed := maps.Clone(c.key)
			maps.Copy(changed, original)
			c.change(changed)
			_, err = client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: changed})
		}
		require.NoError(t, err)
		require.Equal(t, map[[2]string]int{{d.name(), c.rule}: 1}, rules(t, s.check(ctx)), name)

		if original == nil {
			_, err = client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &table, Key: c.key})
		} else {
			_, err = client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: original})
		}
		require.NoError(t, err)
	}
	require.NoError(t, s.check(ctx), "after everything was put right")
}

// A database that drops events and says so would pass a check that only compares what is stored with what was
// answered; so the answers are checked, too.
func TestReplay_FindsWrongAnswers(t *testing.T) {
	t.Parallel()
	at := func(seconds, gpio int) Telemetry {
		return Telemetry{Channel: "c", DeviceID: "d", Timestamp: epoch.Add(time.Duration(seconds) * time.Second), GPIO: &gpio}
	}
	says := func(ev Telemetry, reason timeseries.Reason) receipt {
		return receipt{ev, timeseries.Result[Telemetry]{Applied: reason == "", Reason: reason}, ev}
	}
	newer := at(20, 1)
	behind := says(at(30, 1), "")
	behind.current = newer
	for name, c := range map[string]struct {
		answers []receipt
		wrong   int
	}{
		"all as it must be":      {[]receipt{says(newer, ""), says(at(10, 1), timeseries.Older), says(at(20, 1), timeseries.Duplicate), says(at(20, 2), timeseries.Collision)}, 0},
		"a new event as older":   {[]receipt{says(newer, timeseries.Older)}, 1},
		"an old event as new":    {[]receipt{says(newer, ""), says(at(10, 1), "")}, 1},
		"a retry as older":       {[]receipt{says(newer, ""), says(at(20, 1), timeseries.Older)}, 1},
		"another event as retry": {[]receipt{says(newer, ""), says(at(20, 2), timeseries.Duplicate)}, 1},
		"undecided":              {[]receipt{{newer, timeseries.Result[Telemetry]{}, newer}}, 1},
		"current before event":   {[]receipt{says(newer, ""), behind}, 1},
	} {
		wrong := 0
		d := &device{receipts: c.answers}
		d.replay(func(rule, format string, args ...any) {
			require.Equal(t, ruleAnswer, rule, name)
			wrong++
		})
		require.Equal(t, c.wrong, wrong, name)
	}
}

// The file next to the program lets the command dynastrata show what the program stores.
func TestSchemaLock(t *testing.T) {
	t.Parallel()
	a, err := open(nil, "telemetry", &costs{})
	require.NoError(t, err)
	schemalock.Check(t, a.db, "dynastrata.lock")
}
