package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"text/tabwriter"

	"github.com/dynastrata/dynastrata/entity"
)

// costs adds up what each kind of call consumed, as DynamoDB measured it.
type costs struct {
	mu    sync.Mutex
	lines map[string]*cost
}

type cost struct {
	what            string
	calls, requests int
	read, write     float64
}

func (c *costs) observe(_ context.Context, r entity.Report) {
	what := r.Verb + " " + r.Entity
	if r.Verb == "Transact" {
		what = "Transact ProcessedBatch and Reading"
		if r.Err != nil {
			what += ", duplicate or collision"
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lines == nil {
		c.lines = map[string]*cost{}
	}
	if c.lines[what] == nil {
		c.lines[what] = &cost{what: what}
	}
	line := c.lines[what]
	line.calls++
	line.requests += r.Requests
	line.read += r.ReadUnits
	line.write += r.WriteUnits
}

// print shows what the calls of each kind consumed.
func (c *costs) print(out io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*cost
	for _, line := range c.lines {
		all = append(all, line)
	}
	slices.SortFunc(all, func(a, b *cost) int { return cmp.Compare(a.what, b.what) })
	fmt.Fprintln(out, "\nWhat the calls cost, measured. A transaction writes two items, each for two units; one that is refused names none:")
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  call\tcalls\trequests\tread units\twrite units\twrite units of one")
	var total cost
	for _, l := range all {
		fmt.Fprintf(w, "  %s\t%d\t%d\t%.1f\t%.1f\t%.1f\n", l.what, l.calls, l.requests, l.read, l.write, l.write/float64(l.calls))
		total.calls, total.requests, total.read, total.write = total.calls+l.calls, total.requests+l.requests, total.read+l.read, total.write+l.write
	}
	fmt.Fprintf(w, "  total\t%d\t%d\t%.1f\t%.1f\t\n", total.calls, total.requests, total.read, total.write)
	_ = w.Flush() // to memory or a terminal; an error showed in the lines before
}
