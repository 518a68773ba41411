package item

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/key"
)

var timeType = reflect.TypeFor[time.Time]()

// TimeField is a top-level attribute whose Go type is time.Time, a named type of it, or a pointer to one.
type TimeField struct {
	Index     []int
	Attr      string
	Format    key.TimeFormat
	OmitEmpty bool
	Exact     bool // a value finer than Format is an error instead of being truncated
}

// Codec encodes and decodes values of one struct type. attributevalue does the work; times are ours.
type Codec struct {
	Default key.TimeFormat // format of times inside nested values
	Times   []TimeField
	Texts   []TextField
	Stored  []StoredField
	Parts   []KeyPart
	Sets    []string // set attributes with omitempty: an empty set, which DynamoDB does not have, is absent and not NULL
}

// StoredField is an attribute that is stored as As makes it.
type StoredField struct {
	Attr string
	As   func(types.AttributeValue) types.AttributeValue
}

// FieldError is a value that cannot be stored: Attr names its attribute, Problem never quotes the value.
type FieldError struct{ Attr, Problem string }

func (e *FieldError) Error() string { return e.Attr + ": " + e.Problem }

func (c *Codec) encoder(o *attributevalue.EncoderOptions) {
	o.EncodeTime = c.Default.Value
	o.OmitEmptyTime = true
	o.OmitNullAttributeValues = true
}

func (c *Codec) decoder(o *attributevalue.DecoderOptions) {
	o.FixUnmarshalIndividualSetValues = true // else the first element of a set gets all of it
	o.DecodeTime = attributevalue.DecodeTimeAttributes{
		S: func(s string) (time.Time, error) { return key.Nano.Parse(s) },
		N: func(s string) (time.Time, error) { return key.Unix.Parse(s) },
	}
}

// Loose is the codec that truncates every time: for values that were read, whose times may be finer than the format that
// they would be written in.
func (c *Codec) Loose() *Codec {
	loose := *c
	loose.Times = slices.Clone(c.Times)
	for i := range loose.Times {
		loose.Times[i].Exact = false
	}
	return &loose
}

// Encode returns v, a struct of the codec's type, as an item.
func (c *Codec) Encode(v reflect.Value) (Item, error) {
	p := reflect.New(v.Type()) // methods of pointers are found only on what has an address
	p.Elem().Set(v)
	if err := c.check(p.Elem()); err != nil {
		return nil, err
	}
	c.withoutTexts(p.Elem())
	it, err := attributevalue.MarshalMapWithOptions(p.Interface(), c.encoder)
	if err != nil {
		return nil, err
	}
	for _, name := range c.Sets {
		if isNull(it[name]) {
			delete(it, name)
		}
	}
	for _, f := range c.Stored {
		if av, ok := it[f.Attr]; ok {
			it[f.Attr] = f.As(av)
		}
	}
	if err := c.encodeTexts(v, it); err != nil {
		return nil, err
	}
	for i := range c.Times {
		f := &c.Times[i]
		fv, ok := fieldByIndex(v, f.Index)
		if !ok {
			continue
		}
		av, err := f.Encode(fv)
		switch {
		case err != nil:
			return nil, err
		case av == nil:
			delete(it, f.Attr)
		default:
			it[f.Attr] = av
		}
	}
	return it, CheckStorable(it)
}

// Encode returns fv, the field's value, as an attribute value: nil when it is to be absent.
func (f *TimeField) Encode(fv reflect.Value) (types.AttributeValue, error) {
	for fv.Kind() == reflect.Pointer {
		if fv.IsNil() {
			if f.OmitEmpty {
				return nil, nil
			}
			return &types.AttributeValueMemberNULL{Value: true}, nil
		}
		fv = fv.Elem()
	}
	t := fv.Convert(timeType).Interface().(time.Time)
	if t.IsZero() && f.OmitEmpty {
		return nil, nil
	}
	if f.Exact && !f.Format.Exact(t) {
		return nil, &FieldError{f.Attr, fmt.Sprintf("the time is finer than the attribute's format %s; give it as t.Truncate(%s)", f.Format, f.Format.UnitName())}
	}
	av, err := f.Format.Value(t)
	if err != nil {
		return nil, &FieldError{f.Attr, err.Error()}
	}
	return av, nil
}

// Decode fills the struct that dst points to from it. Attributes that the struct does not have are ignored.
func (c *Codec) Decode(it Item, dst reflect.Value) error {
	it, err := c.withParts(it)
	if err != nil {
		return err
	}
	attrs := factsOf(dst.Type().Elem()).attrs
	rest := make(Item, len(it))
	for _, name := range slices.Sorted(maps.Keys(it)) {
		field, ok := attrs[name]
		if !ok || slices.ContainsFunc(c.Times, func(f TimeField) bool { return f.Attr == name }) {
			continue
		}
		if f := c.textField(name); f != nil {
			if _, text := it[name].(*types.AttributeValueMemberS); text {
				continue
			}
			if bare := indirect(field.typ); Opaque(bare) && !isNull(it[name]) {
				return &FieldError{name, "the stored value (" + kindOf(it[name]) + ") is no text"}
			}
		}
		av, problem := fit(it[name], field.typ)
		if problem != "" {
			return &FieldError{name, problem}
		}
		rest[name] = av
	}
	if err := attributevalue.UnmarshalMapWithOptions(rest, dst.Interface(), c.decoder); err != nil {
		return c.misfit(rest, dst.Type().Elem())
	}
	if !inUTC(dst.Elem()) {
		return c.farTime(rest, dst.Type().Elem())
	}
	if err := c.decodeTexts(it, dst.Elem()); err != nil {
		return err
	}
	for i := range c.Times {
		f := &c.Times[i]
		av, ok := it[f.Attr]
		if !ok || isNull(av) {
			continue
		}
		t, err := f.Format.FromValue(av)
		if err != nil {
			return &FieldError{f.Attr, err.Error()}
		}
		setTime(allocate(dst.Elem(), f.Index), t)
	}
	return nil
}

func indirect(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

func isNull(av types.AttributeValue) bool {
	_, null := av.(*types.AttributeValueMemberNULL)
	return null
}

// misfit names the first attribute, by name, that does not fit its field. The codec's own error may quote the value,
// so it is not kept.
func (c *Codec) misfit(it Item, typ reflect.Type) error {
	for _, name := range slices.Sorted(maps.Keys(it)) {
		alone := Item{name: it[name]}
		if attributevalue.UnmarshalMapWithOptions(alone, reflect.New(typ).Interface(), c.decoder) != nil {
			return &FieldError{name, fmt.Sprintf("the stored value (%s) does not fit the field", kindOf(it[name]))}
		}
	}
	return &FieldError{"", "the stored item does not fit the struct"}
}

// farTime names the first attribute, by name, with a nested time outside the years that times can have.
func (c *Codec) farTime(it Item, typ reflect.Type) error {
	for _, name := range slices.Sorted(maps.Keys(it)) {
		alone := reflect.New(typ)
		if attributevalue.UnmarshalMapWithOptions(Item{name: it[name]}, alone.Interface(), c.decoder) == nil && !inUTC(alone.Elem()) {
			return &FieldError{name, "a time in it is outside the years 0000 to 9999"}
		}
	}
	return &FieldError{"", "a time is outside the years 0000 to 9999"}
}

// kindOf is DynamoDB's letter for the type of av.
func kindOf(av types.AttributeValue) string {
	name := reflect.TypeOf(av).String()
	return name[strings.LastIndex(name, "Member")+len("Member"):]
}

func setTime(fv reflect.Value, t time.Time) {
	for fv.Kind() == reflect.Pointer {
		if fv.IsNil() {
			fv.Set(reflect.New(fv.Type().Elem()))
		}
		fv = fv.Elem()
	}
	fv.Set(reflect.ValueOf(t).Convert(fv.Type()))
}

// fieldByIndex is FieldByIndex that reports a nil embedded pointer instead of panicking.
func fieldByIndex(v reflect.Value, index []int) (reflect.Value, bool) {
	fv, err := v.FieldByIndexErr(index)
	return fv, err == nil
}

func allocate(v reflect.Value, index []int) reflect.Value {
	for i, x := range index {
		if i > 0 && v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(x)
	}
	return v
}

// shape is a one-field struct type that gives attributevalue the options a field's tag carries; one per pair of type
// and options, so their number is bounded by the program's types.
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

// EncodeValue encodes one value as a field with the given codec options (",stringset", ",omitempty") would be. It
// returns nil when the options say that the value is to be absent.
func (c *Codec) EncodeValue(v reflect.Value, options string) (types.AttributeValue, error) {
	holder := reflect.New(shape{v.Type(), options}.structType()).Elem()
	holder.Field(0).Set(v)
	if err := checkValue(holder, 0); err != nil {
		return nil, err
	}
	it, err := attributevalue.MarshalMapWithOptions(holder.Addr().Interface(), c.encoder)
	if err != nil {
		return nil, err
	}
	if strings.Contains(options, "set") && strings.Contains(options, ",omitempty") && isNull(it["V"]) {
		return nil, nil
	}
	return it["V"], CheckStorable(it)
}

// KeyPart is an attribute that keys of the item tell too. Where an item lacks it, because an index does not carry it or
// another program has stored it in the key alone, the first key that is there is read back.
type KeyPart struct {
	Attr string
	Keys []KeyText
}

// KeyText is a stored key attribute and how its text is composed.
type KeyText struct {
	Attr     string
	Template *key.Template
}

// withParts is it with the key parts that it lacks. An item that has them costs a look at each and no more.
func (c *Codec) withParts(it Item) (Item, error) {
	full := it
	for i := range c.Parts {
		p := &c.Parts[i]
		if _, ok := it[p.Attr]; ok {
			continue
		}
		av, err := p.read(it)
		switch {
		case err != nil:
			return nil, err
		case av == nil:
			continue
		case len(full) == len(it):
			full = Clone(it)
		}
		full[p.Attr] = av
	}
	return full, nil
}

// read is the part as the item's keys give it, nil when they are absent.
func (p *KeyPart) read(it Item) (types.AttributeValue, error) {
	for _, k := range p.Keys {
		s, ok := it[k.Attr].(*types.AttributeValueMemberS)
		if !ok {
			continue
		}
		av, err := k.Template.Read(s.Value, p.Attr)
		if err != nil {
			return nil, &FieldError{p.Attr, "the attribute is absent, and the text in " + k.Attr + ", which it is part of, does not fit its template"}
		}
		return av, nil
	}
	return nil, nil
}
