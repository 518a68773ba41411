package schema_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/declaretest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Types with a name of their own, for fields.
type (
	uid    [4]byte // attributevalue stores it as binary, as it does uuid.UUID
	name   string
	moment time.Time
	red    string // takes red only
	family struct {
		Name     string
		Children []*family
	}
)

func (h *red) UnmarshalText(text []byte) error {
	if *h = red(text); *h != "red" {
		return errors.New("not red")
	}
	return nil
}

func (u uid) MarshalText() ([]byte, error)     { return []byte(string(u[:])), nil }
func (u *uid) UnmarshalText(text []byte) error { copy(u[:], text); return nil }

var known = declaretest.Types{
	"entity.Key": reflect.TypeFor[entity.Key](), "entity.GSI": reflect.TypeFor[entity.GSI](), "entity.LSI": reflect.TypeFor[entity.LSI](),
	"timeseries.Events": reflect.TypeFor[timeseries.Events](), "versioned.Lock": reflect.TypeFor[versioned.Lock](), "versioned.Retain": reflect.TypeFor[versioned.Retain](),
	"lifecycle.SoftDelete": reflect.TypeFor[lifecycle.SoftDelete](), "lifecycle.TTL": reflect.TypeFor[lifecycle.TTL](), "unique.Constraint": reflect.TypeFor[unique.Constraint](),
	"quota": reflect.TypeFor[quota](), "retain": reflect.TypeFor[retain](), "softDelete": reflect.TypeFor[softDelete](), "schema.Declaration": reflect.TypeFor[schema.Declaration](),

	"time.Time": reflect.TypeFor[time.Time](), "http.SameSite": reflect.TypeFor[http.SameSite](), "big.Int": reflect.TypeFor[big.Int](),
	"net.IP": reflect.TypeFor[net.IP](), "netip.Addr": reflect.TypeFor[netip.Addr](),
	"json.Number": reflect.TypeFor[json.Number](), "attributevalue.Number": reflect.TypeFor[attributevalue.Number](),
	"time.Duration": reflect.TypeFor[time.Duration](), "red": reflect.TypeFor[red](), "level": reflect.TypeFor[level](),
	"name": reflect.TypeFor[name](), "moment": reflect.TypeFor[moment](), "stamp": reflect.TypeFor[stamp](), "Tree": reflect.TypeFor[family](),
	"uid": reflect.TypeFor[uid](), "sealed": reflect.TypeFor[sealed](), "money": reflect.TypeFor[boxed](),
}

// Every archive of declarations. A case is built and added to a table of its own; "joining X" is a table that holds X
// already, and "shared" a database that shares its tables.
func TestDeclarations(t *testing.T) {
	t.Parallel()
	declaretest.Run(t, "testdata/declarations/*.txt", known, func(t *testing.T, c declaretest.Case, where string) error {
		table, o := &schema.Table{Name: "t"}, options
		o.FromContext = func(context.Context, string) (string, bool) { return "", false }
		other, joining := strings.CutPrefix(where, "joining ")
		switch {
		case joining:
			require.NoError(t, declaretest.Declare(table, c.Lookup(t, other), o))
		case where == "shared":
			o.Profile, o.Precision = schema.NewProfile(true), key.Milli
		default:
			require.Empty(t, where, "an unknown place")
		}
		return declaretest.Declare(table, c.Type, o)
	})
}

// hiddenBase is unexported: nothing outside this package, the codec included, can allocate a *hiddenBase in a struct.
type hiddenBase struct {
	A string `dynamodbav:"a"`
}

// SelfEmbedding is exported so that the embedded pointer could be filled.
type SelfEmbedding struct {
	*SelfEmbedding
	_  entity.Key `name:"Wrong" pk:"$#{id}"`
	ID string     `dynamodbav:"id"`
}

// Declarations that reflect.StructOf cannot build: they embed an unexported type, themselves, or a type with methods.
func TestDeclaration_OfEmbeddedTypes(t *testing.T) {
	t.Parallel()
	type pointer struct {
		_ entity.Key `name:"Wrong" pk:"$#{id}"`
		*hiddenBase
		ID string `dynamodbav:"id"`
	}
	type value struct {
		_ entity.Key `name:"Right" pk:"$#{id}"`
		hiddenBase
		ID string `dynamodbav:"id"`
	}
	type number struct {
		_ entity.Key `name:"Wrong" pk:"$#{id}"`
		base
		ID string `dynamodbav:"id"`
	}
	_ = number{}.base
	type declaration struct {
		entity.Key `name:"Wrong" pk:"$#{id}"`
		ID         string `dynamodbav:"id"`
	}
	refused[pointer](t, "EDD-9052", "hiddenBase")
	refused[SelfEmbedding](t, "EDD-9052", "SelfEmbedding")
	refused[number](t, "EDD-9052", "base")
	checkMistakes[declaration](t, alone[declaration](), mistake{"EDD-9003", "Key"}, mistake{"EDD-9030", ""})
	require.NoError(t, alone[value]())
}

func TestDeclaration_JSONTagBesideADynamodbavTagIsNotBlamed(t *testing.T) {
	t.Parallel()
	type tagged struct {
		_    entity.Key `name:"Wrong" pk:"$#{label}" sk:"$"`
		Name string     `json:"label" dynamodbav:"name"`
	}
	require.NotContains(t, alone[tagged]().Error(), "json")
}

type (
	preparing     struct{ A string }
	preparingToo  struct{ B string }
	preparingBoth struct {
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		preparing
		preparingToo
	}
	preparingItself struct {
		_  entity.Key `name:"Right" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		preparing
		preparingToo
	}
	preparingOne struct {
		_  entity.Key `name:"Right" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		preparing
	}
	preparingByValue struct {
		_  entity.Key `name:"Right" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
	}
	anotherPrepare struct {
		_  entity.Key `name:"Right" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		preparing
	}
)

func (*preparing) Prepare(context.Context) error       { return nil }
func (*preparingToo) Prepare(context.Context) error    { return nil }
func (*preparingItself) Prepare(context.Context) error { return nil }
func (preparingByValue) Prepare(context.Context) error { return nil }
func (*anotherPrepare) Prepare() error                 { return nil }

func TestDeclaration_PrepareIsPromotedFromOneEmbeddedStruct(t *testing.T) {
	t.Parallel()
	refused[preparingBoth](t, "EDD-9093", "")
	for typ, prepares := range map[reflect.Type]bool{
		reflect.TypeFor[preparingItself](): true, reflect.TypeFor[preparingOne](): true, reflect.TypeFor[preparingByValue](): true,
		reflect.TypeFor[anotherPrepare](): false,
	} {
		s, err := schema.Build(typ, options)
		require.NoError(t, err, typ)
		require.Equal(t, prepares, s.Prepares, typ)
	}
}
