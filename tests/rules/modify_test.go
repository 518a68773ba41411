package rules_test

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

// sheet has a list of anything, one of structs, and a set of numbers. Another program wrote them.
type sheet struct {
	_     entity.Key `name:"Sheet" pk:"pk={id}"`
	ID    string     `dynamodbav:"id"`
	Cells []any      `dynamodbav:"cells"`
	Rows  []row      `dynamodbav:"rows,omitempty"`
	Sizes []float64  `dynamodbav:"sizes,omitempty,numberset"`
}

type row struct {
	Name  string  `dynamodbav:"name"`
	Count float64 `dynamodbav:"count"`
}

type (
	mapOf     = types.AttributeValueMemberM
	numbersOf = types.AttributeValueMemberNS
)

// None of these has a float64 of its own. An element that moves is written as what it was read as.
const (
	wideA, wideB, wideC = "9007199254740993", "9007199254740995", "0.12345678901234567890123456789"
	readA, readB, readC = "9007199254740992", "9007199254740996", "0.12345678901234568"
)

type sheets struct {
	*entity.Store[sheet]
	bench *dbtest.Bench
}

func newSheets(t *testing.T) sheets {
	t.Helper()
	b, store := dbtest.OpenStore[sheet](t)
	return sheets{store, b}
}

// after stores attributes, modifies the item and returns what is stored then.
func (x sheets) after(t *testing.T, stored map[string]av, f func(*sheet)) map[string]av {
	t.Helper()
	stored["pk"], stored["id"] = str("x"), str("x")
	x.bench.PutItem(stored)
	_, err := x.Modify(t.Context(), sheet{ID: "x"}, func(v *sheet) error { f(v); return nil })
	require.NoError(t, err)
	return x.bench.Item("x", "")
}

func TestModify_LeavesNumbersOfAListAsTheyAre(t *testing.T) {
	t.Parallel()
	x := newSheets(t)
	inside := func(name, number string) av {
		return &mapOf{Value: map[string]av{"name": str(name), "big": num(number)}}
	}
	for _, c := range []struct {
		what         string
		stored, want []av
		change       func(*sheet)
	}{
		{"one is appended", []av{num(wideA), num(wideB)}, []av{num(wideA), num(wideB), num("1")}, func(v *sheet) { v.Cells = append(v.Cells, 1) }},
		{"one is put before", []av{num(wideA), num(wideC)}, []av{num("1"), num(readA), num(readC)}, func(v *sheet) { v.Cells = slices.Insert(v.Cells, 0, any(1)) }},
		{"one goes from the middle", []av{num(wideA), num("5"), num(wideC)}, []av{num(wideA), num(readC)}, func(v *sheet) { v.Cells = slices.Delete(v.Cells, 1, 2) }},
		{"the first goes", []av{num("5"), num(wideA), num(wideC)}, []av{num(readA), num(readC)}, func(v *sheet) { v.Cells = v.Cells[1:] }},
		{"one changes", []av{num(wideA), num("5"), num(wideC)}, []av{num(wideA), num("6"), num(wideC)}, func(v *sheet) { v.Cells[1] = 6 }},
		{"they turn around", []av{num(wideA), num("5"), num(wideC)}, []av{num(readC), num("5"), num(readA)}, func(v *sheet) { slices.Reverse(v.Cells) }},
		{"they change places and one goes", []av{num(wideA), num("5"), num(wideC), num("7")}, []av{num(readC), num(readA), num("5")}, func(v *sheet) { v.Cells = []any{v.Cells[2], v.Cells[0], v.Cells[1]} }},
		{"one changes inside", []av{inside("p", wideA), inside("q", wideB)}, []av{inside("p", wideA), inside("z", wideB)}, func(v *sheet) { v.Cells[1].(map[string]any)["name"] = "z" }},
		{"one changes inside and the first goes", []av{inside("p", wideC), inside("q", wideB)}, []av{inside("z", readB)}, func(v *sheet) {
			v.Cells = v.Cells[1:]
			v.Cells[0].(map[string]any)["name"] = "z"
		}},
		{"one changes in a list inside", []av{list(num(wideA), list(num(wideB), num(wideC)))}, []av{list(num(wideA), list(num("2"), num(readB), num(readC)))}, func(v *sheet) {
			outer := v.Cells[0].([]any)
			outer[1] = slices.Insert(outer[1].([]any), 0, any(2))
		}},
		{"a number with a place beside it changes to it", []av{num(wideA), num("5")}, []av{num(wideA), num("9007199254740992")}, func(v *sheet) { v.Cells[1] = int64(9007199254740992) }},
	} {
		got := x.after(t, map[string]av{"cells": list(c.stored...)}, c.change)
		require.Equal(t, list(c.want...), got["cells"], c.what)
	}
}

func TestModify_LeavesNumbersOfASetAsTheyAre(t *testing.T) {
	t.Parallel()
	x := newSheets(t)
	got := x.after(t, map[string]av{"cells": list(), "sizes": &numbersOf{Value: []string{wideA, wideC, "5"}}}, func(v *sheet) {
		v.Sizes = append(slices.DeleteFunc(v.Sizes, func(f float64) bool { return f == 5 }), 6)
	})
	require.ElementsMatch(t, []string{wideA, wideC, "6"}, got["sizes"].(*numbersOf).Value)
}
