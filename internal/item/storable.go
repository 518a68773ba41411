package item

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// CheckStorable returns a *FieldError for the first attribute, by name, whose value DynamoDB cannot store or the SDK would
// change: NaN, an infinity, more than 38 digits, text that is not UTF-8, an element twice in a set.
func CheckStorable(it Item) error {
	bad, problem := "", ""
	for name, av := range it {
		if p := unstorable(av); p != "" && (problem == "" || name < bad) {
			bad, problem = name, p
		}
	}
	if problem == "" {
		return nil
	}
	return &FieldError{bad, problem}
}

const (
	badNumber = "not a number that DynamoDB can store"
	badText   = "the text is not valid UTF-8"
	badSet    = "an element is in the set twice"
)

// unstorable returns why av cannot be stored, or "". Of several reasons in one map it returns the first by text.
func unstorable(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		if !utf8.ValidString(v.Value) {
			return badText
		}
	case *types.AttributeValueMemberN:
		if short(v.Value) {
			return ""
		}
		if _, err := ParseDecimal(v.Value); err != nil {
			return badNumber
		}
	case *types.AttributeValueMemberSS:
		return unstorableSet(v.Value, func(e string) (string, string) { return e, unstorable(S(e)) })
	case *types.AttributeValueMemberNS:
		return unstorableSet(v.Value, func(e string) (string, string) {
			d, err := ParseDecimal(e)
			if err != nil {
				return "", badNumber
			}
			return d.String(), ""
		})
	case *types.AttributeValueMemberBS:
		return unstorableSet(v.Value, func(e []byte) (string, string) { return string(e), "" })
	case *types.AttributeValueMemberL:
		for _, e := range v.Value {
			if p := unstorable(e); p != "" {
				return p
			}
		}
	case *types.AttributeValueMemberM:
		var all []string
		for name, e := range v.Value {
			if !utf8.ValidString(name) {
				all = append(all, badText)
			}
			if p := unstorable(e); p != "" {
				all = append(all, p)
			}
		}
		if len(all) > 0 {
			return slices.Min(all)
		}
	}
	return ""
}

// unstorableSet returns why the set cannot be stored, or "". same returns an element's identity and problem.
func unstorableSet[E any](set []E, same func(E) (id, problem string)) string {
	seen := make(map[string]bool, len(set))
	for _, e := range set {
		id, problem := same(e)
		if problem != "" {
			return problem
		}
		if seen[id] {
			return badSet
		}
		seen[id] = true
	}
	return ""
}

// Deepest is the most levels of nested values, pointers included. DynamoDB allows 32 levels of lists and maps; a value with
// more than this contains itself.
const Deepest = 200

// OtherBytes returns why lists of type t cannot be stored, or "": attributevalue takes the elements for bytes by their kind,
// and then panics because their type is not byte.
func OtherBytes(t reflect.Type) string {
	if k := t.Kind(); k != reflect.Slice && k != reflect.Array || t.Elem().Kind() != reflect.Uint8 || t.Elem() == reflect.TypeFor[byte]() {
		return ""
	}
	return fmt.Sprintf("a %s cannot be stored, as bytes or as a list; use elements of type byte, or of a type made of uint16", t)
}

// checkValue rejects what attributevalue would leave out or encode wrongly without an error. The schema checks types; this
// checks what only a value shows: the content of interfaces, and cycles.
func checkValue(v reflect.Value, depth int) error {
	t := v.Type()
	switch {
	case depth > Deepest:
		return &FieldError{"", "the value is nested too deeply, or contains itself"}
	case !factsOf(t).needs().check:
		return nil
	case t.Implements(marshalerType), v.CanAddr() && reflect.PointerTo(t).Implements(marshalerType):
		if IsBlank(v, "") {
			return nil
		}
		_, err := ask(v)
		return err
	case reflect.PointerTo(t).Implements(marshalerType):
		return &FieldError{"", fmt.Sprintf("a %s does not encode itself here, only a pointer to it does", t)}
	}
	switch t.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if e := v.Elem(); t.Kind() == reflect.Interface && e.Kind() == reflect.Pointer && e.IsNil() && e.Type().Implements(marshalerType) {
			return &FieldError{"", fmt.Sprintf("a nil %s cannot encode itself", e.Type())} // attributevalue would call its method
		}
		return checkValue(v.Elem(), depth+1)
	case reflect.Slice, reflect.Array:
		if problem := OtherBytes(t); problem != "" {
			return &FieldError{"", problem}
		}
		for i := range v.Len() {
			if err := checkValue(v.Index(i), depth+1); err != nil {
				return err
			}
		}
		return nil
	case reflect.Map:
		var first error // by text, so that it is the same in any map order
		for entries := v.MapRange(); entries.Next(); {
			if err := checkValue(entries.Value(), depth+1); err != nil && (first == nil || err.Error() < first.Error()) {
				first = err
			}
		}
		return first
	case reflect.Struct:
		if Opaque(t) {
			break
		}
		if problem := factsOf(t).problem; problem != "" {
			return &FieldError{"", problem}
		}
		for _, f := range factsOf(t).fields {
			fv, err := v.FieldByIndexErr(f.index)
			if err != nil || IsBlank(fv, f.options) { // or it is inside a nil embedded pointer
				continue
			}
			if f.floatText && !finite(fv) {
				return &FieldError{"", badNumber}
			}
			if err := checkValue(fv, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return &FieldError{"", fmt.Sprintf("a value of type %s cannot be stored", t)}
}

// IsBlank reports whether attributevalue encodes v, a value of a field with these options, without asking its method: it is nil, or
// empty and to be left out or NULL.
func IsBlank(v reflect.Value, options string) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return v.IsNil()
	case reflect.Struct:
		return false
	case reflect.Array:
		return v.Len() == 0
	}
	return isZero(v) && strings.Contains(options, "empty")
}

// ask calls the method by which v encodes itself. It is an error if that returns no value: attributevalue would store the fields of v
// as they are.
func ask(v reflect.Value) (types.AttributeValue, error) {
	if v.CanAddr() && v.Kind() != reflect.Pointer {
		v = v.Addr()
	}
	av, err := v.Interface().(attributevalue.Marshaler).MarshalDynamoDBAttributeValue()
	if av == nil && err == nil {
		err = &FieldError{"", fmt.Sprintf("the method MarshalDynamoDBAttributeValue of a %s returned no value; return a NULL, which omitempty leaves out", v.Type())}
	}
	return av, err
}

// OwnZero returns what the zero value of t, which encodes itself, is stored as; nil if it has no value.
func OwnZero(t reflect.Type) (av types.AttributeValue) {
	defer func() { // the method may panic on the zero value
		if recover() != nil {
			av = nil
		}
	}()
	av, err := ask(reflect.New(t).Elem())
	if err != nil {
		return nil
	}
	return av
}

func finite(v reflect.Value) bool {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return true
		}
		v = v.Elem()
	}
	return !math.IsNaN(v.Float()) && !math.IsInf(v.Float(), 0)
}
