package localdb

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// A shared database outlives the process that started it, and ends when nobody uses it. Its keeper sees to that: this same program, run
// once more under a name of its own, in a session of its own, as the parent of the database. Who uses the database holds a shared lock on
// the file that says where it is, which the kernel gives back however a process ends; so the keeper counts nothing, it only tries the lock.

// keeperName is the name under which a program runs itself to keep a database.
const keeperName = "localdb-keeper"

// The keeper's pace. Between two packages of a test run nobody may use the database for a moment.
const (
	keeperPause = 500 * time.Millisecond
	idleTime    = 10 * time.Second
)

func init() {
	if len(os.Args) > 0 && os.Args[0] == keeperName {
		os.Exit(keepMain(os.Args[1:]))
	}
}

// launchKept starts a database under a keeper, which ends it when nobody has locked the record for idle.
func launchKept(program, record string, idle time.Duration) func(dir string, argv ...string) (*child, error) {
	return func(dir string, argv ...string) (*child, error) {
		return run(dir, newDetached(program, append([]string{keeperName, record, idle.String()}, argv...)), nil)
	}
}

// keepMain is the keeper's main function. Its arguments are the record, the time after which an unused database ends, and the command
// that runs the database.
func keepMain(args []string) int {
	ignoreHangup()
	if err := keep(args); err != nil {
		fmt.Fprintln(os.Stderr, "localdb:", err) // who started it reads this, as long as the database does not answer
		return 1
	}
	return 0
}

func keep(args []string) error {
	if len(args) < 3 {
		return errors.New("the keeper lacks arguments")
	}
	path, argv := args[0], args[2:]
	idle, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	record, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	c, err := run("", newCommand(argv), os.Stderr)
	if err != nil {
		return err
	}
	unused := time.Time{} // since when nobody has used the database
	for pause := time.NewTicker(keeperPause); ; {
		select {
		case <-c.done:
			removeRecord(path, record)
			return errEnded
		case <-pause.C:
		}
		alone, err := tryLock(record)
		switch {
		case err != nil:
			return errors.Join(err, c.stop())
		case !alone:
			unused = time.Time{}
			continue
		case unused.IsZero():
			unused = time.Now()
		}
		if time.Since(unused) >= idle { // and while the lock is held nobody else can begin to use it
			removeRecord(path, record)
			return c.stop()
		}
		unlockFile(record)
	}
}

// removeRecord removes a record where it still is, under its first name or that of the group.
func removeRecord(path string, record *os.File) {
	for _, name := range []string{path, publicName(path)} {
		if sameFile(name, record) {
			_ = os.Remove(name)
		}
	}
}

// sameFile reports whether path still leads to an open file.
func sameFile(path string, file *os.File) bool {
	there, err := os.Stat(path)
	if err != nil {
		return false
	}
	open, err := file.Stat()
	return err == nil && os.SameFile(there, open)
}

// ownProgram is the path of the running program.
func ownProgram() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("the path of the running program: %w", err)
	}
	return exec.LookPath(program)
}
