package schema_test

import (
	"encoding/json"
	"math/big"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

// uid is an array of bytes, as uuid.UUID is: attributevalue stores it as binary.
type uid [4]byte

func (u uid) MarshalText() ([]byte, error)     { return []byte(string(u[:])), nil }
func (u *uid) UnmarshalText(text []byte) error { copy(u[:], text); return nil }

func TestDeclaration_TextTypesAsKeyParts(t *testing.T) {
	t.Parallel()
	type primary struct { // no item can have it otherwise
		_  entity.Key `name:"A" pk:"$#{id}" sk:"at={addr}"`
		_  entity.GSI `name:"x" index:"gsi1" pk:"$#{n}" sk:"addr"`
		ID uid        `dynamodbav:"id" entity:"zero"`
		A  netip.Addr `dynamodbav:"addr"`
		N  *big.Int   `dynamodbav:"n,omitempty"`
	}
	type native struct {
		_  entity.Key `name:"A" pk:"id" sk:"addr"`
		ID uid        `dynamodbav:"id"`
		A  netip.Addr `dynamodbav:"addr"`
	}
	type chosen struct {
		_     entity.Key `name:"A" pk:"$#{id}" sk:"$"`
		_     entity.GSI `name:"x" index:"gsi1" pk:"$#{owner}" sk:"$#{ip}"`
		ID    string     `dynamodbav:"id"`
		Owner uid        `dynamodbav:"owner" entity:"text"`
		IP    net.IP     `dynamodbav:"ip" entity:"text=ordered"`
	}
	accepted[primary](t)
	accepted[native](t)
	accepted[chosen](t)

	type undecided struct { // stored as binary in items that may be there
		_     entity.Key `name:"A" pk:"$#{id}" sk:"$"`
		_     entity.GSI `name:"x" index:"gsi1" pk:"$#{owner}" sk:"$"`
		ID    string     `dynamodbav:"id"`
		Owner uid        `dynamodbav:"owner"`
	}
	refused[undecided](t, "EDD-9037", "_ entity.GSI")
	require.ErrorContains(t, alone[undecided](), `entity:"text"`)
}

func TestDeclaration_TextIsForTypesThatAreText(t *testing.T) {
	t.Parallel()
	type number struct {
		_  entity.Key `name:"A" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
		F  int        `dynamodbav:"f" entity:"text"`
	}
	type clock struct {
		_  entity.Key `name:"A" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
		F  time.Time  `dynamodbav:"f" entity:"text"`
	}
	type oneWay struct {
		_  entity.Key `name:"A" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
		F  sealed     `dynamodbav:"f" entity:"text"`
	}
	type option struct {
		_  entity.Key `name:"A" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
		F  netip.Addr `dynamodbav:"f,nullempty"`
	}
	type order struct {
		_  entity.Key `name:"A" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
		F  netip.Addr `dynamodbav:"f" entity:"secret=ordered"`
	}
	for _, err := range []error{alone[number](), alone[clock](), alone[oneWay]()} {
		require.ErrorContains(t, err, "EDD-9035")
	}
	require.ErrorContains(t, alone[option](), "EDD-9045")
	require.ErrorContains(t, alone[order](), "EDD-9003")
}

// A text whose order is its own cannot order events.
func TestDeclaration_MixedTextCannotOrderEvents(t *testing.T) {
	t.Parallel()
	type mixed struct {
		_  entity.Key        `name:"A" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At uid               `dynamodbav:"at" entity:"text"`
		V  int               `dynamodbav:"v" entity:"append"`
	}
	type ordered struct {
		_  entity.Key        `name:"A" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At uid               `dynamodbav:"at" entity:"text=ordered"`
		V  int               `dynamodbav:"v" entity:"append"`
	}
	refused[mixed](t, "EDD-9014", "_ timeseries.Events")
	accepted[ordered](t)
}

// The text of a number has many forms: in a template it is refused, by itself it is a number.
func TestDeclaration_NumbersInTextAreNoPartsOfTemplates(t *testing.T) {
	t.Parallel()
	type dollar struct {
		_  entity.Key  `name:"A" pk:"$#{id}" sk:"$"`
		ID json.Number `dynamodbav:"id"`
	}
	type verbatim struct {
		_  entity.Key            `name:"A" pk:"pk=N{id}"`
		ID attributevalue.Number `dynamodbav:"id"`
	}
	type native struct {
		_  entity.Key            `name:"A" pk:"id" sk:"at"`
		ID json.Number           `dynamodbav:"id"`
		At attributevalue.Number `dynamodbav:"at"`
	}
	refused[dollar](t, "EDD-9037", "_ entity.Key")
	refused[verbatim](t, "EDD-9037", "_ entity.Key")
	accepted[native](t)
}
