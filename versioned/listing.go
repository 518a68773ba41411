package versioned

import (
	"context"
	"iter"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// listing is one run over the states of an item in the order of their versions, each once: what the current item and
// the deleted copies hold is merged with the snapshots. They are read in this order, because states only move that way.
type listing struct {
	c       *core.Core
	op      *plan.Op
	low     int64 // versions below are left out
	high    int64 // versions above are left out
	desc    bool
	current bool // the current state too
	expired bool // expired snapshots too

	others []item.Item // of the current item and the copies, in order
	hidden int64       // version of the current state when it is left out; -1: none
}

// all yields the states, fetching snapshots as they are needed.
func (l *listing) all(ctx context.Context) iter.Seq2[item.Item, error] {
	return func(yield func(item.Item, error) bool) {
		if err := l.begin(ctx); err != nil {
			yield(nil, err)
			return
		}
		in := l.request()
		for {
			page, err := l.c.Runner.Query(ctx, in)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, it := range page.Items {
				if err := plan.SameCase(l.c.Schema, l.op.Parts, it); err != nil {
					yield(nil, err)
					return
				}
			}
			last := len(page.LastEvaluatedKey) == 0
			for _, it := range l.merge(page.Items, last) {
				if !yield(it, nil) {
					return
				}
			}
			if last {
				return
			}
			in.ExclusiveStartKey = page.LastEvaluatedKey
		}
	}
}

// begin reads the current item and the deleted copies.
func (l *listing) begin(ctx context.Context) error {
	latest, err := latest(ctx, l.c.Runner, l.op, l.c.Runner.Clock())
	if err != nil {
		return err
	}
	l.hidden = -1
	if len(latest) > 0 && !l.current && latest[0] != nil && isCurrent(l.op, latest[0]) {
		l.hidden = l.version(latest[0])
		latest = latest[1:]
	}
	l.others = latest
	slices.SortFunc(l.others, l.compare)
	return nil
}

// isCurrent reports that it is the current item and not a deleted copy.
func isCurrent(op *plan.Op, it item.Item) bool {
	sk, _ := plan.SortKey(op.Schema, it)
	own, _ := plan.SortKey(op.Schema, op.Key)
	return sk == own
}

func (l *listing) version(it item.Item) int64 { return plan.StoredVersion(l.c.Schema, it) }

// compare orders states in the direction of the run.
func (l *listing) compare(a, b item.Item) int {
	x, y := l.version(a), l.version(b)
	switch {
	case x == y:
		return 0
	case (x < y) != l.desc:
		return -1
	}
	return 1
}

// wanted reports that the state belongs to the run.
func (l *listing) wanted(it item.Item) bool {
	n := l.version(it)
	switch {
	case n == l.hidden, n < l.low, n > l.high:
		return false
	}
	return l.expired || !plan.Expired(l.c.Schema, it, l.c.Runner.Clock())
}

// merge joins a page of snapshots with the other states that come before its end, or with all that are left after the
// last page.
func (l *listing) merge(snapshots []item.Item, last bool) []item.Item {
	var out []item.Item
	add := func(it item.Item) {
		if l.wanted(it) && (len(out) == 0 || l.compare(out[len(out)-1], it) != 0) {
			out = append(out, it)
		}
	}
	for _, it := range snapshots {
		for len(l.others) > 0 && l.compare(l.others[0], it) <= 0 {
			if !l.yields(l.others[0], it) {
				add(l.others[0])
			}
			l.others = l.others[1:]
		}
		add(it)
	}
	if last {
		for _, it := range l.others {
			add(it)
		}
		l.others = nil
	}
	return out
}

// yields reports that a copy gives way to a snapshot of the same version: in a shared table it may be a copy of
// effect-dynamodb, which has the version of the state before the delete.
func (l *listing) yields(copied, snapshot item.Item) bool {
	return l.c.Schema.Options.Interop && l.compare(copied, snapshot) == 0 && !isCurrent(l.op, copied) && l.wanted(snapshot)
}

// request asks for the snapshots of the run.
func (l *listing) request() *dynamodb.QueryInput {
	forward, strong := !l.desc, true
	in := &dynamodb.QueryInput{TableName: &l.op.Table, ScanIndexForward: &forward, ConsistentRead: &strong}
	s := l.c.Schema
	pk := s.PK.Attributes()[0]
	sk, _ := plan.SortKey(s, l.op.Key)
	from, to := sk+infix+versionText(l.low), sk+infix+versionText(l.high)
	var e expr.Renderer
	cond := e.Cond(expr.All(
		expr.Compare(expr.Eq, expr.Attr(pk), l.op.Key[pk]),
		expr.Compare(expr.Between, expr.Attr(s.SK.Attr), item.S(from), item.S(to)),
	))
	in.KeyConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = &cond, e.Names, e.Values
	return in
}
