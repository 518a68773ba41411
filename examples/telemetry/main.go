// Command telemetry shows time-series entities at work: a simulated fleet of devices with wrong clocks, slow networks and
// impatient retries publishes into one DynamoDB table, while a background job enriches what it finds there.
//
//	go run ./examples/telemetry [-seed 1]
//
// It needs no set-up: package localdb uses the database that DYNAMODB_ENDPOINT names, or starts one. At the end the program
// compares everything stored with the results that the devices got, and exits with code 1 if they differ.
//
// Read model.go first, then simulate.go and transact.go, which have a function for each part of the output.
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

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/localdb"
)

func main() {
	seed := flag.Uint64("seed", 1, "seed of the fleet; the same seed gives the same reports")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	if err := start(ctx, os.Stdout, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "telemetry:", err)
		os.Exit(1)
	}
}

// start runs the simulation on its own table, which it deletes at the end.
func start(ctx context.Context, out io.Writer, seed uint64) (err error) {
	server, err := localdb.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	client, table := server.Client(), "telemetry-"+strings.ToLower(rand.Text()[:8])
	fmt.Fprintf(out, "seed %d, table %s on %s (%s)\n", seed, table, server.Endpoint(), server.Kind())
	defer func() { err = errors.Join(err, drop(ctx, client, table)) }()
	return run(ctx, out, client, table, seed)
}

// run plays the simulation, prints it, and checks what it left in the table.
func run(ctx context.Context, out io.Writer, client *dynamodb.Client, table string, seed uint64) error {
	s, err := newSimulation(out, client, table, seed)
	if err != nil {
		return err
	}
	if err := s.play(ctx); err != nil {
		return err
	}
	return s.check(ctx)
}
