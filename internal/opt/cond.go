package opt

import "github.com/dynastrata/dynastrata/internal/expr"

// Target is what a condition or change is about: a pointer into a prototype, an entry of a map or an element of a list
// that such a pointer leads to, a path in text, or an attribute by its plain name; or what lies inside one of these.
type Target struct {
	Pointer any
	Entry   *string // key in the map at Pointer
	Key     any     // the same as the program gave it
	Elem    *int    // index in the list at Pointer
	Text    string  // path, when Pointer is nil
	Attr    string  // name, when Pointer is nil and there is no Text
	Inside  string  // path from there; it may begin with an index
}

// Where is the operator of a condition that was built with the SDK's expression package.
const Where expr.Op = "Where"

// Cond is a condition before it is checked against a schema: Values are Go values of the target's type.
type Cond struct {
	Op     expr.Op
	Target Target
	Values []any
	Conds  []Cond
	Built  expr.Cond // of Where, with its values encoded
	Err    error     // why Where has none
}

// Change is an update's change before it is checked against a schema.
type Change struct {
	Kind   expr.Kind
	Target Target
	Value  any  // of the target's type; the elements for Push, Insert and Discard
	Once   bool // Set only when absent
}
