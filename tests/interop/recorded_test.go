package interop_test

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

	"github.com/stretchr/testify/require"
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

func load(t *testing.T, name string) *scenario {
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
	text, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
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
	plain, err := json.Marshal(withTimes(v))
	require.NoError(t, err)
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
