package bind

import (
	"bytes"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// CheckPart rejects a key part that is absent, or that is zero without the role zero.
func CheckPart(s *schema.Schema, a *schema.Attr, av types.AttributeValue) error {
	if item.Absent(av) {
		return Invalid(s, CodeKeyPart, a, "the key part is missing")
	}
	if a.IsZero && a.Custom == nil {
		return nil
	}
	zero := a.Custom != nil && item.Equal(av, a.Custom)
	if a.Custom != nil && item.TypeName(av) != string(a.Scalar) {
		return Invalid(s, CodeKeyPart, a, "the key part encodes itself as %s, and its zero value as %s: all values must have one type", item.TypeName(av), a.Scalar)
	} else if text, ok := av.(*types.AttributeValueMemberS); ok && a.Text {
		zero = a.TextField().Empty(text.Value)
	} else if a.Time {
		t, err := a.Format.FromValue(av)
		zero = err == nil && t.IsZero()
	} else {
		switch v := av.(type) {
		case *types.AttributeValueMemberN:
			zero = strings.Trim(v.Value, "0.") == ""
		case *types.AttributeValueMemberB: // an array has no empty value, only a zero one; a schema lock has no types
			zero = len(v.Value) == 0 || a.Type != nil && schema.Bare(a.Type).Kind() == reflect.Array && len(bytes.Trim(v.Value, "\x00")) == 0
		case *types.AttributeValueMemberBOOL:
			zero = !v.Value
		}
	}
	if zero && !a.IsZero {
		return Invalid(s, CodeKeyPart, a, `the key part is zero; if zero is a real value here, tag the field entity:"zero"`)
	}
	return nil
}

// Keys holds the memory of which [Key] composes primary keys.
type Keys struct {
	together       item.Values // that Key encodes key parts in
	parts, primary item.Item   // maps for the next key
}

// NewKeys returns a Keys for n values of s, which are encoded together and composed in the same maps.
func NewKeys(s *schema.Schema, n int) *Keys {
	if s.Unopened != nil {
		return nil
	}
	each := len(s.PK.Parts)
	if s.SK != nil {
		each += len(s.SK.Parts)
	}
	k := &Keys{together: item.Values{Likely: item.Room{Texts: n * each, Numbers: n * each}}, parts: item.Item{}}
	if k.primary = k.parts; !s.NativeKey {
		k.primary = item.Item{}
	}
	return k
}

// next returns the memory for a key. It is empty, unless the key is composed in the item of its value.
func (k *Keys) next(within bool) (together *item.Values, primary, parts item.Item) {
	if !within {
		clear(k.parts)
		clear(k.primary)
	}
	return &k.together, k.primary, k.parts
}

// Key composes the primary key of v, which needs only the key parts. it is v encoded, or nil: then Key encodes the parts. parts are the key
// parts as they are stored. It can be the same map as primary, so neither may be changed, and with memory the next call changes both.
// memory may be nil.
func Key(s *schema.Schema, v reflect.Value, it item.Item, memory *Keys) (primary, parts item.Item, err error) {
	if s.Unopened != nil {
		return nil, nil, s.Unopened
	}
	var together *item.Values
	if memory != nil {
		together, primary, parts = memory.next(it != nil)
	} else if parts = make(item.Item, 2); s.NativeKey {
		primary = parts
	} else {
		primary = make(item.Item, 2)
	}
	defs := [...]*schema.KeyDef{s.PK, s.SK}
	for _, def := range defs {
		if def == nil {
			continue
		}
		for _, a := range def.Parts {
			av := it[a.Name]
			if it == nil {
				fv, absent := v.FieldByIndexErr(a.Index)
				if absent == nil { // else it is inside a nil embedded pointer
					av, err = encode(s, a.Node, fv, a.Exact, together)
				}
				if err != nil {
					return nil, nil, err
				}
			}
			if text, ok := av.(*types.AttributeValueMemberS); !ok || text.Value == "" || !a.AnyText {
				if err := CheckPart(s, a, av); err != nil {
					return nil, nil, err
				}
			}
			parts[a.Name] = av
		}
	}
	for i, def := range defs {
		if def == nil {
			continue
		}
		n := 0
		if def.Native != nil { // the key is its part
			name := def.Native[0].Name
			primary[name], n = parts[name], item.ValueSize(parts[name])
		} else {
			text, missing, err := def.Template.Compose(parts)
			switch {
			case err != nil:
				return nil, nil, KeyError(s, err)
			case len(missing) > 0:
				return nil, nil, Invalid(s, CodeKeyPart, s.Attr(missing[0]), "the key part is missing")
			case text == "":
				return nil, nil, Invalid(s, CodeKeyPart, nil, "the key part is missing")
			}
			primary[def.Attr], n = &types.AttributeValueMemberS{Value: text}, len(text)
		}
		if n > s.KeyLimits[i] {
			return nil, nil, TooLarge(s, "the %s is %d bytes long, %d are allowed", [...]string{"partition key", "sort key"}[i], n, s.KeyLimits[i])
		}
	}
	return primary, parts, nil
}
