package console

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/tables/schemalock"
)

// pages of commands that read, each compared with its golden file.
var readings = []struct {
	name string
	args string
	code int
}{
	{"schema", "schema", 0},
	{"schema-employee", "schema Employee", 0},
	{"schema-markdown", "schema --format markdown", 0},
	{"schema-json", "--json schema Telemetry", 0},
	{"schema-html", "schema --format html Employee Telemetry", 0},
	{"schema-mermaid", "schema --format mermaid", 0},
	{"show", "show Employee employeeId=e-1", 0},
	{"show-brief", "show --brief Employee employeeId=e-1", 0},
	{"show-deleted", "show employee employeeId=e-2", 0},
	{"show-series", "show Telemetry channel=c-1 deviceId=d-7", 0},
	{"show-json", "--json show Employee employeeId=e-1", 0},
	{"get", "get Employee employeeId=e-1", 0},
	{"get-json", "get --json Employee employeeId=e-1", 0},
	{"get-version", "get --version 1 Employee employeeId=e-1", 0},
	{"get-event", "get --version 2026-04-22T12:01 Telemetry channel=c-1 deviceId=d-7", 0},
	{"get-at", "get --at 2026-04-22T13:30 Employee employeeId=e-1", 0},
	{"get-at-event", "get --at 2026-04-22T12:01:30Z Telemetry channel=c-1 deviceId=d-7", 0},
	{"get-at-deleted", "get --at 2026-04-23 Employee employeeId=e-2", 0},
	{"get-at-before", "get --at 2026-04-22 Employee employeeId=e-1", ExitNotFound},
	{"mistake-at", "get --at noon Employee employeeId=e-1", ExitUsage},
	{"mistake-time", "get --version noon Telemetry channel=c-1 deviceId=d-7", ExitUsage},
	{"log-changes", "log --changes Employee employeeId=e-1", 0},
	{"log-json", "log --json Employee employeeId=e-1", 0},
	{"get-nothing", "get Employee employeeId=e-9", ExitNotFound},
	{"query", "query Employee byTenant tenantId=t-1", 0},
	{"query-part", "query Employee gsi1 tenantId=t-1 department=Sales", 0},
	{"query-related", "query --related Telemetry channel=c-1 deviceId=d-7", 0},
	{"log", "log Employee employeeId=e-1", 0},
	{"log-limit", "log --limit 2 Employee employeeId=e-1", 0},
	{"log-deleted", "log Employee employeeId=e-2", 0},
	{"log-series", "log Telemetry channel=c-1 deviceId=d-7", 0},
	{"diff", "diff Employee employeeId=e-1 1 3", 0},
	{"diff-json", "diff --json Employee employeeId=e-1 2 3", 0},
	{"mistake-entity", "show Employe employeeId=e-1", ExitUsage},
	{"mistake-part", "get Employee id=e-1", ExitUsage},
	{"mistake-parts", "get Telemetry channel=c-1", ExitUsage},
	{"mistake-index", "query Employee byName tenantId=t-1", ExitUsage},
	{"mistake-version", "diff Employee employeeId=e-1 1 9", ExitUsage},
	{"mistake-event", "get --version 2026-04-22 Telemetry channel=c-1 deviceId=d-7", ExitUsage},
	{"mistake-no-version", "diff Employee employeeId=e-1 1", ExitUsage},
	{"get-deleted", "get Employee employeeId=e-2", ExitNotFound},
	{"mistake-tables", "--table a --table b schema", ExitUsage},
	{"mistake-command", "shwo", ExitUsage},
}

func TestCommands_ReadWithTheLockAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	for _, c := range readings {
		r := l.run(strings.Fields(c.args)...)
		require.Equal(t, c.code, r.code, "%s: %s", c.args, r.err)
		if code := map[int]string{ExitUsage: "EDD-919"}[c.code]; c.name != "mistake-command" && c.name != "mistake-tables" {
			require.Contains(t, r.err, code)
		}
		golden(t, "read/"+c.name+".txt", fmt.Sprintf("$ dynastrata %s\n%s%s", c.args, r.out, r.err))
		if c.code == 0 {
			require.Equal(t, r.out, l.embedded("", strings.Fields(c.args)...).out, "%s with the declarations", c.args)
		}
	}
}

// Mistakes on the command line are found before any request.
func TestCommands_MistakesHaveCodes(t *testing.T) {
	t.Parallel()
	l := &lab{t: t, now: noon, table: "app", lock: t.TempDir() + "/dynastrata.lock"}
	l.declare(nil, "app")
	require.NoError(t, os.WriteFile(l.lock, []byte(schemalock.Of(l.db).String()), 0o600))
	for args, code := range map[string]string{
		"--table app show Employe employeeId=e-1":                   "EDD-9197",
		"--table app show":                                          "EDD-9197",
		"--table app query Employee byName tenantId=t-1":            "EDD-9197",
		"--table app schema --format pdf":                           "EDD-9197",
		"--table app get Employee":                                  "EDD-9198",
		"--table app get Employee employeeId":                       "EDD-9198",
		"--table app get Telemetry channel=c deviceId=a deviceId=b": "EDD-9198",
		"--table app query TimelinePages-visits":                    "EDD-9198",
		"show Employee employeeId=e-1":                              "EDD-9199",
	} {
		var out, errs strings.Builder
		r := Run(t.Context(), App{}, Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, append([]string{"--endpoint", "http://127.0.0.1:1", "--lock", l.lock}, strings.Fields(args)...))
		require.Equal(t, ExitUsage, r, args)
		require.Contains(t, errs.String(), code, args)
	}
}

func TestOpen_SaysWhatIsWrongWithALock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"later":     "# dynastrata schema lock, format 9\n",
		"cut":       "# dynastrata schema lock, format 2\n\nentity A\n  table = x\n",
		"malformed": "# dynastrata schema lock, format 2\n\nentity A\n  table = x\n  key partition = what\n",
		"template":  "# dynastrata schema lock, format 2\n\nentity A\n  table = x\n  key partition = pk S $app#v1#a#{id}\n",
		"binary":    "\x00\x01\x02",
		"missing":   "",
	} {
		path := dir + "/" + name
		if text != "" {
			require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		}
		var out, errs strings.Builder
		code := Run(t.Context(), App{}, Streams{In: strings.NewReader(""), Out: &out, Err: &errs}, []string{"--lock", path, "schema"})
		require.Equal(t, ExitUsage, code, name)
		require.Contains(t, errs.String(), "EDD-9196", name)
	}
}
