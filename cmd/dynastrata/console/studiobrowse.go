package console

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/cmd/dynastrata/internal/studio"
	"github.com/dynastrata/dynastrata/internal/avjson"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// mostRequests are made for a page, of each partition.
const mostRequests = 5

// browsing is one page of items.
type browsing struct {
	d     *studioData
	e     *entityModel
	x     *schema.Index // nil for the table
	pk    *schema.KeyDef
	sk    *schema.KeyDef
	q     studio.Question
	given given
	conds []expr.Cond // on the keys
	check expr.Cond   // of the range, which the keys alone do not decide
	lower string      // the attribute that check compares in lower case
	out   studio.Rows
	cost  spent
}

// Browse implements studio.Data.
func (d *studioData) Browse(ctx context.Context, q studio.Question) (studio.Rows, error) {
	b, err := d.browsing(q)
	if err != nil {
		return studio.Rows{}, mistaken(err)
	}
	switch {
	case b.e.derived == KindRow && b.x == nil && b.given["generation"] == "": // the rows that are served
		err = b.merged(ctx)
	case len(b.given) == 0:
		err = b.scan(ctx)
	case b.x != nil && b.x.Shards != nil:
		err = b.merged(ctx)
	default:
		if err = b.locate(b.pk, b.given); err == nil {
			err = b.pages(ctx)
		}
	}
	b.out.Partial, err = keptReason(b.out.Partial, err)
	b.out.Cost = studio.Cost{Requests: b.cost.requests, Units: b.cost.units}
	return b.out, mistaken(err)
}

// keptReason keeps why a page is not full.
func keptReason(was string, err error) (string, error) {
	why, err := partial(err)
	return cmp.Or(why, was), err
}

func (d *studioData) browsing(q studio.Question) (*browsing, error) {
	e, err := d.s.m.entity(q.Entity)
	if err != nil {
		return nil, err
	}
	b := &browsing{d: d, e: e, q: q, pk: e.s.PK, sk: e.s.SK, given: given(q.Given)}
	if q.Index != "" {
		if b.x, err = e.index(q.Index); err != nil {
			return nil, err
		}
		b.pk, b.sk = b.x.PK, b.x.SK
	}
	if err := b.given.only(b.pk, b.sk); err != nil {
		return nil, err
	}
	if q.Filter != nil && d.s.m.hides(e, q.Filter.Name) {
		return nil, badKey("%s is secret: it cannot be filtered", item.Text(q.Filter.Name))
	}
	return b, nil
}

// locate sets the conditions on the keys: the partition, the leading parts of the sort key, and the operator on the next part.
func (b *browsing) locate(pk *schema.KeyDef, g given) error {
	partition, whole, err := compose(pk, g)
	if err != nil {
		return err
	}
	if !whole {
		return badKey("the partition needs each of: %s", parts(pk))
	}
	b.conds = nil
	for _, name := range pk.Attributes() {
		b.conds = append(b.conds, expr.Compare(expr.Eq, expr.Attr(name), partition[name]))
	}
	if b.sk == nil {
		return nil
	}
	if b.sk.Written() {
		return b.templated(g)
	}
	for _, a := range b.sk.Native {
		text, ok := g[a.Name]
		if ok {
			av, err := native(a, text)
			if err != nil {
				return err
			}
			b.conds = append(b.conds, expr.Compare(expr.Eq, expr.Attr(a.Name), av))
			continue
		}
		if b.q.Op == "" {
			return nil
		}
		values, err := b.operands(func(text string) (types.AttributeValue, error) { return native(a, text) })
		if err != nil {
			return err
		}
		b.conds = append(b.conds, expr.Compare(comparisons[b.q.Op], expr.Attr(a.Name), values...))
		return nil
	}
	return nil
}

var comparisons = map[string]expr.Op{
	studio.OpEq: expr.Eq, studio.OpNe: expr.Ne, studio.OpBegins: expr.BeginsWith, studio.OpBetween: expr.Between, studio.OpLt: expr.Lt, studio.OpLe: expr.Le,
	studio.OpGt: expr.Gt, studio.OpGe: expr.Ge, studio.OpHas: expr.Contains, studio.OpExists: expr.Exists, studio.OpMissing: expr.NotExists,
}

var bounds = map[string]key.Op{
	studio.OpEq: key.Eq, studio.OpBegins: key.BeginsWith, studio.OpBetween: key.Between, studio.OpLt: key.Lt, studio.OpLe: key.Le, studio.OpGt: key.Gt, studio.OpGe: key.Ge,
}

// operands returns the values of the operator on the sort key.
func (b *browsing) operands(read func(string) (types.AttributeValue, error)) (all []types.AttributeValue, err error) {
	texts := []string{b.q.Lo}
	if b.q.Op == studio.OpBetween {
		texts = append(texts, b.q.Hi)
	}
	if _, ok := bounds[b.q.Op]; !ok {
		return nil, badKey("a sort key has no such operator")
	}
	for _, text := range texts {
		if text == "" {
			return nil, badKey("give the value that the sort key is compared with; between needs two")
		}
		av, err := read(text)
		if err != nil {
			return nil, err
		}
		all = append(all, av)
	}
	return all, nil
}

// templated sets the condition on a sort key that is composed of parts.
func (b *browsing) templated(g given) error {
	var lead []key.Value
	var next *key.Field
	for _, f := range b.sk.Template.Fields() {
		text, ok := g[f.Attr]
		if !ok {
			next = f
			break
		}
		v, err := value(f, text)
		if err != nil {
			return err
		}
		lead = append(lead, v)
	}
	var bound *key.Bound
	if b.q.Op != "" && next != nil {
		bound = &key.Bound{Op: bounds[b.q.Op]}
		if _, err := b.operands(func(text string) (types.AttributeValue, error) {
			v, err := value(next, text)
			if bound.Lo.Kind = next.Kind; text == b.q.Lo {
				bound.Lo = v
			}
			if text == b.q.Hi {
				bound.Hi = v
			}
			if err != nil {
				return nil, err
			}
			return next.Attribute(v)
		}); err != nil {
			return err
		}
	}
	r, err := b.sk.Template.Range(lead, bound)
	if err != nil {
		return badKey("%v", err)
	}
	if err := b.exactly(r, bound, next); err != nil {
		return err
	}
	at := expr.Attr(b.sk.Attr)
	switch r.Op {
	case key.Empty:
		return badKey("no sort key is in this range")
	case key.Equal:
		if b.q.Related && b.x == nil { // which begin with it
			b.conds = append(b.conds, expr.Compare(expr.BeginsWith, at, item.S(r.Lo)))
			break
		}
		b.conds = append(b.conds, expr.Compare(expr.Eq, at, item.S(r.Lo)))
	case key.Prefix:
		b.conds = append(b.conds, expr.Compare(expr.BeginsWith, at, item.S(r.Lo)))
	case key.Span:
		b.conds = append(b.conds, expr.Compare(expr.Between, at, item.S(r.Lo), item.S(r.Hi)))
	case key.AtLeast:
		b.conds = append(b.conds, expr.Compare(expr.Ge, at, item.S(r.Lo)))
	case key.AtMost:
		b.conds = append(b.conds, expr.Compare(expr.Le, at, item.S(r.Hi)))
	}
	return nil
}

// exactly sets the check of a range that can contain keys which do not meet its bound.
func (b *browsing) exactly(r key.Range, bound *key.Bound, f *key.Field) error {
	if !r.Filter || bound == nil {
		return nil
	}
	var values []types.AttributeValue
	for i, v := range []key.Value{bound.Lo, bound.Hi} {
		if i == 1 && bound.Op != key.Between {
			break
		}
		if f.Lower {
			v.S = strings.ToLower(v.S)
		}
		av, err := f.Attribute(v)
		if err != nil {
			return err
		}
		values = append(values, av)
	}
	b.check = expr.Compare(comparisons[b.q.Op], expr.Attr(f.Attr), values...)
	if f.Lower {
		b.lower = f.Attr
	}
	return nil
}

// input returns the request of a page, without where it begins.
func (b *browsing) input() (*dynamodb.QueryInput, error) {
	var r expr.Renderer
	in := &dynamodb.QueryInput{TableName: &b.e.table, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
	if b.x != nil {
		in.IndexName = &b.x.Index
	}
	if text := r.Cond(expr.All(b.conds...)); text != "" {
		in.KeyConditionExpression = &text
	}
	filter, err := b.filter()
	if err != nil {
		return nil, err
	}
	if text := r.Cond(filter); text != "" {
		in.FilterExpression = &text
	}
	if names := r.NameMap(); len(names) > 0 {
		in.ExpressionAttributeNames = names
	}
	if values := r.ValueMap(); len(values) > 0 {
		in.ExpressionAttributeValues = values
	}
	forward := !b.q.Desc
	in.ScanIndexForward = &forward
	return in, nil
}

// filter returns the condition that is evaluated after the read.
func (b *browsing) filter() (expr.Cond, error) {
	var all []expr.Cond
	if s := b.e.s; s.HasMetadata && (b.x == nil || b.x.Project.All) {
		all = append(all, expr.Compare(expr.Eq, expr.Attr(schema.EntityAttr), item.S(s.Name)))
		if !b.q.Related {
			all = append(all, expr.Compare(expr.NotExists, expr.Attr(schema.KindAttr)))
		}
	}
	f := b.q.Filter
	if f == nil {
		return expr.All(all...), nil
	}
	at := expr.Attr(f.Name)
	op, ok := comparisons[f.Op]
	switch {
	case !ok:
		return expr.Cond{}, badKey("there is no such operator")
	case f.Op == studio.OpExists || f.Op == studio.OpMissing:
		return expr.All(append(all, expr.Compare(op, at))...), nil
	}
	av, err := b.filterValue(f)
	if err != nil {
		return expr.Cond{}, err
	}
	return expr.All(append(all, expr.Compare(op, at, av))...), nil
}

// filterValue reads the value of a filter as the attribute's type.
func (b *browsing) filterValue(f *studio.Filter) (types.AttributeValue, error) {
	a := b.e.s.Attr(f.Name)
	kind := ""
	for _, x := range b.d.entity(b.e).Attrs {
		if x.Name == f.Name {
			kind = x.Type
		}
	}
	switch {
	case a == nil || kind == "":
		return nil, badKey("%s cannot be filtered", item.Text(f.Name))
	case kind == "BOOL":
		if f.Value != "true" && f.Value != "false" {
			return nil, badKey("%s is true or false", item.Text(f.Name))
		}
		return &types.AttributeValueMemberBOOL{Value: f.Value == "true"}, nil
	case f.Op == studio.OpBegins || f.Op == studio.OpHas:
		return item.S(f.Value), nil // also of the text of a time
	}
	return native(a, f.Value)
}

// words returns the plan of the request for people.
func (b *browsing) words(verb string, in *dynamodb.QueryInput, filter expr.Cond) {
	m, e := b.d.s.m, b.e
	r := expr.Printer(func(p expr.Path) string { return p.String() }, func(about []expr.Path, av types.AttributeValue) string {
		for _, p := range about {
			if m.hides(e, p.Root()) {
				return hidden
			}
		}
		return item.ValueText(av)
	})
	text := verb + " " + e.table
	if b.x != nil {
		text += ", index " + b.x.Index
	}
	if cond := r.Cond(expr.All(b.conds...)); cond != "" {
		text += "\n  where " + cond
	}
	if b.q.Desc && verb == "Query" {
		text += "\n  from the end"
	}
	b.out.Plan, b.out.Filter = printable(text, false), printable(r.Cond(filter), false)
}

// queried is what a query or a scan gives.
type queried struct {
	items    []item.Item
	last     item.Item
	read     int
	capacity *types.ConsumedCapacity
}

// pages reads a query until the page is full.
func (b *browsing) pages(ctx context.Context) error {
	in, err := b.input()
	if err != nil {
		return err
	}
	filter, _ := b.filter()
	b.words("Query", in, filter)
	return b.fill(ctx, func(ctx context.Context, start item.Item, limit int32) (queried, error) {
		in.ExclusiveStartKey, in.Limit = start, &limit
		out, err := b.d.s.client.Query(ctx, in, again)
		if err != nil {
			return queried{}, b.d.s.failed("query "+b.e.table, err)
		}
		return queried{out.Items, out.LastEvaluatedKey, int(out.ScannedCount), out.ConsumedCapacity}, nil
	})
}

// scan reads the table until the page is full.
func (b *browsing) scan(ctx context.Context) error {
	in, err := b.input()
	if err != nil {
		return err
	}
	filter, _ := b.filter()
	b.words("Scan", in, filter)
	return b.fill(ctx, func(ctx context.Context, start item.Item, limit int32) (queried, error) {
		out, err := b.d.s.client.Scan(ctx, &dynamodb.ScanInput{
			TableName: in.TableName, IndexName: in.IndexName, FilterExpression: in.FilterExpression, ExpressionAttributeNames: in.ExpressionAttributeNames,
			ExpressionAttributeValues: in.ExpressionAttributeValues, ExclusiveStartKey: start, Limit: &limit, ReturnConsumedCapacity: in.ReturnConsumedCapacity,
		}, again)
		if err != nil {
			return queried{}, b.d.s.failed("scan "+b.e.table, err)
		}
		return queried{out.Items, out.LastEvaluatedKey, int(out.ScannedCount), out.ConsumedCapacity}, nil
	})
}

// fill asks for answers until the page is full, at most a few times; each may evaluate more items than the one before.
func (b *browsing) fill(ctx context.Context, ask func(ctx context.Context, start item.Item, limit int32) (queried, error)) error {
	start, err := position(b.q.Start)
	if err != nil {
		return err
	}
	limit := int32(b.q.Limit + 1)
	for range mostRequests {
		a, err := ask(ctx, start, limit)
		if err != nil {
			if len(b.out.Items) > 0 || start != nil {
				b.out.Next = positionText(start)
			}
			return err
		}
		b.cost.add(a.capacity)
		b.out.Read += a.read
		for i, it := range a.items {
			if !b.take(it) {
				continue
			}
			if len(b.out.Items) == b.q.Limit && (i+1 < len(a.items) || a.last != nil) {
				b.out.Next = positionText(b.keyOf(it))
				return nil
			}
		}
		if start = a.last; len(start) == 0 {
			return nil
		}
		limit = min(limit*4, 1000)
	}
	b.out.Next = positionText(start)
	b.out.Partial = fmt.Sprintf("After %d requests the page is not full: few of the items that were read are shown. Go on with the next page.", mostRequests)
	return nil
}

// take adds an item to the page if it belongs there.
func (b *browsing) take(it item.Item) bool {
	x := b.d.s.m.decode(b.e.table, it, b.d.s.app.Clock())
	if x.model != b.e || !b.given.matches(it, b.pk, b.sk) || !b.q.Related && x.Kind != KindCurrent && x.Kind != b.e.derived {
		return false
	}
	if b.check.Op != expr.None {
		compared := it
		if text, ok := it[b.lower].(*types.AttributeValueMemberS); ok {
			compared = item.Clone(it)
			compared[b.lower] = item.S(strings.ToLower(text.Value))
		}
		if _, has := it[b.check.Compared()[0].Path.Root()]; has && !b.check.Holds(compared) {
			return false
		}
	}
	b.out.Items = append(b.out.Items, b.d.state(x))
	return true
}

// keyOf returns the position of an item in what is read.
func (b *browsing) keyOf(it item.Item) item.Item {
	k := layout.KeyOf(b.e.s, it)
	if b.x != nil {
		for _, name := range append(b.x.PK.Attributes(), b.x.SK.Attributes()...) {
			if av, ok := it[name]; ok {
				k[name] = av
			}
		}
	}
	return k
}

// position reads a place in a query; nil for its beginning.
func position(text []byte) (item.Item, error) {
	if text == nil {
		return nil, nil
	}
	it, problem := avjson.Item(text)
	if problem != "" {
		return nil, errors.New("this place is damaged")
	}
	return it, nil
}

func positionText(it item.Item) []byte {
	all := map[string]any{}
	for name, av := range it {
		all[name] = typed(av)
	}
	text, _ := json.Marshal(all)
	return text
}
