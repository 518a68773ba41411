package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb/faults"
)

// act is one action as it was sent.
type act struct {
	Kind string // put, update, delete, check
	Key  string // short form of the sort key, or of the whole key of a sentinel
	Item map[string]any
	Cond string
	Sets string // update expression
	PK   string // as sent
	SK   string
}

// action is the JSON of an action, in a transaction or as a request of its own.
type action struct {
	Item, Key                 map[string]map[string]any
	ConditionExpression       string
	UpdateExpression          string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues map[string]map[string]any
}

// sentActions are the actions of the last write among requests, and the reads before it in the order of their names.
func sentActions(t *testing.T, requests []faults.Request) (reads []string, acts []act) {
	t.Helper()
	for _, r := range requests {
		switch r.Operation {
		case "GetItem", "Query":
			reads = append(reads, r.Operation)
		case "TransactWriteItems":
			var body struct{ TransactItems []map[string]action }
			require.NoError(t, json.Unmarshal(r.Body, &body))
			acts = nil
			for _, one := range body.TransactItems {
				for kind, a := range one {
					acts = append(acts, actOf(strings.ToLower(kind), a))
				}
			}
		case "PutItem", "UpdateItem", "DeleteItem":
			var a action
			require.NoError(t, json.Unmarshal(r.Body, &a))
			acts = []act{actOf(strings.ToLower(strings.TrimSuffix(r.Operation, "Item")), a)}
		default:
			require.Fail(t, "an unknown request", r.Operation)
		}
	}
	slices.Sort(reads)
	return reads, acts
}

func actOf(kind string, a action) act {
	key := a.Key
	if key == nil {
		key = a.Item
	}
	out := act{Kind: strings.TrimPrefix(kind, "condition"), PK: fmt.Sprint(key["pk"]["S"]), SK: fmt.Sprint(key["sk"]["S"]), Cond: a.spell(a.ConditionExpression), Sets: a.spell(a.UpdateExpression)}
	if a.Item != nil {
		out.Item = map[string]any{}
		for name, av := range a.Item {
			out.Item[name] = plain(av)
		}
	}
	if out.Key = strings.TrimPrefix(out.SK, "$app#v1#person"); strings.HasPrefix(out.Key, ".") {
		out.Key = "sentinel " + short(out.PK)
	} else {
		out.Key = "person" + out.Key + " of " + short(out.PK)
	}
	return out
}

var placeholder = regexp.MustCompile(`[#:][0-9a-zA-Z_]+`)

// spell writes an expression with the names and values in the place of their placeholders.
func (a action) spell(expression string) string {
	return placeholder.ReplaceAllStringFunc(expression, func(p string) string {
		if name, ok := a.ExpressionAttributeNames[p]; ok {
			return name
		}
		if av, ok := a.ExpressionAttributeValues[p]; ok {
			return fmt.Sprintf("%q", short(fmt.Sprint(plain(av))))
		}
		return p
	})
}

// plain is a value without its type.
func plain(av map[string]any) any {
	for _, v := range av {
		return v
	}
	return nil
}

// repeated are the attributes that a golden leaves out.
var repeated = []string{"pk", "sk", "id", "tenant", "createdAt", "__edd_e__", "gsi1pk", "gsi1sk"}

func (a act) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-6s %s", a.Kind, a.Key)
	if a.Item != nil {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(a.Item)) {
			if !slices.Contains(repeated, name) {
				parts = append(parts, name+"="+short(fmt.Sprint(a.Item[name])))
			}
		}
		if _, ok := a.Item["gsi1pk"]; ok {
			parts = append(parts, "gsi1")
		}
		b.WriteString("\n         " + strings.Join(parts, " "))
	}
	if a.Sets != "" {
		b.WriteString("\n         " + a.Sets)
	}
	if a.Cond != "" {
		b.WriteString("\n         if " + a.Cond)
	}
	return b.String()
}
