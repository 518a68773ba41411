package versioned

import (
	"cmp"
	"context"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// validFrom returns when the item came into a state. It reports false without a readable updated_at.
func validFrom(s *schema.Schema, it item.Item) (time.Time, bool) {
	if s.UpdatedAt == nil {
		return time.Time{}, false
	}
	t, err := s.UpdatedAt.Format.FromValue(it[s.UpdatedAt.Name])
	return t, err == nil
}

// newOp returns the operation for reads of the history of the item with v's primary key.
func newOp(c *engine.Core, verb string, v reflect.Value) (*plan.Op, error) {
	primary, parts, err := bind.Key(c.Schema, v, nil, nil)
	return &plan.Op{Verb: verb, Schema: c.Schema, Table: c.Table, Key: primary, Parts: parts}, err
}

// checkVersion returns an error for a number that no version has.
func checkVersion(c *engine.Core, n int64) error {
	if n < 0 || n > maxVersion {
		return &entity.InputError{Code: bind.CodeValue, Type: c.Schema.Type.String(), Problem: "the version must be a number from 0 to 999999999999"}
	}
	return nil
}

// readVersion returns version n of an item as it is stored: from the current item, a deleted copy or a snapshot. It
// reads in this order because states only move that way.
func readVersion(ctx context.Context, c *engine.Core, r layout.Reader, op *plan.Op, n int64) (item.Item, error) {
	if err := checkVersion(c, n); err != nil {
		return nil, err
	}
	latest, err := readLatest(ctx, r, op, c.Runner.Clock())
	if err != nil {
		return nil, err
	}
	return pickVersion(ctx, c, r, op, n, latest)
}

// readVersionWithCurrent is readVersion for a caller that has read the current item already, which is nil if it does not exist.
func readVersionWithCurrent(ctx context.Context, c *engine.Core, r layout.Reader, op *plan.Op, n int64, current item.Item) (item.Item, error) {
	if err := checkVersion(c, n); err != nil {
		return nil, err
	}
	var latest []item.Item
	if current != nil {
		if err := layout.SameCase(c.Schema, op.Parts, current); err != nil || layout.StoredVersion(c.Schema, current) == n {
			return current, err
		}
		latest = append(latest, current)
	}
	// A live item has no copies, as a rule, and a state has a snapshot once another has replaced it.
	if it, err := readSnapshot(ctx, c, r, op, n); err != nil || it != nil || !op.Schema.SoftDeletes {
		if err == nil && it == nil {
			err = sentinel.ErrNotFound
		}
		return it, err
	}
	in := layout.QueryRelated(c.Schema, op.Table, op.Key, schema.CopyInfix)
	in.Desc = true
	copies, err := readCopies(ctx, r, op, c.Runner.Clock(), in)
	if err != nil {
		return nil, err
	}
	return pickVersion(ctx, c, r, op, n, append(latest, copies...))
}

// readSnapshot returns the snapshot of version n, nil if it does not exist or has expired.
func readSnapshot(ctx context.Context, c *engine.Core, r layout.Reader, op *plan.Op, n int64) (item.Item, error) {
	it, err := layout.GetItem(ctx, r, c.Schema, op.Table, layout.RelatedKey(c.Schema, op.Key, snapshotSuffix(n)))
	if err != nil || it.Raw == nil || layout.Expired(c.Schema, it.Raw, c.Runner.Clock()) {
		return nil, err
	}
	return layout.State(c.Schema, it.Item), layout.SameCase(c.Schema, op.Parts, it.Item)
}

// pickVersion returns version n from the latest states, or else its snapshot.
func pickVersion(ctx context.Context, c *engine.Core, r layout.Reader, op *plan.Op, n int64, latest []item.Item) (item.Item, error) {
	var copied item.Item
	for _, it := range latest {
		switch {
		case layout.StoredVersion(c.Schema, it) != n:
		case isCurrent(op, it) || !c.Schema.Profile.CopiesLag():
			return it, nil
		case copied == nil: // effect-dynamodb gives a copy the version of the state before it
			copied = it
		}
	}
	it, err := readSnapshot(ctx, c, r, op, n)
	if it == nil && err == nil {
		if it = copied; it == nil {
			err = sentinel.ErrNotFound
		}
	}
	return it, err
}

// readLatest returns the states that may have no snapshot yet: the current item, if there is a live one, then the deleted
// copies, newest first. One query reads both, the current item first.
func readLatest(ctx context.Context, r layout.Reader, op *plan.Op, now time.Time) ([]item.Item, error) {
	if !op.Schema.SoftDeletes {
		current, err := layout.GetItem(ctx, r, op.Schema, op.Table, op.Key)
		if err != nil || !layout.Live(op.Schema, current.Raw, now) {
			return nil, err
		}
		return []item.Item{current.Item}, layout.SameCase(op.Schema, op.Parts, current.Item)
	}
	return readCopies(ctx, r, op, now, layout.QueryBetween(op.Schema, op.Table, op.Key, "", strings.TrimSuffix(schema.CopyInfix, "#")+"$"))
}

// readCopies returns what a query finds of the current item, and then the deleted copies that have not expired, newest first.
func readCopies(ctx context.Context, r layout.Reader, op *plan.Op, now time.Time, in *layout.Range) ([]item.Item, error) {
	var current, copies []item.Item
	for page, err := range layout.Pages(ctx, r, op.Schema, in) {
		if err != nil {
			return nil, err
		}
		for _, it := range layout.Items(page) {
			suffix, ok := layout.Suffix(op.Schema, op.Key, it)
			isCopy := strings.HasPrefix(suffix, schema.CopyInfix)
			if !ok || suffix != "" && !isCopy {
				continue
			}
			if err := layout.SameCase(op.Schema, op.Parts, it); err != nil {
				return nil, err
			}
			switch {
			case !isCopy:
				current = append(current, it)
			case !layout.Expired(op.Schema, it, now):
				copies = append(copies, it)
			}
		}
	}
	if !in.Desc {
		slices.Reverse(copies)
	}
	return append(current, copies...), nil
}

// stateReader reads the states of an item once, each version once and in order. It reads the current item and the
// deleted copies first and then merges them with the snapshots, because states only move that way.
type stateReader struct {
	c       *engine.Core
	op      *plan.Op
	low     int64 // lowest version
	high    int64 // highest version
	desc    bool
	current bool // include the current state
	expired bool // include expired snapshots

	latest   []item.Item // states of the current item and the copies that are still to be yielded, in order
	skipped  int64       // version of the current state if it is not to be yielded, else -1
	replaced bool        // a later state than the skipped one was met, so that one is past by now
	held     item.Item   // the skipped state, while it may turn out to be past
}

// all yields the states. It reads each page of snapshots when it is needed.
func (l *stateReader) all(ctx context.Context) iter.Seq2[item.Item, error] {
	return func(yield func(item.Item, error) bool) {
		if err := l.readLatest(ctx); err != nil {
			yield(nil, err)
			return
		}
		in := layout.QueryBetween(l.c.Schema, l.op.Table, l.op.Key, snapshotSuffix(l.low), snapshotSuffix(l.high))
		in.Desc = l.desc
		for page, err := range layout.Pages(ctx, l.c.Runner, l.c.Schema, in) {
			snapshots := layout.Items(page)
			for i := 0; err == nil && i < len(snapshots); i++ {
				err = layout.SameCase(l.op.Schema, l.op.Parts, snapshots[i])
			}
			if err != nil {
				yield(nil, err)
				return
			}
			for _, it := range l.merge(snapshots) {
				if !yield(it, nil) {
					return
				}
			}
		}
		var rest []item.Item
		for _, it := range l.latest {
			rest = l.add(rest, it)
		}
		for _, it := range rest {
			if !yield(it, nil) {
				return
			}
		}
	}
}

// readLatest fills latest and skipped.
func (l *stateReader) readLatest(ctx context.Context) error {
	latest, err := readLatest(ctx, l.c.Runner, l.op, l.c.Runner.Clock())
	if err != nil {
		return err
	}
	l.skipped = -1
	if len(latest) > 0 && !l.current && latest[0] != nil && isCurrent(l.op, latest[0]) {
		l.skipped = l.version(latest[0])
		latest = latest[1:]
	}
	l.latest = latest
	slices.SortFunc(l.latest, l.compare)
	return nil
}

// isCurrent reports whether a state is the current item rather than a deleted copy or snapshot.
func isCurrent(op *plan.Op, it item.Item) bool {
	sk, _ := layout.SortKey(op.Schema, it)
	own, _ := layout.SortKey(op.Schema, op.Key)
	return sk == own
}

func (l *stateReader) version(it item.Item) int64 { return layout.StoredVersion(l.c.Schema, it) }

// compare orders states by version, in the direction of the reader.
func (l *stateReader) compare(a, b item.Item) int {
	order := cmp.Compare(l.version(a), l.version(b))
	if l.desc {
		return -order
	}
	return order
}

func (l *stateReader) wanted(it item.Item) bool {
	n := l.version(it)
	return l.low <= n && n <= l.high && (l.expired || !layout.Expired(l.c.Schema, it, l.c.Runner.Clock()))
}

// merge returns a page of snapshots and the latest states that come before its end, in order.
func (l *stateReader) merge(snapshots []item.Item) (states []item.Item) {
	for _, it := range snapshots {
		for len(l.latest) > 0 && l.compare(l.latest[0], it) <= 0 {
			// In a shared table the copy may be one of effect-dynamodb, with the version of the state before the delete: a snapshot of that
			// version replaces it.
			late := l.latest[0]
			if !l.c.Schema.Profile.CopiesLag() || l.compare(late, it) != 0 || isCurrent(l.op, late) || !l.wanted(it) {
				states = l.add(states, late)
			}
			l.latest = l.latest[1:]
		}
		states = l.add(states, it)
	}
	return states
}

// add appends a state if it is wanted and the last one has another version. It leaves out the state that was current when
// the current item was read, unless a later one shows that it has been replaced since: there would be a gap. In a shared
// table versions restart, so a later one shows nothing.
func (l *stateReader) add(states []item.Item, it item.Item) []item.Item {
	switch n := l.version(it); {
	case n > l.skipped && !l.c.Schema.Profile.VersionsRestart():
		if l.replaced = true; l.held != nil {
			states, l.held = l.appendWanted(states, l.held), nil
		}
	case n == l.skipped && !l.replaced:
		l.held = it
		return states
	}
	return l.appendWanted(states, it)
}

func (l *stateReader) appendWanted(states []item.Item, it item.Item) []item.Item {
	if n := len(states); !l.wanted(it) || n > 0 && l.compare(states[n-1], it) == 0 {
		return states
	}
	return append(states, layout.State(l.c.Schema, it))
}
