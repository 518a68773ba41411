package console

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/cmd/dynastrata/internal/studio"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// finding items by a value: first by keys, in one request for each table, then by queries.
type search struct {
	d    *studioData
	text string
	out  studio.Found
	cost spent
}

// lookAt is an item that a search reads by its key.
type lookAt struct {
	e     *entityModel
	key   item.Item
	why   string
	claim bool // of a unique value, not of an item
}

// mostHits are listed of one way to items.
const mostHits = 10

// Find implements studio.Data.
func (d *studioData) Find(ctx context.Context, text string) (studio.Found, error) {
	f := &search{d: d, text: text}
	why, err := partial(f.run(ctx))
	f.out.Partial = why != ""
	f.out.Cost = studio.Cost{Requests: f.cost.requests, Units: f.cost.units}
	return f.out, err
}

func (f *search) run(ctx context.Context) error {
	byTable := map[string][]lookAt{}
	for _, e := range f.d.s.m.entities {
		if e.derived == "" {
			byTable[e.table] = append(byTable[e.table], f.keys(e)...)
		}
	}
	for _, table := range f.d.s.m.tables() {
		if err := f.read(ctx, table, byTable[table]); err != nil {
			return err
		}
	}
	for _, e := range f.d.s.m.entities {
		if e.derived != "" {
			continue
		}
		if err := f.queries(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// keys returns the keys that the text makes: of the claims of unique values, and of items whose key has one part.
func (f *search) keys(e *entityModel) (all []lookAt) {
	for _, c := range e.uniques {
		if fields := c.key.Fields(); len(fields) == 1 && e.s.SK != nil {
			if v, err := value(fields[0], f.text); err == nil {
				if text, err := c.key.ComposeValues([]key.Value{v}); err == nil {
					all = append(all, lookAt{e, item.Item{e.s.PK.Attr: item.S(text), e.s.SK.Attr: item.S(c.key.Prefix)}, "by " + c.name, true})
				}
			}
		}
	}
	if names := e.partNames(); len(names) == 1 {
		if primary, err := e.primary(given{names[0]: f.text}); err == nil {
			all = append(all, lookAt{e, primary, "by " + names[0], false})
		}
	}
	return all
}

// read reads the keys of a table, the items that claims lead to, and the copies of those that are deleted.
func (f *search) read(ctx context.Context, table string, all []lookAt) error {
	keys := make([]item.Item, len(all))
	for i, x := range all {
		keys[i] = x.key
	}
	found, err := f.d.s.getSome(ctx, table, keys, &f.cost)
	if err != nil {
		return err
	}
	var owners []lookAt
	var ids []item.Item
	for i, it := range found {
		x := all[i]
		y := f.d.s.m.decode(table, it, f.d.s.app.Clock())
		switch {
		case it != nil && y.Kind == KindSentinel && y.owner != nil && !y.Expired && scalarText(y.owner[x.e.s.PK.Attribute()]) != "":
			owners, ids = append(owners, lookAt{x.e, y.owner, x.why, false}), append(ids, y.owner)
		case it != nil && y.Kind == KindCurrent && !y.Expired:
			f.hit(y, x.why)
		case it == nil && !x.claim:
			if err := f.copies(ctx, x); err != nil {
				return err
			}
		}
	}
	if found, err = f.d.s.getSome(ctx, table, ids, &f.cost); err != nil {
		return err
	}
	for i, it := range found {
		if it != nil {
			f.hit(f.d.s.m.decode(table, it, f.d.s.app.Clock()), owners[i].why)
			continue
		}
		if err := f.copies(ctx, owners[i]); err != nil {
			return err
		}
	}
	return nil
}

// copies adds the newest deleted copy of an item.
func (f *search) copies(ctx context.Context, x lookAt) error {
	if !x.e.has("lifecycle.SoftDelete") || x.e.s.SK == nil {
		return nil
	}
	r := layout.QueryRelated(x.e.s, x.e.table, x.key, schema.CopyInfix)
	r.Desc, r.Limit = true, 1
	return f.ask(ctx, x.e, engine.QueryInput(r), x.why+", deleted", func(y stored) bool { return y.Kind == KindDeleted && !y.Expired })
}

// queries looks in the partitions that the text alone makes: of the table, and of indexes.
func (f *search) queries(ctx context.Context, e *entityModel) error {
	ways := []*schema.Index{nil}
	ways = append(ways, e.s.Indexes...)
	for _, x := range ways {
		pk := e.s.PK
		if x != nil {
			pk = x.PK
		}
		if len(pk.Parts) != 1 || x != nil && x.Shards != nil || x == nil && len(e.partNames()) == 1 {
			continue
		}
		in, _, err := e.queryInput(x, pk, given{pk.Parts[0].Name: f.text})
		if err != nil {
			continue // the text is no value of this part
		}
		limit := int32(mostHits)
		in.Limit = &limit
		if err := f.ask(ctx, e, in, "by "+pk.Parts[0].Name, func(y stored) bool { return y.Kind == KindCurrent && !y.Expired }); err != nil {
			return err
		}
	}
	return nil
}

// ask adds what a query finds.
func (f *search) ask(ctx context.Context, e *entityModel, in *dynamodb.QueryInput, why string, wanted func(stored) bool) error {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	out, err := f.d.s.client.Query(ctx, in, again)
	if err != nil {
		return f.d.s.failed("query "+e.table, err)
	}
	f.cost.add(out.ConsumedCapacity)
	for _, it := range out.Items {
		if y := f.d.s.m.decode(e.table, it, f.d.s.app.Clock()); y.model == e && wanted(y) {
			f.hit(y, why)
		}
	}
	return nil
}

// hit adds an item, once.
func (f *search) hit(x stored, why string) {
	f.out.Hits = addHit(f.out.Hits, f.d.s.m, x, why)
}

func addHit(all []studio.Hit, m *model, x stored, why string) []studio.Hit {
	h := studio.Hit{Entity: x.Entity, Key: m.partsOf(x), Label: printable(x.keyText(), false), Why: why, Kind: string(x.Kind)}
	if h.Key == nil || slices.ContainsFunc(all, func(y studio.Hit) bool {
		other, err := m.entity(y.Entity)
		return err == nil && other == x.model && sameKey(y.Key, h.Key)
	}) {
		return all
	}
	return append(all, h)
}

func sameKey(a, b studio.Key) bool {
	for name, text := range a {
		if b[name] != text {
			return false
		}
	}
	return len(a) == len(b)
}

// Deleted implements studio.Data.
func (d *studioData) Deleted(ctx context.Context, text string, report func(studio.Progress)) (out studio.Found, err error) {
	var cost spent
	done := int64(0)
	defer func() { out.Cost = studio.Cost{Requests: cost.requests, Units: cost.units} }()
	for _, table := range d.s.m.tables() {
		if !slices.ContainsFunc(d.s.m.on(table), func(e *entityModel) bool { return e.has("lifecycle.SoftDelete") }) {
			continue
		}
		t, err := d.s.describe(ctx, table)
		if err != nil {
			return out, err
		}
		total := int64(0)
		if t.ItemCount != nil {
			total = *t.ItemCount
		}
		for page, err := range d.s.scan(ctx, table, &cost) {
			if err != nil {
				return out, stopped(ctx, err)
			}
			done += int64(len(page))
			report(studio.Progress{Done: done, Total: max(total, done), Text: table})
			for _, it := range page {
				x := d.s.m.decode(table, it, d.s.app.Clock())
				if x.Kind != KindDeleted || x.Expired || !x.has(text) {
					continue
				}
				current, err := d.s.get(ctx, table, x.owner, &cost)
				if err != nil {
					return out, stopped(ctx, err)
				}
				if current == nil { // else it was made again
					out.Hits = addHit(out.Hits, d.s.m, x, "deleted at "+x.Of)
				}
			}
		}
	}
	return out, nil
}

// stopped returns the error of the context if that is why a read failed.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		return ctx.Err()
	}
	return err
}

// has reports whether a part of a key of the item, or a unique value, is given by a text.
func (x stored) has(text string) bool {
	var fields []*key.Field
	for _, k := range x.model.s.Keys() {
		if k.Written() {
			fields = append(fields, k.Template.Fields()...)
			continue
		}
		for _, a := range k.Native {
			if scalarText(x.raw[a.Name]) == text {
				return true
			}
		}
	}
	for _, c := range x.model.uniques {
		fields = append(fields, c.key.Fields()...)
	}
	return slices.ContainsFunc(fields, func(f *key.Field) bool {
		v, err := value(f, text)
		if err != nil {
			return false
		}
		av, err := f.Attribute(v)
		return err == nil && (item.Equal(av, x.raw[f.Attr]) || f.Lower && equalFold(av, x.raw[f.Attr]))
	})
}
