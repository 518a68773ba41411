package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/layout/recorded"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// schemaFormats are the formats of the command schema.
var schemaFormats = []string{"text", "markdown", "json", "mermaid", "html"}

// shown is an entity in the output of schema.
type shown struct {
	Name     string       `json:"name"`
	Table    string       `json:"table"` // logical, or physical if it is known
	Items    string       `json:"items"`
	Keys     []shownKey   `json:"keys"`
	Features []string     `json:"features,omitempty"`
	Secrets  []string     `json:"secrets,omitempty"`
	Stored   []shownItem  `json:"stored"`
	Attrs    []shownField `json:"attributes,omitempty"`
	Patterns []pattern    `json:"patterns,omitempty"`
}

// shownKey is a key of a table or an index.
type shownKey struct {
	Of         string `json:"of"` // table, or the name of the index
	Index      string `json:"index,omitempty"`
	Partition  string `json:"partition"`
	Sort       string `json:"sort,omitempty"`
	Projection string `json:"projection,omitempty"`
	When       string `json:"when,omitempty"` // condition under which an item is in the index
}

// shownItem is a kind of item that an entity stores.
type shownItem struct {
	Kind      Kind   `json:"kind"`
	Partition string `json:"partition"`
	Sort      string `json:"sort,omitempty"`
	Lives     string `json:"lives,omitempty"`
}

type shownField struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

// show returns what schema prints of an entity.
func (m *model) show(e *entityModel) shown {
	s := e.s
	v := shown{Name: s.Name, Table: cmp.Or(e.table, s.Table, "(default)"), Items: e.setting("items"), Secrets: m.secretAttrs(e), Patterns: e.patterns()}
	v.Keys = append(v.Keys, shownKey{Of: "table", Partition: s.PK.String(), Sort: s.SK.String()})
	for _, x := range s.Indexes {
		projection := "all"
		if !x.Project.All {
			projection = strings.Join(append([]string{"keys"}, x.Project.Include...), " ")
		}
		when := e.setting("index " + recorded.PathName(x.Index) + " when")
		v.Keys = append(v.Keys, shownKey{cmp.Or(x.Name, x.Index), x.Index, x.PK.String(), x.SK.String(), projection, when})
	}
	for _, f := range e.facts.Facts {
		if words := strings.Split(f.What, " "); strings.Contains(words[0], ".") && words[0] != "attribute" && !strings.HasSuffix(f.What, " key") {
			if len(words) == 1 {
				v.Features = append(v.Features, f.What)
			} else if i := len(v.Features) - 1; i >= 0 {
				v.Features[i] += " " + words[1] + "=" + f.Text()
			}
		}
		if name, ok := strings.CutPrefix(f.What, "attribute "); ok {
			v.Attrs = append(v.Attrs, shownField{name, f.Text()})
		}
	}
	for _, k := range e.kinds() {
		v.Stored = append(v.Stored, e.shape(k))
	}
	for _, c := range e.uniques {
		v.Stored = append(v.Stored, shownItem{KindSentinel, "pk=" + pieces(c), "sk=" + c.key.Prefix, e.lives(KindSentinel)})
	}
	return v
}

// pieces prints the key template of a constraint.
func pieces(c constraint) string { return (&schema.KeyDef{Template: c.key}).String()[1:] }

// shape returns the keys of a kind of items.
func (e *entityModel) shape(k Kind) shownItem {
	x := shownItem{Kind: k, Partition: e.s.PK.String(), Sort: e.s.SK.String(), Lives: e.lives(k)}
	if infix := infixOf(k); infix != "" && k != KindCurrent {
		last := map[Kind]string{KindEvent: "{" + strings.Join(e.order, "}#{") + "}", KindVersion: "{version}", KindDeleted: "{time of the delete}"}[k]
		x.Sort += infix + last
	}
	return x
}

// lives returns how long items of a kind live; "" if for ever.
func (e *entityModel) lives(k Kind) string {
	what := map[Kind]string{KindEvent: "timeseries.Events ttl", KindVersion: "versioned.Retain ttl", KindDeleted: "lifecycle.SoftDelete ttl", KindCurrent: "lifecycle.TTL after"}[k]
	if life := e.setting(what); what != "" && life != "" && life != "forever" {
		return life
	}
	return ""
}

// schemaCommand prints what is declared.
func (s *session) schemaCommand() *cli.Command {
	return &cli.Command{
		Name: "schema", Usage: "print entities, keys, indexes, and what each verb costs", ArgsUsage: "[entity…]",
		Flags:         []cli.Flag{&cli.StringFlag{Name: "format", Value: "text", Usage: strings.Join(schemaFormats, ", ")}},
		ShellComplete: s.complete(s.nextEntities),
		Action: s.action(func(ctx context.Context, c *cli.Command) error {
			if err := s.open(ctx, c); err != nil {
				return err
			}
			var all []shown
			for _, e := range s.m.entities {
				wanted := slices.ContainsFunc(c.Args().Slice(), func(name string) bool { return strings.EqualFold(name, e.s.Name) })
				if wanted || c.NArg() == 0 {
					all = append(all, s.m.show(e))
				}
			}
			if c.NArg() > 0 {
				for _, name := range c.Args().Slice() {
					if _, err := s.m.entity(name); err != nil {
						return err
					}
				}
			}
			return s.printSchema(all, c.String("format"))
		}),
	}
}

func (s *session) printSchema(all []shown, format string) error {
	if s.out.json {
		for _, v := range all {
			if err := s.out.object(v); err != nil {
				return err
			}
		}
		return nil
	}
	switch format {
	case "text":
		for i, v := range all {
			if i > 0 {
				s.out.line("")
			}
			s.schemaText(v)
		}
	case "markdown", "md":
		s.out.write(markdown(all))
	case "json":
		text, err := json.MarshalIndent(all, "", "  ")
		if err != nil {
			return err
		}
		s.out.write(string(text) + "\n")
	case "mermaid":
		s.out.write(mermaid(all))
	case "html":
		s.out.write(page(all))
	default:
		return invalid(bind.CodeConsoleName, "there is no format %s; there are: %s", format, strings.Join(schemaFormats, ", "))
	}
	return nil
}

// schemaText prints one entity for a terminal.
func (s *session) schemaText(v shown) {
	p := s.out
	p.line("%s  table %s, items %s", p.bold(v.Name), v.Table, v.Items)
	for _, k := range v.Keys {
		text := k.Partition
		if k.Sort != "" {
			text += "  " + k.Sort
		}
		name := k.Of
		if k.Index != "" {
			name += " (" + k.Index + ", " + k.Projection + ")"
		}
		p.line("  %s  %s%s", p.faint(name), text, condition(k))
	}
	for _, f := range v.Features {
		p.line("  %s", f)
	}
	if len(v.Secrets) > 0 {
		p.line("  never printed: %s", strings.Join(v.Secrets, ", "))
	}
	p.line("  stored")
	for _, x := range v.Stored {
		p.line("    %s%s %s  %s%s", p.kind(x.Kind), strings.Repeat(" ", max(13-len(x.Kind), 0)), x.Partition, x.Sort, lifetime(x))
	}
	if len(v.Patterns) > 0 {
		rows := [][]string{{"  verb", "needs", "requests", "items", "costs"}}
		for _, t := range v.Patterns {
			rows = append(rows, []string{"  " + t.Verb, t.Needs, t.Requests, t.Items, t.Units})
		}
		p.table(rows)
	}
}

// condition returns the end of a line about a key: under which condition it is stored.
func condition(k shownKey) string {
	if k.When == "" {
		return ""
	}
	return "  when " + k.When
}

func lifetime(x shownItem) string {
	if x.Lives == "" {
		return ""
	}
	return "  for " + x.Lives
}

// markdown prints entities as a document.
func markdown(all []shown) string {
	var b strings.Builder
	cell := func(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
	code := func(text string) string {
		if text == "" {
			return ""
		}
		return "`" + text + "`"
	}
	b.WriteString("# Entities\n")
	for _, v := range all {
		fmt.Fprintf(&b, "\n## %s\n\nTable %s, items %s.\n\n| key | partition | sort | carries |\n| --- | --- | --- | --- |\n", v.Name, code(v.Table), code(v.Items))
		for _, k := range v.Keys {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cell(k.Of), code(cell(k.Partition)), code(cell(k.Sort)), cell(k.Projection+condition(k)))
		}
		b.WriteString("\n| stored item | partition | sort | lives |\n| --- | --- | --- | --- |\n")
		for _, x := range v.Stored {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", x.Kind, code(cell(x.Partition)), code(cell(x.Sort)), x.Lives)
		}
		if len(v.Patterns) > 0 {
			b.WriteString("\n| verb | needs | requests | items | costs |\n| --- | --- | --- | --- | --- |\n")
			for _, t := range v.Patterns {
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", t.Verb, cell(t.Needs), t.Requests, t.Items, t.Units)
			}
		}
	}
	return b.String()
}

// mermaid prints entities as a diagram: tables, the kinds of items in their partitions, indexes.
func mermaid(all []shown) string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	text := func(s string) string { return `"` + strings.NewReplacer(`"`, "#quot;", "#", "#35;").Replace(s) + `"` }
	var tables []string
	for _, v := range all {
		if !slices.Contains(tables, v.Table) {
			tables = append(tables, v.Table)
		}
	}
	for t, table := range tables {
		fmt.Fprintf(&b, "  subgraph t%d [%s]\n", t, text("table "+table))
		for i, v := range all {
			if v.Table != table {
				continue
			}
			fmt.Fprintf(&b, "    subgraph e%d [%s]\n", i, text(v.Name))
			for j, x := range v.Stored {
				fmt.Fprintf(&b, "      e%di%d[%s]\n", i, j, text(strings.TrimSpace(string(x.Kind)+": "+x.Partition+"  "+x.Sort)))
			}
			b.WriteString("    end\n")
		}
		b.WriteString("  end\n")
	}
	for i, v := range all {
		for j, k := range v.Keys[1:] {
			fmt.Fprintf(&b, "  e%di0 --> x%dk%d([%s])\n", i, i, j, text(k.Of+": "+strings.TrimSpace(k.Partition+"  "+k.Sort)+condition(k)))
		}
	}
	return b.String()
}
