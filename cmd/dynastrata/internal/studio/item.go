package studio

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"time"
)

const (
	pageStates = 40  // of an item
	plotStates = 300 // events of a plot
	pageValues = 100 // attributes of a state
)

// itemView is what the page of an item shows.
type itemView struct {
	Life     Life
	Strata   *picture
	Plot     *plot
	Rows     []stateRow
	Shown    *State
	Before   string // the name of the state that Shown is compared with
	Hidden   int    // attributes that are left out
	All      string // link to the page with them
	At       string
	AtLink   string
	From, To string
	Numbers  []choice
	Fields   []Value // of forms
	Older    string
	Newest   string
	Browse   string // link to the partition
	Edit     string
	Restore  string
	Purge    string
	Revert   string // of the shown version
}

type stateRow struct {
	State
	Link string
	Here bool
}

// item shows the states of an item, and one of them.
func (s *Server) item(r *visit) (*view, error) {
	v := r.URL.Query()
	e, key, err := s.key(v)
	if err != nil {
		return nil, err
	}
	q := LifeQuestion{Entity: e.Name, Key: key, Limit: pageStates}
	number := v.Get("plot")
	for name, at := range map[string]*time.Time{"at": &q.At, "from": &q.From, "to": &q.To} {
		if *at, err = instant(v.Get(name)); err != nil {
			return nil, err
		}
	}
	if older := v.Get("older"); older != "" {
		if err := s.open("older", older, &q.Older); err != nil {
			return nil, err
		}
	}
	if e.Series {
		q.Limit = plotStates
	}
	life, err := s.data.Life(r.ctx, q)
	if err != nil {
		return nil, err
	}
	if len(life.States) == 0 && life.Partial == "" && q.Older == nil && q.From.IsZero() && q.To.IsZero() {
		return nil, ErrNotFound
	}
	x := itemView{Life: life, At: v.Get("at"), From: v.Get("from"), To: v.Get("to"), Fields: s.hiddenFields(e, key)}
	keep := []string{"at", x.At, "from", x.From, "to", x.To, "plot", number, "older", v.Get("older")}
	link := func(more ...string) string { return s.link("item", e, key, append(slices.Clone(keep), more...)...) }
	at := s.shown(&x, v.Get("state"))
	for i, state := range life.States {
		x.Rows = append(x.Rows, stateRow{state, link("state", state.id()) + "#state", i == at})
	}
	if x.Shown != nil && len(x.Shown.Values) > pageValues && v.Get("all") == "" {
		x.Hidden, x.All = len(x.Shown.Values)-pageValues, link("state", v.Get("state"), "all", "1")+"#state"
		x.Shown.Values = x.Shown.Values[:pageValues]
	}
	if x.Shown != nil {
		s.whole(x.Shown.Values)
		s.whole(x.Shown.Library)
		s.whole(x.Shown.Storage)
		for _, c := range x.Shown.Changed {
			s.wholeOf(c.Old)
			s.wholeOf(c.New)
		}
	}
	if life.AtState >= 0 {
		x.AtLink = x.Rows[life.AtState].Link
	}
	now := s.options.Clock()
	if e.Series {
		x.Numbers = numbers(e, life.States, number)
		for _, c := range x.Numbers {
			if c.Here {
				x.Plot = plotOf(x.Rows, c.Value)
			}
		}
	}
	x.Strata = strataOf(x.Rows, now, q.At)
	if life.Older != nil {
		x.Older = s.link("item", e, key, "older", s.seal("older", life.Older), "from", x.From, "to", x.To, "plot", number)
	}
	if q.Older != nil {
		x.Newest = s.link("item", e, key, "from", x.From, "to", x.To, "plot", number)
	}
	s.actions(&x, e, key)
	return &view{Page: "item", Title: e.Name + " " + life.Label, Here: e.Name, Body: x}, nil
}

// shown chooses the state whose attributes the page has, and returns its index.
func (s *Server) shown(x *itemView, id string) int {
	states := x.Life.States
	at := slices.IndexFunc(states, func(y State) bool { return y.id() == id })
	if at < 0 && x.Life.AtState >= 0 {
		at = x.Life.AtState
	}
	if at < 0 && len(states) > 0 {
		at = 0
	}
	if at < 0 {
		return at
	}
	x.Shown = &states[at]
	if at+1 < len(states) {
		x.Before = cmp.Or(states[at+1].Name, states[at+1].Kind)
	}
	return at
}

// id names a state in the URL of the page.
func (x State) id() string { return x.Kind + " " + x.Name }

// actions adds the links to forms that change the item.
func (s *Server) actions(x *itemView, e Entity, key Key) {
	q := url.Values{"entity": {e.Name}}
	if len(e.Keys) > 0 && !e.Keys[0].Secret {
		for _, p := range e.Keys[0].Parts {
			q.Set("p."+p.Name, key[p.Name])
		}
		x.Browse = "browse?" + q.Encode()
	}
	if !s.options.Write || !e.Writable {
		return
	}
	if x.Life.Live {
		x.Edit = s.link("edit", e, key, "verb", VerbEdit)
	}
	if x.Life.Deleted {
		x.Restore = s.link("edit", e, key, "verb", VerbRestore)
	}
	x.Purge = s.link("edit", e, key, "verb", VerbPurge)
	if y := x.Shown; y != nil && y.Kind == "version" && !y.Ended && x.Life.Live {
		x.Revert = s.link("edit", e, key, "verb", VerbRevert, "version", y.Name)
	}
}

// numbers returns the attributes that a plot can show, with the one that is chosen, or the first that a state has.
func numbers(e Entity, states []State, name string) []choice {
	var all []choice
	for _, a := range e.Attrs {
		if a.Numeric {
			all = append(all, choice{a.Name, a.Name, a.Name == name})
		}
	}
	if slices.ContainsFunc(all, func(c choice) bool { return c.Here }) {
		return all
	}
	for i := range all {
		if slices.ContainsFunc(states, func(x State) bool { _, has := x.Numbers[all[i].Value]; return has }) {
			all[i].Here = true
			break
		}
	}
	return all
}

// number64 reads a version; 0 for anything else.
func number64(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// layouts are the ways in which a time is given: of a form, and of RFC 3339.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"}

// instant reads a time. Without a zone it is in UTC.
func instant(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range layouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, &Mistaken{errors.New("give a time such as 2026-04-22T12:00:00Z")}
}
