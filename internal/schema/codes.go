package schema

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/dynastrata/dynastrata/entity/entitytype"
)

// Codes of declaration mistakes. docs/validation.md explains each; the numbers never change their meaning.
const (
	CodeNoKeyPart        = "EDD-9001"
	CodeUnknownAttr      = "EDD-9002"
	CodeMalformed        = "EDD-9003"
	CodePartOrder        = "EDD-9004"
	CodeUnknownTarget    = "EDD-9006"
	CodeSharedAttr       = "EDD-9007"
	CodeOrderByUnknown   = "EDD-9010"
	CodeOrderByKeyPart   = "EDD-9011"
	CodeSeriesVersioned  = "EDD-9012"
	CodeAppendRole       = "EDD-9013"
	CodeOrderByType      = "EDD-9014"
	CodeSeriesSoftDelete = "EDD-9015"
	CodeNoAppendField    = "EDD-9016"
	CodeMixedIndexKey    = "EDD-9017"
	CodeUniqueAppend     = "EDD-9018"

	CodeNoKeyDeclaration = "EDD-9030"
	CodeDuplicateName    = "EDD-9031"
	CodeKeyAttrCollision = "EDD-9032"
	CodeIndexShape       = "EDD-9033"
	CodeReservedAttr     = "EDD-9034"
	CodeRoleType         = "EDD-9035"
	CodeBadDuration      = "EDD-9036"
	CodeKeyPartType      = "EDD-9037"
	CodeRelatedKey       = "EDD-9038"
	CodeRelatedIndex     = "EDD-9039"
	CodeSharedTable      = "EDD-9040"
	CodeTTLAttr          = "EDD-9041"
	CodeAppendOmitEmpty  = "EDD-9042"
	CodeSeriesRole       = "EDD-9043"
	CodeDeletedAtRole    = "EDD-9044"
	CodeCodecOption      = "EDD-9045"
	CodeRoleTwice        = "EDD-9046"
	CodeHandle           = "EDD-9047"
	CodeNotStruct        = "EDD-9048"
	CodeTableKey         = "EDD-9049"
	CodeConfig           = "EDD-9050"
	CodeUnknownIndex     = "EDD-9051"
	CodeUnsupportedType  = "EDD-9052"
	CodeInterop          = "EDD-9053"
	CodeLowerCase        = "EDD-9054"
	CodeBind             = "EDD-9055"
	CodeVersionField     = "EDD-9060"
	CodeUniqueTable      = "EDD-9061"
	CodeUniquePolicy     = "EDD-9062"
	CodeExpiringEntity   = "EDD-9063"
	CodeMissingPart      = "EDD-9064"
	CodeStream           = "EDD-9067"
	CodeTableOptions     = "EDD-9068"
	CodeTableClient      = "EDD-9069"
	CodeLocalIndexes     = "EDD-9070"
	CodeProjected        = "EDD-9071"
	CodeProjectedPart    = "EDD-9072"
	CodeRule             = "EDD-9073"

	CodeExpiringClaim   = "EDD-9094"
	CodeExpiringHistory = "EDD-9095"

	CodeShards    = "EDD-9096"
	CodeNoCurrent = "EDD-9097"

	CodeTimelineName      = "EDD-9080"
	CodeTimelineVersion   = "EDD-9081"
	CodeTimelineSource    = "EDD-9082"
	CodeTimelineHandler   = "EDD-9083"
	CodeTimelineKey       = "EDD-9084"
	CodeTimelineState     = "EDD-9085"
	CodeTimelineRetention = "EDD-9086"
	CodeTimelinePage      = "EDD-9087"
	CodeTimelineUpgrade   = "EDD-9088"

	CodeTimelinePartitions = "EDD-9098"

	CodeNoTransactions = "EDD-9089"
	CodeNotReplicated  = "EDD-9090"

	CodeDefault  = "EDD-9091"
	CodeFillRole = "EDD-9092"
	CodePrepare  = "EDD-9093"

	CodeContextRole = "EDD-9099"

	CodeIndexShards = "EDD-9065"
	CodeShardedKey  = "EDD-9066"
	CodeShardedBy   = "EDD-9079"

	CodeDropped = "EDD-9275"

	CodeWhen         = "EDD-9074"
	CodeWhenConstant = "EDD-9075"
	CodeWhenAttr     = "EDD-9076"
	CodeWhenTwice    = "EDD-9077"
	CodeWhenSeries   = "EDD-9078"
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
