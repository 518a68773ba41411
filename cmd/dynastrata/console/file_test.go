package console

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// pages loads more items than a page of a scan has, and returns how many.
func (l *lab) pages() int {
	l.t.Helper()
	const items = 620
	var b strings.Builder
	for i := range items {
		fmt.Fprintf(&b, `{"Item":{"pk":{"S":"$app#v1#telemetry#c-1#d-%[1]d"},"sk":{"S":"$app#v1#telemetry"},"__edd_e__":{"S":"Telemetry"},"channel":{"S":"c-1"},"deviceId":{"S":"d-%[1]d"}}}`+"\n", i)
	}
	r := l.start(l.t.Context(), App{}, b.String(), "--lock", l.lock, "--table", l.table, "--yes", "load", "-")
	require.Equal(l.t, ExitOK, r.code, r.err)
	return items
}

// at calls f before the nth request from now.
func (l *lab) at(n int, f func()) {
	each := func() {
		if n--; n == 0 {
			f()
		}
	}
	l.before.Store(&each)
	l.t.Cleanup(func() { l.before.Store(nil) })
}

func lines(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return strings.Count(string(text), "\n")
}

func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// A dump that cannot begin leaves the file of an earlier one as it is, and no other file. Without --force it never replaces a file.
func TestDump_ThatFailsLeavesTheEarlierFile(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	dir := t.TempDir()
	file := filepath.Join(dir, "dump.jsonl")
	earlier := strings.Repeat("{\"Item\":{}}\n", 600)
	require.NoError(t, os.WriteFile(file, []byte(earlier), 0o640))
	require.NoError(t, os.Symlink(filepath.Join(dir, "absent", "file"), filepath.Join(dir, "dangling")))
	requests := 0
	for _, c := range []struct {
		name, args, says string
		code             int
		requests         bool
	}{
		{"a mistyped table", "--table misspelt dump --force --out " + file, "no such table", ExitFailed, true},
		{"an entity that is not declared", "dump --force --out " + file + " Employe", "there is no entity Employe", ExitUsage, false},
		{"an existing file", "dump --out " + file, "EDD-9283", ExitUsage, false},
		{"a directory", "dump --force --out " + dir, "is a directory", ExitUsage, false},
		{"no directory", "dump --out " + filepath.Join(dir, "absent", "file"), "absent", ExitFailed, false},
		{"a file as directory", "dump --out " + filepath.Join(file, "file"), "not a directory", ExitFailed, false},
		{"a dangling link", "dump --out " + filepath.Join(dir, "dangling"), "is a link to a file that does not exist", ExitUsage, false},
		{"no name", "dump --out=", "--out is given without a value", ExitUsage, false},
	} {
		requests = 0
		count := func() { requests++ }
		l.before.Store(&count)
		r := l.run(strings.Fields(c.args)...)
		require.Equal(t, c.code, r.code, "%s: %s", c.name, r.err)
		require.Contains(t, r.err, c.says, c.name)
		require.Equal(t, c.requests, requests > 0, c.name)
		require.NotContains(t, r.err, "written", c.name)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, earlier, string(text), c.name)
		require.Equal(t, []string{"dangling", "dump.jsonl"}, names(t, dir), c.name)
	}
	l.before.Store(nil)
	var out, errs strings.Builder
	code := Run(t.Context(), App{}, Streams{In: strings.NewReader(""), Out: &out, Err: &errs},
		[]string{"--lock", l.lock, "--table", l.table, "--endpoint", "http://127.0.0.1:1", "dump", "--force", "--out", file})
	require.Equal(t, ExitFailed, code, errs.String())
	require.Equal(t, 600, lines(t, file), "an endpoint that does not answer")
	require.Equal(t, []string{"dangling", "dump.jsonl"}, names(t, dir))
}

// A file that is replaced keeps its permissions, and a link to it stays one; a new file is for its owner alone.
func TestDump_ReplacesWithForceOnly(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	dir, other := t.TempDir(), t.TempDir()
	if at, err := os.MkdirTemp("/dev/shm", "console"); err == nil { // another file system
		t.Cleanup(func() { _ = os.RemoveAll(at) })
		other = at
	}
	file, link := filepath.Join(other, "dump.jsonl"), filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(file, link))
	mode := func() fs.FileMode { return entity.Must(os.Stat(file)).Mode().Perm() }
	require.Equal(t, ExitOK, l.run("dump", "--out", file).code)
	require.Equal(t, 11, lines(t, file))
	require.Equal(t, fs.FileMode(0o600), mode())
	require.NoError(t, os.WriteFile(file, []byte("earlier\n"), 0o600))
	require.NoError(t, os.Chmod(file, 0o640))
	require.Equal(t, ExitUsage, l.run("dump", "--out", link).code)
	require.Equal(t, 1, lines(t, file))
	r := l.run("dump", "--force", "--out", link)
	require.Equal(t, ExitOK, r.code, r.err)
	require.Contains(t, r.err, "11 items written")
	require.Equal(t, 11, lines(t, file))
	require.Equal(t, fs.FileMode(0o640), mode())
	require.NotZero(t, entity.Must(os.Lstat(link)).Mode()&fs.ModeSymlink)
	require.Equal(t, []string{"dump.jsonl"}, names(t, other))
	require.Equal(t, l.run("dump").out, l.run("dump", "--out", "-").out)
	require.Equal(t, []string{"link"}, names(t, dir))
}

// A dump that ends before its end leaves a part with what it counts, and the command line that makes the dump. The file of an earlier one
// stays until then.
func TestDump_APartSaysWhatItIs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	all := l.pages()
	more := entity.Must(os.ReadFile(l.lock))
	more = append(more, "\nentity Zed\n  table = zed\n  items = verbatim\n  payload = 1\n  key partition = native id S\n  attribute id = S always\n"...)
	dir := t.TempDir()
	file := filepath.Join(dir, "dump.jsonl")
	dump := func(ctx context.Context, lock string, args ...string) result {
		return l.start(ctx, App{}, "", append([]string{"--lock", lock, "--table", l.table, "dump", "--out", file}, args...)...)
	}

	ctx, cancel := context.WithCancel(t.Context())
	l.at(3, cancel) // DescribeTable, Scan, Scan
	r := dump(ctx, l.lock)
	l.before.Store(nil)
	require.Equal(t, ExitInterrupted, r.code, r.err)
	require.Equal(t, []string{"dump.jsonl.part"}, names(t, dir))
	require.Equal(t, 500, lines(t, file+partSuffix))
	require.Contains(t, r.err, "500 items written to "+file+partSuffix+", which is a part of the dump")
	require.Contains(t, r.err, "go on with: dynastrata --lock LOCK --table TABLE dump --out "+file+" --force\n")
	require.NotContains(t, r.err, "nothing")

	r = dump(t.Context(), l.lock)
	require.Equal(t, ExitUsage, r.code)
	require.Contains(t, r.err, "EDD-9283 command: "+file+".part exists")
	require.Equal(t, ExitUsage, l.run("--yes", "load", file+partSuffix).code)
	r = dump(t.Context(), l.lock, "--force")
	require.Equal(t, ExitOK, r.code, r.err)
	require.Equal(t, []string{"dump.jsonl"}, names(t, dir))
	require.Equal(t, all, lines(t, file))

	twoTables := filepath.Join(t.TempDir(), "two.lock")
	require.NoError(t, os.WriteFile(twoTables, more, 0o600))
	require.NoError(t, os.WriteFile(file, []byte("earlier\n"), 0o600))
	r = dump(t.Context(), twoTables, "--force")
	require.Equal(t, ExitFailed, r.code)
	require.Contains(t, r.err, "620 items written to "+file+partSuffix)
	require.Contains(t, r.err, "dump --out "+file+" --force\n", "after a failure too")
	require.Equal(t, 1, lines(t, file))
	require.Equal(t, all, lines(t, file+partSuffix))

	ctx, cancel = context.WithCancel(t.Context())
	l.at(3, cancel)
	r = l.start(ctx, App{}, "", "--lock", l.lock, "--table", l.table, "dump")
	require.Equal(t, ExitInterrupted, r.code)
	require.Contains(t, r.err, "500 items written to standard output, which is a part of the dump")
}

// Of two dumps to one file neither spoils that of the other, and a file that comes meanwhile is not replaced.
func TestDump_OneFileOneDump(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	dir := t.TempDir()
	file := filepath.Join(dir, "dump.jsonl")
	var second result
	l.at(2, func() { second = l.run("dump", "--out", file) })
	r := l.run("dump", "--out", file)
	require.Equal(t, ExitOK, r.code, r.err)
	require.Equal(t, ExitUsage, second.code)
	require.Contains(t, second.err, "another dump writes it now")
	require.Equal(t, 11, lines(t, file))

	reached, over, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	n, mine := 0, file+".mine"
	each := func() {
		switch n++; n {
		case 2: // of the first
			go func() {
				defer close(ended)
				second = l.run("dump", "--force", "--out", file)
			}()
			<-reached
		case 4: // of the second
			close(reached)
			<-over
		}
	}
	l.before.Store(&each)
	require.NoError(t, os.Rename(file, mine))
	r = l.run("dump", "--out", file)
	require.Equal(t, ExitFailed, r.code)
	require.Contains(t, r.err, "another dump has replaced this one")
	require.NotContains(t, r.err, "written to")
	require.NoFileExists(t, file)
	close(over)
	<-ended
	require.Equal(t, ExitOK, second.code, second.err)
	require.Equal(t, 11, lines(t, file))
	require.Equal(t, []string{"dump.jsonl", "dump.jsonl.mine"}, names(t, dir))

	require.NoError(t, os.Remove(file))
	l.at(2, func() { require.NoError(t, os.WriteFile(file, []byte("other\n"), 0o600)) })
	r = l.run("dump", "--out", file)
	require.Equal(t, ExitFailed, r.code)
	require.Contains(t, r.err, file+".part has the whole dump: rename it")
	require.Equal(t, 1, lines(t, file))
	require.Equal(t, 11, lines(t, file+partSuffix))
}

// What could not be written is not counted as written.
func TestDump_ATornFile(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	file := filepath.Join(t.TempDir(), "dump.jsonl")
	f := entity.Must(createFile(file, false))
	entity.Must(f.WriteString("some"))
	require.NoError(t, f.f.Close())
	torn, err := f.end(true, false)
	require.True(t, torn)
	require.Error(t, err)
	require.NoFileExists(t, file)
	r := l.run("dump", "--out", "/dev/full")
	require.Equal(t, ExitFailed, r.code)
	require.Contains(t, r.err, "written to /dev/full, which is a part of the dump")
	require.Contains(t, r.err, "at most ")
}
