// Command localdb keeps the local DynamoDB that tests share, for a terminal or for one command.
//
//	go run ./localdb/cmd/localdb                 prints where the database is, and keeps it until it is interrupted
//	go run ./localdb/cmd/localdb COMMAND …       runs the command with that address in DYNAMODB_ENDPOINT
//
// It joins the database that runs already, or starts one as package localdb does, unless DYNAMODB_ENDPOINT is set. The database ends a
// few seconds after the last process that uses it. Tests find it by themselves, other programs by DYNAMODB_ENDPOINT.
// The exit code of the command becomes its own, and signals are passed on to the command.
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

// Exit codes of the program itself, those that shells use for commands which cannot be run.
const (
	exitNoDB     = 125
	exitNoRun    = 126
	exitSignal   = 128 // plus the number of the signal that ended the command
	startTimeout = 10 * time.Minute
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run gives the exit code.
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

// keep says where the database is, in the words of a shell, and waits for a signal.
func keep(server *localdb.Server, signals <-chan os.Signal, out, complaints io.Writer) {
	fmt.Fprintf(complaints, "%s; Ctrl-C gives it up\n", server.Kind())
	fmt.Fprintf(out, "export DYNAMODB_ENDPOINT=%s\n", server.Endpoint())
	<-signals
}

// openDB joins or starts the database; a signal meanwhile ends that.
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
		fmt.Fprintln(complaints, "localdb:", err)
		return exitNoRun
	case failed.ExitCode() >= 0:
		return failed.ExitCode()
	}
	return exitSignal + signalNumber(failed)
}
