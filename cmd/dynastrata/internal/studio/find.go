package studio

import (
	"errors"
	"regexp"
	"strings"
	"unicode"
)

type hitView struct {
	Hit
	Link string
}

type foundView struct {
	Words   int
	Sealed  string // the words, for the search of all items
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
	words := wordsOf(r.PostFormValue("text"))
	if len(words) == 0 {
		return nil, &Mistaken{errors.New("give a value to find: a part of a key or of an index, or a unique value; or several, which an item has all")}
	}
	return &view{To: "find?s=" + s.seal("search", words)}, nil
}

// quotedWord is a value, or attribute=value, whose value has spaces.
var quotedWord = regexp.MustCompile(`^([^\s"=]*=)?"([^"]+)"`)

// wordsOf returns the words of a search: between spaces, or between double quotes, with the spaces in them.
func wordsOf(text string) (words []string) {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if m := quotedWord.FindStringSubmatch(text); m != nil {
			words, text = append(words, m[1]+m[2]), text[len(m[0]):]
			continue
		}
		end := strings.IndexFunc(text, unicode.IsSpace)
		if end < 0 {
			end = len(text)
		}
		words, text = append(words, text[:end]), text[end:]
	}
	return words
}

// found shows what has the words of a search. A single item is opened at once.
func (s *Server) found(r *visit) (*view, error) {
	var words []string
	if err := s.open("search", r.URL.Query().Get("s"), &words); err != nil {
		return nil, err
	}
	f, err := s.data.Find(r.ctx, words)
	if err != nil {
		return nil, err
	}
	hits := s.hits(f.Hits)
	if len(hits) == 1 && !f.Partial {
		return &view{To: hits[0].Link}, nil
	}
	v := foundView{Words: len(words), Sealed: s.seal("search", words), Hits: hits, Partial: f.Partial}
	tables, err := s.data.Tables(r.ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range tables {
		v.Units += t.Strong
	}
	return &view{Page: "found", Title: "Search", Body: v}, nil
}
