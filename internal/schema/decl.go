package schema

import (
	"reflect"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/internal/tag"
)

// Declaration is implemented by the types that blank fields declare features with. The type belongs to the package
// that owns the feature; the schema only calls it.
type Declaration interface{ Declare(*Decl) }

var declarationType = reflect.TypeFor[Declaration]()

// Decl is one declaration field while it is being read. Tag keys that Declare did not ask for are mistakes.
type Decl struct {
	Schema *Schema // attributes and roles are there; keys and indexes are complete only in a Check

	build *builder
	name  string // the declaration's type, for messages
	pairs []tag.Pair
	known []string

	primary bool // the key that is read is the primary one
}

// Tag returns the value of a tag key and whether it is there. Keys have to be asked for even when they are optional.
func (d *Decl) Tag(key string) (string, bool) {
	d.known = append(d.known, key)
	for _, p := range d.pairs {
		if p.Key == key {
			return p.Value, true
		}
	}
	return "", false
}

// Need is Tag for a key that must be there and not be empty.
func (d *Decl) Need(key string) (string, bool) {
	v, ok := d.Tag(key)
	if !ok || v == "" {
		d.Problem(CodeMalformed, "tag key %q is missing", key)
		return "", false
	}
	return v, true
}

// Duration reads a tag key that holds a duration greater than zero; 0 when the key is not there.
func (d *Decl) Duration(key string) time.Duration {
	text, ok := d.Tag(key)
	if !ok {
		return 0
	}
	v, err := tag.Duration(text)
	switch {
	case err != nil:
		d.Problem(CodeMalformed, "%s:%q: %v", key, text, err)
	case v <= 0:
		d.Problem(CodeBadDuration, "%s must be greater than zero", key)
	}
	return v
}

// Attribute returns the attribute of the struct that a tag key names, nil after reporting that there is none.
func (d *Decl) Attribute(option, name string) *Attr { return d.part(option, name) }

// Problem reports a mistake of this declaration.
func (d *Decl) Problem(code, format string, args ...any) {
	for _, p := range d.pairs { // several indexes have the same type
		if p.Key == "name" && p.Value != d.Schema.Name {
			format, args = "%s: "+format, append([]any{p.Value}, args...)
		}
	}
	d.build.add(code, "_ "+d.name, format, args...)
}

// Keep stores a feature's compiled declaration for its own package; see Feature.
func (d *Decl) Keep(feature any) { d.Schema.Features = append(d.Schema.Features, feature) }

// Check runs f when every declaration has been read. Keys and indexes that could not be understood are missing then.
func (d *Decl) Check(f func()) { d.build.checks = append(d.build.checks, f) }

// Satellites says that the feature stores items whose sort key is the current one's followed by up to n bytes.
func (d *Decl) RelatedItems(n int) { d.Schema.RelatedSuffix = max(d.Schema.RelatedSuffix, n) }

// finish reports the tag keys that Declare did not ask for.
func (d *Decl) finish() {
	for _, p := range d.pairs {
		if !slices.Contains(d.known, p.Key) {
			hint := ""
			if near := tag.Nearest(p.Key, d.known); near != "" {
				hint = "; did you mean " + near + "?"
			}
			d.Problem(CodeMalformed, "unknown tag key %q%s", p.Key, hint)
		}
	}
}
