package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// report prints what happens.
type report struct{ out io.Writer }

func (r report) title(format string, args ...any) { fmt.Fprintf(r.out, "\n"+format+"\n", args...) }

// line prints a line, and breaks it if it is too long for a screen.
func (r report) line(format string, args ...any) {
	fmt.Fprintln(r.out, fold("  "+fmt.Sprintf(format, args...)))
}

func (r report) legend() {
	r.line("The tables show what is stored of a record. Its current item has the sort key S, and everything else that belongs")
	r.line("to it lies behind S in the same partition. Sentinels claim values; each is a partition of its own. The columns:")
	r.line("  marks    in gsi1: it has the keys of that index; _deleted: a snapshot of the deleted state;")
	r.line("           _op=restore: the last write of the item was its restore")
	r.line("  expires  when DynamoDB removes it; empty: never")
	r.line("A call that went well is a line with \"ok\". Errors are those that the story asks for, each of the class that it must be.")
}

// plan prints what an operation will send, without sending it.
func (r report) plan(op fmt.Stringer) {
	for line := range strings.Lines(op.String()) {
		r.line("%s", strings.TrimSuffix(line, "\n"))
	}
}

// rows prints items as they are stored.
func (r report) rows(all rows, now time.Time) {
	if len(all) == 0 {
		r.line("(nothing is stored)")
		return
	}
	r.line("stored now:")
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  "+strings.Join([]string{"record", "kind", "sort key", "version", "email", "displayName", "department", "marks", "expires"}, "\t"))
	for i, it := range all {
		owner := it.owner()
		if i > 0 && all[i-1].owner() == owner {
			owner = ""
		}
		fmt.Fprintln(w, "  "+strings.Join([]string{
			owner, it.kind(), it.place(), number(it.Version), it.Email, it.DisplayName, it.Department, it.marks(), expiry(it.TTL, now),
		}, "\t"))
	}
	w.Flush()
}

// marks are the library's hidden attributes of an item, as remarks.
func (r row) marks() string {
	var words []string
	if r.Deleted {
		words = append(words, "_deleted")
	}
	if r.Op != "" {
		words = append(words, "_op="+r.Op)
	}
	if r.IndexKey != "" {
		words = append(words, "in gsi1")
	}
	return strings.Join(words, " ")
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// expiry returns how long an item has left.
func expiry(ttl int64, now time.Time) string {
	if ttl == 0 {
		return ""
	}
	left := time.Unix(ttl, 0).Sub(now)
	days := left / (24 * time.Hour)
	return fmt.Sprintf("in %d d %d h", days, (left-days*24*time.Hour)/time.Hour)
}

// instant formats a time for the report.
func instant(t time.Time) string { return t.Format(time.DateTime) }

// names returns the sorted names of employees.
func names(all []Employee) []string {
	out := make([]string, len(all))
	for i, e := range all {
		out[i] = cmp.Or(e.DisplayName, e.EmployeeID)
	}
	slices.Sort(out)
	return out
}
