package console

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/urfave/cli/v3"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout/generations"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// getCommand prints one current item.
func (s *session) getCommand() *cli.Command {
	return &cli.Command{
		Name: "get", Usage: "print the current item of a key", ArgsUsage: "entity part=value…",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "version", Usage: "print a version, or an event by its time, as log lists them"},
			&cli.StringFlag{Name: "at", Usage: "print the state at a time, such as 2026-04-22T12:00:00Z; of a date, that at its beginning in UTC"},
		},
		ShellComplete: s.complete(s.nextPart(s.nextEntity)),
		Action: s.action(func(ctx context.Context, c *cli.Command) error {
			if err := s.database(ctx, c); err != nil {
				return err
			}
			e, g, err := s.target(c.Args().Slice())
			if err != nil {
				return err
			}
			primary, err := e.primary(g)
			if err != nil {
				return err
			}
			var x stored
			if at := c.String("at"); at != "" {
				if c.IsSet("version") {
					return &usageError{c, errors.New("--version and --at exclude each other")}
				}
				x, err = s.stateAt(ctx, e, primary, at)
			} else {
				x, err = s.state(ctx, e, primary, c.String("version"))
			}
			if err != nil {
				return err
			}
			if s.out.json {
				return s.out.object(x.object())
			}
			n := s.itemNode(x, true)
			n.text = s.out.bold(e.s.Name) + " " + x.keyText() + "  " + n.text
			s.out.tree(n)
			return nil
		}),
	}
}

// state returns the current item of a key, or one of its states by its version.
func (s *session) state(ctx context.Context, e *entityModel, primary item.Item, version string) (stored, error) {
	if version != "" {
		f, err := s.family(ctx, e, primary)
		if err != nil {
			return stored{}, err
		}
		return pick(f.states(e), version)
	}
	var cost spent
	it, err := s.get(ctx, e.table, primary, &cost)
	if err == nil && it == nil {
		err = s.absent(ctx, e, primary)
	}
	if err != nil {
		return stored{}, err
	}
	return s.m.decode(e.table, it, s.app.Clock()), nil
}

// absent returns the error for an item that is not there, which says whether a deleted copy is.
func (s *session) absent(ctx context.Context, e *entityModel, primary item.Item) error {
	if e.has("lifecycle.SoftDelete") {
		f, err := s.family(ctx, e, primary)
		if err != nil {
			return err
		}
		return s.absentIn(f, e)
	}
	return s.absentIn(family{}, e)
}

// absentIn is absent for what belongs to the item.
func (s *session) absentIn(f family, e *entityModel) error {
	if copies := f.of(KindDeleted); len(copies) > 0 {
		return fmt.Errorf("%w: %s with this key was deleted at %s; show prints the deleted copy, and undelete brings it back", errNotFound, e.s.Name, copies[len(copies)-1].Of)
	}
	return fmt.Errorf("%w: %s with this key", errNotFound, e.s.Name)
}

// queryCommand prints the items of a partition.
func (s *session) queryCommand() *cli.Command {
	return &cli.Command{
		Name: "query", Usage: "print the items of a partition, of the table or of an index", ArgsUsage: "entity [index] part=value…",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "limit", Usage: "print at most so many items"},
			&cli.BoolFlag{Name: "related", Usage: "print events, versions and deleted copies too"},
		},
		ShellComplete: s.complete(s.nextQuery),
		Action: s.action(func(ctx context.Context, c *cli.Command) error {
			if err := s.database(ctx, c); err != nil {
				return err
			}
			if c.NArg() == 0 {
				return invalid(bind.CodeConsoleName, "give the name of an entity")
			}
			e, err := s.m.entity(c.Args().First())
			if err != nil {
				return err
			}
			rest := c.Args().Tail()
			var x *schema.Index
			if len(rest) > 0 && !strings.Contains(rest[0], "=") {
				if x, err = e.index(rest[0]); err != nil {
					return err
				}
				rest = rest[1:]
			}
			g, err := parseGiven(rest)
			if err != nil {
				return err
			}
			return s.runQuery(ctx, e, x, g, int(c.Int("limit")), c.Bool("related"))
		}),
	}
}

// runQuery prints the items of e with the given leading parts of a key of the table, or of index x.
func (s *session) runQuery(ctx context.Context, e *entityModel, x *schema.Index, g given, limit int, related bool) error {
	rows := [][]string{{"kind", "key", "attributes"}}
	var records []node // the same, with a line for each attribute
	var cost spent
	partitions, err := s.partitions(ctx, e, x, g, &cost)
	if err != nil {
		return err
	}
	n, now := 0, s.app.Clock()
	for _, g := range partitions {
		shards := []*schema.KeyDef{e.s.PK}
		switch {
		case x != nil && x.Shards != nil:
			shards = x.Shards
		case x != nil:
			shards[0] = x.PK
		}
		var sk *schema.KeyDef
		var queries []iter.Seq2[item.Item, error]
		for _, pk := range shards {
			in, sorted, err := e.queryInput(x, pk, g)
			if err != nil {
				return err
			}
			sk, queries = sorted, append(queries, s.query(ctx, in, &cost))
		}
		for it, err := range inOrder(sk, queries) {
			if err != nil {
				return err
			}
			y := s.m.decode(e.table, it, now)
			if y.model != e || !g.matches(it, shards[0], sk) || !related && y.Kind != KindCurrent && y.Kind != e.derived {
				continue
			}
			if n++; s.out.json {
				if err := s.out.object(y.object()); err != nil {
					return err
				}
			} else {
				rows, records = append(rows, s.row(y)), append(records, s.record(y))
			}
			if limit > 0 && n == limit {
				break
			}
		}
		if limit > 0 && n == limit {
			break
		}
	}
	if s.out.json {
		return nil
	}
	switch {
	case n == 0:
	case s.out.fits(rows):
		s.out.table(rows)
	default:
		for _, record := range records {
			s.out.tree(record)
		}
	}
	s.out.line("%s", s.out.faint(fmt.Sprintf("%s, %s", count(n, "item"), cost)))
	return nil
}

// partitions returns the given parts for each partition to read: of the rows of a read model whose generation is not given, those that
// are served now.
func (s *session) partitions(ctx context.Context, e *entityModel, x *schema.Index, g given, cost *spent) ([]given, error) {
	if _, has := g["generation"]; has || e.derived != KindRow || x != nil {
		return []given{g}, nil
	}
	view, manifest := e.view(), s.m.manifestOf(e)
	if manifest == nil {
		return nil, invalid(bind.CodeConsoleLock, "the lock lacks TimelineManifest-%s, which says what rows are served", view)
	}
	primary, err := manifest.primary(given{"view": view})
	if err != nil {
		return nil, err
	}
	it, err := s.get(ctx, manifest.table, primary, cost)
	if err != nil {
		return nil, err
	}
	active, _ := it["active"].(*types.AttributeValueMemberM)
	if active == nil {
		return nil, fmt.Errorf("%w: the view %s is not built", errNotFound, view)
	}
	id, _ := active.Value["id"].(*types.AttributeValueMemberS)
	if id == nil {
		return nil, fmt.Errorf("%w: the manifest of the view %s names no rows", errNotFound, view)
	}
	var all []given
	for _, partition := range generations.Partitions(id.Value) {
		one := maps.Clone(g)
		one["generation"] = partition
		all = append(all, one)
	}
	return all, nil
}

// inOrder yields what several queries yield, each in the order of a sort key, in that order. It stops at the first error.
func inOrder(sk *schema.KeyDef, parts []iter.Seq2[item.Item, error]) iter.Seq2[item.Item, error] {
	if len(parts) == 1 {
		return parts[0]
	}
	return func(yield func(item.Item, error) bool) {
		type head struct {
			it   item.Item
			err  error
			next func() (item.Item, error, bool)
		}
		var heads []*head
		take := func(h *head) (more bool) { h.it, h.err, more = h.next(); return more }
		for _, part := range parts {
			next, stop := iter.Pull2(part)
			defer stop()
			if h := (&head{next: next}); take(h) {
				heads = append(heads, h)
			}
		}
		before := func(a, b *head) int {
			for _, name := range sk.Attributes() {
				if order, _ := expr.Compares(a.it[name], b.it[name]); order != 0 {
					return order
				}
			}
			return 0
		}
		for len(heads) > 0 {
			if i := slices.IndexFunc(heads, func(h *head) bool { return h.err != nil }); i >= 0 {
				yield(nil, heads[i].err)
				return
			}
			h := slices.MinFunc(heads, before)
			if !yield(h.it, nil) {
				return
			}
			if !take(h) {
				heads = slices.DeleteFunc(heads, func(other *head) bool { return other == h })
			}
		}
	}
}

// queryInput returns the query of the items with the given leading parts in a partition with key pk, and the sort key.
func (e *entityModel) queryInput(x *schema.Index, pk *schema.KeyDef, g given) (in *dynamodb.QueryInput, sk *schema.KeyDef, err error) {
	sk, in = e.s.SK, &dynamodb.QueryInput{TableName: &e.table}
	if x != nil {
		sk, in.IndexName = x.SK, &x.Index
	}
	if err := g.only(pk, sk); err != nil {
		return nil, nil, err
	}
	partition, whole, err := compose(pk, g)
	if err != nil {
		return nil, nil, err
	}
	if !whole {
		return nil, nil, invalid(bind.CodeConsoleKey, "the partition needs each of: %s", parts(pk))
	}
	var conds []expr.Cond
	for _, name := range pk.Attributes() {
		conds = append(conds, expr.Compare(expr.Eq, expr.Attr(name), partition[name]))
	}
	if sk != nil {
		begin, _, err := compose(sk, g)
		if err != nil {
			return nil, nil, err
		}
		for _, name := range sk.Attributes() {
			if av, ok := begin[name]; ok && sk.Written() {
				conds = append(conds, expr.Compare(expr.BeginsWith, expr.Attr(name), av))
			} else if ok {
				conds = append(conds, expr.Compare(expr.Eq, expr.Attr(name), av))
			}
		}
	}
	var r expr.Renderer
	text := r.Cond(expr.All(conds...))
	in.KeyConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = &text, r.NameMap(), r.ValueMap()
	return in, sk, nil
}

// row returns an item as a row of a table.
func (s *session) row(x stored) []string {
	kind, attrs := s.kindOf(x), s.attrs(x)
	return []string{kind, x.keyText(), strings.Join(attrs, " ")}
}

// record returns an item as a tree, with a line for each attribute.
func (s *session) record(x stored) node {
	n := node{text: s.kindOf(x) + "  " + x.keyText()}
	for _, text := range s.attrs(x) {
		n.sub = append(n.sub, node{text: text})
	}
	return n
}

// kindOf returns the kind of an item, of which version, and what is wrong with it.
func (s *session) kindOf(x stored) string {
	kind := s.out.kind(x.Kind)
	if x.Of != "" {
		kind += " " + x.Of
	}
	if x.Problem != "" {
		kind += " " + s.out.alarm("! "+x.Problem)
	}
	return kind
}

// attrs returns the attributes of an item that are neither in its key nor the library's.
func (s *session) attrs(x stored) (all []string) {
	for _, a := range x.Attrs {
		part := slices.ContainsFunc(x.Parts, func(p field) bool { return p.Name == a.Name })
		if !part && !library(x, a.Name) {
			all = append(all, s.marked(a.label()+"="+a.Value, a.Odd))
		}
	}
	return all
}
