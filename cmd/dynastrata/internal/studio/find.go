package studio

import (
	"errors"
	"strings"
)

type hitView struct {
	Hit
	Link string
}

type foundView struct {
	Text    string
	Sealed  string // the text, for the search of all items
	Hits    []hitView
	Partial bool
	Units   float64 // that the search of all items reads
}

func (s *Server) hits(all []Hit) []hitView {
	var out []hitView
	for _, h := range all {
		if e, err := s.entity(h.Entity); err == nil {
			out = append(out, hitView{h, s.link("item", e, h.Key)})
		}
	}
	return out
}

// find takes the text of the search. It can be a secret, so it is in no URL as it is.
func (s *Server) find(r *visit) (*view, error) {
	text := strings.TrimSpace(r.PostFormValue("text"))
	if text == "" {
		return nil, &Mistaken{errors.New("give a value to find: a part of a key or of an index, or a unique value")}
	}
	return &view{To: "find?s=" + s.seal("search", text)}, nil
}

// found shows what has a value. A single item is opened at once.
func (s *Server) found(r *visit) (*view, error) {
	var text string
	if err := s.open("search", r.URL.Query().Get("s"), &text); err != nil {
		return nil, err
	}
	f, err := s.data.Find(r.ctx, text)
	if err != nil {
		return nil, err
	}
	hits := s.hits(f.Hits)
	if len(hits) == 1 && !f.Partial {
		return &view{To: hits[0].Link}, nil
	}
	v := foundView{Text: text, Sealed: s.seal("search", text), Hits: hits, Partial: f.Partial}
	tables, err := s.data.Tables(r.ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		v.Units += t.Strong
	}
	return &view{Page: "found", Title: "Search", Body: v}, nil
}
