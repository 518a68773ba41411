package key

import "time"

// Kind is the type of a key part.
type Kind int

// The types of key parts.
const (
	String Kind = iota
	Int
	Uint
	Bool
	Time
)

// String names the kind for messages.
func (k Kind) String() string {
	switch k {
	case String:
		return "string"
	case Int:
		return "integer"
	case Uint:
		return "unsigned integer"
	case Bool:
		return "bool"
	case Time:
		return "time"
	default:
		return "unknown kind"
	}
}

// Value is the value of one key part. Kind says which of the fields counts.
type Value struct {
	Kind Kind
	S    string
	I    int64
	U    uint64
	B    bool
	T    time.Time
}
