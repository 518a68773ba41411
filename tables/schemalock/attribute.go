package schemalock

import (
	"slices"
	"strconv"
	"strings"
)

// presences are the words for when an attribute is present; each value has one of them.
var presences = []string{"required", "always", "null", "optional"}

// promises maps the roles whose removal breaks a promise about stored items to the reason.
var promises = map[string]string{
	"created_at": "the value is now the caller's, and the next write of a whole item replaces it",
	"updated_at": "the value is now the caller's, and the next write of a whole item replaces it",
	"deleted_at": "the value is now the caller's, and the next write of a whole item replaces it",
	"version":    "versions are no longer counted, and the next write of a whole item replaces them",
	"append":     "existing events have it, and new ones do not",
	"zero":       "existing items can have a key with a zero part, and are no longer found",
}

// judgeAttribute compares the words of an attribute, or of a value inside one.
func judgeAttribute(a, b string) (bool, string) {
	was, is := strings.Split(a, " "), strings.Split(b, " ")
	switch {
	case a == "" && slices.Contains(is, "required"):
		return true, "existing items lack it, and writes of whole items require it"
	case a == "":
		return false, "existing items do not have it"
	case b == "":
		return true, "it remains in existing items but is no longer read; a renamed attribute starts empty"
	}
	var breaking, fine []string
	judge := func(bad bool, why string) {
		if bad {
			breaking = append(breaking, why)
		} else {
			fine = append(fine, why)
		}
	}
	if was[0] != is[0] {
		return true, "existing items have another type and cannot be read"
	}
	for _, word := range words(was, is) {
		had, has := slices.Contains(was, word), slices.Contains(is, word)
		if had == has {
			continue
		}
		switch {
		case strings.HasPrefix(word, "time="):
			judgeFormat(was, is, judge)
		case isRange(word):
			judgeRange(was, is, judge)
		case strings.HasPrefix(word, "keys="):
			judgeKeys(wordAfter(was, "keys="), wordAfter(is, "keys="), judge)
		case strings.HasPrefix(word, "length="):
			judgeLength(was[0], wordAfter(was, "length="), wordAfter(is, "length="), judge)
		case strings.HasPrefix(word, "each="):
			judgeLength("B", wordAfter(was, "each="), wordAfter(is, "each="), judge)
		case word == "required":
			judge(has, "existing items may lack it")
		case slices.Contains(presences, word):
			judge(false, "an absent value and a zero one are read alike")
		case word == "number":
			judge(has, "existing items may have texts that are not numbers")
		case word == "text":
			judge(has, "existing items may have texts that the type does not read")
		case word == "custom":
			judge(true, "its elements encode themselves in an unknown way")
		case word == "recursive":
			judge(true, "its content is of another type")
		case word == secret:
			judge(false, "it is stored alike, and messages hide it")
		case had && strings.HasPrefix(word, "context=") && wordAfter(is, "context=") == "":
			judge(true, promises["updated_at"])
		case had && promises[word] != "":
			judge(true, promises[word])
		default:
			judge(false, "affects only later writes")
		}
	}
	if breaking != nil {
		return true, strings.Join(slices.Compact(breaking), "; ")
	}
	return false, strings.Join(slices.Compact(fine), "; ")
}

// judgeFormat compares the formats of a time: texts in two formats do not compare, and numbers change their meaning.
// Removing the format of a number leaves the number as it was. Adding one is breaking, since items may have counted
// otherwise; if both were compatible, a format could be swapped in two steps.
func judgeFormat(was, is []string, judge func(bool, string)) {
	old, now := wordAfter(was, "time="), wordAfter(is, "time=")
	switch {
	case old == now:
	case now == "" && was[0] == "N":
		judge(false, "it is the same number")
	case old == "" && was[0] == "N":
		judge(true, "existing items may count in another unit, or from another day")
	default:
		judge(true, "existing items have the old format, and the two do not compare")
	}
}

// wordAfter returns what follows prefix in the word that begins with it, or "".
func wordAfter(words []string, prefix string) string {
	for _, word := range words {
		if value, ok := strings.CutPrefix(word, prefix); ok {
			return value
		}
	}
	return ""
}

// words returns the words of both lists, each once.
func words(a, b []string) []string {
	all := slices.Clone(a)
	for _, word := range b {
		if !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all[1:]
}

// numbers are the ranges of numbers, each with the bits of a whole number: it contains all numbers of that many bits and no
// others. A decimal is any number that DynamoDB stores.
var numbers = map[string]struct {
	kind string
	bits int
}{
	"int8": {"int", 7}, "int16": {"int", 15}, "int32": {"int", 31}, "int64": {"int", 63},
	"uint8": {"uint", 8}, "uint16": {"uint", 16}, "uint32": {"uint", 32}, "uint64": {"uint", 64},
	"float32": {"float", 24}, "float64": {"float", 53}, "decimal": {"decimal", 1 << 10},
}

func isRange(word string) bool { return numbers[word].kind != "" }

// containsRange reports whether every number of the range old is in the range now and is read unchanged.
func containsRange(now, old string) bool {
	n, o := numbers[now], numbers[old]
	switch {
	case n.kind == "uint" && o.kind != "uint", n.kind == "int" && o.kind != "int" && o.kind != "uint":
		return false
	case n.kind == "float" && o.kind == "decimal":
		return false
	}
	return n.bits >= o.bits
}

// judgeRange compares the numbers that an attribute, or an element of a set, can have. A change between number and text is
// judged by the word for that.
func judgeRange(was, is []string, judge func(bool, string)) {
	old, now := numberIn(was), numberIn(is)
	switch {
	case old == "" || now == "" || old == now:
	case containsRange(now, old):
		judge(false, "existing numbers are read unchanged")
	default:
		judge(true, "existing items may have numbers that "+now+" does not contain")
	}
}

// numberIn returns the range of numbers in the words of a value; a time stored as a number is a whole one.
func numberIn(words []string) string {
	if i := slices.IndexFunc(words, isRange); i >= 0 {
		return words[i]
	}
	if words[0] == "N" && wordAfter(words, "time=") != "" {
		return "int64"
	}
	return ""
}

// judgeKeys compares the keys of maps; "" stands for a struct.
func judgeKeys(old, now string, judge func(bool, string)) {
	if isRange(old) && isRange(now) && containsRange(now, old) {
		judge(false, "keys of existing entries are read unchanged")
		return
	}
	judge(true, "existing entries may have keys that cannot be read")
}

// judgeLength compares how many elements a value of type kind can have; "" stands for any number.
func judgeLength(kind, old, now string, judge func(bool, string)) {
	room, err1 := strconv.Atoi(now)
	most, err2 := strconv.Atoi(old)
	switch {
	case now == "":
		judge(false, "there is room for any number of elements")
	case kind != "B" && err1 == nil && err2 == nil && room >= most:
		judge(false, "elements that existing items do not have are zero")
	case kind == "B":
		judge(true, "existing items have bytes of another length, which cannot be read")
	default:
		judge(true, "existing items may have more elements, and then cannot be read")
	}
}
