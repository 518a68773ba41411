package key

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Recomposes reports that text is the key that effect-dynamodb gives an item:
// its values in lower case and unescaped, also those that this package would
// refuse to write there.
func (t *Template) Recomposes(item map[string]types.AttributeValue, text string) bool {
	composed, ok := t.AsStored(item)
	// Beyond ASCII, JavaScript and Go do not agree on every lower case.
	return ok && strings.EqualFold(composed, text)
}

// AsStored is the key that effect-dynamodb gives an item, up to the lower case of
// letters on which JavaScript and Go do not agree; false when a part is absent.
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

// asStored is how effect-dynamodb writes a stored value: numbers are padded on
// the left whatever they are.
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
