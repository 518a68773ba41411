package schema

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/dynastrata/dynastrata/entity/entitytype"
)

// Codes of declaration mistakes. The numbers never change their meaning. The comment of each is its line in docs/codes.md: the cause, the
// remedy, and the page of its feature.
const (
	CodeNoKeyPart        = "EDD-9001" // no key part comes from the struct: name an attribute in `pk` or `sk` [entities]
	CodeUnknownAttr      = "EDD-9002" // a key or `project` names an unknown attribute: use the name in its `dynamodbav` tag [entities]
	CodeMalformed        = "EDD-9003" // a tag breaks the grammar, or is in a wrong place: see the position in the sentence [tags]
	CodePartOrder        = "EDD-9004" // a query skips a part of the sort key: fix parts from left to right, then one range [reading]
	CodeUnknownTarget    = "EDD-9006" // a query names what is no key part: use `entity.Filter`, or an index [reading]
	CodeSharedAttr       = "EDD-9007" // two fields have one attribute: rename one, or tag it `dynamodbav:"-"` [values]
	CodeOrderByUnknown   = "EDD-9010" // `orderBy` names an unknown attribute: correct the name [series]
	CodeOrderByKeyPart   = "EDD-9011" // `orderBy` is in the primary key: leave it out [series]
	CodeSeriesVersioned  = "EDD-9012" // a series is also versioned: keep one [series]
	CodeAppendRole       = "EDD-9013" // a key part has `append`, or `orderBy` is optional: drop the role, use a plain field [series]
	CodeOrderByType      = "EDD-9014" // the type of `orderBy` has no order: use a time, integer, string or `entity:"text=ordered"` [series]
	CodeSeriesSoftDelete = "EDD-9015" // a series also has soft delete: keep one [series]
	CodeNoAppendField    = "EDD-9016" // no field has the role `append`: tag what devices report [series]
	CodeMixedIndexKey    = "EDD-9017" // an append cannot compose an index key: do not mix appended and enriched fields [series]
	CodeEventID          = "EDD-9019" // `id` of a series is unknown, optional, or no string or integer; in a shared table: name a plain field [series]
	CodeUniqueAppend     = "EDD-9018" // a unique constraint of a series names append fields or key parts alone: use enrichment [series]

	CodeNoKeyDeclaration = "EDD-9030" // no `entity.Key`, or several: declare exactly one [entities]
	CodeDuplicateName    = "EDD-9031" // a name of an index, or of an entity on the table, is taken: rename, or use `entity.Named` [entities]
	CodeKeyAttrCollision = "EDD-9032" // two keys, or a key and `kind`, share an attribute: store one elsewhere [entities]
	CodeIndexShape       = "EDD-9033" // two entities declare one index differently: make them agree, or use another index [indexes]
	CodeReservedAttr     = "EDD-9034" // an attribute is reserved for the library: rename it [entities]
	CodeRoleType         = "EDD-9035" // a role does not fit its field: change the type, or drop the role [tags]
	CodeBadDuration      = "EDD-9036" // a duration is not above zero: leave the key out [tags]
	CodeKeyPartType      = "EDD-9037" // the type, width or `lower` of a key part does not fit: use a string, integer, bool or time [entities]
	CodeRelatedKey       = "EDD-9038" // copies and events need a sort key that begins with `$`: add `sk:"$"` [entities]
	CodeRelatedIndex     = "EDD-9039" // an index would hold copies, as its key is their attribute: use `pk:"gsi1pk={attr}"` [indexes]
	CodeSharedTable      = "EDD-9040" // verbatim entities of a table are indistinguishable: give each a `kind` [entities]
	CodeTTLAttr          = "EDD-9041" // a table would have two TTL attributes: make `Config.TTL` and each `attr` agree [expiry]
	CodeAppendOmitEmpty  = "EDD-9042" // an append field with `omitempty` cannot report zero: use a pointer, or drop `omitempty` [series]
	CodeSeriesRole       = "EDD-9043" // a series has a role that contradicts it: drop the role [series]
	CodeDeletedAtRole    = "EDD-9044" // `deleted_at` without soft delete: declare it, or drop the role [soft-delete]
	CodeCodecOption      = "EDD-9045" // a codec option is unknown or does not fit the field: correct the option, or the type [values]
	CodeRoleTwice        = "EDD-9046" // two fields have a role that only one can have: keep one [tags]
	CodeHandle           = "EDD-9047" // the struct needs another constructor or declaration: use what the sentence names [entities]
	CodeNotStruct        = "EDD-9048" // the type is not a struct: use `entity.New[Employee]`, not a pointer [entities]
	CodeTableKey         = "EDD-9049" // keys of a table disagree, or an existing table differs: make them agree [tables]
	CodeConfig           = "EDD-9050" // a field of `entity.Config` is wrong, or an entity has no table: correct the field [entities]
	CodeUnknownIndex     = "EDD-9051" // no index has that name: use `name` of the tag; `Deleted.Index` for deleted copies [indexes]
	CodeUnsupportedType  = "EDD-9052" // a type cannot be stored and read back: change it, or tag it `dynamodbav:"-"` [values]
	CodeInterop          = "EDD-9053" // a shared table cannot hold a part of the declaration: drop it, or use milliseconds [sharing]
	CodeLowerCase        = "EDD-9054" // `orderBy` is a string where keys are in lower case: order by time or integer [sharing]
	CodeBind             = "EDD-9055" // a field or option given to `entity.Bind` does not fit: keep only handles in the struct [entities]
	CodeVersionField     = "EDD-9060" // `Lock` or `Retain` without a version: give an integer field the role `version` [versions]
	CodeUniqueTable      = "EDD-9061" // the table cannot store claims, its keys are not two strings: add `sk:"$"` [unique]
	CodeUniquePolicy     = "EDD-9062" // soft delete has `unique`, but the struct no constraint: leave `unique` out, or declare one [soft-delete]
	CodeExpiringEntity   = "EDD-9063" // `lifecycle.TTL` does not fit soft delete, a series or a key: drop one, or copy the attribute [expiry]
	CodeMissingPart      = "EDD-9064" // `missing:"error"` on a part that items necessarily lack: leave it out [indexes]
	CodeStream           = "EDD-9067" // entities of one table need different streams: make them agree on `stream:"both"` [streams]
	CodeTableOptions     = "EDD-9068" // `Config.TableOptions` does not fit the declarations: name tables and indexes as the tags do [tables]
	CodeTableClient      = "EDD-9069" // the client lacks calls that `tables.Create` needs: use a `*dynamodb.Client` [tables]
	CodeLocalIndexes     = "EDD-9070" // a table would have over 5 local indexes: declare one as `entity.GSI` [indexes]
	CodeProjected        = "EDD-9071" // indexes carry over 20 attributes each, or 100 in all: use `project:"all"`, or fewer [indexes]
	CodeProjectedPart    = "EDD-9072" // an index does not carry a key part kept in lower case: add it to `project` [indexes]
	CodeRule             = "EDD-9073" // `Config.Validator` panics on a `validate` tag: correct it, or register the rule first [entities]

	CodeExpiringClaim   = "EDD-9094" // items and claims expire, but `ttl` or the shared table contradicts: drop one [expiry]
	CodeExpiringHistory = "EDD-9095" // items expire, but not their snapshots: give `versioned.Retain` a `ttl`; no shared table [expiry]

	CodeShards    = "EDD-9096" // `shards` of a series is not 2 to 100, or its `pk` without `$`: `pk:"$#{deviceId}"` [series]
	CodeNoCurrent = "EDD-9097" // a series without current item has what only that holds: tag it `append`, or drop `current` [series]

	CodeTimelineName      = "EDD-9080" // a timeline's name is malformed or taken: a letter, then letters, digits, `_`, `-`; at most 64 [timelines]
	CodeTimelineVersion   = "EDD-9081" // a timeline has no version, or a negative bound: `Version: 1`, plus one per change [timelines]
	CodeTimelineSource    = "EDD-9082" // a timeline's source is missing, twice, without times or with a wrong option: see the sentence [timelines]
	CodeTimelineHandler   = "EDD-9083" // a handler's event is unknown, twice, nil or of another type: correct the name [timelines]
	CodeTimelineKey       = "EDD-9084" // a group key or `PartitionKey` has a wrong type: use a scalar, or a struct of scalars [timelines]
	CodeTimelineState     = "EDD-9085" // a state would read back differently: export fields that can be stored [timelines]
	CodeTimelineRetention = "EDD-9086" // `Retention` has part seconds or outlives a source: at most the sources' shortest `ttl` [timelines]
	CodeTimelinePage      = "EDD-9087" // page sizes contradict: from 1 to `MaxPageSize`, at most 1000 [timelines]
	CodeTimelineUpgrade   = "EDD-9088" // upgrades of a source skip a payload version: one `timeline.Upgrade` per stored version [timelines]

	CodeTimelinePartitions = "EDD-9098" // the partitions of rows are out of bounds: from 1 to 100 [timelines]

	CodeNoTransactions = "EDD-9089" // with `MRSC` a feature needs transactions: drop it, or use `MREC` [tables]
	CodeNotReplicated  = "EDD-9090" // with `MRSC` no items expire and no local index exists: delete by a scan; use `entity.GSI` [tables]

	CodeDefault  = "EDD-9091" // `default=` does not fit its field: correct the constant, or use `Prepare` [entities]
	CodeFillRole = "EDD-9092" // a field cannot have a default or id: drop a role; ids need a string or `[16]byte` [entities]
	CodePrepare  = "EDD-9093" // two embedded structs have `Prepare`: write one for the struct that calls them [entities]

	CodeContextRole = "EDD-9099" // a `context` field is no string, in an index key, or without `Config.FromContext`: set it [timestamps]

	CodeIndexShards = "EDD-9065" // `shards` of an index is not 2 to 100, or the table is shared: correct it, or leave it out [indexes]
	CodeShardedKey  = "EDD-9066" // an index with `shards` has a key stored as it is: use `pk:"$#{status}"` [indexes]
	CodeShardedBy   = "EDD-9079" // `shards` need keys with one text, not fractions: use an integer, text or bytes [indexes]

	CodeDropped = "EDD-9275" // the codec would drop a field or part of it: make it a named field [values]

	CodeWhen         = "EDD-9074" // an index cannot have a condition: give it a key of its own; drop `missing`, `Interop` [indexes]
	CodeWhenConstant = "EDD-9075" // a constant in `when` does not fit its attribute: correct the constant [indexes]
	CodeWhenAttr     = "EDD-9076" // `when` names a secret, or what is always set or set by the library: use another attribute [indexes]
	CodeWhenTwice    = "EDD-9077" // `when` has two clauses for an attribute, or a constant twice: write `status=open|pending` [indexes]
	CodeWhenSeries   = "EDD-9078" // an append cannot decide `when`: use fields that every event reports, or enrichment alone [series]
)

// Error is one mistake in a declaration.
type Error = entitytype.SchemaError

// problems collects the mistakes of one type.
type problems struct {
	typ  reflect.Type
	errs []error
}

func (p *problems) add(code, field, format string, args ...any) *Error {
	e := &Error{Code: code, Type: p.typ.String(), Field: field, Problem: fmt.Sprintf(format, args...)}
	p.errs = append(p.errs, e)
	return e
}

func (p *problems) err() error { return errors.Join(p.errs...) }
