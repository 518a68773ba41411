package item

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// SyntaxError is a mistake in a tag's text.
type SyntaxError struct {
	Pos     int // byte offset into the text
	Problem string
}

// Error returns the problem and its position.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s (at byte %d)", e.Problem, e.Pos)
}

// ErrorAt returns the error for a mistake at a byte offset.
func ErrorAt(pos int, format string, args ...any) *SyntaxError {
	return &SyntaxError{Pos: pos, Problem: fmt.Sprintf(format, args...)}
}

// Pair is one key:"value" of a struct tag.
type Pair struct {
	Key, Value string
	Pos        int // offset of Key
}

// Pairs splits a struct tag into its key:"value" pairs, in order, separated by one or more spaces. It returns a *SyntaxError
// where reflect.StructTag stops at the first malformed pair, or takes the first of two equal keys, without an error.
func Pairs(text string) ([]Pair, error) { return AppendPairs(nil, text) }

// AppendPairs is Pairs, with the pairs in the memory of an empty slice.
func AppendPairs(pairs []Pair, text string) ([]Pair, error) {
	at := skipSpaces(text, 0)
	for at < len(text) {
		pair, end, err := scanPair(text, at)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(pairs, func(p Pair) bool { return p.Key == pair.Key }) {
			return nil, ErrorAt(at, "%s is given twice", pair.Key)
		}
		pairs = append(pairs, pair)
		at = skipSpaces(text, end)
		if at == end && at < len(text) {
			return nil, ErrorAt(at, "a space must follow the value of %s", pair.Key)
		}
	}
	return pairs, nil
}

// scanPair reads the pair at start and returns the offset after it.
func scanPair(text string, start int) (Pair, int, error) {
	colon := start
	for colon < len(text) && text[colon] > ' ' && text[colon] != ':' && text[colon] != '"' && text[colon] != 0x7f { // as reflect.StructTag
		colon++
	}
	key := text[start:colon]
	if key == "" {
		return Pair{}, 0, ErrorAt(start, `expected key:"value"`)
	}
	if colon == len(text) || text[colon] != ':' {
		return Pair{}, 0, ErrorAt(colon, `expected a colon and a quoted value after %q`, key)
	}
	quote := colon + 1
	if quote == len(text) || text[quote] != '"' {
		return Pair{}, 0, ErrorAt(quote, "the value of %s must be in double quotes", key)
	}
	end := quote + 1
	for end < len(text) && text[end] != '"' {
		if text[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(text) {
		return Pair{}, 0, ErrorAt(quote, "the closing quote of %s is missing", key)
	}
	end++
	value, err := strconv.Unquote(text[quote:end])
	if err != nil {
		return Pair{}, 0, ErrorAt(quote, "the value of %s is not a Go string", key)
	}
	return Pair{Key: key, Value: value, Pos: start}, end, nil
}

func skipSpaces(text string, at int) int {
	return len(text) - len(strings.TrimLeft(text[at:], " "))
}

// attributeOptions are the options of attributevalue (its tag.go).
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

// ParseAttribute reads "name,option,…" as attributevalue does, but rejects the unknown options that attributevalue ignores.
func ParseAttribute(text string) (Attribute, error) {
	if text == "-" {
		return Attribute{Skip: true}, nil
	}
	name, options, more := strings.Cut(text, ",")
	if name == "-" {
		return Attribute{}, ErrorAt(1, `"-" takes no options`)
	}
	attr := Attribute{Name: name}
	if !more {
		return attr, nil
	}
	at := len(name) + len(",")
	words := strings.Split(options, ",")
	for i, word := range words {
		if slices.Contains(words[:i], word) {
			return Attribute{}, ErrorAt(at, "%s is given twice", word)
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
			return ErrorAt(at, "%s: the field is a %sset already", option, a.Set)
		}
		a.Set = strings.TrimSuffix(option, "set")
	case "":
		return ErrorAt(at, "empty option")
	case "omitzero":
		return ErrorAt(at, "omitzero is not an option here: omitempty covers zero times too")
	default:
		return ErrorAt(at, "unknown option %q; there are %s", option, strings.Join(attributeOptions, ", "))
	}
	return nil
}
