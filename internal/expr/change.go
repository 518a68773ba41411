package expr

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// Kind of a change.
type Kind int

// Kinds. Increment, Push and Prepend treat an absent attribute as 0 and the empty list.
const (
	Set         Kind = iota // a = v
	SetIfAbsent             // a = v unless a exists
	Remove                  // a goes
	Increment               // a = a + v
	Push                    // v's elements at the end of list a
	Prepend                 // v's elements at the beginning of list a
	Insert                  // v's elements into set a
	Discard                 // v's elements out of set a
)

// Change is one step of an update. Source, when set, is the attribute that SetIfAbsent looks at instead of Path: a key
// attribute that copies a field which is written once follows that field.
type Change struct {
	Kind   Kind
	Path   Path
	Value  types.AttributeValue
	Source Path
}
