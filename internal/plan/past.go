package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Reader reads for plans. Its reads are repeated while their failure is worth it.
type Reader interface {
	Get(ctx context.Context, table string, key item.Item, consistent bool) (item.Item, error)
	Query(ctx context.Context, in *dynamodb.QueryInput) (*dynamodb.QueryOutput, error)
}

// Past is what earlier lives of an item have left.
type Past struct {
	Version int64     // under Retain, the highest version among the newest snapshot and the newest deleted copy; 0 when there is neither
	Copy    item.Item // the newest deleted copy that has not expired; nil if absent
	Stray   error     // a *KeyCaseError when the past is that of an item whose key differs in case only
	Odd     bool      // there are snapshots and, against what a move leaves behind, no copy at all
	Open    bool      // and the newest snapshot is of a live state
}

// forbids is the error of a new life after such a past; nil when it can begin.
func (p Past) forbids(s *schema.Schema) error {
	switch {
	case p.Copy == nil || !looksBack(s):
		return p.Stray
	case p.Stray != nil:
		return fmt.Errorf("%w: %w: %w", ErrExists, ErrDeleted, p.Stray)
	}
	return fmt.Errorf("%w: %w", ErrExists, ErrDeleted)
}

// Overtaken is what a write learns of an item whose version is taken by a state that another life has left, because
// something that does not keep the history has made the item again. The next plan counts on after that history.
type Overtaken struct{ Version int64 }

// Overtaken reports that an earlier round has learned of such a version.
func (in Input) Overtaken() bool {
	return slices.ContainsFunc(in.Hints, func(x any) bool { _, ok := x.(Overtaken); return ok })
}

// Counted is the version of an item that was read as its history counts it: its own, or, where that is taken, the first
// one after what other lives have left.
func (in Input) Counted(s *schema.Schema, it item.Item) int64 {
	n := StoredVersion(s, it)
	if slices.Contains(in.Hints, any(Overtaken{n})) {
		return max(n, in.Past.Version) + 1
	}
	return n
}

// ReadPast reads the newest snapshot and the newest deleted copy at the same time, one request each; more only when
// deleted copies have expired.
func ReadPast(ctx context.Context, r Reader, op *Op, now time.Time) (Past, error) {
	var past Past
	var snapshot, newestCopy, live item.Item
	var errs [2]error
	var wg sync.WaitGroup
	if snapshotter(op.Schema) != nil {
		wg.Go(func() { snapshot, _, errs[0] = newest(ctx, r, op, schema.SnapshotInfix, now, false) })
	}
	if softDeleter(op.Schema) != nil {
		wg.Go(func() { newestCopy, live, errs[1] = newest(ctx, r, op, schema.CopyInfix, now, true) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return past, err
		}
	}
	if snapshotter(op.Schema) != nil {
		past.Version = max(StoredVersion(op.Schema, snapshot), StoredVersion(op.Schema, newestCopy))
	}
	past.Copy = live
	for _, it := range []item.Item{snapshot, live} {
		if err := op.sameCase(it); err != nil && past.Stray == nil {
			past.Stray = err
		}
	}
	if snapshotter(op.Schema) != nil && past.Stray == nil { // which a new life would go on
		past.Stray = op.sameCase(newestCopy)
	}
	if softDeleter(op.Schema) != nil && snapshot != nil && newestCopy == nil {
		past.Odd, past.Open = true, !IsDeletedState(op.Schema, snapshot)
	}
	return past, nil
}

// Newest reads the newest satellite of op's item under an infix that has not expired; nil if absent. Where items
// whose keys differ in case share the key, one of op's own comes before those of others, which are for the caller to refuse.
func Newest(ctx context.Context, r Reader, op *Op, infix string, now time.Time) (item.Item, error) {
	_, live, err := newest(ctx, r, op, infix, now, true)
	return live, err
}

// WasDeleted reports that op's item has a deleted copy that has not expired.
func WasDeleted(ctx context.Context, r Reader, op *Op, now time.Time) (bool, error) {
	if softDeleter(op.Schema) == nil {
		return false, nil
	}
	it, err := Newest(ctx, r, op, schema.CopyInfix, now)
	return it != nil && op.sameCase(it) == nil, err
}

// newest reads the satellite of op's item with the highest sort key, expired or not, and, if asked for, the one that
// Newest is about.
func newest(ctx context.Context, r Reader, op *Op, infix string, now time.Time, unexpired bool) (first, live item.Item, err error) {
	limit, forward := int32(1), false
	in := QuerySatellites(op.Schema, op.Table, op.Key, infix)
	in.Limit, in.ScanIndexForward = &limit, &forward
	for page, err := range Pages(ctx, r, in) {
		if err != nil {
			return nil, nil, err
		}
		for _, it := range page {
			if first == nil {
				first = it
			}
			if !unexpired {
				return first, nil, nil
			}
			if live = op.newer(live, it, now); live != nil && op.sameCase(live) == nil {
				return first, live, nil
			}
		}
		in.Limit = nil // the newest has expired: read on in whole pages
	}
	return first, live, nil
}

// newer is which of two copies Newest is about: found, which is nil when there was none yet, or it, which is older.
func (op *Op) newer(found, it item.Item, now time.Time) item.Item {
	switch {
	case Expired(op.Schema, it, now):
		return found
	case found == nil, op.sameCase(found) != nil && op.sameCase(it) == nil:
		return it
	}
	return found
}

// Around reads op's item and its deleted copies in one query, so that an item that moves between these places is seen in
// one of them: the current item, and the copy that Newest is about or, where chosen is a key, that copy.
func Around(ctx context.Context, r Reader, op *Op, chosen item.Item, now time.Time) (current, copied item.Item, err error) {
	forward := false
	in := itemAndCopies(op)
	in.ScanIndexForward = &forward
	for page, err := range Pages(ctx, r, in) {
		if err != nil {
			return nil, nil, err
		}
		for _, it := range page {
			switch place := placeOf(op.Schema, op.Key, it, schema.CopyInfix); {
			case place == itself:
				current = it
			case place == beside && (chosen == nil || KeyID(chosen) == KeyID(KeyOf(op.Schema, it))):
				copied = op.newer(copied, it, now)
			}
		}
	}
	return current, copied, nil
}

// itemAndCopies returns a query of op's item and its deleted copies, in this order. Events and snapshots come after them.
func itemAndCopies(op *Op) *dynamodb.QueryInput {
	return QueryBetween(op.Schema, op.Table, op.Key, "", strings.TrimSuffix(schema.CopyInfix, "#")+"$")
}

// WithCopies reads op's item and the newest of its deleted copies, expired or not, of whatever spelling: in one request, or
// two when there are several copies.
func WithCopies(ctx context.Context, r Reader, op *Op) (current, newestCopy item.Item, err error) {
	limit := int32(3) // the item, one copy, and one more, which shows that there are several
	in := itemAndCopies(op)
	in.Limit = &limit
	out, err := r.Query(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	for _, it := range out.Items {
		switch placeOf(op.Schema, op.Key, it, schema.CopyInfix) {
		case itself:
			current = it
		case beside:
			newestCopy = it
		}
	}
	if len(out.LastEvaluatedKey) > 0 {
		newestCopy, err = NewestCopy(ctx, r, op)
	}
	return current, newestCopy, err
}

// NewestCopy reads the newest deleted copy of op's item, expired or not, of whatever spelling; nil if absent.
func NewestCopy(ctx context.Context, r Reader, op *Op) (item.Item, error) {
	it, _, err := newest(ctx, r, op, schema.CopyInfix, time.Time{}, false)
	return it, err
}

// IndexCopy gives a deleted copy the keys of the indexes that hold copies.
func IndexCopy(s *schema.Schema, copied item.Item) error {
	for _, x := range s.Indexes {
		if !s.HoldsCopies(x) {
			continue
		}
		for _, h := range x.Keys() {
			if err := SetIndexHalf(s, h, copied, h == x.SK); err != nil {
				return err
			}
		}
	}
	return nil
}

// place is where an item lies, seen from another one.
type place int

const (
	elsewhere place = iota
	itself
	beside
)

// placeOf says whether it is the item under a primary key, or one of its satellites under an infix.
func placeOf(s *schema.Schema, primary, it item.Item, infix string) place {
	own, _ := SortKey(s, primary)
	switch sk, ok := SortKey(s, it); {
	case !ok:
		return elsewhere
	case sk == own:
		return itself
	case strings.HasPrefix(sk, own+infix):
		return beside
	}
	return elsewhere
}
