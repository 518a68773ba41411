package item

import (
	"bytes"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// NumberType is implemented by strings that are stored as numbers: attributevalue.Number and json.Number.
var NumberType = reflect.TypeFor[interface {
	Float64() (float64, error)
	Int64() (int64, error)
	String() string
}]()

// isPlain reports whether plain encodes values of t: a bool, a number, a string, a byte slice, or a pointer to one of the
// first three, whose type does not encode itself.
func isPlain(t reflect.Type) bool {
	pointer := t.Kind() == reflect.Pointer && t.Name() == ""
	if pointer {
		t = t.Elem()
	}
	switch k := t.Kind(); {
	case ownEncoding(t):
		return false
	case k == reflect.Slice:
		return !pointer && t.Elem() == reflect.TypeFor[byte]() // attributevalue stores a pointer to a nil slice as no bytes
	default:
		return k == reflect.Bool || k == reflect.String || k >= reflect.Int && k <= reflect.Float64 && k != reflect.Uintptr
	}
}

// ownEncoding reports whether attributevalue calls methods of values of type t, or of their addresses.
func ownEncoding(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t.Implements(marshalerType) || p.Implements(marshalerType) || t.Implements(NumberType) || p.Implements(NumberType)
}

// Values allocates texts and numbers of one item, several together, since an item is kept or dropped as a whole. A nil
// *Values allocates each alone.
type Values struct {
	texts   []types.AttributeValueMemberS
	numbers []types.AttributeValueMemberN
	Likely  Room
}

// Room counts the texts and numbers that an item is likely to have.
type Room struct{ Texts, Numbers int }

// roomOf counts the fields of a struct that are texts, times and numbers. A list counts as a few of its elements.
func roomOf(fields []field) (r Room) {
	for i := range fields {
		f, n := &fields[i], 1
		t := Pointee(f.typ)
		if f.form == asList {
			t, n = Pointee(t.Elem()), 3
		}
		switch k := t.Kind(); {
		case f.form != asPlain && f.form != asList && !f.time, k == reflect.Bool, k == reflect.Slice:
		case f.time, k == reflect.String:
			r.Texts += n
		default:
			r.Numbers += n
		}
	}
	return r
}

// atLeast is the fewest texts or numbers that are allocated together.
const atLeast = 2

func (a *Values) text(s string) types.AttributeValue {
	if a == nil {
		return &types.AttributeValueMemberS{Value: s}
	}
	if len(a.texts) == 0 {
		a.texts = make([]types.AttributeValueMemberS, max(a.Likely.Texts, atLeast))
		a.Likely.Texts = 0
	}
	av := &a.texts[0]
	a.texts, av.Value = a.texts[1:], s
	return av
}

func (a *Values) number(text string) types.AttributeValue {
	if a == nil {
		return N(text)
	}
	if len(a.numbers) == 0 {
		a.numbers = make([]types.AttributeValueMemberN, max(a.Likely.Numbers, atLeast))
		a.Likely.Numbers = 0
	}
	av := &a.numbers[0]
	a.numbers, av.Value = a.numbers[1:], text
	return av
}

// plain encodes v as attributevalue does, without its search for methods and tags. It returns nil for an empty value under omitempty.
func (a *Values) plain(v reflect.Value, omitEmpty bool) types.AttributeValue {
	k := v.Kind()
	if k == reflect.Pointer || k == reflect.Slice {
		switch {
		case v.IsNil() && omitEmpty:
			return nil
		case v.IsNil():
			return &types.AttributeValueMemberNULL{Value: true}
		case k == reflect.Slice:
			return &types.AttributeValueMemberB{Value: bytes.Clone(v.Bytes())}
		}
		return a.plain(v.Elem(), false) // a pointer to zero is a value
	}
	switch {
	case omitEmpty && isZero(v):
		return nil
	case k == reflect.String:
		return a.text(v.String())
	case k == reflect.Bool:
		return &types.AttributeValueMemberBOOL{Value: v.Bool()}
	}
	return a.number(numberText(v))
}

// isZero reports whether v is its zero value, or minus zero.
func isZero(v reflect.Value) bool { return v.IsZero() || v.CanFloat() && v.Float() == 0 }

func numberText(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Float32:
		return strconv.FormatFloat(v.Float(), 'f', -1, 32)
	case v.CanFloat():
		return strconv.FormatFloat(v.Float(), 'f', -1, 64)
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	}
	return strconv.FormatUint(v.Uint(), 10)
}

// form selects the way in which a field is encoded.
type form int

const (
	byMarshal form = iota // by attributevalue
	asPlain
	asList    // a slice of plain values
	asTexts   // a string set
	asNumbers // a number set
	asMap     // a map of plain values by strings
)

// formOf returns how a field of type t with these options of its tag is encoded. Whatever is not common is left to attributevalue.
func formOf(t reflect.Type, options []string) form {
	set := ""
	for _, o := range options {
		switch o {
		case "omitempty":
		case "stringset", "numberset":
			set += o
		default:
			return byMarshal
		}
	}
	switch k := t.Kind(); {
	case ownEncoding(t):
		return byMarshal
	case isPlain(t):
		if set == "" {
			return asPlain
		}
	case k == reflect.Map:
		if set == "" && t.Key() == reflect.TypeFor[string]() && isPlain(t.Elem()) {
			return asMap
		}
	case k == reflect.Slice && isPlain(t.Elem()) && t.Elem().Kind() != reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		elem := t.Elem().Kind()
		switch {
		case set == "":
			return asList
		case set == "stringset" && elem == reflect.String:
			return asTexts
		case set == "numberset" && elem != reflect.String && elem != reflect.Bool && elem != reflect.Pointer:
			return asNumbers
		}
	}
	return byMarshal
}

// shape identifies a struct type with one field, whose tag gives attributevalue the options. There is one for each pair of
// type and options, so the program's types bound their number.
type shape struct {
	typ     reflect.Type
	options string
}

var shapes sync.Map // shape → reflect.Type

func (s shape) structType() reflect.Type {
	if t, ok := shapes.Load(s); ok {
		return t.(reflect.Type)
	}
	t := reflect.StructOf([]reflect.StructField{{
		Name: "V",
		Type: s.typ,
		Tag:  reflect.StructTag(`dynamodbav:"V` + s.options + `"`),
	}})
	stored, _ := shapes.LoadOrStore(s, t)
	return stored.(reflect.Type)
}

// marshal encodes v by attributevalue, as the value of a field with these options of its tag.
func (c *Codec) marshal(v reflect.Value, options string) (types.AttributeValue, error) {
	if IsKeySet(v.Type()) && strings.Contains(options, "set") {
		av, err := c.marshal(Elements(v), options)
		switch set := av.(type) { // maps have no order
		case *types.AttributeValueMemberSS:
			slices.Sort(set.Value)
		case *types.AttributeValueMemberNS:
			slices.Sort(set.Value)
		case *types.AttributeValueMemberBS:
			slices.SortFunc(set.Value, bytes.Compare)
		}
		return av, err
	}
	holder := reflect.New(shape{v.Type(), options}.structType()) // can be addressed, so that methods of pointers are called
	holder.Elem().Field(0).Set(v)
	if EncodesItself(v.Type()) && !IsBlank(v, options) { // attributevalue would ask as well, but not notice that there is no answer
		av, err := ask(holder.Elem().Field(0))
		if err == nil && isNull(av) && strings.Contains(options, ",omitempty") {
			av = nil
		}
		return av, err
	}
	if err := checkValue(holder.Elem(), 0); err != nil {
		return nil, err
	}
	it, err := attributevalue.MarshalMapWithOptions(holder.Interface(), c.encoder)
	return it["V"], err
}

// encode encodes the value v of f, in the memory of a. It returns nil if the tag leaves it out.
func (f *field) encode(c *Codec, v reflect.Value, a *Values) (types.AttributeValue, error) {
	switch f.form {
	case byMarshal:
		return c.marshal(v, f.options)
	case asPlain:
		return a.plain(v, f.omitEmpty), nil
	}
	switch {
	case v.IsNil() && f.omitEmpty:
		return nil, nil
	case v.IsNil(), v.Len() == 0 && (f.form == asTexts || f.form == asNumbers):
		return &types.AttributeValueMemberNULL{Value: true}, nil
	}
	switch f.form {
	case asTexts:
		set := make([]string, v.Len())
		for i := range set {
			set[i] = v.Index(i).String()
		}
		return &types.AttributeValueMemberSS{Value: set}, nil
	case asNumbers:
		set := make([]string, v.Len())
		for i := range set {
			set[i] = numberText(v.Index(i))
		}
		return &types.AttributeValueMemberNS{Value: set}, nil
	case asMap:
		m := make(Item, v.Len())
		for entries := v.MapRange(); entries.Next(); {
			name := entries.Key().String()
			if name == "" {
				return c.marshal(v, f.options) // an error
			}
			m[name] = a.plain(entries.Value(), false)
		}
		return &types.AttributeValueMemberM{Value: m}, nil
	}
	var list struct { // one allocation for a short list
		types.AttributeValueMemberL
		room [4]types.AttributeValue
	}
	if n := v.Len(); n <= len(list.room) {
		list.Value = list.room[:n:n]
	} else {
		list.Value = make([]types.AttributeValue, n)
	}
	for i := range list.Value {
		list.Value[i] = a.plain(v.Index(i), false)
	}
	return &list.AttributeValueMemberL, nil
}

// EncodeValue encodes one value like a field with the given codec options (",stringset", ",omitempty"), in the memory of a, which
// may be nil. It returns nil if the options make the value absent.
func (c *Codec) EncodeValue(a *Values, v reflect.Value, options string) (av types.AttributeValue, err error) {
	if (options == "" || options == ",omitempty") && factsOf(v.Type()).plain {
		av = a.plain(v, options != "")
	} else {
		if av, err = c.marshal(v, options); err != nil {
			return nil, err
		}
		if strings.Contains(options, "set") && strings.Contains(options, ",omitempty") && isNull(av) {
			return nil, nil
		}
	}
	if problem := unstorable(av); problem != "" {
		return nil, &FieldError{"V", problem}
	}
	return av, nil
}

// Encode returns v, a struct of the codec's type, as an item. The error is a *[FieldError] or one of attributevalue.
func (c *Codec) Encode(v reflect.Value) (Item, error) {
	facts := factsOf(v.Type())
	together, suspect := Values{Likely: facts.room}, false // suspect: a value may not be storable
	it := make(Item, len(facts.fields)+4)                  // room for keys and hidden attributes
	for i := range facts.fields {
		f := &facts.fields[i]
		if c.Special != nil && (c.timeField(f.attr) != nil || c.textField(f.attr) != nil) {
			continue
		}
		fv, err := v.FieldByIndexErr(f.index)
		if err != nil { // inside a nil embedded pointer
			continue
		}
		av, err := f.encode(c, fv, &together)
		switch {
		case err != nil:
			return nil, err
		case av != nil:
			it[f.attr] = av
			suspect = suspect || unstorable(av) != ""
		}
	}
	if c.Special != nil {
		if err := c.Special.encode(it, v, &together); err != nil {
			return nil, err
		}
	}
	if suspect {
		if err := CheckStorable(it); err != nil { // which finds the first by name
			return nil, err
		}
	}
	return it, nil
}

// encode adds the texts and times of v to it, in the memory of a, and changes what else is encoded otherwise than by its Go type.
func (s *Special) encode(it Item, v reflect.Value, a *Values) error {
	for _, name := range s.Sets {
		if isNull(it[name]) {
			delete(it, name)
		}
	}
	for _, f := range s.Stored {
		if av, ok := it[f.Attr]; ok {
			it[f.Attr] = f.As(av)
		}
	}
	for i := range s.Texts {
		f := &s.Texts[i]
		if fv, err := v.FieldByIndexErr(f.Index); err == nil {
			switch av, err := f.Encode(fv); {
			case err != nil:
				return err
			case av != nil:
				it[f.Attr] = av
			}
		}
	}
	for i := range s.Times {
		f := &s.Times[i]
		if fv, err := v.FieldByIndexErr(f.Index); err == nil {
			switch av, err := f.Encode(fv, a); {
			case err != nil:
				return err
			case av != nil:
				it[f.Attr] = av
			}
		}
	}
	return nil
}
