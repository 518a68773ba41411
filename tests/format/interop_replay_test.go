package format_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// scenario is a run of effect-dynamodb, recorded step by step.
type scenario struct {
	Name   string
	Schema struct {
		Name    string
		Version int
	}
	Steps []step
	bug   int // the first step that shows a mistake of effect-dynamodb; nothing from there on is copied
}

// step is one call, and what came of it.
type step struct {
	Step   int
	Name   string
	Clock  time.Time
	Op     string
	Entity string
	Args   struct {
		Input, Key, Composites json.RawMessage
		Condition              json.RawMessage
		Index                  string
		Set                    map[string]any
		Remove                 []string
		Add, Subtract          map[string]int
		Append                 map[string][]string
		DeleteFromSet          map[string]map[string][]string
		PathSet                []struct {
			Segments []string
			Value    string
		}
		ExpectedVersion *int64
		Version         int64
		Reverse         bool
		Limit           int
	}
	Outcome struct {
		OK    json.RawMessage
		Error struct {
			Tag        string `json:"_tag"`
			Constraint string
		}
	}
	Files []string
}

// stored is an item as JSON: attribute → type → value.
type stored map[string]map[string]any

// text is a text attribute, "" if absent.
func (it stored) text(name string) string {
	s, _ := it[name]["S"].(string)
	return s
}

// version is the text of a version in the key of a snapshot.
func (it stored) version() string {
	n, _ := it["version"]["N"].(string)
	return strings.Repeat("0", 7-len(n)) + n
}

// with is a copy of it in which name has a value of the given type; without one when the type is "".
func (it stored) with(name, kind string, value any) stored {
	c := maps.Clone(it)
	if c[name] = map[string]any{kind: value}; kind == "" {
		delete(c, name)
	}
	return c
}

func recorded(t *testing.T, name string) *scenario {
	t.Helper()
	s := &scenario{}
	readJSON(t, filepath.Join(name, "scenario.json"), s)
	var bugs []struct {
		Scenario string
		Step     int
	}
	readJSON(t, "bug-steps.json", &bugs)
	s.bug = len(s.Steps) + 1
	for _, b := range bugs {
		if b.Scenario == name {
			s.bug = min(s.bug, b.Step)
		}
	}
	require.NotEmpty(t, s.Steps)
	return s
}

func readJSON(t *testing.T, name string, v any) {
	t.Helper()
	text := entity.Must(os.ReadFile(filepath.Join("testdata", name)))
	require.NoError(t, json.Unmarshal(text, v), name)
}

// table is the table after st, as it was recorded.
func (s *scenario) table(t *testing.T, st step) []stored {
	t.Helper()
	var file struct{ Items []stored }
	readJSON(t, filepath.Join(s.Name, st.Files[0]), &file)
	return file.Items
}

// args decodes arguments into a struct whose field names are those of the model but for their case.
func args[T any](t *testing.T, text json.RawMessage) T {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(text, &v))
	plain := entity.Must(json.Marshal(withTimes(v)))
	var out T
	require.NoError(t, json.Unmarshal(plain, &out), string(plain))
	return out
}

// withTimes replaces {"$date": text} by the text, and {"$set": list} by the list.
func withTimes(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if date, ok := v["$date"]; ok {
			return date
		}
		if list, ok := v["$set"]; ok {
			return list
		}
		for name := range v {
			v[name] = withTimes(v[name])
		}
	case []any:
		for i := range v {
			v[i] = withTimes(v[i])
		}
	}
	return v
}

// ordered sorts items by their keys.
func ordered(items []stored) []stored {
	key := func(it stored) string { return fmt.Sprint(it["pk"], it["sk"]) }
	slices.SortFunc(items, func(a, b stored) int { return strings.Compare(key(a), key(b)) })
	return items
}

// difference is a place where the library does not write what was recorded, on purpose: after the steps from first to
// last, edit makes of what was recorded what the library stores. Reason is in docs/sharing.md.
type difference struct {
	first, last string
	reason      string
	edit        func([]stored) []stored
}

// at is a difference after one step.
func at(step, reason string, edit func([]stored) []stored) difference {
	return difference{step, step, reason, edit}
}

// replay runs the steps of a scenario on a table of its own.
type replay struct {
	*scenario
	*dbtest.Bench
	differences []difference
	substitutes []string // pairs of texts: what was recorded, and what is used instead because the library refuses it
}

func newReplay(t *testing.T, name string) *replay {
	t.Helper()
	dbtest.Parallel(t)
	r := &replay{scenario: recorded(t, name)}
	r.Bench = dbtest.Open(t, sharedTable(r.Schema.Name, r.Schema.Version))
	return r
}

// sharedTable configures a DB for a table that effect-dynamodb uses too.
func sharedTable(namespace string, version int) func(*entity.Config) {
	return func(c *entity.Config) {
		c.Interop, c.TimePrecision = true, time.Millisecond
		c.Namespace = entity.Namespace{Name: namespace, Version: version}
	}
}

// create makes the table. Time to live is off: to the database's clock the recorded events have expired.
func (r *replay) create(t *testing.T) {
	t.Helper()
	require.NoError(t, tables.Create(r.Ctx, r.DB))
	ttl := entity.Must(r.Raw.DescribeTimeToLive(r.Ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &r.Table}))
	if d := ttl.TimeToLiveDescription; d != nil && d.AttributeName != nil {
		enabled := false
		_, err := r.Raw.UpdateTimeToLive(r.Ctx, &dynamodb.UpdateTimeToLiveInput{
			TableName: &r.Table, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: d.AttributeName, Enabled: &enabled},
		})
		require.NoError(t, err)
	}
	r.Wire.Reset()
}

// steps runs do for each step before the first that shows a mistake, with the recorded clock, and compares the table.
// Mistakes after which the tables can still be compared are differences like others: see [replay.through].
func (r *replay) steps(t *testing.T, do func(step)) {
	t.Helper()
	for _, d := range r.differences {
		first, last := r.named(t, d.first), r.named(t, d.last)
		require.LessOrEqual(t, first.Step, last.Step, d.reason)
		require.Less(t, last.Step, r.bug, "a difference names a step that is not replayed: %s", d.last)
		documented(t, d.reason)
	}
	for _, st := range r.Steps {
		if st.Step >= r.bug {
			break
		}
		r.Clock.Set(st.Clock, 0)
		do(r.substituted(t, st))
		want := r.expected(t, st)
		require.Equal(t, r.replace(asJSON(t, want)), asJSON(t, r.dump(t)), "%s: step %d, %s", r.Name, st.Step, st.Name)
	}
}

// expected is the table after st as it was recorded, but for the differences.
func (r *replay) expected(t *testing.T, st step) []stored {
	t.Helper()
	want := r.scenario.table(t, st)
	for _, d := range r.differences {
		if st.Step < r.named(t, d.first).Step || st.Step > r.named(t, d.last).Step {
			continue
		}
		before := asJSON(t, want)
		want = d.edit(want)
		require.NotEqual(t, before, asJSON(t, want), "%s/%s: not a difference: %s", r.Name, st.Name, d.reason)
	}
	return want
}

// through replays the steps up to and with the named one, whatever mistakes they show.
func (r *replay) through(t *testing.T, last string) { t.Helper(); r.bug = r.named(t, last).Step + 1 }

// named is the step of that name.
func (r *replay) named(t *testing.T, name string) step {
	t.Helper()
	for _, st := range r.Steps {
		if st.Name == name {
			return st
		}
	}
	require.Fail(t, "no such step", "%s in %s", name, r.Name)
	return step{}
}

// recorded is the item with the given key in the table after a step, as it was recorded; pk and sk are the ends of its
// key after the entity's prefix.
func (r *replay) recorded(t *testing.T, step, pk, sk string) stored {
	t.Helper()
	for _, it := range r.scenario.table(t, r.named(t, step)) {
		if strings.HasSuffix(it.text("pk"), pk) && strings.HasSuffix(it.text("sk"), sk) {
			return it
		}
	}
	require.Fail(t, "no such item", "%s %s after %s", pk, sk, step)
	return nil
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

// deletion is the deleted copy of the item whose partition key ends with pk, as it was recorded after a step.
func (r *replay) deletion(t *testing.T, step, pk string) stored {
	t.Helper()
	for _, it := range r.scenario.table(t, r.named(t, step)) {
		if strings.HasSuffix(it.text("pk"), pk) && strings.Contains(it.text("sk"), "#deleted#") {
			return it
		}
	}
	require.Fail(t, "no deleted copy", "%s after %s", pk, step)
	return nil
}

// only keeps the items whose sort key ends with end.
func only(items []stored, end string) []stored {
	var kept []stored
	for _, it := range items {
		if strings.HasSuffix(it.text("sk"), end) {
			kept = append(kept, it)
		}
	}
	return kept
}

// dump is the whole table, read by a plain client.
func (r *replay) dump(t *testing.T) []stored {
	t.Helper()
	all := r.Items()
	items := make([]stored, len(all))
	for i, it := range all {
		items[i] = stored{}
		for name, av := range it {
			items[i][name] = jsonOf(av)
		}
	}
	return items
}

func asJSON(t *testing.T, items []stored) string {
	t.Helper()
	text := entity.Must(json.MarshalIndent(ordered(append([]stored{}, items...)), "", " "))
	return string(text)
}

// documented demands that docs/sharing.md gives the reason of a difference.
func documented(t *testing.T, reason string) {
	t.Helper()
	text := entity.Must(os.ReadFile("../../docs/sharing.md"))
	require.True(t, strings.Contains(strings.Join(strings.Fields(string(text)), " "), reason), "docs/sharing.md does not say: %s", reason)
}
