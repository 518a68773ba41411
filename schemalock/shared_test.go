package schemalock

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// locked is a lock of entities that were built together.
func locked(t *testing.T, text string) Lock {
	t.Helper()
	l, err := Parse([]byte(header + "\n" + text))
	require.NoError(t, err)
	return l
}

const invoice = `
entity Invoice
  table = (default)
  key partition = pk S $app#v1#invoice#{customer string}
  index gsi1 = global
  index gsi1 partition = gsi1pk S $app#v1#invoice#{month string}
  index gsi1 sort = gsi1sk S $app#v1#invoice#{number int:19}
  index gsi1 projection = keys amount
  index lsi1 = local
  index lsi1 sort = ranked S verbatim {rank int:5}
  index lsi1 projection = all
`

// receipt is another entity of the table, with more facts.
func receipt(table, more string) string {
	return "\nentity Receipt\n  table = " + table + "\n  key partition = pk S $app#v1#receipt#{customer string}\n" + more
}

const (
	global = "  index gsi1 = global\n  index gsi1 partition = gsi1pk S $app#v1#receipt#{day string}\n  index gsi1 sort = gsi1sk S $app#v1#receipt\n"
	local  = "  index lsi1 = local\n  index lsi1 sort = ranked S verbatim {total int:5}\n"
)

func TestCompare_WhatAnEntityAsksOfASharedTable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		table, facts string
		breaking     string // what; "" when nothing is
	}{
		"no index":                     {"(default)", "", ""},
		"less of a shared index":       {"(default)", global + "  index gsi1 projection = keys\n", ""},
		"as much of a shared index":    {"(default)", global + "  index gsi1 projection = keys amount\n", ""},
		"more of a shared index":       {"(default)", global + "  index gsi1 projection = keys total\n", "index gsi1 projection"},
		"all of a shared index":        {"(default)", global + "  index gsi1 projection = all\n", "index gsi1 projection"},
		"all of another table's":       {"other", global + "  index gsi1 projection = all\n", ""},
		"a shared local index":         {"(default)", local + "  index lsi1 projection = keys\n", ""},
		"a new global index":           {"(default)", "  index gsi2 = global\n  index gsi2 partition = gsi2pk S $app#v1#receipt#{day string}\n  index gsi2 projection = all\n", ""},
		"a new local index":            {"(default)", "  index lsi2 = local\n  index lsi2 sort = at S verbatim {at time=s}\n  index lsi2 projection = keys\n", "index lsi2"},
		"a local index of a new table": {"other", "  index lsi2 = local\n  index lsi2 sort = at S verbatim {at time=s}\n  index lsi2 projection = keys\n", ""},
		"another kind":                 {"(default)", "  index gsi1 = local\n  index gsi1 sort = gsi1sk S $app#v1#receipt\n  index gsi1 projection = keys\n", "index gsi1"},
		"another partition key":        {"(default)", "  index gsi1 = global\n  index gsi1 partition = day S $app#v1#receipt#{day string}\n  index gsi1 projection = keys\n", "index gsi1 partition"},
		"another type of sort key":     {"(default)", "  index gsi1 = global\n  index gsi1 partition = gsi1pk S $app#v1#receipt\n  index gsi1 sort = native gsi1sk N\n  index gsi1 projection = keys\n", "index gsi1 sort"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			breaking := func(old, now Lock) (what []string) {
				for _, c := range Compare(old, now) {
					require.NotEmpty(t, c.Why)
					if c.Breaking {
						assert.Equal(t, "Receipt", c.Entity)
						what = append(what, c.What)
					}
				}
				return what
			}
			var want []string
			if c.breaking != "" {
				want = []string{c.breaking}
			}
			with := locked(t, invoice+receipt(c.table, c.facts))
			assert.Equal(t, want, breaking(locked(t, invoice), with), "a new entity")
			if c.table == "(default)" {
				assert.Equal(t, want, breaking(locked(t, invoice+receipt(c.table, "")), with), "an entity that is there")
			}
			assert.Empty(t, breaking(with, with))
		})
	}
}

func TestCompare_AnEntityMayAskForWhatItsIndexCarriesForOthers(t *testing.T) {
	t.Parallel()
	old := locked(t, invoice+receipt("(default)", global+"  index gsi1 projection = keys\n"))
	for projection, breaks := range map[string]bool{"keys amount": false, "keys total": true} {
		now := locked(t, invoice+receipt("(default)", global+"  index gsi1 projection = "+projection+"\n"))
		changes := Compare(old, now)
		require.Len(t, changes, 1)
		assert.Equal(t, breaks, changes[0].Breaking, "%s: %v", projection, changes)
		assert.Equal(t, "index gsi1 projection", changes[0].What)
	}
}
