// Command mutants changes one guard of the library at a time and runs the test that has to notice. It prints a line for each change and a table at the
// end, and fails when a change goes unnoticed or does not apply any more. The tree stays as it is.
//
//	go run ./mutants [-root ../..] [-only TEXT] [-at-once 2] [-v]
//
// The list is mutants.txt; its head says how it is written. All changes are built into each test program once, as an overlay of the build, and an
// environment variable chooses the one that is in force.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"os"
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
	stale     = "STALE" // the old text is not there, or not once
	noTest    = "NO SUCH TEST"
	redBefore = "FAILS WITHOUT THE CHANGE"
)

func run(ctx context.Context, root, only string, atOnce int, verbose bool) error {
	all, err := parse(list)
	if err != nil {
		return err
	}
	if root, err = filepath.Abs(root); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	w := &workshop{root: root, dir: dir, atOnce: atOnce}
	if err := w.change(all); err != nil {
		return err
	}
	chosen := choose(all, only)
	if err := w.build(ctx, chosen); err != nil {
		return err
	}
	verdicts := make([]string, len(chosen))
	inParallel(atOnce, len(chosen), func(i int) {
		m, begun := chosen[i], time.Now()
		if ctx.Err() != nil {
			return
		}
		verdict, said := w.try(ctx, m)
		verdicts[i] = verdict
		fmt.Printf("%-24s %s:%d %s, by %s %s (%.0f s)\n", verdict, m.file, m.line, m.was, m.pkg, m.test, time.Since(begun).Seconds())
		if verbose {
			fmt.Println(said)
		}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	if good := table(chosen, verdicts); good < len(chosen) {
		return fmt.Errorf("%d of %d changes were caught", good, len(chosen))
	}
	return nil
}

// choose are the changes whose file or test contains a text.
func choose(all []*mutant, only string) (chosen []*mutant) {
	for _, m := range all {
		if strings.Contains(m.file+" "+m.pkg+" "+m.test, only) {
			chosen = append(chosen, m)
		}
	}
	return chosen
}

// inParallel calls f for 0 to n-1.
func inParallel(atOnce, n int, f func(i int)) {
	var wait sync.WaitGroup
	turns := make(chan struct{}, max(atOnce, 1))
	for i := range n {
		turns <- struct{}{}
		wait.Go(func() {
			defer func() { <-turns }()
			f(i)
		})
	}
	wait.Wait()
}

// table prints how many changes were caught, by package, and returns how many of all.
func table(chosen []*mutant, verdicts []string) (good int) {
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
