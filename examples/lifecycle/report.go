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

// report prints what happens, for a person to follow.
type report struct{ out io.Writer }

func (r report) title(format string, args ...any) { fmt.Fprintf(r.out, "\n"+format+"\n", args...) }

func (r report) line(format string, args ...any) { fmt.Fprintf(r.out, "  "+format+"\n", args...) }

func (r report) legend() {
	r.line("The tables show what is stored of a record. Its current item has the sort key S, and everything else that belongs")
	r.line("to it lies behind S in the same partition. Sentinels claim values; each is a partition of its own.")
}

// plan prints what an operation is going to send; it knows it without sending.
func (r report) plan(op fmt.Stringer) { r.line("%s", strings.ReplaceAll(op.String(), "\n", "\n  ")) }

// rows prints items as they are stored.
func (r report) rows(all rows, now time.Time) {
	if len(all) == 0 {
		r.line("(nothing is stored)")
		return
	}
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "  "+strings.Join([]string{"record", "kind", "sort key", "version", "email", "displayName", "department", "", "expires"}, "\t"))
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

// marks are the remarks that the library has put on an item.
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

// expiry says how long an item has left.
func expiry(ttl int64, now time.Time) string {
	if ttl == 0 {
		return ""
	}
	left := time.Unix(ttl, 0).Sub(now)
	days := left / (24 * time.Hour)
	return fmt.Sprintf("in %dd%dh", days, (left-days*24*time.Hour)/time.Hour)
}

// instant is a time as the report prints it.
func instant(t time.Time) string { return t.Format(time.DateTime) }

// names are the names of employees, sorted.
func names(all []Employee) []string {
	out := make([]string, len(all))
	for i, e := range all {
		out[i] = cmp.Or(e.DisplayName, e.EmployeeID)
	}
	slices.Sort(out)
	return out
}
