package subject

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Line is one item of an export.
type Line struct {
	Entity string         `json:"entity"` // for a row: of its view
	Kind   Kind           `json:"kind"`
	Key    map[string]any `json:"key"`   // primary key; secret parts are hidden
	Value  map[string]any `json:"value"` // attributes by name: strings, numbers, booleans, null, lists, maps, and binary values in base64
}

// export writes members of a group, and the claims of those that are current or copies.
func (r *run) export(g *group, list []*member, p *part) error {
	s := g.t.s
	for _, m := range list {
		switch f, reason := g.fate(m, false); {
		case m.left != "":
			p.all(g.t, []*member{m}, reason)
			continue
		case f == stays && reason == "":
			continue
		}
		if err := p.line(Line{Entity: s.Name, Kind: m.kind, Key: r.key(s, m.Raw), Value: r.values(s, m.Item, p)}); err != nil {
			return err
		}
		count(&p.entity(g.t).Exported, m.kind, 1)
	}
	for _, c := range g.claims {
		if len(c.of) == 0 || !slices.Contains(list, c.of[0]) {
			continue
		}
		name := constraintOf(s, c.raw)
		key := r.key(s, layout.KeyOf(s, c.raw))
		for _, x := range plan.UniqueConstraints(s) {
			if x.Name() == name && !r.req.Secrets && slices.ContainsFunc(x.Fields(), (*schema.Attr).IsSecret) {
				key = map[string]any{s.PK.Attribute(): layout.HiddenValue}
			}
		}
		if err := p.line(Line{Entity: s.Name, Kind: Claim, Key: key, Value: map[string]any{"constraint": name}}); err != nil {
			return err
		}
		count(&p.entity(g.t).Exported, Claim, 1)
	}
	return nil
}

// constraintOf returns the name of the constraint of a sentinel.
func constraintOf(s *schema.Schema, raw item.Item) string {
	for _, c := range plan.UniqueConstraints(s) {
		if item.Equal(raw[schema.EntityAttr], item.S(c.EntityName())) {
			return c.Name()
		}
	}
	return ""
}

// row counts a row of a view, and writes it.
func (r *run) row(s *schema.Schema, view string, raw item.Item, p *part) error {
	at := slices.Index(r.views, view)
	p.Views[at].Rows++
	if r.out == nil {
		return nil
	}
	value := map[string]any{}
	for _, name := range []string{"key", "state", "events", "first", "last"} {
		switch av, ok := raw[name]; {
		case !ok:
		case s.Options.Secret && !r.req.Secrets && (name == "key" || name == "state"):
			p.secret(s.Name + "." + name)
		default:
			value[name] = plain(av)
		}
	}
	return p.line(Line{Entity: view, Kind: Row, Key: r.key(s, raw), Value: value})
}

// key returns the primary key of an item.
func (r *run) key(s *schema.Schema, it item.Item) map[string]any {
	out := map[string]any{}
	for name, av := range layout.KeyOf(s, it) {
		if out[name] = plain(av); !r.req.Secrets && layout.Hides(s, name) {
			out[name] = layout.HiddenValue
		}
	}
	return out
}

// values returns the attributes of an item that are neither the library's nor composed keys.
func (r *run) values(s *schema.Schema, it item.Item, p *part) map[string]any {
	out := map[string]any{}
	for name, av := range it {
		a := s.Attr(name)
		composed := slices.ContainsFunc(s.Keys(), func(k *schema.KeyDef) bool { return k.Written() && k.Attr == name })
		switch {
		case schema.Reserved(name) || a == nil && (composed || name == s.Options.TTL):
		case a != nil && a.IsSecret() && !r.req.Secrets:
			p.secret(s.Name + "." + name)
		default:
			out[name] = plain(av)
		}
	}
	return out
}

// secret notes a field that was left out.
func (r *Report) secret(name string) {
	if at, found := slices.BinarySearch(r.Secrets, name); !found {
		r.Secrets = slices.Insert(r.Secrets, at, name)
	}
}

// line adds a line. The names in it are sorted.
func (p *part) line(x Line) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(x); err != nil {
		return fmt.Errorf("an item of %s: %w", x.Entity, err)
	}
	p.lines = append(p.lines, b.Bytes()...)
	return nil
}

// plain returns an attribute as a value of JSON.
func plain(av types.AttributeValue) any {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return number(v.Value)
	case *types.AttributeValueMemberB:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return v.Value
	case *types.AttributeValueMemberSS:
		return slices.Sorted(slices.Values(v.Value))
	case *types.AttributeValueMemberNS:
		all := []any{}
		for _, n := range slices.Sorted(slices.Values(v.Value)) {
			all = append(all, number(n))
		}
		return all
	case *types.AttributeValueMemberBS:
		return slices.SortedFunc(slices.Values(v.Value), bytes.Compare)
	case *types.AttributeValueMemberL:
		all := []any{}
		for _, one := range v.Value {
			all = append(all, plain(one))
		}
		return all
	case *types.AttributeValueMemberM:
		all := map[string]any{}
		for name, one := range v.Value {
			all[name] = plain(one)
		}
		return all
	}
	return nil // NULL
}

// number returns the digits of a number, as a text if JSON has no such number.
func number(digits string) any {
	if json.Valid([]byte(digits)) {
		return json.Number(digits)
	}
	return digits
}
