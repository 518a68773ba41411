package schema_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

func TestDeclaration_FieldsDoNotShareAnAttribute(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a"`
		B  string     `dynamodbav:"a"`
	}
	type Base struct {
		A string `dynamodbav:"a"`
	}
	type embedded struct {
		_ entity.Key `name:"Wrong" pk:"$#{id}"`
		Base
		ID string `dynamodbav:"id"`
		B  string `dynamodbav:"a"` // the codec would store one of the two in silence
	}
	type right struct {
		_  entity.Key `name:"Right" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a"`
		B  string     `dynamodbav:"A"` // DynamoDB tells case apart
		C  string     `dynamodbav:"-"`
		D  string     `dynamodbav:"-"`
	}
	refused[wrong](t, "EDD-9007", "B")
	refused[embedded](t, "EDD-9007", "B")
	accepted[right](t)
}

func TestDeclaration_LibraryAttributesAreNotTheModels(t *testing.T) {
	t.Parallel()
	type writeID struct {
		_  entity.Key `name:"Wrong" pk:"id"` // reserved for verbatim entities too
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"_w"`
	}
	type tableKey struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"pk"`
	}
	type verbatimKey struct {
		_  entity.Key `name:"Wrong" pk:"key={id}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"key"`
	}
	type indexKey struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		_  entity.GSI `name:"byA" index:"gsi1" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"gsi1pk"`
	}
	type expiry struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  int64      `dynamodbav:"_ttl"`
	}
	type kind struct {
		_  entity.Key `name:"Wrong" pk:"id" kind:"type=device"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"type"`
	}
	type stored struct {
		_  entity.Key `name:"Wrong" pk:"_k={id}"`
		ID string     `dynamodbav:"id"`
	}
	type reservedKind struct {
		_  entity.Key `name:"Wrong" pk:"id" kind:"_w=device"`
		ID string     `dynamodbav:"id"`
	}
	refused[writeID](t, "EDD-9034", "A")
	refused[tableKey](t, "EDD-9034", "A")
	refused[verbatimKey](t, "EDD-9034", "A")
	refused[indexKey](t, "EDD-9034", "A")
	refused[expiry](t, "EDD-9034", "A")
	refused[kind](t, "EDD-9034", theKey)
	refused[reservedKind](t, "EDD-9034", theKey)
	refused[stored](t, "EDD-9034", "")

	type right struct {
		_  entity.Key `name:"Right" pk:"pk" sk:"sk"` // native keys are the model's own
		PK string     `dynamodbav:"pk"`
		SK string     `dynamodbav:"sk"`
		A  string     `dynamodbav:"_v"`
		B  string     `dynamodbav:"gsi1pk"`
	}
	accepted[right](t)
}

func TestDeclaration_CodecOptionsAreKnown(t *testing.T) {
	t.Parallel()
	type unknown struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  string     `dynamodbav:"a,omitemtpy"`
	}
	type omitzero struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  time.Time  `dynamodbav:"a,omitzero"`
	}
	type twoSets struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  []string   `dynamodbav:"a,stringset,numberset"`
	}
	type Inner struct {
		A time.Time `dynamodbav:"a,omitzero"`
	}
	type nested struct {
		_     entity.Key `name:"Wrong" pk:"$#{id}"`
		ID    string     `dynamodbav:"id"`
		Inner Inner      `dynamodbav:"inner"`
	}
	type right struct {
		_  entity.Key `name:"Right" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  time.Time  `dynamodbav:"a,omitempty"`
		B  []string   `dynamodbav:"b,omitempty,stringset"`
		C  time.Time  `dynamodbav:"c" json:"c,omitzero"` // the tag of another package
	}
	refused[unknown](t, "EDD-9045", "A")
	refused[omitzero](t, "EDD-9045", "A")
	refused[twoSets](t, "EDD-9045", "A")
	refused[nested](t, "EDD-9045", "Inner")
	accepted[right](t)
}

func TestDeclaration_FieldTypesCanBeStored(t *testing.T) {
	t.Parallel()
	type channel struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  chan int   `dynamodbav:"a"`
	}
	type function struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  []func()   `dynamodbav:"a"`
	}
	type complexNumber struct {
		_  entity.Key            `name:"Wrong" pk:"$#{id}"`
		ID string                `dynamodbav:"id"`
		A  map[string]complex128 `dynamodbav:"a"`
	}
	type Inner struct {
		Deep *struct{ C chan int }
	}
	type nested struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		A  Inner      `dynamodbav:"a"`
	}
	type mapKey struct {
		_  entity.Key        `name:"Wrong" pk:"$#{id}"`
		ID string            `dynamodbav:"id"`
		A  map[[2]int]string `dynamodbav:"a"`
	}
	refused[channel](t, "EDD-9052", "A")
	refused[function](t, "EDD-9052", "A")
	refused[complexNumber](t, "EDD-9052", "A")
	refused[nested](t, "EDD-9052", "A")
	refused[mapKey](t, "EDD-9052", "A")

	type Tree struct {
		Name     string
		Children []*Tree
	}
	type right struct {
		_  entity.Key     `name:"Right" pk:"$#{id}"`
		ID string         `dynamodbav:"id"`
		A  Tree           `dynamodbav:"a"`
		B  map[int]any    `dynamodbav:"b"`
		C  chan int       `dynamodbav:"-"`
		D  [2]byte        `dynamodbav:"d"`
		E  *http.SameSite `dynamodbav:"e"`
		f  func()
	}
	_ = right{}.f
	accepted[right](t)
}

func TestDeclaration_NestedStructsCarryNoRoles(t *testing.T) {
	t.Parallel()
	type Inner struct {
		At time.Time `dynamodbav:"at" entity:"created_at"`
	}
	type wrong struct {
		_     entity.Key `name:"Wrong" pk:"$#{id}"`
		ID    string     `dynamodbav:"id"`
		Inner []Inner    `dynamodbav:"inner"`
	}
	refused[wrong](t, "EDD-9003", "Inner")
}

// hiddenBase is unexported: nothing outside this package, the codec included, can allocate a *hiddenBase in a struct.
type hiddenBase struct {
	A string `dynamodbav:"a"`
}

func TestDeclaration_EmbeddedPointerMustBeAllocatable(t *testing.T) {
	t.Parallel()
	type wrong struct {
		_ entity.Key `name:"Wrong" pk:"$#{id}"`
		*hiddenBase
		ID string `dynamodbav:"id"`
	}
	type right struct {
		_ entity.Key `name:"Right" pk:"$#{id}"`
		hiddenBase
		ID string `dynamodbav:"id"`
	}
	refused[wrong](t, "EDD-9052", "hiddenBase")
	accepted[right](t)
}

// SelfEmbedding is exported so that the embedded pointer could be filled.
type SelfEmbedding struct {
	*SelfEmbedding
	_  entity.Key `name:"Wrong" pk:"$#{id}"`
	ID string     `dynamodbav:"id"`
}

func TestDeclaration_StructDoesNotEmbedItself(t *testing.T) {
	t.Parallel()
	refused[SelfEmbedding](t, "EDD-9052", "SelfEmbedding")
}

func TestDeclaration_EntityIsAStruct(t *testing.T) {
	t.Parallel()
	type right struct {
		_  entity.Key `name:"Right" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
	}
	refused[*right](t, "EDD-9048", "")
	refused[map[string]any](t, "EDD-9048", "")
	refused[any](t, "EDD-9048", "")
	accepted[right](t)
}
