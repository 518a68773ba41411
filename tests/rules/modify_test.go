package rules_test

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// sheet has a list of anything, one of structs, one of numbers, and a set of them. Another program wrote them.
type sheet struct {
	_     entity.Key `name:"Sheet" pk:"pk={id}"`
	ID    string     `dynamodbav:"id"`
	Cells []any      `dynamodbav:"cells"`
	Rows  []row      `dynamodbav:"rows,omitempty"`
	Loads []float64  `dynamodbav:"loads,omitempty"`
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

// None of these has a float64 of its own.
const wideA, wideB, wideC = "9007199254740993", "9007199254740995", "0.12345678901234567890123456789"

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
	require.NoError(t, dbtest.ErrorOf(x.Modify(t.Context(), sheet{ID: "x"}, func(v *sheet) error { f(v); return nil })))
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
		{"one is put before", []av{num(wideA), num(wideC)}, []av{num("1"), num(wideA), num(wideC)}, func(v *sheet) { v.Cells = slices.Insert(v.Cells, 0, any(1)) }},
		{"one goes from the middle", []av{num(wideA), num("5"), num(wideC)}, []av{num(wideA), num(wideC)}, func(v *sheet) { v.Cells = slices.Delete(v.Cells, 1, 2) }},
		{"the first goes", []av{num("5"), num(wideA), num(wideC)}, []av{num(wideA), num(wideC)}, func(v *sheet) { v.Cells = v.Cells[1:] }},
		{"one changes", []av{num(wideA), num("5"), num(wideC)}, []av{num(wideA), num("6"), num(wideC)}, func(v *sheet) { v.Cells[1] = 6 }},
		{"they turn around", []av{num(wideA), num("5"), num(wideC)}, []av{num(wideC), num("5"), num(wideA)}, func(v *sheet) { slices.Reverse(v.Cells) }},
		{"they change places and one goes", []av{num(wideA), num("5"), num(wideC), num("7")}, []av{num(wideC), num(wideA), num("5")}, func(v *sheet) { v.Cells = []any{v.Cells[2], v.Cells[0], v.Cells[1]} }},
		{"one changes inside", []av{inside("p", wideA), inside("q", wideB)}, []av{inside("p", wideA), inside("z", wideB)}, func(v *sheet) { v.Cells[1].(map[string]any)["name"] = "z" }},
		{"one changes inside and the first goes", []av{inside("p", wideC), inside("q", wideB)}, []av{inside("z", wideB)}, func(v *sheet) {
			v.Cells = v.Cells[1:]
			v.Cells[0].(map[string]any)["name"] = "z"
		}},
		{"one changes in a list inside", []av{list(num(wideA), list(num(wideB), num(wideC)))}, []av{list(num(wideA), list(num("2"), num(wideB), num(wideC)))}, func(v *sheet) {
			outer := v.Cells[0].([]any)
			outer[1] = slices.Insert(outer[1].([]any), 0, any(2))
		}},
		{"a number with a place beside it changes to it", []av{num(wideA), num("5")}, []av{num(wideA), num("9007199254740992")}, func(v *sheet) { v.Cells[1] = int64(9007199254740992) }},
	} {
		got := x.after(t, map[string]av{"cells": list(c.stored...)}, c.change)
		require.Equal(t, list(c.want...), got["cells"], c.what)
	}
}

func TestModify_KeepsOfEachListElementWhatTheStructDoesNotKnow(t *testing.T) {
	t.Parallel()
	x := newSheets(t)
	at := func(name, count string, extra ...string) av {
		m := map[string]av{"name": str(name), "count": num(count)}
		if extra != nil {
			m["extra"] = str(extra[0])
		}
		return &mapOf{Value: m}
	}
	a, b, c := at("a", "1", "of a"), at("b", "2", "of b"), at("c", wideA, "of c")
	for _, k := range []struct {
		what         string
		stored, want []av
		change       func(*sheet)
	}{
		{"one changes", []av{a, b, c}, []av{a, at("b", "7", "of b"), c}, func(v *sheet) { v.Rows[1].Count = 7 }},
		{"the first goes", []av{a, b, c}, []av{b, c}, func(v *sheet) { v.Rows = v.Rows[1:] }},
		{"one goes from the middle and the next changes", []av{a, b, c}, []av{a, at("z", wideA, "of c")}, func(v *sheet) {
			v.Rows, v.Rows[1].Name = slices.Delete(v.Rows, 1, 2), "z"
		}},
		{"they turn around", []av{a, b, c}, []av{c, b, a}, func(v *sheet) { slices.Reverse(v.Rows) }},
		{"one changes and one is put before and one behind", []av{a, b}, []av{at("n", "0"), a, at("b", "3", "of b"), at("m", "0")}, func(v *sheet) {
			v.Rows[1].Count = 3
			v.Rows = append(slices.Insert(v.Rows, 0, row{Name: "n"}), row{Name: "m"})
		}},
		{"a new one is put before one that changes", []av{a, b}, []av{at("n", "0"), at("a", "4", "of a"), b}, func(v *sheet) {
			v.Rows[0].Count = 4
			v.Rows = slices.Insert(v.Rows, 0, row{Name: "n"})
		}},
		{"the first goes and a new one comes last", []av{a, b}, []av{b, at("n", "1")}, func(v *sheet) { v.Rows = append(v.Rows[1:], row{"n", 1}) }},
		{"a new one takes the place of another", []av{a, b}, []av{a, at("n", "0")}, func(v *sheet) { v.Rows[1] = row{Name: "n"} }},
		{"all are new", []av{a, b}, []av{at("n", "0")}, func(v *sheet) { v.Rows = []row{{Name: "n"}} }},
		{"one moved and changed", []av{a, b, c}, []av{b, c, at("a", "5")}, func(v *sheet) { v.Rows = append(v.Rows[1:], row{"a", 5}) }},
		{"of equal ones the first stay", []av{a, at("a", "1"), at("a", "1", "third")}, []av{a, at("a", "1")}, func(v *sheet) { v.Rows = v.Rows[:2] }},
		{"beside equal ones another changes", []av{a, at("a", "1"), b}, []av{a, at("a", "1"), at("b", "9", "of b")}, func(v *sheet) { v.Rows[2].Count = 9 }},
	} {
		got := x.after(t, map[string]av{"cells": list(), "rows": list(k.stored...)}, k.change)
		require.Equal(t, list(k.want...), got["rows"], k.what)
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

// A float64 does not hold the digits of these numbers; they keep them wherever they are.
func TestModify_LeavesElementsThatMoveAsTheyAre(t *testing.T) {
	t.Parallel()
	x := newSheets(t)
	for what, c := range map[string]struct {
		want   []av
		change func(*sheet)
	}{
		"the first goes":     {[]av{num(wideA), num(wideC)}, func(v *sheet) { v.Loads = v.Loads[1:] }},
		"one is put before":  {[]av{num("1"), num("5"), num(wideA), num(wideC)}, func(v *sheet) { v.Loads = slices.Insert(v.Loads, 0, 1) }},
		"they turn around":   {[]av{num(wideC), num(wideA), num("5")}, func(v *sheet) { slices.Reverse(v.Loads) }},
		"the second changes": {[]av{num("5"), num("6"), num(wideC)}, func(v *sheet) { v.Loads[1] = 6 }},
	} {
		got := x.after(t, map[string]av{"cells": list(), "loads": list(num("5"), num(wideA), num(wideC))}, c.change)
		require.Equal(t, list(c.want...), got["loads"], what)
	}
}
