package studio

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
)

// editView is the form of an item's attributes.
type editView struct {
	Entity Entity
	Label  string
	Inputs []Input
	Seen   string // sealed: what the form was made from
	Item   string
}

// formState is what a form was made from.
type formState struct {
	Write Write             // without changes
	Was   map[string]string // digests of the texts, by attribute
	Shown map[string]string // the beginnings of the texts

	Secrets []string // attributes that can be replaced
}

// previewView is what a write would do, with the button that does it.
type previewView struct {
	Preview
	Entity  Entity
	Verb    string
	Title   string
	Label   string
	Write   string // sealed: what the button does
	Actor   string // that the application knows
	Form    string // link back to the form
	Item    string
	Confirm string // what is to be typed
}

// conflictView shows what a person wanted and what is there.
type conflictView struct {
	Entity Entity
	Label  string
	Verb   string
	Rows   []conflictRow
	Now    State
	Gone   bool
	Again  string // sealed: the same write of what is there now; "" if that has no meaning
	Item   string
	Asks   []string
	Actor  string
	Reason string
}

type conflictRow struct {
	Name, Was, Now, Yours string
	Changed               bool // by the other
}

var errReadOnly = &refusal{403, "this studio is read-only"}

// writing returns the entity and key of a form that changes an item.
func (s *Server) writing(r *visit) (Entity, Key, error) {
	if !s.options.Write {
		return Entity{}, nil, errReadOnly
	}
	e, key, err := s.key(r.URL.Query())
	if err == nil && !e.Writable {
		err = &Mistaken{errors.New(e.Name + " is not among the handles of the program, so it can only be read")}
	}
	return e, key, err
}

// edit shows the form of an item, or what another write would do.
func (s *Server) edit(r *visit) (*view, error) {
	e, key, err := s.writing(r)
	if err != nil {
		return nil, err
	}
	w := Write{Verb: r.URL.Query().Get("verb"), Entity: e.Name, Key: key}
	w.Version = number64(r.URL.Query().Get("version"))
	p, err := s.data.Preview(r.ctx, w)
	if err != nil {
		return nil, err
	}
	if w.Seen = p.Seen; w.Verb != VerbEdit {
		return s.previewed(r, e, w, p)
	}
	state := formState{Write: w, Was: map[string]string{}, Shown: map[string]string{}}
	for _, in := range p.Inputs {
		switch {
		case in.Why != "":
		case in.Secret:
			state.Secrets = append(state.Secrets, in.Name)
		default:
			state.Was[in.Name], state.Shown[in.Name] = digest(in.text()), beginning(in.text())
		}
	}
	return &view{Page: "edit", Title: "Edit " + e.Name, Here: e.Name, Body: editView{e, p.Label, p.Inputs, s.seal("edit", state), s.link("item", e, key)}}, nil
}

// text is what a form has for an attribute.
func (in Input) text() string {
	if !in.Present {
		return "\x00"
	}
	return in.Text
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

func beginning(text string) string {
	const most = 200
	if text == "\x00" {
		return "–"
	}
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// preview shows what the form of an item would change.
func (s *Server) preview(r *visit) (*view, error) {
	if !s.options.Write {
		return nil, errReadOnly
	}
	var state formState
	if err := s.open("edit", r.PostFormValue("seen"), &state); err != nil {
		return nil, err
	}
	e, err := s.entity(state.Write.Entity)
	if err != nil {
		return nil, err
	}
	w := state.Write
	for name, was := range state.Was {
		c := Change{Name: name, Text: strings.ReplaceAll(r.PostFormValue("v."+name), "\r\n", "\n"), Remove: r.PostFormValue("absent."+name) != ""}
		if _, given := r.PostForm["v."+name]; !given && !c.Remove {
			continue
		}
		now := c.Text
		if c.Remove {
			now, c.Text = "\x00", ""
		}
		if digest(now) != was {
			w.Changes = append(w.Changes, c)
		}
	}
	for _, name := range state.Secrets {
		switch r.PostFormValue("secret." + name) {
		case "replace":
			w.Changes = append(w.Changes, Change{Name: name, Text: r.PostFormValue("v." + name)})
		case "remove":
			w.Changes = append(w.Changes, Change{Name: name, Remove: true})
		default:
			if r.PostFormValue("v."+name) != "" {
				return nil, &Mistaken{errors.New(name + " is secret: choose to replace it, or leave its field empty")}
			}
		}
	}
	slices.SortFunc(w.Changes, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	if len(w.Changes) == 0 {
		return nil, &Mistaken{errors.New("nothing was changed in the form")}
	}
	p, err := s.data.Preview(r.ctx, w)
	var conflict *Conflict
	if errors.As(err, &conflict) {
		return s.conflict(r, e, state, w, conflict)
	}
	if err != nil {
		return nil, err
	}
	return s.previewed(r, e, w, p, state)
}

// pending is a write that was shown.
type pending struct {
	Write Write
	Form  formState
}

var titles = map[string]string{VerbEdit: "Change", VerbRestore: "Restore", VerbRevert: "Revert", VerbPurge: "Purge"}

// previewed shows a write with its plan.
func (s *Server) previewed(r *visit, e Entity, w Write, p Preview, form ...formState) (*view, error) {
	x := pending{Write: w}
	if len(form) > 0 {
		x.Form = form[0]
	}
	v := previewView{Preview: p, Entity: e, Verb: w.Verb, Title: titles[w.Verb], Label: p.Label, Write: s.seal("write", x), Item: s.link("item", e, w.Key)}
	if s.options.Actor != nil {
		v.Actor = s.options.Actor(r.Request)
	}
	switch w.Verb {
	case VerbEdit:
		v.Form = s.link("edit", e, w.Key, "verb", VerbEdit)
	case VerbPurge:
		v.Confirm = e.Name
	}
	return &view{Page: "preview", Title: v.Title + " " + e.Name, Here: e.Name, Body: v}, nil
}

// write does what was shown.
func (s *Server) write(r *visit) (*view, error) {
	if !s.options.Write {
		return nil, errReadOnly
	}
	var x pending
	if err := s.open("write", r.PostFormValue("write"), &x); err != nil {
		return nil, err
	}
	w := x.Write
	e, err := s.entity(w.Entity)
	if err != nil {
		return nil, err
	}
	if w.Verb == VerbPurge && strings.TrimSpace(r.PostFormValue("name")) != e.Name {
		return nil, &Mistaken{errors.New("type the name of the entity, " + e.Name + ", to purge the item: nothing was removed")}
	}
	if w.Actor, w.Reason = strings.TrimSpace(r.PostFormValue("actor")), strings.TrimSpace(r.PostFormValue("reason")); s.options.Actor != nil {
		w.Actor = s.options.Actor(r.Request)
	}
	err = s.data.Apply(r.ctx, w)
	var conflict *Conflict
	switch {
	case errors.As(err, &conflict):
		return s.conflict(r, e, x.Form, w, conflict)
	case err != nil:
		return nil, err
	case w.Verb == VerbPurge:
		return &view{To: "browse?entity=" + e.Name}, nil
	}
	return &view{To: s.link("item", e, w.Key)}, nil
}

// conflict shows what was seen, what is there, and what was wanted.
func (s *Server) conflict(r *visit, e Entity, form formState, w Write, c *Conflict) (*view, error) {
	v := conflictView{Entity: e, Label: c.Now.Label, Verb: w.Verb, Now: c.Now, Gone: c.Now.Kind == "", Item: s.link("item", e, w.Key), Asks: c.Asks, Actor: w.Actor, Reason: w.Reason}
	yours := map[string]string{}
	for _, change := range w.Changes {
		yours[change.Name] = beginning(change.Text)
		if change.Remove {
			yours[change.Name] = "–"
		}
	}
	now := map[string]Input{}
	for _, in := range c.Inputs {
		now[in.Name] = in
	}
	for name, was := range form.Shown {
		in, editable := now[name]
		row := conflictRow{Name: name, Was: was, Now: "–", Yours: yours[name]}
		if editable {
			row.Now, row.Changed = beginning(in.text()), digest(in.text()) != form.Was[name]
			form.Was[name], form.Shown[name] = digest(in.text()), row.Now
		}
		if _, mine := yours[name]; mine || row.Changed {
			v.Rows = append(v.Rows, row)
		}
	}
	slices.SortFunc(v.Rows, func(a, b conflictRow) int { return strings.Compare(a.Name, b.Name) })
	if w.Verb == VerbEdit && !v.Gone && c.Now.Seen != "" {
		w.Seen, w.Actor, w.Reason = c.Now.Seen, "", ""
		form.Write.Seen = c.Now.Seen
		v.Again = s.seal("again", pending{w, form})
	}
	return &view{Page: "conflict", Title: "Conflict", Here: e.Name, Body: v, Status: 409}, nil
}

// again plans the same changes on what is there now.
func (s *Server) again(r *visit) (*view, error) {
	if !s.options.Write {
		return nil, errReadOnly
	}
	var x pending
	if err := s.open("again", r.PostFormValue("write"), &x); err != nil {
		return nil, err
	}
	e, err := s.entity(x.Write.Entity)
	if err != nil {
		return nil, err
	}
	p, err := s.data.Preview(r.ctx, x.Write)
	var conflict *Conflict
	switch {
	case errors.As(err, &conflict):
		return s.conflict(r, e, x.Form, x.Write, conflict)
	case err != nil:
		return nil, err
	}
	return s.previewed(r, e, x.Write, p, x.Form)
}
