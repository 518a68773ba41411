package expr

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// Op is the operator of a condition.
type Op string

// Operators. None is the empty condition, which always holds.
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

// Cond is a condition: a comparison of the attribute at Path with Values, or a combination of Conds.
type Cond struct {
	Op     Op
	Path   Path
	Values []types.AttributeValue
	Conds  []Cond
}

// Compare returns a condition on the attribute at p.
func Compare(op Op, p Path, values ...types.AttributeValue) Cond {
	return Cond{Op: op, Path: p, Values: values}
}

// All holds when every one of conds holds; empty conditions fall away.
func All(conds ...Cond) Cond { return combine(And, conds) }

// Any holds when one of conds holds; empty conditions fall away.
func Any(conds ...Cond) Cond { return combine(Or, conds) }

func combine(op Op, conds []Cond) Cond {
	var kept []Cond
	for _, c := range conds {
		if c.Op != None {
			kept = append(kept, c)
		}
	}
	switch len(kept) {
	case 0:
		return Cond{}
	case 1:
		return kept[0]
	}
	return Cond{Op: op, Conds: kept}
}

// Negate holds when c does not.
func Negate(c Cond) Cond { return Cond{Op: Not, Conds: []Cond{c}} }

// Roots calls visit with the top-level attribute of every path in c.
func (c Cond) Roots(visit func(string)) {
	if len(c.Path) > 0 {
		visit(c.Path.Root())
	}
	for _, k := range c.Conds {
		k.Roots(visit)
	}
}

// Operators counts what DynamoDB counts against its limit of 300 for one expression.
func (c Cond) Operators() int {
	n := 1
	switch c.Op {
	case None:
		return 0
	case And, Or:
		n = len(c.Conds) - 1
	case In:
		n = len(c.Values)
	}
	for _, k := range c.Conds {
		n += k.Operators()
	}
	return n
}
