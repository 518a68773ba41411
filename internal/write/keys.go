package write

import (
	"bytes"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

func zeroKey(a *schema.Attr, av types.AttributeValue) bool {
	if s, ok := av.(*types.AttributeValueMemberS); ok && a.Text {
		return a.TextField().Empty(s.Value)
	}
	if a.Time {
		t, err := a.Format.FromValue(av)
		return err == nil && t.IsZero()
	}
	switch v := av.(type) {
	case *types.AttributeValueMemberN:
		return strings.Trim(v.Value, "0.") == ""
	case *types.AttributeValueMemberB:
		return len(v.Value) == 0 || a.IsArray() && len(bytes.Trim(v.Value, "\x00")) == 0
	case *types.AttributeValueMemberBOOL:
		return !v.Value
	}
	return false
}

// CheckPart rejects a key part that is absent, or that is zero without the role zero.
func CheckPart(s *schema.Schema, a *schema.Attr, av types.AttributeValue) error {
	if item.Absent(av) {
		return Invalid(s, CodeKeyPart, a, "the key part is missing")
	}
	if !a.IsZero && zeroKey(a, av) {
		return Invalid(s, CodeKeyPart, a, `the key part is zero; if zero is a real value here, tag the field entity:"zero"`)
	}
	return nil
}

func firstAttr(s *schema.Schema, names []string) *schema.Attr {
	if len(names) == 0 {
		return nil
	}
	return s.Attr(names[0])
}

func keyBytes(av types.AttributeValue) int {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	}
	return 0
}

// primaryOf composes the primary key from its parts in the given map. A key without a template is its parts.
func primaryOf(s *schema.Schema, parts, primary item.Item) error {
	for i, k := range []*schema.KeyDef{s.PK, s.SK} {
		if k == nil {
			continue
		}
		n := 0
		if k.Native != nil {
			a := k.Native[0]
			if item.Absent(parts[a.Name]) {
				return Invalid(s, CodeKeyPart, a, "the key part is missing")
			}
			primary[a.Name] = parts[a.Name]
			n = keyBytes(parts[a.Name])
		} else {
			text, missing, err := k.Template.Compose(parts)
			if err != nil {
				return KeyError(s, err)
			}
			if len(missing) > 0 || text == "" {
				return Invalid(s, CodeKeyPart, firstAttr(s, missing), "the key part is missing")
			}
			primary[k.Attr] = &types.AttributeValueMemberS{Value: text}
			n = len(text)
		}
		if n > s.KeyLimits[i] {
			return tooLong(s, i, n)
		}
	}
	return nil
}

// tooLong is the error of a partition key (0) or sort key (1) of n bytes that is too long for DynamoDB.
func tooLong(s *schema.Schema, i, n int) error {
	return TooLarge(s, "the %s is %d bytes long, %d are allowed", [...]string{"partition key", "sort key"}[i], n, s.KeyLimits[i])
}

// nativeKeys reports whether the primary key consists of attributes of the model that are stored as given.
func nativeKeys(s *schema.Schema) bool {
	for _, k := range []*schema.KeyDef{s.PK, s.SK} {
		if k != nil && (k.Native == nil || k.Native[0].IsOwned) {
			return false
		}
	}
	return true
}

// checkKeys rejects an item without a valid native primary key.
func checkKeys(s *schema.Schema, it item.Item) error {
	for _, k := range []*schema.KeyDef{s.PK, s.SK} {
		if k == nil {
			continue
		}
		for _, a := range k.Parts {
			if err := CheckPart(s, a, it[a.Name]); err != nil {
				return err
			}
		}
	}
	return primaryOf(s, it, it)
}

// Key composes the primary key of v, which needs only the key parts, or of attributes that are encoded already, if encoded is
// not nil. parts are the key parts as they are stored. It can be the same map as primary, so neither may be changed.
func Key(s *schema.Schema, v reflect.Value, encoded item.Item) (primary, parts item.Item, err error) {
	if s.Unopened != nil {
		return nil, nil, s.Unopened
	}
	parts = make(item.Item, 2)
	if primary = parts; !s.NativeKey {
		primary = make(item.Item, 2)
	}
	var together item.Values
	if err := composeKey(s, v, encoded, parts, primary, &together); err != nil {
		return nil, nil, err
	}
	return primary, parts, nil
}

// composeKey sets parts and primary, which are empty, see Key. together may encode the parts; it may be nil.
func composeKey(s *schema.Schema, v reflect.Value, encoded, parts, primary item.Item, together *item.Values) (err error) {
	for _, k := range [...]*schema.KeyDef{s.PK, s.SK} {
		if k == nil {
			continue
		}
		for _, a := range k.Parts {
			av := encoded[a.Name]
			if encoded == nil {
				if av, err = EncodeAttr(s, a, v, together); err != nil {
					return err
				}
			}
			if text, ok := av.(*types.AttributeValueMemberS); !ok || text.Value == "" || a.Text || a.Time { // most parts are texts
				if err := CheckPart(s, a, av); err != nil {
					return err
				}
			}
			parts[a.Name] = av
		}
	}
	return primaryOf(s, parts, primary)
}

// Keys composes many primary keys of an entity.
type Keys struct {
	s              *schema.Schema
	together       item.Values
	parts, primary item.Item // of the last key; nil if it is its parts
}

// NewKeys returns a Keys for n values of s.
func NewKeys(s *schema.Schema, n int) *Keys {
	k := &Keys{s: s}
	if s.Unopened != nil {
		return k
	}
	each := len(s.PK.Parts)
	if s.SK != nil {
		each += len(s.SK.Parts)
	}
	k.together = item.ValuesFor(n * each)
	if !s.NativeKey {
		k.parts, k.primary = item.Item{}, item.Item{}
	}
	return k
}

// Key is [Key] for v. parts may be changed by the next call; it is nil if the key is its parts.
func (k *Keys) Key(v reflect.Value) (primary item.Primary, parts item.Item, err error) {
	switch {
	case k.s.Unopened != nil:
		return item.Primary{}, nil, k.s.Unopened
	case k.primary == nil:
		primary, err = k.native(v)
		return primary, nil, err
	}
	clear(k.parts)
	clear(k.primary)
	if err := composeKey(k.s, v, nil, k.parts, k.primary, &k.together); err != nil {
		return item.Primary{}, nil, err
	}
	return item.Primary{Names: k.s.SortedKey}.With(k.primary), k.parts, nil
}

// native is Key for a key that is its parts.
func (k *Keys) native(v reflect.Value) (primary item.Primary, err error) {
	defs := [...]*schema.KeyDef{k.s.PK, k.s.SK}
	var values [2]types.AttributeValue
	for i, def := range defs {
		if def == nil {
			continue
		}
		if values[i], err = EncodeAttr(k.s, def.Native[0], v, &k.together); err != nil {
			return item.Primary{}, err
		}
		if err = CheckPart(k.s, def.Native[0], values[i]); err != nil {
			return item.Primary{}, err
		}
	}
	for i, def := range defs {
		if def == nil {
			continue
		}
		if n := keyBytes(values[i]); n > k.s.KeyLimits[i] {
			return item.Primary{}, tooLong(k.s, i, n)
		}
	}
	if k.s.SortedKey[0] != k.s.PK.Native[0].Name {
		values[0], values[1] = values[1], values[0]
	}
	return item.Primary{Names: k.s.SortedKey, Values: values}, nil
}

// CheckPartitionKey rejects a partition key that is too long for DynamoDB.
func CheckPartitionKey(s *schema.Schema, av types.AttributeValue) error {
	if n := keyBytes(av); n > key.MaxPartitionKey {
		return TooLarge(s, "the partition key is %d bytes long, %d are allowed", n, key.MaxPartitionKey)
	}
	return nil
}
