package plan

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"

	"github.com/dynastrata/dynastrata/internal/layout"
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

// newer returns the copy that ReadNewest prefers: found, which may be nil, or the older copy it.
func (op *Op) newer(found, it layout.Stored, now time.Time) layout.Stored {
	switch {
	case layout.Expired(op.Schema, it.Raw, now):
		return found
	case found.Raw == nil, op.sameCase(found.Item) != nil && op.sameCase(it.Item) == nil:
		return it
	}
	return found
}

// ReadNewest returns the newest related item under infix, expired or not and whatever the case of its key parts, and with unexpired the
// newest one that has not expired. If items whose keys differ in case share the key, live is rather one of op's own; the caller must reject
// the others. Raw is nil for an item that does not exist.
func ReadNewest(ctx context.Context, r layout.Reader, op *Op, infix string, now time.Time, unexpired bool) (first, live layout.Stored, err error) {
	in := layout.QueryRelated(op.Schema, op.Table, op.Key, infix)
	in.Limit, in.Desc = 1, true
	for page, err := range layout.Pages(ctx, r, op.Schema, in) {
		if err != nil {
			return layout.Stored{}, layout.Stored{}, err
		}
		for _, it := range page {
			if first.Raw == nil {
				first = it
			}
			if !unexpired {
				return first, layout.Stored{}, nil
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
func ReadPast(ctx context.Context, r layout.Reader, op *Op, now time.Time) (Past, error) {
	var past Past
	if !op.Schema.KeepsHistory {
		current, _, live, err := ReadItemAndNewest(ctx, r, op, now, true)
		if past.Current, past.Copy = current, live.Item; err == nil {
			past.CaseErr = op.sameCase(past.Copy)
		}
		return past, err
	}
	var snapshot, newestCopy, live layout.Stored
	var errs [2]error
	var wg sync.WaitGroup
	wg.Go(func() { snapshot, _, errs[0] = ReadNewest(ctx, r, op, schema.SnapshotInfix, now, false) })
	if op.Schema.SoftDeletes {
		wg.Go(func() { newestCopy, live, errs[1] = ReadNewest(ctx, r, op, schema.CopyInfix, now, true) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return past, err
		}
	}
	past.Version = max(layout.StoredVersion(op.Schema, snapshot.Item), layout.StoredVersion(op.Schema, newestCopy.Item))
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
		past.CopyMissing, past.LiveSnapshot = true, !layout.IsDeletedState(op.Schema, snapshot.Item)
	}
	return past, nil
}

// Fate reads what has become of op's item: whether it has a deleted copy that has not expired, and, if it has none, whether it exists. The
// item sorts before its copies, so the last of them answers both. Fate needs one request, and more only if copies have expired.
func Fate(ctx context.Context, r layout.Reader, op *Op, now time.Time) (deleted, exists bool, err error) {
	in := itemAndCopies(op)
	in.Limit, in.Desc = 1, true
	for page, err := range layout.RawPages(ctx, r, in) {
		if err != nil {
			return false, false, err
		}
		for _, it := range page {
			suffix, own := layout.Suffix(op.Schema, op.Key, it)
			switch {
			case !own || op.sameCase(it) != nil:
			case suffix == "":
				return false, layout.Live(op.Schema, it, now), nil
			case strings.HasPrefix(suffix, schema.CopyInfix) && !layout.Expired(op.Schema, it, now):
				return true, false, nil
			}
		}
		in.Limit = 0
	}
	return false, false, nil
}

// itemAndCopies returns a query of op's item and its deleted copies, in this order. Events and snapshots sort after them.
func itemAndCopies(op *Op) *layout.Range {
	return layout.QueryBetween(op.Schema, op.Table, op.Key, "", strings.TrimSuffix(schema.CopyInfix, "#")+"$")
}

// ReadItemAndCopy reads op's item and its deleted copies in one query, so that it finds an item that moves between them. It returns the
// current item, and the copy with the key chosen. If chosen is nil, it returns the copies that ReadNewest returns.
func ReadItemAndCopy(ctx context.Context, r layout.Reader, op *Op, chosen item.Item, now time.Time) (current, newest, copied layout.Stored, err error) {
	in := itemAndCopies(op)
	in.Desc = true
	for page, err := range layout.Pages(ctx, r, op.Schema, in) {
		if err != nil {
			return current, newest, copied, err
		}
		for _, it := range page {
			switch suffix, own := layout.Suffix(op.Schema, op.Key, it.Raw); {
			case own && suffix == "":
				current = it
			case strings.HasPrefix(suffix, schema.CopyInfix) && (chosen == nil || layout.KeyID(chosen) == layout.KeyID(layout.KeyOf(op.Schema, it.Raw))):
				if newest.Raw == nil {
					newest = it
				}
				copied = op.newer(copied, it, now)
			}
		}
	}
	return current, newest, copied, nil
}

// ReadItemAndNewest reads op's item, as it is stored, then its copies as ReadNewest does. It needs one request, or two if there are several
// copies.
func ReadItemAndNewest(ctx context.Context, r layout.Reader, op *Op, now time.Time, unexpired bool) (current item.Item, first, live layout.Stored, err error) {
	in := itemAndCopies(op)
	in.Limit = 3 // the item, one copy, and one more to detect further copies
	page, err := r.ReadPage(ctx, in)
	if err != nil {
		return nil, first, live, err
	}
	for _, raw := range slices.Backward(page.Items()) {
		suffix, own := layout.Suffix(op.Schema, op.Key, raw)
		if own && suffix == "" {
			current = raw
			continue
		}
		if !strings.HasPrefix(suffix, schema.CopyInfix) {
			continue
		}
		it, err := layout.Open(op.Schema, raw)
		if err != nil {
			return nil, first, live, err
		}
		if first.Raw == nil {
			first = it
		}
		live = op.newer(live, it, now)
	}
	if len(page.Last) > 0 {
		first, live, err = ReadNewest(ctx, r, op, schema.CopyInfix, now, unexpired)
	}
	return current, first, live, err
}

// nextVersion gives it the version after that of old, and removes the mark of a touch.
func (in *Input) nextVersion(s *schema.Schema, it, old item.Item) {
	delete(it, schema.TouchedAttr)
	layout.SetVersion(s, it, in.HistoryVersion(s, old)+1)
}
