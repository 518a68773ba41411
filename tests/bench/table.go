package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
)

// table is a part of the output.
type table struct {
	name string // of its place in the document
	head []string
	rows [][]string
}

// print writes the table with aligned columns.
func (t table) print(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, cells := range append([][]string{t.head}, t.rows...) {
		fmt.Fprintln(tw, strings.Join(cells, "\t"))
	}
	fmt.Fprintln(tw)
	return tw.Flush()
}

func (t table) markdown() string {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(t.head)
	line(strings.Split(strings.Repeat("---,", len(t.head)-1)+"---", ","))
	for _, cells := range t.rows {
		line(cells)
	}
	return b.String()
}

// replaceIn writes the table to its place in a document, between the comments begin NAME and end NAME, if it has one.
func (t table) replaceIn(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin, end := "<!-- begin "+t.name+" -->\n", "<!-- end "+t.name+" -->"
	head, rest, ok := strings.Cut(string(text), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return nil
	}
	return os.WriteFile(file, []byte(head+begin+t.markdown()+end+tail), 0o644)
}

// number writes v with as many digits as a reader needs.
func number(v float64) string {
	if v >= 100 || v == float64(int(v)) {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// ratioText writes a ratio with its spread over the rounds.
func ratioText(middle, low, high float64) string {
	return fmt.Sprintf("%.2f (%.2f–%.2f)", middle, low, high)
}
