package bind

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"

	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// encode encodes a Go value for the field at n. If exact is set, a time must fit its format. It returns nil for a value
// that the field's tag leaves out. together may be nil.
func encode(s *schema.Schema, n *schema.Node, v reflect.Value, exact bool, together *item.Values) (av types.AttributeValue, err error) {
	switch {
	case !v.IsValid() && n.Tag.OmitEmpty:
		return nil, nil
	case !v.IsValid():
		return &types.AttributeValueMemberNULL{Value: true}, nil
	case n.Top && n.Attr.Time:
		f := n.Attr.TimeField()
		f.OmitEmpty, f.Exact = n.Tag.OmitEmpty, exact
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
		av, err = s.Codec.EncodeValue(together, v, options)
		if _, null := av.(*types.AttributeValueMemberNULL); null && n.Top {
			av = n.Attr.Stored(av)
		}
	}
	if err != nil {
		return nil, ValueError(s, n.Attr, err)
	}
	return av, nil
}

// EncodeAttr encodes one attribute of struct value v. It returns nil if the attribute is absent.
func EncodeAttr(s *schema.Schema, a *schema.Attr, v reflect.Value) (types.AttributeValue, error) {
	fv, err := v.FieldByIndexErr(a.Index)
	if err != nil {
		return nil, nil //nolint:nilerr // inside a nil embedded pointer
	}
	if fv.Kind() == reflect.Interface {
		fv = fv.Elem()
	}
	return encode(s, a.Node, fv, a.Exact, nil)
}

// EncodeValue encodes a value for attribute a. An empty value is encoded too.
func EncodeValue(s *schema.Schema, a *schema.Attr, v any) (types.AttributeValue, error) {
	n := *a.Node
	n.Tag.OmitEmpty = false
	return encode(s, &n, reflect.ValueOf(v), false, nil)
}

// CodecError finds the attributes that cannot be encoded, by encoding one after the other. It drops the text of the
// cause, which may quote the value.
func CodecError(s *schema.Schema, v reflect.Value, err error) error {
	var errs []error
	for _, a := range s.Attrs {
		if _, err := EncodeAttr(s, a, v); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		return ValueError(s, nil, err)
	}
	return JoinErrors(errs)
}

// WholeItem returns the item of v, encoded as it with the error err, for a verb that writes whole values. It leaves out attributes that the
// library owns, empty attributes that are written once, and the attributes that skip reports or that changes set. Required attributes must
// be present.
func WholeItem(s *schema.Schema, v reflect.Value, it item.Item, err error, skip func(*schema.Attr) bool, changes []expr.Change) (item.Item, error) {
	if err != nil {
		return nil, CodecError(s, v, err)
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

// KeyAndItem returns the primary key of Key and the result of WholeItem, without skip and changes.
func KeyAndItem(s *schema.Schema, v reflect.Value) (primary, it item.Item, err error) {
	it, wrong := s.Codec.Encode(v)
	if primary, _, err = Key(s, v, it, nil); err == nil {
		it, err = WholeItem(s, v, it, wrong, nil, nil)
	}
	return primary, it, err
}

// KeyedItem is KeyAndItem for a new item that has its primary key.
func KeyedItem(s *schema.Schema, v reflect.Value) (item.Item, error) {
	it, wrong := s.Codec.Encode(v)
	var k *Keys
	within := it != nil && s.NativeKey && !s.PK.Native[0].IsOwned && (s.SK == nil || !s.SK.Native[0].IsOwned)
	if within {
		k = &Keys{parts: it, primary: it}
	}
	primary, _, err := Key(s, v, it, k)
	if err != nil {
		return nil, err
	}
	if it, err = WholeItem(s, v, it, wrong, nil, nil); err == nil && !within {
		maps.Copy(it, primary)
	}
	return it, err
}

// CheckSize rejects an item of n bytes, if that is too large for DynamoDB.
func CheckSize(s *schema.Schema, n int) error {
	if n > item.MaxBytes {
		return TooLarge(s, "the item is %d bytes, %d are allowed", n, item.MaxBytes)
	}
	return nil
}

// Kept returns a snapshot or deleted copy as it is stored. One that is larger than an item can be loses its content, so that the
// write of the item goes through: what keys, roles and unique values need stays, under a mark with the size of all.
func Kept(s *schema.Schema, it item.Item) (item.Item, error) {
	n := item.Size(it)
	if n <= item.MaxBytes+item.KeptBytes {
		return it, nil
	}
	out := item.Item{schema.OmittedAttr: item.N(strconv.Itoa(n))}
	deletedAt, _ := layout.DeletedAttr(s)
	for name, av := range it {
		a := s.Attr(name)
		inKey := func(k *schema.KeyDef) bool {
			return slices.Contains(k.Attributes(), name) || slices.Contains(k.Parts, a) || slices.ContainsFunc(k.When, func(c schema.Clause) bool { return c.Attr == a })
		}
		if schema.Reserved(name) || name == s.Options.TTL || name == deletedAt || a != nil && (a.IsOwned || a.IsUnique) || slices.ContainsFunc(s.Keys(), inKey) {
			out[name] = av
		}
	}
	return out, CheckSize(s, item.Size(out))
}

// Omitted returns an ErrOmitted for a stored state without its content, and nil for any other item.
func Omitted(s *schema.Schema, it item.Item) error {
	n, omitted := it[schema.OmittedAttr]
	switch {
	case !omitted:
		return nil
	case layout.Erased(it):
		return fmt.Errorf("%s %w: that of version %d was erased", CodeOmitted, sentinel.ErrOmitted, layout.StoredVersion(s, it))
	}
	return fmt.Errorf("%s %w: with it, version %d would have had %d bytes, more than an item can have", CodeOmitted, sentinel.ErrOmitted, layout.StoredVersion(s, it), layout.VersionIn(n))
}
