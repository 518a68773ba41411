package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/cmd/dynastrata/console"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
)

// cleanup bounds the deletion of tables, which must happen even after the context of the run has ended.
const cleanup = 5 * time.Minute

// demo serves on a free port, with its own tables, which it deletes at the end, and runs a fleet against itself.
func demo(ctx context.Context, out io.Writer, getenv func(string) string) (err error) {
	server, err := localdb.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	made := map[string]string{envToken: rand.Text(), envRetention: "90"} // unless they are set
	cfg, err := readConfig(func(name string) string {
		if v := getenv(name); v != "" {
			return v
		}
		return made[name]
	})
	if err != nil {
		return err
	}
	suffix := "-demo-" + strings.ToLower(rand.Text()[:8])
	for _, table := range []*string{&cfg.Devices, &cfg.Readings, &cfg.Batches} {
		*table += suffix
	}
	fmt.Fprintf(out, "tables %s … on %s (%s)\n", cfg.Devices, server.Endpoint(), server.Kind())
	defer func() { err = errors.Join(err, drop(ctx, server.Client(), cfg)) }()
	return run(ctx, out, server.Client(), cfg)
}

// run plays the story and compares what is stored with what must be stored.
func run(ctx context.Context, out io.Writer, client *dynamodb.Client, cfg config) error {
	b, err := open(client, cfg, slog.New(slog.DiscardHandler), options{now: time.Now, newUUID: randomUUID})
	if err != nil {
		return err
	}
	if err := tables.Create(ctx, b.db); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	service := newService(b, cfg)
	service.timeout = time.Hour // the demonstration must succeed on a busy machine
	go func() { ended <- service.serve(serving, listener) }()
	s := newStory(out, "http://"+listener.Addr().String(), cfg.Token.text, b.clock)
	err = s.tell(ctx)
	stop()
	if err = errors.Join(err, <-ended); err != nil {
		return err
	}
	if err := s.check(ctx, client, cfg); err != nil {
		return err
	}
	if err := b.print(ctx, out, client); err != nil {
		return err
	}
	if err := errors.Join(s.broken...); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nok")
	return nil
}

// print shows the items as the command dynastrata dumps them: in DynamoDB's own JSON.
func (b *backend) print(ctx context.Context, out io.Writer, client *dynamodb.Client) error {
	command := console.App{
		Client: client, Clock: b.now,
		Open: func(context.Context, console.Connection) (console.Program, error) {
			return console.Program{DB: b.db}, nil
		},
	}
	for _, name := range []string{"Device", "Reading", "ProcessedBatch"} {
		fmt.Fprintf(out, "\n%s, as DynamoDB has it (S text, N number, BOOL, M map, L list)\n", name)
		var problem bytes.Buffer
		switch console.Run(ctx, command, console.Streams{Out: out, Err: &problem}, []string{"dump", name}) {
		case console.ExitOK:
		case console.ExitInterrupted:
			return context.Cause(ctx)
		default:
			return fmt.Errorf("dump %s: %s", name, problem.String())
		}
	}
	return nil
}

// drop deletes the tables, even after ctx has ended.
func drop(ctx context.Context, client *dynamodb.Client, cfg config) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	var errs []error
	for _, table := range cfg.tables() {
		var gone *types.ResourceNotFoundException
		if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table}); err != nil && !errors.As(err, &gone) {
			errs = append(errs, fmt.Errorf("delete table %s: %w", table, err))
		}
	}
	return errors.Join(errs...)
}
