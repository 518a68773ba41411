package write

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Past describes the traces that earlier lives of an item left.
type Past struct {
	Version      int64     // under Retain, the highest version of the newest snapshot and the newest deleted copy; 0 if there is neither
	Copy         item.Item // the newest deleted copy that has not expired; nil if absent
	Current      item.Item // the current item as it is stored, if it was read with the copies and exists
	CaseErr      error     // a *KeyCaseError if the traces are of an item whose key differs in case only
	CopyMissing  bool      // there are snapshots but no deleted copy, which a delete would have left
	LiveSnapshot bool      // with CopyMissing: the newest snapshot is of a live state
}

// createError returns the error of a create after this past, or nil if it is allowed.
func (p Past) createError(s *schema.Schema) error {
	switch {
	case p.Copy == nil || !s.LooksBack:
		return p.CaseErr
	case p.CaseErr != nil:
		return fmt.Errorf("%w: %w: %w", entitytype.ErrExists, entitytype.ErrDeleted, p.CaseErr)
	}
	return fmt.Errorf("%w: %w", entitytype.ErrExists, entitytype.ErrDeleted)
}

// HistoryVersion returns the version under which the history keeps the stored item: its own, or, if that is taken, the
// first one after the history of other lives.
func (in Input) HistoryVersion(s *schema.Schema, it item.Item) int64 {
	n := StoredVersion(s, it)
	if slices.Contains(in.Hints, Hint{Kind: VersionTaken, Version: n}) {
		return max(n, in.Past.Version) + 1
	}
	return n
}

// newer returns the copy that ReadNewest prefers: found, which may be nil, or the older copy it.
func (op *Op) newer(found, it Stored, now time.Time) Stored {
	switch {
	case Expired(op.Schema, it.Raw, now):
		return found
	case found.Raw == nil, op.sameCase(found.Item) != nil && op.sameCase(it.Item) == nil:
		return it
	}
	return found
}

// readNewest returns the related item with the highest sort key, expired or not, as first. If unexpired is set, it also
// returns the item that ReadNewest returns.
func readNewest(ctx context.Context, r Reader, op *Op, infix string, now time.Time, unexpired bool) (first, live Stored, err error) {
	in := QueryRelated(op.Schema, op.Table, op.Key, infix)
	in.Limit, in.Desc = 1, true
	for page, err := range Pages(ctx, r, op.Schema, in) {
		if err != nil {
			return Stored{}, Stored{}, err
		}
		for _, it := range page {
			if first.Raw == nil {
				first = it
			}
			if !unexpired {
				return first, Stored{}, nil
			}
			if live = op.newer(live, it, now); live.Raw != nil && op.sameCase(live.Item) == nil {
				return first, live, nil
			}
		}
		in.Limit = 0 // the newest has expired: read the rest in whole pages
	}
	return first, live, nil
}

// ReadPast reads the newest snapshot and the newest deleted copy concurrently, with one request each. Without snapshots it
// reads the current item and then the copies, in one query: if the item exists, a delete may follow and leave a copy. With
// snapshots such a delete is noticed, because it stores one under the version that the new life would begin with. ReadPast
// needs more requests only if deleted copies have expired, or an item without snapshots has several.
func ReadPast(ctx context.Context, r Reader, op *Op, now time.Time) (Past, error) {
	var past Past
	if !op.Schema.KeepsHistory {
		current, _, live, err := readItemAndNewest(ctx, r, op, now, true)
		if past.Current, past.Copy = current, live.Item; err == nil {
			past.CaseErr = op.sameCase(past.Copy)
		}
		return past, err
	}
	var snapshot, newestCopy, live Stored
	var errs [2]error
	var wg sync.WaitGroup
	wg.Go(func() { snapshot, _, errs[0] = readNewest(ctx, r, op, schema.SnapshotInfix, now, false) })
	if op.Schema.SoftDeletes {
		wg.Go(func() { newestCopy, live, errs[1] = readNewest(ctx, r, op, schema.CopyInfix, now, true) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return past, err
		}
	}
	past.Version = max(StoredVersion(op.Schema, snapshot.Item), StoredVersion(op.Schema, newestCopy.Item))
	past.Copy = live.Item
	for _, it := range []item.Item{snapshot.Item, live.Item} {
		if err := op.sameCase(it); err != nil && past.CaseErr == nil {
			past.CaseErr = err
		}
	}
	if past.CaseErr == nil { // a new life would continue its versions
		past.CaseErr = op.sameCase(newestCopy.Item)
	}
	if op.Schema.SoftDeletes && snapshot.Raw != nil && newestCopy.Raw == nil {
		past.CopyMissing, past.LiveSnapshot = true, !IsDeletedState(op.Schema, snapshot.Item)
	}
	return past, nil
}

// ReadNewest returns the newest related item under infix that has not expired, or nil. If items whose keys differ in
// case share the key, it prefers one of op's own. The caller must reject the others.
func ReadNewest(ctx context.Context, r Reader, op *Op, infix string, now time.Time) (item.Item, error) {
	_, live, err := readNewest(ctx, r, op, infix, now, true)
	return live.Item, err
}

// ReadNewestCopies returns the newest deleted copy of op's item, expired or not and whatever the case of its key parts, and
// the one that ReadNewest returns. Raw is nil for a copy that does not exist.
func ReadNewestCopies(ctx context.Context, r Reader, op *Op, now time.Time) (newest, live Stored, err error) {
	return readNewest(ctx, r, op, schema.CopyInfix, now, true)
}

// Fate reads what has become of op's item: whether it has a deleted copy that has not expired, and, if it has none, whether
// it exists. The item sorts before its copies, so the last of them answers both. Fate needs one request, and more only if
// copies have expired.
func Fate(ctx context.Context, r Reader, op *Op, now time.Time) (deleted, exists bool, err error) {
	in := itemAndCopies(op)
	in.Limit, in.Desc = 1, true
	for page, err := range RawPages(ctx, r, in) {
		if err != nil {
			return false, false, err
		}
		for _, it := range page {
			suffix, own := Suffix(op.Schema, op.Key, it)
			switch {
			case !own || op.sameCase(it) != nil:
			case suffix == "":
				return false, Live(op.Schema, it, now), nil
			case strings.HasPrefix(suffix, schema.CopyInfix) && !Expired(op.Schema, it, now):
				return true, false, nil
			}
		}
		in.Limit = 0
	}
	return false, false, nil
}

// itemAndCopies returns a query of op's item and its deleted copies, in this order. Events and snapshots sort after
// them.
func itemAndCopies(op *Op) *Range {
	return QueryBetween(op.Schema, op.Table, op.Key, "", strings.TrimSuffix(schema.CopyInfix, "#")+"$")
}

// ReadItemAndCopy reads op's item and its deleted copies in one query, so that it finds an item that moves between them.
// It returns the current item, and the copy with the key chosen. If chosen is nil, it returns the copies that
// ReadNewestCopies returns.
func ReadItemAndCopy(ctx context.Context, r Reader, op *Op, chosen item.Item, now time.Time) (current, newest, copied Stored, err error) {
	in := itemAndCopies(op)
	in.Desc = true
	for page, err := range Pages(ctx, r, op.Schema, in) {
		if err != nil {
			return current, newest, copied, err
		}
		for _, it := range page {
			switch suffix, own := Suffix(op.Schema, op.Key, it.Raw); {
			case own && suffix == "":
				current = it
			case strings.HasPrefix(suffix, schema.CopyInfix) && (chosen == nil || KeyID(chosen) == KeyID(KeyOf(op.Schema, it.Raw))):
				if newest.Raw == nil {
					newest = it
				}
				copied = op.newer(copied, it, now)
			}
		}
	}
	return current, newest, copied, nil
}

// ReadNewestCopy reads the newest deleted copy of op's item, expired or not, whatever the case of its key parts. It
// returns nil if the item has no copy.
func ReadNewestCopy(ctx context.Context, r Reader, op *Op) (item.Item, error) {
	it, _, err := readNewest(ctx, r, op, schema.CopyInfix, time.Time{}, false)
	return it.Item, err
}

// ReadItemAndNewestCopy reads op's item, as it is stored, and the newest of its deleted copies, expired or not, whatever the case of its
// key parts. It needs one request, or two if there are several copies.
func ReadItemAndNewestCopy(ctx context.Context, r Reader, op *Op) (current, newestCopy item.Item, err error) {
	current, first, _, err := readItemAndNewest(ctx, r, op, time.Time{}, false)
	return current, first.Item, err
}

// readItemAndNewest reads op's item, as it is stored, then its copies as readNewest does. It needs one request, or two if there are several
// copies.
func readItemAndNewest(ctx context.Context, r Reader, op *Op, now time.Time, unexpired bool) (current item.Item, first, live Stored, err error) {
	in := itemAndCopies(op)
	in.Limit = 3 // the item, one copy, and one more to detect further copies
	page, err := r.ReadPage(ctx, in)
	if err != nil {
		return nil, first, live, err
	}
	for _, raw := range slices.Backward(page.Items()) {
		suffix, own := Suffix(op.Schema, op.Key, raw)
		if own && suffix == "" {
			current = raw
			continue
		}
		if !strings.HasPrefix(suffix, schema.CopyInfix) {
			continue
		}
		it, err := Open(op.Schema, raw)
		if err != nil {
			return nil, first, live, err
		}
		if first.Raw == nil {
			first = it
		}
		live = op.newer(live, it, now)
	}
	if len(page.Last) > 0 {
		first, live, err = readNewest(ctx, r, op, schema.CopyInfix, now, unexpired)
	}
	return current, first, live, err
}

// nextVersion gives it the version after that of old, and removes the mark of a touch.
func nextVersion(s *schema.Schema, it, old item.Item, in Input) {
	delete(it, schema.TouchedAttr)
	SetVersion(s, it, in.HistoryVersion(s, old)+1)
}
