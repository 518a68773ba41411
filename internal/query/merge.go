package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/cursor"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/wire"
)

const (
	mostPartitions = 100 // of one query
	readsAtOnce    = 8   // of a query's partitions
	lastPart       = 4   // while no more than a quarter of an answer is left, the next one is read with those of others
)

// compareKeys compares the values of two keys, the first value first.
func compareKeys(a, b []types.AttributeValue) int {
	for i := range a {
		if order, _ := expr.Compares(a[i], b[i]); order != 0 {
			return order
		}
	}
	return 0
}

func (p *Plan) partitionKey() (values []types.AttributeValue) {
	for _, c := range terms(p.Partition) {
		values = append(values, c.Values[0])
	}
	return values
}

// BuildMerge compiles queries that differ in their partition only into one, which is read in the order of the sort key. Items with equal
// sort keys come in the order of their partition keys, those of one partition in DynamoDB's order. The order of a descending query is the
// reverse. verb and where describe it in messages. The error of the first that has one is the error of the query.
func BuildMerge(c *engine.Core, verb, where string, plans []*Plan) *Plan {
	m := &Plan{Source: Source{Core: c, Verb: verb}}
	fail := func(code, format string, args ...any) *Plan {
		m.Err = bind.Invalid(c.Schema, code, nil, format, args...)
		return m
	}
	n := len(plans)
	m.parts = append([]*Plan{}, plans...)
	switch {
	case n == 0:
		return fail(bind.CodePartitions, "there is no partition to read")
	case n > mostPartitions:
		return fail(bind.CodePartitions, "%d partitions, shards counted; at most %d are read in one query", n, mostPartitions)
	}
	for i, p := range plans {
		if p.Err != nil {
			m.Err = fmt.Errorf("partition %d: %w", i/max(len(p.Spread), 1), p.Err)
			return m
		}
	}
	first, parts := plans[0], m.parts
	*m = *first
	m.parts, m.Verb, m.where, m.Nothing = parts, verb, where, false
	if first.Spread != nil { // messages name no shard
		text := first.Partition.Values[0].(*types.AttributeValueMemberS).Value
		m.Partition.Values = []types.AttributeValue{item.S(key.CutShard(text))}
	}
	if first.Requests > 0 && first.Requests < n || first.Evaluate > 0 && first.Evaluate < n {
		return fail(bind.CodePartitions, "MaxRequests and MaxEvaluated must be at least the number of partitions, %d: the first item of each must be known", n)
	}
	slices.SortStableFunc(parts, func(p, q *Plan) int { return compareKeys(p.partitionKey(), q.partitionKey()) })
	for i := range n - 1 {
		if samePartition(parts[i].Partition, parts[i+1].Partition) {
			return fail(bind.CodePartitions, "a partition is given twice")
		}
	}
	return m
}

// OfEach returns the plan of what BuildEach has compiled, in one order.
func OfEach(where string, plans []*Plan) *Plan {
	if len(plans) == 1 || plans[0].Err != nil { // an error is the same for all
		return plans[0]
	}
	return BuildMerge(plans[0].Core, plans[0].Verb, where, plans)
}

// lane is the stream of one partition, with the items that it has read.
type lane struct {
	*stream
	number int
	from   item.Item // the position before items[0]; nil: the beginning
	items  []wire.Item
	taken  int
	key    []types.AttributeValue // the sort key of the head
	ahead  *layout.Page           // what follows items, if it was read already
}

func (s *lane) head() bool { return s.taken < len(s.items) }

// dry reports that the next item can be known after another request.
func (s *lane) dry() bool { return !s.head() && !s.ended }

// merging is one run of a query of several partitions. Only items after a bound, a place in the order of all partitions, are read.
type merging struct {
	*Plan
	*budget
	lanes   []*lane
	sign    int                    // -1: descending
	at      cursor.Places          // where it begins; its bound can be nil
	bound   []types.AttributeValue // the sort key of that
	keep    bool                   // taken items stay in use
	onwards bool                   // everything will be read, so answers may be read before they are needed
}

func (m *Plan) sortKey(it func(string) types.AttributeValue) (key []types.AttributeValue) {
	for _, name := range m.SK.Attributes() {
		key = append(key, it(name))
	}
	return key
}

// compare orders the sort keys and partitions of two items in the direction of the run.
func (in *merging) compare(a []types.AttributeValue, partA int, b []types.AttributeValue, partB int) int {
	return in.sign * cmp.Or(compareKeys(a, b), cmp.Compare(partA, partB))
}

// merge begins a run at a place, in its direction.
func (m *Plan) merge(at cursor.Places, limit int, b *budget) *merging {
	in := &merging{Plan: m, budget: b, sign: 1, at: at}
	if m.Desc != at.Before {
		in.sign = -1
	}
	if at.Bound != nil {
		in.bound = m.sortKey(func(name string) types.AttributeValue { return at.Bound[name] })
	}
	if limit > 0 { // each is asked for its share
		limit = limit/len(m.parts) + 1
	}
	for i, p := range m.parts {
		q := *p
		q.Desc = p.Desc != at.Before
		s := &lane{stream: q.stream(nil, limit, b), number: i}
		if s.ended = p.Nothing; at.Keys != nil {
			s.from, s.at = at.Keys[i], at.Keys[i]
		}
		in.lanes = append(in.lanes, s)
	}
	return in
}

// read sends one request for a lane.
func (in *merging) read(ctx context.Context, s *lane) error {
	from := s.at
	got, err := s.next(ctx)
	switch {
	case err != nil:
		return err
	case s.head():
		s.ahead = &got
	default:
		s.from = from
		in.begin(s, got.Rows)
	}
	return nil
}

// begin makes an answer the items of a lane.
func (in *merging) begin(s *lane, rows []wire.Item) {
	s.items, s.taken, s.ahead = rows, -1, nil
	in.take(s)
}

// take moves a lane to its next item. It passes over items that are not after the bound: they were written since, or belong to the page on
// the other side.
func (in *merging) take(s *lane) {
	for s.taken++; s.head(); s.taken++ {
		s.key = in.sortKey(s.items[s.taken].Get)
		if in.bound == nil || s.number == in.at.In || in.compare(s.key, s.number, in.bound, in.at.In) > 0 {
			return
		}
	}
}

// fill reads until every lane has a head or has ended. It returns false if the budget does not allow that. Lanes that will
// need a request soon are read on together with those that need one now: the items of all end at about the same place.
func (in *merging) fill(ctx context.Context) (bool, error) {
	for {
		var due []*lane
		for _, s := range in.lanes {
			if !s.head() && !in.keep {
				wire.ReleaseAll(s.items)
				s.items, s.taken = nil, 0
			}
			if !s.head() && s.ahead != nil {
				in.begin(s, s.ahead.Rows)
			}
			if s.dry() {
				due = append(due, s)
			}
		}
		dry := len(due)
		if dry == 0 {
			return true, nil
		}
		for _, s := range in.lanes {
			if in.onwards && s.head() && !s.ended && s.ahead == nil && (len(s.items)-s.taken)*lastPart <= len(s.items) {
				due = append(due, s)
			}
		}
		if in.evaluate == 0 && in.requests == 0 && !in.spent && len(due) > 1 {
			if err := engine.ParallelUntilError(ctx, len(due), readsAtOnce, func(ctx context.Context, i int) error { return in.read(ctx, due[i]) }); err != nil {
				return false, err
			}
			continue
		}
		for i, s := range due[:dry] {
			if s.over() {
				return false, nil
			}
			s.spare = dry - 1 - i // an item for each lane whose head is not known
			if err := in.read(ctx, s); err != nil {
				return false, err
			}
		}
	}
}

// first returns the lane with the next item, nil if all have ended or the budget ends the run.
func (in *merging) first(ctx context.Context) (first *lane, err error) {
	if known, err := in.fill(ctx); err != nil || !known {
		return nil, err
	}
	for _, s := range in.lanes {
		if s.head() && (first == nil || in.compare(s.key, s.number, first.key, first.number) < 0) {
			first = s
		}
	}
	return first, nil
}

// more reports that something may follow what was taken.
func (in *merging) more() bool {
	return slices.ContainsFunc(in.lanes, func(s *lane) bool { return s.head() || s.dry() })
}

// release ends the use of all items.
func (in *merging) release() {
	for _, s := range in.lanes {
		wire.ReleaseAll(s.items)
		if s.ahead != nil {
			wire.ReleaseAll(s.ahead.Rows)
		}
	}
}

// eachMerged is each for several partitions.
func (m *Plan) eachMerged(ctx context.Context, f func(wire.Item) (bool, error)) (stopped bool, err error) {
	in := m.merge(cursor.Places{}, m.Limit, m.budget())
	in.onwards = m.Limit == 0
	defer in.release()
	for n := 0; m.Limit == 0 || n < m.Limit; n++ {
		s, err := in.first(ctx)
		if err != nil || s == nil {
			return false, err
		}
		if more, err := f(s.items[s.taken]); err != nil || !more {
			return true, err
		}
		in.take(s)
	}
	return false, nil
}

// mergedPageAt is pageAt for several partitions. Without limit a page has as many items as are known after the first requests. The garbage
// collector takes what was read and is not returned.
func (m *Plan) mergedPageAt(ctx context.Context, at cursor.Places, limit int, b *budget) (got page, err error) {
	in := m.merge(at, limit, b)
	in.keep = true
	defer func() {
		if err != nil {
			wire.ReleaseAll(got.items)
			in.release()
			got = page{}
		}
	}()
	s, err := in.first(ctx)
	if err != nil {
		return got, err
	}
	got.end.Bound, got.end.In = at.Bound, at.In
	for _, s := range in.lanes { // from where a read in the other direction meets what came before the lane
		from := s.at
		if s.head() {
			from = s.positionOf(s.items[s.taken])
		}
		got.begin.Keys = append(got.begin.Keys, from)
	}
	for s != nil {
		if got.items = append(got.items, s.items[s.taken]); len(got.items) == 1 {
			got.begin.In = s.number
		}
		got.end.In = s.number
		if in.take(s); len(got.items) == limit || limit == 0 && s.dry() {
			break
		}
		if s, err = in.first(ctx); err != nil {
			return got, err
		}
	}
	if n, names := len(got.items), m.SK.Attributes(); n > 0 {
		got.begin.Bound, got.end.Bound = got.items[0].Pick(names...), got.items[n-1].Pick(names...)
	}
	for _, s := range in.lanes { // the position after the items that were taken
		after := s.from
		switch {
		case s.dry():
			after = s.at
		case s.taken > 0:
			after = s.positionOf(s.items[s.taken-1])
		}
		got.end.Keys = append(got.end.Keys, after)
	}
	got.more = in.more()
	if at.Before && got.more && !b.spent && !slices.ContainsFunc(in.lanes, (*lane).head) { // only a request shows whether something follows
		_, err = in.first(ctx)
		got.more = in.more()
	}
	return got, err
}
