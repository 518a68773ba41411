package proof_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

// tally counts what was proved, for the tables of docs/reliability.md.
type tally struct {
	title string // the first column
	good  string
	bad   string

	mu   sync.Mutex
	rows map[string]*[3]int
}

var (
	historiesTally = &tally{title: "histories", good: "operations", bad: "illegal or undecided"}
	casesTally     = &tally{title: "fault cases", good: "ambiguous", bad: "wrong"}
)

// add counts one history or case, some of its kind, and whether it was bad.
func (y *tally) add(row string, some int, bad bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.rows == nil {
		y.rows = map[string]*[3]int{}
	}
	r := y.rows[row]
	if r == nil {
		r = &[3]int{}
		y.rows[row] = r
	}
	r[0]++
	r[1] += some
	if bad {
		r[2]++
	}
}

// String is the table; "" when nothing was counted.
func (y *tally) String() string {
	var names []string
	var all [3]int
	for name, r := range y.rows {
		names = append(names, name)
		for i, n := range r {
			all[i] += n
		}
	}
	if names == nil {
		return ""
	}
	slices.Sort(names)
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | | %s | %s |\n| --- | --: | --: | --: |\n", y.title, y.good, y.bad)
	for _, name := range names {
		r := y.rows[name]
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", name, r[0], r[1], r[2])
	}
	fmt.Fprintf(&b, "| together | %d | %d | %d |\n", all[0], all[1], all[2])
	return b.String()
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, y := range []*tally{historiesTally, casesTally} {
		if text := y.String(); text != "" {
			fmt.Println("\n" + text)
		}
	}
	os.Exit(code)
}
