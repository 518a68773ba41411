package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/dynastrata/dynastrata/timeline"
)

// report prints what a story does.
type report struct{ out io.Writer }

func (r report) title(format string, args ...any) { fmt.Fprintf(r.out, "\n"+format+"\n", args...) }

func (r report) line(format string, args ...any) { fmt.Fprintf(r.out, "  "+format+"\n", args...) }

// legend explains what is printed for every build.
func (r report) legend() {
	r.line("A line of \"meta\" says what rows are worth:")
	r.line("  rebuild_status    pending: never built; in_progress: being built, the rows are older ones; complete; stale")
	r.line("  rebuild_progress  the part of the sources that was read; the bar shows it when it changes")
	r.line("  history_complete  every event since the first one is in the rows, as far as the sources can prove it")
	r.line("A line of \"events\" says what a build did: of those read, the others count for no row or have no handler.")
}

// table prints rows of cells in columns.
func (r report) table(rows ...[]string) {
	w := tabwriter.NewWriter(r.out, 0, 0, 3, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, "  "+strings.Join(row, "\t"))
	}
	w.Flush()
}

// meta prints how far rows can be trusted.
func (r report) meta(m timeline.Meta) {
	progress := "unknown"
	if m.RebuildProgress != nil {
		progress = fmt.Sprintf("%.2f", *m.RebuildProgress)
	}
	r.line("meta: rebuild_status=%s rebuild_progress=%s history_complete=%t no_gap_seen=%t rows=%d", m.RebuildStatus, progress, m.HistoryComplete, m.NoGapSeen, m.Rows)
}

func (r report) counters(c timeline.Counters) {
	r.line("events: %d read, %d folded, %d without a handler, %d from an earlier payload version", c.Scanned, c.Folded, c.Unhandled, c.Upgraded)
}

// users prints the rows of the chat.
func (r report) users(rows []timeline.Row[User, UserState]) {
	lines := [][]string{{"user_id", "message_count", "rejection_count", "last_message", "last_channel", "last_event_at"}}
	for _, row := range rows {
		s := row.State
		lines = append(lines, []string{
			row.Key.UserID, strconv.Itoa(s.MessageCount), strconv.Itoa(s.RejectionCount), given(s.LastMessage), given(s.LastChannel), instant(*s.LastEventAt),
		})
	}
	r.table(lines...)
}

// differences prints where two sets of rows differ.
func (r report) differences(happened, known []timeline.Row[User, UserState]) {
	lines := [][]string{{"user_id", "rejections by then", "known then"}}
	for i, row := range happened {
		lines = append(lines, []string{row.Key.UserID, strconv.Itoa(row.State.RejectionCount), strconv.Itoa(known[i].State.RejectionCount)})
	}
	r.table(lines...)
}

// channels prints the rows of the next release.
func (r report) channels(rows []timeline.Row[User, UserStateWithChannels]) {
	lines := [][]string{{"user_id", "message_count", "channels"}}
	for _, row := range rows {
		lines = append(lines, []string{row.Key.UserID, strconv.Itoa(row.State.MessageCount), channelText(row.State.Channels)})
	}
	r.table(lines...)
}

// events prints the first events of a page.
func (r report) events(events []timeline.Entry, most int) { r.first(eventLines(events), most) }

// devices prints the rows of devices.
func (r report) devices(rows []timeline.Row[string, DeviceState]) {
	lines := [][]string{{"hardware_id", "readings", "last", "temperature", "humidity"}}
	for _, row := range rows {
		s := row.State.Sensors
		lines = append(lines, []string{
			row.Key, strconv.FormatInt(row.Events, 10), instant(row.Last), s["bme280_temp_c"].String(), s["humidity_pct"].String(),
		})
	}
	r.table(lines...)
}

// readings prints a page of readings.
func (r report) readings(events []timeline.Entry, most int) {
	r.line("a page of %d:", len(events))
	r.first(readingLines(events), most)
}

// first prints the first lines, and how many more there are.
func (r report) first(lines []string, most int) {
	for _, line := range lines[:min(most, len(lines))] {
		r.line("  %s", line)
	}
	if more := len(lines) - most; more > 0 {
		r.line("  … and %d more", more)
	}
}

// bar draws the progress of a build.
type bar struct {
	report report
	drawn  []float64
}

func (r report) bar() *bar { return &bar{report: r} }

const width = 40

// draw prints progress; a build reports it one call at a time.
func (b *bar) draw(m timeline.Meta) {
	p := m.RebuildProgress
	if p == nil || len(b.drawn) > 0 && b.drawn[len(b.drawn)-1] == *p {
		return
	}
	b.drawn = append(b.drawn, *p)
	done := int(*p * width)
	b.report.line("[%s%s] %3.0f%%", strings.Repeat("#", done), strings.Repeat("-", width-done), *p*100)
}

// falls returns the places where progress went back.
func (b *bar) falls() (lines []string) {
	for i := 1; i < len(b.drawn); i++ {
		if b.drawn[i] < b.drawn[i-1] {
			lines = append(lines, fmt.Sprintf("from %.2f to %.2f", b.drawn[i-1], b.drawn[i]))
		}
	}
	return lines
}
