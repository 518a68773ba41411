package tag

import (
	"slices"
	"strings"
)

// attributeOptions are the options that attributevalue knows (its tag.go).
var attributeOptions = []string{
	"omitempty", "omitemptyelem", "nullempty", "nullemptyelem",
	"string", "unixtime", "stringset", "numberset", "binaryset",
}

// Attribute is the parsed `dynamodbav` tag of a struct field.
type Attribute struct {
	Name          string // "" when not given
	Skip          bool   // "-"
	OmitEmpty     bool
	OmitEmptyElem bool
	NullEmpty     bool
	NullEmptyElem bool
	String        bool
	UnixTime      bool
	Set           string // "", "string", "number" or "binary"
}

// ParseAttribute reads "name,option,…" as attributevalue does, but refuses
// options that attributevalue would ignore in silence.
func ParseAttribute(text string) (Attribute, error) {
	if text == "-" {
		return Attribute{Skip: true}, nil
	}
	words := strings.Split(text, ",")
	if words[0] == "-" {
		return Attribute{}, errorAt(1, `"-" takes no options`)
	}
	attr := Attribute{Name: words[0]}
	at := len(words[0]) + len(",")
	for i, word := range words[1:] {
		if slices.Contains(words[1:1+i], word) {
			return Attribute{}, errorAt(at, "%s is given twice", word)
		}
		if err := attr.set(word, at); err != nil {
			return Attribute{}, err
		}
		at += len(word) + len(",")
	}
	return attr, nil
}

func (a *Attribute) set(option string, at int) error {
	switch option {
	case "omitempty":
		a.OmitEmpty = true
	case "omitemptyelem":
		a.OmitEmptyElem = true
	case "nullempty":
		a.NullEmpty = true
	case "nullemptyelem":
		a.NullEmptyElem = true
	case "string":
		a.String = true
	case "unixtime":
		a.UnixTime = true
	case "stringset", "numberset", "binaryset":
		if a.Set != "" {
			return errorAt(at, "%s: the field is a %sset already", option, a.Set)
		}
		a.Set = strings.TrimSuffix(option, "set")
	case "":
		return errorAt(at, "empty option")
	case "omitzero":
		return errorAt(at, "omitzero is not an option here: omitempty covers zero times too")
	default:
		return errorAt(at, "unknown option %q%s", option, suggestion(option, attributeOptions))
	}
	return nil
}
