// Package recorded lists what the items of an entity store, for the schema lock and for checkpoints.
package recorded

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Attribute describes an attribute of an item, or a value inside one, as it is stored.
type Attribute struct {
	Path  string   // createdAt, address.city, lines[].sku, labels{}; names are escaped by PathName
	Words []string // the type in DynamoDB, then details
}

// lastingRoles are the roles that affect what is stored.
var lastingRoles = []schema.Role{
	schema.CreatedAt, schema.UpdatedAt, schema.DeletedAt, schema.Version, schema.Append, schema.Immutable, schema.SetOnce, schema.Zero,
}

// Of lists the attributes of the model and the values inside them, by path. It depends on names and types in the
// table, not on those in Go.
func Of(s *schema.Schema) []Attribute {
	w := walk{codec: s.Codec, on: map[reflect.Type]bool{}}
	for _, a := range s.Attrs {
		more := []string{presence(a.Type, a.Tag, a.Behind)}
		switch {
		case a.Required():
			more[0] = "required"
		case a.Role.Context != "": // which a context may lack
			more[0] = "optional"
		}
		if a.Epoch {
			more = append(more, "time="+a.Format.String())
		}
		for _, r := range lastingRoles {
			if a.Role.Has(r) {
				more = append(more, string(r))
			}
		}
		if a.Role.Context != "" {
			more = append(more, "context="+a.Role.Context)
		}
		if a.Text {
			w.found = append(w.found, Attribute{PathName(a.Name), append([]string{"S", "text"}, more...)})
			continue
		}
		w.add(PathName(a.Name), a.Type, a.Tag, a.Format, more)
	}
	slices.SortFunc(w.found, func(a, b Attribute) int { return cmp.Compare(a.Path, b.Path) })
	return w.found
}

// PathName escapes the name of an attribute for a path: a byte other than a letter, a digit, _, - and : becomes %XX.
func PathName(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == ':' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// presence returns what is stored if there is no value: optional (the attribute is absent), null, or always (the zero
// value).
func presence(t reflect.Type, o schema.Attribute, behind bool) string {
	switch {
	case o.OmitEmpty || behind:
		return "optional"
	case schema.Nilable(t) || o.NullEmpty:
		return "null"
	}
	return "always"
}

// condition returns the clauses of an index, nil if it has none. They are those of one of its keys.
func condition(x *schema.Index) []schema.Clause {
	for _, k := range x.Keys() {
		if k.When != nil {
			return k.When
		}
	}
	return nil
}

// When returns the condition of an index, "" if it has none: status="open"|"pending",!closedAt, whatever the order in the tag.
func When(x *schema.Index) string {
	var clauses []string
	for _, c := range condition(x) {
		text := PathName(c.Attr.Name)
		if c.Not {
			text = "!" + text
		}
		var values []string
		for _, av := range c.Values {
			values = append(values, item.ValueText(av))
		}
		if slices.Sort(values); values != nil {
			text += "=" + strings.Join(values, "|")
		}
		clauses = append(clauses, text)
	}
	slices.Sort(clauses)
	return strings.Join(clauses, ",")
}

// walk collects what values of a type store.
type walk struct {
	codec item.Codec
	found []Attribute
	on    map[reflect.Type]bool // structs, lists and maps around the current value
}

// add records the value at path and the values inside it. format is its format if it is a time.
func (w *walk) add(path string, t reflect.Type, o schema.Attribute, format key.TimeFormat, more []string) {
	t = schema.Encoded(t)
	words := append(typeOf(t, o, format), more...)
	if o.Set != "" && schema.IsTime(schema.Bare(t.Elem())) {
		words = append(words, "time="+w.codec.Default.String())
	}
	switch {
	case o.OmitEmptyElem:
		words = append(words, "omitemptyelem")
	case o.NullEmptyElem:
		words = append(words, "nullemptyelem")
	}
	i := len(w.found)
	w.found = append(w.found, Attribute{path, words})
	if words[0] != "L" && words[0] != "M" {
		return
	}
	if w.on[t] {
		w.found[i].Words = append(w.found[i].Words, "recursive")
		return
	}
	w.on[t] = true
	switch {
	case words[0] == "L":
		w.add(path+"[]", t.Elem(), schema.Attribute{}, w.codec.Default, nil)
	case t.Kind() == reflect.Map:
		w.add(path+"{}", t.Elem(), schema.Attribute{}, w.codec.Default, nil)
	default:
		for _, f := range item.Fields(t) {
			if f.Use != item.Stored {
				continue
			}
			format := w.codec.Default
			if f.Attr.UnixTime {
				format = key.Unix
			}
			w.add(path+"."+PathName(f.Attr.Name), f.Type, f.Attr, format, []string{presence(f.Type, f.Attr, f.Behind)})
		}
	}
	delete(w.on, t)
}

// typeOf returns the DynamoDB type of a value, and what the program can read of it: the range of a number, the
// elements of a set, the length of an array, the keys of a map. It is custom if the type encodes itself, and any for an
// interface.
func typeOf(t reflect.Type, o schema.Attribute, format key.TimeFormat) []string {
	switch {
	case item.EncodesItself(t):
		return []string{"custom"}
	case o.Set != "":
		words := []string{strings.ToUpper(o.Set[:1]) + "S"}
		switch e := schema.Encoded(t.Elem()); { // where the type of the set leaves open what its elements are
		case item.EncodesItself(e):
			words = append(words, "custom")
		case schema.Numeric(e):
			words = append(words, numberRange(e))
		case schema.BytesOf(e):
			words = append(words, length(e, "each")...)
		}
		return append(words, length(t, "length")...)
	case schema.IsTime(t) && format.Text():
		return []string{"S", "time=" + format.String()}
	case schema.IsTime(t):
		return []string{"N", "time=" + format.String()}
	}
	switch k := t.Kind(); {
	case schema.Numeric(t) && o.String:
		return []string{"S", "number", numberRange(t)}
	case schema.Numeric(t):
		return []string{"N", numberRange(t)}
	case k == reflect.String:
		return []string{"S"}
	case k == reflect.Bool:
		return []string{"BOOL"}
	case schema.BytesOf(t):
		return append([]string{"B"}, length(t, "length")...)
	case k == reflect.Slice || k == reflect.Array:
		return append([]string{"L"}, length(t, "length")...)
	case k == reflect.Map:
		keys := t.Key().Kind().String() // how they become text
		switch of := t.Key(); {
		case of.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
			keys = "text"
		case of.Kind() != reflect.String && schema.Numeric(of):
			keys = numberRange(of)
		}
		return []string{"M", "keys=" + keys}
	case k == reflect.Struct:
		return []string{"M"}
	}
	return []string{"any"}
}

// numberRange names the numbers that a numeric type holds: int8 to uint64, float32, float64, or decimal for a string,
// which holds any. An int counts as 64 bits, because a table is read on other machines too.
func numberRange(t reflect.Type) string {
	switch k := t.Kind(); k {
	case reflect.String:
		return "decimal"
	case reflect.Int, reflect.Uint:
		return k.String() + "64"
	default:
		return k.String()
	}
}

// length returns the number of elements of an array under a name; nothing for a slice.
func length(t reflect.Type, name string) []string {
	if t.Kind() != reflect.Array {
		return nil
	}
	return []string{name + "=" + strconv.Itoa(t.Len())}
}
