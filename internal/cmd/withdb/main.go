// Command withdb runs a command beside a local DynamoDB, whose address it finds in DYNAMODB_ENDPOINT.
//
//	withdb go test ./...
//
// It starts the database as package localdb does, unless DYNAMODB_ENDPOINT is set already. The database ends with the command,
// whose exit code becomes withdb's own. Signals are passed on to the command.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"time"

	"github.com/dynastrata/dynastrata/localdb"
)

// Exit codes of withdb itself, those that shells use for commands which cannot be run.
const (
	exitUsage    = 2
	exitNoDB     = 125
	exitNoRun    = 126
	exitSignal   = 128 // plus the number of the signal that ended the command
	startTimeout = 5 * time.Minute
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

// run gives the exit code.
func run(argv []string, complaints io.Writer) int {
	if len(argv) == 0 {
		fmt.Fprintln(complaints, "usage: withdb command [argument …]")
		return exitUsage
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, passedOn...)
	defer signal.Stop(signals)

	server, err := startDB(signals)
	if err != nil {
		fmt.Fprintln(complaints, "withdb:", err)
		return exitNoDB
	}
	code := runBeside(server.Endpoint(), argv, signals, complaints)
	if err := server.Close(); err != nil {
		fmt.Fprintln(complaints, "withdb:", err)
		return max(code, 1)
	}
	return code
}

// startDB starts the database; a signal meanwhile ends that.
func startDB(signals <-chan os.Signal) (*localdb.Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	started := make(chan struct{})
	defer close(started)
	go func() {
		select {
		case <-signals:
			cancel()
		case <-started:
		}
	}()
	return localdb.Start(ctx)
}

// runBeside runs the command with the database's address in its environment.
func runBeside(endpoint string, argv []string, signals <-chan os.Signal, complaints io.Writer) int {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "DYNAMODB_ENDPOINT="+endpoint) // of two equal names the last one counts
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(complaints, "withdb:", err)
		return exitNoRun
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case s := <-signals:
				_ = cmd.Process.Signal(s) // it may have ended by itself just now
			case <-ended:
				return
			}
		}
	}()
	return exitCode(cmd.Wait(), complaints)
}

// exitCode is what a shell would say of the command's end.
func exitCode(err error, complaints io.Writer) int {
	var failed *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &failed):
		fmt.Fprintln(complaints, "withdb:", err)
		return exitNoRun
	case failed.ExitCode() >= 0:
		return failed.ExitCode()
	}
	return exitSignal + signalNumber(failed)
}
