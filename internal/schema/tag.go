package schema

import (
	"fmt"
	"slices"
	"strconv"
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

func errorAt(pos int, format string, args ...any) *SyntaxError {
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
			return nil, errorAt(at, "%s is given twice", pair.Key)
		}
		pairs = append(pairs, pair)
		at = skipSpaces(text, end)
		if at == end && at < len(text) {
			return nil, errorAt(at, "a space must follow the value of %s", pair.Key)
		}
	}
	return pairs, nil
}

// scanPair reads the pair at start and returns the offset after it.
func scanPair(text string, start int) (Pair, int, error) {
	colon := start
	for colon < len(text) && inKey(text[colon]) {
		colon++
	}
	key := text[start:colon]
	if key == "" {
		return Pair{}, 0, errorAt(start, `expected key:"value"`)
	}
	if colon == len(text) || text[colon] != ':' {
		return Pair{}, 0, errorAt(colon, `expected a colon and a quoted value after %q`, key)
	}
	quote := colon + 1
	if quote == len(text) || text[quote] != '"' {
		return Pair{}, 0, errorAt(quote, "the value of %s must be in double quotes", key)
	}
	end := quote + 1
	for end < len(text) && text[end] != '"' {
		if text[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(text) {
		return Pair{}, 0, errorAt(quote, "the closing quote of %s is missing", key)
	}
	end++
	value, err := strconv.Unquote(text[quote:end])
	if err != nil {
		return Pair{}, 0, errorAt(quote, "the value of %s is not a Go string", key)
	}
	return Pair{Key: key, Value: value, Pos: start}, end, nil
}

// inKey reports whether reflect.StructTag accepts c in a key.
func inKey(c byte) bool {
	return c > ' ' && c != ':' && c != '"' && c != 0x7f
}

func skipSpaces(text string, at int) int {
	for at < len(text) && text[at] == ' ' {
		at++
	}
	return at
}
