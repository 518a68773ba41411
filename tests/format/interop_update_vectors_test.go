package format_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// gsiVector is an update of an item with an index of pk [A] and sk [B,C], and what it does to the index keys.
type gsiVector struct {
	Payload map[string]any
	Policy  map[string]string
	Removed []string
	Out     struct {
		Removes []string
		Sets    map[string]string
		Error   string
	}
}

type abc struct {
	_ entity.Key `name:"E" pk:"$#id_{id}" sk:"$"`
	_ entity.GSI `name:"byA" index:"gsi1" pk:"$#a_{A}" sk:"$#b_{B}#c_{C}"`

	ID string `dynamodbav:"id"`
	A  string `dynamodbav:"A,omitempty"`
	B  string `dynamodbav:"B,omitempty"`
	C  string `dynamodbav:"C,omitempty"`
	X  int    `dynamodbav:"X,omitempty"`
}

// before is an item that is in the index.
func before() item.Item {
	return item.Item{
		"pk": item.S("$app#v1#e#id_1"), "sk": item.S("$app#v1#e"), "__edd_e__": item.S("E"), "id": item.S("1"),
		"A": item.S("x"), "B": item.S("y"), "C": item.S("z"), "gsi1pk": item.S("$app#v1#e#a_x"), "gsi1sk": item.S("$app#v1#e#b_y#c_z"),
	}
}

// reason says why the library differs, from what the update is.
func (v gsiVector) reason() string {
	cleared := func(name string) bool { value, ok := v.Payload[name]; return ok && value == nil }
	set := func(name string) bool { return v.Payload[name] != nil }
	for _, name := range v.Removed {
		if _, ok := v.Payload[name]; ok {
			return twice
		}
	}
	switch {
	case len(v.Policy) > 0:
		return noPolicy
	case len(v.Removed) > 0, cleared("A"):
		return same
	case cleared("B"), cleared("C"):
		return noTruncation
	case set("B") != set("C"):
		return fresh
	}
	return same
}

// update runs the vector's update on the item and gives its index keys as JSON.
func (v gsiVector) update(t *testing.T, c *engine.Core) (string, error) {
	t.Helper()
	f := entity.Fields[abc]()
	fields := map[string]*string{"A": &f.A, "B": &f.B, "C": &f.C}
	var changes []entity.UpdateOption
	for _, name := range slices.Sorted(maps.Keys(v.Payload)) {
		switch value := v.Payload[name].(type) {
		case nil:
			changes = append(changes, entity.Remove(fields[name]))
		case string:
			changes = append(changes, entity.Set(fields[name], value))
		case float64:
			changes = append(changes, entity.Set(&f.X, int(value)))
		}
	}
	for _, name := range v.Removed {
		changes = append(changes, entity.Remove(fields[name]))
	}
	if len(changes) == 0 {
		return indexKeys(t, before()), nil // nothing to send
	}
	op := plan.NewUpdate(c.Schema, c.Table, reflect.ValueOf(abc{ID: "1"}), bind.Collect(changes))
	if op.Err != nil {
		return "", op.Err
	}
	in := plan.Input{Now: time.Unix(0, 0), Read: op.Read}
	if op.Read {
		in.Image = before()
	}
	p := entity.Must(op.Plan(t.Context(), nil, &in))
	require.Len(t, p.Actions, 1)
	if p.Actions[0].Kind == plan.Put {
		return indexKeys(t, p.Actions[0].Item), nil
	}
	after := entity.Must(expr.Apply(before(), p.Actions[0].Changes))
	return indexKeys(t, after), nil
}

func indexKeys(t *testing.T, it item.Item) string {
	t.Helper()
	found := map[string]string{}
	for _, name := range []string{"gsi1pk", "gsi1sk"} {
		if av, ok := it[name]; ok {
			found[name] = item.ValueText(av)
		}
	}
	text := entity.Must(json.Marshal(found))
	return string(text)
}

func TestVectors_IndexKeysOfUpdates(t *testing.T) {
	t.Parallel()
	s, n := entity.Must(entity.New[abc](paper(t, "app"))), tally{}
	for _, v := range loadVectors(t).GSIUpdate {
		want := before()
		for _, name := range v.Out.Removes {
			delete(want, name)
		}
		for name, text := range v.Out.Sets {
			want[name] = item.S(text)
		}
		recorded := indexKeys(t, want)
		if v.Out.Error != "" {
			recorded = v.Out.Error
		}
		reason := v.reason()
		if reason == noPolicy {
			n.vector(t, v, reason, recorded, "", errUnsupported)
			continue
		}
		got, err := v.update(t, engine.Of(s))
		n.vector(t, v, reason, recorded, got, err)
	}
	require.Equal(t, tally{same: 27, noTruncation: 14, fresh: 6, twice: 17, noPolicy: 80}, n)
}
