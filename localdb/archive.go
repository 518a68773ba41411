package localdb

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxFiles bounds the number of files in an archive.
const maxFiles = 10_000

// extract writes the files of a package archive below dir, without the "package/" that every name in it begins with. It
// refuses anything but plain files and directories inside, a name that occurs twice, and an archive of more than limit bytes unzipped.
func extract(archive io.Reader, dir string, limit int64) error {
	root, err := os.OpenRoot(dir) // no name leads out of it, whatever the checks below let pass
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
	// The checksum of gzip stands behind the last byte.
	if _, err := io.Copy(io.Discard, left); err != nil {
		return err
	}
	return bounded(nil, left, limit)
}

// bounded replaces the error that a cut-off stream gives by the reason for the cut.
func bounded(err error, left *io.LimitedReader, limit int64) error {
	if left.N <= 0 {
		return fmt.Errorf("more than %d bytes", limit)
	}
	return err
}

// extractFile writes one file.
func extractFile(root *os.Root, header *tar.Header, content io.Reader) error {
	switch header.Typeflag {
	case tar.TypeXGlobalHeader: // describes the archive, is no file
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

// localName returns a member's name inside the package. Names that would have to be cleaned are refused rather than repaired.
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
