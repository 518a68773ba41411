package schemalock

import (
	"slices"
	"strconv"
	"strings"
)

// judge says whether a change is breaking, and why or why not. a and b are the old and the new value, "" for none. What no
// rule knows is breaking.
func judge(what, a, b string) (breaking bool, why string) {
	words := strings.Split(what, " ")
	switch {
	case words[0] == "attribute":
		return judgeAttribute(a, b)
	case words[0] == "index":
		return judgeIndex(words[2:], a, b)
	case isFeature(words[0]):
		return judgeFeature(words, a, b)
	}
	switch what {
	case "table":
		return true, "the items are in the other table"
	case "items":
		return true, "items that are there lack the library's attributes, or have them in another form"
	case "payload":
		was, err1 := strconv.Atoi(a)
		is, err2 := strconv.Atoi(b)
		if err1 == nil && err2 == nil && is > was {
			return false, "items that are there say that they are older"
		}
		return true, "items that are there say that they are newer than the program"
	case "kind":
		return true, "items that are there have another kind, or none, and queries do not see them"
	case "key partition", "key sort":
		return true, "items that are there have other keys, and no verb finds them"
	case "ttl":
		if a == "" || b == "" {
			return false, "counts for what is written from now on"
		}
		return true, "DynamoDB has one such attribute for a table, and items that are there have the old one"
	}
	return true, "nothing is known about it"
}

func judgeIndex(part []string, a, b string) (bool, string) {
	if len(part) == 0 {
		switch {
		case b == "":
			return false, "an index that is not used does no harm, and can be deleted"
		case a == "" && b == "global":
			return false, "DynamoDB fills it, with items that have its key attributes; others enter it when they are written"
		case a == "":
			return true, "DynamoDB makes local indexes together with the table only"
		}
		return true, "DynamoDB cannot change the kind of an index"
	}
	if part[0] != "projection" {
		return true, "DynamoDB cannot change the key of an index, and items that are there have the old one"
	}
	if a == "all" {
		return false, "an index that carries more than is needed does no harm"
	}
	was := strings.Split(a, " ")
	for _, name := range strings.Split(b, " ") {
		if b == "all" || !slices.Contains(was, name) {
			return true, "DynamoDB cannot change what an index carries: a new index is needed"
		}
	}
	return false, "an index that carries more than is needed does no harm"
}

// laterOnly are the settings of features that count for what is written from then on.
var laterOnly = []string{"ttl", "after", "from", "unique"}

func judgeFeature(words []string, a, b string) (bool, string) {
	feature := words[0]
	switch {
	case len(words) == 2 && slices.Contains(laterOnly, words[1]):
		return false, "counts for what is written from now on"
	case len(words) == 2:
		return true, "what the feature has stored is under the old one"
	case feature == "timeseries.Events":
		return true, "items that are there were not written as a series, or are one and would lose their events"
	case a == "" && strings.HasPrefix(feature, "unique."):
		return false, "items that are there claim nothing until Repair has run"
	case a == "":
		return false, "items that are there are as they were until they are written"
	case feature == "versioned.Lock":
		return false, "it stores nothing"
	case strings.HasPrefix(feature, "unique."):
		return true, "its sentinels stay, and a constraint that is declared again finds them out of date"
	}
	return true, "what it has stored stays, unseen, and is not kept up"
}
