// Package release_test installs the modules of the repository as a program does: from a proxy, at a version, into an empty module cache.
package release_test

import (
	"archive/zip"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

const (
	library = "github.com/dynastrata/dynastrata"
	version = "v0.1.0" // that modules require of each other
)

func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	require.NoError(t, err)
	return dir
}

// released returns the directories of the modules that get tags.
func released(t *testing.T) []string {
	t.Helper()
	return strings.Fields(run(t, root(t), nil, filepath.Join(root(t), ".ci/release"), "--modules"))
}

func run(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	out, err := try(dir, env, name, args...)
	require.NoError(t, err, "%s %s\n%s", name, strings.Join(args, " "), out)
	return out
}

func try(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// serve writes a module as a proxy of files serves it.
func serve(t *testing.T, proxy, path, dir string) {
	t.Helper()
	escaped, err := module.EscapePath(path)
	require.NoError(t, err)
	at := filepath.Join(proxy, filepath.FromSlash(escaped), "@v")
	require.NoError(t, os.MkdirAll(at, 0o755))
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, modzip.CreateFromDir(&text, module.Version{Path: path, Version: version}, dir))
	files, err := zip.NewReader(bytes.NewReader(text.Bytes()), int64(text.Len()))
	require.NoError(t, err)
	require.NotEmpty(t, files.File)
	for name, content := range map[string][]byte{
		"list": []byte(version + "\n"), version + ".info": []byte(`{"Version":"` + version + `","Time":"2026-01-01T00:00:00Z"}`), version + ".mod": mod, version + ".zip": text.Bytes(),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(at, name), content, 0o644))
	}
}

// machine is one that has no modules yet. What others than the library publish comes from the cache of this machine where it is there.
func machine(t *testing.T) (env []string, bin string) {
	t.Helper()
	proxy, bin := t.TempDir(), t.TempDir()
	for _, dir := range released(t) {
		path := library
		if dir != "." {
			path += "/" + dir
		}
		serve(t, proxy, path, filepath.Join(root(t), dir))
	}
	known := strings.TrimSpace(run(t, root(t), nil, "go", "env", "GOMODCACHE"))
	others := strings.TrimSpace(run(t, root(t), nil, "go", "env", "GOPROXY"))
	return []string{
		"GOPROXY=file://" + proxy + ",file://" + known + "/cache/download," + others, "GONOSUMDB=" + library, "GONOSUMCHECK=1", "GOWORK=off",
		"GOFLAGS=-modcacherw", "GOMODCACHE=" + t.TempDir(), "GOBIN=" + bin,
	}, bin
}

// documented returns the commands of the documents that get or install the library.
func documented(t *testing.T) (lines []string) {
	t.Helper()
	command := regexp.MustCompile(`(?m)^go (?:get|install) ` + regexp.QuoteMeta(library) + `\S*`)
	for _, name := range strings.Fields(run(t, root(t), nil, "git", "ls-files", "*.md")) {
		text, err := os.ReadFile(filepath.Join(root(t), name))
		require.NoError(t, err)
		lines = append(lines, command.FindAllString(string(text), -1)...)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

// packages returns the import paths that programs may use.
func packages(t *testing.T) (all []string) {
	t.Helper()
	for _, dir := range released(t) {
		for _, path := range strings.Fields(run(t, filepath.Join(root(t), dir), nil, "go", "list", "-f", `{{if ne .Name "main"}}{{.ImportPath}}{{end}}`, "./...")) {
			if strings.HasPrefix(path, library) && !regexp.MustCompile(`/(internal|tests|examples)(/|$)`).MatchString(path) && !strings.Contains(path, "/contrib/beam") {
				all = append(all, path)
			}
		}
	}
	return all
}

// The guide's own steps end in a program, too; a test of the documents runs it.
func TestInstall_EveryDocumentedLine(t *testing.T) {
	lines := documented(t)
	require.GreaterOrEqual(t, len(lines), 2)
	env, bin := machine(t)
	program := t.TempDir()
	run(t, program, env, "go", "mod", "init", "example.com/program")
	for _, line := range lines {
		words := strings.Fields(line)
		run(t, program, env, words[0], words[1:]...)
	}
	names, err := os.ReadDir(bin)
	require.NoError(t, err)
	require.Len(t, names, 2)
	require.Contains(t, run(t, program, env, filepath.Join(bin, "dynastrata"), "--version"), version)

	text := "package main\n\nimport (\n"
	for _, path := range packages(t) {
		text += "\t_ \"" + path + "\"\n"
	}
	require.NoError(t, os.WriteFile(filepath.Join(program, "main.go"), []byte(text+")\n\nfunc main() {}\n"), 0o644))
	for _, dir := range released(t)[1:] {
		run(t, program, env, "go", "get", library+"/"+dir+"/...@latest")
	}
	run(t, program, env, "go", "build", "-o", os.DevNull, ".")
	mod, err := os.ReadFile(filepath.Join(program, "go.mod"))
	require.NoError(t, err)
	require.NotContains(t, string(mod), "replace")

	readme, err := os.ReadFile(filepath.Join(root(t), "README.md"))
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	require.Len(t, blocks, 4)
	program = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(program, "main.go"), []byte(blocks[2][1]+blocks[0][1]+blocks[1][1]), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(program, "main_test.go"), []byte(blocks[3][1]), 0o644))
	steps := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(string(readme))[1]
	require.Contains(t, steps, " && go run . ")
	run(t, program, env, "sh", "-ec", strings.ReplaceAll(steps, "go run .", "go build -o "+os.DevNull+" ."))

	guide, err := os.ReadFile(filepath.Join(root(t), "docs/guide.md"))
	require.NoError(t, err)
	dir := t.TempDir()
	files := filepath.Join(dir, "files")
	require.NoError(t, os.Mkdir(files, 0o755))
	for _, block := range regexp.MustCompile("(?s)```go\n(// (\\w+\\.go).*?)```").FindAllStringSubmatch(string(guide), -1) {
		file, err := os.OpenFile(filepath.Join(files, block[2]), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		require.NoError(t, err)
		_, err = file.WriteString(block[1] + "\n")
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
	shell := regexp.MustCompile("(?s)```sh\n(.*?)```").FindStringSubmatch(string(guide))[1]
	require.Contains(t, shell, "\ngo mod tidy ")
	require.Contains(t, shell, "\ngo run .\n")
	shell = strings.NewReplacer("\n# copy ", "\ncp ../files/*.go . # ", "\ngo run .\n", "\ngo build -o "+os.DevNull+" .\n").Replace(shell)
	run(t, dir, env, "sh", "-ec", shell)
}

// A workspace replaces the version that its modules require.
func TestWorkspaces_ReplaceTheVersion(t *testing.T) {
	replaced := regexp.MustCompile(regexp.QuoteMeta(library) + `\S* (v\S+) =>`)
	for _, name := range strings.Fields(run(t, root(t), nil, "git", "ls-files", "*go.work")) {
		text, err := os.ReadFile(filepath.Join(root(t), name))
		require.NoError(t, err)
		found := replaced.FindAllStringSubmatch(string(text), -1)
		require.NotEmpty(t, found, name)
		for _, f := range found {
			require.Equal(t, version, f[1], name)
		}
	}
}

func TestModules_RequireOneVersionAndReplaceNothing(t *testing.T) {
	for _, name := range strings.Fields(run(t, root(t), nil, "git", "ls-files", "*go.mod")) {
		text, err := os.ReadFile(filepath.Join(root(t), name))
		require.NoError(t, err)
		require.NotContains(t, string(text), "replace", name)
		for _, found := range regexp.MustCompile(regexp.QuoteMeta(library)+`\S* (v\S+)`).FindAllStringSubmatch(string(text), -1) {
			require.Equal(t, version, found[1], name)
		}
	}
}

// fork returns a repository with the files of this one, and a function that commits a change of a file and one of all others.
func fork(t *testing.T) (dir string, commit func(change map[string][2]string)) {
	t.Helper()
	dir = t.TempDir()
	for _, name := range strings.Fields(run(t, root(t), nil, "git", "ls-files", "--cached", "--others", "--exclude-standard")) {
		from := filepath.Join(root(t), name)
		info, err := os.Stat(from)
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, info.Mode()))
	}
	run(t, dir, nil, "git", "init", "-q")
	run(t, dir, nil, "git", "config", "user.email", "a@example.com")
	run(t, dir, nil, "git", "config", "user.name", "A")
	commit = func(change map[string][2]string) {
		for name, c := range change {
			text, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			require.Contains(t, string(text), c[0], name)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(strings.ReplaceAll(string(text), c[0], c[1])), 0o644))
		}
		run(t, dir, nil, "git", "add", "-A")
		run(t, dir, nil, "git", "commit", "-q", "--allow-empty", "-m", "Change")
	}
	commit(nil)
	return dir, commit
}

func TestRelease_TagsOnlyWhatIsReady(t *testing.T) {
	dir, commit := fork(t)
	release := func(version string) (string, error) { return try(dir, nil, ".ci/release", version) }
	refused := func(version, why string) {
		t.Helper()
		said, err := release(version)
		require.Error(t, err)
		require.Contains(t, said, why)
		require.NotContains(t, run(t, dir, nil, "git", "tag"), version)
	}
	refused("0.1.0", "usage")
	refused("v0.1", "usage")
	refused("v0.1.0", "no heading")
	commit(map[string][2]string{"CHANGELOG.md": {"## Unreleased\n", "## Unreleased\n\n- Something\n\n## 0.1.0 (2026-12-01)\n"}})
	refused("v0.1.0", "under Unreleased")
	commit(map[string][2]string{"CHANGELOG.md": {"- Something\n\n", ""}})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "new.txt"), nil, 0o644))
	refused("v0.1.0", "not committed")
	require.NoError(t, os.Remove(filepath.Join(dir, "new.txt")))

	said, err := release("v0.1.0")
	require.NoError(t, err, said)
	var want []string
	for _, m := range released(t) {
		want = append(want, strings.TrimPrefix(m+"/v0.1.0", "./"))
	}
	require.ElementsMatch(t, want, strings.Fields(run(t, dir, nil, "git", "tag")))
	for _, tag := range want {
		require.Contains(t, said, " "+tag)
	}
	said, err = release("v0.1.0")
	require.Error(t, err)
	require.Contains(t, said, "exists")

	commit(map[string][2]string{"CHANGELOG.md": {"## 0.1.0 (", "## 0.1.1 (2027-01-01)\n\n## 0.1.0 ("}})
	refused("v0.1.1", "requires github.com/dynastrata/dynastrata")

	bump := map[string][2]string{"go.work": {"v0.1.0", "v0.1.1"}}
	for _, name := range strings.Fields(run(t, dir, nil, "git", "grep", "-l", library+".* v0.1.0", "--", "*go.mod")) {
		bump[name] = [2]string{" v0.1.0", " v0.1.1"}
	}
	commit(bump)
	refused("v0.1.1", "contrib/beam/go.work replaces github.com/dynastrata/dynastrata v0.1.0")

	if os.Getenv("DYNASTRATA_LONG") != "1" { // the comparison compiles every module twice
		return
	}
	commit(map[string][2]string{"contrib/beam/go.work": {"v0.1.0", "v0.1.1"}, "unique/sentinel.go": {"ViolationError) Is(", "ViolationError) IsNot("}})
	refused("v0.1.1", "a patch cannot have incompatible changes")
}
