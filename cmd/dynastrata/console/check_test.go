package console

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/avjson"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tables/schemalock"
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
	require.Contains(t, r.out, "TABLE, index: needs the index gsi9: gsi1pk, gsi1sk, has none")
	require.Contains(t, r.out, "TABLE, key: needs pk, range, has pk, sk")
	require.Contains(t, r.out, "# TABLE: DynamoDB changes no key of a table")
	require.Contains(t, r.out, "# index gsi9 of TABLE: the check of the program prints the line that adds it")
}

// sent sends the request of a line of the AWS command line.
func (l *lab) sent(line string) {
	l.t.Helper()
	m := regexp.MustCompile(`^\$ aws dynamodb (\S+) --cli-input-json '(.*)'\n$`).FindStringSubmatch(line)
	require.NotNil(l.t, m, line)
	text := []byte(strings.ReplaceAll(m[2], "TABLE", l.table))
	var err error
	switch ctx := l.t.Context(); m[1] {
	case "update-table":
		var in dynamodb.UpdateTableInput
		require.NoError(l.t, json.Unmarshal(text, &in))
		_, err = l.client.UpdateTable(ctx, &in)
	case "update-time-to-live":
		var in dynamodb.UpdateTimeToLiveInput
		require.NoError(l.t, json.Unmarshal(text, &in))
		_, err = l.client.UpdateTimeToLive(ctx, &in)
	case "get-item":
		var in struct {
			TableName string
			Key       json.RawMessage
		}
		require.NoError(l.t, json.Unmarshal(text, &in))
		key, problem := avjson.Item(in.Key)
		require.Empty(l.t, problem)
		out, failed := l.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &in.TableName, Key: key})
		require.NotEmpty(l.t, out.Item)
		err = failed
	default:
		require.Fail(l.t, "no such request", line)
	}
	require.NoError(l.t, err, line)
}

// The lines that check prints for a table make it the declared one, as far as DynamoDB changes tables.
func TestCheck_PrintsWhatMendsATable(t *testing.T) {
	t.Parallel()
	l := &lab{t: t, now: noon, prefix: "none"}
	l.client, l.table = localdb.Test(t)
	l.declare(l.client, l.table)
	l.lock = filepath.Join(t.TempDir(), "dynastrata.lock")
	require.NoError(t, os.WriteFile(l.lock, []byte(schemalock.Of(l.db).String()), 0o600))
	_, err := l.client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &l.table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: "S"}, {AttributeName: aws.String("sk"), AttributeType: "S"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: "HASH"}, {AttributeName: aws.String("sk"), KeyType: "RANGE"}},
	})
	require.NoError(t, err)
	golden(t, "check/table-lock.txt", l.run("check").out)
	r := l.embedded("", "check")
	require.Equal(t, ExitFindings, r.code, r.err)
	golden(t, "check/table.txt", r.out)
	for line := range strings.Lines(r.out) {
		if strings.HasPrefix(line, "$ ") {
			l.sent(line)
		}
	}
	require.Eventually(t, func() bool { return l.embedded("", "check").code == ExitOK }, time.Minute, 100*time.Millisecond)
}

// What DynamoDB does not change is to be decided, and a line has the place of the table unless that is a secret.
func TestCheck_SaysWhatIsToBeDecided(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, at := range []string{"", "http://localhost:8000", "https://key:secret@db.example.org"} {
		s := &session{app: App{}}
		root := s.root()
		root.Commands[0].Action = func(_ context.Context, c *cli.Command) error {
			for _, d := range []tables.Drift{
				{Kind: tables.DriftKey}, {Kind: tables.MissingIndex, Index: "gsi1"}, {Kind: tables.DifferentIndexKey, Index: "gsi1"}, {Kind: tables.DifferentProjection, Index: "gsi1"},
				{Kind: tables.DifferentStream, Need: "NEW_IMAGE"}, {Kind: tables.DifferentStream, Need: "NEW_IMAGE", Has: "KEYS_ONLY"}, {Kind: tables.DifferentTTL, Need: "_ttl"}, {Kind: tables.DifferentTTL, Need: "_ttl", Has: "ends"},
				{Kind: tables.DifferentRecovery, Need: "on"}, {Kind: tables.DifferentDeletion, Need: "on"}, {Kind: tables.DifferentBilling, Need: "PROVISIONED", Has: "PAY_PER_REQUEST"},
			} {
				all.WriteString(s.mendTable(c, "app", d) + "\n")
			}
			return nil
		}
		args := []string{"dynastrata", "--region", "eu-west-1"}
		if at != "" {
			args = append(args, "--endpoint", at)
		}
		require.NoError(t, root.Run(t.Context(), append(args, root.Commands[0].Name)))
	}
	require.NotContains(t, all.String(), "secret@")
	golden(t, "check/decide.txt", all.String())
}

// An item of no entity is shown by its key where nothing is hidden.
func TestCheck_ShowsItemsThatNoEntityKnows(t *testing.T) {
	t.Parallel()
	l := &lab{t: t, now: noon, prefix: "none", lock: "dynastrata.lock"}
	l.client, l.table = localdb.Test(t)
	l.db = entity.Must(entity.Open(l.client, entity.Config{Table: l.table}))
	cars := entity.Must(entity.New[Car](l.db))
	require.NoError(t, tables.Create(t.Context(), l.db))
	l.put(item.Item{"pk": item.S("who's"), "sk": item.S("foreign")})
	app := App{Clock: func() time.Time { return l.now }, Open: func(context.Context, Connection) (Program, error) {
		return Program{DB: l.db, Handles: &struct{ Cars *entity.Store[Car] }{cars}}, nil
	}}
	r := l.start(t.Context(), app, "", "--table", l.table, "check")
	require.Equal(t, ExitFindings, r.code, r.err)
	require.Contains(t, r.out, `$ aws dynamodb get-item --cli-input-json '{"Key":{"pk":{"S":"who'\''s"},"sk":{"S":"foreign"}},"TableName":"TABLE"}'`)
	l.sent(strings.ReplaceAll(strings.SplitAfter(r.out, "\n")[1], `'\''`, "'"))
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
	require.Equal(t, "dump TABLE: 0 of about 11\n11 items written, 1 request, 1.0 read units\n", regexp.MustCompile(`1 request, .*`).ReplaceAllString(r.err, "1 request, 1.0 read units"))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, secret := range secrets {
		require.NotContains(t, string(text), secret)
	}
	golden(t, "dump.jsonl", sorted(from.named(string(text))+"\n"))

	require.Equal(t, ExitDeclined, to.run("load", file).code)
	r = to.run("--yes", "load", file)
	require.Equal(t, ExitOK, r.code, r.err)
	require.Equal(t, "load: 0\n11 items written\n", r.err)
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
