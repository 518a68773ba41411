package console

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
)

// terminal runs the command on a pseudo-terminal of some width, with what is typed, and returns what it shows: escape sequences
// begin with ␛, and ␍ goes back to the start of a line.
func (l *lab) terminal(app App, width int, typed string, args ...string) (int, string) {
	l.t.Helper()
	control, tty, err := pty.Open()
	require.NoError(l.t, err)
	defer func() { _, _ = control.Close(), tty.Close() }()
	require.NoError(l.t, pty.Setsize(tty, &pty.Winsize{Rows: 40, Cols: uint16(width)}))
	shown := make(chan string)
	go func() {
		var b bytes.Buffer
		readTerminal(control, writer(func(p []byte) (int, error) {
			b.Write(p)
			if typed != "" && bytes.HasSuffix(b.Bytes(), []byte("[y/N] ")) {
				_, _ = control.WriteString(typed)
			}
			return len(p), nil
		}))
		shown <- b.String()
	}()
	app.Client, app.salt = l.client, []byte("salt")
	code := Run(context.WithoutCancel(l.t.Context()), app, Streams{In: tty, Out: tty, Err: tty}, append([]string{"--lock", l.lock, "--table", l.table}, args...))
	_, err = tty.WriteString(endOfText)
	require.NoError(l.t, err)
	text := strings.NewReplacer("\r\n", "\n", "\r", "␍", "\x1b", "␛").Replace(l.named(<-shown))
	for _, secret := range secrets {
		require.NotContains(l.t, text, secret)
	}
	return code, text
}

// endOfText ends what a terminal shows. The kernel may drop what it has not passed on when the last program closes a terminal.
const endOfText = "\x1e"

// readTerminal copies what a terminal shows until endOfText.
func readTerminal(control io.Reader, to io.Writer) {
	buffer := make([]byte, 4096)
	for {
		n, err := control.Read(buffer)
		text, _, ended := bytes.Cut(buffer[:n], []byte(endOfText))
		_, _ = to.Write(text)
		if ended || err != nil {
			return
		}
	}
}

var bars = regexp.MustCompile(`(?:␍␛\[K[^␍\n]+)+(␍␛\[K[^␍\n]+␍␛\[K)`)

// recordings are commands as they look on a terminal.
var recordings = []struct {
	name, typed, args string
	program           bool
	code              int
}{
	{"schema", "", "schema Employee", false, 0},
	{"show", "", "show Employee employeeId=e-1", false, 0},
	{"show-series", "", "show Telemetry channel=c-1 deviceId=d-7", false, 0},
	{"schema-markdown", "", "schema --format markdown Telemetry", false, 0},
	{"schema-json", "", "schema --format json Telemetry", false, 0},
	{"schema-mermaid", "", "schema --format mermaid Telemetry", false, 0},
	{"schema-html", "", "schema --format html Telemetry", false, 0},
	{"get", "", "get Employee employeeId=e-1", false, 0},
	{"query", "", "query Employee byTenant tenantId=t-1", false, 0},
	{"log", "", "log Employee employeeId=e-1", false, 0},
	{"diff", "", "diff Employee employeeId=e-1 1 3", false, 0},
	{"plan", "", "plan scan", false, 0},
	{"plan-rebuild", "", "plan rebuild visits", true, 0},
	{"plan-rewrite", "", "plan rewrite Telemetry", true, 0},
	{"tail", "", "tail --from-start --limit 7 Telemetry", false, 0},
	{"check-clean", "", "check", true, 0},
	{"dump", "", "dump --out /dev/null", false, 0},
	{"rebuild", "y\n", "run rebuild visits", true, 0},
	{"catchup", "y\n", "run catchup visits", true, 0},
	{"repair-declined", "n\n", "run repair Employee", true, ExitDeclined},
	{"repair", "y\n", "run repair Employee", true, 0},
	{"restore-dry", "", "run restore --dry-run Employee", true, 0},
	{"restore", "y\n", "run restore Employee employeeId=e-2", true, 0},
	{"rewrite-dry", "", "run rewrite --dry-run Telemetry", true, 0},
	{"rewrite", "y\n", "run rewrite Telemetry", true, 0},
	{"purge", "y\n", "run purge Employee employeeId=e-2", true, 0},
	{"check", "", "check", false, ExitFindings},
	{"mistake", "", "show Employe employeeId=e-1", false, ExitUsage},
}

func TestTerminal_Recordings(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	l := newLab(t)
	l.story()
	for _, c := range recordings {
		app := App{Clock: l.app().Clock}
		if c.program {
			app = l.app()
		}
		if c.name == "check" {
			l.spoil()
		}
		code, text := l.terminal(app, 100, c.typed, strings.Fields(c.args)...)
		require.Equal(t, c.code, code, "%s: %s", c.args, text)
		if c.name == "check" {
			text = strings.ReplaceAll(text, "␍␛[K", "\n")
			text = sorted(text)
		}
		if c.name == "tail" {
			text = sorted(stamp.ReplaceAllString(text, "TIME  ") + "\n") // the records of a transaction have no order
		}
		text = bars.ReplaceAllString(text, "$1") // only the last bar: the parts of a build come in any order
		golden(t, "terminal/"+c.name+".txt", "$ dynastrata "+c.args+"\n"+text)
	}
}

// A dump is loaded on a terminal, which asks before it writes.
func TestTerminal_Load(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	from, to := newLab(t), newLab(t)
	from.story()
	file := filepath.Join(t.TempDir(), "dump.jsonl")
	require.Equal(t, ExitOK, from.run("dump", "--out", file).code)
	code, text := to.terminal(App{}, 100, "y\n", "load", file)
	require.Equal(t, ExitOK, code, text)
	text = bars.ReplaceAllString(strings.ReplaceAll(text, file, "dump.jsonl"), "$1")
	golden(t, "terminal/load.txt", "$ dynastrata load dump.jsonl\n"+text)
}

// Lines fit the terminal, and there are no colours if nobody wants them.
func TestTerminal_WidthsAndColours(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	l := newLab(t)
	l.story()
	app := App{Clock: l.app().Clock}
	_, narrow := l.terminal(app, 40, "", "query", "Employee", "byTenant", "tenantId=t-1")
	golden(t, "terminal/narrow.txt", narrow)
	_, narrow = l.terminal(app, 30, "", "diff", "Employee", "employeeId=e-1", "1", "3")
	golden(t, "terminal/narrow-diff.txt", narrow)
	_, colored := l.terminal(app, 100, "", "show", "Employee", "employeeId=e-1")
	require.Contains(t, colored, "␛[")
	_, plain := l.terminal(app, 100, "", "--no-color", "show", "Employee", "employeeId=e-1")
	require.NotContains(t, plain, "␛")
	t.Setenv("NO_COLOR", "1")
	_, again := l.terminal(app, 100, "", "show", "Employee", "employeeId=e-1")
	require.Equal(t, plain, again)
	require.Equal(t, plain, l.run("show", "Employee", "employeeId=e-1").out, "a pipe has none")
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "dumb")
	_, again = l.terminal(app, 100, "", "show", "Employee", "employeeId=e-1")
	require.Equal(t, plain, again)
}

// A question can be interrupted.
func TestConfirm_EndsWithTheContext(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close()) }()
	ctx, cancel := context.WithCancel(t.Context())
	app := l.app()
	app.Client = l.client
	var out bytes.Buffer
	question := writer(func(p []byte) (int, error) {
		if strings.Contains(string(p), "[y/N]") {
			cancel()
		}
		return len(p), nil
	})
	code := Run(ctx, app, Streams{In: r, Out: &out, Err: question}, []string{"--table", l.table, "run", "repair", "Employee"})
	require.Equal(t, ExitInterrupted, code)
}

type writer func(p []byte) (int, error)

func (f writer) Write(p []byte) (int, error) { return f(p) }
