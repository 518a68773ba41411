package write

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Validator is implemented by entities and types of fields that check their own values.
type Validator interface{ Validate() error }

var (
	validatorType = reflect.TypeFor[Validator]()
	marshalerType = reflect.TypeFor[attributevalue.Marshaler]()
)

type refusal struct {
	place string
	err   error
}

// refusals collects the errors of Validate methods, each with the place of its value.
type refusals []refusal

var validateTypes sync.Map // reflect.Type → bool

// hasMethod reports whether a value of type t, or its address, has a Validate method.
func hasMethod(t reflect.Type) bool {
	return t.Implements(validatorType) || reflect.PointerTo(t).Implements(validatorType)
}

func findValidate(t reflect.Type, inside map[reflect.Type]bool) bool {
	if t.Kind() == reflect.Interface || hasMethod(t) {
		return true
	}
	if inside[t] {
		return false // the search is already inside it
	}
	inside[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return findValidate(t.Elem(), inside)
	case reflect.Map:
		return findValidate(t.Key(), inside) || findValidate(t.Elem(), inside)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); (f.IsExported() || f.Anonymous) && findValidate(f.Type, inside) {
				return true
			}
		}
	}
	return false
}

// MayHaveValidate reports whether a value of type t, or one inside it, may have a Validate method.
func MayHaveValidate(t reflect.Type) bool {
	if known, ok := validateTypes.Load(t); ok {
		return known.(bool)
	}
	found := findValidate(t, map[reflect.Type]bool{})
	validateTypes.Store(t, found)
	return found
}

func (r *refusals) walkFields(v reflect.Value, stored item.Item, place string) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if item.Flattened(f) != nil {
			if inner := reflect.Indirect(v.Field(i)); inner.IsValid() {
				r.walkFields(inner, stored, place)
			}
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("dynamodbav"), ",")
		if !f.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		r.walk(v.Field(i), stored[name], place+"."+f.Name)
	}
}

// isEmpty reports whether attributevalue leaves v out under omitempty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.Array, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

func (r *refusals) walkElements(v reflect.Value, av types.AttributeValue, place func(int) string) {
	list, isList := av.(*types.AttributeValueMemberL)
	next := 0
	for i := range v.Len() {
		e, stored := v.Index(i), av
		if isList {
			if len(list.Value) < v.Len() && isEmpty(e) { // omitemptyelem has left it out
				continue
			}
			if next == len(list.Value) {
				return
			}
			stored = list.Value[next]
			next++
		}
		r.walk(e, stored, place(i))
	}
}

// keyText returns a map key as attributevalue writes it.
func keyText(k reflect.Value) string {
	if m, ok := k.Interface().(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		if err != nil {
			return "" // the codec has already failed
		}
		return string(text)
	}
	return fmt.Sprint(k.Interface())
}

// walkEntries also validates keys, which are stored like values.
func (r *refusals) walkEntries(v reflect.Value, av types.AttributeValue, place string) {
	m, ok := av.(*types.AttributeValueMemberM)
	if !ok {
		return
	}
	keys := map[string]reflect.Value{}
	for _, k := range v.MapKeys() {
		keys[keyText(k)] = k
	}
	for _, text := range slices.Sorted(maps.Keys(m.Value)) {
		if k, ok := keys[text]; ok {
			at := place + "[" + strconv.Quote(text) + "]"
			r.walk(k, m.Value[text], at)
			r.walk(v.MapIndex(k), m.Value[text], at)
		}
	}
}

// methodByName returns a method of t. The names are constants: if a program looks up a method by another name, the linker keeps
// every exported method of every type, which adds megabytes of the SDK.
func methodByName(t reflect.Type, name string) (m reflect.Method, found bool) {
	switch name {
	case "Validate":
		return t.MethodByName("Validate")
	case "Prepare":
		return t.MethodByName("Prepare")
	}
	return m, false
}

// method returns a method of a value of type t, or of its address.
func method(t reflect.Type, name string) (reflect.Method, bool) {
	if m, found := methodByName(t, name); found {
		return m, true
	}
	return methodByName(reflect.PointerTo(t), name)
}

// hasNamed reports whether a value of type t, or its address, has a method of that name.
func hasNamed(t reflect.Type, name string) bool {
	_, found := method(t, name)
	return found
}

// declares reports whether t itself declares a method. The compiler generates the promoted methods, and their source
// file is named accordingly.
func declares(t reflect.Type, name string) bool {
	m, ok := method(t, name)
	if !ok {
		return false
	}
	file, _ := runtime.FuncForPC(m.Func.Pointer()).FileLine(m.Func.Pointer())
	return file != "<autogenerated>"
}

// provider returns the embedded field that a method of v is promoted from: the shallowest one with the method. there is
// false if it is behind a nil pointer.
func provider(v reflect.Value, method string) (from reflect.Value, there bool) {
	type place struct {
		t     reflect.Type // a struct
		index []int
	}
	seen := map[reflect.Type]bool{}
	for level := []place{{v.Type(), nil}}; len(level) > 0; {
		var next []place
		for _, p := range level {
			if seen[p.t] {
				continue
			}
			seen[p.t] = true
			for i := range p.t.NumField() {
				f := p.t.Field(i)
				if !f.Anonymous {
					continue
				}
				index := append(p.index[:len(p.index):len(p.index)], i)
				if hasNamed(f.Type, method) {
					fv, err := v.FieldByIndexErr(index)
					return fv, err == nil
				}
				t := f.Type
				if t.Kind() == reflect.Pointer {
					t = t.Elem()
				}
				if t.Kind() == reflect.Struct {
					next = append(next, place{t, index})
				}
			}
		}
		level = next
	}
	return v, false
}

// promotedFromNil reports whether a method of v is promoted from an embedded pointer or interface that is nil. Then there
// is no value that it belongs to.
func promotedFromNil(v reflect.Value, method string) bool {
	if v.Kind() != reflect.Struct || declares(v.Type(), method) {
		return false
	}
	from, there := provider(v, method)
	if !there {
		return true
	}
	if k := from.Kind(); k == reflect.Pointer || k == reflect.Interface {
		return from.IsNil() || promotedFromNil(from.Elem(), method)
	}
	return promotedFromNil(from, method)
}

// callValidate calls Validate on v, or on an addressable copy if the method has a pointer receiver. For a struct without
// the method it calls those of the embedded structs, because Go does not promote a method that two of them have. It does
// not recover panics.
func (r *refusals) callValidate(v reflect.Value, place string) {
	if !v.CanInterface() {
		return
	}
	err, found := error(nil), hasMethod(v.Type())
	switch t := v.Type(); {
	case !found, promotedFromNil(v, "Validate"):
	case t.Implements(validatorType):
		err = v.Interface().(Validator).Validate()
	default:
		p := reflect.New(t)
		p.Elem().Set(v)
		err = p.Interface().(Validator).Validate()
	}
	if err != nil {
		*r = append(*r, refusal{place, err})
	}
	if found || v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		if item.Flattened(v.Type().Field(i)) != nil {
			if inner := reflect.Indirect(v.Field(i)); inner.IsValid() {
				r.callValidate(inner, place)
			}
		}
	}
}

// walk validates v, stored as av, and every stored value inside it, inner values first. A nil av stands for an absent
// value, which is not validated.
func (r *refusals) walk(v reflect.Value, av types.AttributeValue, place string) {
	if !v.IsValid() || av == nil || !MayHaveValidate(v.Type()) {
		return
	}
	if k := v.Kind(); k == reflect.Pointer || k == reflect.Interface {
		r.walk(v.Elem(), av, place) // nil is not a value
		return
	}
	if t := v.Type(); !t.Implements(marshalerType) && !reflect.PointerTo(t).Implements(marshalerType) {
		switch v.Kind() {
		case reflect.Struct:
			if m, ok := av.(*types.AttributeValueMemberM); ok {
				r.walkFields(v, m.Value, place)
			}
		case reflect.Slice, reflect.Array:
			r.walkElements(v, av, func(i int) string { return place + "[" + strconv.Itoa(i) + "]" })
		case reflect.Map:
			r.walkEntries(v, av, place)
		}
	}
	r.callValidate(v, place)
}

func (r refusals) errors(s *schema.Schema, a *schema.Attr, code string) []error {
	if len(r) > 0 && a != nil && a.Role.Has(schema.Secret) {
		return []error{&entitytype.ValidationError{Code: code, Type: s.Type.String(), Field: a.Field}}
	}
	var errs []error
	for _, f := range r {
		errs = append(errs, &entitytype.ValidationError{Code: code, Type: s.Type.String(), Field: f.place, Err: f.err})
	}
	return errs
}

// validateField calls the Validate methods of the value fv of a and of all values inside it.
func validateField(s *schema.Schema, a *schema.Attr, fv reflect.Value, av types.AttributeValue) []error {
	var found refusals
	found.walk(fv, av, a.Field)
	return found.errors(s, a, CodeInvalid)
}

// checkRule calls the Validator for v, the value of a or one inside it, with the rule of that place.
func checkRule(s *schema.Schema, a *schema.Attr, place string, rule *schema.Rule, v reflect.Value) []error {
	if err := rule.Check(s.Options.Validator, v); err != nil {
		return refusals{{place, err}}.errors(s, a, CodeRefused)
	}
	return nil
}

// ValidateField validates a part of an item: the value fv of a, stored as av. It calls the Validate methods of the value
// and of all values inside it, and then the Validator with the field's tag. It returns the errors in field order.
func ValidateField(s *schema.Schema, a *schema.Attr, fv reflect.Value, av types.AttributeValue) []error {
	return append(validateField(s, a, fv, av), checkRule(s, a, a.Field, a.Rule, fv)...)
}

func hasSecret(s *schema.Schema) bool {
	return slices.ContainsFunc(s.Attrs, func(a *schema.Attr) bool { return a.Role.Has(schema.Secret) })
}

// Validate validates a whole value: every field of v that is stored, v itself, and then v with the Validator. A series
// is written in parts, so its fields are validated one by one.
func Validate(s *schema.Schema, v reflect.Value, it item.Item) []error {
	var errs []error
	inParts := s.Handle != ""
	for _, a := range s.Attrs {
		fv, err := v.FieldByIndexErr(a.Index)
		av, written := it[a.Name]
		switch {
		case err != nil || !written || a.IsOwned:
		case inParts:
			errs = append(errs, ValidateField(s, a, fv, av)...)
		default:
			errs = append(errs, validateField(s, a, fv, av)...)
		}
	}
	if inParts {
		return errs
	}
	var found refusals
	found.callValidate(v, "")
	errs = append(errs, found.errors(s, nil, CodeInvalid)...)
	if s.Options.Validator == nil {
		return errs
	}
	if err := s.Options.Validator.Struct(v.Interface()); err != nil {
		errs = append(errs, &entitytype.ValidationError{Code: CodeRefused, Type: s.Type.String(), Err: err, Redacted: hasSecret(s)})
	}
	return errs
}
