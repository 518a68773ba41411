package bind

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
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
		return len(v.Value) == 0
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
	if !a.AllowsZero() && zeroKey(a, av) {
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

func keyName(i int) string { return [...]string{"partition key", "sort key"}[i] }

// native reports whether the primary key is attributes, without a template.
func native(s *schema.Schema) bool { return s.PK.Native != nil && (s.SK == nil || s.SK.Native != nil) }

// primaryOf composes the primary key from its parts in the given map. A key without a template is its parts.
func primaryOf(s *schema.Schema, parts, primary item.Item) error {
	for i, k := range []*schema.KeyDef{s.PK, s.SK} {
		if k == nil {
			continue
		}
		if k.Native != nil {
			a := k.Native[0]
			if item.Absent(parts[a.Name]) {
				return Invalid(s, CodeKeyPart, a, "the key part is missing")
			}
			primary[a.Name] = parts[a.Name]
		} else {
			text, missing, err := k.Template.Compose(parts)
			if err != nil {
				return KeyError(s, err)
			}
			if len(missing) > 0 || text == "" {
				return Invalid(s, CodeKeyPart, firstAttr(s, missing), "the key part is missing")
			}
			primary[k.Attr] = item.S(text)
		}
		limit := layout.MaxPartitionKey
		switch {
		case i == 1:
			limit = layout.MaxSortKey - s.RelatedSuffix
		case s.EventPartitions != nil:
			limit -= len(schema.EventPartitionSuffix(0))
		}
		if n := keyBytes(primary[k.Attribute()]); n > limit {
			return TooLarge(s, "the %s is %d bytes long, %d are allowed", keyName(i), n, limit)
		}
	}
	return nil
}

// nativeKeys reports whether the primary key consists of attributes of the model that are stored as given.
func nativeKeys(s *schema.Schema) bool {
	for _, k := range []*schema.KeyDef{s.PK, s.SK} {
		if k != nil && (k.Native == nil || k.Native[0].Owned()) {
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

// Key composes the primary key of v, which needs only the key parts. parts are those attributes as they are stored. It can
// be the same map as primary, so neither may be changed.
func Key(s *schema.Schema, v reflect.Value) (primary, parts item.Item, err error) {
	var together item.Values
	return keyOf(s, func(a *schema.Attr) (types.AttributeValue, error) { return encodeAttr(s, a, v, &together) })
}

// keyOf is Key for a value whose key parts encoded returns.
func keyOf(s *schema.Schema, encoded func(*schema.Attr) (types.AttributeValue, error)) (primary, parts item.Item, err error) {
	if s.Unopened != nil {
		return nil, nil, s.Unopened
	}
	parts = make(item.Item, 2)
	primary = parts
	if !native(s) {
		primary = make(item.Item, 2)
	}
	if err := composeKey(s, parts, primary, encoded); err != nil {
		return nil, nil, err
	}
	return primary, parts, nil
}

// composeKey sets parts and primary for a value whose key parts encoded returns.
func composeKey(s *schema.Schema, parts, primary item.Item, encoded func(*schema.Attr) (types.AttributeValue, error)) error {
	for _, k := range []*schema.KeyDef{s.PK, s.SK} {
		if k == nil {
			continue
		}
		for _, a := range k.Parts {
			av, err := encoded(a)
			if err != nil {
				return err
			}
			if err := CheckPart(s, a, av); err != nil {
				return err
			}
			parts[a.Name] = av
		}
	}
	return primaryOf(s, parts, primary)
}

// Keys composes many primary keys of an entity.
type Keys struct {
	s              *schema.Schema
	names          *[2]string
	parts, primary item.Item // of the last key
}

// NewKeys returns a Keys for s.
func NewKeys(s *schema.Schema) *Keys {
	k := &Keys{s: s, names: new([2]string), parts: item.Item{}}
	if k.primary = k.parts; s.Unopened == nil && !native(s) {
		k.primary = item.Item{}
	}
	return k
}

// Key is [Key] for v. parts may be changed by the next call.
func (k *Keys) Key(v reflect.Value) (primary item.Primary, parts item.Item, err error) {
	if k.s.Unopened != nil {
		return item.Primary{}, nil, k.s.Unopened
	}
	clear(k.parts)
	clear(k.primary)
	if err := composeKey(k.s, k.parts, k.primary, func(a *schema.Attr) (types.AttributeValue, error) { return EncodeAttr(k.s, a, v) }); err != nil {
		return item.Primary{}, nil, err
	}
	if k.names[0] == "" {
		for i, name := range slices.Sorted(maps.Keys(k.primary)) {
			k.names[i] = name
		}
	}
	primary.Names = k.names
	for i := range primary.Len() {
		primary.Values[i] = k.primary[k.names[i]]
	}
	return primary, k.parts, nil
}

// CheckPartitionKey rejects a partition key that is too long for DynamoDB.
func CheckPartitionKey(s *schema.Schema, av types.AttributeValue) error {
	if n := keyBytes(av); n > layout.MaxPartitionKey {
		return TooLarge(s, "the partition key is %d bytes long, %d are allowed", n, layout.MaxPartitionKey)
	}
	return nil
}
