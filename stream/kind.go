package stream

import "github.com/dynastrata/dynastrata/internal/plan"

// Kind says what a change did.
type Kind string

// Kinds of changes to a current item. Every mutation that the library makes of an item is exactly one of the first six;
// Moved comes beside SoftDeleted, or alone from a Purge.
const (
	Created     Kind = "created"      // a new item
	Updated     Kind = "updated"      // the item has another state: an update, a put over it, a touch, an append
	Deleted     Kind = "deleted"      // the item is gone for good
	SoftDeleted Kind = "soft deleted" // the item's deleted copy was stored; New is the copy
	Restored    Kind = "restored"     // a deleted copy became the item again
	Expired     Kind = "expired"      // DynamoDB removed the item because its time to live had passed
	// Moved says that the current item of an entity with lifecycle.SoftDelete has gone: to its deleted copy, of which
	// SoftDeleted tells, or, where there was none, by Purge. The two look the same in a stream.
	CurrentRemoved Kind = "current removed"
)

// Kinds of changes to what is stored with a current item.
const (
	Appended     Kind = "appended"      // an event of a series was stored, on time or late
	EventChanged Kind = "event changed" // by something else than this library, which never changes an event
	EventRemoved Kind = "event removed" // by Purge
	EventExpired Kind = "event expired" // its time to live had passed

	SnapshotStored  Kind = "snapshot stored"  // a state went into the history
	SnapshotChanged Kind = "snapshot changed" // the first snapshot of an item gets its time to live when its state has passed
	SnapshotRemoved Kind = "snapshot removed" // by Purge
	SnapshotExpired Kind = "snapshot expired" // its time to live had passed

	CopyChanged Kind = "copy changed" // by something else than this library, which never changes a deleted copy
	CopyRemoved Kind = "copy removed" // by a restore, or by Purge
	CopyExpired Kind = "copy expired" // its time to live had passed: the item can no longer be restored
)

// stratum is which of the items that make up an entity a record is about.
type itemPart string

const (
	currentItem  itemPart = ""
	eventItem    itemPart = plan.EventKind
	snapshotItem itemPart = plan.SnapshotKind
	deletedCopy  itemPart = plan.CopyKind
)

// kinds of changes to a satellite, in the order stored, changed, removed, expired.
var satelliteKinds = map[itemPart][4]Kind{
	eventItem:    {Appended, EventChanged, EventRemoved, EventExpired},
	snapshotItem: {SnapshotStored, SnapshotChanged, SnapshotRemoved, SnapshotExpired},
	deletedCopy:  {SoftDeleted, CopyChanged, CopyRemoved, CopyExpired},
}

// all are the kinds that a route can ask for.
var allKinds = map[Kind]bool{
	Created: true, Updated: true, Deleted: true, SoftDeleted: true, Restored: true, Expired: true, CurrentRemoved: true,
	Appended: true, EventChanged: true, EventRemoved: true, EventExpired: true,
	SnapshotStored: true, SnapshotChanged: true, SnapshotRemoved: true, SnapshotExpired: true,
	CopyChanged: true, CopyRemoved: true, CopyExpired: true,
}

// ofItem reports that k is about the current item itself, and not about what is stored with it.
func (k Kind) ofItem() bool {
	switch k {
	case Created, Updated, Deleted, Restored, Expired, CurrentRemoved:
		return true
	}
	return false
}
