package proof_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Dropping is a series that drops late events.
type Dropping struct {
	_ entity.Key        `name:"Dropping" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at"`
	Reading
}

// Recording is a series that keeps late events.
type Recording struct {
	_ entity.Key        `name:"Recording" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at" late:"record"`
	Reading
}

// Spread is a Recording whose events are in three partitions.
type Spread struct {
	_ entity.Key        `name:"Spread" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at" late:"record" shards:"3"`
	Reading
}

// Alone is a series without a current item.
type Alone struct {
	_ entity.Key        `name:"Alone" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at" current:"none"`
	Reading
}

// Identified is a series whose events have an id.
type Identified struct {
	_     entity.Key        `name:"Identified" pk:"$#{id}" sk:"$"`
	_     timeseries.Events `orderBy:"at" id:"event"`
	Event string            `dynamodbav:"event"`
	Reading
}

// Several is an Identified that keeps late events, in three partitions.
type Several struct {
	_     entity.Key        `name:"Several" pk:"$#{id}" sk:"$"`
	_     timeseries.Events `orderBy:"at" id:"event" late:"record" shards:"3"`
	Event string            `dynamodbav:"event"`
	Reading
}

// Enriched is a Recording whose current item has more than what events report.
type Enriched struct {
	_ entity.Key        `name:"Enriched" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at" late:"record"`
	C string            `dynamodbav:"c,omitempty"`
	Reading
}

// Reading is an event of all.
type Reading struct {
	ID string  `dynamodbav:"id"`
	At int64   `dynamodbav:"at"`
	A  int     `dynamodbav:"a" entity:"append"`
	B  *string `dynamodbav:"b,omitempty" entity:"append"`
}

// times is how many different times the events of a history have. Where events have an id, three of these are one time.
const times = 7

// ids are the ids of the events of one time, in order. They have what separates the parts of keys.
var ids = []string{"#e#", "a", "a#b"}

// fields are the fields of an event, by a function for each; event is nil without an id, and more without enrichment.
type fields[T any] struct {
	reading func(*T) *Reading
	event   func(*T) *string
	more    func(*T) *string
}

func (x fields[T]) build(id string, f fact) (v T) {
	*x.reading(&v) = Reading{ID: id, At: int64(f.at), A: f.a}
	if x.event != nil && f.at > 0 {
		x.reading(&v).At = int64(f.at-1)/3 + 1
		*x.event(&v) = ids[(f.at-1)%3]
	}
	if f.b != "" {
		x.reading(&v).B = &f.b
	}
	return v
}

func (x fields[T]) read(v T) fact {
	r := x.reading(&v)
	f := fact{at: int(r.At), a: r.A}
	if x.event != nil && f.at > 0 {
		f.at = 3*(f.at-1) + slices.Index(ids, *x.event(&v)) + 1
	}
	if r.B != nil {
		f.b = *r.B
	}
	if x.more != nil {
		f.c = *x.more(&v)
	}
	return f
}

// fact is what an event reports; b is "" for nothing. c is the enrichment of a current item.
type fact struct {
	at, a int
	b, c  string
}

func (f fact) String() string { return fmt.Sprintf("%d:%d%s%s", f.at, f.a, f.b, f.c) }

// seriesState is the current item, at 0 for none, and the stored events by their time.
type seriesState struct {
	current fact
	events  [times + 1]fact
}

// seriesIn is append of one or several events, remove of one, update of the enrichment, get or history.
type seriesIn struct {
	verb string
	list []fact
}

func (in seriesIn) String() string { return fmt.Sprintf("%s %v", in.verb, in.list) }

// seriesOut is what became of each event; or the current item; or the events.
type seriesOut struct {
	reasons string
	facts   string
	behind  bool // the current item of a result was before its event
}

func (o seriesOut) String() string { return o.reasons + o.facts }

// Verbs of the games. A history of several partitions is not read at one moment, and neither are the events of an AppendAll without
// a current item stored in one order.
var (
	seriesVerbs = []string{"append", "append", "append", "appendall", "get", "history"}
	spreadVerbs = []string{"append", "append", "append", "appendall", "get"}
	aloneVerbs  = []string{"append", "append", "history"}
	removeVerbs = []string{"append", "append", "remove", "remove", "get", "history"}
	enrichVerbs = []string{"append", "append", "appendall", "update", "remove", "remove", "get"}
)

// lateness is what a series does with a late event.
type lateness int

const (
	dropsLate lateness = iota
	recordsLate
	knowsNone // without a current item no event is late
)

// seriesGame is the game of a series.
func seriesGame[T any](name string, late lateness, verbs []string, x fields[T]) game[seriesState, seriesIn, seriesOut] {
	return game[seriesState, seriesIn, seriesOut]{
		name: name,
		open: func(db *entity.DB, id string) (func(context.Context, seriesIn) (seriesOut, error), error) {
			s, err := timeseries.New[T](db)
			if err != nil {
				return nil, err
			}
			calm(s)
			return func(ctx context.Context, in seriesIn) (seriesOut, error) {
				return playSeries(ctx, s, id, x, in, slices.Contains(verbs, "remove"))
			}, nil
		},
		choose: func(rng *rand.Rand, _ *notes) seriesIn {
			event := func(at int) fact {
				f := fact{at: at, a: rng.IntN(2)}
				if rng.IntN(2) == 0 {
					f.b = string(rune('p' + rng.IntN(2)))
				}
				return f
			}
			in := seriesIn{verb: verbs[rng.IntN(len(verbs))]}
			switch in.verb {
			case "append":
				in.list = []fact{event(1 + rng.IntN(times))}
			case "update":
				in.list = []fact{{c: []string{"P", "Q"}[rng.IntN(2)]}}
			case "remove":
				in.list = []fact{{at: 1 + rng.IntN(times)}}
			case "appendall":
				for _, at := range rng.Perm(times)[:2+rng.IntN(3)] {
					in.list = append(in.list, event(at+1))
				}
			}
			return in
		},
		reads: func(in seriesIn) bool { return in.list == nil },
		step:  func(s seriesState, in seriesIn) (seriesState, seriesOut, outcome) { return stepSeries(s, in, late) },
		fits: func(want, got said[seriesOut]) bool {
			return want.class == got.class && want.out == got.out
		},
		show: func(s seriesState) string { return fmt.Sprintf("%v of %s", s.current, s.stored()) },
		later: func(e entry[seriesIn, seriesOut]) int {
			if e.said.out.reasons == "applied" && late != knowsNone && !slices.Contains(verbs, "remove") {
				return e.in.list[0].at // older ones would be dropped after newer ones
			}
			return times + 1
		},
		split: func(e entry[seriesIn, seriesOut]) []entry[seriesIn, seriesOut] {
			if e.said.out.reasons == "conflict" { // nothing was done
				return nil
			}
			all := copiesOf(e, slices.Contains(verbs, "remove"))
			if len(e.in.list) < 2 {
				return append(all, wrote(e))
			}
			reasons := strings.Split(e.said.out.reasons, ",")
			for i, f := range e.in.list { // each is decided on its own, some time during the call
				one := e
				one.in = seriesIn{verb: "append", list: []fact{f}}
				one.said.out = seriesOut{reasons: reasons[i], behind: e.said.out.behind}
				if reasons[i] != "undecided" {
					one.said.outcome = outcome{}
				}
				all = append(all, wrote(one))
			}
			return all
		},
	}
}

// wrote returns e, without the step at which it wrote if the event of an append was not stored.
func wrote(e entry[seriesIn, seriesOut]) entry[seriesIn, seriesOut] {
	switch timeseries.Reason(e.said.out.reasons) {
	case timeseries.Older, timeseries.Duplicate, timeseries.Collision:
		e.wrote = 0
	}
	return e
}

// copiesOf returns an append for each copy of e's request that was refused and is applied when it comes again, after a removal: by
// docs/production.md it is an append then. Of several events it is not known which ones were left in the request.
func copiesOf(e entry[seriesIn, seriesOut], removes bool) (all []entry[seriesIn, seriesOut]) {
	if !removes || !strings.HasPrefix(e.in.verb, "append") {
		return nil
	}
	stored := e.said.out.reasons == "applied" || e.said.out.reasons == string(timeseries.LateRecorded)
	for _, step := range e.belated {
		if stored && 2*step <= e.end {
			continue // what e says
		}
		for _, f := range e.in.list {
			one := e
			one.in, one.said = seriesIn{verb: "append", list: []fact{f}}, said[seriesOut]{outcome: outcome{unsure: true}}
			one.call, one.end, one.wrote, one.delivered = 2*step-1, 2*step, step, len(e.in.list) == 1
			all = append(all, one)
		}
	}
	return all
}

func playSeries[T any](ctx context.Context, s *timeseries.Series[T], id string, x fields[T], in seriesIn, removes bool) (out seriesOut, err error) {
	switch in.verb {
	case "get":
		v, err := s.Get(ctx, x.build(id, fact{}), entity.Consistent())
		if errors.Is(err, entity.ErrNotFound) {
			return seriesOut{facts: fact{}.String()}, nil
		}
		return seriesOut{facts: x.read(v).String()}, err
	case "history":
		all, err := s.History(x.build(id, fact{})).Collect(ctx)
		var state seriesState
		for _, v := range all {
			state.events[x.read(v).at] = x.read(v)
		}
		return seriesOut{facts: state.stored()}, err
	}
	var results []timeseries.Result[T]
	if in.verb == "update" {
		_, err := s.Update(ctx, x.build(id, fact{}), entity.Set(x.more(entity.Fields[T]()), in.list[0].c))
		if errors.Is(err, entity.ErrNotFound) && !entity.IsAmbiguous(err) {
			return seriesOut{reasons: "absent"}, nil
		}
		return seriesOut{reasons: "updated"}, err
	}
	if in.verb == "remove" {
		err := s.Remove(ctx, x.build(id, in.list[0]))
		if errors.Is(err, entity.ErrNotFound) && !entity.IsAmbiguous(err) {
			return seriesOut{reasons: "absent"}, nil
		}
		if errors.Is(err, entity.ErrConflict) && !entity.IsAmbiguous(err) { // others wrote in between each time
			return seriesOut{reasons: "conflict"}, nil
		}
		return seriesOut{reasons: "removed"}, err
	}
	if in.verb == "append" {
		results = make([]timeseries.Result[T], 1)
		results[0], err = s.Append(ctx, x.build(id, in.list[0]))
	} else {
		evs := make([]T, len(in.list))
		for i, f := range in.list {
			evs[i] = x.build(id, f)
		}
		results, err = s.AppendAll(ctx, evs)
	}
	var reasons []string
	for i, r := range results {
		reason := string(r.Reason)
		if r.Applied {
			reason = "applied"
		}
		if reason == "" {
			reason = "undecided"
		}
		reasons = append(reasons, reason)
		if current, err := r.Current(ctx); err == nil {
			known := x.read(current).at
			out.behind = out.behind || known < in.list[i].at && r.Reason != timeseries.Collision && !removes
		}
	}
	out.reasons = strings.Join(reasons, ",")
	return out, err
}

func (s seriesState) stored() string {
	var all []string
	for _, f := range s.events {
		if f.at > 0 {
			all = append(all, f.String())
		}
	}
	return strings.Join(all, " ")
}

// without is the state after an event was removed: what the current item had of it is what the newest others report.
func (s seriesState) without(at int) seriesState {
	gone, was := s.events[at], s.current
	given := gone.b != "" && gone.b == was.b
	s.events[at] = fact{}
	if was.at == at {
		s.current = fact{b: was.b, c: was.c}
	}
	if given {
		s.current.b = ""
	}
	for _, f := range s.events {
		if f.at > 0 && was.at == at {
			s.current.at, s.current.a = f.at, f.a
		}
		if f.b != "" && given {
			s.current.b = f.b
		}
	}
	if s.current.at == 0 { // there is no event
		s.current = fact{c: was.c}
	}
	return s
}

// stepSeries is what docs/series.md says of Append, Update, Remove, Get and History.
func stepSeries(s seriesState, in seriesIn, late lateness) (seriesState, seriesOut, outcome) {
	switch in.verb {
	case "get":
		return s, seriesOut{facts: s.current.String()}, outcome{}
	case "history":
		return s, seriesOut{facts: s.stored()}, outcome{}
	}
	f := in.list[0]
	if in.verb == "update" {
		if s.current == (fact{}) {
			return s, seriesOut{reasons: "absent"}, outcome{}
		}
		s.current.c = f.c
		return s, seriesOut{reasons: "updated"}, outcome{}
	}
	if in.verb == "remove" {
		if s.events[f.at].at == 0 {
			return s, seriesOut{reasons: "absent"}, outcome{}
		}
		return s.without(f.at), seriesOut{reasons: "removed"}, outcome{}
	}
	switch there := s.events[f.at]; {
	case there == f:
		return s, seriesOut{reasons: string(timeseries.Duplicate)}, outcome{}
	case there.at > 0:
		return s, seriesOut{reasons: string(timeseries.Collision)}, outcome{}
	case late == knowsNone:
		s.events[f.at] = f
		return s, seriesOut{reasons: "applied"}, outcome{}
	case f.at > s.current.at:
		s.events[f.at] = f
		if f.b == "" {
			f.b = s.current.b // not reported
		}
		f.c = s.current.c
		s.current = f
		return s, seriesOut{reasons: "applied"}, outcome{}
	case late == recordsLate:
		s.events[f.at] = f
		return s, seriesOut{reasons: string(timeseries.LateRecorded)}, outcome{}
	}
	return s, seriesOut{reasons: string(timeseries.Older)}, outcome{}
}
