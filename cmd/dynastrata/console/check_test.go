package console

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/avjson"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// put stores a raw item.
func (l *lab) put(it item.Item) {
	l.t.Helper()
	_, err := l.client.PutItem(l.t.Context(), &dynamodb.PutItemInput{TableName: &l.table, Item: it})
	require.NoError(l.t, err)
}

// spoil stores what does not belong in the table.
func (l *lab) spoil() {
	owner := func(id string) item.Item {
		return item.Item{schema.OwnerPKAttr: item.S("$app#v1#employee#" + id), schema.OwnerSKAttr: item.S("$app#v1#employee")}
	}
	with := func(a, b item.Item) item.Item {
		for name, av := range b {
			a[name] = av
		}
		return a
	}
	l.put(item.Item{"pk": item.S("alice@example.com"), "sk": item.S("foreign"), "note": item.S("bob@example.com")})
	l.put(item.Item{"pk": item.S("$app#v1#employee#e-3"), "sk": item.S("$app#v1#employee"), schema.EntityAttr: item.S("Employee"), "employeeId": item.S("e-3"), "displayName": item.N("7")})
	l.put(item.Item{"pk": item.S("$app#v1#employee#e-4"), "sk": item.S("$app#v1#employee#z#1"), schema.EntityAttr: item.S("Employee"), "employeeId": item.S("e-4")})
	l.put(with(item.Item{"pk": item.S("$app#v1#employee.email#alice@example.com"), "sk": item.S("$app#v1#employee.email"), schema.EntityAttr: item.S("Employee._unique.email"), schema.WriteAttr: item.S("w")}, owner("e-5")))
	l.put(item.Item{"pk": item.S("$app#v1#telemetry#c-1#d-9"), "sk": item.S("$app#v1#telemetry#e#2026-04-22T12:00:00Z"), schema.EntityAttr: item.S("Telemetry"), schema.KindAttr: item.S("e"), schema.WriteAttr: item.S("w"), "channel": item.S("c-1"), "deviceId": item.S("d-9"), "timestamp": item.S("2026-04-22T12:00:00Z")})
	l.put(item.Item{"pk": item.S("$app#v1#telemetry#c-1#d-7"), "sk": item.S("$app#v1#telemetry#e#2026-04-01T12:00:00Z"), schema.EntityAttr: item.S("Telemetry"), schema.KindAttr: item.S("e"), schema.WriteAttr: item.S("w"), "_ttl": item.N("1775600000"), "channel": item.S("c-1"), "deviceId": item.S("d-7"), "timestamp": item.S("2026-04-01T12:00:00Z")})
}

// sorted returns lines in order, since a scan reads items in the order of hashes.
func sorted(text string) string {
	lines := strings.SplitAfter(text, "\n")
	last := ""
	if n := len(lines); n > 1 {
		last, lines = lines[n-2], lines[:n-2]
	}
	for i := range lines {
		for j := i + 1; j < len(lines); j++ {
			if lines[j] < lines[i] {
				lines[i], lines[j] = lines[j], lines[i]
			}
		}
	}
	return strings.Join(lines, "") + last
}

func TestCheck_FindsWhatDoesNotBelong(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	for _, run := range []func(...string) result{l.run, func(args ...string) result { return l.embedded("", args...) }} {
		r := run("check")
		require.Equal(t, ExitOK, r.code, r.out+r.err)
		require.Contains(t, r.out, "all as declared")
	}
	l.spoil()
	r := l.run("check")
	require.Equal(t, ExitFindings, r.code, r.err)
	golden(t, "check/lock.txt", sorted(r.out))
	r = l.run("--json", "check")
	require.Equal(t, ExitFindings, r.code)
	for line := range strings.Lines(r.out) {
		require.True(t, json.Valid([]byte(line)), line)
	}
	r = l.embedded("", "check")
	require.Equal(t, ExitFindings, r.code, r.err)
	golden(t, "check/program.txt", sorted(r.out))
}

// The command lines that check prints mend what it has found.
func TestCheck_PrintsWhatMends(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	l.spoil()
	r := l.embedded("", "check")
	require.Equal(t, ExitFindings, r.code, r.err)
	run := 0
	for line := range strings.Lines(r.out) {
		if args, ok := strings.CutPrefix(line, "$ dynastrata --table TABLE "); ok {
			r := l.embedded("", append([]string{"--yes"}, strings.Fields(args)...)...)
			require.Equal(t, ExitOK, r.code, "%s: %s", args, r.err)
			run++
		}
	}
	require.Equal(t, 4, run, r.out)
	r = l.embedded("", "check")
	require.Equal(t, ExitFindings, r.code, r.err)
	for _, mended := range []string{"orphaned", "outdated"} {
		require.NotContains(t, r.out, mended)
	}
	require.Contains(t, l.embedded("", "--json", "check").out, `"remedy":"dynastrata --table TABLE query --related Employee employeeId=e-4"`)
}

func TestCheck_ComparesTables(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	text, err := os.ReadFile(l.lock)
	require.NoError(t, err)
	other := strings.ReplaceAll(strings.ReplaceAll(string(text), "index gsi1", "index gsi9"), "= sk S", "= range S")
	require.NoError(t, os.WriteFile(l.lock, []byte(other), 0o600))
	r := l.run("check")
	require.Equal(t, ExitFindings, r.code, r.err)
	require.Contains(t, r.out, "TABLE: there is no index gsi9")
	require.Contains(t, r.out, "TABLE: the key is declared as pk, range, and is pk, sk")
}

// A dump of one table, loaded into another, is as declared there, and has no secret.
func TestDump_CanBeLoaded(t *testing.T) {
	t.Parallel()
	from, to := newLab(t), newLab(t)
	from.story()
	to.now = from.now
	file := filepath.Join(t.TempDir(), "dump.jsonl")
	r := from.run("dump", "--out", file)
	require.Equal(t, ExitOK, r.code, r.err)
	require.Equal(t, "11 items written, 1 request, 1.0 read units\n", regexp.MustCompile(`1 request, .*`).ReplaceAllString(r.err, "1 request, 1.0 read units"))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, secret := range secrets {
		require.NotContains(t, string(text), secret)
	}
	golden(t, "dump.jsonl", sorted(from.named(string(text))+"\n"))

	require.Equal(t, ExitDeclined, to.run("load", file).code)
	r = to.run("--yes", "load", file)
	require.Equal(t, ExitOK, r.code, r.err)
	require.Equal(t, "11 items written\n", r.err)
	for _, args := range [][]string{{"check"}, {"--json", "show", "Employee", "employeeId=e-1"}} {
		r = to.run(args...)
		require.Equal(t, ExitOK, r.code, r.out)
		r = to.embedded("", args...)
		require.Equal(t, ExitOK, r.code, r.out)
	}
	require.Equal(t, from.run("show", "Telemetry", "channel=c-1", "deviceId=d-7"), to.run("show", "Telemetry", "channel=c-1", "deviceId=d-7"))

	r = from.run("dump", "Telemetry")
	require.Equal(t, 4, strings.Count(r.out, "\n"))
}

func TestLoad_SaysWhichLineIsWrong(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	good := `{"Item":{"pk":{"S":"$app#v1#telemetry#c-1#d-7"},"sk":{"S":"$app#v1#telemetry"},"__edd_e__":{"S":"Telemetry"}}}` + "\n"
	for name, bad := range map[string]string{
		"no JSON":     "alice@example.com\n",
		"no item":     "{}\n",
		"no value":    `{"Item":{"pk":{"X":"alice@example.com"}}}` + "\n",
		"no number":   `{"Item":{"pk":{"N":7}}}` + "\n",
		"two types":   `{"Item":{"pk":{"S":"a","N":"1"}}}` + "\n",
		"no entity":   `{"Item":{"pk":{"S":"a"},"sk":{"S":"alice@example.com"}}}` + "\n",
		"other table": `{"Table":"audit",` + strings.TrimPrefix(good, "{"),
		"cut":         good[:40],
	} {
		r := l.start(t.Context(), App{}, good+bad, "--lock", l.lock, "--table", l.table, "--yes", "load", "-")
		require.Equal(t, ExitFailed, r.code, name)
		require.Contains(t, r.err, "line 2", name)
		require.Contains(t, r.err, "1 item written", name)
	}
	require.Equal(t, ExitUsage, l.start(t.Context(), App{}, good, "--lock", l.lock, "--table", l.table, "load", "-").code)
}

// Values of every type survive.
func TestTyped_IsReadBack(t *testing.T) {
	t.Parallel()
	text := `{"L":[{"S":"a"},{"N":"1.50"},{"B":"AQI="},{"BOOL":false},{"NULL":true},{"SS":["a","b"]},{"NS":["1"]},{"BS":["AQI="]},{"M":{"x":{"L":[]}}}]}`
	av, problem := avjson.Value([]byte(text))
	require.Empty(t, problem)
	back, err := json.Marshal(typed(av))
	require.NoError(t, err)
	require.Equal(t, text, string(bytes.TrimSpace(back)))
}

func TestPlan_SaysWhatItCosts(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	r := l.run("plan", "scan")
	require.Equal(t, ExitOK, r.code, r.err)
	golden(t, "plan/scan.txt", r.out)
	require.True(t, json.Valid([]byte(l.run("--json", "plan", "scan", "Employee").out)))
	r = l.embedded("", "plan", "rebuild", "visits")
	require.Equal(t, ExitOK, r.code, r.err)
	golden(t, "plan/rebuild.txt", r.out)
	r = l.embedded("", "plan", "rewrite", "Employee")
	require.Equal(t, ExitOK, r.code, r.err)
	golden(t, "plan/rewrite.txt", r.out)
	for _, args := range [][]string{{"plan", "rebuild", "visits"}, {"plan", "rewrite", "Employee"}, {"run", "repair", "Employee"}} {
		r = l.run(args...)
		require.Equal(t, ExitUsage, r.code)
		require.Contains(t, r.err, "EDD-9199")
	}
	require.Equal(t, ExitUsage, l.embedded("", "plan", "rebuild", "visit").code)
}
