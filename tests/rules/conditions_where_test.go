package rules_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/versioned"
)

// task has attributes of every kind, two of which are secret.
type task struct {
	_ entity.Key `name:"Task" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byOwner" index:"gsi1" pk:"gsi1pk=OWNER#{owner}" sk:"gsi1sk={id}"`
	_ entity.GSI `name:"byPin" index:"gsi3" pk:"gsi3pk=PIN#{pin}" sk:"gsi3sk={id}"`
	_ versioned.Retain

	ID      string            `dynamodbav:"id"`
	Owner   string            `dynamodbav:"owner"`
	Title   string            `dynamodbav:"title"`
	Spent   int               `dynamodbav:"spent"`
	Budget  int               `dynamodbav:"budget"`
	Done    bool              `dynamodbav:"done"`
	Due     time.Time         `dynamodbav:"due" entity:"time=unix"`
	Tags    []string          `dynamodbav:"tags,stringset"`
	Steps   []step            `dynamodbav:"steps"`
	Labels  map[string]string `dynamodbav:"labels"`
	Raw     []byte            `dynamodbav:"raw"`
	Note    *string           `dynamodbav:"note"`
	Gone    string            `dynamodbav:"gone,omitempty"`
	Pin     string            `dynamodbav:"pin" entity:"secret"`
	Codes   []string          `dynamodbav:"codes" entity:"secret"`
	Version int64             `dynamodbav:"version" entity:"version"`
}

type step struct {
	Name string `dynamodbav:"name"`
	Cost int    `dynamodbav:"cost"`
}

func aTask(b *dbtest.Bench) task {
	return task{
		ID: "t", Owner: "ada", Title: "write it down", Spent: 70, Budget: 100, Due: now, Tags: []string{"x", "y"},
		Steps: []step{{"one", 70}, {"two", 100}}, Labels: map[string]string{"a.b": "dotted", "kind": "chore", "x[0]": "bracketed"},
		Raw: []byte{1, 2, 3}, Pin: "1234", Codes: []string{"c0de"},
	}
}

var (
	name  = expression.Name
	value = expression.Value
)

// wheres are conditions on aTask with every function of the SDK's package that makes one, and what they say of it.
func wheres(b *dbtest.Bench) map[bool][]expression.ConditionBuilder {
	two := value(2)
	return map[bool][]expression.ConditionBuilder{
		true: {
			expression.Equal(name("spent"), value(70)), name("title").Equal(value("write it down")), value(70).Equal(name("spent")), name("tags").Size().Equal(two),
			name("spent").Equal(name("steps[0].cost")), name("due").Equal(value(attributevalue.UnixTime(now))), name("done").Equal(value(false)), name("note").Equal(value(nil)),
			name("labels.kind").Equal(value("chore")), expression.NameNoDotSplit("tags").Equal(value(&types.AttributeValueMemberSS{Value: []string{"y", "x"}})),
			name("labels").AppendName(expression.NameNoDotSplit("a.b")).Equal(value("dotted")),
			expression.NotEqual(name("spent"), name("budget")), name("gone").NotEqual(value("x")), value(1).NotEqual(name("spent")), name("title").Size().NotEqual(name("steps").Size()),
			expression.LessThan(name("spent"), name("budget")), name("spent").LessThan(value(71)), value(69).LessThan(name("spent")), name("steps").Size().LessThan(value(3)),
			expression.LessThanEqual(name("spent"), name("budget")), name("spent").LessThanEqual(value(70)), value(70).LessThanEqual(name("spent")), name("raw").Size().LessThanEqual(value(3)),
			expression.GreaterThan(name("budget"), name("spent")), name("title").GreaterThan(value("w")), value(71).GreaterThan(name("spent")), name("labels").Size().GreaterThan(two),
			expression.GreaterThanEqual(name("budget"), name("spent")), name("raw").GreaterThanEqual(value([]byte{1})), value(70).GreaterThanEqual(name("spent")), name("title").Size().GreaterThanEqual(value(13)),
			expression.Between(value(80), name("spent"), name("budget")), name("spent").Between(value(70), name("budget")), value(80).Between(value(1), name("budget")), name("title").Size().Between(value(1), value(20)),
			expression.In(name("spent"), value(1), value(70)), name("spent").In(name("steps[0].cost")), value(70).In(name("budget"), name("spent")), name("tags").Size().In(value(1), two),
			expression.AttributeExists(name("steps[1]")), name("note").AttributeExists(), name("gsi1pk").AttributeExists(), name("pk").AttributeExists(),
			expression.AttributeNotExists(name("steps[2].cost")), name("gone").AttributeNotExists(),
			expression.AttributeType(name("tags"), expression.StringSet), name("note").AttributeType(expression.Null), name("labels.kind").AttributeType(expression.String),
			expression.BeginsWith(name("title"), "write"), name("gsi1pk").BeginsWith("OWNER#a"),
			expression.Contains(name("title"), "it"), name("tags").Contains("x"), name("raw").Contains([]byte{2, 3}), name("steps").Contains(step{"one", 70}),
			expression.And(name("spent").LessThan(name("budget")), name("tags").Contains("x"), name("steps").Size().Equal(two)),
			name("done").Equal(value(false)).And(name("spent").Equal(value(70)).Or(name("spent").Equal(value(1)))),
			expression.Or(name("done").Equal(value(true)), name("spent").Equal(value(70)), name("spent").Equal(value(1))),
			expression.Not(name("gone").AttributeExists()), name("spent").GreaterThan(name("budget")).Not(),
		},
		false: {
			name("spent").Equal(name("budget")), name("gone").Equal(name("title")), name("gone").Size().LessThan(value(5)), name("spent").Size().Equal(two),
			name("title").Contains("zzz"), name("note").AttributeType(expression.String), name("title").Equal(name("spent")),
			expression.And(name("spent").Equal(value(70)), name("done").Equal(value(true))), name("gsi1pk").Equal(value("OWNER#x")), name("labels").Size().Equal(value(0)),
			expression.Not(name("tags").Size().Equal(two)),
		},
	}
}

// Every condition of the SDK's package means in If and in Filter what DynamoDB says of it.
func TestWhere_EveryConditionInIfAndFilter(t *testing.T) {
	b := standing(t)
	s := declare[task](b)
	b.OK(s.Create(t.Context(), aTask(b)))
	for want, list := range wheres(b) {
		for _, built := range list {
			c := entity.Where(built)
			op := s.Op().CheckExists(task{ID: "t"}, c)
			if err := b.DB.Transact(t.Context(), op); want {
				require.NoError(t, err, "%s", op)
			} else {
				require.ErrorIs(t, err, entity.ErrConditionFailed, "%s", op)
			}
			scan := s.Scan(entity.Filter(entity.Not(c)))
			n, err := scan.Count(t.Context())
			require.NoError(t, err, "%s", scan)
			require.Equal(t, want, n == 0, "%s", scan)
		}
	}
}

func TestWhere_PlansHideSecrets(t *testing.T) {
	b := standing(t)
	s := declare[task](b)
	for _, c := range []expression.ConditionBuilder{
		name("pin").Equal(value("hush")), value("hush").Equal(name("pin")), name("pin").Contains("hush"), name("pin").BeginsWith("hush"), name("codes[0]").Equal(value("hush")),
		name("title").Between(value("hush"), name("pin")), value("hush").In(name("title"), name("pin")), name("codes").AppendName(name("hush")).AttributeExists(),
		name("codes.hush").Size().Equal(name("spent")), name("pin").NotEqual(value("hush")).Not(), name("gsi3pk").Equal(value("hush")), name("codes").Size().Equal(value(987654)),
	} {
		for _, text := range []string{
			s.Op().Delete(task{ID: "t"}, entity.If(entity.Where(c))).String(), s.Scan(entity.Filter(entity.Where(c))).String(),
		} {
			require.Contains(t, text, "<hidden>")
			require.NotContains(t, text, "hush")
			require.NotContains(t, text, "987654")
		}
		_, err := s.Put(t.Context(), task{ID: "t", Owner: "o", Pin: "p", Codes: []string{"c"}}, entity.If(entity.Where(c), entity.Where(name("spent").Equal(value(987654)))))
		require.ErrorIs(t, err, entity.ErrConditionFailed)
		require.NotContains(t, err.Error(), "hush")
		require.NotContains(t, err.Error(), "987654")
	}
	require.Contains(t, s.Scan(entity.Filter(entity.Where(expression.And(name("tags").Size().LessThan(value(10)), value(80).Between(name("spent"), name("budget")))))).String(),
		"size(tags) < 10 AND 80 BETWEEN spent AND budget")
}

func TestWhere_MistakesAreFoundBeforeARequest(t *testing.T) {
	b := standing(t)
	s := declare[task](b)
	var none *types.AttributeValueMemberB
	many := make([]expression.OperandBuilder, 100)
	for i := range many {
		many[i] = value(i)
	}
	long := name("spent").Equal(value(0))
	for range 300 {
		long = long.Or(name("spent").Equal(value(0)))
	}
	for code, list := range map[string]map[string]expression.ConditionBuilder{
		"EDD-9105": {
			`"nothing"`: name("nothing").AttributeExists(), `"_w"`: name("_w").AttributeExists(), `"Spent"`: name("Spent").Equal(value(1)), `"spent "`: name("spent ").Size().Equal(value(1)),
			`"other"`: name("spent").LessThan(name("other.x")), `"in"`: expression.And(name("spent").Equal(value(1)), expression.Not(expression.NameNoDotSplit("in.it").AttributeExists())),
		},
		"EDD-9102": {
			"type is N": name("due").LessThan(value(now)), "value of type S": name("spent").Equal(value("1")), "type is S": name("gsi1pk").Equal(value(1)), "UTF-8": name("title").Equal(value("\xff")),
			"not a number": name("spent").Equal(value(&types.AttributeValueMemberN{Value: "NaN"})), "with a value of type N": name("title").In(value("a"), value(1)),
			"labels.a, whose DynamoDB type is S": name("labels.a").Equal(value(1)), "steps[0].cost, whose DynamoDB type is N": name("steps[0].cost").In(value(1), value("1")),
		},
		"EDD-9111": {
			"unset parameter: ConditionBuilder": {}, "unset parameter: NameBuilder": name("").AttributeExists(), "invalid parameter": name("a..b").AttributeExists(),
			"panicked": name("spent").Equal(nil), "is nil": name("raw").Equal(value(none)), "not part of a condition": name("spent").Equal(name("budget").Plus(value(1))),
			"with itself": name("spent").Equal(name("spent")), "In takes": name("spent").In(value(0), many...), "name of a DynamoDB type": name("spent").AttributeType("int"),
			"stored as strings, numbers or binaries": name("done").LessThan(value(true)), "different types": name("labels.a.x").Between(value(1), value("b")),
			"a size is a number": name("tags").Size().Equal(value("2")), "operators": long, "range of BETWEEN": value(5).Between(value(9), value(1)),
			"is empty": name("spent").Between(value(100), value(1)), "lower bound is above": name("title").Size().Between(value(9), value(1)),
		},
	} {
		for text, c := range list {
			cond := entity.Where(c)
			for _, cond := range []entity.Cond{cond, entity.Not(cond), entity.And(entity.Where(name("spent").Equal(value(1))), cond)} {
				requireWhere(t, dbtest.ErrorOf(s.Put(t.Context(), aTask(b), entity.If(cond))), code, text)
				requireWhere(t, dbtest.ErrorOf(s.Scan(entity.Filter(cond)).Collect(t.Context())), code, text)
				requireWhere(t, b.DB.Transact(t.Context(), s.Op().CheckExists(task{ID: "t"}, cond)), code, text)
			}
		}
	}
	require.Empty(t, b.Sent())
}

// requireWhere is requireInput for any field.
func requireWhere(t *testing.T, err error, code, part string) {
	t.Helper()
	input := dbtest.As[*entity.InputError](t, err, part)
	require.Equal(t, code, input.Code, input.Problem)
	require.Contains(t, input.Problem, part)
}

func TestWhere_IsNoConditionOnAKey(t *testing.T) {
	b := standing(t)
	s, other := declare[task](b), standing(t)
	byHeat, byOwner := entity.Must(declare[slotted](other).Index("byHeat")), entity.Must(s.Index("byOwner"))
	_, err := byHeat.Query(slotted{Box: "b"}, entity.Where(name("heat").Equal(value(1)))).Collect(t.Context())
	dbtest.RequireInput(t, err, "EDD-9006", "", "Where")
	_, err = byHeat.Query(slotted{Box: "b"}, entity.Filter(entity.Where(name("word").Size().Equal(name("heat"))))).Collect(t.Context())
	dbtest.RequireInput(t, err, "EDD-9112", "Heat")
	_, err = byOwner.Query(task{Owner: "ada"}, entity.Filter(entity.Where(name("gsi1sk").BeginsWith("a")))).Collect(t.Context())
	dbtest.RequireInput(t, err, "EDD-9112", "")
	h := entity.Must(versioned.Of(s))
	_, err = h.List(task{ID: "t"}, entity.Where(name("version").Equal(value(1)))).Collect(t.Context())
	dbtest.RequireInput(t, err, "EDD-9111", "", "Where")
	require.Zero(t, len(b.Sent())+len(other.Sent()))
}

// Where the library evaluates conditions itself, those of operators that it evaluates as DynamoDB does are taken, and others are
// refused.
func TestWhere_InMemory(t *testing.T) {
	b := standing(t)
	f, series := entity.Fields[task](), entity.Must(timeseries.New[sample](b.DB))
	s := declare[task](b)
	b.OK(s.Create(t.Context(), aTask(b)))
	b.OK(series.Append(t.Context(), sample{ID: "m", At: 1, N: 1}))
	byOwner, h := entity.Must(s.Index("byOwner")), entity.Must(versioned.Of(s))
	b.Sent()
	known := entity.Where(expression.And(name("title").Contains("it"), name("spent").Between(value(1), value(70)), value(100).Equal(name("budget")), name("tags").AttributeType("SS")))
	for op, c := range map[string]expression.ConditionBuilder{
		"size": name("tags").Size().Equal(value(2)), "< between attributes": name("spent").LessThan(name("budget")), "BETWEEN between attributes": expression.Not(value(1).Between(name("spent"), name("budget"))),
	} {
		cond := entity.And(known, entity.Or(entity.Eq(&f.Done, true), entity.Where(c)))
		var got []task
		err := b.DB.GetCollection(t.Context(), byOwner.Query(task{Owner: "ada"}, entity.Filter(cond)).Into(&got))
		dbtest.RequireInput(t, err, "EDD-9140", "", op, "GetCollection")
		dbtest.RequireInput(t, dbtest.ErrorOf(h.List(task{ID: "t"}, entity.Filter(cond)).Collect(t.Context())), "EDD-9140", "", op, "versions")
		err = b.DB.Transact(t.Context(), s.Op().CheckExists(task{ID: "t"}, cond), s.Op().CheckExists(task{ID: "t"}, entity.Eq(&f.Owner, "ada")))
		dbtest.RequireInput(t, err, "EDD-9140", "", op, "transaction")
		require.Empty(t, b.Sent())
	}
	high := entity.Where(name("at").LessThan(name("n")))
	err := b.DB.Transact(t.Context(), series.Op().Append(sample{ID: "m", At: 2, N: 2}, entity.If(high)), series.Op().Append(sample{ID: "m", At: 3, N: 3}))
	dbtest.RequireInput(t, err, "EDD-9140", "", "< between attributes")
	err = b.DB.TransactWithToken(t.Context(), entity.Token{ID: "x"}, series.Op().Append(sample{ID: "m", At: 2, N: 2}, entity.If(high)), series.Op().Append(sample{ID: "m", At: 3, N: 3}))
	dbtest.RequireInput(t, err, "EDD-9140", "", "< between attributes")
	require.Empty(t, b.Sent())
	r := entity.Must(series.Append(t.Context(), sample{ID: "m", At: 2, N: 2}, entity.If(high)))
	require.Equal(t, timeseries.ConditionFailed, r.Reason, "alone, DynamoDB decides")

	var got []task
	require.NoError(t, b.DB.GetCollection(t.Context(), byOwner.Query(task{Owner: "ada"}, entity.Filter(known)).Into(&got)))
	require.Len(t, got, 1)
	err = b.DB.Transact(t.Context(), s.Op().CheckExists(task{ID: "t"}, known), s.Op().CheckExists(task{ID: "t"}, entity.Eq(&f.Owner, "bob")))
	failed := dbtest.As[*entity.TransactError](t, err)
	require.Len(t, failed.Failed, 1, fmt.Sprint(failed))
	require.Equal(t, 1, failed.Failed[0].Index)
}
