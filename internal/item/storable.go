package item

import (
	"slices"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// CheckStorable returns a *FieldError for the first attribute, by name, that holds what DynamoDB cannot store or the SDK
// would change on its way: NaN, an infinity, more than 38 digits, text that is no UTF-8, an element twice in a set.
func CheckStorable(it Item) error {
	bad, problem := "", ""
	for name, av := range it {
		if p := unstorable(av); p != "" && (problem == "" || name < bad) {
			bad, problem = name, p
		}
	}
	if problem == "" {
		return nil
	}
	return &FieldError{bad, problem}
}

const (
	badNumber = "not a number that DynamoDB can store"
	badText   = "the text is not valid UTF-8"
	badSet    = "an element is in the set twice"
)

// unstorable says why av cannot be stored, "" when it can. Of several reasons in one map it is the first by text.
func unstorable(av types.AttributeValue) string {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		if !utf8.ValidString(v.Value) {
			return badText
		}
	case *types.AttributeValueMemberN:
		if _, err := ParseDecimal(v.Value); err != nil {
			return badNumber
		}
	case *types.AttributeValueMemberSS:
		return unstorableSet(v.Value, func(e string) (string, string) { return e, unstorable(S(e)) })
	case *types.AttributeValueMemberNS:
		return unstorableSet(v.Value, func(e string) (string, string) {
			d, err := ParseDecimal(e)
			if err != nil {
				return "", badNumber
			}
			return d.String(), ""
		})
	case *types.AttributeValueMemberBS:
		return unstorableSet(v.Value, func(e []byte) (string, string) { return string(e), "" })
	case *types.AttributeValueMemberL:
		for _, e := range v.Value {
			if p := unstorable(e); p != "" {
				return p
			}
		}
	case *types.AttributeValueMemberM:
		var all []string
		for name, e := range v.Value {
			if !utf8.ValidString(name) {
				all = append(all, badText)
			}
			if p := unstorable(e); p != "" {
				all = append(all, p)
			}
		}
		if len(all) > 0 {
			return slices.Min(all)
		}
	}
	return ""
}

// unstorableSet looks at each element, which same gives the identity and the problem of.
func unstorableSet[E any](set []E, same func(E) (id, problem string)) string {
	seen := make(map[string]bool, len(set))
	for _, e := range set {
		id, problem := same(e)
		if problem != "" {
			return problem
		}
		if seen[id] {
			return badSet
		}
		seen[id] = true
	}
	return ""
}
