package item

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Text returns a text that a table or a user has chosen, such as the name of an attribute, for messages: quoted unless each rune is
// printable. So it cannot drive a terminal, nor reverse or end a line.
func Text(s string) string {
	odd := func(r rune) bool { return r == '"' || !strconv.IsPrint(r) }
	if s == "" || strings.TrimSpace(s) != s || !utf8.ValidString(s) || strings.ContainsFunc(s, odd) {
		return strconv.Quote(s)
	}
	return s
}

// ValueText formats av for messages and hides nothing.
func ValueText(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return strconv.Quote(v.Value)
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return "base64(" + base64.StdEncoding.EncodeToString(v.Value) + ")"
	case *types.AttributeValueMemberBOOL:
		return strconv.FormatBool(v.Value)
	case *types.AttributeValueMemberNULL:
		return "null"
	case *types.AttributeValueMemberL:
		parts := make([]string, len(v.Value))
		for i, e := range v.Value {
			parts[i] = ValueText(e)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case *types.AttributeValueMemberM:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			parts = append(parts, Text(name)+": "+ValueText(v.Value[name]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case *types.AttributeValueMemberSS:
		parts := make([]string, len(v.Value))
		for i, s := range v.Value {
			parts[i] = strconv.Quote(s)
		}
		return "set(" + strings.Join(parts, ", ") + ")"
	case *types.AttributeValueMemberNS:
		return "set(" + strings.Join(v.Value, ", ") + ")"
	case *types.AttributeValueMemberBS:
		return fmt.Sprintf("set(%d binaries)", len(v.Value))
	}
	return "?"
}
