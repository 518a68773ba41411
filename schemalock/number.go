package schemalock

import (
	"slices"
	"strconv"
)

// numbers are the ranges of numbers, each with how many bits it has for a whole number: it holds all of that many and no
// more. A decimal holds whatever DynamoDB does.
var numbers = map[string]struct {
	kind string
	bits int
}{
	"int8": {"int", 7}, "int16": {"int", 15}, "int32": {"int", 31}, "int64": {"int", 63},
	"uint8": {"uint", 8}, "uint16": {"uint", 16}, "uint32": {"uint", 32}, "uint64": {"uint", 64},
	"float32": {"float", 24}, "float64": {"float", 53}, "decimal": {"decimal", 1 << 10},
}

func isRange(word string) bool { return numbers[word].kind != "" }

// holds reports that every number of the range old is in the range now, and is read as what it is.
func holds(now, old string) bool {
	n, o := numbers[now], numbers[old]
	switch {
	case n.kind == "uint" && o.kind != "uint", n.kind == "int" && o.kind != "int" && o.kind != "uint":
		return false
	case n.kind == "float" && o.kind == "decimal":
		return false
	}
	return n.bits >= o.bits
}

// judgeRange compares the numbers that an attribute, or an element of a set, can have. A number as text that becomes any
// text, or the other way, is judged by that.
func judgeRange(was, is []string, judge func(bool, string)) {
	old, now := numberIn(was), numberIn(is)
	switch {
	case old == "" || now == "" || old == now:
	case holds(now, old):
		judge(false, "numbers of items that are there are read as they were")
	default:
		judge(true, "items that are there may have numbers that "+now+" does not hold")
	}
}

// numberIn is the range of numbers in the words of a value; a time that is stored as a number counts in whole ones.
func numberIn(words []string) string {
	if i := slices.IndexFunc(words, isRange); i >= 0 {
		return words[i]
	}
	if words[0] == "N" && said(words, "time=") != "" {
		return "int64"
	}
	return ""
}

// judgeKeys compares the keys of maps; "" is a struct.
func judgeKeys(old, now string, judge func(bool, string)) {
	if isRange(old) && isRange(now) && holds(now, old) {
		judge(false, "keys of entries that are there are read as they were")
		return
	}
	judge(true, "entries that are there may have keys that cannot be read")
}

// judgeLength compares how many elements there is room for in a value of type kind; "" is any number.
func judgeLength(kind, old, now string, judge func(bool, string)) {
	room, err1 := strconv.Atoi(now)
	most, err2 := strconv.Atoi(old)
	switch {
	case now == "":
		judge(false, "there is room for any number of elements")
	case kind != "B" && err1 == nil && err2 == nil && room >= most:
		judge(false, "elements that items which are there do not have are zero")
	case kind == "B":
		judge(true, "items that are there have bytes of another length, which cannot be read")
	default:
		judge(true, "items that are there may have more elements, and cannot be read then")
	}
}
