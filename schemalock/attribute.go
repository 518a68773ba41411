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
		case word == "required":
			judge(has, "items that are there may lack it")
		case slices.Contains(presences, word):
			judge(false, "an absent value and a zero one are read alike")
		case word == "whole":
			judge(has, "items that are there may have fractions")
		case word == "number":
			judge(has, "items that are there may have texts that are no numbers")
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
// number that gets or loses its format is the number that it was.
func judgeFormat(was, is []string, judge func(bool, string)) {
	if (format(was) == "" || format(is) == "") && was[0] == "N" {
		judge(false, "it is the same number")
		return
	}
	judge(true, "items that are there have the old format, and the two do not compare")
}

func format(words []string) string {
	for _, word := range words {
		if strings.HasPrefix(word, "time=") {
			return word
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
