package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
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
	r.line("After each step the command dynastrata shows what is stored of a record: its current item, its versions,")
	r.line("its deleted copies, and the sentinels that claim its address. It never prints unique values.")
	r.line("A call that went well is a line with \"ok\". Errors are those that the story asks for, each of the class that it must be.")
}

// plan prints what an operation will send, without sending it.
func (r report) plan(op fmt.Stringer) {
	for line := range strings.Lines(op.String()) {
		r.line("%s", strings.TrimSuffix(line, "\n"))
	}
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
