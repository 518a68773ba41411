package localdb

import (
	"context"
	"net/http"
	"os"
)

// The kinds of database, as [Server.Kind] answers them.
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
	token    string // by which the database shows that it is this one; see ping
	passed   string // why other kinds were passed over
	http     *http.Client
	key      string   // the access key of its clients; "" for that of all
	child    *child   // nil for a database that another process runs
	record   *os.File // of a shared database: open, and locked, as long as it is used
}

// Start returns the database that DYNAMODB_ENDPOINT names, or starts one as the package documentation describes. The first
// start on a machine may fetch a program, which takes seconds; later ones take about one second, or a few milliseconds for Dynoxide.
//
// ctx bounds the starting only: the database runs on until [Server.Close] or the end of the process. An error that matches
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

// Kind returns which database this is: [KindEndpoint], [KindDDBLocal], [KindDynoxide] or [KindDocker]. A test that must leave
// out what one of them cannot do decides by it.
func (s *Server) Kind() string { return s.kind }

// PassedOver says why this is no other kind of database: a line for each kind that was tried before and could not be had. It is empty
// when the first kind was taken, or the only one that the environment allows.
func (s *Server) PassedOver() string { return s.passed }

// Close ends the database if [Start] started it, and with it all its data; one that was running before stays untouched, and one that is
// shared goes on for the others. Closing again does nothing. The error says that the process could not be ended.
func (s *Server) Close() error {
	s.http.CloseIdleConnections()
	if s.record != nil {
		_ = s.record.Close() // a second time this is an error, and nothing to do
	}
	if s.child == nil {
		return nil
	}
	return s.child.stop()
}
