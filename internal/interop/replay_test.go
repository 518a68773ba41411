package interop_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// difference is a place where the library does not write what was recorded, on purpose. Reason is in docs/interop.md.
type difference struct {
	step   string
	reason string
	edit   func([]stored) []stored
}

// replay runs the steps of a scenario on a table of its own.
type replay struct {
	*scenario
	ctx         context.Context
	db          *entity.DB
	raw         *dynamodb.Client
	table       string
	sent        *faults.Transport
	clock       *clock
	differences []difference
	substitutes []string // pairs of texts: what was recorded, and what is used instead because the library refuses it
}

func newReplay(t *testing.T, name string) *replay {
	t.Helper()
	r := &replay{scenario: load(t, name), ctx: t.Context(), clock: &clock{}}
	r.raw, r.table = localdb.Test(t)
	r.sent = faults.New(r.raw.Options().HTTPClient)
	client := dynamodb.New(r.raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = r.sent })
	db, err := entity.Open(client, config(r.table, r.Schema.Name, r.Schema.Version, r.clock.now))
	require.NoError(t, err)
	r.db = db
	return r
}

func config(table, namespace string, version int, now func() time.Time) entity.Config {
	return entity.Config{
		Table: table, Clock: now, Interop: true, TimePrecision: time.Millisecond,
		Namespace: entity.Namespace{Name: namespace, Version: version, Casing: entity.LowerCase},
	}
}

// create makes the table. Time to live is off: to the database's clock the recorded events have expired.
func (r *replay) create(t *testing.T) {
	t.Helper()
	require.NoError(t, r.db.CreateTables(r.ctx))
	ttl, err := r.raw.DescribeTimeToLive(r.ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &r.table})
	require.NoError(t, err)
	if d := ttl.TimeToLiveDescription; d != nil && d.AttributeName != nil {
		enabled := false
		_, err := r.raw.UpdateTimeToLive(r.ctx, &dynamodb.UpdateTimeToLiveInput{
			TableName: &r.table, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: d.AttributeName, Enabled: &enabled},
		})
		require.NoError(t, err)
	}
	r.sent.Reset()
}

// steps runs do for each step before the first that shows a mistake, with the recorded clock, and compares the table.
func (r *replay) steps(t *testing.T, do func(step)) {
	t.Helper()
	used := 0
	for _, st := range r.Steps {
		if st.Step >= r.bug {
			break
		}
		r.clock.set(st.Clock)
		do(r.substituted(t, st))
		want := r.scenario.table(t, st)
		for _, d := range r.differences {
			if d.step != st.Name {
				continue
			}
			used++
			before := asJSON(t, want)
			want = d.edit(want)
			require.NotEqual(t, before, asJSON(t, want), "%s/%s: not a difference: %s", r.Name, st.Name, d.reason)
			documented(t, d.reason)
		}
		require.Equal(t, r.replace(asJSON(t, want)), asJSON(t, r.dump(t)), "%s: step %d, %s", r.Name, st.Step, st.Name)
	}
	require.Equal(t, len(r.differences), used, "a difference names a step that was not replayed")
}

func (r *replay) replace(text string) string {
	return strings.NewReplacer(r.substitutes...).Replace(text)
}

func (r *replay) substituted(t *testing.T, st step) step {
	t.Helper()
	st.Args.Input = json.RawMessage(r.replace(string(st.Args.Input)))
	st.Args.Key = json.RawMessage(r.replace(string(st.Args.Key)))
	return st
}

// dump is the whole table, read by a plain client.
func (r *replay) dump(t *testing.T) []stored {
	t.Helper()
	out, err := r.raw.Scan(r.ctx, &dynamodb.ScanInput{TableName: &r.table})
	require.NoError(t, err)
	require.Empty(t, out.LastEvaluatedKey)
	items := make([]stored, len(out.Items))
	for i, it := range out.Items {
		items[i] = stored{}
		for name, av := range it {
			switch v := av.(type) {
			case *types.AttributeValueMemberS:
				items[i][name] = map[string]any{"S": v.Value}
			case *types.AttributeValueMemberN:
				items[i][name] = map[string]any{"N": v.Value}
			case *types.AttributeValueMemberBOOL:
				items[i][name] = map[string]any{"BOOL": v.Value}
			default:
				require.Fail(t, "no such type was recorded", "%s is a %T", name, av)
			}
		}
	}
	return items
}

func asJSON(t *testing.T, items []stored) string {
	t.Helper()
	text, err := json.MarshalIndent(ordered(append([]stored{}, items...)), "", " ")
	require.NoError(t, err)
	return string(text)
}

// documented demands that docs/interop.md gives the reason of a difference.
func documented(t *testing.T, reason string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/interop.md")
	require.NoError(t, err)
	require.Contains(t, strings.Join(strings.Fields(string(text)), " "), reason, "docs/interop.md does not say so")
}

// only keeps the items whose sort key ends with end.
func only(items []stored, end string) []stored {
	var kept []stored
	for _, it := range items {
		if strings.HasSuffix(it["sk"]["S"].(string), end) {
			kept = append(kept, it)
		}
	}
	return kept
}

// clock stands still where a step has put it.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}
