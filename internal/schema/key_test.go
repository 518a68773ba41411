package schema_test

import (
	"testing"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

func TestDeclaration_PrimaryKeyNeedsAPart(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_  entity.Key `name:"Wrong" pk:"$" sk:"$#settings"`
		ID string     `dynamodbav:"id"`
	}
	type constants struct {
		_  entity.Key `name:"Constants" pk:"area=settings" sk:"kind2=all"`
		ID string     `dynamodbav:"id"`
	}
	type right struct {
		_  entity.Key `name:"Right" pk:"$" sk:"$#{id}"` // one part in either half is enough
		ID string     `dynamodbav:"id"`
	}
	refused[wrong](t, "EDD-9001", theKey)
	refused[constants](t, "EDD-9001", theKey)
	accepted[right](t)
}

func TestDeclaration_KeyNamesAttributesNotGoFields(t *testing.T) {
	t.Parallel()
	type prefixed struct {
		_        entity.Key `name:"Wrong" pk:"$#{DeviceID}"`
		DeviceID string     `dynamodbav:"deviceId"`
	}
	type verbatim struct {
		_        entity.Key `name:"Wrong" pk:"pk=device_{device}"`
		DeviceID string     `dynamodbav:"deviceId"`
	}
	type native struct {
		_        entity.Key `name:"Wrong" pk:"devices"`
		DeviceID string     `dynamodbav:"deviceId"`
	}
	type sort struct {
		_        entity.Key `name:"Wrong" pk:"deviceId" sk:"at"`
		DeviceID string     `dynamodbav:"deviceId"`
	}
	type right struct {
		_        entity.Key `name:"Right" pk:"$#{deviceId}#{Untagged}"`
		DeviceID string     `dynamodbav:"deviceId"`
		Untagged string     // its attribute has the field's name
	}
	refused[prefixed](t, "EDD-9002", theKey)
	refused[verbatim](t, "EDD-9002", theKey)
	refused[native](t, "EDD-9002", theKey)
	refused[sort](t, "EDD-9002", theKey)
	accepted[right](t)
}

func TestDeclaration_KeyTextFollowsTheGrammar(t *testing.T) {
	t.Parallel()
	type separator struct {
		_  entity.Key `name:"Wrong" pk:"${id}"`
		ID string     `dynamodbav:"id"`
	}
	type open struct {
		_  entity.Key `name:"Wrong" pk:"$#{id"`
		ID string     `dynamodbav:"id"`
	}
	type bare struct {
		_  entity.Key `name:"Wrong" pk:"{id}"`
		ID string     `dynamodbav:"id"`
	}
	type empty struct {
		_  entity.Key `name:"Wrong" pk:"id" sk:""`
		ID string     `dynamodbav:"id"`
	}
	type joined struct {
		_ entity.Key `name:"Wrong" pk:"a+b"` // only a GSI can have several
		A string     `dynamodbav:"a"`
		B string     `dynamodbav:"b"`
	}
	type right struct {
		_  entity.Key `name:"Right" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
	}
	refused[separator](t, "EDD-9003", theKey)
	refused[open](t, "EDD-9003", theKey)
	refused[bare](t, "EDD-9003", theKey)
	refused[empty](t, "EDD-9003", theKey)
	refused[joined](t, "EDD-9003", theKey)
	accepted[right](t)
}

func TestDeclaration_NameAndPartitionKeyMustBeThere(t *testing.T) {
	t.Parallel()
	type nameless struct {
		_  entity.Key `pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
	}
	type keyless struct {
		_  entity.Key `name:"Wrong" sk:"$#{id}"`
		ID string     `dynamodbav:"id"`
	}
	type misnamed struct {
		_  entity.Key `name:"Wrong#1" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
	}
	refused[nameless](t, "EDD-9003", theKey)
	refused[keyless](t, "EDD-9003", theKey)
	refused[misnamed](t, "EDD-9003", theKey)
}

func TestDeclaration_KindAndPayloadFollowTheGrammar(t *testing.T) {
	t.Parallel()
	type kind struct {
		_  entity.Key `name:"Wrong" pk:"id" kind:"device"`
		ID string     `dynamodbav:"id"`
	}
	type prefixedKind struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}" kind:"type=device"` // __edd_e__ tells it apart already
		ID string     `dynamodbav:"id"`
	}
	type word struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}" payload:"two"`
		ID string     `dynamodbav:"id"`
	}
	type none struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}" payload:"0"`
		ID string     `dynamodbav:"id"`
	}
	type right struct {
		_  entity.Key `name:"Right" pk:"id" kind:"type=device" payload:"2"`
		ID string     `dynamodbav:"id"`
	}
	type underscore struct {
		_  entity.Key `name:"Right" pk:"id" kind:"_type=device"` // existing tables have such attributes
		ID string     `dynamodbav:"id"`
	}
	refused[kind](t, "EDD-9003", theKey)
	refused[prefixedKind](t, "EDD-9003", "")
	refused[word](t, "EDD-9003", theKey)
	refused[none](t, "EDD-9003", theKey)
	accepted[right](t)
	accepted[underscore](t)
}

func TestDeclaration_ExactlyOnePrimaryKey(t *testing.T) {
	t.Parallel()
	type none struct {
		ID string `dynamodbav:"id"`
	}
	type two struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		_  entity.Key `name:"Other" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
	}
	type one struct {
		ID string     `dynamodbav:"id"`
		_  entity.Key `name:"Right" pk:"$#{id}"` // anywhere in the struct
	}
	refused[none](t, "EDD-9030", "")
	refused[two](t, "EDD-9030", theKey)
	accepted[one](t)
}

func TestDeclaration_KeyPartsAreScalars(t *testing.T) {
	t.Parallel()
	type float struct {
		_ entity.Key `name:"Wrong" pk:"$#{a}"`
		A float64    `dynamodbav:"a"`
	}
	type list struct {
		_ entity.Key `name:"Wrong" pk:"$#{a}"`
		A []string   `dynamodbav:"a"`
	}
	type nested struct {
		_ entity.Key         `name:"Wrong" pk:"$#{a}"`
		A struct{ B string } `dynamodbav:"a"`
	}
	type numberAsText struct {
		_ entity.Key `name:"Wrong" pk:"$#{a}"`
		A int        `dynamodbav:"a,string"` // stored as a string, whose order is not that of numbers
	}
	type nativeBool struct {
		_ entity.Key `name:"Wrong" pk:"a"`
		A bool       `dynamodbav:"a"`
	}
	type padded struct {
		_ entity.Key `name:"Wrong" pk:"$#{a:05}"`
		A string     `dynamodbav:"a"`
	}
	type lowered struct {
		_ entity.Key `name:"Wrong" pk:"$#{a|lower}"`
		A int        `dynamodbav:"a"`
	}
	refused[float](t, "EDD-9037", theKey)
	refused[list](t, "EDD-9037", theKey)
	refused[nested](t, "EDD-9037", theKey)
	refused[numberAsText](t, "EDD-9037", theKey)
	refused[nativeBool](t, "EDD-9037", theKey)
	refused[padded](t, "EDD-9037", theKey)
	refused[lowered](t, "EDD-9037", theKey)

	type name string
	type moment time.Time
	type right struct {
		_ entity.Key `name:"Right" pk:"$#{a}#{b:05}#{c}#{d}#{e|lower}#{f}#{g:013}"`
		A name       `dynamodbav:"a"`
		B int32      `dynamodbav:"b"`
		C uint64     `dynamodbav:"c"`
		D bool       `dynamodbav:"d" entity:"zero"`
		E *string    `dynamodbav:"e"`
		F moment     `dynamodbav:"f"`
		G time.Time  `dynamodbav:"g" entity:"time=unixms"`
	}
	type binary struct {
		_ entity.Key `name:"Right" pk:"a" sk:"b"`
		A []byte     `dynamodbav:"a"`
		B float64    `dynamodbav:"b"` // a native key keeps DynamoDB's number order
	}
	accepted[right](t)
	accepted[binary](t)
}

func TestDeclaration_PartitionAndSortKeyDiffer(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_  entity.Key `name:"Wrong" pk:"id" sk:"id"`
		ID string     `dynamodbav:"id"`
	}
	type right struct {
		_  entity.Key `name:"Right" pk:"id" sk:"at"`
		ID string     `dynamodbav:"id"`
		At string     `dynamodbav:"at"`
	}
	refused[wrong](t, "EDD-9049", theKey)
	accepted[right](t)
}

func TestDeclaration_LibraryFieldsAreNoKeyParts(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_       entity.Key `name:"Wrong" pk:"$#{id}" sk:"$#{created}"`
		ID      string     `dynamodbav:"id"`
		Created time.Time  `dynamodbav:"created" entity:"created_at"`
	}
	type right struct {
		_       entity.Key `name:"Right" pk:"$#{id}" sk:"$#{created}"`
		ID      string     `dynamodbav:"id"`
		Created time.Time  `dynamodbav:"created"`
	}
	refused[wrong](t, "EDD-9035", theKey)
	accepted[right](t)
}
