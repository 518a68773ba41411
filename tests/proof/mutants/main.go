// Command mutants changes one guard of the library at a time and runs the test that has to notice. It prints a line for each change and a table at the
// end, and fails when a change goes unnoticed or does not apply any more. The tree stays as it is: changes are overlays of the build.
//
//	go run ./mutants [-root ../..] [-only TEXT] [-at-once 2] [-v]
//
// The list is mutants.txt; its head says how it is written.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

//go:embed mutants.txt
var list string

func main() {
	root := flag.String("root", "../..", "directory of the library's module")
	only := flag.String("only", "", "take only changes whose file or test contains this text")
	atOnce := flag.Int("at-once", 2, "how many tests run at the same time")
	verbose := flag.Bool("v", false, "print what the tests print")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *root, *only, *atOnce, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// Verdicts on a mutant.
const (
	caught    = "caught"
	survived  = "SURVIVED"
	stale     = "STALE"          // the old text is not there, or not once
	broken    = "DOES NOT BUILD" // so that no test was asked
	noTest    = "NO SUCH TEST"
	redBefore = "FAILS WITHOUT THE CHANGE"
)

func run(ctx context.Context, root, only string, atOnce int, verbose bool) error {
	all, err := parse(list)
	if err != nil {
		return err
	}
	root, err = filepath.Abs(root)
	if err != nil {
		return err
	}
	var chosen []mutant
	for _, m := range all {
		if strings.Contains(m.file+" "+m.pkg+" "+m.test, only) {
			chosen = append(chosen, m)
		}
	}
	verdicts := make([]string, len(chosen))
	sound := &baseline{ctx: ctx, root: root, known: map[string]func() string{}}
	var wait sync.WaitGroup
	turns := make(chan struct{}, atOnce)
	for i, m := range chosen {
		wait.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			if ctx.Err() != nil {
				return
			}
			begun := time.Now()
			verdict, said := m.try(ctx, root)
			if verdict == caught { // by a test that is green otherwise?
				if v := sound.of(m); v != "" {
					verdict = v
				}
			}
			verdicts[i] = verdict
			fmt.Printf("%-24s %s:%d, %s %s (%.0f s)\n", verdict, m.file, m.line(root), m.pkg, m.test, time.Since(begun).Seconds())
			if verbose || verdict == broken {
				fmt.Println(said)
			}
		})
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	good := table(chosen, verdicts)
	if good < len(chosen) {
		return fmt.Errorf("%d of %d changes were caught", good, len(chosen))
	}
	return nil
}

// table prints how many changes were caught, by package, and returns how many of all.
func table(chosen []mutant, verdicts []string) (good int) {
	type count struct{ all, good int }
	var order []string
	counts := map[string]*count{}
	for i, m := range chosen {
		pkg := filepath.ToSlash(filepath.Dir(m.file))
		if counts[pkg] == nil {
			counts[pkg] = &count{}
			order = append(order, pkg)
		}
		counts[pkg].all++
		if verdicts[i] == caught {
			counts[pkg].good++
			good++
		}
	}
	fmt.Printf("\n| guards changed in | | caught |\n| --- | --: | --: |\n")
	for _, pkg := range order {
		fmt.Printf("| `%s` | %d | %d |\n", pkg, counts[pkg].all, counts[pkg].good)
	}
	fmt.Printf("| together | %d | %d |\n", len(chosen), good)
	return good
}

// mutant is one change, and the test that has to fail with it.
type mutant struct {
	file, before, after string
	pkg, test           string
}

// parse reads the list.
func parse(text string) ([]mutant, error) {
	var all []mutant
	var m mutant
	var before, after []string
	for n, line := range strings.Split(text+"\n", "\n") {
		key, rest, _ := strings.Cut(line, " ")
		switch key {
		case "#":
		case "file":
			m.file = rest
		case "-":
			before = append(before, rest)
		case "+":
			after = append(after, rest)
		case "test":
			m.pkg, m.test, _ = strings.Cut(rest, " ")
		case "":
			if m.file == "" && before == nil {
				continue
			}
			m.before, m.after = strings.Join(before, "\n"), strings.Join(after, "\n")
			if m.file == "" || m.before == "" || m.test == "" || m.before == m.after {
				return nil, fmt.Errorf("mutants.txt:%d: an entry needs file, -, + or nothing, and test", n)
			}
			all = append(all, m)
			m, before, after = mutant{}, nil, nil
		default:
			return nil, fmt.Errorf("mutants.txt:%d: unknown word %q", n+1, key)
		}
	}
	return all, nil
}

// line is where the old text begins; 0 when it is not there.
func (m mutant) line(root string) int {
	text, err := os.ReadFile(filepath.Join(root, m.file))
	before, _, found := strings.Cut(string(text), m.before)
	if err != nil || !found {
		return 0
	}
	return strings.Count(before, "\n") + 1
}

// try runs the test with the change.
func (m mutant) try(ctx context.Context, root string) (verdict, said string) {
	file := filepath.Join(root, m.file)
	text, err := os.ReadFile(file)
	if err != nil || strings.Count(string(text), m.before) != 1 {
		return stale, ""
	}
	dir, err := os.MkdirTemp("", "mutant-")
	if err != nil {
		return broken, err.Error()
	}
	defer os.RemoveAll(dir)
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	content, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	if err == nil {
		err = os.WriteFile(overlay, content, 0o600)
	}
	if err == nil {
		err = os.WriteFile(changed, []byte(strings.Replace(string(text), m.before, m.after, 1)), 0o600)
	}
	if err != nil {
		return broken, err.Error()
	}
	said, err = m.run(ctx, root, "-overlay="+overlay)
	switch {
	case strings.Contains(said, "[build failed]") || strings.Contains(said, "[setup failed]"):
		return broken, said
	case strings.Contains(said, "no tests to run"):
		return noTest, said
	case err == nil:
		return survived, said
	}
	return caught, said
}

// run is go test of the named test. A change can make a test wait for ever.
func (m mutant) run(ctx context.Context, root string, args ...string) (said string, err error) {
	args = append([]string{"test", "-vet=off", "-count=1", "-timeout=4m", "-run", "^(" + m.test + ")$"}, append(args, m.pkg)...)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "DYNASTRATA_REQUIRE_DB=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// baseline runs each named test once without a change.
type baseline struct {
	ctx  context.Context
	root string

	mu    sync.Mutex
	known map[string]func() string
}

// of is "" when the test of m passes, else the verdict on m.
func (b *baseline) of(m mutant) string {
	b.mu.Lock()
	f := b.known[m.pkg+m.test]
	if f == nil {
		f = sync.OnceValue(func() string {
			if _, err := m.run(b.ctx, b.root); err != nil {
				return redBefore
			}
			return ""
		})
		b.known[m.pkg+m.test] = f
	}
	b.mu.Unlock()
	return f()
}
