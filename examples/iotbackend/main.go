// Command iotbackend is the backend of a fleet of sensors on net/http, over four DynamoDB tables whose schema is given: struct
// tags reproduce every key, attribute and format.
//
//	go run ./examples/iotbackend               # runs a fleet against itself, shows and checks what is stored
//	go run ./examples/iotbackend -serve :8080  # serves; see README.md for the environment and the API
//
// It needs no set-up: package localdb uses the database that DYNAMODB_ENDPOINT names, or starts one. The exit code is 1 if any
// response or stored item is wrong.
//
// Read device.go, reading.go, batch.go and apikey.go first, which declare the tables, then ingest.go and authenticate.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
)

func main() {
	addr := flag.String("serve", "", "serve at this address until interrupted, such as 127.0.0.1:8080")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	var err error
	if *addr != "" {
		err = serveAt(ctx, *addr, os.Getenv, os.Stderr)
	} else {
		err = demo(ctx, os.Stdout, os.Getenv)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "iotbackend:", err)
		os.Exit(1)
	}
}

// serveAt creates missing tables and serves until ctx ends.
func serveAt(ctx context.Context, addr string, getenv func(string) string, logs io.Writer) (err error) {
	cfg, err := readConfig(getenv)
	if err != nil {
		return err
	}
	server, err := localdb.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	log := slog.New(slog.NewJSONHandler(logs, nil))
	b, err := open(server.Client(), cfg, log, options{now: time.Now, newUUID: randomUUID})
	if err != nil {
		return err
	}
	if err := tables.Create(ctx, b.db); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	log.Info("serving", "address", listener.Addr().String(), "database", server.Endpoint())
	return newService(b, cfg).serve(ctx, listener)
}
