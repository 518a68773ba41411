package console

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/cmd/dynastrata/internal/studio"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// life collects what is stored of one item.
type life struct {
	d       *studioData
	e       *entityModel
	primary item.Item
	q       studio.LifeQuestion
	now     time.Time

	f     family
	older string // sort key of the oldest state of those that can go on
}

// Life implements studio.Data. It reads the current item, the newest versions or events, the copies and the claims: a request each.
func (d *studioData) Life(ctx context.Context, q studio.LifeQuestion) (studio.Life, error) {
	e, primary, err := d.named(q.Entity, q.Key)
	if err != nil {
		return studio.Life{}, err
	}
	l := &life{d: d, e: e, primary: primary, q: q, now: d.s.app.Clock()}
	out := studio.Life{Entity: d.entity(e), AtState: -1, Order: strings.Join(e.order, "#")}
	if !e.has("timeseries.Events") {
		out.Order = ""
	}
	out.Partial, err = partial(l.read(ctx))
	if err != nil {
		return out, mistaken(err)
	}
	states := l.f.states(e)
	out.States = l.compared(states)
	current := l.f.of(KindCurrent)
	out.Live = len(current) > 0 && layout.Live(e.s, current[0].raw, l.now)
	out.Deleted = !out.Live && slices.ContainsFunc(l.f.of(KindDeleted), func(x stored) bool { return !x.Expired })
	if e.has("timeseries.Events") || e.derived != "" {
		for _, x := range append(current, l.f.of(e.derived)...) {
			out.States = append([]studio.State{d.state(x)}, out.States...)
		}
	}
	if l.older != "" {
		out.Older, _ = json.Marshal(l.older)
	}
	if out.Partial == "" {
		out.Claims, err = l.claims(ctx)
		if out.Partial, err = partial(err); err != nil {
			return out, err
		}
	}
	l.at(&out, states)
	out.Label = labelOf(l, out)
	return out, nil
}

// labelOf returns the key as it is shown.
func labelOf(l *life, out studio.Life) string {
	if len(out.States) > 0 {
		return out.States[0].Label
	}
	x := stored{model: l.e, owner: l.primary, raw: l.primary}
	l.d.s.m.keyParts(&x)
	return printable(x.keyText(), false)
}

// read reads the states.
func (l *life) read(ctx context.Context) error {
	e, s := l.e, l.d.s
	from := ""
	if l.q.Older != nil {
		if err := json.Unmarshal(l.q.Older, &from); err != nil {
			return badKey("this place is damaged")
		}
	}
	it, err := s.get(ctx, e.table, l.primary, &l.f.cost)
	if err != nil {
		return err
	}
	if it != nil {
		l.add(it)
	}
	if e.s.SK == nil || e.s.SK.Attr == "" || !e.s.SK.Written() {
		return nil
	}
	if e.has("lifecycle.SoftDelete") && from == "" {
		r := layout.QueryRelated(e.s, e.table, l.primary, schema.CopyInfix)
		if _, err := l.related(ctx, l.primary, r, ""); err != nil {
			return err
		}
	}
	switch {
	case e.has("timeseries.Events"):
		return l.events(ctx, from)
	case e.has("versioned.Retain"):
		return l.versions(ctx, from)
	}
	return nil
}

// versions reads the newest versions, or those before the sort key from; and, if a time is asked for, so many that its state is among
// them.
func (l *life) versions(ctx context.Context, from string) (err error) {
	for range 5 {
		r := layout.QueryRelated(l.e.s, l.e.table, l.primary, schema.SnapshotInfix)
		if l.older, err = l.related(ctx, l.primary, r, from); err != nil || l.older == "" || l.q.At.IsZero() {
			return err
		}
		states := l.f.states(l.e)
		if last := writtenAt(states[len(states)-1]); !last.After(l.q.At) {
			return nil
		}
		from = l.older
	}
	return nil
}

// events reads the newest events, in the range that is asked for, of all partitions.
func (l *life) events(ctx context.Context, from string) error {
	e := l.e
	partitions := layout.EventPartitions(e.s, l.primary)
	if partitions == nil {
		partitions = []item.Item{l.primary}
	}
	lo, hi, err := l.bounds()
	if err != nil {
		return err
	}
	for _, p := range partitions {
		r := layout.QueryRelated(e.s, e.table, p, schema.EventInfix)
		if lo != "" || hi != "" {
			r = layout.QueryBetween(e.s, e.table, p, schema.EventInfix+lo, schema.EventInfix+hi+"$")
		}
		older, err := l.related(ctx, p, r, from)
		if err != nil {
			return err
		}
		l.older = max(l.older, older)
	}
	if l.older == "" { // all of the range
		return nil
	}
	// A partition has given its newest events only: older ones of the others would have gaps between them.
	l.f.items = slices.DeleteFunc(l.f.items, func(x stored) bool {
		sk, _ := layout.SortKey(e.s, x.raw)
		return x.Kind == KindEvent && sk < l.older
	})
	return nil
}

// bounds returns the texts of orderBy that the range of the question begins and ends with; "" for none.
func (l *life) bounds() (lo, hi string, err error) {
	from, to := l.q.From, l.q.To
	if !l.q.At.IsZero() {
		to = l.q.At
	}
	if from.IsZero() && to.IsZero() {
		return "", "", nil
	}
	a := l.e.s.Attr(l.e.order[0])
	if a == nil || !a.Time {
		return "", "", badKey("%s is no time: events cannot be chosen by times", item.Text(l.e.order[0]))
	}
	f := &key.Field{Attr: a.Name, Kind: key.Time, Time: a.Format}
	for text, t := range map[*string]time.Time{&lo: from, &hi: to} {
		if t.IsZero() {
			continue
		}
		if *text, err = f.Text(key.Value{Kind: key.Time, T: a.Format.Truncate(t)}); err != nil {
			return "", "", badKey("%v", err)
		}
	}
	if hi == "" {
		hi = "~"
	}
	return lo, hi, nil
}

// related reads a page of a range of a partition, newest first, before the sort key from, and returns where the next one begins.
func (l *life) related(ctx context.Context, partition item.Item, r *layout.Range, from string) (older string, err error) {
	r.Desc, r.Limit = true, l.q.Limit
	in := engine.QueryInput(r)
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	if from != "" {
		in.ExclusiveStartKey = item.Clone(partition)
		in.ExclusiveStartKey[l.e.s.SK.Attr] = item.S(from)
	}
	out, err := l.d.s.client.Query(ctx, in, again)
	if err != nil {
		return "", l.d.s.failed("query "+l.e.table, err)
	}
	l.f.cost.add(out.ConsumedCapacity)
	for _, it := range slices.Backward(out.Items) {
		l.add(it)
	}
	older, _ = layout.SortKey(l.e.s, out.LastEvaluatedKey)
	return older, nil
}

// add adds an item that is, or belongs to, the one that the question is about.
func (l *life) add(it item.Item) {
	x := l.d.s.m.decode(l.e.table, it, l.now)
	if x.model == l.e && x.owner != nil && layout.KeyID(x.owner) == layout.KeyID(l.primary) {
		l.f.items = append(l.f.items, x)
		slices.SortStableFunc(l.f.items, func(a, b stored) int {
			x, _ := layout.SortKey(l.e.s, a.raw)
			y, _ := layout.SortKey(l.e.s, b.raw)
			return strings.Compare(x, y)
		})
	}
}

// compared returns states, newest first, with what each changes.
func (l *life) compared(states []stored) []studio.State {
	var all []studio.State
	var later time.Time // the earliest time at which a later event was accepted
	for i, x := range states {
		y := l.d.state(x)
		last := i+1 == len(states)
		omitted := bind.Omitted(l.e.s, x.raw)
		switch {
		case omitted != nil:
			y.Compared = printable(omitted.Error(), false)
		case last && l.older != "", !last && bind.Omitted(l.e.s, states[i+1].raw) != nil:
			y.Compared = "unknown"
		case last:
			y.Compared = "first"
		default:
			for _, diff := range differences(states[i+1], x) {
				if a := l.e.s.Attr(diff.name); !contextRole(a) && (a == nil || !a.Clock) {
					y.Changed = append(y.Changed, l.d.difference(states[i+1], x, diff))
				}
			}
			if len(y.Changed) == 0 {
				y.Compared = "nothing"
			}
		}
		if !last && !y.Ended && x.Kind != KindDeleted {
			y.Restored = y.Restored || states[i+1].Deleted || states[i+1].Kind == KindDeleted
		}
		if x.Kind == KindEvent {
			l.event(&y, x, states[i+1:], later)
			if !y.Accepted.IsZero() && (later.IsZero() || y.Accepted.Before(later)) {
				later = y.Accepted
			}
		}
		all = append(all, y)
	}
	return all
}

// difference returns what differs as pages show it.
func (d *studioData) difference(a, b stored, diff difference) studio.Difference {
	out := studio.Difference{Name: item.Text(diff.name)}
	if diff.old.Name != "" {
		v := d.shown(a, diff.old)
		out.Old = &v
	}
	if diff.new.Name != "" {
		v := d.shown(b, diff.new)
		out.New = &v
	}
	return out
}

// event marks an event: late if a later one was accepted before it, repeated if it reports what the one before it reports.
func (l *life) event(y *studio.State, x stored, before []stored, later time.Time) {
	y.Late = !later.IsZero() && y.Accepted.After(later)
	y.Repeats = len(before) > 0
	for _, a := range l.e.s.Attrs {
		if !a.Append {
			continue
		}
		y.Repeats = y.Repeats && item.Equal(x.raw[a.Name], before[0].raw[a.Name])
		if n, ok := x.raw[a.Name].(*types.AttributeValueMemberN); ok && !l.d.s.m.hides(l.e, a.Name) {
			if v, err := strconv.ParseFloat(n.Value, 64); err == nil {
				if y.Numbers == nil {
					y.Numbers = map[string]float64{}
				}
				y.Numbers[a.Name] = v
			}
		}
	}
}

// at finds the state at the time of the question.
func (l *life) at(out *studio.Life, states []stored) {
	at := l.q.At
	if at.IsZero() {
		return
	}
	text := at.UTC().Format(time.RFC3339)
	for i, y := range out.States {
		if y.At.IsZero() || y.At.After(at) || y.Kind == string(KindCurrent) && l.e.has("timeseries.Events") {
			continue
		}
		out.AtState = i
		switch {
		case y.Kind == string(KindEvent):
			out.AtNote = fmt.Sprintf("The last event at %s is that of %s.", text, y.Name)
		case y.Ended || y.Kind == string(KindDeleted):
			out.AtNote = fmt.Sprintf("At %s the item was deleted, since %s.", text, y.At.Format(time.RFC3339))
		default:
			out.AtNote = fmt.Sprintf("At %s this was version %d, written at %s.", text, y.Version, y.At.Format(time.RFC3339))
		}
		return
	}
	switch oldest := len(states) - 1; {
	case out.Partial != "" || l.older != "":
		out.AtNote = "The state at " + text + " is older than what was read."
	case oldest < 0 || writtenAt(states[oldest]).IsZero():
		out.AtNote = "The times of the states are not stored: the entity has no updated_at."
	case versionOf(states[oldest]) > 1:
		out.AtNote = "The state at " + text + " is not known: older versions have expired."
	default:
		out.AtNote = "There was no such item at " + text + "."
	}
}

// claims reads the sentinels of the unique values of the item, of the current one or of the newest copy, in one request.
func (l *life) claims(ctx context.Context) ([]studio.Claim, error) {
	from := append(l.f.of(KindCurrent), l.f.of(KindDeleted)...)
	if len(from) == 0 || len(l.e.uniques) == 0 {
		return nil, nil
	}
	x := from[0]
	if x.Kind == KindDeleted {
		x = from[len(from)-1]
	}
	var all []studio.Claim
	var keys []item.Item
	for _, c := range l.e.uniques {
		text, missing, err := c.key.Compose(x.raw)
		if err != nil || len(missing) > 0 {
			continue
		}
		keys = append(keys, item.Item{l.e.s.PK.Attr: item.S(text), l.e.s.SK.Attr: item.S(c.key.Prefix)})
		claim := studio.Claim{Constraint: c.name}
		var values []string
		for _, f := range c.key.Fields() {
			v, _ := x.attr(f.Attr)
			if v.Value == "" { // a part of the primary key that is no attribute
				v = fieldOf(f.Attr, x.raw[f.Attr])
			}
			if l.d.s.m.hides(l.e, f.Attr) {
				v.Value = hidden
			}
			values = append(values, v.Value)
		}
		claim.Value = printable(strings.Join(values, ", "), false)
		all = append(all, claim)
	}
	found, err := l.d.s.getSome(ctx, l.e.table, keys, &l.f.cost)
	if err != nil {
		return nil, err
	}
	for i := range all {
		y := l.d.s.m.decode(l.e.table, found[i], l.now)
		switch {
		case found[i] == nil || y.Expired:
			all[i].Note = "free: no item holds it"
		case y.owner == nil || layout.KeyID(y.owner) != layout.KeyID(l.primary):
			all[i].Note = "held by another item"
		default:
			all[i].Held, all[i].Expires = true, y.Expires
		}
	}
	return all, nil
}

// getSome reads items of a table together, at most 100 in a request; nil for those that are absent.
func (s *session) getSome(ctx context.Context, table string, keys []item.Item, cost *spent) ([]item.Item, error) {
	out := make([]item.Item, len(keys))
	at := map[string][]int{} // by the id of a key, which can be asked for twice
	var wanted []map[string]types.AttributeValue
	for i, k := range keys {
		id := layout.KeyID(k)
		if at[id] = append(at[id], i); len(at[id]) == 1 {
			wanted = append(wanted, k)
		}
	}
	for len(wanted) > 0 {
		n := min(len(wanted), 100)
		in := &dynamodb.BatchGetItemInput{ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal, RequestItems: map[string]types.KeysAndAttributes{table: {Keys: wanted[:n], ConsistentRead: aws.Bool(true)}}}
		got, err := s.client.BatchGetItem(ctx, in, again)
		if err != nil {
			return nil, s.failed("read items of "+table, err)
		}
		cost.requests++
		for _, c := range got.ConsumedCapacity {
			cost.units += aws.ToFloat64(c.CapacityUnits)
		}
		for _, it := range got.Responses[table] {
			key := item.Item{}
			for name := range wanted[0] {
				key[name] = it[name]
			}
			for _, i := range at[layout.KeyID(key)] {
				out[i] = it
			}
		}
		wanted = append(wanted[n:len(wanted):len(wanted)], got.UnprocessedKeys[table].Keys...)
		if len(got.UnprocessedKeys[table].Keys) > 0 { // throttled
			if err := s.app.wait(ctx, 100*time.Millisecond); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}
