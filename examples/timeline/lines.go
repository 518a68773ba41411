package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/timeline"
)

// What was seen is compared as text, line by line. A line holds a whole row or event.

func userLine(k User, s UserState, events int64) string {
	return fmt.Sprintf("%s: %d messages, %d rejections, last %s by %s at %s, %d events",
		k.UserID, s.MessageCount, s.RejectionCount, given(s.LastMessage), given(s.LastChannel), exact(s.LastEventAt), events)
}

func userLines(rows []timeline.Row[User, UserState]) (lines []string) {
	for _, r := range rows {
		lines = append(lines, userLine(r.Key, r.State, r.Events)+fmt.Sprintf(" from %s to %s, until %s", exact(&r.First), exact(&r.Last), exact(&r.ExpiresAt)))
	}
	return lines
}

// channelLines are the rows of the next release, with or without their new fields.
func channelLines(rows []timeline.Row[User, UserStateWithChannels], channels bool) (lines []string) {
	for _, r := range rows {
		line := userLine(r.Key, r.State.UserState, r.Events)
		if channels {
			line += " " + channelText(r.State.Channels)
		} else {
			line += fmt.Sprintf(" from %s to %s, until %s", exact(&r.First), exact(&r.Last), exact(&r.ExpiresAt))
		}
		lines = append(lines, line)
	}
	return lines
}

func channelText(counts map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(parts, ", ")
}

func eventLine(at time.Time, event, user, id, text string) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s/%s %s", exact(&at), event, user, id, text))
}

// eventLines are the events of a log, whose payloads have different types.
func eventLines(events []timeline.Entry) (lines []string) {
	for _, e := range events {
		switch p := e.Payload.(type) {
		case Message:
			lines = append(lines, eventLine(e.At, e.Name, p.UserID, p.MessageID, p.Channel+": "+p.Message))
		case Verdict:
			lines = append(lines, eventLine(e.At, e.Name, p.UserID, p.MessageID, ""))
		default:
			lines = append(lines, fmt.Sprintf("%T", p))
		}
	}
	return lines
}

func deviceLines(rows []timeline.Row[string, DeviceState]) (lines []string) {
	for _, r := range rows {
		line := fmt.Sprintf("%s: %d events from %s to %s", r.Key, r.Events, exact(&r.First), exact(&r.Last))
		for _, name := range slices.Sorted(maps.Keys(r.State.Sensors)) {
			line += fmt.Sprintf(", %s %s", name, r.State.Sensors[name])
		}
		lines = append(lines, line)
	}
	return lines
}

func (s Span) String() string { return fmt.Sprintf("%.2f…%.2f last %.2f", s.Min, s.Max, s.Last) }

func readingLine(r Reading) string {
	at := time.UnixMilli(r.TimestampMS).UTC()
	line := exact(&at) + " " + r.BatchID[strings.LastIndex(r.BatchID, "_")+1:]
	for _, name := range slices.Sorted(maps.Keys(r.Sensors)) {
		line += fmt.Sprintf(" %s=%.2f", name, r.Sensors[name])
	}
	return line
}

func readingLines(events []timeline.Entry) (lines []string) {
	for _, e := range events {
		lines = append(lines, readingLine(e.Payload.(Reading)))
	}
	return lines
}

// exact formats a time in full.
func exact(t *time.Time) string {
	if t == nil {
		return nothing
	}
	return t.Format(time.RFC3339Nano)
}

// instant formats a time for the report.
func instant(t time.Time) string { return t.Format("2006-01-02 15:04") }

// nothing stands for an absent value.
const nothing = "–"

func given(s *string) string {
	if s == nil {
		return nothing
	}
	return *s
}
