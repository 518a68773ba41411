package stream

import (
	"cmp"
	"time"

	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/streamed"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// Kind is the kind of a change.
type Kind string

// Kinds of changes to a current item. Every mutation by this library is exactly one of the first six. CurrentRemoved
// accompanies SoftDeleted, or comes alone from a Purge.
const (
	Created     Kind = "created"      // a new item
	Updated     Kind = "updated"      // the item changed: an update, a put over it, a touch, an append
	Deleted     Kind = "deleted"      // the item was deleted for good
	SoftDeleted Kind = "soft deleted" // the item's deleted copy was stored; New is the copy
	Restored    Kind = "restored"     // a deleted copy became the current item again
	Expired     Kind = "expired"      // the item was removed because it had expired, by DynamoDB, or by another program later
	// CurrentRemoved reports that the current item of an entity with lifecycle.SoftDelete was removed: by a delete, which
	// SoftDeleted reports too, or by Purge. The two look the same in a stream.
	CurrentRemoved Kind = "current removed"
)

// Kinds of changes to the related items of a current item.
const (
	Appended     Kind = "appended"      // an event of a series was stored, on time or late, also over one that had expired
	EventChanged Kind = "event changed" // by migrate.Rewrite, which upgrades it, or by another program
	EventRemoved Kind = "event removed" // by Series.Remove or Purge
	EventExpired Kind = "event expired" // it was removed because it had expired

	SnapshotStored  Kind = "snapshot stored"  // a state was added to the history
	SnapshotChanged Kind = "snapshot changed" // the first snapshot of an item gets its expiry once its state has passed
	SnapshotRemoved Kind = "snapshot removed" // by Purge
	SnapshotExpired Kind = "snapshot expired" // it was removed because it had expired

	CopyChanged Kind = "copy changed" // by migrate.Rewrite or another program; see the package documentation for marks of later deletes
	CopyRemoved Kind = "copy removed" // by a restore, or by Purge
	CopyExpired Kind = "copy expired" // it was removed because it had expired; the item can no longer be restored
)

// An itemPart says which of an entity's items a record is about: the current one, or a kind of related item.
type itemPart string

const (
	currentItem  itemPart = ""
	eventItem    itemPart = layout.EventKind
	snapshotItem itemPart = layout.SnapshotKind
	deletedCopy  itemPart = layout.CopyKind
)

// relatedKinds are the kinds of changes to related items: stored, changed, removed, expired.
var relatedKinds = map[itemPart][4]Kind{
	eventItem:    {Appended, EventChanged, EventRemoved, EventExpired},
	snapshotItem: {SnapshotStored, SnapshotChanged, SnapshotRemoved, SnapshotExpired},
	deletedCopy:  {SoftDeleted, CopyChanged, CopyRemoved, CopyExpired},
}

// allKinds are the kinds that a route can ask for.
var allKinds = map[Kind]bool{
	Created: true, Updated: true, Deleted: true, SoftDeleted: true, Restored: true, Expired: true, CurrentRemoved: true,
	Appended: true, EventChanged: true, EventRemoved: true, EventExpired: true,
	SnapshotStored: true, SnapshotChanged: true, SnapshotRemoved: true, SnapshotExpired: true,
	CopyChanged: true, CopyRemoved: true, CopyExpired: true,
}

// ofItem reports whether k is about the current item, and not about a related item.
func (k Kind) ofItem() bool {
	switch k {
	case Created, Updated, Deleted, Restored, Expired, CurrentRemoved:
		return true
	}
	return false
}

// Change is one write to an item of entity T: the current item, or an event, snapshot or deleted copy.
type Change[T any] struct {
	Kind Kind
	// New and Old are the item after and before the write, decoded as reads decode it. New is nil if the item was
	// removed, Old if it is new, and each if the view of the stream leaves it out.
	New, Old *T
	// NewVersion and OldVersion are the versions of New and Old; 0 without the role version, or without the image.
	NewVersion, OldVersion int64
	// DeletedAt is the time of the delete, for a deleted copy and for the snapshot of a deleted state; zero otherwise.
	DeletedAt time.Time
	// Omitted is an entity.ErrOmitted if the deleted copy or snapshot was too large to be kept with its content: New and Old have
	// key parts, times, the version and unique values only. It is nil for any other change.
	Omitted error `json:",omitempty"`
	// Record is the record of the change, with its time, sequence number and id, and the items as they are stored.
	Record Record

	entity string
	recorded
}

// recorded is the change as it is stored, which timeline.View.Apply reads.
type recorded = streamed.Recorded

// StoredChange is a change that is not decoded, for timeline.View.Apply. Programs have no other use for it. See [Stored].
type StoredChange struct{ recorded }

// ImageError reports that the view of the stream leaves out an image that is needed. Without it the kind of the change is unknown, or there
// is no item to return. The package documentation lists the views that
// each kind needs.
type ImageError struct {
	Entity    string
	Operation streamtypes.OperationType
	View      streamtypes.StreamViewType // "" if the record does not say
	Needs     string                     // NewImage, OldImage, or "NewImage or OldImage"
}

func (e *ImageError) Error() string {
	view := string(e.View)
	if view == "" {
		view = "of an unknown view"
	}
	return "the " + string(e.Operation) + " record of " + e.Entity + " (" + view + ") has no " + e.Needs + ", which is needed here"
}

// Of returns the change that a record makes to an item of a store. ok is false if the record belongs to another
// entity, table or namespace, or to an item that the library keeps for itself; that is not an error. Of does no I/O
// and does not modify the record.
//
// Errors are *entity.Error, which wraps a *[RecordError], an *[ImageError], or an *entity.DecodeError if the item does
// not fit T.
func Of[T any](store entity.Source[T], r Record) (change Change[T], ok bool, err error) {
	c := engine.Of(store)
	if err := c.Err(); err != nil {
		return Change[T]{}, false, err
	}
	x, ok, err := interpret(c, r)
	if err != nil || !ok {
		return Change[T]{}, false, err
	}
	if change, err = decode[T](c, r, x); err != nil {
		return Change[T]{}, false, wrap(c, r, err)
	}
	return change, true, nil
}

// interpret classifies a record, and wraps the error for callers of the package.
func interpret(c *engine.Core, r Record) (meaning, bool, error) {
	if err := r.Err(); err != nil {
		return meaning{}, false, wrap(c, r, err)
	}
	x, ok, err := classify(c, &r)
	return x, ok, wrap(c, r, err)
}

func wrap(c *engine.Core, r Record, err error) error {
	return c.Wrap("stream", layout.KeyText(c.Schema, r.Keys), err)
}

// stored returns a change as it is stored.
func stored(c *engine.Core, r Record, x meaning) recorded {
	image, withdrawn := x.new, x.kind == EventRemoved
	if withdrawn {
		image = x.old
	}
	return streamed.Record(streamed.Change{
		Core: c, Item: image, Withdrawn: withdrawn, Sequence: r.SequenceNumber, At: r.Time,
		Inserted: x.kind == Created || x.kind == Restored || x.kind == Appended || x.kind == EventChanged && x.old == nil, // it may be an append over an expired event
		Removed:  r.Operation == streamtypes.OperationTypeRemove,
	})
}

func decode[T any](c *engine.Core, r Record, x meaning) (Change[T], error) {
	change := Change[T]{Kind: x.kind, Record: r, entity: c.Schema.Name, recorded: stored(c, r, x)}
	s := c.Schema
	for _, side := range []struct {
		image   item.Item
		value   **T
		version *int64
	}{{x.old, &change.Old, &change.OldVersion}, {x.new, &change.New, &change.NewVersion}} {
		if side.image == nil {
			continue
		}
		stored, err := layout.Open(s, side.image)
		if err != nil {
			return change, err
		}
		var v T
		if err := c.ReadBy(&s.Codec, wire.Of(layout.State(s, stored.Item)), &v); err != nil {
			return change, err
		}
		change.Omitted = cmp.Or(bind.Omitted(s, stored.Item), change.Omitted)
		*side.value, *side.version = &v, layout.StoredVersion(s, stored.Item)
	}
	image := x.new
	if image == nil {
		image = x.old
	}
	if image == nil || x.part != deletedCopy && (x.part != snapshotItem || !layout.IsDeletedState(s, image)) {
		return change, nil
	}
	stored, err := layout.Open(s, image)
	if err != nil {
		return change, err
	}
	name, format := layout.DeletedAttr(s)
	at, err := format.FromValue(stored.Item[name])
	if err != nil {
		return change, &entity.DecodeError{Entity: s.Name, Attr: name, Problem: "it is not a time"}
	}
	change.DeletedAt = at
	return change, nil
}

// Item returns New, or Old if there is no New, for handlers that need the item's key. The error is an *[ImageError] if
// the view of the stream has neither.
func (c Change[T]) Item() (T, error) {
	for _, v := range []*T{c.New, c.Old} {
		if v != nil {
			return *v, nil
		}
	}
	var none T
	return none, c.missing("NewImage or OldImage")
}

// Current returns the current item after the change, for programs that keep a copy of it elsewhere. isCurrent is false
// if the change is about a related item. Otherwise item is the new state, or nil if the item was removed.
//
// It depends only on the records of the current item, whose order a DynamoDB stream guarantees; of those from Kinesis,
// keep the one with the latest Record.Time. The error is an *[ImageError] if the view of the stream leaves the new state out.
func (c Change[T]) Current() (item *T, isCurrent bool, err error) {
	if !c.Kind.ofItem() {
		return nil, false, nil
	}
	switch c.Kind {
	case Created, Updated, Restored:
		if c.New == nil {
			return nil, true, c.missing("NewImage")
		}
		return c.New, true, nil
	}
	return nil, true, nil
}

func (c Change[T]) missing(needs string) error {
	return &ImageError{Entity: c.entity, Operation: c.Record.Operation, View: c.Record.View, Needs: needs}
}
