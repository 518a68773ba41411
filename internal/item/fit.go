package item

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// fit returns av in a form that attributevalue decodes into a t without loss, or a problem. attributevalue also takes
// attributes for a field whose name differs in case, so they are removed. It cuts lists to the length of an array, and
// panics on a binary of another length; these are problems. It takes the largest float32 for one that is too large.
func fit(av types.AttributeValue, t reflect.Type) (types.AttributeValue, string) {
	if t.Implements(unmarshalerType) || reflect.PointerTo(t).Implements(unmarshalerType) || isTime(t) {
		return av, ""
	}
	switch t.Kind() {
	case reflect.Float32:
		switch v := av.(type) {
		case *types.AttributeValueMemberN:
			return &types.AttributeValueMemberN{Value: float32Text(v.Value)}, ""
		case *types.AttributeValueMemberS:
			return &types.AttributeValueMemberS{Value: float32Text(v.Value)}, ""
		}
	case reflect.Pointer:
		return fit(av, t.Elem())
	case reflect.Array:
		if problem := fitLength(av, t); problem != "" {
			return nil, problem
		}
		return fitElements(av, t.Elem())
	case reflect.Slice:
		return fitElements(av, t.Elem())
	case reflect.Map:
		m, ok := av.(*types.AttributeValueMemberM)
		if ok && keysCollide(m.Value, t.Key()) {
			return nil, fmt.Sprintf("two stored keys are one %s", t.Key())
		}
		if ok && factsOf(t.Elem()).needs().fit {
			return fitEntries(m.Value, func(string) (reflect.Type, bool) { return t.Elem(), true })
		}
	case reflect.Struct:
		if m, ok := av.(*types.AttributeValueMemberM); ok {
			attrs := factsOf(t).attrs
			return fitEntries(m.Value, func(name string) (reflect.Type, bool) { f, ok := attrs[name]; return f.typ, ok })
		}
	}
	return av, ""
}

// keysCollide reports whether two of the stored names are the same key of type t, as 1 and 01 are for an int. One of their
// values would be lost.
func keysCollide(entries Item, t reflect.Type) bool {
	if ownText(t) || len(entries) < 2 {
		return false
	}
	names := &types.AttributeValueMemberM{Value: make(Item, len(entries))}
	for name := range entries {
		names.Value[name] = &types.AttributeValueMemberNULL{Value: true}
	}
	keys := reflect.New(reflect.MapOf(t, reflect.TypeFor[any]()))
	// Names that are not keys fail again when the entries are decoded.
	return attributevalue.Unmarshal(names, keys.Interface()) == nil && keys.Elem().Len() < len(entries)
}

// float32Text returns the float32 of text exactly: attributevalue compares the nearest float64, which is above the largest
// float32 for that number's shortest text.
func float32Text(text string) string {
	f, err := strconv.ParseFloat(text, 32)
	if err != nil {
		return text
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func fitLength(av types.AttributeValue, t reflect.Type) string {
	v := wire.ValueOf(av)
	if b, ok := av.(*types.AttributeValueMemberB); ok && len(b.Value) != t.Len() {
		return fmt.Sprintf("the stored binary has another length than %s", t)
	}
	if v.Kind() != wire.M && v.Len() > t.Len() {
		return fmt.Sprintf("the stored value has more elements than %s", t)
	}
	return ""
}

func fitElements(av types.AttributeValue, elem reflect.Type) (types.AttributeValue, string) {
	if !factsOf(elem).needs().fit {
		return av, ""
	}
	switch v := av.(type) {
	case *types.AttributeValueMemberBS:
		for _, e := range v.Value {
			if _, problem := fit(&types.AttributeValueMemberB{Value: e}, elem); problem != "" {
				return nil, problem
			}
		}
	case *types.AttributeValueMemberNS:
		if Pointee(elem).Kind() == reflect.Float32 {
			out := &types.AttributeValueMemberNS{}
			for _, e := range v.Value {
				out.Value = append(out.Value, float32Text(e))
			}
			return out, ""
		}
	case *types.AttributeValueMemberL:
		out := &types.AttributeValueMemberL{Value: make([]types.AttributeValue, len(v.Value))}
		for i, e := range v.Value {
			var problem string
			if out.Value[i], problem = fit(e, elem); problem != "" {
				return nil, problem
			}
		}
		return out, ""
	}
	return av, ""
}

// fitEntries fits each entry and removes those that typ does not know.
func fitEntries(entries Item, typ func(name string) (reflect.Type, bool)) (types.AttributeValue, string) {
	out, first := &types.AttributeValueMemberM{Value: make(Item, len(entries))}, ""
	for name, e := range entries {
		t, ok := typ(name)
		if !ok {
			continue
		}
		fitted, problem := fit(e, t)
		if problem != "" && (first == "" || problem < first) { // the same problem in any map order
			first = problem
		}
		out.Value[name] = fitted
	}
	if first != "" {
		return nil, first
	}
	return out, ""
}

// settle turns the times in v that attributevalue has decoded under the option unixtime from the local zone into UTC, and makes what
// interfaces hold exact. It reports whether the years of the times are in the range 0000 to 9999.
func settle(v reflect.Value) bool {
	if !factsOf(v.Type()).needs().settle {
		return true
	}
	fits := true
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() && v.NumMethod() == 0 {
			v.Set(reflect.ValueOf(exact(v.Interface())))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			fits = settle(v.Elem())
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			fits = settle(v.Index(i)) && fits
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			e := reflect.New(v.Type().Elem()).Elem() // entries have no address
			e.Set(v.MapIndex(k))
			fits = settle(e) && fits
			v.SetMapIndex(k, e)
		}
	case reflect.Struct:
		for _, f := range factsOf(v.Type()).fields {
			fv, err := v.FieldByIndexErr(f.index)
			switch {
			case err != nil: // inside a nil embedded pointer
			case f.unixTime:
				fits = toUTC(fv) && fits
			default:
				fits = settle(fv) && fits
			}
		}
	}
	return fits
}

func toUTC(v reflect.Value) bool {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return true
		}
		v = v.Elem()
	}
	t := v.Convert(timeType).Interface().(time.Time).UTC()
	if v.CanSet() {
		v.Set(reflect.ValueOf(t).Convert(v.Type()))
	}
	_, err := key.Unix.Format(t)
	return err == nil
}
