package localdb

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// The kinds of database, as [Server.Kind] returns them.
const (
	KindEndpoint = "endpoint" // a database that was already running, named by DYNAMODB_ENDPOINT
	KindDDBLocal = "ddblocal" // Amazon's DynamoDB Local, run with this machine's Java
	KindDynoxide = "dynoxide" // Dynoxide, a native program
	KindDocker   = "docker"   // DynamoDB Local in a container
)

// Server is a running database. Its methods are safe for concurrent use.
type Server struct {
	kind     string
	endpoint string
	token    string // identifies the database; see ping
	http     *http.Client
	key      string   // the access key of its clients; "" for the common one
	child    *child   // nil if another process runs the database
	record   *os.File // of a shared database: open and locked while it is used
}

// Start returns the database at DYNAMODB_ENDPOINT, or starts one as the package documentation describes. The first start on
// a machine may fetch a program, which takes seconds; later ones take about one second, or a few milliseconds for Dynoxide.
//
// ctx bounds only the start: the database runs until [Server.Close] or the end of the process. An error that matches
// [ErrUnavailable] lists every kind of database with the reason why it was passed over.
func Start(ctx context.Context) (*Server, error) {
	cfg, err := readSettings(os.Getenv, os.Stderr)
	if err != nil {
		return nil, err
	}
	return start(ctx, cfg, candidates)
}

// Endpoint returns the URL of the database, such as http://127.0.0.1:43127.
func (s *Server) Endpoint() string { return s.endpoint }

// Kind returns the kind of database: [KindEndpoint], [KindDDBLocal], [KindDynoxide] or [KindDocker]. A test uses it to
// leave out what a kind cannot do.
func (s *Server) Kind() string { return s.kind }

// Close stops the database if [Start] started it, and discards its data. It leaves a database that was already running
// alone, and a shared one to its other users. Closing again does nothing. The error says that the process could not be
// stopped.
func (s *Server) Close() error {
	s.http.CloseIdleConnections()
	if s.record != nil {
		inUse.Delete(s.record)
		_ = s.record.Close() // closing a second time is an error to ignore
	}
	if s.child == nil {
		return nil
	}
	return s.child.stop()
}

// What every client uses. DynamoDB Local refuses access keys with anything but letters and digits.
const (
	region    = "us-east-1"
	accessKey = "localdb"
	secretKey = "localdb"
)

// Client returns a new client of the database, with fake credentials and region us-east-1. It reads nothing from the user's
// AWS configuration. optFns change the client's options last, for instance to set HTTPClient to a faults.Transport.
//
// All clients of one Server share their connections.
func (s *Server) Client(optFns ...func(*dynamodb.Options)) *dynamodb.Client {
	key := accessKey
	if s.key != "" {
		key = s.key
	}
	return dynamodb.New(dynamodb.Options{
		Region:       region,
		BaseEndpoint: aws.String(s.endpoint),
		Credentials:  credentials.NewStaticCredentialsProvider(key, secretKey, ""),
		HTTPClient:   s.http,
		// DynamoDB Local sends errors without a checksum; the SDK would log a warning for each.
		DisableValidateResponseChecksum: true,
	}, optFns...)
}

// settings are read from the environment once, by Start, so that tests of this package can run in parallel.
type settings struct {
	endpoint     string
	allowAWS     bool
	kind         string // "" for any
	cache        string // "" if absent
	noFetch      bool
	javaHome     string
	separateKeys bool // each access key has tables of its own, hidden from the others

	notify   io.Writer                                         // where fetches are reported
	pack     func(ctx context.Context, spec, dir string) error // leaves the archive of spec in dir
	lookPath func(program string) (path string, err error)     // finds a program in PATH
	launch   func(dir string, argv ...string) (*child, error)  // starts a database; nil for launch
}

// readSettings reads the environment through getenv.
func readSettings(getenv func(string) string, notify io.Writer) (settings, error) {
	cfg := settings{
		endpoint: getenv("DYNAMODB_ENDPOINT"),
		kind:     getenv("LOCALDB_KIND"),
		cache:    getenv("LOCALDB_CACHE"),
		javaHome: getenv("JAVA_HOME"),
		notify:   notify,
		pack:     npmPack,
		lookPath: lookPath,
	}
	var err error
	if cfg.allowAWS, err = flag(getenv, "LOCALDB_ALLOW_AWS"); err != nil {
		return settings{}, err
	}
	if cfg.noFetch, err = flag(getenv, "LOCALDB_NO_FETCH"); err != nil {
		return settings{}, err
	}
	if cfg.cache, err = cacheDir(cfg.cache); err != nil {
		return settings{}, err
	}
	return cfg, nil
}

// flag reads a boolean variable. Any other word is an error: LOCALDB_NO_FETCH=yes must not fetch.
func flag(getenv func(string) string, name string) (bool, error) {
	text := getenv(name)
	if text == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("localdb: %s=%q: want 1 or 0", name, text)
	}
	return on, nil
}

// cacheDir returns the directory of fetched programs. It makes a relative path absolute, since that would mean another
// directory in every package under test. Without a home directory it returns "", which is an error only for what has to be
// fetched.
func cacheDir(chosen string) (string, error) {
	if chosen != "" {
		dir, err := filepath.Abs(chosen)
		if err != nil {
			return "", fmt.Errorf("localdb: LOCALDB_CACHE=%q: %w", chosen, err)
		}
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", nil //nolint:nilerr // install reports it, if it needs the directory
	}
	return filepath.Join(dir, "dynastrata", "localdb"), nil
}
