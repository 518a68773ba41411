package entity

import (
	"errors"
	"reflect"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
)

// UpgradeError has the fields Entity, From, Err and Redacted: a stored item has a payload version that cannot be read. Either a
// function of [Upgrade] returned an error, or no step reads the version, From, or it is later than the declaration of [Key]
// reads, because a later program has stored it.
type UpgradeError = entitytype.UpgradeError

// Upgrade converts items that were stored with payload version from, as declared by payload:"…" of [Key] at that time. Old
// is the struct of that version, and New that of version from+1: the Old of the next step, or the store's type if from+1 is
// the current version. Steps must not skip a version; [New] refuses them with EDD-9172. f must depend only on its argument.
//
// An attribute that the stored item does not have, and for which f gives a zero, stays absent, as that of a field declared since.
// A stored zero that f renames stays stored: where a zero stands under a name that today's struct lacks, f is called again with
// another value in its place, which shows what f makes of it.
//
// Every read returns upgraded items: Get, queries of tables and indexes, scans, batches, transactions, deleted copies and histories, and so
// do streams. Functions given to Modify, and writes that are planned from the stored item, see the upgraded item. The first write of an
// item of an earlier version stores it upgraded before it does what was asked, which costs a read and a write more, once, and makes no new
// version. The unique values that the item has claimed move with it; nothing else is claimed. If Old has other fields for a
// unique.Constraint, it must declare it as it was. Filters of queries are evaluated by DynamoDB on what is stored.
//
// The primary key, versions, timestamps and the expiry stay as stored, whatever f returns. If an attribute with the role
// version, created_at, updated_at or deleted_at gets another name or format, the field of Old must have the role too; the
// format of deleted_at, which is in the keys of deleted copies, must stay. A store with upgrades needs a `$` key, and indexes
// that carry whole items. Timelines of a series need timeline.Upgrade. migrate.Rewrite upgrades all stored items.
func Upgrade[Old, New any](from int, f func(Old) (New, error)) StoreOption {
	return bind.Option{Setting: func(o *bind.Options) {
		if f == nil {
			o.Add(errors.New("Upgrade needs a function"))
			return
		}
		o.Upgrades = append(o.Upgrades, bind.Upgrade{
			From: from, Old: reflect.TypeFor[Old](), New: reflect.TypeFor[New](), Apply: func(old any) (any, error) { return f(old.(Old)) },
		})
	}}
}
