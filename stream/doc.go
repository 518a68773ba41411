// Package stream turns the records of a DynamoDB stream into typed changes: what AWS Lambda hands a function, or what
// GetRecords of the SDK returns, decoded as the stores' reads decode items.
//
//	func handler(ctx context.Context, e stream.Event) (stream.Response, error) {
//		return stream.Handle(ctx, e,
//			stream.On(employees, func(ctx context.Context, c stream.Change[Employee]) error { … }),
//			stream.On(telemetry, func(ctx context.Context, c stream.Change[Telemetry]) error { … }, stream.Appended))
//	}
//
// A table holds more than current items: events, snapshots, deleted copies, sentinels, other entities. [Of] and [On] give a
// store what is its own, each change with the [Kind] of what happened. Every mutation of an item is one change; what the
// library stores beside the item has kinds of its own, for those who want them.
//
//	kind             record                                       images that it needs
//	Created          INSERT of the current item                   none; New with lifecycle.SoftDelete
//	Restored         INSERT of the current item, marked _op       New
//	Updated          MODIFY of the current item                   none
//	Deleted          REMOVE of the current item                   none
//	Moved            the same, with lifecycle.SoftDelete          none
//	Expired          the same, by DynamoDB's time to live         none
//	SoftDeleted      INSERT of a deleted copy                     none
//	CopyRemoved      REMOVE of a deleted copy: restored, purged   none
//	CopyExpired      the same, by DynamoDB's time to live         none
//	Appended         INSERT of an event                           none
//	EventRemoved     REMOVE of an event: purged                   none
//	EventExpired     the same, by DynamoDB's time to live         none
//	SnapshotStored   INSERT of a snapshot                         none
//	SnapshotChanged  MODIFY of a snapshot: it gets its expiry     none
//	SnapshotRemoved  REMOVE of a snapshot: purged                 none
//	SnapshotExpired  the same, by DynamoDB's time to live         none
//
// EventChanged and CopyChanged, MODIFY of an event and of a copy, are the work of other programs. "None" is about `$`
// entities, whose keys tell what lies where, and about a verbatim entity that has its table to itself. One that shares its
// table (kind, a unique constraint, other entities), and any entity with Config.Interop, needs one image in every record.
//
// What a view leaves out is nil in the change. NEW_AND_OLD_IMAGES carries all. NEW_IMAGE has nothing but the key of what was
// removed; OLD_IMAGE has nothing but the key of what is new, and under KEYS_ONLY there is no item at all. Where the kind
// is unknown, or an item is asked for that is not there, the error is an *[ImageError].
//
// DynamoDB keeps the order of the records of one item, can deliver a record twice, and forgets after 24 hours.
package stream
