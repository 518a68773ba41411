package studio

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// plot shows a numeric attribute of events.
type plot struct {
	Name          string
	Width, Height int
	Line          string // points of a polyline
	Points        []point
	X, Y          []tick
	Left, Bottom  float64
	Text          string
	Late, Repeats int
}

const (
	plotHeight = 280
	plotLeft   = 76
	plotTop    = 16
	plotBottom = plotHeight - 34
)

// plotOf plots the events that have a number; nil without such events. Rows are newest first.
func plotOf(rows []stateRow, name string) *plot {
	p := &plot{Name: name, Width: pictureWidth, Height: plotHeight, Left: plotLeft, Bottom: plotBottom}
	var some []stateRow
	for i := len(rows) - 1; i >= 0; i-- {
		if n, ok := rows[i].Numbers[name]; ok && !rows[i].At.IsZero() && !math.IsInf(n, 0) && !math.IsNaN(n) {
			some = append(some, rows[i])
		}
	}
	if len(some) == 0 {
		return nil
	}
	lo, hi := some[0].Numbers[name], some[0].Numbers[name]
	for _, x := range some {
		lo, hi = min(lo, x.Numbers[name]), max(hi, x.Numbers[name])
	}
	step := nice((hi - lo) / 4)
	bottom, top := math.Floor(lo/step)*step, math.Ceil(hi/step)*step
	if bottom == top {
		bottom, top = bottom-step, top+step
	}
	from, to := some[0].At, some[len(some)-1].At
	span := max(to.Sub(from), time.Nanosecond)
	x := func(t time.Time) float64 {
		if from.Equal(to) {
			return (plotLeft + pictureWidth - rightMargin) / 2
		}
		return plotLeft + float64(t.Sub(from))/float64(span)*(pictureWidth-rightMargin-plotLeft)
	}
	y := func(n float64) float64 { return plotBottom - (n-bottom)/(top-bottom)*(plotBottom-plotTop) }
	var line strings.Builder
	for _, e := range some {
		n := e.Numbers[name]
		fmt.Fprintf(&line, "%.1f,%.1f ", x(e.At), y(n))
		p.Points = append(p.Points, point{X: x(e.At), Y: y(n), Class: class(e.State), Title: e.title() + ": " + number(n), Link: e.Link, Here: e.Here})
		if e.Late {
			p.Late++
		}
		if e.Repeats {
			p.Repeats++
		}
	}
	p.Line = strings.TrimSpace(line.String())
	for n := bottom; n <= top+step/2 && len(p.Y) < 12; n += step {
		p.Y = append(p.Y, tick{plotLeft - 8, y(n), number(n), true})
	}
	p.X = []tick{{x(from), plotHeight - 10, moment(from), false}}
	if !from.Equal(to) {
		p.X = append(p.X, tick{x(to), plotHeight - 10, moment(to), true})
	}
	p.Text = fmt.Sprintf("%s of %d events, between %s and %s", name, len(some), number(lo), number(hi))
	return p
}

// nice returns a step of 1, 2 or 5 times a power of ten that is not smaller.
func nice(step float64) float64 {
	if step <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, n := range []float64{1, 2, 5} {
		if n*power >= step {
			return n * power
		}
	}
	return 10 * power
}

func number(n float64) string { return strconv.FormatFloat(n, 'g', 6, 64) }
