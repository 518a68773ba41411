package studio

import (
	"cmp"
	"errors"
	"net/url"
	"slices"
)

// pageRows is how many items a page lists.
const pageRows = 25

// mostBack is how many pages one can go back.
const mostBack = 20

// browseView is what a page of items shows.
type browseView struct {
	Entity   Entity
	Path     KeyPath
	Paths    []pathLink
	Question Question
	Parts    []partField
	Next     *Part // the part of the sort key that the operator is on; nil if all are given
	Ops      []choice
	Filters  []choice
	Asked    bool
	Columns  []string
	Rows     []rowView
	Result   Rows
	NextPage string
	Previous string
	First    string
}

type pathLink struct {
	Name, Link string
	Here       bool
}

type partField struct {
	Part
	Text string
	Sort bool
}

type choice struct {
	Value, Text string
	Here        bool
}

type rowView struct {
	State
	Link  string
	Cells []*Value // by column; nil: absent
	More  []Value
}

// operators of a sort key, as they are offered.
var operators = []choice{
	{"", "any", false}, {OpEq, "=", false}, {OpBegins, "begins with", false}, {OpLt, "<", false}, {OpLe, "≤", false}, {OpGt, ">", false}, {OpGe, "≥", false}, {OpBetween, "between", false},
}

var filters = []choice{
	{OpEq, "=", false}, {OpNe, "≠", false}, {OpLt, "<", false}, {OpLe, "≤", false}, {OpGt, ">", false}, {OpGe, "≥", false}, {OpBegins, "begins with", false}, {OpHas, "contains", false},
	{OpExists, "exists", false}, {OpMissing, "is absent", false},
}

func chosen(all []choice, value string) []choice {
	out := slices.Clone(all)
	for i := range out {
		out[i].Here = out[i].Value == value
	}
	return out
}

// ask takes a question with secret parts, which are in no URL as they are.
func (s *Server) ask(r *visit) (*view, error) {
	if err := r.ParseForm(); err != nil {
		return nil, &Mistaken{err}
	}
	v := url.Values{}
	for name, texts := range r.PostForm {
		if name != "form" {
			v[name] = texts
		}
	}
	return &view{To: "browse?" + url.Values{"s": {s.seal("question", v)}}.Encode()}, nil
}

// asked returns the question of a request, and how a link repeats it.
func (s *Server) asked(r *visit) (v url.Values, link func(start string) string, err error) {
	v = r.URL.Query()
	start := v.Get("start")
	sealed := v.Get("s")
	if sealed != "" {
		v = url.Values{}
		if err := s.open("question", sealed, &v); err != nil {
			return nil, nil, err
		}
		v.Set("start", start)
	}
	return v, func(start string) string {
		u := url.Values{"s": {sealed}}
		if sealed == "" {
			u = r.URL.Query()
			u.Del("start")
		}
		if start != "" {
			u.Set("start", start)
		}
		return "browse?" + u.Encode()
	}, nil
}

// browse shows the items of a partition, of a range in it, or of a table.
func (s *Server) browse(r *visit) (*view, error) {
	v, link, err := s.asked(r)
	if err != nil {
		return nil, err
	}
	e, err := s.entity(v.Get("entity"))
	if err != nil {
		return nil, err
	}
	q := Question{Entity: e.Name, Index: v.Get("index"), Given: given(v), Op: v.Get("op"), Lo: v.Get("lo"), Hi: v.Get("hi"), Desc: v.Get("desc") != "", Related: v.Get("related") != "", Limit: pageRows}
	at := slices.IndexFunc(e.Keys, func(k KeyPath) bool { return k.Name == q.Index })
	if at < 0 {
		return nil, &Mistaken{errors.New("there is no such index")}
	}
	if op := v.Get("fop"); v.Get("f") != "" && op != "" {
		q.Filter = &Filter{v.Get("f"), op, v.Get("fv")}
	}
	b := browseView{Entity: e, Path: e.Keys[at], Question: q, Asked: len(q.Given) > 0 || v.Get("all") != "" || v.Get("f") != "" || e.Derived && q.Op != ""}
	for _, k := range e.Keys {
		b.Paths = append(b.Paths, pathLink{cmp.Or(k.Name, "table"), "browse?" + url.Values{"entity": {e.Name}, "index": {k.Name}}.Encode(), k.Name == q.Index})
	}
	b.Parts, b.Next = fields(b.Path, q)
	b.Ops, b.Filters = chosen(operators, q.Op), chosen(filters, v.Get("fop"))
	if b.Asked {
		if err := s.rows(r, &b, v.Get("start"), link); err != nil {
			return nil, err
		}
	}
	return &view{Page: "browse", Title: e.Name, Here: e.Name, Body: b}, nil
}

// fields returns the fields of the parts of a key, and the first part of the sort key that is not given.
func fields(k KeyPath, q Question) (all []partField, next *Part) {
	for _, p := range k.Parts {
		all = append(all, partField{p, q.Given[p.Name], false})
	}
	for i, p := range k.SortParts {
		if slices.ContainsFunc(k.Parts, func(x Part) bool { return x.Name == p.Name }) {
			continue
		}
		if q.Given[p.Name] == "" {
			return all, &k.SortParts[i]
		}
		all = append(all, partField{p, q.Given[p.Name], true})
	}
	return all, nil
}

// trail is where a page and those before it begin. The first page is not in it.
type trail struct {
	Pages [][]byte
	Cut   bool // pages before these were left out
}

// longestTrail is how many bytes of a trail a URL has.
const longestTrail = 12_000

// and returns the trail with one more page. It has room for some.
func (t trail) and(next []byte) trail {
	t.Pages = append(slices.Clone(t.Pages), next)
	size := 0
	for i, page := range slices.Backward(t.Pages) {
		if size += len(page); i < len(t.Pages)-1 && (size > longestTrail || len(t.Pages)-i > mostBack) {
			return trail{t.Pages[i+1:], true}
		}
	}
	return t
}

// rows reads the page that begins at start: a sealed trail.
func (s *Server) rows(r *visit, b *browseView, start string, link func(string) string) error {
	var way trail
	if start != "" {
		if err := s.open("pages", start, &way); err != nil {
			return err
		}
		b.Question.Start = way.Pages[len(way.Pages)-1]
	}
	rows, err := s.data.Browse(r.ctx, b.Question)
	if err != nil {
		return err
	}
	b.Result = rows
	if rows.Next != nil {
		b.NextPage = link(s.seal("pages", way.and(rows.Next)))
	}
	if n := len(way.Pages); n > 1 {
		b.Previous, b.First = link(s.seal("pages", trail{way.Pages[:n-1], way.Cut})), link("")
	} else if way.Cut {
		b.First = link("")
	} else if n == 1 {
		b.Previous = link("")
	}
	b.Columns = columns(rows.Items)
	for _, x := range rows.Items {
		s.whole(x.Values)
		row := rowView{State: x}
		if x.Key != nil {
			if e, err := s.entity(x.Entity); err == nil {
				row.Link = s.link("item", e, x.Key)
			}
		}
		for _, name := range b.Columns {
			i := slices.IndexFunc(x.Values, func(v Value) bool { return v.Name == name })
			if i < 0 {
				row.Cells = append(row.Cells, nil)
				continue
			}
			row.Cells = append(row.Cells, &x.Values[i])
		}
		for _, v := range x.Values {
			if !slices.Contains(b.Columns, v.Name) {
				row.More = append(row.More, v)
			}
		}
		b.Rows = append(b.Rows, row)
	}
	return nil
}

// mostColumns have room on a page.
const mostColumns = 5

// columns returns the attributes that most items have, in the order of their names, scalars only.
func columns(items []State) []string {
	times := map[string]int{}
	var names []string
	for _, x := range items {
		for _, v := range x.Values {
			if v.Nested || v.Hidden || len(v.Text) > 60 || v.Bytes > 0 || x.Key[v.Name] != "" {
				times[v.Name] -= 2 * len(items)
			}
			if _, seen := times[v.Name]; !seen {
				names = append(names, v.Name)
			}
			times[v.Name]++
		}
	}
	names = slices.DeleteFunc(names, func(n string) bool { return times[n] <= 0 })
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(times[b], times[a]), cmp.Compare(a, b)) })
	names = names[:min(len(names), mostColumns)]
	slices.Sort(names)
	return names
}
