// Command localdb keeps the local DynamoDB that tests share, for a terminal session or for one command.
//
//	go run ./localdb/cmd/localdb                 prints the database's address, and keeps it until interrupted
//	go run ./localdb/cmd/localdb COMMAND …       runs the command with that address in DYNAMODB_ENDPOINT
//
// It joins the running database, or starts one as package localdb does, unless DYNAMODB_ENDPOINT is set. The database ends a few
// seconds after the last process that uses it. Tests find it by themselves, other programs by DYNAMODB_ENDPOINT. The exit code is
// that of the command, and signals are passed on to it.
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

// Exit codes of the program itself, as shells use them for commands that cannot be run.
const (
	exitNoDB     = 125
	exitNoRun    = 126
	exitSignal   = 128 // plus the number of the signal that ended the command
	startTimeout = 10 * time.Minute
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run returns the exit code.
func run(argv []string, out, complaints io.Writer) int {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, passedOn...)
	defer signal.Stop(signals)

	server, err := openDB(signals)
	if err != nil {
		fmt.Fprintln(complaints, err)
		return exitNoDB
	}
	code := 0
	if len(argv) == 0 {
		keep(server, signals, out, complaints)
	} else {
		code = runBeside(server.Endpoint(), argv, signals, complaints)
	}
	if err := server.Close(); err != nil {
		fmt.Fprintln(complaints, err)
		return max(code, 1)
	}
	return code
}

// keep prints the database's address as a shell command, and waits for a signal.
func keep(server *localdb.Server, signals <-chan os.Signal, out, complaints io.Writer) {
	fmt.Fprintf(complaints, "%s; Ctrl-C gives it up\n", server.Kind())
	fmt.Fprintf(out, "export DYNAMODB_ENDPOINT=%s\n", server.Endpoint())
	<-signals
}

// openDB joins or starts the database; a signal interrupts it.
func openDB(signals <-chan os.Signal) (*localdb.Server, error) {
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
	return localdb.Shared(ctx)
}

// runBeside runs the command with the database's address in its environment.
func runBeside(endpoint string, argv []string, signals <-chan os.Signal, complaints io.Writer) int {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "DYNAMODB_ENDPOINT="+endpoint) // of two equal names the last one counts
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(complaints, "localdb:", err)
		return exitNoRun
	}
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for {
			select {
			case s := <-signals:
				_ = cmd.Process.Signal(s) // it may have just ended
			case <-ended:
				return
			}
		}
	}()
	return exitCode(cmd.Wait(), complaints)
}

// exitCode returns the exit code that a shell would report for the command.
func exitCode(err error, complaints io.Writer) int {
	var failed *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &failed):
		fmt.Fprintln(complaints, "localdb:", err)
		return exitNoRun
	case failed.ExitCode() >= 0:
		return failed.ExitCode()
	}
	return exitSignal + signalNumber(failed)
}
