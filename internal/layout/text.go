package layout

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// printer formats values for messages.
type printer struct {
	s      *schema.Schema
	unique bool // hides unique values too, except in the primary key
}

// secret reports whether values of the attribute are hidden.
func secret(s *schema.Schema, name string) bool {
	a := s.Attr(name)
	return a != nil && a.IsSecret()
}

// HiddenValue is printed instead of a secret.
const HiddenValue = "<hidden>"

// PathText formats a path for messages. Names inside a secret attribute are hidden, because the keys of a map can be secrets.
func PathText(s *schema.Schema, path expr.Path) string {
	if len(path) > 1 && secret(s, path.Root()) {
		return item.Text(path.Root()) + "." + HiddenValue
	}
	return path.String()
}

// givenText formats a path of the caller's, which need not be well formed, for messages. Of a path that begins with no attribute of the
// struct it has the first name alone: a secret attribute may be misspelt.
func GivenText(s *schema.Schema, text string) string {
	root := text
	if end := strings.IndexAny(text, ".[]"); end >= 0 {
		root = text[:end]
	}
	switch {
	case s.Attr(root) == nil:
		return root
	case secret(s, root) && root != text:
		return root + "." + HiddenValue
	}
	return text
}

func (p printer) path(path expr.Path) string { return PathText(p.s, path) }

// Hides reports whether messages hide the values of an attribute: it is secret, or a key that is composed from a secret.
func Hides(s *schema.Schema, name string) bool { return printer{s: s}.hides(name) }

func (p printer) hides(name string) bool {
	if a := p.s.Attr(name); a != nil && p.hidden(a) {
		return true
	}
	for _, k := range slices.Concat(p.s.Keys(), p.s.RelatedKeys) {
		if k.Attr == name && slices.ContainsFunc(k.Parts, p.hidden) {
			return true
		}
	}
	return false
}

func (p printer) hidden(a *schema.Attr) bool {
	return a.IsSecret() || p.unique && a.IsUnique && !p.s.KeyPart(a)
}

func (p printer) value(about []expr.Path, av types.AttributeValue) string {
	for _, path := range about {
		if p.hides(path.Root()) {
			return HiddenValue
		}
	}
	return item.ValueText(av)
}

// Printer returns a renderer for plans. It hides values of secret attributes.
func Printer(s *schema.Schema) *expr.Renderer {
	return expr.Printer(printer{s: s}.path, printer{s: s}.value)
}

// ErrorText prints a condition for errors and reports. It hides secret and unique values.
func ErrorText(s *schema.Schema, c expr.Cond) string {
	p := printer{s: s, unique: true}
	return expr.Printer(p.path, p.value).Cond(c)
}

// KeyText formats a primary key for messages.
func KeyText(s *schema.Schema, key item.Item) string {
	var parts []string
	for _, k := range []*schema.KeyDef{s.PK, s.SK} {
		for _, name := range k.Attributes() {
			av, ok := key[name]
			if !ok {
				continue
			}
			parts = append(parts, item.Text(name)+"="+printer{s: s}.value([]expr.Path{expr.Attr(name)}, av))
		}
	}
	return strings.Join(parts, " ")
}

// ItemText formats an item without its key for messages. It hides values of secret attributes.
func ItemText(s *schema.Schema, it, key item.Item) string {
	p := printer{s: s}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(it)) {
		if _, ok := key[name]; !ok {
			parts = append(parts, item.Text(name)+"="+p.value([]expr.Path{expr.Attr(name)}, it[name]))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// FailedPart prints the part of a condition that does not hold on an item, with names of attributes and without values.
// Of a secret attribute it prints only the name. The text is empty if the part is unknown.
func FailedPart(s *schema.Schema, c expr.Cond, it item.Item) string {
	var failed []expr.Cond
	var split func(expr.Cond)
	split = func(c expr.Cond) {
		switch {
		case c.Op == expr.And:
			for _, part := range c.Conds {
				split(part)
			}
		case !c.Holds(it):
			failed = append(failed, c)
		}
	}
	split(c)
	return expr.Printer(printer{s: s}.path, func([]expr.Path, types.AttributeValue) string { return "?" }).Cond(expr.All(failed...))
}
