package schema_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestDeclaration_UnknownRoleIsRefused(t *testing.T) {
	t.Parallel()
	type unknown struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a" entity:"require"`
	}
	type twice struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a" entity:"required,required"`
	}
	type empty struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a" entity:""`
	}
	type format struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  time.Time  `dynamodbav:"a" entity:"time=minutes"`
	}
	type contradiction struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  time.Time  `dynamodbav:"a,unixtime" entity:"time=ms"`
	}
	type right struct {
		_  entity.Key `name:"Right" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a" entity:"required,secret,immutable"`
		B  time.Time  `dynamodbav:"b,unixtime" entity:"time=unix"`
		C  time.Time  `dynamodbav:"c" entity:"set_once,time=ms"`
	}
	refused[unknown](t, "EDD-9003", "A")
	refused[twice](t, "EDD-9003", "A")
	refused[empty](t, "EDD-9003", "A")
	refused[format](t, "EDD-9003", "A")
	refused[contradiction](t, "EDD-9003", "A")
	accepted[right](t)
}

func TestDeclaration_RoleNeedsItsGoType(t *testing.T) {
	t.Parallel()
	type createdAt struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a" entity:"created_at"`
	}
	type updatedAt struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  int64      `dynamodbav:"a" entity:"updated_at"`
	}
	type version struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a" entity:"version"`
	}
	type smallVersion struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  int16      `dynamodbav:"a" entity:"version"`
	}
	type textVersion struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  int64      `dynamodbav:"a,string" entity:"version"` // text cannot be incremented
	}
	type format struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a" entity:"time=ms"`
	}
	type zero struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  []string   `dynamodbav:"a" entity:"zero"`
	}
	refused[createdAt](t, "EDD-9035", "A")
	refused[updatedAt](t, "EDD-9035", "A")
	refused[version](t, "EDD-9035", "A")
	refused[smallVersion](t, "EDD-9035", "A")
	refused[textVersion](t, "EDD-9035", "A")
	refused[format](t, "EDD-9035", "A")
	refused[zero](t, "EDD-9035", "A")

	type stamp time.Time
	type right struct {
		_  entity.Key `name:"Right" pk:"$#{id}" sk:"$#{n}"`
		ID string     `dynamodbav:"id"`
		N  int        `dynamodbav:"n" entity:"zero"`
		A  time.Time  `dynamodbav:"a" entity:"created_at,time=unixms"`
		B  *stamp     `dynamodbav:"b" entity:"updated_at"`
		C  uint32     `dynamodbav:"c" entity:"version"`
	}
	accepted[right](t)
}

func TestDeclaration_LibraryFieldsTakeNoOtherRole(t *testing.T) {
	t.Parallel()
	type required struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  time.Time  `dynamodbav:"a" entity:"created_at,required"`
	}
	type setOnce struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  int64      `dynamodbav:"a" entity:"version,set_once"`
	}
	type both struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  time.Time  `dynamodbav:"a" entity:"created_at,updated_at"` // one survives updates, the other moves
	}
	type right struct {
		_  entity.Key `name:"Right" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  time.Time  `dynamodbav:"a" entity:"created_at,secret"`
	}
	refused[required](t, "EDD-9035", "A")
	refused[setOnce](t, "EDD-9035", "A")
	refused[both](t, "EDD-9035", "A")
	accepted[right](t)
}

func TestDeclaration_LibraryRoleIsGivenToOneField(t *testing.T) {
	t.Parallel()
	type created struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  time.Time  `dynamodbav:"a" entity:"created_at"`
		B  time.Time  `dynamodbav:"b" entity:"created_at"`
	}
	type version struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  int64      `dynamodbav:"a" entity:"version"`
		B  int64      `dynamodbav:"b" entity:"version"`
	}
	type right struct {
		_  entity.Key `name:"Right" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  time.Time  `dynamodbav:"a" entity:"created_at"`
		B  time.Time  `dynamodbav:"b" entity:"updated_at"`
		C  string     `dynamodbav:"c" entity:"immutable"`
		D  string     `dynamodbav:"d" entity:"immutable"` // the caller's roles may repeat
	}
	refused[created](t, "EDD-9046", "B")
	refused[version](t, "EDD-9046", "B")
	accepted[right](t)
}

func TestDeclaration_AppendIsForTimeSeries(t *testing.T) {
	t.Parallel()
	type wrong struct { // no write of an ordinary store could ever change A
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a" entity:"append"`
	}
	found := mistakes(alone[wrong]())
	require.Len(t, found, 1)
	require.Equal(t, "A", found[0].Field)
}

func TestDeclaration_EmbeddedStructsCarryRoles(t *testing.T) {
	t.Parallel()
	type Stamps struct {
		CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
		UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
	}
	type right struct {
		_ entity.Key `name:"Right" pk:"$#{id}"`
		Stamps
		ID string `dynamodbav:"id"`
	}
	type pointer struct {
		_ entity.Key `name:"Right" pk:"$#{id}"`
		*Stamps
		ID string `dynamodbav:"id"`
	}
	type twice struct {
		_ entity.Key `name:"Wrong" pk:"$#{id}"`
		Stamps
		ID      string    `dynamodbav:"id"`
		Created time.Time `dynamodbav:"created" entity:"created_at"`
	}
	type Broken struct {
		CreatedAt string `dynamodbav:"createdAt" entity:"created_at"`
	}
	type inside struct {
		_ entity.Key `name:"Wrong" pk:"$#{id}"`
		Broken
		ID string `dynamodbav:"id"`
	}
	accepted[right](t)
	accepted[pointer](t)
	refused[twice](t, "EDD-9046", "Created")
	refused[inside](t, "EDD-9035", "Broken.CreatedAt")
}

func TestDeclaration_EmbeddedStructsDeclareNothing(t *testing.T) {
	t.Parallel()
	type Base struct {
		_  entity.GSI `name:"byA" index:"gsi1" pk:"$#{a}"`
		ID string     `dynamodbav:"id"`
	}
	type wrong struct {
		_ entity.Key `name:"Wrong" pk:"$#{id}"`
		Base
		A string `dynamodbav:"a"`
	}
	type WithKey struct {
		_  entity.Key `name:"Base" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
	}
	type hidden struct {
		WithKey
	}
	refused[wrong](t, "EDD-9003", "Base._")
	checkMistakes[hidden](t, alone[hidden](), mistake{"EDD-9003", "WithKey._"}, mistake{"EDD-9030", ""})
}

func TestDeclaration_DeletedAtNeedsSoftDelete(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
		At time.Time  `dynamodbav:"at,omitempty" entity:"deleted_at"`
	}
	type right struct {
		_  entity.Key `name:"Right" pk:"$#{id}" sk:"$"`
		_  softDelete
		ID string    `dynamodbav:"id"`
		At time.Time `dynamodbav:"at,omitempty" entity:"deleted_at"`
	}
	refused[wrong](t, "EDD-9044", "At")
	accepted[right](t)
}

func TestDeclaration_NotNullNeedsWhatCanBeEmpty(t *testing.T) {
	t.Parallel()
	type text struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a" entity:"notnull"`
	}
	type pointer struct {
		_  entity.Key      `name:"Wrong" pk:"$#{id}"`
		ID string          `dynamodbav:"id"`
		A  *map[string]int `dynamodbav:"a" entity:"notnull"`
	}
	type set struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  []string   `dynamodbav:"a,stringset" entity:"notnull"`
	}
	type binaries struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  [][]byte   `dynamodbav:"a" entity:"notnull"`
	}
	type bytes struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  []byte     `dynamodbav:"a" entity:"notnull"`
	}
	type omitted struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  []string   `dynamodbav:"a,omitempty" entity:"notnull"`
	}
	type once struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  []string   `dynamodbav:"a" entity:"notnull,set_once"`
	}
	type right struct {
		_  entity.Key     `name:"Right" pk:"$#{id}"`
		ID string         `dynamodbav:"id"`
		A  []string       `dynamodbav:"a" entity:"notnull"`
		B  map[string]any `dynamodbav:"b" entity:"notnull,secret"`
	}
	for _, check := range []func(*testing.T, string, string){
		refused[text], refused[pointer], refused[set], refused[binaries], refused[bytes], refused[omitted], refused[once],
	} {
		check(t, "EDD-9035", "A")
	}
	accepted[right](t)
}
