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
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/declaretest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// The codes stand in these tests as text: a number that changed its meaning must fail a test. Declarations of which
// only the mistakes matter are in testdata/declarations.

func open(t *testing.T) *entity.DB {
	t.Helper()
	return entity.Must(entity.Open(nil, entity.Config{Table: "t"}))
}

var options = declaretest.Options

// alone builds T and adds it to a table of its own.
func alone[T any]() error {
	return declaretest.Declare(&schema.Table{Name: "t"}, reflect.TypeFor[T](), options)
}

// mistakes returns every *entity.SchemaError in err's tree.
func mistakes(err error) []*entity.SchemaError {
	all, other := declaretest.Mistakes(err)
	if other != nil {
		return nil
	}
	return all
}

// mistake is what a test expects of a SchemaError.
type mistake struct{ code, field string }

// checkMistakes checks that err reports exactly want, in any order, all of them about T. The test goes on when not, so
// that one run shows every rule that is broken.
func checkMistakes[T any](t *testing.T, err error, want ...mistake) {
	t.Helper()
	checkMistakesOf(t, reflect.TypeFor[T]().String(), err, want)
}

func checkMistakesOf(t *testing.T, typ string, err error, want []mistake) {
	t.Helper()
	var first *entity.SchemaError
	if !errors.As(err, &first) {
		assert.Fail(t, "not refused", "%s must have %v, got %v", typ, want, err)
		return
	}
	var got []mistake
	for _, m := range mistakes(err) {
		assert.Equal(t, typ, m.Type)
		assert.NotEmpty(t, m.Problem)
		got = append(got, mistake{m.Code, m.Field})
	}
	assert.ElementsMatch(t, want, got, "%v", err)
}

// refused checks that T has exactly one mistake.
func refused[T any](t *testing.T, code, field string) {
	t.Helper()
	checkMistakes[T](t, alone[T](), mistake{code, field})
}

// theKey is how a SchemaError names that declaration.
const theKey = "_ entity.Key"

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
	"quota": reflect.TypeFor[quota](), "retain": reflect.TypeFor[retain](), "softDelete": reflect.TypeFor[softDelete](),

	"time.Time": reflect.TypeFor[time.Time](), "http.SameSite": reflect.TypeFor[http.SameSite](), "big.Int": reflect.TypeFor[big.Int](),
	"net.IP": reflect.TypeFor[net.IP](), "netip.Addr": reflect.TypeFor[netip.Addr](),
	"json.Number": reflect.TypeFor[json.Number](), "attributevalue.Number": reflect.TypeFor[attributevalue.Number](),
	"time.Duration": reflect.TypeFor[time.Duration](), "red": reflect.TypeFor[red](), "level": reflect.TypeFor[level](),
	"name": reflect.TypeFor[name](), "moment": reflect.TypeFor[moment](), "stamp": reflect.TypeFor[stamp](), "Tree": reflect.TypeFor[family](),
	"uid": reflect.TypeFor[uid](), "sealed": reflect.TypeFor[sealed](), "money": reflect.TypeFor[boxed](),
}

func TestDeclarations(t *testing.T) {
	t.Parallel()
	declaretest.Run(t, known)
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

// quota is a feature of a package that entity knows nothing of: this one.
type quota struct{ _ quotaDecl }

type quotaDecl struct{}

// quotaPlan is what a quota declaration compiles to.
type quotaPlan struct {
	attr    *schema.Attr
	window  time.Duration
	indexes int
	keyed   bool
}

func (quotaDecl) Declare(d *schema.Decl) {
	q := &quotaPlan{window: d.Duration("window")}
	if name, ok := d.Need("attr"); ok {
		q.attr = d.Schema.Attr(name)
	}
	q.keyed = d.Schema.PK != nil
	d.Keep(q)
	d.Check(func() { q.indexes = len(d.Schema.Indexes) })
}

func TestFeature_ReachesItsOwnPackageThroughTheSchema(t *testing.T) {
	t.Parallel()
	type metered struct {
		_    quota      `attr:"used" window:"1h30m"` // read after the key, wherever it stands
		_    entity.Key `name:"Metered" pk:"$#{id}"`
		_    entity.GSI `name:"byUsed" index:"gsi1" pk:"$#{used}"`
		ID   string     `dynamodbav:"id"`
		Used int        `dynamodbav:"used"`
	}
	s := schemaOf[metered](t)
	q, ok := schema.Feature[*quotaPlan](s)
	require.True(t, ok)
	require.Same(t, s.Attr("used"), q.attr)
	require.Equal(t, 90*time.Minute, q.window)
	require.True(t, q.keyed, "the key is compiled before the features")
	require.Equal(t, 1, q.indexes, "a Check sees the indexes declared behind it")

	_, ok = schema.Feature[*otherPlan](s)
	require.False(t, ok, "another package's feature is not declared")
}

type otherPlan struct{}

// Stand-ins for features of later packages: what counts is the name that their compiled form gives.
type (
	retain         struct{ _ retainDecl }
	softDelete     struct{ _ softDeleteDecl }
	retainDecl     struct{}
	softDeleteDecl struct{}
	named          struct{ name string }
)

func (n named) FeatureName() string { return n.name }

func (retainDecl) Declare(d *schema.Decl) {
	d.Keep(named{"versioned"})
	d.RelatedItems(len("#v#0000000"))
}

func (softDeleteDecl) Declare(d *schema.Decl) {
	d.Keep(named{"lifecycle"})
	d.RelatedItems(len("#deleted#2006-01-02T15:04:05.000000000Z"))
}
