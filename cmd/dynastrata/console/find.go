package console

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// States of an item that was found.
const (
	stateCurrent = "current"
	stateExpired = "expired" // stored, and gone for reads and writes
	stateDeleted = "deleted" // there is a deleted copy
	stateHistory = "history" // only versions, events or a claim are there
)

// An itemFound is an item as it is now, that has or had the values of a search.
type itemFound struct {
	stored          // the current item, the newest deleted copy, or what else is left
	State  string   // one of the states above
	By     []string // the attributes with the values, and of which version or event, if not of the item as it is now
}

// A finder looks for items by values. It prints nothing.
type finder struct {
	s     *session
	words []word
	most  int // items to find

	found []itemFound
	more  bool // there may be others
	cost  spent
	seen  map[string]bool // items that were looked at, and whether they were found
}

// A word is a value to look for.
type word struct{ attr, text string } // attr is "" for any attribute

// Limits of a search.
const (
	mostWords   = 4
	longestWord = 200 // in bytes, so that a key of these is no longer than DynamoDB takes
	mostPages   = 5   // of one query
)

// newFinder returns a search for items that have each of the words: a value, or attribute=value.
func (s *session) newFinder(words []string, most int) (*finder, error) {
	if len(words) == 0 || len(words) > mostWords || slices.ContainsFunc(words, func(text string) bool { return text == "" || len(text) > longestWord }) {
		return nil, invalid(bind.CodeConsoleKey, "give 1 to %d values that an item has, of up to %d bytes; attribute=value looks in one attribute", mostWords, longestWord)
	}
	f := &finder{s: s, most: most, seen: map[string]bool{}}
	for _, text := range words {
		w := word{text: text}
		name, value, ok := strings.Cut(text, "=")
		if ok && value != "" && slices.ContainsFunc(s.m.entities, func(e *entityModel) bool { return e.derived == "" && e.s.Attr(name) != nil }) {
			w = word{name, value}
		}
		f.words = append(f.words, w)
	}
	return f, nil
}

// byKeys looks where one request finds an item: at unique values, primary keys, and in partitions of tables and indexes.
func (f *finder) byKeys(ctx context.Context) error {
	for _, e := range f.s.m.entities {
		if e.derived != "" {
			continue
		}
		for _, c := range e.uniques {
			if err := f.byClaim(ctx, e, c); err != nil {
				return err
			}
		}
		if err := f.byKey(ctx, e, nil); err != nil {
			return err
		}
		for _, x := range e.s.Indexes {
			if err := f.byKey(ctx, e, x); err != nil {
				return err
			}
		}
	}
	return nil
}

// byScan looks at every item of the tables. It finds what has no key: deleted copies, versions, and values that are in none.
func (f *finder) byScan(ctx context.Context, read func(items int)) error {
	n := 0
	for _, table := range f.s.m.tables() {
		for page, err := range f.s.scan(ctx, table, &f.cost) {
			if err != nil {
				return err
			}
			for _, it := range page {
				y := f.s.m.decode(table, it, f.s.app.Clock())
				if y.model == nil || y.model.derived != "" || y.owner == nil || y.Kind == KindSentinel || y.Kind == KindCheckpoint || f.in(y) == nil {
					continue
				}
				if err := f.add(ctx, y.model, y.owner, &y); err != nil || f.more {
					return err
				}
			}
			n += len(page)
			read(n)
		}
	}
	return nil
}

// byClaim looks for the words among the values of a unique constraint.
func (f *finder) byClaim(ctx context.Context, e *entityModel, c constraint) error {
	var names []string
	for _, field := range c.key.Fields() {
		names = append(names, field.Attr)
	}
	for _, g := range f.assigned(names) {
		vs := make([]key.Value, len(names))
		var err error
		for i, field := range c.key.Fields() {
			if vs[i], err = value(field, g[field.Attr]); err != nil {
				break
			}
		}
		text, composed := c.key.ComposeValues(vs)
		if err != nil || composed != nil { // no value of this type
			continue
		}
		it, err := f.s.get(ctx, e.table, e.claimKey(c, text), &f.cost)
		if err != nil {
			return err
		}
		if y := f.s.m.decode(e.table, it, f.s.app.Clock()); it != nil && y.owner != nil {
			if err := f.add(ctx, e, y.owner, &y); err != nil {
				return err
			}
		}
	}
	return nil
}

// byKey looks for the words in the key of the table, or of an index.
func (f *finder) byKey(ctx context.Context, e *entityModel, x *schema.Index) error {
	pks, sk := []*schema.KeyDef{e.s.PK}, e.s.SK
	switch {
	case x != nil && x.Shards != nil:
		pks, sk = x.Shards, x.SK
	case x != nil:
		pks[0], sk = x.PK, x.SK
	}
	for _, g := range f.keys(pks[0], sk) {
		before := len(f.found)
		if primary, err := e.primary(g); x == nil && err == nil {
			if err := f.add(ctx, e, primary, nil); err != nil {
				return err
			}
		} else if err := f.query(ctx, e, x, pks, g); err != nil {
			return err
		}
		if len(f.found) > before { // shorter keys find the same, and more
			return nil
		}
	}
	return nil
}

// query adds the items of a partition that have the given parts.
func (f *finder) query(ctx context.Context, e *entityModel, x *schema.Index, pks []*schema.KeyDef, g given) error {
	for _, pk := range pks {
		in, sk, err := e.queryInput(x, pk, g)
		if errors.As(err, new(*entity.InputError)) { // no value of this type
			return nil
		}
		if err != nil {
			return err
		}
		start := f.cost.requests
		for it, err := range f.s.query(ctx, in, &f.cost) {
			if err != nil {
				return err
			}
			y := f.s.m.decode(e.table, it, f.s.app.Clock())
			if f.cost.requests > start+mostPages {
				f.more = true
				break
			}
			if y.model != e || y.owner == nil || !g.matches(it, pk, sk) {
				continue
			}
			if err := f.add(ctx, e, y.owner, &y); err != nil || f.more {
				return err
			}
		}
	}
	return nil
}

// keys returns the ways to give the words to a key: to each part of the partition key, and to the first parts of the sort key; the longest
// first.
func (f *finder) keys(pk, sk *schema.KeyDef) (all []given) {
	names := func(k *schema.KeyDef) (names []string) {
		if k != nil {
			for _, a := range k.Parts {
				if !slices.Contains(names, a.Name) {
					names = append(names, a.Name)
				}
			}
		}
		return names
	}
	partition, sort := names(pk), slices.DeleteFunc(names(sk), func(name string) bool { return slices.Contains(names(pk), name) })
	for n := min(len(sort), len(f.words)-len(partition)); n >= 0; n-- {
		if list := append(slices.Clone(partition), sort[:n]...); len(list) > 0 {
			all = append(all, f.assigned(list)...)
		}
	}
	return all
}

// assigned returns the ways to give a word to each of the attributes.
func (f *finder) assigned(attrs []string) (all []given) {
	used := make([]bool, len(f.words))
	var give func(g given)
	give = func(g given) {
		if len(g) == len(attrs) {
			all = append(all, maps.Clone(g))
			return
		}
		attr := attrs[len(g)]
		for i, w := range f.words {
			if used[i] || w.attr != "" && w.attr != attr {
				continue
			}
			used[i], g[attr] = true, w.text
			give(g)
			used[i] = false
			delete(g, attr)
		}
	}
	if len(attrs) > 0 && len(attrs) <= len(f.words) {
		give(given{})
	}
	return all
}

// add adds the item with a primary key as it is now, if it has the words, or y has them, which belongs to it.
func (f *finder) add(ctx context.Context, e *entityModel, primary item.Item, y *stored) error {
	id := e.table + "\x00" + layout.KeyID(primary)
	had := y != nil && f.in(*y) != nil
	if found, looked := f.seen[id]; found || looked && !had {
		return nil
	}
	f.seen[id] = false
	x, err := f.now(ctx, e, primary)
	if err != nil {
		return err
	}
	if x.By = f.in(x.stored); x.By == nil && y != nil {
		if x.State == "" {
			x.State, x.stored = stateHistory, *y
		}
		where := " of " + strings.TrimSpace(string(y.Kind)+" "+y.Of)
		for _, name := range f.in(*y) {
			x.By = append(x.By, name+where)
		}
		if y.Kind == KindSentinel && x.State == stateHistory {
			x.By = []string{"the claim of " + y.Of}
		}
	}
	if x.By == nil {
		return nil
	}
	f.seen[id] = true
	if len(f.found) == f.most {
		f.more = true
		return nil
	}
	f.found = append(f.found, x)
	return nil
}

// now returns the current item of a key, or its newest deleted copy; without a state if it has neither.
func (f *finder) now(ctx context.Context, e *entityModel, primary item.Item) (x itemFound, err error) {
	clock := f.s.app.Clock()
	it, err := f.s.get(ctx, e.table, primary, &f.cost)
	if err != nil {
		return x, err
	}
	if it != nil {
		x.stored, x.State = f.s.m.decode(e.table, it, clock), stateCurrent
		if !x.Expired {
			return x, nil
		}
		x.State = stateExpired
	}
	if e.has("lifecycle.SoftDelete") {
		if y, err := f.last(ctx, layout.QueryRelated(e.s, e.table, primary, schema.CopyInfix)); err != nil {
			return x, err
		} else if y != nil {
			return itemFound{stored: *y, State: stateDeleted}, nil
		}
	}
	if it != nil || !e.s.SK.Written() || len(e.kinds()) == 1 {
		return x, nil
	}
	for _, partition := range append(layout.EventPartitions(e.s, primary), primary) {
		if y, err := f.last(ctx, layout.QueryRelated(e.s, e.table, partition, "")); err != nil {
			return x, err
		} else if y != nil && y.model == e {
			return itemFound{stored: *y, State: stateHistory}, nil
		}
	}
	return x, nil
}

// last returns the last item of a range; nil for none.
func (f *finder) last(ctx context.Context, r *layout.Range) (*stored, error) {
	in := engine.QueryInput(r)
	in.ScanIndexForward, in.Limit = aws.Bool(false), aws.Int32(1)
	for it, err := range f.s.query(ctx, in, &f.cost) {
		if err != nil {
			return nil, err
		}
		x := f.s.m.decode(*in.TableName, it, f.s.app.Clock())
		return &x, nil
	}
	return nil, nil
}

// in returns the attributes of an item that have the words, a name for each word; nil if one is in none.
func (f *finder) in(x stored) []string {
	var names []string
	for _, w := range f.words {
		name := w.in(x)
		if name == "" {
			return nil
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// in returns the first attribute of an item that has a value; "" for none.
func (w word) in(x stored) string {
	if x.model == nil || x.Kind == KindSentinel {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(x.raw)) {
		if (w.attr == "" || w.attr == name) && !library(x, name) && !x.model.composed(name) && w.is(x.model, name, x.raw[name]) {
			return item.Text(name)
		}
	}
	return ""
}

// is reports whether a stored value is that of the word, in the case that a key or a unique constraint has it in.
func (w word) is(e *entityModel, name string, av types.AttributeValue) bool {
	a := e.s.Attr(name)
	if a != nil && a.Time {
		if t, err := instant(w.text); err == nil {
			want, err := a.Format.Value(t)
			return err == nil && item.Equal(want, av)
		}
	}
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return v.Value == w.text || e.folds(name) && strings.EqualFold(v.Value, w.text)
	case *types.AttributeValueMemberN:
		_, err := item.ParseDecimal(w.text)
		return err == nil && item.Equal(av, item.N(w.text))
	}
	return false
}

// folds reports whether a key or a unique constraint has the attribute in lower case.
func (e *entityModel) folds(attr string) bool {
	lower := func(t *key.Template) bool {
		return t != nil && slices.ContainsFunc(t.Fields(), func(f *key.Field) bool { return f.Attr == attr && f.Lower })
	}
	return slices.ContainsFunc(e.uniques, func(c constraint) bool { return lower(c.key) }) ||
		slices.ContainsFunc(e.s.Keys(), func(k *schema.KeyDef) bool { return k.Written() && lower(k.Template) })
}

// composed reports whether an attribute is a key of the table that is composed from others.
func (e *entityModel) composed(attr string) bool {
	return e.s.Attr(attr) == nil && slices.ContainsFunc([]*schema.KeyDef{e.s.PK, e.s.SK}, func(k *schema.KeyDef) bool { return k.Written() && k.Attr == attr })
}
