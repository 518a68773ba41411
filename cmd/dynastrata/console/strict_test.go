package console

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/tables/schemalock"
)

// Each mistake on a command line has the code of one, and help that was not asked for is on standard error.
func TestUsage_MistakesAreRefusedByEachCommand(t *testing.T) {
	t.Parallel()
	l := &lab{t: t, now: noon, table: "app", lock: t.TempDir() + "/dynastrata.lock"}
	l.declare(nil, "app")
	require.NoError(t, os.WriteFile(l.lock, []byte(schemalock.Of(l.db).String()), 0o600))
	run := func(args ...string) (int, string, string) {
		var out, errs strings.Builder
		app := l.app()
		code := Run(t.Context(), app, Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, append([]string{"--endpoint", "http://127.0.0.1:1", "--lock", l.lock, "--table", "app"}, args...))
		return code, out.String(), errs.String()
	}
	for _, args := range []string{
		"", "nope", "--nope", "run", "run nope", "plan", "plan nope", "schema --nope", "show --nope", "get --nope", "query --limit x", "log --nope", "diff --nope", "tail --limit x", "check --nope",
		"plan scan --nope", "plan rebuild --nope", "plan rewrite --nope", "dump --out", "load --nope", "run rebuild --nope", "run catchup --nope", "run repair --nope", "run restore --nope",
		"run purge --nope", "undelete --nope", "find --limit x", "revert --nope", "run rewrite --ends Employee x", "run rewrite --nope", "check Employee", "plan scan Employee Telemetry", "plan rebuild visits visits", "load a b", "run repair Employee email x", "run rewrite Employee x", "run catchup visits x",
	} {
		code, out, errs := run(strings.Fields(args)...)
		require.Equal(t, ExitUsage, code, "%q: %s", args, errs)
		require.Empty(t, out, args)
		require.Contains(t, errs, "USAGE", args)
		require.Contains(t, errs, "dynastrata: ", args)
	}
	for _, args := range []string{"help", "--help", "show --help", "run --help", "run rebuild --help"} {
		code, out, errs := run(strings.Fields(args)...)
		require.Equal(t, ExitOK, code, args)
		require.Contains(t, out, "USAGE", args)
		require.Empty(t, errs, args)
	}
}

// A flag whose value is empty, as that of a variable that a shell does not have, is a mistake: the command would read another table, or
// another database. An environment variable without a value does not count.
func TestUsage_AFlagWithoutAValueIsAMistake(t *testing.T) {
	dir := t.TempDir()
	l := &lab{t: t, now: noon, table: "app", lock: dir + "/dynastrata.lock"}
	l.declare(nil, "app")
	require.NoError(t, os.WriteFile(l.lock, []byte(schemalock.Of(l.db).String()), 0o600))
	run := func(args ...string) (int, string) {
		var out, errs strings.Builder
		code := Run(t.Context(), App{}, Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, append([]string{"--lock", l.lock, "--table", "app"}, args...))
		return code, errs.String()
	}
	for flag, args := range map[string][]string{
		"lock": {"--lock", "", "schema"}, "endpoint": {"--endpoint", "", "check"}, "region": {"--region=", "check"}, "table": {"--table", "", "check"},
		"out": {"dump", "--out", ""}, "format": {"schema", "--format", ""},
	} {
		for _, endpoint := range []string{"", "http://127.0.0.1:1"} {
			t.Setenv("DYNAMODB_ENDPOINT", endpoint)
			if flag == "endpoint" && endpoint == "" {
				require.NoError(t, os.Unsetenv("DYNAMODB_ENDPOINT"))
			}
			code, errs := run(args...)
			require.Equal(t, ExitUsage, code, flag)
			require.Contains(t, errs, "--"+flag+" is given without a value", flag)
		}
	}
	code, errs := run("--table", "logs=", "check")
	require.Equal(t, ExitUsage, code)
	require.Contains(t, errs, "--table is given without a value")
	t.Setenv("DYNAMODB_ENDPOINT", "")
	t.Setenv("DYNASTRATA_LOCK", "")
	code, errs = run("schema", "Employee")
	require.Equal(t, ExitOK, code, errs)
}

// load says how much it has written when it cannot go on, and takes no text that it would change.
func TestLoad_StopsAtTheFirstBadLine(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	good := l.run("dump")
	lines := strings.Split(strings.TrimSpace(good.out), "\n")
	slices.SortStableFunc(lines, func(a, b string) int { // the first version of Alice first
		return cmp.Compare(strings.Index(b, `"displayName":{"S":"Alice"}`), strings.Index(a, `"displayName":{"S":"Alice"}`))
	})
	for name, bad := range map[string]string{
		"no UTF-8":       `{"Item":{"pk":{"S":"` + "a\xff" + `"}}}`,
		"half a pair":    `{"Item":{"pk":{"S":"a\ud800"}}}`,
		"null text":      strings.Replace(lines[0], `"displayName":{"S":"Alice"}`, `"displayName":{"S":null}`, 1),
		"null number":    strings.Replace(lines[0], `"version":{"N":"1"}`, `"version":{"N":null}`, 1),
		"null flag":      strings.Replace(lines[0], `"displayName":{"S":"Alice"}`, `"displayName":{"BOOL":null}`, 1),
		"null in a set":  strings.Replace(lines[0], `"displayName":{"S":"Alice"}`, `"displayName":{"SS":["a",null]}`, 1),
		"null list":      strings.Replace(lines[0], `"displayName":{"S":"Alice"}`, `"displayName":{"L":null}`, 1),
		"null map":       strings.Replace(lines[0], `"displayName":{"S":"Alice"}`, `"displayName":{"M":null}`, 1),
		"no null at all": strings.Replace(lines[0], `"displayName":{"S":"Alice"}`, `"displayName":{"NULL":false}`, 1),
	} {
		r := l.start(t.Context(), App{}, bad, "--lock", l.lock, "--table", l.table, "--yes", "load", "-")
		require.Equal(t, ExitUsage, r.code, name)
		require.Contains(t, r.err, "line 1", name)
		require.NotContains(t, r.err, "written", name)
		r = l.start(t.Context(), App{}, lines[0]+"\n"+lines[1]+"\n"+bad, "--lock", l.lock, "--table", l.table, "--yes", "load", "-")
		require.Equal(t, ExitFailed, r.code, name)
		require.Contains(t, r.err, "line 3", name)
		require.Contains(t, r.err, "2 items written", name)
	}
	pair := strings.Replace(lines[0], `"displayName":{"S":"Alice"}`, `"displayName":{"S":"\\ud800 \ud83d\ude00"}`, 1)
	require.Equal(t, ExitOK, l.start(t.Context(), App{}, pair, "--lock", l.lock, "--table", l.table, "--yes", "load", "-").code)
	r := l.start(t.Context(), App{}, lines[0], "--lock", l.lock, "--table", l.table, "--json", "--yes", "load", "-")
	require.Equal(t, "{\"written\":1}\n", r.out)
}

// The line that goes on with a command is whole, is quoted for a shell, and has no secret.
func TestAgain_CanBePasted(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	interrupted := func(args ...string) string {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		interrupt := func() { cancel() }
		l.before.Store(&interrupt)
		defer l.before.Store(nil)
		app := l.app()
		app.name = "shop table"
		r := l.start(ctx, app, "", append([]string{"--table", l.table, "--table", "other=it's here", "--json"}, args...)...)
		require.Equal(t, ExitInterrupted, r.code, r.err)
		_, line, _ := strings.Cut(r.err, "go on with: ")
		return strings.TrimSpace(line)
	}
	const whole = `shop table --table TABLE --table 'other=it'\''s here' --json `
	require.Equal(t, whole+"run rewrite --new-version --resume Employee", interrupted("--yes", "run", "rewrite", "--new-version", "Employee"))
	require.Equal(t, whole+"run rewrite --resume Employee", interrupted("--yes", "run", "rewrite", "--resume", "Employee"))
	require.Equal(t, whole+"check", interrupted("check"))
	require.Equal(t, whole+"dump --out /dev/null Employee", interrupted("dump", "--out", "/dev/null", "Employee"))
	require.Equal(t, `$'\x1b\x5b'`, quoted("\x1b["))
}

// A command line with a secret part of a key is not printed.
func TestAgain_HasNoSecrets(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	entity.Must(entity.New[Vault](db))
	again := func(args ...string) (line string) {
		s := &session{}
		s.m = entity.Must(modelOfDB(db))
		purge := &cli.Command{Name: "purge", Action: func(_ context.Context, c *cli.Command) error {
			line = s.again(c, "")
			return nil
		}}
		root := &cli.Command{Name: "dynastrata", Flags: s.flags(), Commands: []*cli.Command{purge}}
		require.NoError(t, root.Run(t.Context(), append([]string{"dynastrata", "purge"}, args...)))
		return line
	}
	require.Equal(t, "dynastrata --lock vault.lock purge Vault row=7", again("--lock", "vault.lock", "Vault", "row=7"))
	require.Equal(t, "the same command again", again("Vault", "token=aB3"))
	require.Equal(t, "the same command again", again("--endpoint", "http://me:word@localhost", "Vault"))
}

// A program can have the command as a subcommand.
func TestMain_CanBeASubcommand(t *testing.T) {
	t.Parallel()
	l := &lab{t: t, now: noon}
	l.declare(nil, "app")
	l.lock = filepath.Join(t.TempDir(), "lock")
	require.NoError(t, os.WriteFile(l.lock, []byte(schemalock.Of(l.db).String()), 0o600))
	run := func(args ...string) (int, string) {
		binary, err := os.Executable()
		require.NoError(t, err)
		c := exec.CommandContext(t.Context(), binary, args...)
		c.Env = append(os.Environ(), childEndpoint+"=http://127.0.0.1:1", childKey+"=x", childWords+"=database table")
		out, err := c.CombinedOutput()
		require.NotNil(t, c.ProcessState, err)
		return c.ProcessState.ExitCode(), string(out)
	}
	code, out := run("database", "table", "--lock", l.lock, "schema", "Employee")
	require.Equal(t, ExitOK, code, out)
	require.Contains(t, out, "Employee  table")
	code, out = run("database", "table")
	require.Equal(t, ExitUsage, code, out)
	require.Contains(t, out, " database table [global options]")
	for _, args := range [][]string{{"database"}, {}, {"serve"}, {"database", "tables", "schema"}, {"table", "database"}} { // the program goes on
		code, out = run(args...)
		require.Equal(t, childNotMeant, code, out)
		require.Empty(t, out)
	}
}

// JSON is one object a line in each command.
func TestJSON_IsOneObjectALine(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	for _, args := range []string{
		"schema", "schema Employee", "show Employee employeeId=e-1", "get Employee employeeId=e-1", "query Employee byTenant tenantId=t-1", "log Employee employeeId=e-1", "diff Employee employeeId=e-1 1 3",
		"check", "plan scan", "plan rebuild visits", "plan rewrite Employee", "dump", "tail --from-start --limit 3", "run rebuild --dry-run visits", "--yes run rebuild visits", "query Timeline-visits",
		"--yes run catchup visits", "--yes run repair Employee", "run restore --dry-run Employee", "find --scan e-1", "log --changes Employee employeeId=e-1", "get --at 2026-04-23 Employee employeeId=e-1", "run purge --dry-run Employee employeeId=e-1", "run rewrite --dry-run Employee", "--yes run rewrite Employee",
	} {
		r := l.embedded("", append([]string{"--json"}, strings.Fields(args)...)...)
		require.Contains(t, []int{ExitOK, ExitFindings}, r.code, "%s: %s", args, r.err)
		require.NotEmpty(t, r.out, args)
		for line := range strings.SplitSeq(strings.TrimSuffix(r.out, "\n"), "\n") {
			require.NoError(t, json.Unmarshal([]byte(line), &map[string]any{}), "%s: %s", args, line)
		}
	}
}

// The rows of a read model are listed without the name of their generation.
func TestQuery_ListsTheRowsOfAView(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	require.Equal(t, ExitNotFound, l.run("query", "Timeline-visits").code)
	require.Equal(t, ExitOK, l.embedded("", "--yes", "run", "rebuild", "visits").code)
	for _, r := range []result{l.run("query", "Timeline-visits"), l.embedded("", "query", "Timeline-visits", "group=d-7")} {
		require.Equal(t, ExitOK, r.code, r.err)
		require.Contains(t, r.out, "group=d-7")
		require.Contains(t, r.out, "1 item")
	}
}

// A field of a unique constraint is shown unless it is secret.
func TestSecrets_AreWhatIsDeclaredSecret(t *testing.T) {
	t.Parallel()
	l := &lab{t: t, now: noon}
	l.declare(nil, "app")
	text := strings.ReplaceAll(schemalock.Of(l.db).String(), "attribute email = S always secret", "attribute email = S always")
	lock, err := schemalock.Parse([]byte(text))
	require.NoError(t, err)
	m, err := modelOf(lock, func(string) string { return "app" })
	require.NoError(t, err)
	e, err := m.entity("Employee")
	require.NoError(t, err)
	require.Equal(t, []string{"salary"}, m.secretAttrs(e))
	require.False(t, m.hides(e, "email"))
	require.False(t, m.hides(e, "pk"))
}

// No text of a table, a lock or the command line drives a terminal, whatever shows it.
func TestOutput_QuotesForeignText(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	odd := "\x1b]0;owned\x07\u009b31m\u202e\u2066\r\x1b[31m"
	l.put(item.Item{"pk": item.S("$app#v1#employee#e-7"), "sk": item.S("$app#v1#employee"), "__edd_e__": item.S("Employee"), "employeeId": item.S("e-7"), "tenantId": item.S(odd), odd: item.S(odd),
		"displayName": item.S(odd), "department": mapOf(item.Item{odd: item.S(odd)})})
	l.put(item.Item{"pk": item.S("$app#v1#telemetry#c-9#d" + odd), "sk": item.S("$app#v1#telemetry"), "__edd_e__": item.S("Telemetry"), "channel": item.S("c-9"), "deviceId": item.S("d" + odd)})
	l.put(item.Item{"pk": item.S("$app#v1#telemetry#c-9#d-9"), "sk": item.S("$app#v1#telemetry#e#" + odd), "__edd_e__": item.S("Telemetry"), "_k": item.S("e"), odd: item.N("1")})
	l.put(item.Item{"pk": item.S(odd), "sk": item.S(odd), odd: item.S(odd), "__edd_e__": item.S(odd)})
	l.put(item.Item{"pk": item.S("$app#v1#employee.email#x"), "sk": item.S("s"), "__edd_e__": item.S("Employee._unique." + odd)})
	safe := func(args []string, text string) {
		t.Helper()
		require.True(t, utf8.ValidString(text), args)
		require.Equal(t, -1, strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }), "%q: %q", args, text)
	}
	for _, args := range [][]string{
		{"get", "Employee", "employeeId=e-7"}, {"show", "Employee", "employeeId=e-7"}, {"query", "Employee", "employeeId=e-7"}, {"query", "--related", "Telemetry", "channel=c-9", "deviceId=d-9"},
		{"query", "Telemetry", "channel=c-9", "deviceId=d" + odd}, {"log", "Employee", "employeeId=e-7"}, {"check"}, {"tail", "--from-start", "--limit", "8"}, {"dump"},
		{"show", odd}, {odd}, {"show", "--" + odd}, {"query", "Employee", odd}, {"load", odd}, {"--lock", odd, "schema"}, {"--table", odd, "check"}, {"schema", "--format", odd}, {"diff", "Employee", "employeeId=e-1", odd, "3"},
	} {
		for _, json := range []string{"--no-color", "--json"} {
			r := l.run(append([]string{json}, args...)...)
			safe(args, r.out+r.err)
		}
		r := l.embedded("", args...)
		safe(args, r.out+r.err)
	}
	require.Equal(t, "\x1b[1mb\x1b[m\\x1b]", printable("\x1b[1mb\x1b[m\x1b]", true))
	require.Equal(t, `a\x1b[31m\xffb`, printable("a\x1b[31m\xffb", false))
}
