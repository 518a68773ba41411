package key

import "fmt"

// PartError is a value that a key part cannot have. It never shows the value,
// which may be personal data.
type PartError struct {
	Attr    string
	Problem string // continues "key part x …"
}

// Error names the part and the problem.
func (e *PartError) Error() string {
	return fmt.Sprintf("key part %s %s", e.Attr, e.Problem)
}

func (f *Field) problem(format string, args ...any) error {
	return &PartError{Attr: f.Attr, Problem: fmt.Sprintf(format, args...)}
}
