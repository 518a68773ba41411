package localdb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Shared returns the database that all programs of this user share: the one at DYNAMODB_ENDPOINT if set, otherwise the
// running one, otherwise a new one. It stops a few seconds after its last user has ended or closed its [Server];
// [Server.Close] does not affect other users. All programs see each other's tables.
//
// ctx bounds only the start. Where a database cannot be shared (no file locks, no cache directory), Shared is [Start], and
// a line on standard error says why.
func Shared(ctx context.Context) (*Server, error) {
	cfg, err := readSettings(os.Getenv, os.Stderr)
	if err != nil {
		return nil, err
	}
	return openShared(ctx, cfg, candidates, idleTime)
}

func openShared(ctx context.Context, cfg settings, list []candidate, idle time.Duration) (*Server, error) {
	if cfg.endpoint != "" {
		return start(ctx, cfg, list)
	}
	if _, err := choose(cfg.kind, list); err != nil {
		return nil, err
	}
	g, err := newGroup(cfg, idle)
	if err == nil {
		var server *Server
		if server, err = g.server(ctx, cfg, list); err == nil {
			return server, nil
		}
	}
	var cannot *cannotShareError
	if !errors.As(err, &cannot) {
		return nil, err
	}
	_, _ = fmt.Fprintf(cfg.notify, "localdb: this process starts a database of its own: %v\n", err)
	return start(ctx, cfg, list)
}

// cannotShareError says why processes cannot share a database here. Each can still start its own.
type cannotShareError struct{ reason error }

func (e *cannotShareError) Error() string { return "it cannot be shared: " + e.reason.Error() }
func (e *cannotShareError) Unwrap() error { return e.reason }

// group is the processes of one user on one machine that share a database, because their settings are the same.
type group struct {
	program string        // this program, which becomes the keeper
	name    string        // of the record, which exists while the database runs; the lock file for starting has the same name
	idle    time.Duration // how long the database outlives its last use
}

// record is the content of the file that locates a shared database. Each process that uses the database holds a shared lock
// on the file.
type record struct {
	Kind     string
	Endpoint string
	Token    string // see ping
}

// newGroup returns the group of this process. It depends on the host name, because machines can share a home directory but
// not addresses on the loopback interface.
func newGroup(cfg settings, idle time.Duration) (*group, error) {
	if !canShare {
		return nil, &cannotShareError{errors.New("there are no file locks on this system")}
	}
	if cfg.cache == "" {
		return nil, &cannotShareError{errors.New("there is no user cache directory; set LOCALDB_CACHE")}
	}
	program, err := ownProgram()
	if err != nil {
		return nil, &cannotShareError{err}
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, &cannotShareError{err}
	}
	about := sha256.New()
	_, _ = fmt.Fprintf(about, "%q %d %q %q %t %t %s %s", host, os.Getuid(), cfg.kind, cfg.javaHome, cfg.noFetch, cfg.separateKeys, ddbLocal.sha512, dockerImage)
	dir := filepath.Join(cfg.cache, "shared")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &cannotShareError{err}
	}
	return &group{program: program, name: filepath.Join(dir, hex.EncodeToString(about.Sum(nil)[:8])), idle: idle}, nil
}

// publicName returns the name of a group's record, given the temporary name that it has until the database answers.
func publicName(path string) string {
	dir, name := filepath.Split(path)
	name, _, _ = strings.Cut(name, ".")
	return filepath.Join(dir, name+".json")
}

// server joins the database of the group, or starts it.
func (g *group) server(ctx context.Context, cfg settings, list []candidate) (*Server, error) {
	if server := g.join(ctx); server != nil {
		return server, nil
	}
	unlock, err := lock(ctx, g.name+".lock")
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("localdb: start interrupted: %w", err)
		}
		return nil, &cannotShareError{err}
	}
	defer unlock()
	if server := g.join(ctx); server != nil { // another process started it while we waited
		return server, nil
	}
	return g.start(ctx, cfg, list)
}

// join returns the database of the group, or nil if none answers.
func (g *group) join(ctx context.Context) *Server {
	for {
		file, err := os.Open(publicName(g.name))
		if err != nil {
			return nil
		}
		if err := lockShared(ctx, file); err != nil {
			_ = file.Close()
			return nil
		}
		if !sameFile(file.Name(), file) { // it has ended since; there may be another
			_ = file.Close()
			continue
		}
		server, err := reach(ctx, file)
		if err != nil {
			_ = file.Close()
			return nil
		}
		return server
	}
}

// reach returns the database of a record, if it answers. After its keeper was killed, nothing or another database may
// answer there.
func reach(ctx context.Context, file *os.File) (*Server, error) {
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	server := &Server{kind: r.Kind, endpoint: r.Endpoint, token: r.Token, http: newHTTPClient()}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := ping(ctx, server.http, server.endpoint, server.token)
		switch {
		case err == nil:
			server.use(file)
			return server, nil
		case errors.Is(err, errStranger), errors.Is(err, syscall.ECONNREFUSED), ctx.Err() != nil:
			return nil, err
		}
		select { // it is there but busy
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// start starts the database of the group under a keeper. The caller holds the lock for starting.
func (g *group) start(ctx context.Context, cfg settings, list []candidate) (_ *Server, err error) {
	file, err := os.CreateTemp(filepath.Dir(g.name), filepath.Base(g.name)+".*.new")
	if err != nil {
		return nil, &cannotShareError{err}
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
			_ = file.Close()
		}
	}()
	if err := lockShared(ctx, file); err != nil {
		return nil, &cannotShareError{err}
	}
	cfg.launch = launchKept(g.program, file.Name(), g.idle)
	server, err := start(ctx, cfg, list)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(record{server.kind, server.endpoint, server.token})
	if err == nil {
		_, err = file.Write(text)
	}
	if err == nil {
		err = os.Rename(file.Name(), publicName(g.name))
	}
	if err != nil {
		return nil, errors.Join(&cannotShareError{err}, server.Close())
	}
	server.use(file)
	server.child = nil // from now on the keeper decides when it ends
	return server, nil
}

// inUse keeps the records that this program has locked. The garbage collector closes a file that nothing refers to, which
// releases its lock, although the program may still use a client of the [Server].
var inUse sync.Map

// use keeps the record open and locked until the server is closed or the process ends.
func (s *Server) use(record *os.File) {
	s.record = record
	inUse.Store(record, nil)
}

// A shared database outlives the process that started it, and ends when it is no longer used. A keeper sees to that: this
// same program, run under another name in its own session, as the parent of the database. Each user of the database holds a
// shared lock on its record, which the kernel releases however the process ends, so the keeper need not count users: it
// tries to take the lock.

// keeperName is the name under which a program runs itself to keep a database.
const keeperName = "localdb-keeper"

// The keeper's pace. The database may be unused for a moment between two packages of a test run.
const (
	keeperPause = 500 * time.Millisecond
	idleTime    = 10 * time.Second
)

func init() {
	if len(os.Args) > 0 && os.Args[0] == keeperName {
		os.Exit(keepMain(os.Args[1:]))
	}
}

// launchKept starts a database under a keeper, which stops it when its record was unlocked for idle.
func launchKept(program, record string, idle time.Duration) func(dir string, argv ...string) (*child, error) {
	return func(dir string, argv ...string) (*child, error) {
		return run(dir, newDetached(program, append([]string{keeperName, record, idle.String()}, argv...)), nil)
	}
}

// keepMain is the keeper's main function. Its arguments are the record, the time after which an unused database is stopped,
// and the command that runs the database.
func keepMain(args []string) int {
	ignoreHangup()
	if err := keep(args); err != nil {
		fmt.Fprintln(os.Stderr, "localdb:", err) // the starter reads this until the database answers
		return 1
	}
	return 0
}

func keep(args []string) error {
	if len(args) < 3 {
		return errors.New("the keeper lacks arguments")
	}
	path, argv := args[0], args[2:]
	idle, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	record, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	c, err := run("", newCommand(argv), os.Stderr)
	if err != nil {
		return err
	}
	unused := time.Time{} // when the database was last seen unused
	for pause := time.NewTicker(keeperPause); ; {
		select {
		case <-c.done:
			removeRecord(path, record)
			return errEnded
		case <-pause.C:
		}
		alone, err := tryLock(record)
		switch {
		case err != nil:
			return errors.Join(err, c.stop())
		case !alone:
			unused = time.Time{}
			continue
		case unused.IsZero():
			unused = time.Now()
		}
		if time.Since(unused) >= idle { // while we hold the lock, no process can join
			removeRecord(path, record)
			return c.stop()
		}
		unlockFile(record)
	}
}

// removeRecord removes the record under its temporary name and that of the group, if the name still leads to it.
func removeRecord(path string, record *os.File) {
	for _, name := range []string{path, publicName(path)} {
		if sameFile(name, record) {
			_ = os.Remove(name)
		}
	}
}

// sameFile reports whether path still leads to the open file.
func sameFile(path string, file *os.File) bool {
	there, err := os.Stat(path)
	if err != nil {
		return false
	}
	open, err := file.Stat()
	return err == nil && os.SameFile(there, open)
}

// ownProgram returns the path of the running program.
func ownProgram() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("the path of the running program: %w", err)
	}
	return exec.LookPath(program)
}
