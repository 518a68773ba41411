package studio

import (
	"bytes"
	"context"
	"crypto/rand"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Options of a [Server].
type Options struct {
	// Token must be in the URL that a browser opens first. Without one the handler stands behind the authentication of an application.
	Token string
	Hosts []string // names by which the studio is called; without any, those of this machine if there is a token, else all
	Write bool     // offer forms that change items

	PageUnits   float64 // read units for one page
	MinuteUnits float64 // read units for all pages and long work in a minute

	Clock func() time.Time
	Sleep func(context.Context, time.Duration) error
	Actor func(*http.Request) string // who the application knows; nil to ask
}

// Server is the studio. Its pages have one-segment paths and relative links, so it can be mounted anywhere.
type Server struct {
	*sealer
	data    Data
	options Options
	budget  *budget
	cookie  string
	origins *http.CrossOriginProtection
	pages   map[string]*template.Template
	jobs    jobs
	mux     *http.ServeMux
}

//go:embed pages
var files embed.FS

// New returns the studio of data.
func New(data Data, o Options) *Server {
	s := &Server{sealer: newSealer(), data: data, options: o, budget: newBudget(o.MinuteUnits, o), cookie: "dynastrata_studio_" + strings.ToLower(rand.Text()[:8]),
		origins: http.NewCrossOriginProtection(), pages: map[string]*template.Template{}, mux: http.NewServeMux()}
	s.jobs.all = map[string]*job{}
	for _, name := range []string{"home", "browse", "found", "item", "edit", "preview", "conflict", "job", "error"} {
		s.pages[name] = template.Must(template.New("").Funcs(texts).ParseFS(files, "pages/layout.html", "pages/parts.html", "pages/"+name+".html"))
	}
	for _, name := range []string{"studio.css", "studio.js"} {
		s.mux.HandleFunc("GET /"+name, func(w http.ResponseWriter, r *http.Request) { http.ServeFileFS(w, r, files, "pages/"+name) })
	}
	for pattern, h := range map[string]handler{
		"GET /{$}": s.home, "GET /browse": s.browse, "POST /browse": s.ask, "POST /find": s.find, "GET /find": s.found, "GET /item": s.item, "GET /value": s.value,
		"POST /start": s.start, "GET /job": s.job, "POST /stop": s.stop,
		"GET /edit": s.edit, "POST /preview": s.preview, "POST /write": s.write, "POST /again": s.again,
	} {
		s.mux.Handle(pattern, s.page(h))
	}
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	s.mux.ServeHTTP(w, r)
}

// Close stops what is running.
func (s *Server) Close() { s.jobs.stopAll() }

// view is a page: a template and what it shows, or a place to go to.
type view struct {
	Page   string
	Title  string
	Here   string // the entity that the page is about
	Body   any
	To     string
	Status int
	Again  bool     // load the page again after a second
	File   *Content // instead of a page

	Entities []Entity
	Write    bool
	Form     string // in every form
	Used     Cost
	Text     string // of the search
}

// handler answers a request by a page.
type handler func(*visit) (*view, error)

// visit is a request that is served.
type visit struct {
	*http.Request
	ctx     context.Context
	session string
}

// longestForm is more than an item, as text.
const longestForm = 4 << 20

// page serves the pages of a handler.
func (s *Server) page(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		session, done, err := s.admit(w, r)
		if done {
			return
		}
		m := &Meter{budget: s.budget, left: s.options.PageUnits}
		var v *view
		if err == nil && r.Method == http.MethodPost {
			r.Body = http.MaxBytesReader(w, r.Body, longestForm)
			err = s.checkForm(session, r)
		}
		if err == nil {
			v, err = h(&visit{r, withMeter(r.Context(), m), session})
		}
		if err != nil {
			v = failure(err)
		}
		if v.To != "" {
			redirect(w, v.To)
			return
		}
		if v.File != nil {
			download(w, v.File)
			return
		}
		if session != "" {
			v.Entities, v.Form = s.data.Entities(), s.mark("form", session)
		}
		v.Write, v.Used = s.options.Write, m.Used()
		var b bytes.Buffer
		if err := s.pages[v.Page].ExecuteTemplate(&b, "layout", v); err != nil {
			http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if v.Again {
			w.Header().Set("Refresh", "1")
		}
		if v.Status != 0 {
			w.WriteHeader(v.Status)
		}
		_, _ = w.Write(b.Bytes()) // the browser may be gone
	})
}

// ErrNotFound is the error for what is not there.
var ErrNotFound = errors.New("there is no such item")

// Mistaken is the error of a request that cannot be served as it is given.
type Mistaken struct{ Err error }

func (m *Mistaken) Error() string { return m.Err.Error() }
func (m *Mistaken) Unwrap() error { return m.Err }

// failure returns the page of an error.
func failure(err error) *view {
	v := &view{Page: "error", Title: "This did not work", Body: err.Error(), Status: http.StatusBadGateway}
	var refused *refusal
	var mistaken *Mistaken
	switch {
	case errors.As(err, &refused):
		v.Title, v.Status = "Not served", refused.status
	case errors.Is(err, ErrBudget):
		v.Title, v.Status = "Too much was read", http.StatusTooManyRequests
	case errors.Is(err, ErrNotFound):
		v.Title, v.Status = "Not found", http.StatusNotFound
	case errors.As(err, &mistaken), errors.Is(err, errSealed):
		v.Title, v.Status = "This cannot be shown", http.StatusBadRequest
	}
	return v
}

// entity returns the entity that a form names.
func (s *Server) entity(name string) (Entity, error) {
	all := s.data.Entities()
	if i := slices.IndexFunc(all, func(e Entity) bool { return e.Name == name }); i >= 0 {
		return all[i], nil
	}
	return Entity{}, &Mistaken{errors.New("there is no entity of this name")}
}

// link returns a URL about an item. A key with a secret part is sealed.
func (s *Server) link(page string, e Entity, key Key, more ...string) string {
	v := url.Values{"entity": {e.Name}}
	if e.HidesKey {
		v.Set("k", s.seal("key "+e.Name, key))
	} else {
		for name, text := range key {
			v.Set("p."+name, text)
		}
	}
	for i := 0; i+1 < len(more); i += 2 {
		if more[i+1] != "" {
			v.Set(more[i], more[i+1])
		}
	}
	return page + "?" + v.Encode()
}

// key reads what link has written.
func (s *Server) key(v url.Values) (Entity, Key, error) {
	e, err := s.entity(v.Get("entity"))
	if err != nil {
		return e, nil, err
	}
	key := Key{}
	if e.HidesKey || v.Get("k") != "" {
		return e, key, s.open("key "+e.Name, v.Get("k"), &key)
	}
	return e, given(v), nil
}

// given returns the key parts of a form.
func given(v url.Values) Key {
	key := Key{}
	for name, texts := range v {
		if part, ok := strings.CutPrefix(name, "p."); ok && texts[0] != "" {
			key[part] = texts[0]
		}
	}
	return key
}

// hiddenFields are the fields that name an item in a form. A field does not keep every character of a key.
func (s *Server) hiddenFields(e Entity, key Key) []Value {
	fields, plain := []Value{{Name: "entity", Text: e.Name}}, !e.HidesKey
	for _, text := range key {
		plain = plain && !strings.ContainsFunc(text, unicode.IsControl)
	}
	if !plain {
		return append(fields, Value{Name: "k", Text: s.seal("key "+e.Name, key)})
	}
	for name, text := range key {
		fields = append(fields, Value{Name: "p." + name, Text: text})
	}
	slices.SortFunc(fields, func(a, b Value) int { return strings.Compare(a.Name, b.Name) })
	return fields
}
