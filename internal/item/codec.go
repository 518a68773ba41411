package item

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/key"
)

// TimeField is a top-level attribute whose Go type is time.Time, a type defined as time.Time, or a pointer to one.
type TimeField struct {
	Index     []int
	Attr      string
	Format    key.TimeFormat
	OmitEmpty bool
	Exact     bool // a value finer than Format is an error instead of truncated
}

// Codec encodes and decodes values of one struct type. It encodes plain values, times and text fields itself; attributevalue does the rest.
type Codec struct {
	Default  key.TimeFormat // format of nested times
	*Special                // nil: each field is encoded as its Go type alone says
	Parts    []KeyPart
	Kept     []string // attributes that an item can have otherwise than the value that it was encoded from

	layout *structLayout // see Compile; nil: attributevalue decodes every field
}

// Special lists the fields that are not encoded as their Go types alone say.
type Special struct {
	Times  []TimeField
	Texts  []TextField
	Stored []StoredField
	Sets   []string // set attributes with omitempty: an empty set, which DynamoDB cannot store, is absent instead of NULL
}

// StoredField is an attribute whose encoded value is replaced by what As returns.
type StoredField struct {
	Attr string
	As   func(types.AttributeValue) types.AttributeValue
}

// FieldError reports a value that cannot be stored or decoded: Attr is its attribute, and Problem never contains the value.
type FieldError struct{ Attr, Problem string }

func (e *FieldError) Error() string { return e.Attr + ": " + e.Problem }

func (c *Codec) encoder(o *attributevalue.EncoderOptions) {
	o.EncodeTime = c.Default.Value
	o.OmitEmptyTime = true
	o.OmitNullAttributeValues = true
}

func (c *Codec) decoder(o *attributevalue.DecoderOptions) {
	o.UseNumber = true                       // see exact
	o.FixUnmarshalIndividualSetValues = true // otherwise the first element of a set gets all of it
	o.DecodeTime = attributevalue.DecodeTimeAttributes{
		S: func(s string) (time.Time, error) { return key.Nano.Parse(s) },
		N: func(s string) (time.Time, error) { return key.Unix.Parse(s) },
	}
}

// Loose returns a codec that truncates every time. Values that were read may have finer times than their format.
func (c *Codec) Loose() *Codec {
	loose := *c
	if c.Special != nil {
		special := *c.Special
		special.Times = slices.Clone(c.Times)
		for i := range special.Times {
			special.Times[i].Exact = false
		}
		loose.Special = &special
	}
	return &loose
}

// Encode returns the field's value fv as an attribute value, or nil if it is to be absent. It is in the memory of a, which may be nil.
func (f *TimeField) Encode(fv reflect.Value, a *Values) (types.AttributeValue, error) {
	for fv.Kind() == reflect.Pointer {
		if fv.IsNil() {
			if f.OmitEmpty {
				return nil, nil
			}
			return &types.AttributeValueMemberNULL{Value: true}, nil
		}
		fv = fv.Elem()
	}
	t, ok := reflect.TypeAssert[time.Time](fv) // without an allocation
	if !ok {
		t = fv.Convert(timeType).Interface().(time.Time)
	}
	if t.IsZero() && f.OmitEmpty {
		return nil, nil
	}
	if f.Exact && !f.Format.Exact(t) {
		return nil, &FieldError{f.Attr, fmt.Sprintf("the time is finer than the attribute's format %s; give it as t.Truncate(%s)", f.Format, f.Format.UnitName())}
	}
	text, err := f.Format.Format(t)
	switch {
	case err != nil:
		return nil, &FieldError{f.Attr, err.Error()}
	case f.Format.Text():
		return a.text(text), nil
	}
	return a.number(text), nil
}

// decodeEach is Decode by attributevalue, one attribute after the other in the order of their names.
func (c *Codec) decodeEach(it Item, dst reflect.Value) error {
	it, err := c.withParts(it)
	if err != nil {
		return err
	}
	attrs := factsOf(dst.Type()).attrs
	for _, name := range slices.Sorted(maps.Keys(it)) {
		f, ok := attrs[name]
		if !ok {
			continue
		}
		if err := c.decodeField(&f, it[name], allocate(dst, f.index)); err != nil {
			return err
		}
	}
	return nil
}

// decodeField sets fv, which is f of some struct, from av.
func (c *Codec) decodeField(f *field, av types.AttributeValue, fv reflect.Value) error {
	if at := c.timeField(f.attr); at != nil {
		if isNull(av) {
			return nil
		}
		t, err := at.Format.FromValue(av)
		if err != nil {
			return &FieldError{f.attr, err.Error()}
		}
		setTime(fv, t)
		return nil
	}
	if text := c.textField(f.attr); text != nil {
		if s, ok := av.(*types.AttributeValueMemberS); ok {
			return text.decode(s.Value, fv)
		}
		if Opaque(Pointee(f.typ)) && !isNull(av) {
			return &FieldError{f.attr, "the stored value (" + TypeName(av) + ") is no text"}
		}
	}
	return c.unmarshal(f, av, fv)
}

// unmarshal sets fv, which is f of some struct, from av by attributevalue. The error of attributevalue may contain the value, so
// it is dropped.
func (c *Codec) unmarshal(f *field, av types.AttributeValue, fv reflect.Value) error {
	if f.keySet {
		list := *f
		list.keySet, list.typ = false, Listed(f.typ)
		elements := reflect.New(list.typ).Elem()
		err := c.unmarshal(&list, av, elements)
		if err == nil && !elements.IsNil() {
			fv.Set(reflect.MakeMapWithSize(f.typ, elements.Len()))
			for i := range elements.Len() {
				fv.SetMapIndex(elements.Index(i), reflect.Zero(f.typ.Elem()))
			}
		}
		return err
	}
	fitted, problem := fit(av, f.typ)
	if problem != "" {
		return &FieldError{f.attr, problem}
	}
	holder := reflect.New(shape{f.typ, f.options}.structType())
	if attributevalue.UnmarshalMapWithOptions(Item{"V": fitted}, holder.Interface(), c.decoder) != nil {
		return &FieldError{f.attr, fmt.Sprintf("the stored value (%s) does not fit the field", TypeName(av))}
	}
	if !settle(holder.Elem()) {
		return &FieldError{f.attr, "a time in it is outside the years 0000 to 9999"}
	}
	fv.Set(holder.Elem().Field(0))
	return nil
}

func isNull(av types.AttributeValue) bool {
	_, null := av.(*types.AttributeValueMemberNULL)
	return null
}

func setTime(fv reflect.Value, t time.Time) {
	for fv.Kind() == reflect.Pointer {
		if fv.IsNil() {
			fv.Set(reflect.New(fv.Type().Elem()))
		}
		fv = fv.Elem()
	}
	if at, ok := fv.Addr().Interface().(*time.Time); ok {
		*at = t
		return
	}
	fv.Set(reflect.ValueOf(t).Convert(fv.Type()))
}

// KeyPart is an attribute that is also part of keys. If an item lacks it, because an index does not project it or another
// program stores it only in the key, it is read from the first key that is present.
type KeyPart struct {
	Attr string
	Keys []KeyText
}

// KeyText is a stored key attribute and the template of its text.
type KeyText struct {
	Attr     string
	Template *key.Template
}

// withParts returns the item with missing key parts read from its keys.
func (c *Codec) withParts(it Item) (Item, error) {
	full := it
	for i := range c.Parts {
		p := &c.Parts[i]
		if _, ok := it[p.Attr]; ok {
			continue
		}
		av, err := p.read(func(name string) types.AttributeValue { return it[name] })
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

// read returns the part from the item's keys, or nil if they are absent.
func (p *KeyPart) read(get func(name string) types.AttributeValue) (types.AttributeValue, error) {
	for _, k := range p.Keys {
		s, ok := get(k.Attr).(*types.AttributeValueMemberS)
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
