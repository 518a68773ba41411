package studio

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// The picture of an item's life. Its axis has the order of time; long gaps are shortened, so that all points can be seen.
type picture struct {
	Width, Height int
	Bars          []bar
	Points        []point
	Ends          []point // expiries
	Ticks         []tick
	Now           float64
	AtX           float64 // of the time that was asked for; 0 for none
	Lanes         []tick
	Text          string // the picture in words
}

type bar struct {
	X, Y, Width, Height float64
	Class, Title, Link  string
	Here                bool
	Label               string
}

type point struct {
	X, Y               float64
	Class, Title, Link string
	Label              string
	Here               bool
}

type tick struct {
	X, Y float64
	Text string
	Last bool // the text ends at X
}

const (
	pictureWidth = 960
	leftMargin   = 86
	rightMargin  = 24
	laneStates   = 26
	laneEvents   = 80
	laneEnds     = 118
	axisY        = 148
)

// axis places times.
type axis struct {
	times []time.Time
	xs    []float64
}

// newAxis spreads times between two places: a gap that is longer gets more room, by its logarithm.
func newAxis(times []time.Time, from, to float64) axis {
	times = slices.Clone(times)
	slices.SortFunc(times, time.Time.Compare)
	times = slices.CompactFunc(times, time.Time.Equal)
	least := time.Duration(math.MaxInt64)
	for i := 1; i < len(times); i++ {
		least = min(least, times[i].Sub(times[i-1]))
	}
	total := 0.0
	at := make([]float64, len(times))
	for i := 1; i < len(times); i++ {
		total += min(1+math.Log2(float64(times[i].Sub(times[i-1]))/float64(least))/4, 4)
		at[i] = total
	}
	for i := range at {
		if total > 0 {
			at[i] = from + at[i]/total*(to-from)
		} else {
			at[i] = (from + to) / 2
		}
	}
	return axis{times, at}
}

// x returns the place of a time; between two of the axis, by proportion.
func (a axis) x(t time.Time) float64 {
	i, exact := slices.BinarySearchFunc(a.times, t, time.Time.Compare)
	switch {
	case exact:
		return a.xs[i]
	case i == 0:
		return a.xs[0]
	case i == len(a.times):
		return a.xs[i-1]
	}
	part := float64(t.Sub(a.times[i-1])) / float64(a.times[i].Sub(a.times[i-1]))
	return a.xs[i-1] + part*(a.xs[i]-a.xs[i-1])
}

// strataOf draws states, newest first. It returns nil if no time is known.
func strataOf(rows []stateRow, now, at time.Time) *picture {
	var times []time.Time
	ends := map[string][]stateRow{} // by kind, those that expire
	for _, x := range rows {
		if !x.At.IsZero() {
			times = append(times, x.At)
		}
		if !x.Expires.IsZero() {
			ends[x.Kind] = append(ends[x.Kind], x)
		}
	}
	if len(times) == 0 {
		return nil
	}
	times = append(times, now)
	if !at.IsZero() {
		times = append(times, at)
	}
	shown := expiries(ends)
	for _, x := range shown {
		times = append(times, x.Expires)
	}
	a := newAxis(times, leftMargin, pictureWidth-rightMargin)
	p := &picture{Width: pictureWidth, Height: axisY + 28, Now: a.x(now)}
	if !at.IsZero() {
		p.AtX = a.x(at)
	}
	p.states(a, rows, now)
	if len(p.Bars) > 0 {
		p.Lanes = append(p.Lanes, tick{8, laneStates + 19, "states", false})
	}
	if slices.ContainsFunc(rows, func(x stateRow) bool { return x.Kind == "event" }) {
		p.Lanes = append(p.Lanes, tick{8, laneEvents + 4, "events", false})
	}
	if len(shown) > 0 {
		p.Lanes = append(p.Lanes, tick{8, laneEnds + 4, "expire", false})
	}
	for _, x := range shown {
		p.Ends = append(p.Ends, point{X: a.x(x.Expires), Y: laneEnds, Class: class(x.State), Title: x.title() + " expires " + moment(x.Expires), Link: x.Link})
	}
	p.ticks(a, now)
	p.Text = fmt.Sprintf("%d states from %s to %s", len(rows), moment(times[0]), moment(now))
	return p
}

// expiries returns the first and the last that expires of each kind.
func expiries(ends map[string][]stateRow) (all []stateRow) {
	for _, some := range ends {
		by := func(x, y stateRow) int { return x.Expires.Compare(y.Expires) }
		all = append(all, slices.MinFunc(some, by))
		if last := slices.MaxFunc(some, by); !last.Expires.Equal(all[len(all)-1].Expires) {
			all = append(all, last)
		}
	}
	slices.SortFunc(all, func(x, y stateRow) int { return cmp.Or(x.Expires.Compare(y.Expires), cmp.Compare(x.id(), y.id())) })
	return all
}

// states draws a bar for the time in which a state was the item, and a point for each event.
func (p *picture) states(a axis, rows []stateRow, now time.Time) {
	until := now
	for _, x := range rows {
		if x.At.IsZero() {
			continue
		}
		if x.Kind == "event" {
			p.Points = append(p.Points, point{X: a.x(x.At), Y: laneEvents, Class: class(x.State), Title: x.title(), Link: x.Link, Here: x.Here})
			continue
		}
		from, to := a.x(x.At), a.x(until)
		b := bar{X: from, Y: laneStates, Width: max(to-from, 3), Height: 30, Class: class(x.State), Title: x.title(), Link: x.Link, Here: x.Here}
		switch {
		case x.Kind == "deleted copy" || x.Ended:
			b.Label = "deleted"
		case x.Restored:
			b.Label = "restored"
		case x.Version > 0:
			b.Label = fmt.Sprint(x.Version)
		}
		if b.Width < float64(8*len(b.Label)+4) {
			b.Label = ""
		}
		p.Bars = append(p.Bars, b)
		until = x.At
	}
	slices.Reverse(p.Bars) // in the order of time, as the keyboard goes
	slices.Reverse(p.Points)
}

// ticks writes times under the axis where they have room.
func (p *picture) ticks(a axis, now time.Time) {
	const room = 128
	last := math.Inf(-1)
	nowX := a.x(now)
	for i, t := range a.times {
		x := a.xs[i]
		if t.Equal(now) || x-last < room || math.Abs(x-nowX) < room && x < nowX || x > nowX && x-nowX < 40 {
			continue
		}
		end := x > pictureWidth-room
		if end && x-last < 2*room-20 {
			continue
		}
		p.Ticks, last = append(p.Ticks, tick{x, axisY + 18, moment(t), end}), x
	}
}

// class is the style of a state.
func class(x State) string {
	switch {
	case x.Ended || x.Kind == "deleted copy":
		return "deleted"
	case x.Late:
		return "event late"
	case x.Repeats:
		return "event repeats"
	}
	return x.Kind
}

// title says what a state is, for a pointer and a screen reader.
func (x stateRow) title() string {
	text := x.Kind
	if x.Name != "" {
		text += " " + x.Name
	}
	if !x.At.IsZero() && x.Kind != "event" {
		text += ", " + moment(x.At)
	}
	switch {
	case x.Late:
		text += ", late"
	case x.Repeats:
		text += ", repeats the one before"
	case x.Ended:
		text += ", deleted"
	case x.Restored:
		text += ", restored"
	}
	return text
}
