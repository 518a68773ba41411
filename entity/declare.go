package entity

import (
	"context"

	"github.com/dynastrata/dynastrata/internal/schema"
)

// Key declares a struct as an entity, in the tag of a blank field:
//
//	_ entity.Key `name:"Telemetry" pk:"$#{channel}#{deviceId}" sk:"$"`
//
// name is the stable name of the entity in keys and in every item. pk and sk are the primary key; sk is optional. table is the logical name
// of the entity's table, which [Config].Tables maps. kind:"attr=value" distinguishes the items of a verbatim entity from others in its
// table. payload is the payload version, default 1. An item of a later one, which another program has stored, is refused by reads and
// writes with an [*UpgradeError], up to the version in reads, which the struct can read and write too. stream is the view that readers of
// the table's stream need: "new" or "old" image, "both", or "keys"; by default none.
//
// A key text is one of: a template that begins with $ and gets a prefix of namespace and entity name; attr={template}, stored as it is in
// attr; attr, an attribute of the struct that is the key itself; a+b, several of them (indexes only).
type Key struct{ _ keyDecl }

// GSI declares a global secondary index, in the tag of a blank field:
//
//	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenantId}" sk:"$#{department}#{employeeId}"`
//
// name is the argument of [Store.Index], index the name in DynamoDB. project is "all" (default), "keys", or a list of attributes; the
// fields that make up its keys and those of the table are always read, from the keys. Each of the two index keys is stored if all its parts
// are present. An item that lacks a part, or has an empty one, is left out of the index without an error. With missing:"error" a write that
// would leave the item out is an *[InputError] that names the index and the part, as if each part had the role required.
//
// shards:"4" spreads the items of each partition over that many, 2 to 100, by a hash of their primary keys, for a partition that
// outgrows the 1,000 write units a second that DynamoDB gives it. pk must be a template. A write costs what it costs without shards.
// [Index.Query] reads all of them as one query, like [Index.QueryAny]: at least one request for each shard, and for each page.
// To change the number, see docs/evolution.md.
//
// when is a condition under which an item is in the index, such as when:"status=open|pending,assignee,!closedAt": status has
// one of the constants, assignee is present, and closedAt is absent. A constant is written as one of the role default. Every
// write keeps the index as the condition says. An Update reads the item first only if that follows neither from its changes
// nor from the key. One key of the index must begin with $ or be attr={template}: an item outside the index lacks it.
type GSI struct{ _ gsiDecl }

// LSI declares a local secondary index, in the tag of a blank field:
//
//	_ entity.LSI `name:"byStatus" index:"lsi1" sk:"status"`
//
// missing:"error" and when are as for [GSI].
type LSI struct{ _ lsiDecl }

// The declarations that the fields of these types are.
type (
	keyDecl struct{}
	gsiDecl struct{}
	lsiDecl struct{}
)

func (keyDecl) Declare(d *schema.Decl) { d.Primary() }
func (keyDecl) PrimaryKey()            {}
func (gsiDecl) Declare(d *schema.Decl) { d.Global() }
func (lsiDecl) Declare(d *schema.Decl) { d.LocalIndex() }

// Index says that the declaration is one of an index; upgrades read those of earlier structs.
func (gsiDecl) Index() {}
func (lsiDecl) Index() {}

// Preparer is implemented by a *T that completes values of T before they are written. Create, Put, Upsert, PutMany and
// BatchPut call Prepare once, also in a transaction, with the context of the call and before any request. They call it on
// a copy of the given value that has its defaults, then generate the ids of fields that are still empty, and then validate.
// No other verb calls it: Update, Modify and Revert change a stored item, Restore returns one, and an Append writes a part
// of one. So a change of what an attribute is derived from has to change that attribute too. In an Upsert, Prepare sees the
// default of an empty field also where the stored item keeps another value.
//
// An operation such as [Ops.Create] calls Prepare when it is run or [DB.Transact] applies it, and not when it is printed. Run again, it
// writes the same value; if Prepare failed, it is called again. The copy shares nothing with the caller's value that is stored, so Prepare
// can change maps and slices; unexported fields and those with the tag dynamodbav:"-" are shared. A method with a value receiver is called,
// too, but cannot change anything. It is not called if it is promoted from an embedded pointer that is nil.
//
// An error is a *[PrepareError] with code EDD-9180 that wraps it, and nothing is written. A panic is not recovered.
type Preparer interface {
	Prepare(ctx context.Context) error
}
