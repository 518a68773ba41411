package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/dynastrata/dynastrata/timeseries"
)

// report prints what a simulation does.
type report struct{ out io.Writer }

func (r report) title(format string, args ...any) { fmt.Fprintf(r.out, "\n"+format+"\n", args...) }

// line prints a line, and breaks it if it is too long for a screen.
func (r report) line(format string, args ...any) {
	fmt.Fprintln(r.out, fold("  "+fmt.Sprintf(format, args...)))
}

// table prints rows of cells in columns.
func (r report) table(rows ...[]string) {
	w := tabwriter.NewWriter(r.out, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, "  "+strings.Join(row, "\t"))
	}
	w.Flush()
}

// answers counts the results that the devices got, for each device and in total.
func (r report) answers(fleet []*device, receipts func(*device) []receipt) {
	reasons := []timeseries.Reason{"", timeseries.Older, timeseries.Duplicate, timeseries.Collision}
	total := map[timeseries.Reason]int{}
	row := func(name, clock string, count map[timeseries.Reason]int) []string {
		cells, sent := []string{}, 0
		for _, reason := range reasons {
			cells = append(cells, strconv.Itoa(count[reason]))
			sent += count[reason]
		}
		return append([]string{name, clock, strconv.Itoa(sent)}, cells...)
	}
	rows := [][]string{{"device", "clock", "sent", "applied", "older", "duplicate", "collision"}}
	for _, d := range fleet {
		count := map[timeseries.Reason]int{}
		for _, x := range receipts(d) {
			count[x.answer.Reason]++
			total[x.answer.Reason]++
		}
		rows = append(rows, row(d.name(), d.clockState(), count))
	}
	r.table(append(rows, row("total", "", total))...)
}

// clockState describes how wrong the device's clock was.
func (d *device) clockState() string {
	switch seconds := d.skew.Seconds(); {
	case seconds > 0:
		return fmt.Sprintf("%.0f s fast until report %d", seconds, d.corrected)
	case seconds < 0:
		return fmt.Sprintf("%.0f s slow until report %d", -seconds, d.corrected)
	}
	return "right"
}

// items prints states of one item side by side.
func (r report) items(states []string, items ...Telemetry) {
	rows := [][]string{append([]string{""}, states...)}
	attribute := func(name string, text func(Telemetry) string) {
		row := []string{name}
		for _, it := range items {
			row = append(row, text(it))
		}
		rows = append(rows, row)
	}
	attribute("timestamp", func(it Telemetry) string { return clock(it.Timestamp) })
	attribute("location", func(it Telemetry) string { return given(it.Location) })
	attribute("alert", func(it Telemetry) string { return given(it.Alert) })
	attribute("gpio", func(it Telemetry) string { return given(it.GPIO) })
	attribute("accountId", func(it Telemetry) string { return filled(it.AccountID) })
	attribute("diagnostics", func(it Telemetry) string { return filled(it.Diagnostics) })
	attribute("createdAt", func(it Telemetry) string { return it.CreatedAt.Format(time.RFC3339Nano) })
	r.table(rows...)
}

// events prints a part of a history.
func (r report) events(events []Telemetry) {
	rows := [][]string{{"timestamp", "location", "alert", "gpio"}}
	for _, ev := range events {
		rows = append(rows, []string{clock(ev.Timestamp), given(ev.Location), given(ev.Alert), given(ev.GPIO)})
	}
	r.table(rows...)
}

// plans prints what operations and queries will send, without sending it.
func (r report) plans(plans ...fmt.Stringer) {
	for _, p := range plans {
		for line := range strings.Lines(p.String()) {
			r.line("%s", strings.TrimSuffix(line, "\n"))
		}
	}
}

// legend explains the columns of answers.
func (r report) legend() {
	r.line("sent = applied + older + duplicate + collision, and an answer each:")
	r.line("  applied    it is stored, and the current item has what it reports")
	r.line("  older      the current item is newer; this entity drops late events")
	r.line("  duplicate  the same event was stored before: a retry")
	r.line("  collision  another event of the same second was stored before; the first one stays")
}

// costs prints what each verb cost.
func (r report) costs(lines []cost) {
	units := func(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
	total := cost{costKey: costKey{verb: "total"}}
	rows := [][]string{{"verb", "entity", "calls", "requests", "read units", "write units"}}
	row := func(c cost) {
		rows = append(rows, []string{c.verb, c.entity, strconv.Itoa(c.calls), strconv.Itoa(c.requests), units(c.read), units(c.write)})
	}
	for _, c := range lines {
		row(c)
		total.calls, total.requests = total.calls+c.calls, total.requests+c.requests
		total.read, total.write = total.read+c.read, total.write+c.write
	}
	row(total)
	r.table(rows...)
	r.line("Write units of transactions are computed: two for each action of a transaction that was applied, since all items are")
	r.line("smaller than 1 KB. DynamoDB Local names too few for them: it counts actions that cost the same only once. All other")
	r.line("units are those that the answers name. What a refused write costs no answer names; it is left out.")
}

// String formats an item in one line, without absent attributes.
func (it Telemetry) String() string {
	parts := []string{clock(it.Timestamp)}
	add := func(name, text string) {
		if text != nothing {
			parts = append(parts, name+"="+text)
		}
	}
	add("location", given(it.Location))
	add("alert", given(it.Alert))
	add("gpio", given(it.GPIO))
	add("accountId", filled(it.AccountID))
	add("diagnostics", filled(it.Diagnostics))
	if !it.CreatedAt.IsZero() {
		add("createdAt", it.CreatedAt.Format(time.RFC3339Nano))
	}
	return strings.Join(parts, " ")
}

// nothing stands for an attribute that is absent.
const nothing = "–"

func given[V any](v *V) string {
	if v == nil {
		return nothing
	}
	return fmt.Sprint(*v)
}

func filled(s string) string {
	if s == "" {
		return nothing
	}
	return s
}

// clock formats the time of day of an event.
func clock(t time.Time) string { return t.Format(time.TimeOnly) }

func names(items []Telemetry) string {
	all := make([]string, len(items))
	for i, it := range items {
		all[i] = it.Channel + "/" + it.DeviceID
	}
	return strings.Join(all, ", ")
}
