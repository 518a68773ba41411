package write

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
type printer struct{ s *schema.Schema }

// secret reports whether values of the attribute are hidden.
func secret(s *schema.Schema, name string) bool {
	a := s.Attr(name)
	return a != nil && a.Role.Has(schema.Secret)
}

// HiddenValue is printed instead of a secret.
const HiddenValue = "<hidden>"

// PathText formats a path for messages. Names inside a secret attribute are hidden, because the keys of a map can be
// secrets.
func PathText(s *schema.Schema, path expr.Path) string {
	if len(path) > 1 && secret(s, path.Root()) {
		return item.Text(path.Root()) + "." + HiddenValue
	}
	return path.String()
}

func (p printer) path(path expr.Path) string { return PathText(p.s, path) }

// hasSecretPart reports whether a stored key attribute is composed from a secret attribute.
func hasSecretPart(s *schema.Schema, name string) bool {
	for _, k := range slices.Concat(s.Keys(), s.RelatedKeys) {
		if k.Attr != name {
			continue
		}
		for _, a := range k.Parts {
			if a.Role.Has(schema.Secret) {
				return true
			}
		}
	}
	return false
}

// Hides reports whether messages hide the values of an attribute: it is secret, or a key that is composed from a secret.
func Hides(s *schema.Schema, name string) bool { return secret(s, name) || hasSecretPart(s, name) }

func (p printer) value(about []expr.Path, av types.AttributeValue) string {
	for _, path := range about {
		if Hides(p.s, path.Root()) {
			return HiddenValue
		}
	}
	return item.ValueText(av)
}

// Printer returns a renderer for messages. It hides values of secret attributes.
func Printer(s *schema.Schema) *expr.Renderer { return expr.Printer(printer{s}.path, printer{s}.value) }

// KeyText formats a primary key for messages.
func KeyText(s *schema.Schema, key item.Item) string {
	var parts []string
	for _, k := range []*schema.KeyDef{s.PK, s.SK} {
		for _, name := range k.Attributes() {
			av, ok := key[name]
			if !ok {
				continue
			}
			parts = append(parts, item.Text(name)+"="+printer{s}.value([]expr.Path{expr.Attr(name)}, av))
		}
	}
	return strings.Join(parts, " ")
}

// ItemText formats an item without its key for messages. It hides values of secret attributes.
func ItemText(s *schema.Schema, it, key item.Item) string {
	p := printer{s}
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
	return expr.Printer(printer{s}.path, func([]expr.Path, types.AttributeValue) string { return "?" }).Cond(expr.All(failed...))
}
