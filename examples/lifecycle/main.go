// Command lifecycle plays the life of an employee record: created, updated, soft-deleted, restored, reverted and purged, with
// a version for each state and a unique e-mail address. After each step it shows what is in the table.
//
//	go -C examples/lifecycle run .
//
// It needs no set-up: package localdb uses the database that DYNAMODB_ENDPOINT names, or starts one. The program compares
// every result and every stored item with what it must be, and exits with code 1 if they differ.
//
// Read model.go first, then alice.go, emails.go and ending.go, which have a function for each part of the output.
package main

import (
	"context"
	"crypto/rand"
	"errors"
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	if err := start(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "lifecycle:", err)
		os.Exit(1)
	}
}

// start runs the story on its own table, which it deletes at the end.
func start(ctx context.Context, out io.Writer) (err error) {
	server, err := localdb.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	client, table := server.Client(), "lifecycle-"+strings.ToLower(rand.Text()[:8])
	fmt.Fprintf(out, "table %s on %s (%s)\n", table, server.Endpoint(), server.Kind())
	defer func() { err = errors.Join(err, drop(ctx, client, table)) }()
	return run(ctx, out, client, table)
}

// run plays the story. It prints "ok", or returns an error that joins everything that was wrong.
func run(ctx context.Context, out io.Writer, client *dynamodb.Client, table string) error {
	s, err := newStory(out, client, table)
	if err != nil {
		return err
	}
	if err := s.tell(ctx, chapters(s)); err != nil {
		return err
	}
	s.report.title("ok")
	return nil
}

// cleanup bounds the deletion of tables, which must happen even after the context of the run has ended.
const cleanup = 5 * time.Minute

// drop deletes the table, even after ctx has ended.
func drop(ctx context.Context, client *dynamodb.Client, table string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanup)
	defer cancel()
	var gone *types.ResourceNotFoundException
	if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table}); err != nil && !errors.As(err, &gone) {
		return fmt.Errorf("delete table %s: %w", table, err)
	}
	return nil
}
