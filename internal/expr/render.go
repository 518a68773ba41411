package expr

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/wire"
)

// Renderer writes the conditions and changes of one request as expressions. Every name and value is replaced by a
// placeholder, so reserved words and odd characters never matter.
type Renderer struct {
	wire.Placeholders                                           // of the expressions so far
	Room              int                                       // how many names and values to expect; 0 if that is unknown
	print             func([]Path, types.AttributeValue) string // set: names and values are written out for a reader
	show              func(Path) string                         // of paths, for that reader
}

// Printer returns a Renderer for people: names and values stand in the text. path renders a path, value a value that is
// compared with, or given to, the attributes at some paths; either may hide what it is given.
func Printer(path func(Path) string, value func([]Path, types.AttributeValue) string) *Renderer {
	return &Renderer{print: value, show: path}
}

// Cond returns c as a condition, filter or key condition expression, "" for the empty condition.
func (r *Renderer) Cond(c Cond) string {
	if c.Operands != nil {
		return r.operands(c)
	}
	switch c.Op {
	case None:
		return ""
	case And, Or:
		parts := make([]string, len(c.Conds))
		for i, k := range c.Conds {
			if parts[i] = r.Cond(k); k.Op == And || k.Op == Or {
				parts[i] = "(" + parts[i] + ")"
			}
		}
		return strings.Join(parts, " "+string(c.Op)+" ")
	case Not:
		return "NOT (" + r.Cond(c.Conds[0]) + ")"
	case Between:
		return r.path(c.Path) + " BETWEEN " + r.value(c.Path, c.Values[0]) + " AND " + r.value(c.Path, c.Values[1])
	case In:
		values := make([]string, len(c.Values))
		for i, v := range c.Values {
			values[i] = r.value(c.Path, v)
		}
		return r.path(c.Path) + " IN (" + strings.Join(values, ", ") + ")"
	case Exists, NotExists:
		p := r.path(c.Path)
		switch { // the guards of most writes
		case p == "#0" && c.Op == Exists:
			return string(Exists) + "(#0)"
		case p == "#0":
			return string(NotExists) + "(#0)"
		}
		return string(c.Op) + "(" + p + ")"
	case BeginsWith, Contains, HasType:
		return string(c.Op) + "(" + r.path(c.Path) + ", " + r.value(c.Path, c.Values[0]) + ")"
	}
	return r.path(c.Path) + " " + string(c.Op) + " " + r.value(c.Path, c.Values[0])
}

// operands is Cond for a comparison of operands.
func (r *Renderer) operands(c Cond) string {
	var about []Path
	for _, o := range c.Operands {
		if o.Path != nil {
			about = append(about, o.Path)
		}
	}
	all := make([]string, len(c.Operands))
	for i, o := range c.Operands {
		switch {
		case o.Path == nil:
			all[i] = r.valueOf(about, o.Value)
		case o.Size:
			all[i] = "size(" + r.path(o.Path) + ")"
		default:
			all[i] = r.path(o.Path)
		}
	}
	switch first, others := all[0], all[1:]; c.Op {
	case Between:
		return first + " BETWEEN " + others[0] + " AND " + others[1]
	case In:
		return first + " IN (" + strings.Join(others, ", ") + ")"
	default:
		return first + " " + string(c.Op) + " " + others[0]
	}
}

// Update returns changes as an update expression, "" for none. It keeps their order within each clause.
func (r *Renderer) Update(changes []Change) string {
	var set, remove, add, discard [256]byte
	clauses := [...][]byte{set[:0], remove[:0], add[:0], discard[:0]}
	write := func(i int, texts ...string) {
		if len(clauses[i]) > 0 {
			clauses[i] = append(clauses[i], ", "...)
		}
		for _, t := range texts {
			clauses[i] = append(clauses[i], t...)
		}
	}
	for _, c := range changes {
		p := r.path(c.Path)
		switch c.Kind {
		case Set:
			write(0, p, " = ", r.value(c.Path, c.Value))
		case SetIfNotExists:
			source := p
			if c.Source != nil {
				source = r.path(c.Source)
			}
			write(0, p, " = if_not_exists(", source, ", ", r.value(c.Path, c.Value), ")")
		case Add:
			write(0, p, " = if_not_exists(", p, ", ", r.value(c.Path, zero), ") + ", r.value(c.Path, c.Value))
		case ListAppend:
			write(0, p, " = list_append(if_not_exists(", p, ", ", r.value(c.Path, emptyList), "), ", r.value(c.Path, c.Value), ")")
		case ListPrepend:
			write(0, p, " = list_append(", r.value(c.Path, c.Value), ", if_not_exists(", p, ", ", r.value(c.Path, emptyList), "))")
		case Remove:
			write(1, p)
		case AddToSet:
			write(2, p, " ", r.value(c.Path, c.Value))
		case DeleteFromSet:
			write(3, p, " ", r.value(c.Path, c.Value))
		}
	}
	var whole [512]byte
	text := whole[:0]
	for i, word := range [...]string{"SET ", "REMOVE ", "ADD ", "DELETE "} {
		if len(clauses[i]) == 0 {
			continue
		}
		if len(text) > 0 {
			text = append(text, ' ')
		}
		text = append(append(text, word...), clauses[i]...)
	}
	return string(text)
}

// Project returns a projection expression for top-level attributes.
func (r *Renderer) Project(attributes []string) string {
	parts := make([]string, len(attributes))
	for i, a := range attributes {
		parts[i] = r.name(a)
	}
	return strings.Join(parts, ", ")
}

var (
	zero      types.AttributeValue = &types.AttributeValueMemberN{Value: "0"}
	emptyList types.AttributeValue = &types.AttributeValueMemberL{}
)

func (r *Renderer) path(p Path) string {
	if r.print != nil {
		return r.show(p)
	}
	if len(p) == 1 {
		return r.name(p[0].Name)
	}
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.Name == "":
			b.WriteString("[" + strconv.Itoa(s.Index) + "]")
		case i == 0:
			b.WriteString(r.name(s.Name))
		default:
			b.WriteString("." + r.name(s.Name))
		}
	}
	return b.String()
}

func (r *Renderer) name(attribute string) string {
	if r.print != nil {
		return attribute
	}
	i := slices.Index(r.Names, attribute)
	if i < 0 {
		i = len(r.Names)
		r.Names = append(slices.Grow(r.Names, max(r.Room-i, 1)), attribute)
	}
	return wire.Placeholder('#', i)
}

func (r *Renderer) value(p Path, av types.AttributeValue) string {
	if r.print != nil {
		return r.print([]Path{p}, av)
	}
	i := len(r.Values)
	r.Values = append(slices.Grow(r.Values, max(r.Room-i, 1)), av)
	return wire.Placeholder(':', i)
}

// valueOf is value for a value that is compared with several attributes, or with none.
func (r *Renderer) valueOf(about []Path, av types.AttributeValue) string {
	if r.print != nil {
		return r.print(about, av)
	}
	return r.value(nil, av)
}
