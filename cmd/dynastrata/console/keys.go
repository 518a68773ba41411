package console

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// given are key parts from the command line, by name.
type given map[string]string

// parseGiven reads arguments of the form name=value.
func parseGiven(args []string) (given, error) {
	g := given{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if _, twice := g[name]; !ok || name == "" || value == "" || twice {
			return nil, invalid(bind.CodeConsoleKey, "key parts are given as name=value, each once, with a value; dynastrata schema lists them")
		}
		g[name] = value
	}
	return g, nil
}

// only rejects names that are no parts of the keys.
func (g given) only(keys ...*schema.KeyDef) error {
	known := map[string]bool{}
	var names []string
	for _, k := range keys {
		if k == nil {
			continue
		}
		for _, a := range k.Parts {
			if !known[a.Name] {
				known[a.Name], names = true, append(names, a.Name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g)) {
		if !known[name] {
			return invalid(bind.CodeConsoleKey, "the key has no part %s; it has: %s", item.Text(name), strings.Join(names, ", "))
		}
	}
	return nil
}

// instant reads a time in RFC 3339, or the beginning of one in UTC: a date, or one with a time of day, that lacks seconds or the zone.
func instant(text string) (t time.Time, err error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", time.DateOnly} {
		if t, err = time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return t, err
}

// anInstant describes how a time is given.
const anInstant = "a time, such as 2026-04-22T12:00:00Z or 2026-04-22"

// examples are values of kinds of key parts that not every text is.
var examples = map[key.Kind]string{key.Int: "a whole number, such as -42", key.Uint: "a whole number from 0, such as 42", key.Bool: "true or false", key.Time: anInstant}

// value reads the value of a key part.
func value(f *key.Field, text string) (key.Value, error) {
	v, err := key.Value{Kind: f.Kind, S: text}, error(nil)
	switch f.Kind {
	case key.Int:
		v.I, err = strconv.ParseInt(text, 10, 64)
	case key.Uint:
		v.U, err = strconv.ParseUint(text, 10, 64)
	case key.Bool:
		v.B, err = strconv.ParseBool(text)
	case key.Time:
		if v.T, err = instant(text); err != nil && !f.Time.Text() {
			v.T, err = f.Time.Parse(text)
		}
	}
	if err != nil {
		return v, invalid(bind.CodeConsoleKey, "%s must be %s", item.Text(f.Attr), examples[f.Kind])
	}
	return v, nil
}

// native reads the value of an attribute that is a key itself.
func native(a *schema.Attr, text string) (types.AttributeValue, error) {
	if a.Time {
		if t, err := instant(text); err == nil {
			return a.Format.Value(t)
		}
		if a.Format.Text() {
			return nil, invalid(bind.CodeConsoleKey, "%s must be %s", item.Text(a.Name), anInstant)
		}
	}
	switch a.Scalar {
	case types.ScalarAttributeTypeN:
		if _, err := item.ParseDecimal(text); err != nil {
			return nil, invalid(bind.CodeConsoleKey, "%s must be a number, such as 42", item.Text(a.Name))
		}
		return item.N(text), nil
	case types.ScalarAttributeTypeB:
		return &types.AttributeValueMemberB{Value: []byte(text)}, nil
	}
	return item.S(text), nil
}

// compose returns the attributes of a key. Of a key whose last parts are not given, it returns the beginning of the text and
// false; nothing if not even that can be composed.
func compose(k *schema.KeyDef, g given) (it item.Item, whole bool, err error) {
	it = item.Item{}
	if k == nil {
		return it, true, nil
	}
	if !k.Written() {
		for _, a := range k.Native {
			text, ok := g[a.Name]
			if !ok {
				return it, false, nil
			}
			if it[a.Name], err = native(a, text); err != nil {
				return nil, false, err
			}
		}
		return it, true, nil
	}
	t := *k.Template
	var vs []key.Value
	for i, s := range k.Template.Segments {
		if s.Field == nil {
			continue
		}
		text, ok := g[s.Field.Attr]
		if !ok {
			t.Segments = t.Segments[:i]
			return begin(k.Attr, &t, vs, false)
		}
		v, err := value(s.Field, text)
		if err != nil {
			return nil, false, err
		}
		vs = append(vs, v)
	}
	return begin(k.Attr, &t, vs, true)
}

func begin(attr string, t *key.Template, vs []key.Value, whole bool) (item.Item, bool, error) {
	text, err := t.ComposeValues(vs)
	if err != nil {
		return nil, false, invalid(bind.CodeConsoleKey, "%v", err)
	}
	if text == "" {
		return item.Item{}, whole, nil
	}
	return item.Item{attr: item.S(text)}, whole, nil
}

// primary returns the primary key of the current item with the given parts.
func (e *entityModel) primary(g given) (item.Item, error) {
	if err := g.only(e.s.PK, e.s.SK); err != nil {
		return nil, err
	}
	out := item.Item{}
	for _, k := range []*schema.KeyDef{e.s.PK, e.s.SK} {
		it, whole, err := compose(k, g)
		if err != nil {
			return nil, err
		}
		if !whole {
			return nil, invalid(bind.CodeConsoleKey, "%s needs each part of its key: %s", e.s.Name, strings.Join(e.partNames(), ", "))
		}
		for name, av := range it {
			out[name] = av
		}
	}
	return out, nil
}

// matches reports whether the values of an item at given parts are the given ones.
func (g given) matches(it item.Item, keys ...*schema.KeyDef) bool {
	for _, k := range keys {
		if k == nil {
			continue
		}
		for i, a := range k.Parts {
			text, ok := g[a.Name]
			av, has := it[a.Name]
			if !ok || !has {
				continue
			}
			var want types.AttributeValue
			var err error
			if k.Written() {
				f := k.Template.Fields()[i]
				v, verr := value(f, text)
				if want, err = f.Attribute(v); verr != nil || err != nil {
					return false
				}
				if f.Lower && equalFold(want, av) {
					continue
				}
			} else if want, err = native(a, text); err != nil {
				return false
			}
			if !item.Equal(want, av) {
				return false
			}
		}
	}
	return true
}

func equalFold(a, b types.AttributeValue) bool {
	x, ok1 := a.(*types.AttributeValueMemberS)
	y, ok2 := b.(*types.AttributeValueMemberS)
	return ok1 && ok2 && strings.EqualFold(x.Value, y.Value)
}
