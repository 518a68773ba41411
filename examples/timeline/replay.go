package main

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/timeline"
)

// replay is the view of users in memory: from what was accepted by until and, unless it is zero, happened by asOf.
func replay(chat []deed, until, asOf time.Time) (rows []timeline.Row[User, UserState]) {
	byUser := map[string]*timeline.Row[User, UserState]{}
	for _, d := range happened(chat, until, asOf) {
		row := byUser[d.user]
		if row == nil {
			row = &timeline.Row[User, UserState]{Key: User{d.user}, First: d.at}
			byUser[d.user] = row
		}
		switch d.event {
		case messageCreated:
			row.State.MessageCount++
			row.State.LastMessage, row.State.LastChannel = &d.text, &d.channel
		case messageRejected:
			row.State.RejectionCount++
		case messageDeleted:
			row.State.MessageCount--
		}
		row.State.LastEventAt, row.Last = &d.at, d.at
		row.Events++
		row.ExpiresAt = d.at.Add(365 * day)
	}
	for _, user := range slices.Sorted(maps.Keys(byUser)) {
		rows = append(rows, *byUser[user])
	}
	return rows
}

// happened returns the events in a window, in the order of their own time.
func happened(chat []deed, until, asOf time.Time) (all []deed) {
	for _, d := range chat {
		if d.event != "" && !d.accepted.After(until) && (asOf.IsZero() || !d.at.After(asOf)) {
			all = append(all, d)
		}
	}
	slices.SortStableFunc(all, func(a, b deed) int { return a.at.Compare(b.at) })
	return all
}

// eventsOf returns the lines of the log.
func eventsOf(chat []deed, until time.Time) (lines []string) {
	texts := map[string]deed{}
	for _, d := range chat {
		if d.event == messageCreated {
			texts[d.id] = d
		}
	}
	for _, d := range happened(chat, until, time.Time{}) {
		text := ""
		if d.event != messageRejected {
			text = texts[d.id].channel + ": " + texts[d.id].text
		}
		lines = append(lines, eventLine(d.at, d.event, d.user, d.id, text))
	}
	slices.Reverse(lines)
	return lines
}

// channelsOf returns the lines of the view of the next release.
func channelsOf(chat []deed, until time.Time) (lines []string) {
	counts := map[string]map[string]int{}
	for _, d := range happened(chat, until, time.Time{}) {
		if counts[d.user] == nil {
			counts[d.user] = map[string]int{}
		}
		if d.event == messageCreated {
			counts[d.user][d.channel]++
		}
	}
	for _, row := range replay(chat, until, time.Time{}) {
		lines = append(lines, userLine(row.Key, row.State, row.Events)+" "+channelText(counts[row.Key.UserID]))
	}
	return lines
}

// spansOf is the view of devices in memory.
func spansOf(fleet []Reading, asOf time.Time) (rows []timeline.Row[string, DeviceState]) {
	byDevice := map[string]*timeline.Row[string, DeviceState]{}
	for _, r := range inOrder(fleet) {
		at := time.UnixMilli(r.TimestampMS).UTC()
		if !asOf.IsZero() && at.After(asOf) {
			continue
		}
		row := byDevice[r.HardwareID]
		if row == nil {
			row = &timeline.Row[string, DeviceState]{Key: r.HardwareID, First: at, State: DeviceState{map[string]Span{}}}
			byDevice[r.HardwareID] = row
		}
		row.Last = at
		row.Events++
		for name, value := range r.Sensors {
			span, known := row.State.Sensors[name]
			if !known || value < span.Min {
				span.Min = value
			}
			if !known || value > span.Max {
				span.Max = value
			}
			span.Last = value
			row.State.Sensors[name] = span
		}
	}
	for _, id := range slices.Sorted(maps.Keys(byDevice)) {
		rows = append(rows, *byDevice[id])
	}
	return rows
}

// readingsOf returns the lines of a device's log, the newest first.
func readingsOf(fleet []Reading) (lines []string) {
	for _, r := range slices.Backward(inOrder(fleet)) {
		lines = append(lines, readingLine(r))
	}
	return lines
}

func inOrder(fleet []Reading) []Reading {
	return slices.SortedFunc(slices.Values(fleet), func(a, b Reading) int { return cmp.Compare(a.TimestampMS, b.TimestampMS) })
}

// of returns the readings of one device.
func of(fleet []Reading, id string) (all []Reading) {
	for _, r := range fleet {
		if r.HardwareID == id {
			all = append(all, r)
		}
	}
	return all
}
