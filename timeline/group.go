package timeline

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// keyShape writes group keys as text: different keys give different texts, whose order is the order of rows.
type groupKeyCodec struct {
	parts []keyPart
}

// keyPart is one field of a group key, or the key itself.
type keyPart struct {
	name  string // Go name of the field; "" for the key itself
	index []int  // nil: the key itself
	kind  reflect.Kind
	time  bool
}

var timeType = reflect.TypeFor[time.Time]()

// shapeOf compiles the type of a group key: a string, a number, a bool, a time, or a struct of these. problem says why it
// cannot be one.
func groupKeyCodecOf(t reflect.Type) (shape groupKeyCodec, problem string) {
	if t.Kind() != reflect.Struct || t == timeType {
		part, problem := keyPartOf(t, "", nil)
		return groupKeyCodec{[]keyPart{part}}, problem
	}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() || f.Anonymous {
			return shape, fmt.Sprintf("field %s must be exported, and not embedded", f.Name)
		}
		part, problem := keyPartOf(f.Type, f.Name, f.Index)
		if problem != "" {
			return shape, fmt.Sprintf("field %s: %s", f.Name, problem)
		}
		shape.parts = append(shape.parts, part)
	}
	return shape, ""
}

func keyPartOf(t reflect.Type, name string, index []int) (keyPart, string) {
	p := keyPart{name: name, index: index, kind: t.Kind(), time: t == timeType}
	switch t.Kind() {
	case reflect.String, reflect.Bool,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return p, ""
	}
	if p.time {
		return p, ""
	}
	return p, fmt.Sprintf("a %s cannot be a group key; strings, integers, bools, times and structs of these can", t)
}

// text is the key as text. A string that is empty, or a time that is zero, is no value: the event lacks its group.
func (s groupKeyCodec) text(k reflect.Value) (string, error) {
	if len(s.parts) == 0 {
		return "all", nil // struct{}: one group for everything
	}
	texts := make([]string, len(s.parts))
	for i, p := range s.parts {
		v := k
		if p.index != nil {
			v = k.FieldByIndex(p.index)
		}
		text, err := p.text(v)
		if err != nil {
			return "", err
		}
		texts[i] = text
	}
	return strings.Join(texts, "\x01"), nil
}

func (p keyPart) text(v reflect.Value) (string, error) {
	switch {
	case p.time:
		t := v.Interface().(time.Time)
		if t.IsZero() {
			return "", p.missing("is the zero time")
		}
		return formatInstant(t)
	case p.kind == reflect.String:
		switch s := v.String(); {
		case s == "":
			return "", p.missing("is empty")
		case !utf8.ValidString(s):
			return "", p.missing("is not UTF-8")
		default:
			return groupKeyEscaper.Replace(s), nil
		}
	case p.kind == reflect.Bool:
		return strconv.FormatBool(v.Bool()), nil
	case v.CanInt():
		return fmt.Sprintf("%020d", uint64(v.Int())^1<<63), nil
	default:
		return fmt.Sprintf("%020d", v.Uint()), nil
	}
}

// escaper keeps the separators of texts and sort keys out of strings without changing their order.
var groupKeyEscaper = strings.NewReplacer("\x00", "\x02\x01", "\x01", "\x02\x02", "\x02", "\x02\x03")

func (p keyPart) missing(problem string) error {
	name := "the key"
	if p.name != "" {
		name = p.name
	}
	return fmt.Errorf("%w: %s %s", ErrGroupKeyMissing, name, problem)
}

// shown is the key for a reader. A part that has to do with a confidential text is hidden: it may have been made of it.
func (s groupKeyCodec) redacted(k reflect.Value, confidential []string) string {
	if len(s.parts) == 0 {
		return "all"
	}
	texts := make([]string, len(s.parts))
	for i, p := range s.parts {
		v := k
		if p.index != nil {
			v = k.FieldByIndex(p.index)
			texts[i] = p.name + "="
		}
		text := p.plain(v)
		if slices.ContainsFunc(confidential, func(c string) bool { return related(text, c) }) {
			texts[i] += "(hidden)"
		} else {
			texts[i] += strconv.Quote(text)
		}
	}
	return strings.Join(texts, " ")
}

func (p keyPart) plain(v reflect.Value) string {
	switch {
	case p.time:
		return v.Interface().(time.Time).UTC().Format(time.RFC3339Nano)
	case p.kind == reflect.String:
		return v.String()
	case p.kind == reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	}
	return strconv.FormatUint(v.Uint(), 10)
}

// related reports that one text has the other in it, whatever the case.
func related(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	return strings.Contains(a, b) || strings.Contains(b, a)
}

// confidential are the texts in an item's secret and unique attributes.
func (o *origin) confidentialTexts(it item.Item) (texts []string) {
	if o.core == nil {
		return nil
	}
	s := o.core.Schema
	constraints := plan.UniqueConstraints(s)
	for _, a := range s.Attrs {
		if a.Role.Has(tag.Secret) || slices.ContainsFunc(constraints, func(g plan.UniqueConstraint) bool { return g.Names(a) }) {
			texts = textsIn(texts, it[a.Name])
		}
	}
	return texts
}

// textsIn adds the texts and numbers in a value.
func textsIn(texts []string, av types.AttributeValue) []string {
	add := func(text string) {
		if text != "" {
			texts = append(texts, text)
		}
	}
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		add(v.Value)
	case *types.AttributeValueMemberN:
		add(v.Value)
	case *types.AttributeValueMemberSS:
		for _, e := range v.Value {
			add(e)
		}
	case *types.AttributeValueMemberNS:
		for _, e := range v.Value {
			add(e)
		}
	case *types.AttributeValueMemberL:
		for _, e := range v.Value {
			texts = textsIn(texts, e)
		}
	case *types.AttributeValueMemberM:
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			texts = textsIn(append(texts, name), v.Value[name])
		}
	}
	return texts
}
