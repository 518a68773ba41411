package expr

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Op is the operator of a condition, as DynamoDB spells it.
type Op string

// Operators. None is that of the empty condition, which always holds.
const (
	None       Op = ""
	Eq         Op = "="
	Ne         Op = "<>"
	Lt         Op = "<"
	Le         Op = "<="
	Gt         Op = ">"
	Ge         Op = ">="
	Between    Op = "BETWEEN"
	In         Op = "IN"
	BeginsWith Op = "begins_with"
	Contains   Op = "contains"
	Exists     Op = "attribute_exists"
	NotExists  Op = "attribute_not_exists"
	HasType    Op = "attribute_type"
	And        Op = "AND"
	Or         Op = "OR"
	Not        Op = "NOT"
)

// Cond is a condition: a comparison of the attribute at Path with Values, a comparison of Operands, or a combination of Conds.
type Cond struct {
	Op       Op
	Path     Path
	Values   []types.AttributeValue
	Operands []Operand // the first is compared with the others; nil where Path and Values say the same
	Conds    []Cond
}

// An Operand is one side of a comparison: the attribute at Path, the size of that attribute, or Value where Path is nil.
type Operand struct {
	Path  Path
	Size  bool
	Value types.AttributeValue
}

func Compare(op Op, p Path, values ...types.AttributeValue) Cond {
	return Cond{Op: op, Path: p, Values: values}
}

// turned are the operators of two operands that change places.
var turned = map[Op]Op{Eq: Eq, Ne: Ne, Lt: Gt, Le: Ge, Gt: Lt, Ge: Le}

// CompareAll compares the first of all with the others. A comparison of one attribute with values, whichever side it is on,
// gets the form that [Compare] gives it.
func CompareAll(op Op, all ...Operand) Cond {
	constant := func(o Operand) bool { return o.Path == nil }
	attribute := func(o Operand) bool { return o.Path != nil && !o.Size }
	if other := turned[op]; other != None && constant(all[0]) && attribute(all[1]) {
		op, all = other, []Operand{all[1], all[0]}
	}
	c := Cond{Op: op, Path: all[0].Path}
	for _, o := range all[1:] {
		if !attribute(all[0]) || !constant(o) {
			return Cond{Op: op, Operands: all}
		}
		c.Values = append(c.Values, o.Value)
	}
	return c
}

// Compared returns what a comparison compares, the first operand with the others, whichever form c has.
func (c Cond) Compared() []Operand {
	if c.Operands != nil {
		return c.Operands
	}
	all := []Operand{{Path: c.Path}}
	for _, v := range c.Values {
		all = append(all, Operand{Value: v})
	}
	return all
}

// All returns a condition that holds if every one of conds does. Empty conditions are dropped.
func All(conds ...Cond) Cond {
	n, last := 0, 0
	for i := range conds {
		if conds[i].Op != None {
			n, last = n+1, i
		}
	}
	switch n {
	case 0:
		return Cond{}
	case 1:
		return conds[last]
	}
	kept := make([]Cond, 0, n)
	for _, c := range conds {
		if c.Op != None {
			kept = append(kept, c)
		}
	}
	return Cond{Op: And, Conds: kept}
}

// Any returns a condition that holds if one of conds does. Empty conditions are dropped.
func Any(conds ...Cond) Cond {
	kept := make([]Cond, 0, len(conds))
	for _, c := range conds {
		if c.Op != None {
			kept = append(kept, c)
		}
	}
	if len(kept) < 2 {
		return All(kept...)
	}
	return Cond{Op: Or, Conds: kept}
}

// And is [All] of c and more, which is added to the conditions of c if c is one of All.
func (c Cond) And(more Cond) Cond {
	if c.Op != And || more.Op == None {
		return All(c, more)
	}
	c.Conds = append(c.Conds[:len(c.Conds):len(c.Conds)], more)
	return c
}

func Negate(c Cond) Cond { return Cond{Op: Not, Conds: []Cond{c}} }

// Roots calls visit with the top-level attribute of every path in c.
func (c Cond) Roots(visit func(string)) {
	if len(c.Path) > 0 {
		visit(c.Path.Root())
	}
	for _, o := range c.Operands {
		if o.Path != nil {
			visit(o.Path.Root())
		}
	}
	for _, k := range c.Conds {
		k.Roots(visit)
	}
}

// Operators returns how many operators c has. DynamoDB takes at most 300 in one expression.
func (c Cond) Operators() int {
	n := 1
	switch c.Op {
	case None:
		return 0
	case And, Or:
		n = len(c.Conds) - 1
	case In:
		n = max(len(c.Values), len(c.Operands)-1)
	}
	for _, o := range c.Operands {
		if o.Size {
			n++
		}
	}
	for _, k := range c.Conds {
		n += k.Operators()
	}
	return n
}

// DatabaseOnly names the first operator in c that only DynamoDB can be asked to evaluate, "" where Holds decides as it does.
// What size counts in a text is not documented, nor how absent operands compare. There Holds does what DynamoDB Local does,
// which is good enough for messages; nothing may be decided by it.
func (c Cond) DatabaseOnly() string {
	switch {
	case slices.ContainsFunc(c.Operands, func(o Operand) bool { return o.Size }):
		return "size"
	case c.Operands != nil:
		return string(c.Op) + " between attributes"
	}
	for _, k := range c.Conds {
		if op := k.DatabaseOnly(); op != "" {
			return op
		}
	}
	return ""
}
