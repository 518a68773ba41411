package versioned

import (
	"context"
	"iter"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// deleted reports that a stored state is the one after a delete.
func deleted(s *schema.Schema, it item.Item) bool {
	if _, marked := it[schema.DeletedAttr]; marked || item.Equal(it[schema.KindAttr], item.S("d")) {
		return true
	}
	name, _ := plan.DeletedAttr(s)
	_, dated := it[name]
	return dated && s.Options.Interop // nothing else marks a copy there, nor what effect-dynamodb keeps of one at a restore
}

// since is when the item came into a state.
func since(s *schema.Schema, it item.Item) (time.Time, bool) {
	if s.UpdatedAt == nil {
		return time.Time{}, false
	}
	t, err := s.UpdatedAt.Format.FromValue(it[s.UpdatedAt.Name])
	return t, err == nil
}

// subject is the item whose history is read.
func subject(c *core.Core, verb string, v reflect.Value) (*plan.Op, error) {
	primary, parts, err := plan.Key(c.Schema, v)
	return &plan.Op{Verb: verb, Schema: c.Schema, Table: c.Table, Key: primary, KeyIs: plan.KeyText(c.Schema, primary), Parts: parts}, err
}

// raw reads version n as it is stored.
func raw(ctx context.Context, c *core.Core, r plan.Reader, op *plan.Op, n int64) (item.Item, error) {
	now := c.Runner.Clock()
	if n < 0 || n > maxVersion {
		return nil, &entity.InputError{Code: plan.CodeValue, Type: c.Schema.Type.String(), Problem: "a version is a number from 0 to 999999999999"}
	}
	current, err := r.Get(ctx, op.Table, op.Key, true)
	if err != nil {
		return nil, err
	}
	if current != nil {
		if err := plan.SameCase(c.Schema, op.Parts, current); err != nil || plan.StoredVersion(c.Schema, current) == n {
			return current, err
		}
	}
	others, err := copies(ctx, r, op, now)
	if err != nil {
		return nil, err
	}
	var copied item.Item
	for _, it := range others {
		switch {
		case plan.StoredVersion(c.Schema, it) != n:
		case isCurrent(op, it) || !c.Schema.Options.Interop:
			return it, nil
		case copied == nil: // a copy of effect-dynamodb has the version of the state before it
			copied = it
		}
	}
	at := plan.KeyOf(c.Schema, plan.Satellite(c.Schema, op.Key, infix+versionText(n), kind))
	it, err := r.Get(ctx, op.Table, at, true)
	switch {
	case err != nil:
		return nil, err
	case it != nil && !plan.Expired(c.Schema, it, now):
		return it, plan.SameCase(c.Schema, op.Parts, it)
	case copied != nil:
		return copied, nil
	}
	return nil, plan.ErrNotFound
}

// latest reads the states that have no snapshot yet, or may have none: the current item, if there is one, first, then
// the deleted copies, the newest first.
func latest(ctx context.Context, r plan.Reader, op *plan.Op, now time.Time) ([]item.Item, error) {
	var all []item.Item
	current, err := r.Get(ctx, op.Table, op.Key, true)
	if err != nil {
		return nil, err
	}
	if current != nil {
		if err := plan.SameCase(op.Schema, op.Parts, current); err != nil {
			return nil, err
		}
		all = append(all, current)
	}
	deleted, err := copies(ctx, r, op, now)
	return append(all, deleted...), err
}

// copies reads the deleted copies that have not expired, the newest first.
func copies(ctx context.Context, r plan.Reader, op *plan.Op, now time.Time) ([]item.Item, error) {
	m, ok := schema.Feature[plan.SoftDeleter](op.Schema)
	if !ok {
		return nil, nil
	}
	var all []item.Item
	desc, strong := false, true
	in := &dynamodb.QueryInput{TableName: &op.Table, ScanIndexForward: &desc, ConsistentRead: &strong}
	plan.Among(in, op.Schema, op.Key, m.Infix())
	for {
		out, err := r.Query(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, it := range out.Items {
			if err := plan.SameCase(op.Schema, op.Parts, it); err != nil {
				return nil, err
			}
		}
		all = append(all, slices.DeleteFunc(out.Items, func(it item.Item) bool { return plan.Expired(op.Schema, it, now) })...)
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
			return all, nil
		}
	}
}

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
