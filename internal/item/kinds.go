package item

import (
	"cmp"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// compile returns the decoder of type t, or nil if it is left to attributevalue. asText is the option string: a number that is stored
// as text. It holds through pointers, not for elements.
func compile(t reflect.Type, asText bool) decoder {
	if t.Implements(unmarshalerType) || reflect.PointerTo(t).Implements(unmarshalerType) || endless(t) {
		return nil
	}
	switch {
	case isTime(t) && asText:
		return nil
	case isTime(t): // without a format of its own: RFC 3339 or seconds
		return timeDecoder(key.Nano, key.Unix)
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool:
		return decodeBasic
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
		reflect.Float32, reflect.Float64:
		return numberDecoder(asText)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return decodeAny
		}
	case reflect.Pointer:
		return pointerDecoder(t, compile(t.Elem(), asText))
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return decodeBasic
		}
		return sliceDecoder(t, compile(t.Elem(), false))
	case reflect.Map:
		if ownText(t.Key()) {
			return mapDecoder(t, compile(t.Elem(), false))
		}
	case reflect.Struct:
		return structDecoder(t)
	}
	return nil
}

// endless reports whether the elements of t lead back to a type that they came from, such as type tree map[string]tree.
func endless(t reflect.Type) bool {
	var outer []reflect.Type
	for k := t.Kind(); k == reflect.Pointer || k == reflect.Slice || k == reflect.Map; k = t.Kind() {
		if slices.Contains(outer, t) {
			return true
		}
		outer, t = append(outer, t), t.Elem()
	}
	return false
}

// decodeBasic decodes a string, a bool or bytes.
func decodeBasic(v wire.Value, dst reflect.Value) bool {
	switch k := dst.Kind(); {
	case v.Kind() == wire.NULL:
	case k == reflect.String && (v.Kind() == wire.S || v.Kind() == wire.N):
		dst.SetString(v.Text())
	case k == reflect.Bool && v.Kind() == wire.BOOL:
		dst.SetBool(v.Bool())
	case k == reflect.Slice && v.Kind() == wire.B:
		dst.SetBytes(v.Binary())
	default:
		return false
	}
	return true
}

func numberDecoder(asText bool) decoder {
	return func(v wire.Value, dst reflect.Value) bool {
		if k := v.Kind(); k != wire.N && !(k == wire.S && asText) {
			return k == wire.NULL
		}
		var room [32]byte
		text := v.Bytes(room[:0])
		switch {
		case dst.CanInt():
			n, err := strconv.ParseInt(string(text), 10, 64)
			if err != nil || dst.OverflowInt(n) {
				return false
			}
			dst.SetInt(n)
		case dst.CanUint():
			n, err := strconv.ParseUint(string(text), 10, 64)
			if err != nil || dst.OverflowUint(n) {
				return false
			}
			dst.SetUint(n)
		default:
			n, err := strconv.ParseFloat(string(text), dst.Type().Bits())
			if err != nil {
				return false
			}
			dst.SetFloat(n)
		}
		return true
	}
}

// decodeAny makes what attributevalue makes for an interface, but for numbers and sets, which are stored again as they were: see
// exactNumber.
func decodeAny(v wire.Value, dst reflect.Value) bool {
	x, ok := anyOf(v)
	if ok && x != nil {
		dst.Set(reflect.ValueOf(x))
	}
	return ok
}

func anyOf(v wire.Value) (x any, ok bool) {
	switch v.Kind() {
	case wire.NULL:
		return nil, true
	case wire.S:
		return v.Text(), true
	case wire.N:
		return exactNumber(v.Text()), true
	case wire.B:
		return v.Binary(), true
	case wire.BOOL:
		return v.Bool(), true
	case wire.L:
		return anyList(v, anyOf)
	case wire.SS:
		list, ok := anyList(v, func(e wire.Value) (string, bool) { return e.Text(), true })
		return entitytype.StringSet(list), ok
	case wire.NS:
		list, ok := anyList(v, func(e wire.Value) (attributevalue.Number, bool) { return attributevalue.Number(e.Text()), true })
		return entitytype.NumberSet(list), ok
	case wire.BS:
		return anyList(v, func(e wire.Value) ([]byte, bool) { return e.Binary(), true })
	case wire.M:
		m := make(map[string]any, v.Len())
		for name, e := range v.Item().All() {
			if m[name], ok = anyOf(e); !ok {
				return nil, false
			}
		}
		return m, true
	}
	return nil, false
}

// exactNumber returns a number for an any: a float64 if it has the same value, else the text. Up to 15 digits, every number has one.
func exactNumber(text string) any {
	f, err := strconv.ParseFloat(text, 64)
	if err == nil && len(text) <= 15 {
		return f
	}
	stored, bad := ParseDecimal(text)
	if near, worse := ParseDecimal(strconv.FormatFloat(f, 'f', -1, 64)); cmp.Or(err, bad, worse) == nil && stored.Cmp(near) == 0 {
		return f
	}
	return attributevalue.Number(text)
}

// exact returns the result of decodeAny for x, which attributevalue has decoded with UseNumber.
func exact(x any) any {
	switch x := x.(type) {
	case attributevalue.Number:
		return exactNumber(x.String())
	case []attributevalue.Number:
		return entitytype.NumberSet(x)
	case []string:
		return entitytype.StringSet(x)
	case []any:
		for i, e := range x {
			x[i] = exact(e)
		}
	case map[string]any:
		for name, e := range x {
			x[name] = exact(e)
		}
	}
	return x
}

func anyList[E any](v wire.Value, of func(wire.Value) (E, bool)) ([]E, bool) {
	list := make([]E, 0, v.Len())
	for all := v.Elements(); all.Next(); {
		x, ok := of(all.Value)
		if !ok {
			return nil, false
		}
		list = append(list, x)
	}
	return list, true
}

func pointerDecoder(t reflect.Type, elem decoder) decoder {
	if elem == nil {
		return nil
	}
	to, text := t.Elem(), t.Elem().Kind() == reflect.String
	var slice reflect.Type
	if k := to.Kind(); k >= reflect.Bool && k <= reflect.Float64 || isTime(to) {
		slice = reflect.SliceOf(to)
	}
	return func(v wire.Value, dst reflect.Value) bool {
		if v.Kind() == wire.NULL {
			return true
		}
		var p reflect.Value
		if text {
			p = reflect.ValueOf(&v.Texts(1)[0])
		} else {
			p = v.New(to, slice)
		}
		if p.Type() != t { // it, or the type it points to, has a name
			p = p.Convert(t)
		}
		dst.Set(p)
		return elem(v, p.Elem())
	}
}

func sliceDecoder(t reflect.Type, elem decoder) decoder {
	if elem == nil {
		return nil
	}
	empty, texts := reflect.MakeSlice(t, 0, 0), t == reflect.TypeFor[[]string]()
	return func(v wire.Value, dst reflect.Value) bool {
		switch v.Kind() {
		case wire.NULL:
			return true
		case wire.L, wire.SS, wire.NS, wire.BS:
		default:
			return false
		}
		switch n := v.Len(); {
		case n == 0:
			dst.Set(empty)
		case texts:
			own := v.Texts(n)
			*dst.Addr().Interface().(*[]string) = own
			return decodeTexts(v, own)
		default: // without an allocation for the slice's header, as Set(MakeSlice) has
			dst.Grow(n)
			dst.SetLen(n)
			dst.SetCap(n)
		}
		i := 0
		for all := v.Elements(); all.Next(); i++ {
			if !elem(all.Value, dst.Index(i)) {
				return false
			}
		}
		return true
	}
}

// decodeTexts is decodeBasic for the elements of v.
func decodeTexts(v wire.Value, into []string) bool {
	i := 0
	for all := v.Elements(); all.Next(); i++ {
		switch all.Value.Kind() {
		case wire.S, wire.N:
			into[i] = all.Value.Text()
		case wire.NULL:
		default:
			return false
		}
	}
	return true
}

func mapDecoder(t reflect.Type, elem decoder) decoder {
	if elem == nil {
		return nil
	}
	return func(v wire.Value, dst reflect.Value) bool {
		if v.Kind() != wire.M {
			return v.Kind() == wire.NULL
		}
		dst.Set(reflect.MakeMapWithSize(t, v.Len()))
		name, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		for text, e := range v.Item().All() {
			name.SetString(text)
			value.SetZero()
			if !elem(e, value) {
				return false
			}
			dst.SetMapIndex(name, value)
		}
		return true
	}
}

// timeDecoder returns the decoder of a time that is stored in one of the formats.
func timeDecoder(formats ...key.TimeFormat) decoder {
	return func(v wire.Value, dst reflect.Value) bool {
		k := v.Kind()
		for _, format := range formats {
			if k != wire.S && k != wire.N || format.Text() != (k == wire.S) {
				continue
			}
			at, ok := readTime(format, v)
			if ok {
				setTime(dst, at)
			}
			return ok
		}
		return k == wire.NULL
	}
}

// readTime is format.Parse for the text of v, without an allocation in the usual case.
func readTime(format key.TimeFormat, v wire.Value) (time.Time, bool) {
	var room [40]byte
	text := v.Bytes(room[:0])
	if format.Text() {
		if t, ok := utcTime(text); ok {
			return t, true
		}
	} else if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return format.Time(n)
	}
	t, err := format.Parse(v.Text())
	return t, err == nil
}

// utcTime reads an RFC 3339 time in UTC as the library writes it, such as 2026-04-22T11:59:30.000000000Z.
func utcTime(b []byte) (t time.Time, ok bool) {
	n := len(b)
	if n < len("2006-01-02T15:04:05Z") || n > len("2006-01-02T15:04:05.000000000Z") || n == len("2006-01-02T15:04:05.Z") ||
		b[4] != '-' || b[7] != '-' || b[10] != 'T' || b[13] != ':' || b[16] != ':' || b[n-1] != 'Z' {
		return t, false
	}
	year, ok1 := decimal(b[0:4])
	month, ok2 := decimal(b[5:7])
	day, ok3 := decimal(b[8:10])
	hour, ok4 := decimal(b[11:13])
	minute, ok5 := decimal(b[14:16])
	second, ok6 := decimal(b[17:19])
	if !(ok1 && ok2 && ok3 && ok4 && ok5 && ok6) || month < 1 || month > 12 || day < 1 || day > 28 && day > time.Date(year, time.Month(month)+1, 0, 0, 0, 0, 0, time.UTC).Day() || hour > 23 || minute > 59 || second > 59 {
		return t, false
	}
	nanos := 0
	if n > len("2006-01-02T15:04:05Z") {
		fraction := b[20 : n-1]
		if nanos, ok = decimal(fraction); !ok || b[19] != '.' {
			return t, false
		}
		for range 9 - len(fraction) {
			nanos *= 10
		}
	}
	return time.Date(year, time.Month(month), day, hour, minute, second, nanos, time.UTC), true
}

func decimal(b []byte) (n int, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}
