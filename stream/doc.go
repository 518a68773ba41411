// Package stream turns the records of a DynamoDB stream into typed changes. It reads the events that AWS Lambda passes to a
// function, or records that GetRecords of the SDK returned, and decodes items as the stores' reads do.
//
//	func handler(ctx context.Context, e stream.Event) (stream.Response, error) {
//		return stream.Handle(ctx, e,
//			stream.On(employees, func(ctx context.Context, c stream.Change[Employee]) error { … }),
//			stream.On(telemetry, func(ctx context.Context, c stream.Change[Telemetry]) error { … }, stream.Appended))
//	}
//
// A table holds more than current items: events, snapshots, deleted copies, sentinels, other entities. [Of] and [On] select
// the records of a store's items, each as a change with a [Kind]. Every mutation of an item is one change. The related items
// that the library stores with the item have kinds of their own.
//
//	kind             record                                       images that it needs
//	Created          INSERT of the current item                   none; New with lifecycle.SoftDelete
//	Restored         INSERT of the current item, marked _op       New
//	Updated          MODIFY of the current item                   none
//	Deleted          REMOVE of the current item                   none
//	CurrentRemoved   the same, with lifecycle.SoftDelete          none
//	Expired          the same, of one that had expired            none; Old in other Regions
//	SoftDeleted      INSERT of a deleted copy                     none
//	CopyRemoved      REMOVE of a deleted copy: restored, purged   none
//	CopyExpired      the same, of one that had expired            none; Old in other Regions
//	Appended         INSERT of an event                           none
//	EventRemoved     REMOVE of an event: removed, purged          none
//	EventExpired     the same, of one that had expired            none; Old in other Regions
//	SnapshotStored   INSERT of a snapshot                         none
//	SnapshotChanged  MODIFY of a snapshot: it gets its expiry     none
//	SnapshotRemoved  REMOVE of a snapshot: purged                 none
//	SnapshotExpired  the same, of one that had expired            none; Old in other Regions
//
// EventChanged, SnapshotChanged and CopyChanged are a MODIFY of an event, a snapshot and a copy: by migrate.Rewrite, which upgrades
// them, or by other programs. An append over an event that has expired is Appended; by a view without old images it is an EventChanged.
// A Delete marks the copy that was
// the newest before by its write id, and a late event the current item of its series; NEW_AND_OLD_IMAGES shows that nothing else
// changed, and such a record is no change. By another view it is a CopyChanged or Updated. "None" applies to `$` entities,
// whose keys identify their items, and to a verbatim entity that has its table to itself. A verbatim entity that shares its
// table (kind, a unique constraint, other entities), and any entity with Config.Interop, needs an image in every record. If another
// program adds or removes the entity name or kind of an item, it is Created or Deleted.
//
// An item that DynamoDB's time to live removed has expired, and so has one whose end was not after the time of the record when it was removed:
// the other Regions of a global table get the removal without the service's identity. A Purge of expired items looks the same.
//
// Images that the view of the stream leaves out are nil in the change. NEW_AND_OLD_IMAGES has all. NEW_IMAGE has only the
// key of removed items, OLD_IMAGE only the key of new ones, and KEYS_ONLY never has an item. If the kind is unknown, or a
// missing item is asked for, the error is an *[ImageError].
//
// A program outside Lambda runs a [Reader], which reads the shards, together with other processes, and keeps its checkpoints in the table.
//
// DynamoDB keeps the order of the records of one item, can deliver a record twice, and keeps records for 24 hours. [FromKinesis] takes
// those of a Kinesis stream, which are kept longer, have no order, and come more than once.
//
// The package is stable: before version 1.0.0 its API changes with a minor version only, and the change log says how.
package stream
