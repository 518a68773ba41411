package expr

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
)

// Parse reads a condition that the SDK's expression package has written, with its placeholders for names and values. It
// takes that package's own spelling alone, spaces included, and gives an error for any other text. Errors never quote a value.
func Parse(text string, names map[string]string, values map[string]types.AttributeValue) (Cond, error) {
	p := &parser{rest: text, names: names, values: values}
	c, err := p.condition()
	if err == nil && p.rest != "" {
		err = p.unexpected()
	}
	if err != nil {
		return Cond{}, err
	}
	return c, nil
}

type parser struct {
	rest   string
	names  map[string]string
	values map[string]types.AttributeValue
}

func (p *parser) unexpected() error {
	return fmt.Errorf("%q is not part of a condition", p.rest)
}

// take removes token from the beginning of the text, and reports whether it was there.
func (p *parser) take(token string) bool {
	rest, ok := strings.CutPrefix(p.rest, token)
	p.rest = rest
	return ok
}

func (p *parser) expect(token string) error {
	if !p.take(token) {
		return p.unexpected()
	}
	return nil
}

func (p *parser) condition() (Cond, error) {
	switch {
	case p.take("NOT ("):
		c, err := p.closed()
		return Negate(c), err
	case p.take("("):
		return p.combination()
	}
	for _, op := range []Op{Exists, NotExists, HasType, BeginsWith, Contains} {
		if p.take(string(op) + " (") {
			return p.function(op)
		}
	}
	return p.comparison()
}

// closed reads a condition and the parenthesis after it.
func (p *parser) closed() (Cond, error) {
	c, err := p.condition()
	if err == nil {
		err = p.expect(")")
	}
	return c, err
}

// combination reads what follows the first parenthesis of (a) AND (b) AND (c), or of the same with OR.
func (p *parser) combination() (Cond, error) {
	first, err := p.closed()
	if err != nil {
		return Cond{}, err
	}
	out := Cond{Op: And, Conds: []Cond{first}}
	if strings.HasPrefix(p.rest, " OR (") {
		out.Op = Or
	}
	for p.take(" " + string(out.Op) + " (") {
		next, err := p.closed()
		if err != nil {
			return Cond{}, err
		}
		out.Conds = append(out.Conds, next)
	}
	if len(out.Conds) == 1 {
		return Cond{}, p.unexpected()
	}
	return out, nil
}

// function reads the arguments of op: an attribute and, except for the existence of it, a value.
func (p *parser) function(op Op) (Cond, error) {
	path, err := p.path()
	if err != nil {
		return Cond{}, err
	}
	c := Cond{Op: op, Path: path}
	if op != Exists && op != NotExists {
		if err := p.expect(", "); err != nil {
			return Cond{}, err
		}
		v, err := p.value()
		if err != nil {
			return Cond{}, err
		}
		c.Values = []types.AttributeValue{v}
	}
	return c, p.expect(")")
}

// infix are the operators between two operands. With the spaces around them none is a prefix of another.
var infix = []Op{Eq, Ne, Le, Ge, Lt, Gt}

func (p *parser) comparison() (Cond, error) {
	left, err := p.operand()
	if err != nil {
		return Cond{}, err
	}
	all := []Operand{left}
	more := func(before string) error {
		if err := p.expect(before); err != nil {
			return err
		}
		o, err := p.operand()
		all = append(all, o)
		return err
	}
	var op Op
	switch {
	case p.take(" BETWEEN "):
		op = Between
		if err = more(""); err == nil {
			err = more(" AND ")
		}
	case p.take(" IN ("):
		op = In
		for err = more(""); err == nil && !p.take(")"); {
			err = more(", ")
		}
	default:
		i := slices.IndexFunc(infix, func(op Op) bool { return p.take(" " + string(op) + " ") })
		if i < 0 {
			return Cond{}, p.unexpected()
		}
		op = infix[i]
		err = more("")
	}
	if err != nil {
		return Cond{}, err
	}
	return CompareAll(op, all...), nil
}

func (p *parser) operand() (o Operand, err error) {
	switch {
	case strings.HasPrefix(p.rest, ":"):
		o.Value, err = p.value()
	case p.take("size ("):
		o.Size = true
		if o.Path, err = p.path(); err == nil {
			err = p.expect(")")
		}
	default:
		o.Path, err = p.path()
	}
	return o, err
}

// placeholder reads a sign and the digits after it.
func (p *parser) placeholder(sign string) (string, error) {
	before := p.rest
	if err := p.expect(sign); err != nil {
		return "", err
	}
	p.digits()
	return before[:len(before)-len(p.rest)], nil
}

// digits removes the digits at the beginning of the text and returns them.
func (p *parser) digits() string {
	n := strings.IndexFunc(p.rest, func(r rune) bool { return r < '0' || r > '9' })
	if n < 0 {
		n = len(p.rest)
	}
	digits := p.rest[:n]
	p.rest = p.rest[n:]
	return digits
}

func (p *parser) value() (types.AttributeValue, error) {
	name, err := p.placeholder(":")
	if err != nil {
		return nil, err
	}
	v, ok := p.values[name]
	if !ok || !complete(v) {
		return nil, fmt.Errorf("the value %s is nil, or has a nil value in it", name)
	}
	return v, nil
}

// nils are the pointers to values that point to nothing.
var nils = []types.AttributeValue{
	(*types.AttributeValueMemberS)(nil), (*types.AttributeValueMemberN)(nil), (*types.AttributeValueMemberB)(nil),
	(*types.AttributeValueMemberBOOL)(nil), (*types.AttributeValueMemberNULL)(nil), (*types.AttributeValueMemberM)(nil),
	(*types.AttributeValueMemberL)(nil), (*types.AttributeValueMemberSS)(nil), (*types.AttributeValueMemberNS)(nil),
	(*types.AttributeValueMemberBS)(nil),
}

// complete reports that v, and everything in it, is a value and not nil.
func complete(v types.AttributeValue) bool {
	if item.TypeName(v) == "" || slices.Contains(nils, v) {
		return false
	}
	switch v := v.(type) {
	case *types.AttributeValueMemberL:
		return !slices.ContainsFunc(v.Value, func(e types.AttributeValue) bool { return !complete(e) })
	case *types.AttributeValueMemberM:
		for _, e := range v.Value {
			if !complete(e) {
				return false
			}
		}
	}
	return true
}

// path reads #0[1].#2, where each name takes any number of indexes.
func (p *parser) path() (Path, error) {
	var path Path
	for {
		placeholder, err := p.placeholder("#")
		if err != nil {
			return nil, err
		}
		name := p.names[placeholder]
		if name == "" {
			return nil, fmt.Errorf("the name %s is not known", placeholder)
		}
		path = append(path, Step{Name: name})
		for p.take("[") {
			digits := p.digits()
			i, err := strconv.Atoi(digits)
			if err != nil || strconv.Itoa(i) != digits {
				return nil, fmt.Errorf("%q is not an index of a list", digits)
			}
			path = append(path, Step{Index: i})
			if err := p.expect("]"); err != nil {
				return nil, err
			}
		}
		if !p.take(".") {
			return path, nil
		}
	}
}
