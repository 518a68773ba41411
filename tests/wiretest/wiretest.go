// Package wiretest makes random attribute values and writes them as DynamoDB's JSON, for tests.
package wiretest

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Item is an undecoded item.
type Item = map[string]types.AttributeValue

var texts = []string{"", "a", "Alice", "with \"quotes\" and \\ and /", "line\nfeed\ttab\x01", "日本語", "😀 emoji", "\ufffd", "\u2028", "<&>", "\xff bad", "2026-04-22T11:59:30.000000000Z",
	"1", "true", "0123456789abcdef0123456789abcdef", "ab\x7f"}

var numbers = []string{"0", "1", "-1", "42", "3.14", "-0", "1e3", "9007199254740993", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "99999999999999999999", "1.0",
	"3.4028235e38", "3.5e38", "1e-130", "12345678901234567890123456789012345678", "127", "255", "256", "1776859170", "-62167219201", "253402300800", "nonsense", ""}

// Text returns a random string.
func Text(r *rand.Rand) string {
	if r.IntN(4) == 0 {
		return texts[r.IntN(len(texts))] + texts[r.IntN(len(texts))]
	}
	return texts[r.IntN(len(texts))]
}

// Number returns the text of a number, sometimes of one that no type can hold.
func Number(r *rand.Rand) string {
	if r.IntN(3) == 0 {
		return fmt.Sprint(r.Int64() >> r.IntN(63))
	}
	return numbers[r.IntN(len(numbers))]
}

func many[E any](r *rand.Rand, one func() E) []E {
	out := make([]E, r.IntN(4))
	for i := range out {
		out[i] = one()
	}
	return out
}

// Value returns a random value of any type, nested up to depth.
func Value(r *rand.Rand, depth int) types.AttributeValue {
	n := 10
	if depth <= 0 {
		n = 8
	}
	binary := func() []byte { return []byte(Text(r)) }
	switch r.IntN(n) {
	case 0:
		return &types.AttributeValueMemberS{Value: Text(r)}
	case 1:
		return &types.AttributeValueMemberN{Value: Number(r)}
	case 2:
		return &types.AttributeValueMemberB{Value: binary()}
	case 3:
		return &types.AttributeValueMemberBOOL{Value: r.IntN(2) == 0}
	case 4:
		return &types.AttributeValueMemberNULL{Value: r.IntN(9) > 0}
	case 5:
		return &types.AttributeValueMemberSS{Value: many(r, func() string { return Text(r) })}
	case 6:
		return &types.AttributeValueMemberNS{Value: many(r, func() string { return Number(r) })}
	case 7:
		return &types.AttributeValueMemberBS{Value: many(r, binary)}
	case 8:
		return &types.AttributeValueMemberL{Value: many(r, func() types.AttributeValue { return Value(r, depth-1) })}
	}
	m := Item{}
	for range r.IntN(4) {
		m[Text(r)] = Value(r, depth-1)
	}
	return &types.AttributeValueMemberM{Value: m}
}

// Writer writes values as JSON. With Odd it spells them in unusual ways that mean the same.
type Writer struct {
	R   *rand.Rand
	Odd bool
}

func (w Writer) odd() bool { return w.Odd && w.R.IntN(20) == 0 }

func (w Writer) space(b []byte) []byte {
	if w.odd() {
		return append(b, " \t\r\n"[w.R.IntN(4)])
	}
	return b
}

// AppendText appends a string. Bytes that are not UTF-8 stay as they are.
func (w Writer) AppendText(b []byte, s string) []byte {
	b = append(w.space(b), '"')
	for i, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\' || c == '/' && w.odd():
			b = append(b, '\\', c)
		case c == '\n' && !w.odd():
			b = append(b, `\n`...)
		case c < 0x20 || c < 0x80 && w.odd():
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, s[i])
		}
	}
	if w.odd() {
		b = append(b, []string{`\ud83d\ude00`, `\ud83d`, `\ude00\ud83dx`, `\b\f\r`}[w.R.IntN(4)]...)
	}
	return w.space(append(b, '"'))
}

func list[E any](w Writer, b []byte, all []E, one func([]byte, E) []byte) []byte {
	b = append(w.space(b), '[')
	for i, e := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, e)
	}
	return w.space(append(w.space(b), ']'))
}

func (w Writer) blob(b []byte, v []byte) []byte {
	b = append(b, '"')
	return append(base64.StdEncoding.AppendEncode(b, v), '"')
}

// AppendValue appends a value.
func (w Writer) AppendValue(b []byte, av types.AttributeValue) []byte {
	b = append(w.space(b), '{')
	kind := func(name string) { b = append(w.space(append(append(w.space(b), '"'), name+`"`...)), ':') }
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		kind("S")
		b = w.AppendText(b, v.Value)
	case *types.AttributeValueMemberN:
		kind("N")
		b = w.AppendText(b, v.Value)
	case *types.AttributeValueMemberB:
		kind("B")
		b = w.blob(b, v.Value)
	case *types.AttributeValueMemberBOOL:
		kind("BOOL")
		b = fmt.Append(w.space(b), v.Value)
	case *types.AttributeValueMemberNULL:
		kind("NULL")
		b = fmt.Append(w.space(b), v.Value)
	case *types.AttributeValueMemberSS:
		kind("SS")
		b = list(w, b, v.Value, w.AppendText)
	case *types.AttributeValueMemberNS:
		kind("NS")
		b = list(w, b, v.Value, w.AppendText)
	case *types.AttributeValueMemberBS:
		kind("BS")
		b = list(w, b, v.Value, w.blob)
	case *types.AttributeValueMemberL:
		kind("L")
		b = list(w, b, v.Value, w.AppendValue)
	case *types.AttributeValueMemberM:
		kind("M")
		b = w.AppendItem(b, v.Value)
	}
	return w.space(append(w.space(b), '}'))
}

// AppendItem appends an item. Its attributes are in a random order.
func (w Writer) AppendItem(b []byte, it Item) []byte {
	names := make([]string, 0, len(it))
	for name := range it {
		names = append(names, name)
	}
	slices.Sort(names)
	w.R.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	b = append(w.space(b), '{')
	for i, name := range names {
		if i > 0 {
			b = append(w.space(b), ',')
		}
		b = w.AppendValue(append(w.AppendText(b, name), ':'), it[name])
		if w.odd() { // twice: the last counts
			b = w.AppendValue(append(w.AppendText(append(b, ','), name), ':'), Value(w.R, 1))
		}
	}
	return w.space(append(w.space(b), '}'))
}

// AppendItems appends an array of items.
func (w Writer) AppendItems(b []byte, items []Item) []byte { return list(w, b, items, w.AppendItem) }
