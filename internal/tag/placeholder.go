package tag

import (
	"strconv"
	"strings"
)

// maxWidth is the number of digits of the greatest uint64. bigintWidth is the one in which effect-dynamodb writes a bigint.
const (
	maxWidth    = 20
	bigintWidth = 38
)

// parsePlaceholder reads what stands between the braces, text[start:end].
func parsePlaceholder(text string, start, end int) (*Placeholder, error) {
	mark := end
	if at := strings.IndexAny(text[start:end], ":|"); at >= 0 {
		mark = start + at
	}
	if err := attributeName(text, start, mark); err != nil {
		return nil, err
	}
	field := &Placeholder{Attr: text[start:mark]}
	if mark == end {
		return field, nil
	}
	option := text[mark+1 : end]
	if strings.ContainsAny(option, ":|") {
		return nil, errorAt(mark+1, "a placeholder takes a width or |lower, not both")
	}
	if text[mark] == '|' {
		if option != "lower" {
			return nil, errorAt(mark+1, `the only form a placeholder may ask for is "lower"`)
		}
		field.Lower = true
		return field, nil
	}
	width, ok := parseWidth(option)
	if !ok {
		return nil, errorAt(mark+1, "a width is written :01 to :0%d, or :0%d, with its leading zero", maxWidth, bigintWidth)
	}
	field.Width = width
	return field, nil
}

// parseWidth reads "0N". The zero is required, as in a printf verb, because a
// reader would take {a:13} for a truncation or for padding with spaces.
func parseWidth(text string) (int, bool) {
	digits, padded := strings.CutPrefix(text, "0")
	width, err := strconv.Atoi(digits)
	if !padded || err != nil || width < 1 || width > maxWidth && width != bigintWidth {
		return 0, false
	}
	return width, strconv.Itoa(width) == digits // one spelling: no sign, no second zero
}
