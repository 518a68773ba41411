package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/layout/identify"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tables"
)

// kindTable is the kind of a finding about a table.
const kindTable = "table"

// finding is something that does not belong in a table.
type finding struct {
	Table  string `json:"table"`
	Kind   string `json:"finding"` // table, unknown, outdated, broken, endless, orphaned, leftover
	Entity string `json:"entity,omitempty"`
	Key    string `json:"key,omitempty"`
	What   string `json:"what,omitempty"`
	Remedy string `json:"remedy,omitempty"` // a command line, or a comment

	of    *stored       // the item, as far as it is known
	drift *tables.Drift // of a table
}

// checkCommand compares tables and items with the declarations.
func (s *session) checkCommand() *cli.Command {
	return &cli.Command{
		Name: "check", Usage: "compare tables and all their items with the declarations",
		ShellComplete: s.complete(nothingNext),
		Action: s.action(func(ctx context.Context, c *cli.Command) error {
			if err := s.database(ctx, c); err != nil {
				return err
			}
			s.resume = s.again(c, "")
			k := &checking{s: s, c: c, counts: map[string]int{}, remedies: map[string][]string{}}
			for _, table := range s.m.tables() {
				if err := k.table(ctx, table); err != nil {
					return err
				}
			}
			return k.summary()
		}),
	}
}

// checking is one run of check.
type checking struct {
	s      *session
	c      *cli.Command // nil without command lines
	counts map[string]int
	items  int
	cost   migrate.Cost
	bar    *progress

	remedies map[string][]string // of the findings, by kind, each once
	others   int                 // remedies that are not kept
}

// found prints a finding.
func (k *checking) found(f finding) error {
	k.counts[f.Kind]++
	k.remedy(&f)
	p := k.s.out
	if k.bar != nil {
		k.bar.clear()
	}
	if p.json {
		return p.object(f)
	}
	p.line("%s  %s", p.alarm(f.Kind), strings.Join(slices.DeleteFunc([]string{f.Entity, f.Key, f.What}, func(t string) bool { return t == "" }), "  "))
	return p.failed
}

// summary prints the counts. It returns errFindings if there are findings.
func (k *checking) summary() error {
	var parts []string
	n := 0
	for kind, count := range k.counts {
		parts, n = append(parts, fmt.Sprintf("%d %s", count, kind)), n+count
	}
	slices.Sort(parts)
	p := k.s.out
	if p.json {
		if err := p.object(map[string]any{"items": k.items, "findings": k.counts, "requests": k.cost.Requests, "readUnits": k.cost.ReadUnits}); err != nil {
			return err
		}
	} else {
		k.printRemedies()
		p.line("%s, %s; %s", count(k.items, "item"), cmp.Or(strings.Join(parts, ", "), "all as declared"), k.cost)
	}
	if n > 0 {
		return errFindings
	}
	return nil
}

// unknownKey prints the primary key of an item of no declared entity.
func (m *model) unknownKey(table string, it item.Item) string {
	var all []string
	for _, name := range m.on(table)[0].s.KeyNames() {
		f := fieldOf(name, it[name])
		if m.hidesUnknown(table) {
			f.Value = hidden
		}
		all = append(all, f.label()+"="+f.Value)
	}
	return strings.Join(all, " ")
}

// table checks one table and its items.
func (k *checking) table(ctx context.Context, table string) error {
	d, err := k.s.describe(ctx, table)
	if err != nil {
		return err
	}
	k.cost.Requests++
	k.bar = newProgress(k.s.err, "check "+table, aws.ToInt64(d.ItemCount))
	defer k.bar.clear()
	if k.s.db != nil {
		return k.declared(ctx, table)
	}
	for _, d := range k.s.m.tableDifferences(table, d) {
		if err := k.lacks(table, d); err != nil {
			return err
		}
	}
	return k.recorded(ctx, table)
}

// lacks prints what a table lacks.
func (k *checking) lacks(table string, d tables.Drift) error {
	return k.found(finding{Table: table, Kind: kindTable, What: table + ", " + d.String(), drift: &d})
}

// describe returns the description of a table.
func (s *session) describe(ctx context.Context, table string) (*types.TableDescription, error) {
	out, err := s.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &table}, again)
	if err != nil {
		return nil, s.failed("describe "+table, err)
	}
	return out.Table, nil
}

// tableDifferences returns what the entities of a table need of it, and it does not have.
func (m *model) tableDifferences(table string, d *types.TableDescription) []tables.Drift {
	var all []tables.Drift
	note := func(d tables.Drift) {
		if !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	has := func(keys []types.KeySchemaElement) string {
		var names []string
		for _, e := range keys {
			names = append(names, aws.ToString(e.AttributeName))
		}
		return strings.Join(names, ", ")
	}
	indexes := map[string]string{}
	for _, x := range d.GlobalSecondaryIndexes {
		indexes[aws.ToString(x.IndexName)] = has(x.KeySchema)
	}
	for _, x := range d.LocalSecondaryIndexes {
		indexes[aws.ToString(x.IndexName)] = has(x.KeySchema)
	}
	for _, e := range m.on(table) {
		if want := strings.Join(e.s.KeyNames(), ", "); want != has(d.KeySchema) {
			note(tables.Drift{Kind: tables.DriftKey, Need: want, Has: has(d.KeySchema)})
		}
		for _, x := range e.s.Indexes {
			want := strings.Join(append(x.PK.Attributes(), x.SK.Attributes()...), ", ")
			if is, there := indexes[x.Index]; !there {
				note(tables.Drift{Kind: tables.MissingIndex, Index: x.Index, Need: "the index " + x.Index + ": " + want})
			} else if is != want {
				note(tables.Drift{Kind: tables.DifferentIndexKey, Index: x.Index, Need: want, Has: is})
			}
		}
	}
	return all
}

// declared checks with the declarations of the program: [tables.Verify] and [migrate.Check].
func (k *checking) declared(ctx context.Context, table string) error {
	var differs *tables.VerifyError
	switch err := tables.Verify(ctx, k.s.db); {
	case errors.As(err, &differs):
		for _, t := range differs.Tables {
			if t.Table != table {
				continue
			}
			if t.Err != nil {
				if err := k.found(finding{Table: table, Kind: kindTable, What: t.Error()}); err != nil {
					return err
				}
			}
			for _, d := range t.Differences {
				if err := k.lacks(table, d); err != nil {
					return err
				}
			}
		}
	case err != nil:
		return err
	}
	db := engine.DatabaseOf(k.s.db)
	handle := engine.NewHandle(&engine.Core{Schema: db.On(table)[0], Table: table, Runner: db.Runner, DB: db})
	before := k.items
	done, err := migrate.Check(ctx, handle, func(f migrate.Finding) error { return k.found(k.s.m.translated(table, f)) },
		migrate.OnProgress(func(p migrate.Progress) { k.bar.set(int64(p.Evaluated)) }))
	k.items = before + done.Evaluated
	k.cost.Requests += done.Cost.Requests
	k.cost.ReadUnits += done.Cost.ReadUnits
	return err
}

// translated returns a finding of migrate.Check as it is printed. A key that is composed from unique values is hidden.
func (m *model) translated(table string, f migrate.Finding) finding {
	var what []string
	for _, r := range f.Reasons {
		what = append(what, string(r))
	}
	for _, text := range []string{string(f.Problem), f.Related} {
		if text != "" {
			what = append(what, text)
		}
	}
	x := finding{Table: table, Kind: string(f.Kind), Entity: f.Entity, Key: f.Key, What: strings.Join(what, ", "), of: m.keyed(table, f)}
	if e, err := m.entity(f.Entity); f.Entity != "" && (err != nil || m.hidesKey(e)) || f.Entity == "" && m.hidesUnknown(table) {
		x.Key = hidden
	}
	return x
}

// hidesUnknown reports whether keys of unknown items of a table are hidden: one of its entities has something to hide, which may be
// in them.
func (m *model) hidesUnknown(table string) bool {
	return m.blind || slices.ContainsFunc(m.on(table), func(e *entityModel) bool { return len(m.secretAttrs(e)) > 0 })
}

// hidesKey reports whether a part of the primary key is never printed.
func (m *model) hidesKey(e *entityModel) bool {
	return slices.ContainsFunc(e.s.KeyNames(), func(name string) bool { return m.hides(e, name) })
}

// recorded checks with the lock alone. It holds one page of items.
func (k *checking) recorded(ctx context.Context, table string) error {
	var cost spent
	defer func() { k.cost.Requests, k.cost.ReadUnits = k.cost.Requests+cost.requests, k.cost.ReadUnits+cost.units }()
	for page, err := range k.s.scan(ctx, table, &cost) {
		if err != nil {
			return err
		}
		k.items += len(page)
		if err := k.page(ctx, table, page, &cost); err != nil {
			return err
		}
		k.bar.set(int64(k.items))
	}
	return nil
}

func (k *checking) page(ctx context.Context, table string, page []item.Item, cost *spent) error {
	now := k.s.app.Clock()
	there := map[string]bool{} // current items, by the id of their key
	var suspects []stored
	for _, it := range page {
		x := k.s.m.decode(table, it, now)
		f := finding{Table: table, Entity: x.Entity, Key: x.keyText(), of: &x}
		switch {
		case x.model == nil && k.s.m.elsewhere(table, it):
		case x.model == nil:
			f.Kind, f.Key = string(migrate.Unknown), k.s.m.unknownKey(table, it)
		case x.Problem != "":
			f.Kind, f.What = string(migrate.Broken), x.Problem
		case x.Expired && (x.Kind != KindCurrent || x.model.s.Expires):
			f.Kind, f.What = string(migrate.Leftover), string(x.Kind)
		case x.Kind == KindCurrent:
			there[layout.KeyID(x.owner)] = true
		case x.Kind == KindSentinel || x.Kind == KindEvent || x.Kind == KindVersion:
			suspects = append(suspects, x)
		}
		if f.Kind == "" {
			continue
		}
		if err := k.found(f); err != nil {
			return err
		}
	}
	return k.orphans(ctx, table, suspects, there, cost)
}

// elsewhere reports whether an unknown item of a table is one of another namespace.
func (m *model) elsewhere(table string, it item.Item) bool {
	on := m.on(table)
	i := slices.IndexFunc(on, func(e *entityModel) bool { return e.s.Prefix != "" })
	return i >= 0 && identify.Elsewhere(on[i].s, it)
}

// orphans reports the suspects whose current item is neither there nor a deleted copy. It reads each such suspect again, because
// it may have been removed meanwhile.
func (k *checking) orphans(ctx context.Context, table string, suspects []stored, there map[string]bool, cost *spent) error {
	known := map[string]bool{}
	for _, x := range suspects {
		id, ok := "", x.owner != nil
		for _, av := range x.owner {
			ok = ok && av != nil
		}
		if ok {
			id = layout.KeyID(x.owner)
			if there[id] {
				continue
			}
			has, asked := known[id]
			if !asked {
				var err error
				if has, err = k.owned(ctx, x, cost); err != nil {
					return err
				}
				known[id] = has
			}
			if has {
				continue
			}
			again, err := k.s.get(ctx, table, layout.KeyOf(x.model.s, x.raw), cost)
			if err != nil {
				return err
			}
			if again == nil {
				continue
			}
		}
		if err := k.found(finding{Table: table, Kind: string(migrate.Orphaned), Entity: x.Entity, Key: x.keyText(), What: strings.TrimSpace(string(x.Kind) + " " + x.Of), of: &x}); err != nil {
			return err
		}
	}
	return nil
}

// owned reports whether the current item of x exists, or has left a deleted copy.
func (k *checking) owned(ctx context.Context, x stored, cost *spent) (bool, error) {
	it, err := k.s.get(ctx, x.model.table, x.owner, cost)
	if err != nil || it != nil {
		return it != nil, err
	}
	if !x.model.has("lifecycle.SoftDelete") || x.model.s.SK == nil {
		return false, nil
	}
	copies := layout.QueryRelated(x.model.s, x.model.table, x.owner, schema.CopyInfix)
	copies.Limit = 1
	in := engine.QueryInput(copies)
	for _, err := range k.s.query(ctx, in, cost) {
		return err == nil, err
	}
	return false, nil
}
