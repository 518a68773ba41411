package console

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/tables/schemalock"
)

// restorer makes a schema from the facts of a lock. It is the inverse of what package schemalock writes.
type restorer struct {
	e      *entityModel
	s      schema.Schema
	attrs  map[string]*schema.Attr
	shards map[*schema.Index]int
	shared bool
	err    error
}

// restore returns the entity that the facts describe. The error is an *entity.InputError.
func restore(facts schemalock.Entity, derived bool) (*entityModel, error) {
	r := &restorer{e: &entityModel{facts: facts}, attrs: map[string]*schema.Attr{}, shards: map[*schema.Index]int{}}
	r.s.Name, r.s.Payload, r.s.Options.TTL = facts.Name, 1, "_ttl"
	for _, f := range facts.Facts { // attributes first: keys are made of them
		if name, ok := strings.CutPrefix(f.What, "attribute "); ok {
			r.attribute(name, strings.Fields(f.Text()))
		}
	}
	r.family(r.e.setting("items"))
	for _, f := range facts.Facts {
		r.fact(f.What, f.Text())
	}
	if r.err != nil {
		return nil, r.err
	}
	if r.s.PK == nil {
		return nil, r.bad("key partition", "is missing")
	}
	if n, err := strconv.Atoi(r.e.setting("timeseries.Events shards")); err == nil && n > 1 && n <= schema.MostShards && r.s.PK.Written() {
		r.s.SpreadEvents(n)
	}
	for _, x := range r.s.Indexes {
		if x.Local {
			x.PK = r.s.PK
		}
		if x.PK == nil {
			return nil, r.bad("index "+x.Index, "has no partition key")
		}
		if n := r.shards[x]; n > 1 && n <= schema.MostShards && x.PK.Written() && !x.Local {
			x.Spread(n, r.s.PK, r.s.SK)
		}
	}
	r.s.Expires = r.e.has("lifecycle.TTL") || derived && r.s.UsesTTL // rows of read models have an end of their own
	r.e.s = schema.Recorded(r.s)
	return r.e, nil
}

func (r *restorer) bad(what, problem string) error {
	if r.err == nil {
		r.err = invalid(bind.CodeConsoleLock, "entity %s: %s: %s", r.e.facts.Name, what, problem)
	}
	return r.err
}

// family reads which attributes the library stores besides those of the model.
func (r *restorer) family(text string) {
	r.shared = text == "$ interop"
	r.s.Templated, r.s.HasMetadata = text == "$" || r.shared, text == "$"
	r.s.Profile = schema.NewProfile(r.shared)
}

// attribute reads a top-level attribute.
func (r *restorer) attribute(path string, words []string) {
	if strings.ContainsAny(path, ".[{") || len(words) == 0 {
		return
	}
	name := unescaped(path)
	a := r.attr(name)
	switch words[0] {
	case "S", "N", "B":
		a.Scalar = types.ScalarAttributeType(words[0])
	}
	for _, word := range words[1:] {
		if format, ok := strings.CutPrefix(word, "time="); ok {
			a.Format, a.Time = timeFormat(format), true
		}
		if name, ok := strings.CutPrefix(word, "context="); ok {
			a.Role.Context = name
		}
		a.Role.Roles = append(a.Role.Roles, schema.Role(word))
	}
	a.Append = slices.Contains(words, string(schema.Append))
	for role, slot := range map[schema.Role]**schema.Attr{schema.Version: &r.s.Version, schema.CreatedAt: &r.s.CreatedAt, schema.UpdatedAt: &r.s.UpdatedAt, schema.DeletedAt: &r.s.DeletedAt} {
		if a.Role.Has(role) {
			*slot = a
		}
	}
}

// attr returns the attribute with a name.
func (r *restorer) attr(name string) *schema.Attr {
	a := r.attrs[name]
	if a == nil {
		a = &schema.Attr{Name: name, Field: name, Path: expr.Attr(name)}
		r.attrs[name] = a
		r.s.Attrs = append(r.s.Attrs, a)
	}
	return a
}

func timeFormat(text string) key.TimeFormat {
	f, _ := key.ParseTimeFormat(text)
	return f
}

// fact reads any other fact. Facts of later versions of the library are passed over.
func (r *restorer) fact(what, value string) {
	words := strings.Split(what, " ")
	switch {
	case what == "table":
		if r.s.Table = value; value == "(default)" {
			r.s.Table = ""
		}
	case what == "payload":
		r.s.Payload, _ = strconv.Atoi(value)
	case what == "kind":
		attr, v, _ := strings.Cut(value, "=")
		r.s.Discriminator = &schema.Discriminator{Attr: attr, Value: v}
	case what == "ttl":
		r.s.Options.TTL, r.s.UsesTTL = value, true
	case what == "key partition":
		r.s.PK = r.key(what, value)
		if r.s.PK != nil && r.s.PK.Prefixed {
			r.s.Prefix = r.s.PK.Template.Prefix
		}
	case what == "key sort":
		r.s.SK = r.key(what, value)
		if r.s.SK != nil && r.s.SK.Prefixed {
			r.s.Prefix = r.s.SK.Template.Prefix
		}
	case words[0] == "index":
		r.index(words[1:], value)
	case strings.Contains(words[0], ".") && len(words) == 1:
		r.e.features = append(r.e.features, what)
		if name, ok := strings.CutPrefix(what, "unique.Constraint("); ok {
			r.unique(strings.TrimSuffix(name, ")"))
		}
	case what == "timeseries.Events orderBy":
		r.e.order = slices.Insert(r.e.order, 0, value)
		r.attr(value).Clock = true
	case what == "timeseries.Events id":
		r.e.order = append(r.e.order, value)
		r.s.EventID = r.attr(value)
		r.s.EventID.Clock = true
	case what == "timeseries.Events events":
		if t, parts := r.template(what, value, true); t != nil && r.s.SK != nil {
			r.s.RelatedKeys = append(r.s.RelatedKeys, &schema.KeyDef{Attr: r.s.SK.Attr, Path: r.s.SK.Path, Template: t, Parts: parts, Prefixed: true, Type: r.s.SK.Type})
		}
	}
}

// unique reads a unique constraint.
func (r *restorer) unique(name string) {
	what := "unique.Constraint(" + name + ") key"
	if t, _ := r.template(what, r.e.setting(what), true); t != nil {
		r.e.uniques = append(r.e.uniques, constraint{name, t})
	}
}

// index reads a fact about an index.
func (r *restorer) index(words []string, value string) {
	if len(words) == 0 {
		_ = r.bad("index", "has no name")
		return
	}
	name := unescaped(words[0])
	i := slices.IndexFunc(r.s.Indexes, func(x *schema.Index) bool { return x.Index == name })
	if i < 0 {
		i = len(r.s.Indexes)
		r.s.Indexes = append(r.s.Indexes, &schema.Index{Index: name})
	}
	x := r.s.Indexes[i]
	if len(words) == 1 {
		x.Local = value == "local"
		return
	}
	switch words[1] {
	case "partition":
		x.PK = r.key("index "+name, value)
	case "sort":
		x.SK = r.key("index "+name, value)
	case "shards":
		r.shards[x], _ = strconv.Atoi(value)
	case "name":
		x.Name = value
	case "projection":
		if x.Project.All = value == "all"; !x.Project.All {
			for i, attr := range strings.Fields(value) {
				if i > 0 { // after the word keys
					x.Project.Include = append(x.Project.Include, unescaped(attr))
				}
			}
		}
	}
}

// key reads a partition or sort key.
func (r *restorer) key(what, text string) *schema.KeyDef {
	if list, ok := strings.CutPrefix(text, "native "); ok {
		k := &schema.KeyDef{}
		for _, one := range strings.Split(list, " + ") {
			words := strings.Fields(one)
			if len(words) < 2 {
				_ = r.bad(what, "is malformed")
				return nil
			}
			a := r.attr(unescaped(words[0]))
			a.Scalar = types.ScalarAttributeType(words[1])
			k.Native = append(k.Native, a)
		}
		k.Parts, k.Type = k.Native, k.Native[0].Scalar
		if len(k.Native) == 1 {
			k.Attr, k.Path = k.Native[0].Name, k.Native[0].Path
		}
		return k
	}
	attr, rest, ok1 := strings.Cut(text, " ")
	kind, rest, ok2 := strings.Cut(rest, " ")
	if !ok1 || !ok2 {
		_ = r.bad(what, "is malformed")
		return nil
	}
	verbatim, isVerbatim := strings.CutPrefix(rest, "verbatim ")
	k := &schema.KeyDef{Attr: unescaped(attr), Path: expr.Attr(unescaped(attr)), Type: types.ScalarAttributeType(kind), Prefixed: !isVerbatim}
	if isVerbatim {
		rest = verbatim
	}
	if k.Template, k.Parts = r.template(what, rest, k.Prefixed); k.Template == nil {
		return nil
	}
	return k
}

// template reads what key.Template.Describe writes.
func (r *restorer) template(what, text string, prefixed bool) (*key.Template, []*schema.Attr) {
	t, parts := &key.Template{Escaped: prefixed}, []*schema.Attr(nil)
	bad := func() (*key.Template, []*schema.Attr) {
		_ = r.bad(what, "is not a key template")
		return nil, nil
	}
	if prefixed {
		pieces := strings.SplitN(text, "#", 4)
		if len(pieces) < 3 {
			return bad()
		}
		t.Prefix = strings.Join(pieces[:3], "#")
		text = text[len(t.Prefix):]
	}
	for text != "" {
		var s key.Segment
		if prefixed {
			if text[0] != '#' {
				return bad()
			}
			text = text[1:]
		}
		end := strings.IndexByte(text, '{')
		if stop := strings.IndexByte(text, '#'); prefixed && stop >= 0 && (end < 0 || stop < end) {
			s.Literal, text = text[:stop], text[stop:]
			t.Segments = append(t.Segments, s)
			continue
		}
		if end < 0 {
			t.Segments = append(t.Segments, key.Segment{Literal: text})
			break
		}
		s.Literal = text[:end]
		part, rest, closed := strings.Cut(text[end+1:], "}")
		at := strings.LastIndexByte(part, ' ')
		if !closed || at < 0 {
			return bad()
		}
		f, ok := keyField(part[:at], part[at+1:])
		if !ok {
			return bad()
		}
		f.Plain = prefixed && r.shared
		a := r.attr(f.Attr)
		if a.Key == nil {
			a.Key = f
		}
		s.Field, text, parts = f, rest, append(parts, a)
		t.Segments = append(t.Segments, s)
	}
	return t, parts
}

// keyField reads what key.Field.Describe writes: string|lower, int:19, time=unix:19.
func keyField(attr, text string) (*key.Field, bool) {
	f := &key.Field{Attr: attr}
	text, f.Lower = strings.CutSuffix(text, "|lower")
	kind, width, wide := strings.Cut(text, ":")
	if wide {
		n, err := strconv.Atoi(width)
		if err != nil {
			return nil, false
		}
		f.Width = n
	}
	kinds := map[string]key.Kind{"string": key.String, "int": key.Int, "uint": key.Uint, "bool": key.Bool}
	if format, ok := strings.CutPrefix(kind, "time="); ok {
		f.Kind = key.Time
		f.Time, ok = key.ParseTimeFormat(format)
		return f, ok
	}
	k, ok := kinds[kind]
	f.Kind = k
	return f, ok
}

// unescaped is the inverse of recorded.PathName.
func unescaped(name string) string {
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}
