// Command studio serves the pages of console.Studio on a shop of its own, with an item of every kind: versions, a deleted customer, late and
// repeated events, sessions that end, and a read model.
//
//	go run ./examples/studio
//
// It needs no set-up: package localdb uses the database that DYNAMODB_ENDPOINT names, or starts one. It prints a URL, serves until it is
// interrupted, and deletes its table. Find ben@example.org, a customer who was deleted last night.
//
// Read demo/model.go first.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/cmd/dynastrata/console"
	"github.com/dynastrata/dynastrata/examples/studio/demo"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address and port; port 0 is a free one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	if err := run(ctx, os.Stdout, *listen); err != nil {
		fmt.Fprintln(os.Stderr, "studio:", err)
		os.Exit(1)
	}
}

// run serves the studio until ctx ends.
func run(ctx context.Context, out io.Writer, listen string) (err error) {
	server, err := localdb.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	client, table := server.Client(), "studio-"+strings.ToLower(rand.Text()[:8])
	defer func() { err = errors.Join(err, drop(ctx, client, table)) }()
	fmt.Fprintf(out, "writing the shop to the table %s on %s\n", table, server.Endpoint())
	app, err := shop(ctx, client, table)
	if err != nil {
		return err
	}
	token := rand.Text()
	pages, err := console.Studio(ctx, app, console.StudioOptions{Token: token, Write: true})
	if err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "http://%s/?token=%s\n", l.Addr(), token)
	web := &http.Server{Handler: pages, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = web.Close() })
	defer stop()
	if err := web.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// shop writes the shop to a new table, and returns the program for the studio.
func shop(ctx context.Context, client *dynamodb.Client, table string) (console.App, error) {
	clock := demo.NewClock(time.Now())
	db, handles, err := demo.Open(client, table, clock.Now)
	if err != nil {
		return console.App{}, err
	}
	if err := tables.Create(ctx, db); err != nil {
		return console.App{}, err
	}
	if err := demo.Tell(ctx, handles, clock); err != nil {
		return console.App{}, err
	}
	clock.Resume()
	return console.App{
		Client: client,
		Open: func(context.Context, console.Connection) (console.Program, error) {
			return console.Program{DB: db, Handles: handles}, nil
		},
		Context: func(ctx context.Context, by console.By) context.Context {
			return demo.As(ctx, demo.By{Actor: by.Actor, Reason: by.Reason})
		},
	}, nil
}

// drop deletes the table, even after ctx has ended.
func drop(ctx context.Context, client *dynamodb.Client, table string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table}); err != nil {
		return fmt.Errorf("delete table %s: %w", table, err)
	}
	return nil
}
