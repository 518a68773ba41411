package console

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/dynastrata/dynastrata/internal/schema"
)

// pattern is one way to read or write an entity, with what it costs. docs/reading.md has the rules.
type pattern struct {
	Verb     string `json:"verb"`
	Needs    string `json:"needs"` // key parts
	Requests string `json:"requests"`
	Items    string `json:"items"` // written, or what is read
	Units    string `json:"units"`
}

// patterns returns the access patterns of an entity.
func (e *entityModel) patterns() []pattern {
	if e.derived != "" {
		return nil
	}
	key := strings.Join(e.partNames(), ", ")
	all := []pattern{{"Get", key, "1", "1", "½ read unit per 4 KB, 1 if consistent"}}
	perMB := "½ read unit per 4 KB read"
	if k := e.s.SK; k != nil {
		all = append(all, pattern{"Query", parts(e.s.PK) + ranges(k), "1 per MB", "the partition", perMB})
	}
	for _, x := range e.s.Indexes {
		requests := "1 per MB"
		if n := len(x.Shards); n > 0 {
			requests += fmt.Sprintf(" of each of %d shards", n)
		}
		all = append(all, pattern{"Query " + cmp.Or(x.Name, x.Index), parts(x.PK) + ranges(x.SK), requests, "the partition of " + x.Index, perMB})
	}
	return append(all, e.writes(key)...)
}

// parts lists the attributes of a key.
func parts(k *schema.KeyDef) string {
	if k == nil {
		return ""
	}
	var names []string
	for _, a := range k.Parts {
		names = append(names, a.Name)
	}
	return cmp.Or(strings.Join(names, ", "), "nothing")
}

// ranges lists the parts of a sort key, of which a query needs none.
func ranges(k *schema.KeyDef) string {
	if k == nil || len(k.Parts) == 0 {
		return ""
	}
	return " [" + parts(k) + "]"
}

// writes returns the patterns that write.
func (e *entityModel) writes(key string) []pattern {
	retain, soft, uniques := e.has("versioned.Retain"), e.has("lifecycle.SoftDelete"), len(e.uniques)
	units := func(items string, transaction bool) string {
		if transaction {
			return "2 write units per KB of each"
		}
		return "1 write unit per KB" + e.indexUnits()
	}
	row := func(verb, requests string, items int, sentinels string, transaction bool) pattern {
		text := fmt.Sprint(items)
		if uniques > 0 && sentinels != "" {
			text += " + " + sentinels
		}
		return pattern{verb, key, requests, text, units(text, transaction)}
	}
	n := func(yes bool) int {
		if yes {
			return 1
		}
		return 0
	}
	several := retain || uniques > 0
	each := "1 per unique value"
	if e.has("timeseries.Events") {
		return []pattern{
			row("Append", "1", 2, "", true),
			row("Update, Upsert (enrichment)", "1", 1, each, uniques > 0),
			{"History", key, "1 per MB", "the events", "½ read unit per 4 KB read"},
			{"Purge", key, "1 per 100 events, and 3", "all that belongs to it", "2 write units per KB of each"},
		}
	}
	create := "1"
	switch {
	case retain && soft:
		create = "3, two of them reads"
	case retain || soft && e.setting("lifecycle.SoftDelete unique") == "reserve":
		create = "2, one of them a read"
	}
	update := "1"
	switch {
	case retain:
		update = "2, one of them a read"
	case uniques > 0:
		update = "1; 2 if a unique value changes"
	}
	remove := "1"
	if retain || soft || uniques > 0 {
		remove = "2, one of them a read"
	}
	all := []pattern{
		row("Create", create, 1+n(retain), each, several),
		row("Update", update, 1+n(retain), "2 per changed unique value", several),
		row("Put, Upsert", update, 1+n(retain), "2 per changed unique value", several),
		row("Delete", remove, 1+n(soft)+n(retain)+n(retain && soft && e.setting("lifecycle.SoftDelete ttl") != "forever"), each, several || soft),
	}
	if soft {
		all = append(all, row("Restore", "2 to 4", 2+n(retain), each, true))
	}
	if retain {
		all = append(all, pattern{"History.List", key, "1 per MB, and 1", "the versions", "½ read unit per 4 KB read"})
	}
	if uniques > 0 {
		for _, c := range e.uniques {
			var names []string
			for _, f := range c.key.Fields() {
				names = append(names, f.Attr)
			}
			all = append(all, pattern{"Find by " + c.name, strings.Join(names, ", "), "2", "the sentinel and its item", "1 read unit per 4 KB of each"})
		}
	}
	return append(all, pattern{"Purge", key, "1 per 100 items, and 3", "all that belongs to it", "2 write units per KB of each"})
}

// indexUnits says that indexes cost too.
func (e *entityModel) indexUnits() string {
	switch n := len(e.s.Indexes); n {
	case 0:
		return ""
	case 1:
		return ", and up to 2 for its index"
	default:
		return fmt.Sprintf(", and up to 2 for each of %d indexes", n)
	}
}
