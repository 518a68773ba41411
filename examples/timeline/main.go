// Command timeline shows read models projected from history. Its first part is a chat: messages with versions and soft delete,
// late verdicts of moderators, and items that last year's program stored in another shape. Its second part is a table of
// sensor readings with a fixed format. Builds are interrupted and resumed, definitions change, and rows are read as they were.
//
//	go -C examples/timeline run . [-seed 1]
//
// It needs no set-up: package localdb uses the database that DYNAMODB_ENDPOINT names, or starts one. The program compares
// everything that it read with a plain replay in memory, and exits with code 1 if they differ.
//
// Read model.go and views.go first, then chat.go and sensors.go, which have a function for each part of the output.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/localdb"
)

func main() {
	seed := flag.Uint64("seed", 1, "seed of what happens; the same seed gives the same output")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	if err := start(ctx, os.Stdout, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "timeline:", err)
		os.Exit(1)
	}
}

// start runs the story on its own tables, which it deletes at the end.
func start(ctx context.Context, out io.Writer, seed uint64) (err error) {
	server, err := localdb.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	client, table := server.Client(), "timeline-"+strings.ToLower(rand.Text()[:8])
	fmt.Fprintf(out, "seed %d, tables %s… on %s (%s)\n", seed, table, server.Endpoint(), server.Kind())
	defer func() { err = errors.Join(err, drop(ctx, client, table)) }()
	return run(ctx, out, client, table, seed)
}

func run(ctx context.Context, out io.Writer, client *dynamodb.Client, table string, seed uint64) error {
	s, err := newStory(out, client, table, seed)
	if err != nil {
		return err
	}
	return s.run(ctx)
}

// run plays the story, and compares what was seen with what must be.
func (s *story) run(ctx context.Context) error {
	if err := s.tell(ctx, s.scenes()); err != nil {
		return err
	}
	s.report.title("The check")
	if err := s.check(); err != nil {
		return err
	}
	for _, rule := range rules {
		s.report.line("ok: %s", rule)
	}
	s.report.title("ok")
	return nil
}

// cleanup bounds the deletion of tables, which must happen even after the context of the run has ended.
const cleanup = 5 * time.Minute

// drop deletes the tables, even after ctx has ended.
func drop(ctx context.Context, client *dynamodb.Client, table string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	var errs []error
	for _, name := range namesOf(table) {
		var gone *types.ResourceNotFoundException
		if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name}); err != nil && !errors.As(err, &gone) {
			errs = append(errs, fmt.Errorf("delete table %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
