package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
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

// partitionKey returns the values of the partition key of p.
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
		m.Err = &entitytype.InputError{Code: code, Type: c.Schema.Type.String(), Problem: fmt.Sprintf(format, args...)}
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
	m.parts, m.Verb, m.where = parts, verb, where
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

// stream reads the items of one partition.
type stream struct {
	p      *Plan
	in     *run
	ask    int
	from   item.Item // the position before items[0]; nil: the beginning
	start  item.Item // where the next request begins
	items  []wire.Item
	taken  int
	ended  bool         // nothing follows items
	ahead  *layout.Page // the answer after items, if it was read already
	number int
	key    []types.AttributeValue // the sort key of the head
}

// head reports whether the stream has an item.
func (s *stream) head() bool { return s.taken < len(s.items) }

// dry reports that the next item can be known after another request.
func (s *stream) dry() bool { return !s.head() && !s.ended }

// place returns the position after the items that were taken.
func (s *stream) place() item.Item {
	switch {
	case !s.head() && !s.ended:
		return s.start
	case s.taken > 0:
		return s.p.positionOf(s.items[s.taken-1])
	}
	return s.from
}

// opposite returns the position from which a read in the other direction meets what came before the stream.
func (s *stream) opposite() item.Item {
	switch {
	case s.head():
		return s.p.positionOf(s.items[s.taken])
	case s.ended:
		return nil
	}
	return s.start
}

// bound is a place in the order of all partitions: only items after it are read.
type bound struct {
	key    []types.AttributeValue // sort key; nil: no bound
	number int                    // of the partition
	item   item.Item              // the item's sort key, for a cursor
}

// merging is one run of a query of several partitions.
type merging struct {
	streams []*stream
	sign    int // -1: descending
	budget  *budget
	bound   bound
	keep    bool // taken items stay in use
	onwards bool // everything will be read, so answers may be read before they are needed
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

// start begins a run at places, nil for the beginning. back reads in the other direction.
func (m *Plan) start(at *cursor.Places, limit int, back bool, b *budget) *merging {
	in := &merging{sign: 1, budget: b}
	if m.Desc != back {
		in.sign = -1
	}
	share := 0
	if limit > 0 {
		share = m.firstAsk(limit/len(m.parts) + 1)
	}
	for i, p := range m.parts {
		q := *p
		q.Desc = p.Desc != back
		s := &stream{p: &q, in: &run{budget: b}, ask: share, number: i, ended: p.Nothing}
		if at != nil {
			s.from, s.start = at.Keys[i], at.Keys[i]
		}
		in.streams = append(in.streams, s)
	}
	if at != nil && at.Bound != nil {
		in.bound = bound{m.sortKey(func(name string) types.AttributeValue { return at.Bound[name] }), at.In, at.Bound}
	}
	return in
}

// read sends one request for a stream without a head.
func (in *merging) read(ctx context.Context, m *Plan, s *stream, others int) error {
	if !in.keep {
		wire.ReleaseAll(s.items)
	}
	ask := s.ask
	if e := in.budget.evaluate; e > 0 { // leave an item for each stream whose head is not known
		ask = in.budget.cap(ask)
		ask = min(ask, max(e-others, 1))
	}
	got, err := s.p.next(ctx, s.start, ask, s.in)
	if err != nil {
		s.items, s.taken = nil, 0
		return err
	}
	in.begin(m, s, got)
	return nil
}

// begin makes an answer the items of a stream. It passes over items that are not after the bound: they were written since, or
// belong to the page on the other side.
func (in *merging) begin(m *Plan, s *stream, got layout.Page) {
	s.from, s.start, s.ended = s.start, got.Last, got.Last == nil
	s.items, s.taken = got.Rows, 0
	s.ask = nextAsk(s.ask)
	for ; s.head(); s.taken++ {
		s.key = m.sortKey(s.items[s.taken].Get)
		if in.bound.item == nil || s.number == in.bound.number || in.compare(s.key, s.number, in.bound.key, in.bound.number) > 0 {
			return
		}
	}
}

// fill reads until every stream has a head or has ended. It returns false if the budget does not allow that. Streams that will
// need a request soon are read on together with those that need one now: the items of all end at about the same place.
func (in *merging) fill(ctx context.Context, m *Plan) (bool, error) {
	for {
		var dry []*stream
		for _, s := range in.streams {
			for s.dry() && s.ahead != nil {
				wire.ReleaseAll(s.items)
				got := *s.ahead
				s.ahead = nil
				in.begin(m, s, got)
			}
			if s.dry() {
				dry = append(dry, s)
			}
		}
		if len(dry) == 0 {
			return true, nil
		}
		due := dry
		if in.onwards {
			for _, s := range in.streams {
				if !s.dry() && !s.ended && s.ahead == nil && (len(s.items)-s.taken)*lastPart <= len(s.items) {
					due = append(due, s)
				}
			}
		}
		if in.budget.evaluate == 0 && in.budget.requests == 0 && !in.budget.spent && len(due) > 1 {
			err := engine.ParallelUntilError(ctx, len(due), readsAtOnce, func(ctx context.Context, i int) error {
				if i < len(dry) {
					return in.read(ctx, m, dry[i], 0)
				}
				got, err := due[i].p.next(ctx, due[i].start, due[i].ask, due[i].in)
				if err == nil {
					due[i].ahead = &got
				}
				return err
			})
			if err != nil {
				return false, err
			}
			continue
		}
		for i, s := range dry {
			if s.in.exhausted() {
				return false, nil
			}
			if err := in.read(ctx, m, s, len(dry)-1-i); err != nil {
				return false, err
			}
		}
	}
}

// least returns the stream with the next item, nil if all have ended.
func (in *merging) least() (first *stream) {
	for _, s := range in.streams {
		if s.head() && (first == nil || in.compare(s.key, s.number, first.key, first.number) < 0) {
			first = s
		}
	}
	return first
}

// take moves a stream past its head.
func (in *merging) take(m *Plan, s *stream) {
	if s.taken++; s.head() {
		s.key = m.sortKey(s.items[s.taken].Get)
	}
}

// release ends the use of all items.
func (in *merging) release() {
	for _, s := range in.streams {
		wire.ReleaseAll(s.items)
		if s.ahead != nil {
			wire.ReleaseAll(s.ahead.Rows)
		}
	}
}

// merged yields every item of several partitions, at most Limit of them; see [Plan.All].
func (m *Plan) merged(ctx context.Context, b *budget, yield func(wire.Item, error) bool) {
	in := m.start(nil, m.Limit, false, b)
	in.onwards = m.Limit == 0
	defer in.release()
	for n := 0; m.Limit == 0 || n < m.Limit; n++ {
		known, err := in.fill(ctx, m)
		if err != nil {
			yield(wire.Item{}, err)
			return
		}
		s := in.least()
		if !known || s == nil || !yield(s.items[s.taken], nil) {
			return
		}
		in.take(m, s)
	}
}

// gathered is what one page takes from the streams, and the places at its beginning and end.
type gathered struct {
	items       []wire.Item
	begin, end  []item.Item // of each partition; begin is for a read in the other direction
	first, last bound       // of the items; if there are none, first is no bound, and last that of the run
	more        bool        // something may follow
}

// gather reads up to limit items, with limit 0 as many as are known after the first requests. The garbage collector takes what
// it has read and does not return.
func (m *Plan) gather(ctx context.Context, in *merging, limit int) (page gathered, err error) {
	in.keep = true
	known, err := in.fill(ctx, m)
	if err != nil {
		in.release()
		return page, err
	}
	for _, s := range in.streams {
		page.begin = append(page.begin, s.opposite())
	}
	page.last = in.bound
	for known {
		s := in.least()
		if s == nil {
			break
		}
		it := s.items[s.taken]
		page.last = bound{s.key, s.number, it.Pick(m.SK.Attributes()...)}
		if len(page.items) == 0 {
			page.first = page.last
		}
		page.items = append(page.items, it)
		in.take(m, s)
		if len(page.items) == limit || limit == 0 && s.dry() {
			break
		}
		if known, err = in.fill(ctx, m); err != nil {
			wire.ReleaseAll(page.items)
			in.release()
			return gathered{}, err
		}
	}
	for _, s := range in.streams {
		page.end = append(page.end, s.place())
		page.more = page.more || s.head() || s.dry()
	}
	return page, nil
}

// cursorAtPlaces returns the cursor of places, one for each partition.
func (m *Plan) cursorAtPlaces(keys []item.Item, at bound, before bool) (string, error) {
	places := cursor.Places{Before: before, Keys: make([]item.Item, len(keys)), Bound: at.item, In: at.number}
	for i, p := range m.parts {
		places.Keys[i] = p.variable(keys[i])
	}
	return m.Cursor.EncodePlaces(m.binding(), places)
}

// places decodes a cursor.
func (m *Plan) places(text string) (cursor.Places, error) {
	attrs := make([][]cursor.Attr, len(m.parts))
	for i, p := range m.parts {
		attrs[i] = p.variableAttrs()
	}
	names := m.SK.Attributes()
	bounds := slices.DeleteFunc(m.keyAttrs(), func(a cursor.Attr) bool { return !slices.Contains(names, a.Name) })
	at, err := m.Cursor.DecodePlaces(m.binding(), text, attrs, bounds)
	if err != nil {
		return at, err
	}
	for i, p := range m.parts {
		if at.Keys[i] != nil {
			if err := p.inside(at.Keys[i]); err != nil {
				return at, err
			}
		}
	}
	return at, nil
}

// mergedPage is pageOf for several partitions.
func (m *Plan) mergedPage(ctx context.Context, text string, limit int) (Page, error) {
	if text == "" {
		return m.mergedAt(ctx, nil, limit, m.budget())
	}
	at, err := m.places(text)
	if err != nil {
		return Page{}, err
	}
	switch {
	case at.Before:
		return m.mergedBefore(ctx, &at, limit, m.budget())
	case at.Beginning():
		return m.mergedAt(ctx, nil, limit, m.budget())
	}
	return m.mergedAt(ctx, &at, limit, m.budget())
}

func (m *Plan) mergedAt(ctx context.Context, at *cursor.Places, limit int, b *budget) (page Page, err error) {
	got, err := m.gather(ctx, m.start(at, limit, false, b), limit)
	if err != nil {
		return Page{}, err
	}
	page.Items = got.items
	if got.more {
		page.Next, err = m.cursorAtPlaces(got.end, got.last, false)
	}
	if err == nil && at != nil {
		page.Prev, err = m.cursorAtPlaces(got.begin, got.first, true)
	}
	return page, err
}

// mergedBefore is pageBefore for several partitions.
func (m *Plan) mergedBefore(ctx context.Context, at *cursor.Places, limit int, b *budget) (page Page, err error) {
	in := m.start(at, limit, true, b)
	got, err := m.gather(ctx, in, limit)
	if err != nil {
		return Page{}, err
	}
	if len(got.items) == 0 && !got.more && !m.bounded() {
		return m.mergedAt(ctx, nil, limit, b)
	}
	more := got.more
	if more && in.least() == nil && !b.spent {
		known, err := in.fill(ctx, m)
		if err != nil {
			wire.ReleaseAll(got.items)
			in.release()
			return Page{}, err
		}
		more = !known || in.least() != nil
	}
	page.Items = got.items
	slices.Reverse(page.Items)
	if page.Next, err = m.cursorAtPlaces(got.begin, got.first, false); err == nil && more {
		page.Prev, err = m.cursorAtPlaces(got.end, got.last, true)
	}
	return page, err
}
