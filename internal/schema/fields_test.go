package schema_test

import (
	"net/netip"
	"reflect"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

type (
	// Amount encodes itself, instant is a time by its kind.
	Amount    struct{ units int64 }
	instant   time.Time
	concealed struct {
		X string `dynamodbav:"x"`
	}
	Shared struct {
		X string `dynamodbav:"x"`
	}
	Other struct {
		X string `dynamodbav:"x"`
		Y string `dynamodbav:"y"`
	}
	Around struct{ *Around }
	locks  struct {
		locked
		n int
	}
	locked struct{ held bool }
)

func (Amount) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberNULL{Value: true}, nil
}

func (*Amount3) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberNULL{Value: true}, nil
}

func (Priced) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return &types.AttributeValueMemberNULL{Value: true}, nil
}

var _ = []any{Amount{}.units, locks{}.n, locks{}.held}

// tagged is a struct with a field A, whose tag go vet need not like.
func tagged(tag string) reflect.Type {
	return reflect.StructOf([]reflect.StructField{field("A", reflect.TypeFor[string](), tag)})
}

// What attributevalue would drop in a nested struct, or ignore of its tags, is a mistake of the declaration that names the place.
func TestDeclaration_NothingInsideAValueIsDropped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		inner any
		want  string // the code and the problem
	}{
		"twice": {struct {
			A string `dynamodbav:"x"`
			B string `dynamodbav:"x"`
		}{}, `EDD-9007 field A[].I.B of struct { A string "dynamodbav:\"x\""; B string "dynamodbav:\"x\"" }: the attribute "x" already belongs to field A`},
		"once by its name": {struct {
			X string
			B string `dynamodbav:"X"`
		}{}, `EDD-9007`},
		"promoted twice": {struct {
			Shared
			Other
		}{}, `EDD-9007 field A[].I.Other.X of struct { schema_test.Shared; schema_test.Other }: the attribute "x" already belongs to field Shared.X`},
		"promoted and its own": {struct {
			Shared
			X string `dynamodbav:"x"`
		}{}, `EDD-9007`},
		"promoted through one and through two": {struct {
			Shared
			Deep struct{ Other }
			*Other
		}{}, `EDD-9007`},
		"unterminated": {tagged(`dynamodbav:"a`), `EDD-9003 field A[].I.A of struct { A string "dynamodbav:\"a" }: the tag is malformed: the closing quote`},
		"joined":       {tagged(`json:"a"dynamodbav:"b"`), `EDD-9003`},
		"given twice":  {tagged(`dynamodbav:"a" dynamodbav:"b"`), `EDD-9003`},
		"unknown option": {struct {
			A string `dynamodbav:"a,omitempt"`
		}{}, `EDD-9045 field A[].I.A of struct { A string "dynamodbav:\"a,omitempt\"" }: dynamodbav: unknown option "omitempt"; there are omitempty, `},
		"promoted with an unknown option": {struct{ Tagged }{}, `EDD-9045 field A[].I.Tagged.A of`},
		"options of nothing": {struct {
			A string `dynamodbav:"-,omitempty"`
		}{}, `EDD-9045`},
		"in vain": {struct {
			a string `dynamodbav:"a,banana"`
			B int
		}{}, `EDD-9003`},
		"a role":                         {struct{ Roled }{}, `EDD-9003 field A[].I.Roled.A of`},
		"unexported with a name":         {hiddenNamed{}, `EDD-9275 field A[].I.concealed of schema_test.hiddenNamed: an embedded unexported type`},
		"unexported time":                {struct{ instant }{}, `EDD-9275`},
		"unexported pointer":             {hiddenPointed{}, `EDD-9052 field A[].I.concealed of`},
		"unexported pointer with a name": {hiddenPointedNamed{}, `EDD-9052`},
		"embeds itself":                  {Around{}, `EDD-9052 field A[].I.Around of schema_test.Around: the struct embeds itself`},
		"a time":                         {struct{ time.Time }{}, `EDD-9275 field A[].I.Time of struct { time.Time }: an embedded time`},
		"a pointer to a time":            {struct{ *time.Time }{}, `EDD-9275`},
		"text":                           {struct{ netip.Addr }{}, `EDD-9275`},
		"one that encodes itself":        {struct{ Amount2 }{}, ``},
		"two that encode themselves": {struct {
			Amount
			Amount3
		}{}, `EDD-9275 field A[].I.Amount of`},
		"one that encodes the other": {struct {
			Amount
			Amount2
		}{}, `EDD-9275`},
		"beside one that encodes itself": {struct {
			*Amount
			Note string
		}{}, `EDD-9275 field A[].I of struct { *schema_test.Amount; Note string }: the method that encodes`},
		"a pointer to it":          {new(Noted), `EDD-9275 field A[].I of schema_test.Noted`},
		"with a method of its own": {struct{ P Priced }{}, ``},
		"by the name of a field": {struct {
			Amount `dynamodbav:"amount"`
		}{}, ``},
		"only unexported content": {locks{}, `EDD-9052 field A[].I of struct`},
		"a pointer to any":        {new(any), `EDD-9052`},
		"an interface":            {struct{ S types.AttributeValue }{}, `EDD-9052`},
		"a deep channel":          {struct{ M map[string][]chan int }{}, `EDD-9052 field A[].I.M{}[] of struct { M map[string][]chan int }: values of type chan int`},
		"right": {struct {
			Shared
			*Tagless
			concealed
			time.Time `dynamodbav:"at"`
			Twice     Other
			Again     []Other
			a, b      string
			C         string `dynamodbav:"-"`
			D         string `json:"x"`
		}{}, `EDD-9007`}, // concealed, below
	} {
		inner, ok := c.inner.(reflect.Type)
		if !ok {
			inner = reflect.TypeOf(c.inner)
		}
		typ := reflect.SliceOf(reflect.StructOf([]reflect.StructField{field("I", inner, "")}))
		err := built(field("_", reflect.TypeFor[entity.Key](), `name:"T" pk:"$#{id}"`), field("ID", reflect.TypeFor[string](), `dynamodbav:"id"`), field("A", typ, ""))
		_, codecErr := schema.CodecOf(reflect.StructOf([]reflect.StructField{field("A", typ, "")}), schema.Options{Precision: key.Nano})
		if c.want == "" {
			assert.NoError(t, err, name)
			assert.NoError(t, codecErr, name)
			continue
		}
		found := mistakes(err)
		if assert.Len(t, found, 1, "%s: %v", name, err) {
			assert.Equal(t, "A", found[0].Field, name)
			assert.Contains(t, found[0].Code+" "+found[0].Problem, c.want, name)
		}
		assert.Len(t, mistakes(codecErr), 1, "%s, of a state or an earlier payload", name)
	}
}

type (
	Tagged struct {
		A string `dynamodbav:"a,omitempt"`
	}
	Tagless struct{ Y string }
	Roled   struct {
		A string `entity:"required"`
	}
	Amount2 struct{ Amount }
	Amount3 struct{ N int }
	Noted   struct {
		Note string
		Amount
	}
	Priced struct {
		Amount
		Note string
	}
	hiddenNamed struct {
		concealed `dynamodbav:"n"`
	}
	hiddenPointed      struct{ *concealed }
	hiddenPointedNamed struct {
		*concealed `dynamodbav:"n"`
	}
)

// The entity itself obeys the same rules.
func TestDeclaration_NothingOfTheEntityIsDropped(t *testing.T) {
	t.Parallel()
	type hidden struct {
		_         entity.Key `name:"T" pk:"$#{id}"`
		ID        string     `dynamodbav:"id"`
		concealed `dynamodbav:"n"`
	}
	type hiddenTime struct {
		_  entity.Key `name:"T" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		instant
	}
	type address struct {
		_  entity.Key `name:"T" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		netip.Addr
	}
	type amounts struct {
		_  entity.Key `name:"T" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		Amount
		Amount3
	}
	type right struct {
		_  entity.Key `name:"T" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		time.Time
		Kept    Shared
		Pointed *Other
		Shared
	}
	_ = []any{hidden{}.X, hiddenTime{}.instant}
	refused[hidden](t, "EDD-9275", "concealed")
	refused[hiddenTime](t, "EDD-9275", "instant")
	refused[address](t, "EDD-9275", "Addr")
	checkMistakes[amounts](t, alone[amounts](), mistake{"EDD-9275", "Amount"}, mistake{"EDD-9275", "Amount3"})
	require.NoError(t, alone[right](), "the codec stores an embedded time of the entity itself")
	m := dbtest.As[*entity.SchemaError](t, alone[hidden]())
	require.Equal(t, "EDD-9275 schema_test.hidden.concealed: an embedded unexported type is stored neither under a name of its own nor as a time; "+
		"export the type, or make it a field with an exported name", m.Error())
}
