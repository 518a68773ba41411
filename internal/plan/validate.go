package plan

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// Validator is implemented by types of fields, and by entities, that know which of their values may be stored.
type Validator interface{ Validate() error }

var (
	validatorType = reflect.TypeFor[Validator]()
	marshalerType = reflect.TypeFor[attributevalue.Marshaler]()
)

// refusals are what Validate methods said, each with the place of its value.
type refusals []refusal

type refusal struct {
	place string
	err   error
}

// walk asks v, stored as av, and every value inside it that is stored, the inner before the outer. av says what is stored: a
// nil one stands for a value that is absent.
func (r *refusals) walk(v reflect.Value, av types.AttributeValue, place string) {
	if !v.IsValid() || av == nil || !asks(v.Type()) {
		return
	}
	if k := v.Kind(); k == reflect.Pointer || k == reflect.Interface {
		r.walk(v.Elem(), av, place) // a nil one is no value
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
	r.ask(v, place)
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

func (r *refusals) walkElements(v reflect.Value, av types.AttributeValue, place func(int) string) {
	list, isList := av.(*types.AttributeValueMemberL)
	next := 0
	for i := range v.Len() {
		e, stored := v.Index(i), av
		if isList {
			if len(list.Value) < v.Len() && isEmpty(e) { // omitemptyelem left it out
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

// walkEntries asks keys too: they are stored like values.
func (r *refusals) walkEntries(v reflect.Value, av types.AttributeValue, place string) {
	m, ok := av.(*types.AttributeValueMemberM)
	if !ok {
		return
	}
	keys := map[string]reflect.Value{}
	for _, k := range v.MapKeys() {
		keys[keyText(k)] = k
	}
	for _, text := range sortedNames(m.Value) {
		if k, ok := keys[text]; ok {
			at := place + "[" + strconv.Quote(text) + "]"
			r.walk(k, m.Value[text], at)
			r.walk(v.MapIndex(k), m.Value[text], at)
		}
	}
}

// keyText is a map key as attributevalue writes it.
func keyText(k reflect.Value) string {
	if m, ok := k.Interface().(encoding.TextMarshaler); ok {
		text, err := m.MarshalText()
		if err != nil {
			return "" // the codec has failed before
		}
		return string(text)
	}
	return fmt.Sprint(k.Interface())
}

// isEmpty is what attributevalue leaves out under omitempty.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Map, reflect.Slice, reflect.Array, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// ask calls Validate on v or on a copy that has an address, whichever has the method. Of a struct without it, the
// embedded structs are asked: Go leaves a method out that two of them have. A panic of the method is the program's.
func (r *refusals) ask(v reflect.Value, place string) {
	if !v.CanInterface() {
		return
	}
	err, found := error(nil), hasMethod(v.Type())
	switch t := v.Type(); {
	case !found, promotedFromNil(v):
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
				r.ask(inner, place)
			}
		}
	}
}

var asking sync.Map // reflect.Type → bool

// asks reports that a value of type t, or one inside it, may have a Validate method.
func asks(t reflect.Type) bool {
	if known, ok := asking.Load(t); ok {
		return known.(bool)
	}
	found := mayAsk(t, map[reflect.Type]bool{})
	asking.Store(t, found)
	return found
}

func mayAsk(t reflect.Type, inside map[reflect.Type]bool) bool {
	if t.Kind() == reflect.Interface || hasMethod(t) {
		return true
	}
	if inside[t] {
		return false // what it contains is being looked at
	}
	inside[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return mayAsk(t.Elem(), inside)
	case reflect.Map:
		return mayAsk(t.Key(), inside) || mayAsk(t.Elem(), inside)
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); (f.IsExported() || f.Anonymous) && mayAsk(f.Type, inside) {
				return true
			}
		}
	}
	return false
}

// ValidateField checks a part of an item: the value fv of a, stored as av. The value and all values inside it are asked
// whether they may be stored, and then the Validator, by the field's tag. It returns the refusals, in the order of the
// fields.
func ValidateField(s *schema.Schema, a *schema.Attr, fv reflect.Value, av types.AttributeValue) []error {
	return append(askField(s, a, fv, av), check(s, a, a.Field, a.Rule, fv)...)
}

// askField asks the value fv of a and all values inside it.
func askField(s *schema.Schema, a *schema.Attr, fv reflect.Value, av types.AttributeValue) []error {
	var found refusals
	found.walk(fv, av, a.Field)
	return found.errors(s, a, CodeInvalid)
}

// check asks the Validator about v, a value of a or inside it for the place of rule.
func check(s *schema.Schema, a *schema.Attr, place string, rule *schema.Rule, v reflect.Value) []error {
	if err := rule.Check(s.Options.Validator, v); err != nil {
		return refusals{{place, err}}.errors(s, a, CodeRefused)
	}
	return nil
}

func (r refusals) errors(s *schema.Schema, a *schema.Attr, code string) []error {
	if len(r) > 0 && a != nil && a.Role.Has(tag.Secret) {
		return []error{&ValidationError{Code: code, Type: s.Type.String(), Field: a.Field}}
	}
	var errs []error
	for _, f := range r {
		errs = append(errs, &ValidationError{Code: code, Type: s.Type.String(), Field: f.place, Err: f.err})
	}
	return errs
}

// validate checks a whole value: it asks every field of v that it holds, v itself, and the Validator about v. A series
// is written in parts, so its fields are checked one by one.
func validate(s *schema.Schema, v reflect.Value, it item.Item) []error {
	var errs []error
	inParts := s.Handle != ""
	for _, a := range s.Attrs {
		fv, err := v.FieldByIndexErr(a.Index)
		av, written := it[a.Name]
		switch {
		case err != nil || !written || a.Owned():
		case inParts:
			errs = append(errs, ValidateField(s, a, fv, av)...)
		default:
			errs = append(errs, askField(s, a, fv, av)...)
		}
	}
	if inParts {
		return errs
	}
	var found refusals
	found.ask(v, "")
	errs = append(errs, found.errors(s, nil, CodeInvalid)...)
	if s.Options.Validator == nil {
		return errs
	}
	if err := s.Options.Validator.Struct(v.Interface()); err != nil {
		errs = append(errs, &ValidationError{Code: CodeRefused, Type: s.Type.String(), Err: err, Redacted: hasSecret(s)})
	}
	return errs
}

func hasSecret(s *schema.Schema) bool {
	return slices.ContainsFunc(s.Attrs, func(a *schema.Attr) bool { return a.Role.Has(tag.Secret) })
}

// validateChange asks what a change stores at n: its value, the elements that it adds, the key of its entry. What Add
// makes of a number only DynamoDB knows, and what contains a nested value is not there to be asked.
func validateChange(s *schema.Schema, n *schema.Node, c opt.Change, value any, av types.AttributeValue) []error {
	v := reflect.ValueOf(value)
	place := n.Field
	if place == "" {
		place = n.Attr.Field
	}
	if av == nil || !v.IsValid() || !storesValues(c.Kind) {
		return nil
	}
	var found refusals
	if c.Target.Key != nil {
		found.walk(reflect.ValueOf(c.Target.Key), av, place)
	}
	if !addsElements(c.Kind) {
		found.walk(v, av, place)
		return found.errors(s, n.Attr, CodeInvalid)
	}
	found.walkElements(v, av, func(int) string { return place })
	return found.errors(s, n.Attr, CodeInvalid)
}

// checkChange asks the Validator about what a change stores at n: its value, the elements that it adds, the key of its
// entry. Of a field that is removed, readers see the zero value, so the Validator is asked about that. It is not asked
// about what an Add makes of a number, or about a list, map or struct of which only a part changes.
func checkChange(s *schema.Schema, n *schema.Node, c opt.Change, value any) []error {
	v, place := reflect.ValueOf(value), n.Field
	if place == "" {
		place = n.Attr.Field
	}
	switch {
	case s.Options.Validator == nil || n.Rule == nil:
		return nil
	case c.Kind == expr.Remove && !n.Loose:
		return check(s, n.Attr, place, n.Rule, reflect.Zero(n.Rule.Type))
	case addsElements(c.Kind):
		var errs []error
		for i := range v.Len() {
			errs = append(errs, check(s, n.Attr, place, n.Rule.Elem, v.Index(i))...)
		}
		return errs
	case storesValues(c.Kind):
		var errs []error
		if c.Target.Key != nil {
			errs = check(s, n.Attr, place, n.KeyRule, reflect.ValueOf(c.Target.Key))
		}
		return append(errs, check(s, n.Attr, place, n.Rule, v)...)
	}
	return nil
}

// Joined is one error for all: nil for none, itself for one.
func Joined(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// hasMethod reports that a value of type t, or one that has an address, has a Validate method.
func hasMethod(t reflect.Type) bool {
	return t.Implements(validatorType) || reflect.PointerTo(t).Implements(validatorType)
}

// promotedFromNil reports that the Validate method of v is that of an embedded pointer or interface which is nil: there is
// no value to ask.
func promotedFromNil(v reflect.Value) bool {
	if v.Kind() != reflect.Struct || declares(v.Type()) {
		return false
	}
	from, there := provider(v)
	if !there {
		return true
	}
	if k := from.Kind(); k == reflect.Pointer || k == reflect.Interface {
		return from.IsNil() || promotedFromNil(from.Elem())
	}
	return promotedFromNil(from)
}

// declares reports that a Validate method was written for t itself. The compiler makes the one that is promoted from an
// embedded field, and says so where it names the source.
func declares(t reflect.Type) bool {
	m, ok := t.MethodByName("Validate")
	if !ok {
		m, ok = reflect.PointerTo(t).MethodByName("Validate")
	}
	if !ok {
		return false
	}
	file, _ := runtime.FuncForPC(m.Func.Pointer()).FileLine(m.Func.Pointer())
	return file != "<autogenerated>"
}

// provider is the embedded field whose Validate method v has: the shallowest one with the method, as Go promotes it.
// there is false when it lies behind a nil pointer.
func provider(v reflect.Value) (from reflect.Value, there bool) {
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
				if hasMethod(f.Type) {
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
