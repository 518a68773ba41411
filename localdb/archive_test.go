package localdb

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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

	text, err := os.ReadFile(filepath.Join(dir, "lib", "a.txt"))
	require.NoError(t, err)
	assert.Equal(t, "a", string(text))
	info, err := os.Stat(filepath.Join(dir, "bin", "run"))
	require.NoError(t, err)
	assert.Zero(t, info.Mode()&fs.ModeSetuid, "no special bits are taken over")
	if filepath.Separator == '/' {
		assert.NotZero(t, info.Mode()&0o100, "programs stay executable")
	}
}

func TestExtractRefusesHostileArchives(t *testing.T) {
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

func TestExtractRefusesDamagedArchives(t *testing.T) {
	t.Parallel()
	good := archive(t, member{name: "package/a", content: strings.Repeat("abc", 1000)})
	cut := good[:len(good)-12]
	flipped := bytes.Clone(good)
	flipped[len(flipped)-5] ^= 1 // in the length and checksum at the end
	for name, data := range map[string][]byte{"no gzip": []byte("hello"), "cut off": cut, "checksum": flipped} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Error(t, extract(bytes.NewReader(data), t.TempDir(), 1<<20))
		})
	}
}
