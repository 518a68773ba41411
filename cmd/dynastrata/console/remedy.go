package console

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/migrate"
)

// mostRemedies are printed at the end of a check.
const mostRemedies = 20

// remedy gives a finding the command line that mends it, or shows more of it. There is no line for tables, which package tables mends, for what no
// entity knows, and for what has expired, which DynamoDB removes.
func (k *checking) remedy(f *finding) {
	words := k.s.mend(*f)
	if words == nil || k.c == nil {
		return
	}
	line := k.s.line(k.c, words...)
	if k.s.app.Open == nil && words[0] == "run" { // needs the program, which the binary does not know
		line = strings.Join(append([]string{"your-program"}, words...), " ")
	}
	f.Remedy = line
	switch {
	case line == "" || slices.Contains(k.remedies, line):
	case len(k.remedies) == mostRemedies:
		k.others++
	default:
		k.remedies = append(k.remedies, line)
	}
}

// mend returns the words of the command that mends a finding; nil for none.
func (s *session) mend(f finding) []string {
	var parts []string // entity and key parts
	if f.of != nil {
		parts = f.of.words()
	}
	e, err := s.m.entity(f.Entity)
	switch kind := migrate.Kind(f.Kind); {
	case f.Entity == "" || err != nil || kind == migrate.Leftover:
		return nil
	case e.derived != "":
		for _, name := range s.m.views() {
			if strings.HasSuffix(e.s.Name, "-"+name) {
				return []string{"run", "rebuild", quoted(name)}
			}
		}
		return nil
	case kind == migrate.Outdated:
		return []string{"run", "rewrite", quoted(e.s.Name)}
	case kind == migrate.Endless:
		return []string{"run", "rewrite", "--ends", quoted(e.s.Name)}
	case kind == migrate.Orphaned && strings.HasPrefix(f.What, string(KindSentinel)):
		return []string{"run", "repair", quoted(e.s.Name)}
	case len(parts) != 1+len(e.partNames()):
		return nil
	case kind == migrate.Orphaned:
		return append([]string{"run", "purge"}, parts...)
	case kind == migrate.Broken:
		return append([]string{"query", "--related"}, parts...) // show does not know every item
	}
	return nil
}

// views returns the names of the read models.
func (m *model) views() (names []string) {
	for _, e := range m.entities {
		if name := e.view(); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// printRemedies prints the command lines that mend what was found, whole, however wide.
func (k *checking) printRemedies() {
	p := k.s.out
	slices.Sort(k.remedies)
	for _, line := range k.remedies {
		p.write(p.faint("$ "+line) + "\n")
	}
	if k.others > 0 {
		p.line("%s", p.faint(count(k.others, "more command line")+": --json has them all"))
	}
}

var keyTexts = regexp.MustCompile(`([^ =]+)=("(?:[^"\\]|\\.)*")`)

// keyed returns what the key of a finding says of its item.
func (m *model) keyed(table string, f migrate.Finding) *stored {
	it := item.Item{schema.EntityAttr: item.S(f.Entity)}
	for _, found := range keyTexts.FindAllStringSubmatch(f.Key, -1) {
		if text, err := strconv.Unquote(found[2]); err == nil {
			it[found[1]] = item.S(text)
		}
	}
	for related, kind := range map[string]string{"event": "e", "snapshot": "v"} {
		if f.Related == related {
			it[schema.KindAttr] = item.S(kind)
		}
	}
	x := m.decode(table, it, time.Time{})
	return &x
}
