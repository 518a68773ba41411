package faults_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/dynastrata/dynastrata/localdb/faults"
)

func TestNth(t *testing.T) {
	t.Parallel()
	f := faults.Nth(2, faults.Lost, "PutItem", "UpdateItem")
	var got []faults.Fault
	for _, operation := range []string{"GetItem", "PutItem", "GetItem", "UpdateItem", "PutItem", "PutItem"} {
		got = append(got, f(faults.Request{Operation: operation}))
	}
	assert.Equal(t, []faults.Fault{0, 0, 0, faults.Lost, 0, 0}, got)

	any := faults.Nth(1, faults.Drop)
	assert.Equal(t, faults.Drop, any(faults.Request{Operation: "ListTables"}))
	assert.Equal(t, faults.None, any(faults.Request{Operation: "ListTables"}))
}

func TestRandom(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64, rate float64, list ...faults.Fault) map[faults.Fault]int {
		f, counts := faults.Random(seed, rate, list...), map[faults.Fault]int{}
		for range 1000 {
			counts[f(faults.Request{})]++
		}
		return counts
	}
	assert.Equal(t, draw(1, .3, faults.Drop, faults.Lost), draw(1, .3, faults.Drop, faults.Lost), "the same seed, the same faults")
	assert.NotEqual(t, draw(1, .3, faults.Drop, faults.Lost), draw(2, .3, faults.Drop, faults.Lost))

	counts := draw(7, .3, faults.Drop, faults.Lost)
	assert.InDelta(t, 700, counts[faults.None], 60)
	assert.InDelta(t, counts[faults.Drop], counts[faults.Lost], 60)
	assert.Equal(t, map[faults.Fault]int{faults.None: 1000}, draw(1, 0, faults.Drop))
	assert.Equal(t, map[faults.Fault]int{faults.Drop: 1000}, draw(1, 1, faults.Drop))
	assert.Equal(t, map[faults.Fault]int{faults.None: 1000}, draw(1, 1))
}
