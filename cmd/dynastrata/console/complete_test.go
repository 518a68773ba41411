package console

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/tables/schemalock"
)

// What the shell asks, and what it gets from the lock, and from the declarations.
var completions = []struct{ args, lock, program string }{
	{"show", "Employee Telemetry Timeline-visits TimelineManifest-visits TimelinePages-visits TimelineParts-visits", "="},
	{"show Employee", "employeeId=", "="},
	{"show Employee employeeId=e-1", "", ""},
	{"get Telemetry", "channel= deviceId=", "="},
	{"get Telemetry channel=c-1", "deviceId=", "="},
	{"get Telemetry channel = c-1", "deviceId=", "="}, // as bash splits it
	{"get telemetry deviceId=d-7 channel=c-1", "", ""},
	{"get Employe", "", ""},
	{"query Employee", "employeeId= byTenant", "="},
	{"query Employee byTenant", "tenantId= department= employeeId=", "="},
	{"query Employee byTenant tenantId = t-1", "department= employeeId=", "="},
	{"query Employee gsi1 tenantId=t-1 department=R&D employeeId=e-1", "", ""},
	{"query Employee byName", "", ""},
	{"query Telemetry channel=c-1", "deviceId=", "="},
	{"log Employee", "employeeId=", "="},
	{"diff Employee", "employeeId=", "="},
	{"schema Employee telemetry TimelinePages-visits", "Timeline-visits TimelineManifest-visits TimelineParts-visits", "="},
	{"plan scan Employee", "", ""},
	{"plan rebuild", "", "visits"},
	{"plan rewrite", "", "Employee Telemetry"},
	{"run rebuild", "", "visits"},
	{"run rebuild visits", "", ""},
	{"run catchup", "", "visits"},
	{"run repair", "", "Employee"},
	{"run repair Employee", "email", "="},
	{"run repair Employee email", "", ""},
	{"run restore", "", "Employee"},
	{"run restore Employee", "employeeId=", "="},
	{"undelete", "", "Employee"},
	{"undelete Employee", "employeeId=", "="},
	{"revert", "", "Employee"},
	{"revert Employee", "employeeId=", "="},
	{"run purge", "", "Employee Telemetry"},
	{"run purge Telemetry channel=c-1", "deviceId=", "="},
	{"run rewrite", "", "Employee Telemetry"},
	{"find", "", ""},
	{"check", "", ""},
	{"load", "", ""}, // the shell completes files
}

// The shell completes names of entities, key parts, indexes, views and constraints, without a request.
func TestCompletion_OfNames(t *testing.T) {
	t.Parallel()
	l := &lab{t: t, now: noon, table: "app", prefix: "none", lock: t.TempDir() + "/dynastrata.lock"}
	l.declare(nil, "app")
	require.NoError(t, os.WriteFile(l.lock, []byte(schemalock.Of(l.db).String()), 0o600))
	for _, c := range completions {
		args := append(strings.Fields("--endpoint http://127.0.0.1:1 "+c.args), "--generate-shell-completion")
		r := l.run(args...)
		require.Equal(t, c.lock, strings.Join(strings.Fields(r.out), " "), c.args)
		want := c.program
		if want == "=" {
			want = c.lock
		}
		r = l.embedded("", args...)
		require.Equal(t, want, strings.Join(strings.Fields(r.out), " "), "%s with the declarations", c.args)
	}
	r := l.run("query", "--re", "--generate-shell-completion")
	require.Contains(t, r.out, "--related")
}

// The script that the command generates for bash completes words of a command line.
func TestCompletion_ScriptForBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	require.NoError(t, err)
	l := &lab{t: t, now: noon, table: "app", lock: filepath.Join(t.TempDir(), "dynastrata.lock")}
	l.declare(nil, "app")
	require.NoError(t, os.WriteFile(l.lock, []byte(schemalock.Of(l.db).String()), 0o600))
	binary, err := os.Executable()
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "dynastrata") // the script is for the name of the program
	require.NoError(t, os.Symlink(binary, link))
	const script = `
_comp_initialize() { :; } # of the package bash-completion
source <(dynastrata completion bash)
COMP_WORDS=($WORDS "$CURRENT"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
__dynastrata_bash_autocomplete dynastrata
echo "${COMPREPLY[@]}"`
	for _, c := range []struct{ words, current, want string }{
		{"query Employee", "", "employeeId= byTenant"},
		{"query Employee", "by", "byTenant"},
		{"query Employee byTenant tenantId = t-1", "", "department= employeeId="},
		{"get Tele", "", ""},
		{"get", "Tele", "Telemetry"},
		{"", "qu", "query"},
		{"query", "--rel", "--related"},
	} {
		cmd := exec.CommandContext(t.Context(), bash, "-c", script)
		cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(link)+":"+os.Getenv("PATH"), childEndpoint+"=http://127.0.0.1:1", childKey+"=local",
			"DYNASTRATA_LOCK="+l.lock, "WORDS=dynastrata "+c.words, "CURRENT="+c.current)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Equal(t, c.want, strings.TrimSpace(string(out)), "%s %s", c.words, c.current)
	}
}
