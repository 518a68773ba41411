package console

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// nestedError says what is wrong at which place of a value, such as address.notes[1].
type nestedError struct{ at, problem string }

func (e *nestedError) Error() string { return e.at + " " + e.problem }

// nestedValue reads the text of a form for a struct, map, list, set or bytes as a value of the attribute's type. The text has names and forms as they are stored.
func nestedValue(s *schema.Schema, a *schema.Attr, kind, text string) (any, error) {
	name := item.Text(a.Name)
	var v any
	switch kind {
	case kindBytes:
		v = strings.Join(strings.Fields(text), "")
	case kindSet:
		var all []any
		for line := range strings.Lines(text) {
			if line = strings.TrimSuffix(line, "\n"); strings.TrimSpace(line) != "" {
				all = append(all, line)
			}
		}
		v = all
	default:
		var err error
		if v, err = parsed(text); err != nil {
			return nil, &nestedError{name, "is no JSON: " + err.Error()}
		}
	}
	if list, _ := v.([]any); v == nil || kind == kindSet && len(list) == 0 {
		return nil, &nestedError{name, "has no value: give one, or mark it as absent"}
	}
	av, err := storedAs(name, a.Type, a.Tag, v)
	if err != nil {
		return nil, err
	}
	whole := reflect.New(s.Type)
	if err := s.Codec.Decode(item.Item{a.Name: av}, whole); err != nil {
		return nil, &nestedError{name, "is no " + a.Type.String() + ": " + err.Error()}
	}
	f, err := whole.Elem().FieldByIndexErr(a.Index)
	if err != nil {
		return nil, &nestedError{name, "has no value"}
	}
	return f.Interface(), nil
}

// parsed reads JSON, with numbers as they are written.
func parsed(text string) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err = d.Decode(&v); err == nil {
		if _, err = d.Token(); errors.Is(err, io.EOF) {
			return v, nil
		}
		return nil, errors.New("something follows the value")
	}
	at := d.InputOffset()
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		at = syntax.Offset
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		err = errors.New("it ends too early")
	}
	return nil, fmt.Errorf("line %d: %w", 1+strings.Count(text[:min(int(at), len(text))], "\n"), err)
}

// storedAs returns what is stored of a JSON value for a Go type with the tag of its field. The error is a *nestedError.
func storedAs(at string, t reflect.Type, tag item.Attribute, v any) (types.AttributeValue, error) {
	wrong := func(want string) error {
		if is := jsonKind(v); !strings.Contains(want, strings.TrimPrefix(is, "a ")) { // a text that is no time is a text
			want += ", and is " + is
		}
		return &nestedError{at, "must be " + want}
	}
	for t.Kind() == reflect.Pointer && v != nil {
		t = t.Elem()
	}
	k := t.Kind()
	switch {
	case v == nil && (k == reflect.Pointer || k == reflect.Map || k == reflect.Slice || k == reflect.Interface):
		return &types.AttributeValueMemberNULL{Value: true}, nil
	case t.ConvertibleTo(timeType) && k == reflect.Struct && !tag.UnixTime:
		text, _ := v.(string)
		if _, err := time.Parse(time.RFC3339Nano, text); err != nil {
			return nil, wrong("the text of a time, such as \"2026-04-22T12:00:00Z\"")
		}
		return item.S(text), nil
	case t == reflect.TypeFor[attributevalue.Number]() || t.ConvertibleTo(timeType) && k == reflect.Struct:
		return storedNumber(reflect.TypeFor[float64](), v, wrong)
	case k == reflect.Interface:
		return storedAny(at, v)
	case encodesItself(t):
		av, err := storedAny(at, v)
		if own, ok := reflect.New(t).Interface().(attributevalue.Unmarshaler); ok && err == nil {
			if failed := own.UnmarshalDynamoDBAttributeValue(av); failed != nil {
				return nil, &nestedError{at, "is no " + t.String() + ": " + failed.Error()}
			}
		}
		return av, err
	case tag.Set != "":
		return storedSet(at, t, v)
	case k == reflect.Bool:
		b, ok := v.(bool)
		if !ok {
			return nil, wrong("true or false")
		}
		return &types.AttributeValueMemberBOOL{Value: b}, nil
	case k == reflect.String:
		text, ok := v.(string)
		if !ok {
			return nil, wrong("a text")
		}
		return item.S(text), nil
	case k >= reflect.Int && k <= reflect.Float64 && k != reflect.Uintptr:
		if text, ok := v.(string); ok && tag.String {
			if _, err := storedNumber(t, json.Number(text), wrong); err != nil {
				return nil, err
			}
			return item.S(text), nil
		}
		return storedNumber(t, v, wrong)
	case (k == reflect.Slice || k == reflect.Array) && t.Elem().Kind() == reflect.Uint8:
		return storedBytes(t, v, wrong)
	case k == reflect.Slice || k == reflect.Array:
		return storedList(at, t, v, wrong)
	case k == reflect.Map:
		return storedMap(at, t, v, wrong)
	case k == reflect.Struct:
		return storedStruct(at, t, v, wrong)
	}
	return nil, &nestedError{at, "is a " + t.String() + ", which only the program edits"}
}

// encodesItself reports whether a type says itself what is stored.
func encodesItself(t reflect.Type) bool {
	_, own := reflect.PointerTo(t).MethodByName("UnmarshalDynamoDBAttributeValue")
	return own
}

// jsonKind names what a JSON value is, without the value.
func jsonKind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case json.Number:
		return "a number"
	case bool:
		return "true or false"
	case []any:
		return "a list"
	}
	return "an object"
}

func storedNumber(t reflect.Type, v any, wrong func(string) error) (types.AttributeValue, error) {
	n, ok := v.(json.Number)
	want, err := "a number that fits "+t.String(), error(nil)
	switch x := reflect.New(t).Elem(); {
	case x.CanInt():
		want = "a whole number that fits " + t.String()
		_, err = strconv.ParseInt(n.String(), 10, t.Bits())
	case x.CanUint():
		want = "a whole number from 0 that fits " + t.String()
		_, err = strconv.ParseUint(n.String(), 10, t.Bits())
	default:
		_, err = strconv.ParseFloat(n.String(), t.Bits())
	}
	if _, decimal := item.ParseDecimal(n.String()); !ok || err != nil || decimal != nil {
		return nil, wrong(want)
	}
	return item.N(n.String()), nil
}

func storedBytes(t reflect.Type, v any, wrong func(string) error) (types.AttributeValue, error) {
	text, ok := v.(string)
	b, err := base64.StdEncoding.DecodeString(text)
	if !ok || err != nil || t.Kind() == reflect.Array && len(b) != t.Len() {
		if t.Kind() == reflect.Array {
			return nil, wrong(fmt.Sprintf("a text of base64 for %d bytes", t.Len()))
		}
		return nil, wrong("a text of base64")
	}
	return &types.AttributeValueMemberB{Value: b}, nil
}

func storedList(at string, t reflect.Type, v any, wrong func(string) error) (types.AttributeValue, error) {
	list, ok := v.([]any)
	if !ok || t.Kind() == reflect.Array && len(list) != t.Len() {
		if t.Kind() == reflect.Array {
			return nil, wrong(fmt.Sprintf("a list of %d elements", t.Len()))
		}
		return nil, wrong("a list")
	}
	out := &types.AttributeValueMemberL{Value: []types.AttributeValue{}}
	for i, e := range list {
		av, err := storedAs(fmt.Sprintf("%s[%d]", at, i), t.Elem(), item.Attribute{}, e)
		if err != nil {
			return nil, err
		}
		out.Value = append(out.Value, av)
	}
	return out, nil
}

func storedMap(at string, t reflect.Type, v any, wrong func(string) error) (types.AttributeValue, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, wrong("an object")
	}
	out := &types.AttributeValueMemberM{Value: item.Item{}}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		below := at + "." + item.Text(name)
		if k := t.Key(); k.Kind() != reflect.String && !encodesItself(k) && !k.Implements(reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]()) {
			if _, err := storedNumber(k, json.Number(name), func(want string) error { return &nestedError{below, "must have a name that is " + want} }); err != nil {
				return nil, err
			}
		}
		av, err := storedAs(below, t.Elem(), item.Attribute{}, object[name])
		if err != nil {
			return nil, err
		}
		out.Value[name] = av
	}
	return out, nil
}

func storedStruct(at string, t reflect.Type, v any, wrong func(string) error) (types.AttributeValue, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, wrong("an object")
	}
	fields, names := map[string][]int{}, []string{}
	for name, index := range item.StoredFields(t) {
		fields[name], names = index, append(names, name)
	}
	out := &types.AttributeValueMemberM{Value: item.Item{}}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		below := at + "." + item.Text(name)
		index, declared := fields[name]
		if !declared {
			return nil, &nestedError{below, "is not declared; " + at + " has: " + strings.Join(names, ", ")}
		}
		f := t.FieldByIndex(index)
		tag, err := item.ParseAttribute(f.Tag.Get("dynamodbav"))
		if err != nil {
			return nil, &nestedError{below, "has a mistake in its tag"}
		}
		av, err := storedAs(below, f.Type, tag, object[name])
		if err != nil {
			return nil, err
		}
		out.Value[name] = av
	}
	return out, nil
}

// storedSet returns a set of the elements of a list, which are texts if a form gave them as lines.
func storedSet(at string, t reflect.Type, v any) (types.AttributeValue, error) {
	list, ok := v.([]any)
	if !ok {
		return nil, &nestedError{at, "must be a list, and is " + jsonKind(v)}
	}
	elem := item.Listed(t).Elem()
	var ss, ns []string
	var bs [][]byte
	seen := map[string]bool{}
	for i, e := range list {
		below := fmt.Sprintf("%s[%d]", at, i)
		if text, line := e.(string); line && elem.Kind() >= reflect.Int && elem.Kind() <= reflect.Float64 {
			e = json.Number(strings.TrimSpace(text))
		}
		av, err := storedAs(below, elem, item.Attribute{}, e)
		if err != nil {
			return nil, err
		}
		switch av := av.(type) {
		case *types.AttributeValueMemberS:
			ss = append(ss, av.Value)
		case *types.AttributeValueMemberN:
			ns = append(ns, av.Value)
		case *types.AttributeValueMemberB:
			bs = append(bs, av.Value)
		default:
			return nil, &nestedError{below, "cannot be in a set"}
		}
		text := item.ValueText(av)
		if seen[text] {
			return nil, &nestedError{below, "is in the set twice"}
		}
		seen[text] = true
	}
	switch {
	case len(ns) == len(list):
		return &types.AttributeValueMemberNS{Value: ns}, nil
	case len(bs) == len(list):
		return &types.AttributeValueMemberBS{Value: bs}, nil
	}
	return &types.AttributeValueMemberSS{Value: ss}, nil
}

// storedAny returns what is stored of a JSON value where the type says nothing.
func storedAny(at string, v any) (types.AttributeValue, error) {
	switch v := v.(type) {
	case nil:
		return &types.AttributeValueMemberNULL{Value: true}, nil
	case string:
		return item.S(v), nil
	case bool:
		return &types.AttributeValueMemberBOOL{Value: v}, nil
	case []any:
		return storedList(at, reflect.TypeFor[[]any](), v, nil)
	case map[string]any:
		return storedMap(at, reflect.TypeFor[map[string]any](), v, nil)
	}
	return storedNumber(reflect.TypeFor[float64](), v, func(want string) error { return &nestedError{at, "must be " + want} })
}
