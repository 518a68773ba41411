package timeline

import (
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// groupKeyCodec writes group keys as text. Different keys have different texts, and the order of texts is the order of
// rows.
type groupKeyCodec struct {
	parts []keyPart
}

// keyPart is one field of a group key, or the key itself.
type keyPart struct {
	name  string // Go name of the field; "" for the key itself
	index []int  // of the field; nil for the key itself
	kind  reflect.Kind
	time  bool
}

var timeType = reflect.TypeFor[time.Time]()

// groupKeyCodecOf compiles a group key type: a string, integer, bool, time, or a struct of these. problem says why t
// cannot be a group key, "" if it can.
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

// keyPartOf compiles one part of a group key.
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

// text returns the key as text. An empty string or zero time is not a key, so its event has no group.
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

// groupKeyEscaper escapes the separators of keys and sort keys in strings without changing their order.
var groupKeyEscaper = strings.NewReplacer("\x00", "\x02\x01", "\x01", "\x02\x02", "\x02", "\x02\x03")

// missing returns the error for a part without a value.
func (p keyPart) missing(problem string) error {
	name := "the key"
	if p.name != "" {
		name = p.name
	}
	return fmt.Errorf("%w: %s %s", ErrGroupKeyMissing, name, problem)
}

// redacted returns the key for messages. It hides parts that contain, or are contained in, a confidential text, since
// they may be derived from it.
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

// plain returns the part's value for messages.
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

// related reports whether one text contains the other, ignoring case.
func related(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	return strings.Contains(a, b) || strings.Contains(b, a)
}

// confidentialTexts returns the texts in an item's secret and unique attributes.
func (o *origin) confidentialTexts(it item.Item) (texts []string) {
	if o.core == nil {
		return nil
	}
	for _, a := range o.core.Schema.Attrs {
		if a.IsSecret() || a.IsUnique {
			texts = textsIn(texts, it[a.Name])
		}
	}
	return texts
}

// textsIn appends the texts and numbers in a value.
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

// box holds a state or key of any type as one attribute, so that the item codec applies to it.
type box[V any] struct {
	V V `dynamodbav:"v"`
}

// valueCodec stores values of one type. Times keep their nanoseconds.
type valueCodec struct {
	box   reflect.Type
	codec item.Codec
	made  []reflect.Type // what values are made from, and may quote in an error
}

// newValueCodec compiles the codec of the value in a box type.
func newValueCodec(box reflect.Type, made ...reflect.Type) (valueCodec, error) {
	codec, err := schema.CodecOf(box, schema.Options{Precision: key.Nano})
	return valueCodec{box, codec, made}, err
}

// roundTrip returns v as it is after it was stored and read, so that replays return what rows hold. The result is
// addressable.
func (k valueCodec) roundTrip(v reflect.Value) (reflect.Value, error) {
	it, err := k.encode(v)
	if err != nil {
		return v, err
	}
	back := reflect.New(k.box)
	err = k.codec.Decode(it, back)
	return back.Elem().Field(0), err
}

func (k valueCodec) encode(v reflect.Value) (item.Item, error) {
	boxed := reflect.New(k.box).Elem()
	boxed.Field(0).Set(v)
	it, err := k.codec.Encode(boxed)
	return it, hiddenUnlessField(err, k.made...)
}

// bytes encodes v. Equal values have equal bytes.
func (k valueCodec) bytes(v reflect.Value) ([]byte, error) {
	it, err := k.encode(v)
	return item.AppendBinary(nil, it), err
}

// isSet reports whether a dynamodbav tag stores a slice as a set.
func isSet(tag string) bool {
	_, options, _ := strings.Cut(tag, ",")
	return slices.ContainsFunc(strings.Split(options, ","), func(o string) bool {
		return o == "stringset" || o == "numberset" || o == "binaryset"
	})
}

// unstorableField says which field of a type storage does not preserve, "" if it preserves all. Sets are allowed in
// payloads, which are decoded for every replay and never changed.
func unstorableField(t reflect.Type, sets bool, seen map[reflect.Type]bool) string {
	if t == reflect.TypeFor[time.Time]() || seen[t] {
		return ""
	}
	seen[t] = true
	if !sets && t == reflect.TypeFor[[][]byte]() {
		return fmt.Sprintf("a %s is stored as a set, which preserves neither order nor duplicates", t)
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return unstorableField(t.Elem(), sets, seen)
	case reflect.Map:
		return unstorableField(t.Elem(), sets, seen)
	case reflect.Interface:
		return fmt.Sprintf("a %s is read back as another type", t)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			tagged := f.Tag.Get("dynamodbav")
			switch {
			case f.Name == "_":
			case !f.IsExported() && !f.Anonymous:
				return fmt.Sprintf("field %s of %s is not exported", f.Name, t)
			case tagged == "-":
				return fmt.Sprintf("field %s of %s is not stored", f.Name, t)
			case !sets && isSet(tagged):
				return fmt.Sprintf("field %s of %s is stored as a set, which preserves neither order nor duplicates; use a list, or a map of bool", f.Name, t)
			default:
				if problem := unstorableField(f.Type, sets, seen); problem != "" {
					return problem
				}
			}
		}
	}
	return ""
}

// checkRoundTrip returns [ErrStateLost] unless v is read back as it is. A catch-up continues from the stored state and
// a build from the state in memory, so their rows are equal only if both states are. The check costs little compared
// with the write of the row.
func (k valueCodec) checkRoundTrip(v reflect.Value) error {
	back, err := k.roundTrip(v)
	if err != nil {
		return err
	}
	if at, differs := differingPath(v, back, ""); differs {
		return fmt.Errorf("%w: %s is not preserved", ErrStateLost, fieldName(at))
	}
	return nil
}

// fieldName names the field at a path of differingPath.
func fieldName(path string) string {
	if path == "" {
		return "its value"
	}
	return path[1:]
}

// differingPath returns where two values of one type differ: field names, with [] for an element and {} for an entry.
// It contains no values.
func differingPath(a, b reflect.Value, path string) (at string, differs bool) {
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return path, a.IsNil() != b.IsNil()
		}
		return differingPath(a.Elem(), b.Elem(), path)
	case reflect.Slice:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return path, true
		}
		return elements(a, b, path)
	case reflect.Array:
		return elements(a, b, path)
	case reflect.Map:
		if a.IsNil() != b.IsNil() || a.Len() != b.Len() {
			return path, true
		}
		return entries(a, b, path)
	case reflect.Struct:
		if a.Type() == timeType {
			return path, !sameTime(a.Interface().(time.Time), b.Interface().(time.Time))
		}
		for i := range a.NumField() {
			f := a.Type().Field(i)
			if f.Name == "_" {
				continue
			}
			if at, differs := differingPath(a.Field(i), b.Field(i), path+"."+f.Name); differs {
				return at, true
			}
		}
		return path, false
	}
	return path, !a.Equal(b)
}

func elements(a, b reflect.Value, path string) (at string, differs bool) {
	for i := range a.Len() {
		if at, differs := differingPath(a.Index(i), b.Index(i), path+"[]"); differs {
			return at, true
		}
	}
	return path, false
}

// entries compares maps. Of several differences it returns the first as text, since maps have no order.
func entries(a, b reflect.Value, path string) (first string, differs bool) {
	for _, k := range a.MapKeys() {
		at, other := path+"{}", true
		if v := b.MapIndex(k); v.IsValid() {
			at, other = differingPath(a.MapIndex(k), v, path+"{}")
		}
		if other && (!differs || at < first) {
			first, differs = at, true
		}
	}
	return first, differs
}

// sameTime compares what times show. The name of a zone is not stored.
func sameTime(a, b time.Time) bool {
	_, x := a.Zone()
	_, y := b.Zone()
	return a.Equal(b) && x == y
}

// writeTypeShape writes a type as its fields and tags, recursively. Type names do not count.
func writeTypeShape(w io.Writer, what string, t reflect.Type) {
	_, _ = fmt.Fprintf(w, "%s %s\n", what, typeShape(t, nil))
}

func typeShape(t reflect.Type, inside []reflect.Type) string {
	if slices.Contains(inside, t) {
		return fmt.Sprintf("recursive %d", slices.Index(inside, t))
	}
	inside = append(inside, t)
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + typeShape(t.Elem(), inside)
	case reflect.Slice:
		return "[slice]" + typeShape(t.Elem(), inside)
	case reflect.Array:
		return fmt.Sprintf("[array %d]%s", t.Len(), typeShape(t.Elem(), inside))
	case reflect.Map:
		return "map[" + typeShape(t.Key(), inside) + "]" + typeShape(t.Elem(), inside)
	case reflect.Struct:
		if t == timeType {
			return "time"
		}
		var b strings.Builder
		b.WriteString("{")
		for i := range t.NumField() {
			f := t.Field(i)
			fmt.Fprintf(&b, "%s %s %q;", f.Name, typeShape(f.Type, inside), f.Tag)
		}
		return b.String() + "}"
	}
	return t.Kind().String()
}
