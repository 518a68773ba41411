package console

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/dynastrata/dynastrata/internal/bind"
)

// partSuffix ends the name of a file until it is whole.
const partSuffix = ".part"

// outFile is a file that a command writes. What is written goes to a part in the same directory, which gets the name of the file when it
// is whole. An *outFile of a device or a pipe writes to that.
type outFile struct {
	*bufio.Writer
	path, part string // part is "" for a device or a pipe, and after another process has taken it away
	whole      bool   // whether end had everything, and the part lacks its name only
	f          *os.File
	replace    bool
	mode       fs.FileMode // of the file that is replaced
}

// createFile begins a file, and changes none that is there. With replace, end replaces the file, and an earlier part is removed.
func createFile(path string, replace bool) (*outFile, error) {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link stays one
	}
	o := &outFile{path: path, part: path + partSuffix, replace: replace, mode: 0o600}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, invalid(bind.CodeConsoleFile, "%s is a directory: give the name of a file", path)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, invalid(bind.CodeConsoleFile, "%s is a link to a file that does not exist: give the name of that file", path)
	case !info.Mode().IsRegular():
		if o.f, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil {
			return nil, err
		}
		o.part, o.Writer = "", bufio.NewWriter(o.f)
		return o, nil
	case replace:
		o.mode = info.Mode().Perm()
		if o.f, err = os.OpenFile(path, os.O_WRONLY, 0); err != nil { // one that must not be written is not replaced
			return nil, err
		}
		_ = o.f.Close()
	default:
		return nil, exists(path)
	}
	if replace {
		if err := os.Remove(o.part); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	o.f, err = os.OpenFile(o.part, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, invalid(bind.CodeConsoleFile, "%s exists: another dump writes it now, or one has ended before its end; --force replaces it", o.part)
	}
	if err != nil {
		return nil, err
	}
	o.Writer = bufio.NewWriter(o.f)
	return o, nil
}

func exists(path string) error {
	return invalid(bind.CodeConsoleFile, "%s exists: give another name, or --force, which replaces it when the new file is whole", path)
}

// end closes the file, and gives it its name if it is whole. Otherwise the part stays, unless it is empty. torn reports whether less is
// in it than was written.
func (o *outFile) end(whole, empty bool) (torn bool, err error) {
	err = o.Flush()
	if torn = err != nil; !whole {
		err = nil // the dump has ended with it, or with another
	}
	if o.part == "" {
		return torn, errors.Join(err, o.f.Close())
	}
	mine, statErr := o.f.Stat()
	if whole && !torn {
		err = errors.Join(o.f.Chmod(o.mode), o.f.Sync())
	}
	err = errors.Join(err, statErr, o.f.Close())
	if there, lost := os.Lstat(o.part); lost != nil || !os.SameFile(mine, there) {
		o.part = ""
		return torn, errors.Join(err, errors.New("another dump has replaced this one, or its file was removed"))
	}
	switch {
	case empty && !whole:
		return torn, errors.Join(err, os.Remove(o.part))
	case err != nil || !whole:
		return torn, err
	}
	o.whole = true
	if _, err := os.Lstat(o.path); err == nil && !o.replace {
		return false, exists(o.path)
	}
	return false, os.Rename(o.part, o.path)
}
