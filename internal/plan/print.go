package plan

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// Text prints the plan of op for in, one line per request and action. Values of secret attributes are hidden.
func (op *Op) Text(in Input) string {
	if op.Err != nil {
		return op.Verb + " " + op.Schema.Name + ": " + op.Err.Error()
	}
	title := op.Verb + " " + op.Schema.Name + " on " + op.Table
	if op.Read || op.Prepare != nil {
		return title + "\n" + op.afterRead()
	}
	if op.Old != nil {
		in.Joined = false // alone, it is not read
	}
	if op.Past {
		title += "\n  read   what earlier lives of the item have left"
	}
	step, err := op.Plan(in)
	if err != nil {
		return title + ": " + err.Error()
	}
	return title + "\n" + actionLines(op.Schema, step.Actions)
}

// afterRead prints what is known of a plan before its read: what is read, and what the caller asked for.
func (op *Op) afterRead() string {
	r := Printer(op.Schema)
	key := op.KeyIs
	if key == "" {
		key = "the item"
	}
	text := "  read   " + key + " consistently\n  write  what follows from it, if it is unchanged"
	if len(op.Changes) > 0 {
		text += "\n         " + r.Update(op.Changes)
	}
	if cond := r.Cond(op.If); cond != "" {
		text += "\n         if " + cond
	}
	return text
}

func actionLines(s *schema.Schema, actions []Action) string {
	p := printer{s}
	var b strings.Builder
	for i, a := range actions {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "  %-6s ", [...]string{"put", "update", "delete", "check"}[a.Kind])
		if a.Label != "" {
			b.WriteString(a.Label)
			continue
		}
		b.WriteString(KeyText(s, a.Key))
		r := expr.Printer(p.path, p.value)
		switch {
		case len(a.Changes) > 0:
			b.WriteString("\n         " + r.Update(a.Changes))
		case a.Kind == Put:
			b.WriteString("\n         " + p.item(a.Item, a.Key))
		}
		if cond := r.Cond(a.Cond); cond != "" {
			b.WriteString("\n         if " + cond)
		}
	}
	return b.String()
}

// Printer renders conditions and changes of s for a reader; values of secret attributes are hidden.
func Printer(s *schema.Schema) *expr.Renderer { return expr.Printer(printer{s}.path, printer{s}.value) }

// Broken is what of a condition does not hold on an item, for a message: names of attributes, and no values. Of a secret
// attribute it has nothing but the name. It is empty when that is unknown.
func Broken(s *schema.Schema, c expr.Cond, it item.Item) string {
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

// printer writes values for a reader.
type printer struct{ s *schema.Schema }

func (p printer) item(it, key item.Item) string {
	var parts []string
	for _, name := range sortedNames(it) {
		if _, ok := key[name]; !ok {
			parts = append(parts, name+"="+p.value([]expr.Path{expr.Attr(name)}, it[name]))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

const hiddenValue = "<hidden>"

func (p printer) value(about []expr.Path, av types.AttributeValue) string {
	for _, path := range about {
		if secret(p.s, path.Root()) || secretHalf(p.s, path.Root()) {
			return hiddenValue
		}
	}
	return ValueText(av)
}

func (p printer) path(path expr.Path) string { return PathText(p.s, path) }

// PathText is a path for messages. What lies inside a secret attribute has no name there: the keys of a map can be secrets.
func PathText(s *schema.Schema, path expr.Path) string {
	if len(path) > 1 && secret(s, path.Root()) {
		return path.Root() + "." + hiddenValue
	}
	return path.String()
}

// secret reports that values of the attribute are not shown.
func secret(s *schema.Schema, name string) bool {
	a := s.Attr(name)
	return a != nil && a.Role.Has(tag.Secret)
}

// secretHalf reports that a stored key attribute is composed from a secret one.
func secretHalf(s *schema.Schema, name string) bool {
	for _, h := range append(s.Keys(), s.RelatedKeys...) {
		if h.Attr != name {
			continue
		}
		for _, a := range h.Parts {
			if a.Role.Has(tag.Secret) {
				return true
			}
		}
	}
	return false
}

// KeyText is a primary key for messages.
func KeyText(s *schema.Schema, key item.Item) string {
	var parts []string
	for _, h := range []*schema.KeyDef{s.PK, s.SK} {
		for _, name := range h.Attributes() {
			av, ok := key[name]
			if !ok {
				continue
			}
			parts = append(parts, name+"="+printer{s}.value([]expr.Path{expr.Attr(name)}, av))
		}
	}
	return strings.Join(parts, " ")
}

// ValueText is av for a reader, nothing hidden.
func ValueText(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return strconv.Quote(v.Value)
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return "base64(" + base64.StdEncoding.EncodeToString(v.Value) + ")"
	case *types.AttributeValueMemberBOOL:
		return strconv.FormatBool(v.Value)
	case *types.AttributeValueMemberNULL:
		return "null"
	case *types.AttributeValueMemberL:
		parts := make([]string, len(v.Value))
		for i, e := range v.Value {
			parts[i] = ValueText(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *types.AttributeValueMemberM:
		var parts []string
		for _, name := range sortedNames(v.Value) {
			parts = append(parts, name+": "+ValueText(v.Value[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case *types.AttributeValueMemberSS:
		parts := make([]string, len(v.Value))
		for i, s := range v.Value {
			parts[i] = strconv.Quote(s)
		}
		return "set(" + strings.Join(parts, ", ") + ")"
	case *types.AttributeValueMemberNS:
		return "set(" + strings.Join(v.Value, ", ") + ")"
	case *types.AttributeValueMemberBS:
		return fmt.Sprintf("set(%d binaries)", len(v.Value))
	}
	return "?"
}
