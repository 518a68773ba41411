package expr

import (
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
)

// Renderer writes the conditions and changes of one request as expressions. Every name and value is replaced by a
// placeholder, so reserved words and odd characters never matter: a text has no character that JSON escapes.
type Renderer struct {
	Names  []string               // for which the placeholders of the expressions so far stand: the i-th for #i
	Values []types.AttributeValue // the i-th for :i

	clauses [len(words)][]byte // memory of [Renderer.Update]

	print func([]Path, types.AttributeValue) string // set: names and values are written out for a reader
	show  func(Path) string                         // of paths, for that reader
}

// Printer returns a Renderer for people: names and values stand in the text. path renders a path, value a value that is
// compared with, or given to, the attributes at some paths; either may hide what it is given.
func Printer(path func(Path) string, value func([]Path, types.AttributeValue) string) *Renderer {
	return &Renderer{print: value, show: path}
}

// Cond returns c as a condition, filter or key condition expression, "" for the empty condition.
func (r *Renderer) Cond(c Cond) string {
	var room [256]byte
	switch text := r.cond(room[:0], c); string(text) { // the guards of most writes take no memory
	case string(Exists) + "(#0)":
		return string(Exists) + "(#0)"
	case string(NotExists) + "(#0)":
		return string(NotExists) + "(#0)"
	default:
		return string(text)
	}
}

func (r *Renderer) cond(b []byte, c Cond) []byte {
	switch c.Op {
	case None:
		return b
	case And, Or:
		for i, k := range c.Conds {
			if i > 0 {
				b = append(append(append(b, ' '), c.Op...), ' ')
			}
			if k.Op == And || k.Op == Or {
				b = append(r.cond(append(b, '('), k), ')')
			} else {
				b = r.cond(b, k)
			}
		}
		return b
	case Not:
		return append(r.cond(append(b, "NOT ("...), c.Conds[0]), ')')
	case Exists, NotExists:
		return append(r.path(append(append(b, c.Op...), '('), c.Path), ')')
	case BeginsWith, Contains, HasType:
		b = append(r.path(append(append(b, c.Op...), '('), c.Path), ", "...)
		return append(r.value(b, c.Path, nil, c.Values[0]), ')')
	}
	b = r.operand(b, &c, 0)
	switch c.Op {
	case Between:
		b = r.operand(append(b, " BETWEEN "...), &c, 1)
		return r.operand(append(b, " AND "...), &c, 2)
	case In:
		b = append(b, " IN ("...)
		for i := range max(len(c.Values), len(c.Operands)-1) {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = r.operand(b, &c, i+1)
		}
		return append(b, ')')
	}
	return r.operand(append(append(append(b, ' '), c.Op...), ' '), &c, 1)
}

// operand appends the i-th operand of a comparison.
func (r *Renderer) operand(b []byte, c *Cond, i int) []byte {
	if c.Operands == nil {
		if i == 0 {
			return r.path(b, c.Path)
		}
		return r.value(b, c.Path, nil, c.Values[i-1])
	}
	switch o := c.Operands[i]; {
	case o.Path == nil:
		return r.value(b, nil, c.Operands, o.Value)
	case o.Size:
		return append(r.path(append(b, "size("...), o.Path), ')')
	default:
		return r.path(b, o.Path)
	}
}

// Update returns changes as an update expression, "" for none. It keeps their order within each clause.
func (r *Renderer) Update(changes []Change) string {
	for i := range r.clauses {
		r.clauses[i] = r.clauses[i][:0]
	}
	for i := range changes {
		c := &changes[i]
		clause := &r.clauses[clauseOf[c.Kind]]
		b := *clause
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		b = r.path(b, c.Path)
		switch c.Kind {
		case Remove:
		case AddToSet, DeleteFromSet:
			b = r.value(append(b, ' '), c.Path, nil, c.Value)
		case SetIfNotExists:
			source := c.Path
			if c.Source != nil {
				source = c.Source
			}
			b = r.ifNotExists(append(b, " = "...), source, c.Path, c.Value)
		case Add:
			b = append(r.ifNotExists(append(b, " = "...), c.Path, c.Path, zero), " + "...)
			b = r.value(b, c.Path, nil, c.Value)
		case ListAppend:
			b = append(r.ifNotExists(append(b, " = list_append("...), c.Path, c.Path, emptyList), ", "...)
			b = append(r.value(b, c.Path, nil, c.Value), ')')
		case ListPrepend:
			b = append(r.value(append(b, " = list_append("...), c.Path, nil, c.Value), ", "...)
			b = append(r.ifNotExists(b, c.Path, c.Path, emptyList), ')')
		default:
			b = r.value(append(b, " = "...), c.Path, nil, c.Value)
		}
		*clause = b
	}
	var room [512]byte
	b := room[:0]
	for i, text := range r.clauses {
		if len(text) == 0 {
			continue
		}
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = append(append(b, words[i]...), text...)
	}
	return string(b)
}

// words are the words with which clauses begin.
var words = [...]string{"SET ", "REMOVE ", "ADD ", "DELETE "}

// clauseOf has the index of the clause in which changes of a kind are.
var clauseOf = [DeleteFromSet + 1]int{Remove: 1, AddToSet: 2, DeleteFromSet: 3}

// ifNotExists appends the value of the attribute at a path or, if the item lacks that, another value.
func (r *Renderer) ifNotExists(b []byte, source, about Path, v types.AttributeValue) []byte {
	b = append(r.path(append(b, "if_not_exists("...), source), ", "...)
	return append(r.value(b, about, nil, v), ')')
}

// Project returns a projection expression for top-level attributes.
func (r *Renderer) Project(attributes []string) string {
	var b []byte
	for i, a := range attributes {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = r.path(b, Path{{Name: a}})
	}
	return string(b)
}

var (
	zero      types.AttributeValue = &types.AttributeValueMemberN{Value: "0"}
	emptyList types.AttributeValue = &types.AttributeValueMemberL{}
)

func (r *Renderer) path(b []byte, p Path) []byte {
	if r.print != nil {
		return append(b, r.show(p)...)
	}
	for i, s := range p {
		if s.Name == "" {
			b = append(strconv.AppendInt(append(b, '['), int64(s.Index), 10), ']')
			continue
		}
		if i > 0 {
			b = append(b, '.')
		}
		n := slices.Index(r.Names, s.Name)
		if n < 0 {
			n = len(r.Names)
			r.Names = append(r.Names, s.Name)
		}
		b = strconv.AppendInt(append(b, '#'), int64(n), 10)
	}
	return b
}

// value appends a value that is compared with, or given to, the attribute at a path or those among operands.
func (r *Renderer) value(b []byte, p Path, operands []Operand, av types.AttributeValue) []byte {
	if r.print != nil {
		about := []Path{p}
		if operands != nil {
			about = nil
			for _, o := range operands {
				if o.Path != nil {
					about = append(about, o.Path)
				}
			}
		}
		return append(b, r.print(about, av)...)
	}
	r.Values = append(r.Values, av)
	return strconv.AppendInt(append(b, ':'), int64(len(r.Values)-1), 10)
}

// NameMap returns the names as the SDK's inputs have them, nil without any.
func (r *Renderer) NameMap() map[string]string { return byPlaceholder("#", r.Names) }

// ValueMap returns the values as the SDK's inputs have them, nil without any.
func (r *Renderer) ValueMap() map[string]types.AttributeValue {
	m := byPlaceholder(":", r.Values)
	for placeholder, v := range m { // those of all requests stay here
		switch v {
		case zero:
			m[placeholder] = item.N("0")
		case emptyList:
			m[placeholder] = &types.AttributeValueMemberL{}
		}
	}
	return m
}

func byPlaceholder[V any](of string, list []V) map[string]V {
	if len(list) == 0 {
		return nil
	}
	m, known := make(map[string]V, len(list)), placeholders[of]
	for i, v := range list {
		if i < len(known) {
			m[known[i]] = v
		} else {
			m[of+strconv.Itoa(i)] = v
		}
	}
	return m
}

// placeholders are those of one digit and two.
var placeholders = func() map[string][]string {
	all := map[string][]string{"#": nil, ":": nil}
	for of := range all {
		for i := range 100 {
			all[of] = append(all[of], of+strconv.Itoa(i))
		}
	}
	return all
}()
