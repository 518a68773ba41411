package schemalock

import (
	"slices"
	"strings"
)

// presences say when an attribute is there; the words of a value have one of them.
var presences = []string{"required", "always", "null", "optional"}

// kept are the roles whose loss breaks a promise about items that are there, and why.
var kept = map[string]string{
	"created_at": "what the library has kept is the caller's now, and the next write of a whole item replaces it",
	"updated_at": "what the library has kept is the caller's now, and the next write of a whole item replaces it",
	"deleted_at": "what the library has kept is the caller's now, and the next write of a whole item replaces it",
	"version":    "versions are not counted any more, and the next write of a whole item replaces them",
	"append":     "events that are there carry it, and new ones do not",
	"zero":       "items that are there can have a key with a zero part, and no verb finds them",
}

// judgeAttribute compares the words of an attribute, or of a value inside one.
func judgeAttribute(a, b string) (bool, string) {
	was, is := strings.Split(a, " "), strings.Split(b, " ")
	switch {
	case a == "" && slices.Contains(is, "required"):
		return true, "items that are there lack it, and writes of whole items must have it"
	case a == "":
		return false, "it is absent in items that are there"
	case b == "":
		return true, "it stays in items that are there, unread; one that was renamed begins empty"
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
		return true, "items that are there have another type and cannot be read"
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
			judgeKeys(said(was, "keys="), said(is, "keys="), judge)
		case strings.HasPrefix(word, "length="):
			judgeLength(was[0], said(was, "length="), said(is, "length="), judge)
		case strings.HasPrefix(word, "each="):
			judgeLength("B", said(was, "each="), said(is, "each="), judge)
		case word == "required":
			judge(has, "items that are there may lack it")
		case slices.Contains(presences, word):
			judge(false, "an absent value and a zero one are read alike")
		case word == "number":
			judge(has, "items that are there may have texts that are no numbers")
		case word == "text":
			judge(has, "items that are there may have texts that the type does not read")
		case word == "custom":
			judge(true, "its elements encode themselves, and nothing is known about how")
		case word == "recursive":
			judge(true, "what is inside it is another type")
		case had && kept[word] != "":
			judge(true, kept[word])
		default:
			judge(false, "counts for what is written from now on")
		}
	}
	if breaking != nil {
		return true, strings.Join(slices.Compact(breaking), "; ")
	}
	return false, strings.Join(slices.Compact(fine), "; ")
}

// judgeFormat compares the formats of a time: texts of two formats have no order, and numbers mean something else. A
// number that loses its format is the number that it was. One that gets a format may have been counted otherwise: were
// that compatible too, a format could be swapped by way of none.
func judgeFormat(was, is []string, judge func(bool, string)) {
	old, now := said(was, "time="), said(is, "time=")
	switch {
	case old == now:
	case now == "" && was[0] == "N":
		judge(false, "it is the same number")
	case old == "" && was[0] == "N":
		judge(true, "items that are there may count in another unit, or from another day")
	default:
		judge(true, "items that are there have the old format, and the two do not compare")
	}
}

// said is what follows prefix in the word that begins with it, "" when none does.
func said(words []string, prefix string) string {
	for _, word := range words {
		if value, ok := strings.CutPrefix(word, prefix); ok {
			return value
		}
	}
	return ""
}

// words are those of either list, each once.
func words(a, b []string) []string {
	all := slices.Clone(a)
	for _, word := range b {
		if !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all[1:]
}
