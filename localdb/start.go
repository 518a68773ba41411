package localdb

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// ErrUnavailable is matched by the error of [Start] when no database is available.
var ErrUnavailable = errors.New("localdb: no database is available")

// candidate is one way to get a database.
type candidate struct {
	kind  string
	start func(context.Context, settings) (*Server, error)
}

// start returns the first database of list that starts, or the one that the settings choose.
func start(ctx context.Context, cfg settings, list []candidate) (*Server, error) {
	if cfg.endpoint != "" {
		return attach(ctx, cfg)
	}
	list, err := choose(cfg.kind, list)
	if err != nil {
		return nil, err
	}
	var passed []error
	for _, c := range list {
		server, err := c.start(ctx, cfg)
		if err == nil {
			if len(passed) > 0 {
				_, _ = fmt.Fprintf(cfg.notify, "localdb: using %s, for want of a better one:\n%s\n", c.kind, reasons(passed))
			}
			return server, nil
		}
		passed = append(passed, fmt.Errorf("%s: %w", c.kind, err))
		if ctx.Err() != nil { // the others would fail for the same reason
			return nil, fmt.Errorf("localdb: start interrupted: %w: %s: %w", ctx.Err(), c.kind, err)
		}
	}
	return nil, &unavailableError{passed}
}

// choose returns the candidate that LOCALDB_KIND chooses, or all.
func choose(kind string, list []candidate) ([]candidate, error) {
	if kind == "" {
		return list, nil
	}
	var known []string
	for _, c := range list {
		if c.kind == kind {
			return []candidate{c}, nil
		}
		known = append(known, c.kind)
	}
	return nil, fmt.Errorf("%w: LOCALDB_KIND=%q: want one of %s", ErrUnavailable, kind, strings.Join(known, ", "))
}

// unavailableError lists why each candidate was passed over.
type unavailableError struct{ passed []error }

func (e *unavailableError) Error() string { return ErrUnavailable.Error() + "\n" + reasons(e.passed) }

func (e *unavailableError) Unwrap() []error { return append([]error{ErrUnavailable}, e.passed...) }

// reasons lists why kinds were passed over, one per line.
func reasons(passed []error) string {
	var lines []string
	for _, err := range passed {
		lines = append(lines, "  - "+strings.ReplaceAll(err.Error(), "\n", "\n    "))
	}
	return strings.Join(lines, "\n")
}

// attachPatience bounds the wait for the database at DYNAMODB_ENDPOINT. CI may start it after the tests.
const attachPatience = 30 * time.Second

// attach returns the database at DYNAMODB_ENDPOINT.
func attach(ctx context.Context, cfg settings) (*Server, error) {
	if err := checkEndpoint(cfg.endpoint, cfg.allowAWS); err != nil {
		return nil, fmt.Errorf("%w: DYNAMODB_ENDPOINT=%q: %w", ErrUnavailable, cfg.endpoint, err)
	}
	server := &Server{kind: KindEndpoint, endpoint: strings.TrimRight(cfg.endpoint, "/"), http: newHTTPClient()}
	ctx, cancel := context.WithTimeout(ctx, attachPatience)
	defer cancel()
	if err := await(ctx, server.http, server.endpoint, "", nil); err != nil {
		return nil, fmt.Errorf("%w: DYNAMODB_ENDPOINT=%q: %w", ErrUnavailable, cfg.endpoint, err)
	}
	return server, nil
}

// awsDomains are the domains that AWS serves DynamoDB under.
var awsDomains = []string{"amazonaws.com", "amazonaws.com.cn", "amazonaws.eu", "api.aws", "api.amazonwebservices.com.cn"}

// checkEndpoint rejects a text that is not a URL, and addresses of AWS: tests create and delete tables, and must not do so
// in a real account because a variable was left set.
func checkEndpoint(endpoint string, allowAWS bool) error {
	u, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		return fmt.Errorf("want a URL such as http://127.0.0.1:8000")
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	for _, domain := range awsDomains {
		if (host == domain || strings.HasSuffix(host, "."+domain)) && !allowAWS {
			return fmt.Errorf("this is an address of AWS; set LOCALDB_ALLOW_AWS=1 to use it all the same")
		}
	}
	return nil
}

// patience bounds the wait for a database to answer. It ends a start that hangs, also on a busy machine.
const patience = 5 * time.Minute

// newHTTPClient returns a client that keeps as many connections as parallel tests use. With net/http's default of two, most
// calls would open a new one.
func newHTTPClient() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	transport.MaxIdleConns = 256
	transport.MaxIdleConnsPerHost = 64
	return &http.Client{
		Transport: newTurns(transport),
		// DynamoDB never redirects; following one would turn a POST into a GET.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// lookPath finds a program in PATH. The path is absolute, since children run in another directory.
func lookPath(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return "", fmt.Errorf("%s is not in PATH", program)
	}
	return filepath.Abs(path)
}

// recipe says how to start a kind of database.
type recipe struct {
	kind string
	dir  string // working directory
	// command returns the program and its arguments for a port. token is a random name that identifies the database; see
	// ping.
	command func(port int, token string) []string
}

// boot starts a process that serves DynamoDB on a free port, and waits at most patience until it answers.
func boot(ctx context.Context, cfg settings, patience time.Duration, r recipe) (*Server, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for attempt := 1; ; attempt++ {
		server, err := bootOnce(ctx, cfg, r)
		if err == nil {
			return server, nil
		}
		// Another program may have taken the port since we found it free.
		if attempt == 3 || !portTaken(err) {
			return nil, err
		}
	}
}

func bootOnce(ctx context.Context, cfg settings, r recipe) (*Server, error) {
	port, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	token := "localdb-" + strings.ToLower(rand.Text())
	start := cfg.launch
	if start == nil {
		start = launch
	}
	c, err := start(r.dir, r.command(port, token)...)
	if err != nil {
		return nil, err
	}
	server := &Server{kind: r.kind, endpoint: fmt.Sprintf("http://127.0.0.1:%d", port), token: token, http: newHTTPClient(), child: c}
	if err := c.ready(ctx, server); err != nil {
		return nil, err
	}
	return server, nil
}

// freePort returns a port that is free now.
func freePort(ctx context.Context) (int, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := listener.Addr().(*net.TCPAddr).Port
	return port, listener.Close()
}

// portTaken reports whether a child's port was taken: another database answers there, or the child says so. Java, Rust and
// docker all use such words.
func portTaken(err error) bool {
	text := strings.ToLower(err.Error())
	return errors.Is(err, errStranger) || strings.Contains(text, "in use") || strings.Contains(text, "already allocated")
}

// errStranger says that another database answers at the endpoint.
var errStranger = errors.New("another program's database answers on this port")

// ready waits until the child serves endpoint. On error the child is gone, and the error has the last of its output.
func (c *child) ready(ctx context.Context, server *Server) error {
	err := await(ctx, server.http, server.endpoint, server.token, c.done)
	if err == nil {
		return nil
	}
	_ = c.stop()
	if said := c.output.String(); said != "" {
		return fmt.Errorf("%w; its output:\n%s", err, said)
	}
	return err
}

// await returns when the database answers. It gives up when ctx is done, when dead is closed because the process has ended,
// and when a database with another token answers. An empty token accepts any.
func await(ctx context.Context, client *http.Client, endpoint, token string, dead <-chan struct{}) error {
	var heard error // the last answer: it says more than a timeout of the next attempt
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := ping(ctx, client, endpoint, token)
		if err == nil || errors.Is(err, errStranger) {
			return err
		}
		if heard == nil || ctx.Err() == nil {
			heard = err
		}
		select {
		case <-dead:
			return errEnded
		case <-ctx.Done():
			return fmt.Errorf("no answer: %w (%w)", heard, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// ping lists the tables. The signature is fake, since the local databases require one but do not check it; a database that
// checks it answers with an error in DynamoDB's own form, which is answer enough.
//
// A database started with a token proves its identity: DynamoDB Local names the token as the only origin that it allows,
// and Dynoxide has a table of that name.
func ping(ctx context.Context, client *http.Client, endpoint, token string) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	resp, err := post(ctx, client, endpoint, "ListTables", `{"Limit":1}`, token)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return err
	}
	listed := resp.StatusCode == http.StatusOK && bytes.Contains(body, []byte(`"TableNames"`))
	refused := resp.StatusCode == http.StatusBadRequest && bytes.Contains(body, []byte(`"__type"`))
	switch {
	case !listed && !refused:
		return fmt.Errorf("what answers is not DynamoDB: status %d", resp.StatusCode)
	case token != "" && resp.Header.Get("Access-Control-Allow-Origin") != token && !bytes.Contains(body, []byte(`"`+token+`"`)):
		return errStranger
	}
	return nil
}

// dropToken deletes the table by which a database has proved its identity.
func dropToken(ctx context.Context, client *http.Client, endpoint, token string) error {
	resp, err := post(ctx, client, endpoint, "DeleteTable", `{"TableName":"`+token+`"}`, "")
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("delete table %s: status %d", token, resp.StatusCode)
	}
	return nil
}

// targetPrefix begins the header that names the operation of a request.
const targetPrefix = "DynamoDB_20120810."

// post sends one request with a fake signature.
func post(ctx context.Context, client *http.Client, endpoint, verb, body, origin string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint+"/", strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", targetPrefix+verb)
	req.Header.Set("X-Amz-Date", "20260101T000000Z")
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+accessKey+"/20260101/"+region+
		"/dynamodb/aws4_request, SignedHeaders=host;x-amz-date;x-amz-target, Signature="+strings.Repeat("0", 64))
	if origin != "" {
		req.Header.Set("Origin", origin)
	}
	return client.Do(req)
}
