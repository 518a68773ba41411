package console

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/avjson"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tables/schemalock"
)

// fuzzModel is the model of the lab, and its lock.
func fuzzModel(f testing.TB) (*model, string) {
	f.Helper()
	l := &lab{now: noon}
	require.NoError(f, l.open(nil, "app"))
	m, err := modelOfDB(l.db)
	require.NoError(f, err)
	return m, schemalock.Of(l.db).String()
}

// printAll prints an item in all forms.
func printAll(t *testing.T, m *model, it item.Item) {
	s := &session{m: m, app: App{Clock: func() time.Time { return noon }}, out: newPrinter(io.Discard, false, true)}
	x := m.decode("app", it, noon)
	require.NotEmpty(t, x.Kind)
	require.NoError(t, s.out.object(x.object()))
	s.out.tree(s.itemNode(x, true))
	_ = s.row(x)
	_ = m.unknownKey("app", it)
	_ = changeName(x, stream.Record{New: it})
	if x.model == nil {
		return
	}
	if x.Kind != KindCheckpoint {
		if masked, ok := newMasker(m, []byte("salt")).mask(x); ok {
			printed := map[string]any{}
			for name, av := range masked {
				printed[name] = typed(av)
			}
			_, err := json.Marshal(printed)
			require.NoError(t, err)
		}
	}
	f := family{items: []stored{x, x}}
	s.out.tree(s.familyTree(x.model, f, false))
	states := f.states(x.model)
	for i, y := range states {
		_ = s.logRow(x.model, states, i, y)
	}
	if len(states) > 0 {
		require.NoError(t, s.printDiff(states[0], states[len(states)-1]))
	}
	if x.owner != nil {
		_ = x.model.keyAttributes(x)
		_ = layout.KeyID(layout.KeyOf(x.model.s, it))
	}
}

// Whatever a lock file holds, it is read, or refused with an error of its own.
func FuzzLock(f *testing.F) {
	_, text := fuzzModel(f)
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Add(strings.ReplaceAll(text, "format 2", "format 1"))
	f.Add(strings.ReplaceAll(text, "pk S ", "pk B "))
	f.Add(strings.ReplaceAll(text, "$app#v1#", "{"))
	f.Add(strings.ReplaceAll(text, "key sort", "key partition"))
	f.Add("# dynastrata schema lock, format 2\n\nentity A\n  table = x\n  key partition = native a S + b N\n  key sort = native\n  index x sort = sk S {a int:999999999999}\n")
	f.Add("# dynastrata schema lock, format 2\n\nderived Timeline-\n  sources = A\n  unique.Constraint() = declared\n  timeseries.Events events = $a#v1#x#{y time=unix:19}\n")
	it := item.Item{"pk": item.S("$app#v1#employee#e-1"), "sk": item.S("$app#v1#employee"), "__edd_e__": item.S("Employee"), "_ttl": item.N("9"), "version": item.S("x")}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := schemalock.Parse([]byte(text))
		if err != nil {
			return
		}
		m, err := modelOf(l, func(string) string { return "app" })
		if err != nil {
			require.ErrorAs(t, err, new(*entity.InputError))
			return
		}
		var all []shown
		for _, e := range m.entities {
			all = append(all, m.show(e))
			g := given{}
			for _, name := range e.partNames() {
				g[name] = "1"
			}
			_, _ = e.primary(g)
			for _, x := range e.s.Indexes {
				_, _, _ = e.queryInput(x, x.PK, g)
			}
		}
		s := &session{m: m, out: newPrinter(io.Discard, false, true)}
		for _, format := range schemaFormats {
			require.NoError(t, s.printSchema(all, format))
		}
		if len(m.entities) > 0 {
			printAll(t, m, it)
		}
	})
}

// Whatever is stored, it is printed. The input is an item in DynamoDB's JSON, as in a dump.
func FuzzItem(f *testing.F) {
	m, _ := fuzzModel(f)
	s := &session{m: m}
	for _, seed := range []string{
		`{"Item":{"pk":{"S":"$app#v1#employee#e-1"},"sk":{"S":"$app#v1#employee"},"__edd_e__":{"S":"Employee"},"version":{"N":"1"},"_ttl":{"N":"99999999999999999999999"}}}`,
		`{"Item":{"pk":{"S":"$app#v1#employee#e-1"},"sk":{"S":"$app#v1#employee#v#~000000001"},"__edd_e__":{"S":"Employee"},"_k":{"S":"v"},"version":{"N":"1e125"},"createdAt":{"N":"0"}}}`,
		`{"Item":{"pk":{"S":"$app#v1#employee#"},"sk":{"S":"$app#v1#employee#deleted#"},"__edd_e__":{"S":"Employee"},"_k":{"S":"d"},"email":{"M":{"a":{"L":[{"NULL":true}]}}}}}`,
		`{"Item":{"pk":{"S":"$app#v1#employee.email#a"},"sk":{"S":"$app#v1#employee.email"},"__edd_e__":{"S":"Employee._unique.email"},"_entity_pk":{"N":"1"},"_entity_sk":{"B":"AA=="}}}`,
		`{"Item":{"pk":{"S":"$app#v1#telemetry#c#d"},"sk":{"S":"$app#v1#telemetry#e#x"},"__edd_e__":{"S":"Telemetry"},"_k":{"S":"e"},"timestamp":{"BOOL":true},"location":{"SS":["a"]}}}`,
		`{"Item":{"pk":{"N":"1"},"sk":{"NULL":true},"__edd_e__":{"S":"Timeline-visits"},"state":{"S":"x"}}}`,
		`{"Item":{"pk":{"S":""},"__edd_e__":{"S":"TimelineManifest-visits"},"building":{"M":{"positions":{"M":{}}}},"active":{"L":[]}}}`,
		`{"Item":{"pk":{"B":"AAEC"},"x":{"BS":["AA=="]},"y":{"NS":["1","-1e-130"]}}}`,
		`{"Item":{}}`, `{"Item":{"pk":{}}}`, `{"Item":[]}`, `{"Item":{"pk":{"S":1}}}`, `{"Item"`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _, _ = s.parse([]byte(text))
		var line dumped
		if json.Unmarshal([]byte(text), &line) != nil {
			return
		}
		it := item.Item{}
		for name, raw := range line.Item {
			av, problem := avjson.Value(raw)
			if problem != "" {
				av = item.N(string(raw)) // no number, as only a fake of DynamoDB could store it
			}
			it[name] = av
		}
		printAll(t, m, it)
		x := m.decode("app", it, noon)
		for _, av := range x.raw {
			if n, ok := av.(*types.AttributeValueMemberN); ok {
				_, _ = numberOf(n)
			}
		}
	})
}
