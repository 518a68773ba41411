package main

import (
	"context"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
)

// workshop builds the test programs, with all changes in them, and runs them.
type workshop struct {
	root, dir string
	atOnce    int

	mu    sync.Mutex
	known map[string]func() string // verdicts on tests without a change
}

// change writes the changed files and the overlay that puts them in place.
func (w *workshop) change(all []*mutant) error {
	mod, err := os.ReadFile(filepath.Join(w.root, "go.mod"))
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(mod), "\n")
	files, err := changed(w.root, strings.TrimSpace(strings.TrimPrefix(first, "module")), all)
	if err != nil {
		return err
	}
	replace := map[string]string{}
	for name, text := range files {
		path := filepath.Join(w.dir, strings.ReplaceAll(name, "/", "-"))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
		replace[filepath.Join(w.root, name)] = path
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(w.dir, "overlay.json"), overlay, 0o600)
}

// program returns the path of the test program of a package.
func (w *workshop) program(pkg string) string {
	return filepath.Join(w.dir, strings.Trim(strings.ReplaceAll(pkg, "/", "-"), ".-")+"-.test")
}

// place is the directory of a package.
func (w *workshop) place(pkg string) string { return filepath.Join(w.root, filepath.FromSlash(pkg)) }

// build compiles the test programs of the changes, each in the module of its package.
func (w *workshop) build(ctx context.Context, chosen []*mutant) error {
	var pkgs []string
	seen := map[string]bool{}
	for _, m := range chosen {
		if m.line > 0 && !seen[m.pkg] {
			seen[m.pkg] = true
			pkgs = append(pkgs, m.pkg)
		}
	}
	errs := make([]error, len(pkgs))
	inParallel(w.atOnce, len(pkgs), func(i int) {
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", filepath.Join(w.dir, "overlay.json"), "-o", w.program(pkgs[i]), ".")
		cmd.Dir = w.place(pkgs[i])
		if out, err := cmd.CombinedOutput(); err != nil {
			errs[i] = fmt.Errorf("build %s: %w\n%s", pkgs[i], err, out)
		}
	})
	return errors.Join(errs...)
}

// try runs the test of a mutant, with it and without it.
func (w *workshop) try(ctx context.Context, m *mutant) (verdict, said string) {
	if m.line == 0 {
		return stale, ""
	}
	said, err := w.run(ctx, m, m.n)
	switch {
	case strings.Contains(said, "no tests to run"):
		return noTest, said
	case err == nil:
		return survived, said
	}
	if v := w.unchanged(ctx, m); v != "" {
		return v, said
	}
	return caught, said
}

// unchanged is "" when the test of m passes without a change. Each is asked once.
func (w *workshop) unchanged(ctx context.Context, m *mutant) string {
	w.mu.Lock()
	if w.known == nil {
		w.known = map[string]func() string{}
	}
	f := w.known[m.pkg+" "+m.test]
	if f == nil {
		f = sync.OnceValue(func() string {
			if _, err := w.run(ctx, m, 0); err != nil {
				return redBefore
			}
			return ""
		})
		w.known[m.pkg+" "+m.test] = f
	}
	w.mu.Unlock()
	return f()
}

// run runs the test of m under change n. A change can make a test wait for ever. What a seed decides is the same each time.
func (w *workshop) run(ctx context.Context, m *mutant, n int) (said string, err error) {
	args := []string{"-test.timeout=4m", "-test.failfast", "-test.run", "^" + strings.ReplaceAll(m.test, "/", "$/^") + "$"}
	if info, err := buildinfo.ReadFile(w.program(m.pkg)); err == nil && slices.ContainsFunc(info.Deps, isRapid) {
		args = append(args, "-rapid.nofailfile") // later runs would begin with the file
	}
	cmd := exec.CommandContext(ctx, w.program(m.pkg), args...)
	cmd.Dir = w.place(m.pkg)
	cmd.Env = append(os.Environ(), "DYNASTRATA_REQUIRE_DB=1", "DYNASTRATA_LONG=0", "DYNASTRATA_TEST_SEED=1", fmt.Sprintf("DYNASTRATA_MUTANT=%d", n))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func isRapid(m *debug.Module) bool { return m.Path == "pgregory.net/rapid" }
