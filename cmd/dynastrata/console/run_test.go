package console

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/item"
)

var shares = regexp.MustCompile(`build visits: \d\d? %\n`)

// Commands that write ask first, do nothing on a dry run or without a yes, and then what they say.
func TestRun_AsksAndWrites(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	var record strings.Builder
	do := func(code int, input, args string) result {
		t.Helper()
		r := l.embedded(input, strings.Fields(args)...)
		require.Equal(t, code, r.code, "%s: %s", args, r.err)
		if input != "" {
			args += "   <- " + strings.TrimSpace(input)
		}
		record.WriteString("$ dynastrata " + args + "\n" + r.out + r.err + "\n")
		return r
	}
	do(ExitOK, "", "run rebuild --dry-run visits")
	do(ExitDeclined, "n\n", "run rebuild visits")
	do(ExitOK, "y\n", "run rebuild visits")
	do(ExitOK, "", "--yes run catchup visits")
	rows := do(ExitOK, "", "--yes --json run catchup visits")
	require.Contains(t, rows.out, `"rows":1`)

	_, err := l.client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &l.table, Key: item.Item{"pk": item.S("$app#v1#employee.email#a.baker@example.com"), "sk": item.S("$app#v1#employee.email")}})
	require.NoError(t, err)
	do(ExitOK, "", "run repair --dry-run Employee")
	do(ExitDeclined, "", "run repair Employee email")
	do(ExitOK, "", "--yes run repair Employee email")
	do(ExitUsage, "", "--yes run repair Employee phone")

	do(ExitOK, "", "run restore --dry-run Employee employeeId=e-2")
	do(ExitOK, "yes\n", "run restore Employee employeeId=e-2")
	do(ExitNotFound, "", "--yes run restore Employee employeeId=e-2")
	require.Equal(t, "Bob", entity.Must(l.employees.Get(t.Context(), Employee{EmployeeID: "e-2"})).DisplayName)

	do(ExitOK, "", "run purge --dry-run Telemetry channel=c-1 deviceId=d-7")
	do(ExitOK, "", "--yes run purge Telemetry channel=c-1 deviceId=d-7")
	do(ExitNotFound, "", "--yes run purge Telemetry channel=c-1 deviceId=d-7")
	do(ExitOK, "", "--yes run purge Employee employeeId=e-2")

	l.put(item.Item{"pk": item.S("$app#v1#telemetry#c-1#d-8"), "sk": item.S("$app#v1#telemetry"), "__edd_e__": item.S("Telemetry"), "channel": item.S("c-1"), "deviceId": item.S("d-8"), "accountId": item.S("a")})
	do(ExitOK, "", "run rewrite --dry-run Telemetry")
	do(ExitOK, "", "--yes run rewrite Telemetry")
	do(ExitOK, "", "--yes run rewrite --resume Telemetry")
	do(ExitUsage, "", "--yes run rewrite Telemetri")
	golden(t, "run.txt", shares.ReplaceAllString(record.String(), "")) // the parts of a build come in any order
}

// An interrupt ends a command with a code of its own, and says how to go on.
func TestRun_SaysHowToGoOn(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	for args, hint := range map[string]string{
		"--yes run rewrite Employee":               "run rewrite --resume Employee",
		"--yes run rewrite --new-version Employee": "run rewrite --new-version --resume Employee",
		"--yes run repair Employee":                "run repair Employee",
		"check":                                    "check",
		"dump":                                     "dump",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		interrupt := func() { cancel() }
		l.before.Store(&interrupt)
		app := l.app()
		if args == "dump" {
			app = App{}
		}
		r := l.start(ctx, app, "", append([]string{"--lock", l.lock, "--table", l.table}, strings.Fields(args)...)...)
		require.Equal(t, ExitInterrupted, r.code, "%s: %s", args, r.out+r.err)
		require.Contains(t, r.err, "go on with: dynastrata --lock LOCK --table TABLE "+hint+"\n", args)
		cancel()
	}
}
