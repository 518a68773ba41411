package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/localdb"
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
	client, suffix := server.Client(), "-demo-"+strings.ToLower(rand.Text()[:8])
	cfg, err := demoConfig(getenv, suffix, out)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "tables %s … on %s (%s)\n", cfg.Devices, server.Endpoint(), server.Kind())
	defer func() { err = errors.Join(err, drop(ctx, client, cfg)) }()
	return run(ctx, out, client, cfg)
}

// demoConfig is the environment's configuration, with tables of the demonstration. Because the tables are its own, it can make
// up the secrets that a service must be given.
func demoConfig(getenv func(string) string, suffix string, out io.Writer) (config, error) {
	made := map[string]string{}
	for _, name := range []string{envPepper, envAdmin} {
		if getenv(name) == "" {
			made[name] = rand.Text()
			fmt.Fprintf(out, "%s is not set: using a random one for this run\n", name)
		}
	}
	if getenv(envRetention) == "" {
		made[envRetention] = "90"
	}
	cfg, err := readConfig(func(name string) string {
		if v, ok := made[name]; ok {
			return v
		}
		return getenv(name)
	})
	for _, table := range []*string{&cfg.Devices, &cfg.Readings, &cfg.Batches, &cfg.Keys} {
		*table += suffix
	}
	return cfg, err
}

// run plays the story and compares what is stored with what must be stored.
func run(ctx context.Context, out io.Writer, client *dynamodb.Client, cfg config) (err error) {
	var spent costs
	logs := &lines{}
	b, err := open(client, cfg, slog.New(slog.NewJSONHandler(logs, nil)), options{observe: spent.observe})
	if err != nil {
		return err
	}
	if err := b.db.CreateTables(ctx); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	service := newService(b, cfg)
	service.timeout = patient.request
	go func() { ended <- serve(serving, listener, service.routes(), b.log, patient) }()
	s := newStory(out, "http://"+listener.Addr().String(), cfg, b.clock)
	err = s.tell(ctx)
	stop()
	if err = errors.Join(err, <-ended); err != nil {
		return err
	}
	stored, err := readTables(ctx, client, cfg)
	if err != nil {
		return err
	}
	if err := b.print(ctx, out, client); err != nil {
		return err
	}
	spent.print(out)
	broken := append(s.broken, stored.check(cfg.Retention, s.expected)...)
	if logs.contain(s.secrets) {
		broken = append(broken, errors.New("a secret was logged"))
	}
	if len(broken) > 0 {
		return errors.Join(broken...)
	}
	fmt.Fprintf(out, "\n%d requests were logged, none of them with a secret\nok\n", logs.count())
	return nil
}

// drop deletes the tables, even after ctx has ended.
func drop(ctx context.Context, client *dynamodb.Client, cfg config) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	var errs []error
	for _, table := range []string{cfg.Devices, cfg.Readings, cfg.Batches, cfg.Keys} {
		var gone *types.ResourceNotFoundException
		if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table}); err != nil && !errors.As(err, &gone) {
			errs = append(errs, fmt.Errorf("delete table %s: %w", table, err))
		}
	}
	return errors.Join(errs...)
}

// newClient returns a client of the API for one token.
func newClient(base, token string) *client {
	return &client{base: base, token: token, http: &http.Client{}, longest: time.Second, attempts: 5}
}
