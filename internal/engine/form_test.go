package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/wire"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/tests/wiretest"
)

// recorder is an HTTP client that answers every request with one body.
type recorder struct {
	answer string
	sent   []string // the operation and the decoded body, in order
}

func (c *recorder) Do(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var v any
	d := json.NewDecoder(strings.NewReader(string(body)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("%s: %w", body, err)
	}
	again, err := json.Marshal(v) // with the names of objects in order
	if err != nil {
		return nil, err
	}
	c.sent = append(c.sent, fmt.Sprint(r.Header["X-Amz-Target"], r.Header["Content-Type"], r.URL.Path, r.ContentLength == int64(len(body)), string(again)))
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(c.answer)), ContentLength: int64(len(c.answer))}, nil
}

// random makes what requests are made from.
type random struct{ *rand.Rand }

func (r random) item() item.Item {
	it := item.Item{}
	for range r.IntN(6) {
		it[wiretest.Text(r.Rand)] = wiretest.Value(r.Rand, 2)
	}
	return it
}

func (r random) path() expr.Path {
	p := expr.Attr("a" + wiretest.Text(r.Rand))
	for r.IntN(3) == 0 {
		if r.IntN(2) == 0 {
			p = p.Child(expr.Step{Index: r.IntN(12)})
		} else {
			p = p.Child(expr.Step{Name: "n" + wiretest.Text(r.Rand)})
		}
	}
	return p
}

func (r random) cond(depth int) expr.Cond {
	value := func() types.AttributeValue { return wiretest.Value(r.Rand, 2) }
	switch n := r.IntN(10); {
	case n < 2:
		return expr.Cond{}
	case n < 5 && depth > 0:
		all := []expr.Cond{r.cond(depth - 1), r.cond(depth - 1), expr.Compare(expr.Exists, r.path())}
		return [...]func(...expr.Cond) expr.Cond{expr.All, expr.Any, func(all ...expr.Cond) expr.Cond { return expr.Negate(all[2]) }}[r.IntN(3)](all...)
	case n == 5:
		return expr.Compare(expr.Between, r.path(), value(), value())
	case n == 6:
		return expr.Compare(expr.In, r.path(), value(), value(), value())
	case n == 7:
		return expr.Compare([...]expr.Op{expr.Exists, expr.NotExists}[r.IntN(2)], r.path())
	case n == 8:
		return expr.Cond{Op: expr.Lt, Operands: []expr.Operand{{Path: r.path(), Size: r.IntN(2) == 0}, {Value: value()}}}
	}
	return expr.Compare([...]expr.Op{expr.Eq, expr.Ne, expr.Lt, expr.BeginsWith, expr.Contains}[r.IntN(5)], r.path(), value())
}

func (r random) action() plan.Action {
	a := plan.Action{Kind: plan.ActionKind(r.IntN(4)), Table: "t" + fmt.Sprint(r.IntN(3)), Cond: r.cond(2), Returns: plan.Returns(r.IntN(3))}
	switch a.Kind {
	case plan.Put:
		a.Item, a.Returns = r.item(), plan.ReturnNothing
	case plan.Check:
		a.Cond = expr.All(a.Cond, expr.Compare(expr.Exists, r.path()))
	}
	if a.Kind != plan.Put {
		a.Key = r.item()
	}
	if a.Kind == plan.Update {
		for range 1 + r.IntN(12) {
			a.Changes = append(a.Changes, expr.Change{Kind: expr.Kind(r.IntN(int(expr.DeleteFromSet) + 1)), Path: r.path(), Value: wiretest.Value(r.Rand, 2)})
		}
	}
	return a
}

func (r random) key() item.Item {
	return item.Item{"pk": item.S(wiretest.Text(r.Rand)), "sk": wiretest.Value(r.Rand, 0)}
}

func (r random) page() *layout.Range {
	g := &layout.Range{Table: "t", Filter: r.cond(2), Strong: r.IntN(2) == 0, Desc: r.IntN(2) == 0, Count: r.IntN(4) == 0, Units: r.IntN(2) == 0, Limit: r.IntN(3)}
	if r.IntN(2) == 0 {
		g.Index = "i" + wiretest.Text(r.Rand)
	}
	if r.IntN(2) == 0 {
		g.Start = r.key()
	}
	if r.IntN(2) == 0 {
		g.Project = []string{"p", "p" + wiretest.Text(r.Rand)}
	}
	if r.IntN(2) == 0 {
		g.Key = expr.All(expr.Compare(expr.Eq, r.path(), item.S("x")), r.cond(0))
	} else if g.Desc = false; r.IntN(2) == 0 { // a scan
		g.Segment, g.Segments = r.IntN(4), 4
	}
	return g
}

// written is a request that writes.
func written(own bool, capacity types.ReturnConsumedCapacity) *request {
	return &request{Call: wire.Call{Own: own}, capacity: capacity}
}

// request returns a random request, and the answer to it.
func (r random) request() (send func(context.Context, *Runner) error, answer string) {
	capacity := types.ReturnConsumedCapacityNone
	if r.IntN(2) == 0 {
		capacity = types.ReturnConsumedCapacityTotal
	}
	switch r.IntN(6) {
	case 0:
		a := r.action()
		for a.Kind == plan.Check {
			a = r.action()
		}
		return func(ctx context.Context, run *Runner) error {
			_, err := run.single(ctx, &a, written(run.Own, capacity))
			return err
		}, `{"Attributes":{"pk":{"S":"x"}}}`
	case 1:
		all := []plan.Action{r.action(), r.action(), r.action()}[:1+r.IntN(3)]
		return func(ctx context.Context, run *Runner) error {
			return run.together(ctx, all, "token", written(run.Own, capacity))
		}, `{}`
	case 2:
		key, consistent := r.key(), r.IntN(2) == 0
		return func(ctx context.Context, run *Runner) error { _, err := run.Get(ctx, "t", key, consistent); return err }, `{"Item":{"pk":{"S":"x"}}}`
	case 3:
		g := r.page()
		return func(ctx context.Context, run *Runner) error { _, err := run.ReadPage(ctx, g); return err }, `{"Items":[],"Count":0,"ScannedCount":0}`
	case 4:
		keys := []Key{{"t", r.key()}, {"u", r.key()}}
		if r.IntN(2) == 0 {
			return func(ctx context.Context, run *Runner) error { _, err := run.TransactGet(ctx, keys); return err }, `{"Responses":[{},{}]}`
		}
		consistent := r.IntN(2) == 0
		return func(ctx context.Context, run *Runner) error {
			_, err := run.FindMany(ctx, keys, func(int) bool { return consistent })
			return err
		}, `{"Responses":{},"UnprocessedKeys":{}}`
	}
	var writes []BatchWrite
	for range 1 + r.IntN(5) {
		w := BatchWrite{Table: "t" + fmt.Sprint(r.IntN(2)), Key: r.key()}
		if r.IntN(2) == 0 {
			w.Put, w.Key, w.Names = w.Key, nil, []string{"pk", "sk"}
		}
		writes = append(writes, w)
	}
	return func(ctx context.Context, run *Runner) error { _, err := run.WriteMany(ctx, writes); return err }, `{"UnprocessedItems":{}}`
}

// What is written here is what the SDK writes for a complete input.
func TestForm_RequestsAreThoseOfTheSDK(t *testing.T) {
	t.Parallel()
	r := random{rand.New(rand.NewPCG(testsize.Seed(t), 6))}
	n := testsize.Pick(2000, 20_000) * int(testsize.Number(t, "DYNASTRATA_ROUNDS", 1))
	c := &recorder{}
	client := dynamodb.New(dynamodb.Options{
		Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""), BaseEndpoint: aws.String("http://localhost"), HTTPClient: c,
	})
	operations := map[string]int{}
	for range n {
		send, answer := r.request()
		c.answer = answer
		var sent [2][]string
		for i, own := range []bool{false, true} {
			c.sent = nil
			require.NoError(t, send(t.Context(), &Runner{Client: client, Own: own, MaxAttempts: 1}))
			sent[i] = c.sent
		}
		require.NotEmpty(t, sent[0])
		require.Equal(t, sent[0], sent[1])
		operation, _, _ := strings.Cut(sent[0][0], " ")
		operations[operation]++
	}
	require.Len(t, operations, 10, "%v", operations)
	t.Logf("%d requests: %v", n, operations)
}

// A value that cannot be written is an error before any request.
func TestForm_RefusesWhatIsNoValue(t *testing.T) {
	t.Parallel()
	c := &recorder{answer: `{}`}
	client := dynamodb.New(dynamodb.Options{Region: "eu-central-1", HTTPClient: c})
	run := &Runner{Client: client, Own: true, MaxAttempts: 1}
	bad := item.Item{"pk": nil}
	_, err := run.Get(t.Context(), "t", bad, true)
	require.Error(t, err)
	_, err = run.single(t.Context(), &plan.Action{Table: "t", Item: bad}, written(true, ""))
	require.Error(t, err)
	require.Error(t, run.together(t.Context(), []plan.Action{{Table: "t", Item: bad}}, "token", written(true, "")))
	_, err = run.ReadPage(t.Context(), &layout.Range{Table: "t", Start: bad})
	require.Error(t, err)
	_, err = run.FindTogether(t.Context(), []Key{{"t", bad}})
	require.Error(t, err)
	require.Empty(t, c.sent)
}

// Memory that is used again holds nothing of the requests before.
func TestForm_KeepsNoValues(t *testing.T) {
	t.Parallel()
	f := newForm(&request{Call: wire.Call{Own: true}})
	f.text("ConditionExpression", f.Cond(expr.Compare(expr.Eq, expr.Attr("a"), item.S("secret"))))
	f.placeholders()
	require.Empty(t, f.Names)
	require.Empty(t, f.Values)
	require.Nil(t, f.Values[:1][0])
	require.Empty(t, f.Names[:1][0])
	require.NoError(t, f.end(nil, ""))
	require.Empty(t, f.Text)
	require.Nil(t, f.request)
}
