package layout

import (
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// MaxKeyName is DynamoDB's limit for the name of a key attribute, in bytes.
const MaxKeyName = 255

// KeyOf returns the primary key of an item.
func KeyOf(s *schema.Schema, it item.Item) item.Item {
	primary := item.Item{}
	for _, k := range []*schema.KeyDef{s.PK, s.SK} {
		for _, name := range k.Attributes() {
			primary[name] = it[name]
		}
	}
	return primary
}

// KeyID returns a text that is equal for equal primary keys only.
func KeyID(primary item.Item) string {
	names := make([]string, 0, 2)
	for name := range primary {
		names = append(names, name)
	}
	slices.Sort(names)
	b := make([]byte, 0, 128)
	for _, name := range names {
		b = append(append(b, name...), '=')
		switch v := primary[name].(type) {
		case *types.AttributeValueMemberS:
			b = strconv.AppendQuote(b, v.Value)
		case *types.AttributeValueMemberN:
			text := v.Value
			if d, err := item.ParseDecimal(text); err == nil {
				text = d.String()
			}
			b = append(b, text...)
		default:
			b = append(b, item.ValueText(v)...)
		}
		b = append(b, ' ')
	}
	return string(b)
}

// SortKey returns the text of the sort key of an item or primary key. It returns false if the entity has no sort key or
// the item has no text there.
func SortKey(s *schema.Schema, it item.Item) (string, bool) {
	if s.SK == nil || s.SK.Attr == "" {
		return "", false
	}
	sk, ok := it[s.SK.Attr].(*types.AttributeValueMemberS)
	if !ok {
		return "", false
	}
	return sk.Value, true
}

// SameCase returns a *KeyCaseError if a key part of a stored item differs from that in parts. An item without the
// attribute, which effect-dynamodb can leave, is accepted.
func SameCase(s *schema.Schema, parts, stored item.Item) error {
	for _, a := range s.Folded {
		if av, ok := stored[a.Name]; ok && !item.Equal(av, parts[a.Name]) {
			return &entitytype.KeyCaseError{Attr: a.Name}
		}
	}
	return nil
}

// CaseGuard holds for items with these key parts, and if there is no item.
func CaseGuard(s *schema.Schema, parts item.Item) expr.Cond {
	var guards []expr.Cond
	for _, a := range s.Folded {
		path := expr.Attr(a.Name)
		guards = append(guards, expr.Any(expr.Compare(expr.NotExists, path), expr.Compare(expr.Eq, path, parts[a.Name])))
	}
	return expr.All(guards...)
}
