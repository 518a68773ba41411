package write

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// encode encodes a Go value for the field at n. If exact is set, a time must fit its format. It returns nil for a value
// that the field's tag leaves out. together may be nil.
func encode(s *schema.Schema, n *schema.Node, v reflect.Value, exact bool, together *item.Values) (av types.AttributeValue, err error) {
	switch {
	case !v.IsValid():
		return &types.AttributeValueMemberNULL{Value: true}, nil
	case n.Top && n.Attr.Time:
		f := item.TimeField{Attr: n.Attr.Name, Format: n.Attr.Format, OmitEmpty: n.Tag.OmitEmpty, Exact: exact}
		av, err = f.Encode(v, nil)
	case n.Top && n.Attr.Text:
		f := n.Attr.TextField()
		f.OmitEmpty = n.Tag.OmitEmpty
		av, err = f.Encode(v)
	default:
		options := n.Options
		if n.Tag.OmitEmpty {
			options += ",omitempty"
		}
		av, err = s.Codec.EncodeValueIn(together, v, options)
		if _, null := av.(*types.AttributeValueMemberNULL); null && n.Top {
			av = n.Attr.Stored(av)
		}
	}
	if err != nil {
		return nil, ValueError(s, n.Attr, err)
	}
	return av, nil
}

// EncodeAttr encodes one attribute of struct value v. It returns nil if the attribute is absent. together may be nil.
func EncodeAttr(s *schema.Schema, a *schema.Attr, v reflect.Value, together *item.Values) (types.AttributeValue, error) {
	fv, err := v.FieldByIndexErr(a.Index)
	if err != nil {
		return nil, nil // inside a nil embedded pointer
	}
	if fv.Kind() == reflect.Interface {
		fv = fv.Elem()
	}
	n := schema.Node{Attr: a, Type: a.Type, Tag: a.Tag, Options: a.Options, Top: true}
	return encode(s, &n, fv, a.Exact, together)
}

// EncodeValue encodes a value for attribute a. An empty value is encoded too.
func EncodeValue(s *schema.Schema, a *schema.Attr, v any) (types.AttributeValue, error) {
	return encode(s, &schema.Node{Attr: a, Type: a.Type, Options: a.Options, Top: true}, reflect.ValueOf(v), false, nil)
}

// CodecError finds the attributes that cannot be encoded, by encoding one after the other. It drops the text of the
// cause, which may quote the value.
func CodecError(s *schema.Schema, v reflect.Value, err error) error {
	var errs []error
	for _, a := range s.Attrs {
		if _, err := EncodeAttr(s, a, v, nil); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		return ValueError(s, nil, err)
	}
	return JoinErrors(errs)
}

// Encoded is a value encoded once, for its key and for its item. A mistake in the key is reported by Key, one elsewhere by
// Item.
type Encoded struct {
	s     *schema.Schema
	v     reflect.Value
	it    item.Item
	most  int // at least the size of it, 0 if that is unknown
	wrong error
}

// Encode encodes v.
func Encode(s *schema.Schema, v reflect.Value) Encoded {
	e := Encoded{s: s, v: v}
	if s.Unopened == nil {
		if e.it, e.most, e.wrong = s.Codec.EncodeCounted(v); e.wrong != nil {
			e.it = nil // so that the key is made of the parts alone
		}
	}
	return e
}

// Item returns the item of the value, for a verb that writes whole values. It leaves out attributes that the library owns, empty
// attributes that are written once, and the attributes that skip reports or that changes set. Required attributes must be present.
// It is called once, after Key.
func (e *Encoded) Item(skip func(*schema.Attr) bool, changes []expr.Change) (item.Item, error) {
	s, v, it := e.s, e.v, e.it
	if e.wrong != nil {
		return nil, CodecError(s, v, e.wrong)
	}
	var wrong []error
	for _, a := range s.Attrs {
		var c *expr.Change
		if changes != nil {
			c = ChangeOf(changes, a.Name)
		}
		if c != nil {
			delete(it, a.Name)
			if a.IsRequired && c.Kind == expr.DeleteFromSet {
				wrong = append(wrong, Invalid(s, CodeRequired, a, "%s, and the change does not give it a value", a.WhyRequired()))
			}
			continue
		}
		if a.IsOwned || skip != nil && skip(a) || a.IsOnce && item.Absent(it[a.Name]) {
			delete(it, a.Name)
			if !a.IsOnce {
				continue
			}
		}
		if a.IsRequired && item.Empty(it[a.Name]) {
			wrong = append(wrong, Invalid(s, CodeRequired, a, "%s", a.WhyRequired()))
		}
	}
	if s.SetsExpiry {
		x := Expiry(s)
		if err := CheckSeconds(s, s.Attr(x.Stamps()), it[x.Stamps()]); err != nil {
			wrong = append(wrong, err)
		}
	}
	if s.Checks {
		wrong = append(wrong, Validate(s, v, it)...)
	}
	if wrong != nil {
		return it, JoinErrors(wrong)
	}
	return it, nil
}

// Sized is an item whose size was counted when it was encoded.
type Sized struct {
	Item item.Item
	most int // at least its size, 0 if that is unknown
}

// KeyAndItem returns the results of Key and of Item, without skip and changes. It encodes the key parts once.
func KeyAndItem(s *schema.Schema, v reflect.Value) (primary, parts, it item.Item, err error) {
	primary, parts, sized, err := KeyAndSized(s, v)
	return primary, parts, sized.Item, err
}

// KeyAndSized is KeyAndItem with the size of the item.
func KeyAndSized(s *schema.Schema, v reflect.Value) (primary, parts item.Item, it Sized, err error) {
	e := Encode(s, v)
	if primary, parts, err = Key(s, v, e.it); err == nil {
		it.Item, err = e.Item(nil, nil)
		it.most = e.most
	}
	return primary, parts, it, err
}

// KeyedItem is KeyAndItem for a new item, which gets the attributes of composed. It has no keys that it already has.
func KeyedItem(s *schema.Schema, v reflect.Value) (composed item.Item, it Sized, err error) {
	e := Encode(s, v)
	if e.wrong == nil && s.Unopened == nil && nativeKeys(s) {
		err = checkKeys(s, e.it)
	} else {
		composed, _, err = Key(s, v, e.it)
	}
	if err == nil {
		it.Item, err = e.Item(nil, nil)
		it.most = e.most
	}
	return composed, it, err
}

// CheckBytes rejects an item of n bytes, if that is too large for DynamoDB.
func CheckBytes(s *schema.Schema, n int) error {
	if n > item.MaxBytes {
		return TooLarge(s, "the item is %d bytes, %d are allowed", n, item.MaxBytes)
	}
	return nil
}

// mostAdded returns at least the size of what the library adds to an encoded item: keys, and a few short attributes.
func mostAdded(s *schema.Schema) int {
	const key, others = key.MaxPartitionKey + key.MaxSortKey + 2*MaxKeyName, 4 << 10
	return (1+len(s.Indexes))*key + len(s.Name) + others
}

// Check is [CheckSize] for what the item has become by the addition of keys and hidden attributes. It seldom looks at them.
func (it Sized) Check(s *schema.Schema) error {
	if it.most > 0 && it.most+mostAdded(s) <= item.MaxBytes {
		return nil
	}
	return CheckSize(s, it.Item)
}

// CheckSize rejects an item that is too large for DynamoDB.
func CheckSize(s *schema.Schema, it item.Item) error {
	if n := item.Size(it); n > item.MaxBytes {
		return CheckBytes(s, n)
	}
	return nil
}
