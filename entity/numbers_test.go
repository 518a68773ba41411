package entity_test

import (
	"encoding/json"
	"math/big"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// Amounts has decimals wherever a value can have one.
type Amounts struct {
	_ entity.Key `name:"Amounts" pk:"$#{id}" sk:"$"`

	ID      string                 `dynamodbav:"id"`
	Number  json.Number            `dynamodbav:"number"`
	Pointer *json.Number           `dynamodbav:"pointer"`
	List    []json.Number          `dynamodbav:"list"`
	Set     []json.Number          `dynamodbav:"set,numberset"`
	Map     map[string]json.Number `dynamodbav:"map"`
	Any     any                    `dynamodbav:"any"`
	Absent  json.Number            `dynamodbav:"absent,omitempty"`
	Integer *big.Int               `dynamodbav:"integer,omitempty"`
	Ratio   *big.Rat               `dynamodbav:"ratio,omitempty"`
	Float   *big.Float             `dynamodbav:"float,omitempty"`
}

func TestNumbers_AreStoredWithoutLoss(t *testing.T) {
	l, s := open[Amounts](t)
	n := json.Number("-12345678901234567890.123456789012345678")
	v := Amounts{
		ID: "a", Number: n, Pointer: &n, List: []json.Number{n, "1E+100"}, Set: []json.Number{n}, Map: map[string]json.Number{"k": n}, Any: map[string]any{"x": attributevalue.Number(n)},
		Integer: new(big.Int).Lsh(big.NewInt(1), 300), Ratio: big.NewRat(1, 3), Float: big.NewFloat(0.1),
	}
	l.OK(s.Create(l.Ctx, v))
	it, bySDK := l.Item("$app#v1#amounts#a", "$app#v1#amounts"), entity.Must(attributevalue.MarshalMap(v))
	for _, name := range []string{"number", "pointer", "set", "map"} {
		require.Equal(t, bySDK[name], it[name], name)
	}
	require.Equal(t, dbtest.S("1/3"), it["ratio"])
	got := entity.Must(s.Get(l.Ctx, v, entity.Consistent()))
	require.Equal(t, []any{n, n, v.Set, v.Map, v.Any}, []any{got.Number, *got.Pointer, got.Set, got.Map, got.Any})
	require.Equal(t, []string{v.Integer.String(), "1/3", "0.1"}, []string{got.Integer.String(), got.Ratio.String(), got.Float.String()})

	f := entity.Fields[Amounts]()
	got = entity.Must(s.Update(l.Ctx, v, entity.Set(&f.Number, "2.5"), entity.MapEntry(&f.Map, "k").Add("0.000000000000000001"),
		entity.Attr[json.Number]("absent").Add("12345678901234567890.1"), entity.If(entity.Lt(&f.Number, "-1"))))
	require.Equal(t, []json.Number{"2.5", "-12345678901234567890.123456789012345677", "12345678901234567890.1"}, []json.Number{got.Number, got.Map["k"], got.Absent})

	l.Sent()
	for name, change := range map[string]func(*Amounts){
		"an empty number":            func(v *Amounts) { v.Number = "" },
		"no number":                  func(v *Amounts) { v.List[0] = "x" },
		"39 digits":                  func(v *Amounts) { v.Number = n + "9" },
		"a float that is more exact": func(v *Amounts) { v.Float = new(big.Float).SetPrec(100).Quo(big.NewFloat(1), big.NewFloat(3)) },
	} {
		wrong := v
		wrong.List = []json.Number{"1"}
		change(&wrong)
		require.Equal(t, "EDD-9102", dbtest.InputCode(dbtest.ErrorOf(s.Put(l.Ctx, wrong))), name)
	}
	require.Empty(t, l.Operations())
	exact := v
	exact.Float = new(big.Float).SetPrec(100).SetInt64(7) // its text has the same value with less
	require.Zero(t, exact.Float.Cmp(entity.Must(s.Put(l.Ctx, exact)).Float))
}
