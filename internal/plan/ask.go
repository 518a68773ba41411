package plan

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
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
