package console

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/migrate"
)

// mostRemedies are printed at the end of a check for each kind of finding.
const mostRemedies = 20

// remedy gives a finding the line that mends it, or shows more of it; where no command does, the line says what is to be decided.
func (k *checking) remedy(f *finding) {
	if k.c == nil {
		return
	}
	f.Remedy = k.line(*f)
	switch lines := k.remedies[f.Kind]; {
	case slices.Contains(lines, f.Remedy):
	case len(lines) == mostRemedies:
		k.others++
	default:
		k.remedies[f.Kind] = append(lines, f.Remedy)
	}
}

// line returns the line for a finding.
func (k *checking) line(f finding) string {
	s := k.s
	switch kind := migrate.Kind(f.Kind); {
	case f.drift != nil:
		return s.mendTable(k.c, f.Table, *f.drift)
	case f.Kind == kindTable:
		return decide + f.Table + ": check again when its settings can be read, which needs the actions of iac.Check"
	case kind == migrate.Leftover:
		return decide + f.Table + ": nothing is to be done: DynamoDB removes what has expired, usually within days"
	case kind == migrate.Unknown:
		return k.showUnknown(f)
	}
	words := s.mend(f)
	if words == nil {
		return decide + cmp.Or(f.Entity, f.Table) + ": decide whether the program still needs what is " + f.Kind + "; its keys are hidden, or the program has no handle for it"
	}
	line := s.line(k.c, words...)
	if s.app.Open == nil && words[0] == "run" { // needs the program, which the binary does not know
		return strings.Join(append([]string{"your-program"}, words...), " ")
	}
	if line == "" {
		return decide + "with the endpoint of this command: " + strings.Join(append([]string{s.app.called()}, words...), " ")
	}
	return line
}

// showUnknown returns the line that shows an item of no entity, unless its key is hidden.
func (k *checking) showUnknown(f finding) string {
	m, key := k.s.m, map[string]any{}
	for _, name := range m.on(f.Table)[0].s.KeyNames() {
		if av := f.of.raw[name]; av != nil && !m.hidesUnknown(f.Table) {
			key[name] = typed(av)
		}
	}
	if len(key) < len(m.on(f.Table)[0].s.KeyNames()) {
		return decide + f.Table + ": declare the entity of the items that none knows, or remove them; their keys are hidden, since a secret may be in them"
	}
	return k.s.awsLine(k.c, "get-item", map[string]any{"TableName": f.Table, "Key": key})
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

// printRemedies prints the lines that mend what was found, whole, however wide; first the commands.
func (k *checking) printRemedies() {
	p := k.s.out
	lines := slices.Concat(slices.Collect(maps.Values(k.remedies))...)
	slices.SortFunc(lines, func(a, b string) int {
		if x := strings.HasPrefix(a, decide); x == strings.HasPrefix(b, decide) {
			return strings.Compare(a, b)
		} else if x {
			return 1
		}
		return -1
	})
	for _, line := range lines {
		if !strings.HasPrefix(line, decide) {
			line = "$ " + line
		}
		p.write(p.faint(line) + "\n")
	}
	if k.others > 0 {
		p.line("%s", p.faint(count(k.others, "more line")+": --json has them all"))
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
