package console

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// Variables of a process that is the command instead of a test.
const (
	childEndpoint = "CONSOLE_TEST_ENDPOINT"
	childKey      = "CONSOLE_TEST_KEY"     // access key
	childWords    = "CONSOLE_TEST_WORDS"   // of the program, before those of the command
	childNotMeant = 77                     // exit code of a process whose Main returns
	childProgram  = "CONSOLE_TEST_PROGRAM" // the table, if the process has the declarations
)

func TestMain(m *testing.M) {
	if endpoint := os.Getenv(childEndpoint); endpoint != "" {
		Main(childApp(endpoint, os.Getenv(childProgram)), strings.Fields(os.Getenv(childWords))...)
		os.Exit(childNotMeant)
	}
	os.Exit(m.Run())
}

// childApp is what the command of a child process works on.
func childApp(endpoint, table string) App {
	who := credentials.NewStaticCredentialsProvider(os.Getenv(childKey), "secret", "")
	client := dynamodb.New(dynamodb.Options{BaseEndpoint: &endpoint, Region: "us-east-1", Credentials: who, DisableValidateResponseChecksum: true})
	l := &lab{client: client, now: noon.Add(3 * time.Hour), prefix: "child"}
	app := App{Clock: func() time.Time { return l.now }, Client: client}
	if table != "" {
		app.Open = func(context.Context, Connection) (Program, error) {
			err := l.open(client, table)
			return Program{DB: l.db, Handles: l.handles()}, err
		}
	}
	return app
}

// screen is what a process has written to its terminal.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	select {
	case s.more <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// shows waits until the screen shows a text.
func (s *screen) shows(ctx context.Context, text string) bool {
	for !strings.Contains(s.String(), text) {
		select {
		case <-s.more:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

// recorded returns what a screen shows, for a golden file. The terminal drops its echo of ^C if it is fast.
func (l *lab) recorded(s *screen) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "␍", "\x1b", "␛", "^C", "").Replace(l.named(s.String()))
}

// process is the command in a process of its own, with a terminal that controls it: ^C is typed, not simulated.
type process struct {
	screen *screen
	typed  func(string)
	end    func() int // waits for the end of the process, and returns its exit code
}

// spawn starts the command. Requests go through hold first.
func (l *lab) spawn(ctx context.Context, program bool, hold func(*http.Request), args ...string) process {
	l.t.Helper()
	target, err := url.Parse(*l.client.Options().BaseEndpoint)
	require.NoError(l.t, err)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) {} // of requests that the interrupt has ended
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hold(r)
		proxy.ServeHTTP(w, r)
	}))
	l.t.Cleanup(server.Close)
	who, err := l.client.Options().Credentials.Retrieve(ctx)
	require.NoError(l.t, err)
	binary, err := os.Executable()
	require.NoError(l.t, err)
	c := exec.CommandContext(ctx, binary, append([]string{"--lock", l.lock, "--table", l.table}, args...)...)
	c.Env = append(os.Environ(), "NO_COLOR=", "TERM=xterm", childEndpoint+"="+server.URL, childKey+"="+who.AccessKeyID)
	if program {
		c.Env = append(c.Env, childProgram+"="+l.table)
	}
	control, tty, err := pty.Open()
	require.NoError(l.t, err)
	require.NoError(l.t, pty.Setsize(tty, &pty.Winsize{Rows: 40, Cols: 100}))
	c.Stdin, c.Stdout, c.Stderr = tty, tty, tty
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(l.t, c.Start())
	s := &screen{more: make(chan struct{}, 1)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		readTerminal(control, s)
	}()
	return process{s, func(text string) { _, _ = control.WriteString(text) }, func() int {
		_ = c.Wait()
		_, _ = tty.WriteString(endOfText)
		<-read
		_, _ = control.Close(), tty.Close()
		return c.ProcessState.ExitCode()
	}}
}

// interrupted are long commands, and the requests during which they are interrupted.
var interrupted = []struct {
	name, args, at string
	shown          string // before that
	program        bool
}{
	{"check", "check", "Scan", "check TABLE", false},
	{"check-program", "check", "Scan", "check TABLE", true},
	{"find", "find --scan nobody", "Scan", "read TABLE 0", false},
	{"dump", "dump --out /dev/null", "Scan", "dump TABLE", false},
	{"load", "--yes load FILE", "BatchWriteItem", "load 0", false},
	{"plan-rewrite", "plan rewrite Employee", "Scan", "read Employee 0", true},
	{"rebuild", "--yes run rebuild visits", "Scan", "build visits", true},
	{"catchup", "--yes run catchup visits", "Scan", "build visits", true},
	{"repair", "--yes run repair Employee", "Scan", "compare email 0", true},
	{"restore", "--yes run restore Employee", "TransactWriteItems", "restore Employee", true},
	{"rewrite", "--yes run rewrite Telemetry", "Scan", "rewrite Telemetry 0", true},
	{"purge", "--yes run purge Telemetry channel=c-1 deviceId=d-7", "Write", "1 of about", true},
	{"question", "run repair Employee", "", "[y/N]", true},
}

var itemsRead = regexp.MustCompile(`(read TABLE |█ )\d+( of about \d+)?`)

// ^C ends each long command during a request, with its exit code, and the command says how to go on.
func TestInterrupt_EndsEachLongCommand(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	file := filepath.Join(t.TempDir(), "dump.jsonl")
	require.Equal(t, ExitOK, l.run("dump", "--out", file).code)
	require.Equal(t, ExitOK, l.embedded("", "--yes", "run", "rebuild", "visits").code) // so that there is something to catch up
	for _, c := range interrupted {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		reached, over := make(chan struct{}, 1), make(chan struct{})
		hold := func(r *http.Request) {
			if _, verb, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); c.at != "" && strings.Contains(verb, c.at) {
				select {
				case reached <- struct{}{}:
				default:
				}
				<-over
			}
		}
		p := l.spawn(ctx, c.program, hold, strings.Fields(strings.ReplaceAll(c.args, "FILE", file))...)
		if c.at != "" {
			select {
			case <-reached:
			case <-ctx.Done():
				t.Fatalf("%s: no %s: %s", c.name, c.at, p.screen)
			}
		}
		require.True(t, p.screen.shows(ctx, strings.ReplaceAll(c.shown, "TABLE", l.table)), c.name)
		p.typed("\x03")
		code := p.end()
		cancel()
		close(over)
		text := strings.ReplaceAll(l.recorded(p.screen), file, "FILE")
		if c.name == "restore" { // what earlier commands have left depends on when they were interrupted
			text = itemsRead.ReplaceAllString(text, "${1}N")
		}
		require.Equal(t, ExitInterrupted, code, "%s: %s", c.name, text)
		golden(t, "terminal/interrupt/"+c.name+".txt", "$ dynastrata "+c.args+"\n"+bars.ReplaceAllString(text, "$1"))
	}
}

// trimmed is a line that DynamoDB Local causes: it trims shards that other tests have read.
var trimmed = regexp.MustCompile(`(?m)^TIME  \S*records lost.*\n`)

// tail shows changes while they happen, and ^C ends it with code 0.
func TestInterrupt_EndsTail(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	reads := make(chan struct{}, 1)
	p := l.spawn(ctx, false, func(r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetRecords") {
			select {
			case reads <- struct{}{}:
			default:
			}
		}
	}, "tail", "Telemetry")
	select {
	case <-reads: // from now on changes are seen
	case <-ctx.Done():
		t.Fatal(p.screen)
	}
	dock := "dock 1"
	entity.Must(l.telemetry.Append(ctx, Telemetry{Channel: "c-1", DeviceID: "d-7", Timestamp: noon, Location: &dock}))
	f := entity.Fields[Telemetry]()
	entity.Must(l.telemetry.Update(ctx, Telemetry{Channel: "c-1", DeviceID: "d-7"}, entity.Set(&f.AccountID, "acct-1")))
	require.True(t, p.screen.shows(ctx, "accountId"), p.screen)
	p.typed("\x03")
	require.Equal(t, ExitOK, p.end(), p.screen)
	text := stamp.ReplaceAllString(l.recorded(p.screen), "TIME  ")
	text = trimmed.ReplaceAllString(text, "")
	golden(t, "terminal/interrupt/tail.txt", "$ dynastrata tail Telemetry\n"+sorted(text))
}

// What a program gives for its handles is a pointer to a struct.
func TestOpen_RefusesWhatIsNoProgram(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for want, program := range map[string]Program{
		"App.Open returned no DB":               {},
		"Handles is what entity.Bind returns":   {DB: l.db, Handles: struct{}{}},
		"a pointer to a struct, and not a *int": {DB: l.db, Handles: new(int)},
	} {
		app := App{Open: func(context.Context, Connection) (Program, error) { return program, nil }}
		r := l.start(t.Context(), app, "", "--table", l.table, "schema")
		require.Equal(t, ExitUsage, r.code, r.err)
		require.Contains(t, r.err, "EDD-9199")
		require.Contains(t, r.err, want)
	}
	app := App{Open: func(context.Context, Connection) (Program, error) { return Program{DB: l.db}, nil }}
	r := l.start(t.Context(), app, "", "--table", l.table, "--yes", "run", "rewrite", "Employee")
	require.Equal(t, ExitUsage, r.code, r.err)
	require.Contains(t, r.err, "there are: none")
}
