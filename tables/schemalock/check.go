package schemalock

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dynastrata/dynastrata/entity"
)

// UpdateVariable is the environment variable that makes [Check] write the file if it is 1.
const UpdateVariable = "DYNASTRATA_UPDATE_LOCK"

// TB is the part of *testing.T that Check uses.
type TB interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Check compares the declarations on db with the lock in the file at path. A breaking change fails the test, which names
// the entity, the old value, the new one and the reason; so does a missing or unreadable file. A compatible change is
// logged. With DYNASTRATA_UPDATE_LOCK=1 in the environment, Check compares nothing and writes the file, which later changes
// are then compared with.
func Check(t TB, db *entity.DB, path string) {
	t.Helper()
	now := Of(db)
	if err := now.Err(); err != nil {
		t.Fatalf("schema lock: %v", err)
		return
	}
	switch value := os.Getenv(UpdateVariable); value {
	case "":
	case "1":
		if err := write(path, now.String()); err != nil {
			t.Fatalf("schema lock: %v", err)
			return
		}
		t.Logf("schema lock: wrote %s", path)
		return
	default:
		t.Fatalf("schema lock: %s is %q; it must be 1 or not be set", UpdateVariable, value)
		return
	}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.Fatalf("schema lock: %s does not exist; write it with %s=1 go test, and commit it", path, UpdateVariable)
		return
	case err != nil:
		t.Fatalf("schema lock: %v", err)
		return
	}
	old, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
		return
	}
	var breaking, fine []string
	for _, c := range Compare(old, now) {
		if c.Breaking {
			breaking = append(breaking, "  "+c.String())
		} else {
			fine = append(fine, "  "+c.String())
		}
	}
	if fine != nil {
		t.Logf("schema lock: changes compatible with %s; accept them with %s=1 go test, so that later changes are compared with them:\n%s",
			path, UpdateVariable, strings.Join(fine, "\n"))
	}
	if breaking != nil {
		t.Errorf("schema lock: items written under %s do not survive these changes:\n%s\n"+
			"Undo them, or copy the items as docs/evolution.md says. If there are no such items, accept the changes with %s=1 go test.",
			path, strings.Join(breaking, "\n"), UpdateVariable)
	}
}

// write replaces the file by a rename, so that an interrupted test leaves the old one. Its permissions stay, and a link stays a link.
func write(path, text string) error {
	mode := fs.FileMode(0o644)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// ChangedError reports declarations that the items written under a lock do not survive. It has the breaking Changes, at least one.
type ChangedError struct{ Changes []Change }

func (e *ChangedError) Error() string {
	lines := make([]string, len(e.Changes))
	for i, c := range e.Changes {
		lines[i] = "\n  " + c.String()
	}
	return "schema lock: items written under it do not survive these changes of the declarations:" + strings.Join(lines, "")
}

// Verify compares the declarations on db, all of which were made before, with the text of a lock, such as that of a file that the program
// embeds:
//
//	//go:embed dynastrata.lock
//	var lock []byte
//
// Call it when the program starts, after entity.Bind, and do not go on if it fails: the program would not find items that are stored, or
// store others under keys of which earlier versions know nothing. Compatible changes are no error; [Check] shows them in a test. Verify does
// no I/O. Errors: a *[ChangedError]; a *[FormatError] for a text that is no lock; an *entity.InputError for a database that was not opened.
func Verify(db *entity.DB, lock []byte) error {
	now := Of(db)
	if err := now.Err(); err != nil {
		return err
	}
	old, err := Parse(lock)
	if err != nil {
		return err
	}
	breaking := slices.DeleteFunc(Compare(old, now), func(c Change) bool { return !c.Breaking })
	if len(breaking) > 0 {
		return &ChangedError{breaking}
	}
	return nil
}
