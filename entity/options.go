package entity

import (
	"errors"
	"math"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
)

// GetOption is accepted by Get and [Ops.GetInto]: any [ReadOption], [KeepImage].
type GetOption interface{ bind.GetOption }

// QueryOption is accepted by queries: a [Cond] on the next part of the sort key, any [OrderOption], [ManyOption], [BoundOption],
// [IndexOption] and [ReadOption].
type QueryOption interface{ bind.QueryOption }

// ScanOption is accepted by scans: [OnPage], any [ManyOption], [BoundOption], [IndexOption], [SegmentOption] and [ReadOption].
type ScanOption interface{ bind.ScanOption }

// ReadOption is accepted by every read: [Consistent], [IncludeExpired], [SkipUndecodable], [Budget].
type ReadOption interface {
	GetOption
	ManyOption
}

// ManyOption is accepted by every read of many items, of their versions and of deleted copies: [Filter], [Limit].
type ManyOption interface {
	BoundOption
	bind.ListOption
}

// BoundOption is accepted by queries, by scans and by lifecycle.Deleted.List: [MaxEvaluated], [MaxRequests].
type BoundOption interface {
	IndexOption
	bind.DeletedOption
}

// IndexOption is accepted by queries and scans: [Hydrate], for those of an index.
type IndexOption interface {
	QueryOption
	ScanOption
}

// OrderOption is accepted by queries and by versioned.History.List: [Desc].
type OrderOption interface {
	QueryOption
	bind.ListOption
}

// TableOption is accepted by scans, and by everything in package migrate that reads a whole table: [Segments].
type TableOption interface {
	SegmentOption
	bind.CopyOption
	bind.PassOption
}

// SegmentOption is accepted by scans and by migrate.Rewrite: [Segment], any [TableOption].
type SegmentOption interface {
	ScanOption
	bind.RewriteOption
}

// GuardOption is accepted by every write of one item, timeseries.Series.Append too: [If].
type GuardOption interface {
	CreateOption
	bind.AppendOption
}

// CreateOption is accepted by Create, and by every other write of one item but Append: [Idempotent], any [GuardOption].
type CreateOption interface {
	bind.CreateOption
	bind.RestoreOption
	WriteOption
}

// WriteOption is accepted by writes over a stored item, such as Put, Delete and Modify: [Returning], [FromImage],
// versioned.Expect, versioned.AnyVersion, any [CreateOption].
type WriteOption interface {
	bind.WriteOption
	bind.UpdateOption
	bind.DeleteOption
}

// DeleteOption is accepted by Delete: [IfPresent], any [ChangeOption] and any [WriteOption].
type DeleteOption interface{ bind.DeleteOption }

// UpdateOption is accepted by Update and Upsert: any [ChangeOption] and any [WriteOption].
type UpdateOption interface{ bind.UpdateOption }

// ChangeOption is a change of an item ([Set], [Remove], [Add] …). Update and Upsert make it of the item. Delete makes it of the state
// that the deleted copy and the history keep, and Restore of the restored item, in the same request: [InputError] EDD-9108 if nothing
// keeps the state, EDD-9104 for the expiry, and for unique values that a deleted item reserves.
type ChangeOption interface {
	bind.UpdateOption
	bind.DeleteOption
	bind.RestoreOption
}

// StoreOption is accepted by [New].
type StoreOption interface{ bind.StoreOption }

// Named replaces the entity name declared in T's entity.Key, for several stores of one struct or of a generic one. The
// name is part of `$` keys. An empty one is an *[InputError].
func Named(name string) StoreOption {
	return bind.Option{Setting: func(o *bind.Options) {
		if o.Name = name; name == "" {
			o.Add(errors.New("the name given to Named is empty"))
		}
	}}
}

// Consistent makes a read strongly consistent, at twice the read units. Global indexes do not support it.
func Consistent() ReadOption {
	return bind.Option{Setting: func(o *bind.Options) { o.Strong = true }}
}

// IncludeExpired includes items whose time to live has passed but which DynamoDB has not removed yet.
func IncludeExpired() ReadOption {
	return bind.Option{Setting: func(o *bind.Options) { o.Expired = true }}
}

// SkipUndecodable makes a read of many items go on past those that cannot be decoded or upgraded. It delivers all others, and then returns an
// [ErrUndecodable] that wraps the errors of the first 20 and counts all: Collect, Page, [Store.GetMany] and [DB.BatchGet] return it with what they
// have read, and All yields it last. [Limit] counts these items too. First, One, Get and [DB.TransactGet] fail as without the option.
func SkipUndecodable() ReadOption {
	return bind.Option{Setting: func(o *bind.Options) { o.Skip = true }}
}

// Desc reads in descending order of the sort key.
func Desc() OrderOption {
	return bind.Option{Setting: func(o *bind.Options) { o.Desc = true }}
}

// Limit ends a query after n items, 0 < n < 2³¹. For Page it is the size of a page.
func Limit(n int) ManyOption {
	return bind.Option{Setting: func(o *bind.Options) { o.Count(&o.Limit, "Limit", n, math.MaxInt32) }}
}

// MaxEvaluated ends a query after it has evaluated n items, 0 < n < 2³¹, whether or not they passed the filter. Page
// then returns those that passed, and a cursor.
func MaxEvaluated(n int) BoundOption {
	return bind.Option{Setting: func(o *bind.Options) { o.Count(&o.MaxEvaluated, "MaxEvaluated", n, math.MaxInt32) }}
}

// MaxRequests ends a query after n requests, 0 < n < 2³¹. Page then returns what was found, and a cursor.
func MaxRequests(n int) BoundOption {
	return bind.Option{Setting: func(o *bind.Options) { o.Count(&o.MaxRequests, "MaxRequests", n, math.MaxInt32) }}
}

// Hydrate makes a query or scan of an index return whole items, although the index carries only keys or some attributes
// (`project`). The entries of the index are read first, then the items that they stand for, in batches of up to 100, and
// returned in the order of the index. At most one batch of items and one response of the index are held at a time.
//
// An item that was deleted since, that has expired, or whose keys of the index differ from the entry's by now, is left out. A
// condition of [Filter] is evaluated on the whole item, in memory, so it can be on any attribute; DynamoDB evaluates it on the
// entries before that, as far as the index carries its attributes. [Consistent] is for the items: they are then as at the
// moment of the second read, although the index is always eventually consistent.
//
// It costs one request for every 100 entries in addition to those of the index, and read units for each whole item. [Limit]
// counts items. [MaxEvaluated], [MaxRequests] and [OnPage] count what the index is asked for. Count reads the items, too. Running
// the query returns an *[InputError] with code EDD-9165 if it reads a table, or an index that carries whole items, or in
// [DB.GetCollection], and with code EDD-9140 if a condition cannot be evaluated in memory.
func Hydrate() IndexOption {
	return bind.Option{Setting: func(o *bind.Options) { o.Hydrate = true }}
}

// Segments makes All and Collect of a scan read n segments of the table in parallel, 1 to 64. Each item comes once, in no particular order.
// Each segment has at most one request under way or one response of up to 1 MB waiting to be yielded. The first error of a segment ends the
// scan, and no request is under way after the loop, however it ends. Page and Count read one segment after the other.
func Segments(n int) TableOption {
	return bind.Option{Setting: func(o *bind.Options) { o.Count(&o.Segments, "Segments", n, bind.MaxSegments) }}
}

// Segment makes a scan or a rewrite read segment i of n alone, 0 ≤ i < n ≤ 1,000,000. The scans of all n segments together read each
// item once, in whatever order and by whatever programs they run, so a job can be divided among machines. Which items are in
// a segment depends on n. A cursor of one segment is not accepted for another. [Segments] cannot be combined with it.
func Segment(i, n int) SegmentOption {
	return bind.Option{Setting: func(o *bind.Options) { o.OnlySegment(i, n) }}
}

// ScanProgress has the fields Evaluated, Found, Pages, Segments, SegmentsDone and ReadUnits: the progress of a scan; see [OnPage].
// It has no share of the whole, because DynamoDB does not say how much is left. With
// [Segments], which are of similar size in a table of small partitions, SegmentsDone of Segments is an estimate.
type ScanProgress = entitytype.ScanProgress

// OnPage makes a scan call f after each response of DynamoDB, before the items of that response are yielded. All calls
// come from the goroutine that runs the scan, so f needs no lock and can end the scan by cancelling its context. Counts
// are of one run and start at zero for each Page. The last call reports the whole cost of a run that completed.
func OnPage(f func(ScanProgress)) ScanOption {
	return bind.Option{Setting: func(o *bind.Options) {
		if o.Scanned = f; f == nil {
			o.Add(errors.New("OnPage needs a function"))
		}
	}}
}

// Filter drops items for which one of conds does not hold, after DynamoDB has read and charged them. Conditions on
// attributes of the queried key cannot be in Filter; pass them to the query.
func Filter(conds ...Cond) ManyOption {
	return bind.Option{Setting: func(o *bind.Options) { o.Filters = append(o.Filters, erase(conds)...) }}
}

// If makes a write fail with [ErrConditionFailed] unless all conds hold for the stored item. They are added to the
// write's own guard. An item that has expired counts as absent. Without a condition it is an *[InputError].
func If(conds ...Cond) GuardOption {
	return bind.Option{Setting: func(o *bind.Options) {
		if o.If = append(o.If, erase(conds)...); len(conds) == 0 {
			o.Add(errors.New("If needs at least one condition"))
		}
	}}
}

// Returning makes an Update, Upsert, Put, Modify or Delete set *old to the item as it was before the write, after the write has been
// applied; if there was no item, *old is the zero T. It costs nothing: the response has the old item, and the new one is computed from it.
// In a transaction, and with [Idempotent], the item is read first, consistently, and the write is guarded by what was read. If the response
// was lost but the write was applied, or the request arrived twice, the error is [ErrReadBack] and *old is unchanged, unless a version
// proves that there was no item. T must be the store's.
func Returning[T any](old *T) WriteOption {
	return bind.Option{Setting: func(o *bind.Options) {
		if o.Old = old; old == nil {
			o.Old = nil
			o.Add(errors.New("Returning takes a pointer to set, not nil"))
		}
	}}
}

// IfPresent makes Delete succeed if there is no item, whatever its other options require of one. If missing is not nil, *missing then
// becomes true, and false if the item was deleted. It costs no more than the Delete; in a transaction, and with
// [Idempotent], the item is read first, consistently, and the transaction is applied only if the item is still there, or still
// missing. If the request arrived twice, *missing can be true of an item that it has deleted.
func IfPresent(missing *bool) DeleteOption {
	return bind.Option{Setting: func(o *bind.Options) { o.IfPresent, o.Missing = true, missing }}
}

// Idempotent sends a write as a transaction under an idempotency token, so it can be repeated after a lost response
// whatever it does: an Add is applied once, and its outcome is known. Without it, a write that does not read first is
// not repeated, because that could undo what others wrote in between. It costs twice the write units, and one
// consistent read for the item that Update returns or Put and Upsert compare with.
func Idempotent() CreateOption {
	return bind.Option{Setting: func(o *bind.Options) { o.Idempotent = true }}
}
