package schema

import (
	"slices"
	"strings"
)

// A Role says how the library uses a struct field.
type Role string

// The roles of the `entity` tag.
const (
	CreatedAt Role = "created_at"
	UpdatedAt Role = "updated_at"
	DeletedAt Role = "deleted_at"
	Version   Role = "version"
	Append    Role = "append"
	Immutable Role = "immutable"
	Required  Role = "required"
	SetOnce   Role = "set_once"
	Zero      Role = "zero"
	Secret    Role = "secret"
	NotNull   Role = "notnull"
	Text      Role = "text"
	Subject   Role = "subject"
)

var roles = []Role{CreatedAt, UpdatedAt, DeletedAt, Version, Append, Immutable, Required, SetOnce, Zero, Secret, NotNull, Text, Subject}

var timeFormats = []string{"ns", "us", "ms", "s", "unix", "unixms"}

// The kinds of generated ids.
const (
	UUIDv7 = "uuidv7"
	ULID   = "ulid"
)

var idKinds = []string{UUIDv7, ULID}

// fieldWords are the words of an `entity` tag, for suggestions.
var fieldWords = func() []string {
	var words []string
	for _, r := range roles {
		words = append(words, string(r))
	}
	for _, f := range timeFormats {
		words = append(words, "time="+f)
	}
	for _, k := range idKinds {
		words = append(words, "id="+k)
	}
	return append(words, string(Text)+ordered)
}()

// ordered follows the role text where the texts sort as the values do.
const ordered = "=ordered"

// Field is the parsed `entity` tag of a struct field.
type Field struct {
	Roles []Role // in the order given
	Time  string // ns, us, ms, s, unix or unixms; "" when not given

	Default string // the constant of default=…; "" when not given
	ID      string // uuidv7 or ulid; "" when not given
	Context string // name of the value of the context that the field gets; "" when not given

	Ordered bool // text=ordered was given
}

func (f Field) Has(r Role) bool { return slices.Contains(f.Roles, r) }

// ParseField reads a comma separated list of roles and at most one each of "time=format", "default=constant" and "id=kind".
// A constant cannot contain a comma. The schema checks whether the roles fit together and the field's type.
func ParseField(text string) (Field, error) {
	var field Field
	at := 0
	for word := range strings.SplitSeq(text, ",") {
		if err := field.add(word, at); err != nil {
			return Field{}, err
		}
		at += len(word) + len(",")
	}
	return field, nil
}

func (f *Field) add(word string, at int) error {
	if word == "" {
		return errorAt(at, "empty role")
	}
	if key, value, ok := strings.Cut(word, "="); ok {
		switch key {
		case "time":
			return choose(&f.Time, key, value, at, "time format", timeFormats)
		case "id":
			return choose(&f.ID, key, value, at, "kind of id", idKinds)
		case "default":
			switch {
			case value == "":
				return errorAt(at+len("default="), "default needs a constant")
			case f.Default != "":
				return errorAt(at, "default is given twice")
			}
			f.Default = value
			return nil
		case "context":
			if err := Name(value); err != nil {
				return errorAt(at+len("context="), "the name of a value of the context: %v", err)
			}
			if f.Context != "" {
				return errorAt(at, "context is given twice")
			}
			f.Context = value
			return nil
		}
	}
	name, isOrdered := strings.CutSuffix(word, ordered)
	role := Role(name)
	if isOrdered && role != Text {
		return errorAt(at, "only text can be ordered")
	}
	if !slices.Contains(roles, role) {
		hint := suggestion(word, fieldWords)
		if key, _, ok := strings.Cut(word, "="); ok && hint == "" {
			hint = suggestion(key, []string{"time", "id", "default", "context"})
		}
		if hint == "" && f.Default != "" {
			hint = "; the constant of default cannot contain a comma"
		}
		if hint == "" {
			hint = "; there are: " + strings.Join(fieldWords, ", ") + ", default=…, context=…"
		}
		return errorAt(at, "unknown role %q%s", word, hint)
	}
	if f.Has(role) {
		return errorAt(at, "%s is given twice", word)
	}
	f.Roles = append(f.Roles, role)
	f.Ordered = f.Ordered || isOrdered
	return nil
}

// choose sets word to value, one of known, which the tag gives under key.
func choose(word *string, key, value string, at int, what string, known []string) error {
	if !slices.Contains(known, value) {
		return errorAt(at+len(key)+len("="), "unknown %s %q%s; there are: %s", what, value, suggestion(value, known), strings.Join(known, ", "))
	}
	if *word != "" {
		return errorAt(at, "%s is given twice", key)
	}
	*word = value
	return nil
}
