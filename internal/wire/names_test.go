package wire

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/tests/testsize"
)

func parsed(t testing.TB, a *answer, body string) *Page {
	t.Helper()
	a.body = []byte(body)
	_, ok := a.parse("Items", (*answer).items)
	require.True(t, ok, body)
	return &Page{a}
}

// finder finds names of a few lengths.
type finder int

func (f finder) Find(name []byte) int {
	if len(name)%int(f) == 0 {
		return -1
	}
	return len(name)
}

// Rows have some of many names in any order, with values of any type, so that the parser guesses right, guesses wrong, and
// has no numbers left. Values are found by name and by number all the same.
func TestNames_OrderAndTypesCanVary(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(testsize.Seed(t), 3))
	values := []string{`{"S":"x"}`, `{"N":"1"}`, `{"BOOL":true}`, `{"NULL":true}`, `{"SS":["a","b"]}`, `{"L":[{"S":"a"},{"N":"2"},{"L":[]}]}`, `{"M":{"n1":{"S":"in"},"deep":{"M":{}}}}`, `{"B":"YQ=="}`, `{ "S" : "\u0061" }`}
	kinds := []Kind{S, N, BOOL, NULL, SS, L, M, B, S}
	a, learnt, unnumbered := &answer{}, 0, 0
	for range testsize.Pick(300, 30_000) {
		many := 5 + r.IntN(3)*r.IntN(60)
		var want []map[string]Kind
		var b strings.Builder
		for range 1 + r.IntN(6) {
			row := map[string]Kind{}
			b.WriteString(`,{`)
			for i := range r.IntN(8) {
				if i > 0 {
					b.WriteByte(',')
				}
				name, v := fmt.Sprint("n", strings.Repeat("o", r.IntN(3)), r.IntN(many)), r.IntN(len(values))
				spelled := name
				if r.IntN(20) == 0 {
					spelled = `\u006e` + name[1:]
				}
				fmt.Fprintf(&b, `"%s":%s`, spelled, values[v])
				row[name] = kinds[v]
			}
			b.WriteByte('}')
			want = append(want, row)
		}
		page := parsed(t, a, `{"Items":[`+b.String()[1:]+`]}`)
		for i, row := range want {
			it, found := itemsOf(page)[i], map[string]Kind{}
			for name, v := range it.All() {
				found[name] = v.Kind()
				if page.nodes[v.at].number == 0 {
					unnumbered++
				}
			}
			for _, f := range []finder{3, 4} {
				wanted := map[string]Kind{}
				all, _ := it.Fields(f)
				for i := all.Next(); i >= 0; i = all.Next() {
					name := all.Value.Name()
					wanted[string(name)] = all.Value.Kind()
					require.Equal(t, f.Find(name), i)
				}
				for name, kind := range row {
					if f.Find([]byte(name)) >= 0 {
						require.Equal(t, kind, wanted[name])
						delete(wanted, name)
					}
				}
				require.Empty(t, wanted)
			}
			require.Equal(t, row, found)
			for name, kind := range row {
				require.Equal(t, kind, it.Value(name).Kind(), name)
			}
			require.Equal(t, None, it.Value("absent").Kind())
		}
		learnt = max(learnt, len(a.all))
	}
	assert.Equal(t, maxNames, learnt, "no numbers are left sometimes")
	assert.NotZero(t, unnumbered)
}

// The usual answer needs nothing new: neither names nor texts.
func TestNames_AreKept(t *testing.T) {
	a := &answer{}
	const body = `{"Items":[{"pk":{"S":"tenant"},"n":{"N":"1"},"m":{"M":{"a":{"S":"open"}}}},{"pk":{"S":"tenant"},"m":{"M":{"a":{"S":"open"}}}}]}`
	page := parsed(t, a, body)
	items := itemsOf(page)
	items[0].Map()
	allocs := testing.AllocsPerRun(10, func() {
		_, ok := a.parse("Items", (*answer).items)
		assert.True(t, ok && items[1].Value("pk").Text() == "tenant" && items[0].Value("n").Text() == "1")
	})
	assert.Zero(t, allocs)
	assert.Len(t, a.all, 5)
	assert.Equal(t, map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "tenant"},
		"m":  &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"a": &types.AttributeValueMemberS{Value: "open"}}},
	}, items[1].Map())
}

// More finders than are kept do not get each other's indexes, also if one is in use.
func TestNames_ManyFinders(t *testing.T) {
	t.Parallel()
	it := itemsOf(parsed(t, &answer{}, `{"Items":[{"a":{"S":""},"bb":{"S":""},"ccc":{"S":""}}]}`))[0]
	outer, _ := it.Fields(finder(100))
	for i := outer.Next(); i >= 0; i = outer.Next() {
		for f := range 2 * mostIndexes {
			inner, _ := it.Fields(finder(f + 1))
			for k := inner.Next(); k >= 0; k = inner.Next() {
				require.Equal(t, finder(f+1).Find(inner.Value.Name()), k)
			}
		}
		require.Equal(t, len(outer.Value.Name()), i)
	}
}

// The parser guesses that an item is like the one before. A guess that is wrong is not taken.
func TestCall_WrongGuessesAndRepeatedNames(t *testing.T) {
	t.Parallel()
	rest := `],"Other":"` + strings.Repeat("x", 32) + `"}` // so that the text before is not near the end
	for _, body := range []string{
		`{"Items":[{"a":{"S":"0"}},{"a":{"S":"1"}},{"a":{"S":"2"x}` + rest, `{"Items":[{"a":{"S":"0"}},{"a":{"S":"1"}},{"a":{"S":"2\}}` + rest, `{"Items":[{"a":{"B":"A==="}}` + rest,
		`{"Items":[],"Other":` + strings.Repeat("[", 2*maxDepth) + strings.Repeat("]", 2*maxDepth) + `}`,
	} {
		assert.False(t, operations[0].compare(t, []byte(body)), "%s", body)
	}
	for _, body := range []string{
		`{"Items":[{"a":{"S":"1"}},{"a":{"N":"2"}},{"b":{"S":"3"}},{"a":{"S":"4" }}` + rest,
		`{"Items":[{"a":{"S":"\ud83dzzde00"}},{"a":{"S":"\ud83d\ude00"}},{"a":{"S":"\ud83d\u0061"}}` + rest, // halves of pairs
	} {
		assert.True(t, operations[0].compare(t, []byte(body)), "%s", body)
	}
	assert.False(t, operations[5].compare(t, []byte(`{"Responses":{"t":[{"a":{"S":"1"}}],"t":[{"a":{"S":"2"}}]}}`)), "a table that comes twice")
}

var (
	batchWrite = smithy.NewOperationSchema(schemas.BatchWriteItem, schemas.BatchWriteItemInput, schemas.BatchWriteItemOutput)
	describe   = smithy.NewOperationSchema(schemas.DescribeTable, schemas.DescribeTableInput, schemas.DescribeTableOutput)
)

// answerTo reads an answer of a status through a call that reads it itself, or leaves it to the SDK.
func answerTo(own bool, op *smithy.OperationSchema, status int, body string, out smithy.Deserializable) error {
	o := dynamodb.Options{Protocol: sdk}
	(&Call{Own: own}).Options(&o)
	resp := answered([]byte(body))
	resp.StatusCode = status
	return o.Protocol.DeserializeResponse(context.Background(), op, dynamodb.TypeRegistry, resp, out)
}

// An empty or foreign body, as a broken proxy may give, is not an empty answer.
func TestCall_AnswersThatAreNone(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{true, false} {
		for _, o := range operations {
			for _, body := range []string{"", " ", "null", "[]", "<html>", `{"Items":[`} {
				var e *smithy.DeserializationError
				require.ErrorAs(t, answerTo(own, o.schema, 200, body, o.out()), &e, "%s %q", o.name, body)
			}
			require.Error(t, answerTo(own, o.schema, 500, "{}", o.out()), o.name)
			require.Error(t, answerTo(own, o.schema, 302, "{}", o.out()), o.name)
		}
		for _, body := range []string{"{}", `{"Unknown":1}`} {
			require.ErrorIs(t, answerTo(own, operations[5].schema, 200, body, new(dynamodb.BatchGetItemOutput)), errLacking)
			require.ErrorIs(t, answerTo(own, operations[4].schema, 200, body, new(dynamodb.TransactGetItemsOutput)), errLacking)
			require.ErrorIs(t, answerTo(own, operations[0].schema, 200, body, new(dynamodb.QueryOutput)), errLacking)
			require.ErrorIs(t, answerTo(own, operations[1].schema, 200, body, new(dynamodb.ScanOutput)), errLacking)
			require.ErrorIs(t, answerTo(own, batchWrite, 200, body, new(dynamodb.BatchWriteItemOutput)), errLacking)
			require.ErrorIs(t, answerTo(own, describe, 200, body, new(dynamodb.DescribeTableOutput)), errLacking)
			require.NoError(t, answerTo(own, operations[2].schema, 200, body, new(dynamodb.GetItemOutput)), "there is no item")
		}
		for body, n := range map[string]int32{`{"Items":[{},{}]}`: 2, `{"Items":[]}`: 0, `{"Items":[{}],"Count":1}`: 1, `{"Count":3}`: 3} {
			var out dynamodb.QueryOutput
			require.NoError(t, answerTo(own, operations[0].schema, 200, body, &out), body)
			require.Equal(t, n, out.Count, body)
		}
	}
}
