package key

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Recomposes reports whether text is the key that effect-dynamodb composes for an item: with values in lower case and
// unescaped, including those that this package rejects.
func (t *Template) Recomposes(item map[string]types.AttributeValue, text string) bool {
	composed, ok := t.AsStored(item)
	// JavaScript and Go lower some non-ASCII letters differently.
	return ok && strings.EqualFold(composed, text)
}

// AsStored returns the key that effect-dynamodb composes for an item, except for letters that JavaScript and Go lower
// differently. It returns false if a part is absent.
func (t *Template) AsStored(item map[string]types.AttributeValue) (string, bool) {
	var b strings.Builder
	b.WriteString(t.Prefix)
	for _, s := range t.Segments {
		b.WriteByte('#')
		b.WriteString(s.Literal)
		if s.Field == nil {
			continue
		}
		part, ok := s.Field.asStored(item[s.Field.Attr])
		if !ok {
			return "", false
		}
		b.WriteString(part)
	}
	return b.String(), true
}

// asStored returns a stored value as effect-dynamodb writes it: any number is padded on the left.
func (f *Field) asStored(av types.AttributeValue) (string, bool) {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return strings.ToLower(v.Value), true
	case *types.AttributeValueMemberN:
		return strings.Repeat("0", max(f.Width-len(v.Value), 0)) + v.Value, true
	case *types.AttributeValueMemberBOOL:
		if v.Value {
			return "true", true
		}
		return "false", true
	}
	return "", false
}
