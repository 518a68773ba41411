package rules_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/testsize"
)

// reading has a composed sort key, an index with a native number and one with a native text as sort keys.
type slotted struct {
	_    entity.Key `name:"Reading" pk:"$#{box}" sk:"$#{day}#{slot}"`
	_    entity.GSI `name:"byHeat" index:"gsi1" pk:"box" sk:"heat"`
	_    entity.GSI `name:"byWord" index:"gsi2" pk:"box" sk:"word"`
	Box  string     `dynamodbav:"box"`
	Day  time.Time  `dynamodbav:"day" entity:"time=s"`
	Slot int        `dynamodbav:"slot" entity:"zero"`
	Heat float64    `dynamodbav:"heat"`
	Word string     `dynamodbav:"word"`
}

// span is a range, as options and as what lies in it.
type span[V any] struct {
	name string
	opts []entity.QueryOption
	in   func(V) bool
}

// spans are the ranges from lo to hi, with and without each end, one of them with the ends turned round.
func spans[V any](field *V, lo, hi V, compare func(a, b V) int) (all []span[V]) {
	for _, low := range []string{"Gt", "Ge"} {
		for _, high := range []string{"Lt", "Le"} {
			from := map[string]func(*V, V) entity.Cond{"Gt": entity.Gt[V], "Ge": entity.Ge[V]}[low](field, lo)
			to := map[string]func(*V, V) entity.Cond{"Lt": entity.Lt[V], "Le": entity.Le[V]}[high](field, hi)
			in := func(v V) bool {
				a, b := compare(v, lo), compare(v, hi)
				return (a > 0 || a == 0 && low == "Ge") && (b < 0 || b == 0 && high == "Le")
			}
			name := fmt.Sprintf("%s %v, %s %v", low, lo, high, hi)
			if low == "Ge" && high == "Lt" {
				all = append(all, span[V]{name + ", turned", []entity.QueryOption{to, from}, in})
			}
			all = append(all, span[V]{name, []entity.QueryOption{from, to}, in})
		}
	}
	return all
}

// ranges checks every range between the values: its items, its pages, its count, and it as part of a gathering.
func ranges[T, V any](t *testing.T, b *dbtest.Bench, query func(...entity.QueryOption) entity.Query[T], all []T, field *V, get func(T) V, compare func(a, b V) int, values ...V) {
	t.Helper()
	random := rand.New(rand.NewPCG(testsize.Seed(t), 0))
	for _, lo := range values {
		for _, hi := range values {
			for _, r := range spans(field, lo, hi, compare) {
				var want []T
				for _, v := range all {
					if r.in(get(v)) {
						want = append(want, v)
					}
				}
				b.Sent()
				q := query(r.opts...)
				got, err := q.Collect(t.Context())
				require.NoError(t, err, r.name)
				require.Equal(t, want, got, "%s: %s", r.name, q)
				require.LessOrEqual(t, len(b.Sent()), 1, r.name)
				if compare(lo, hi) > 0 || random.IntN(testsize.Pick(8, 1)) > 0 { // of the rest the usual run takes a sample
					continue
				}
				n, err := q.Count(t.Context())
				require.NoError(t, err, r.name)
				require.Equal(t, len(want), n, r.name)
				var gathered, paged []T
				require.NoError(t, b.DB.GetCollection(t.Context(), q.Into(&gathered)), r.name)
				require.Equal(t, want, gathered, r.name)
				q, next := query(append(r.opts, entity.Limit(2))...), ""
				for {
					page, err := q.Page(t.Context(), next)
					require.NoError(t, err, r.name)
					paged = append(paged, page.Items...)
					if next = page.Next; next == "" {
						break
					}
				}
				require.Equal(t, want, paged, r.name)
			}
		}
	}
}

func TestQuery_ARangeHasTwoEndsEachOpenOrClosed(t *testing.T) {
	t.Parallel()
	b := standing(t)
	s, f := declare[slotted](b), entity.Fields[slotted]()
	day := func(n int) time.Time { return now.Add(time.Duration(n) * 24 * time.Hour) }
	words := []string{"a", "ab", "b"}
	var all []slotted
	for d := range 3 {
		for slot := range 2 {
			v := slotted{Box: "x", Day: day(d), Slot: slot, Heat: float64(d) + 0.5*float64(slot), Word: words[d]}
			b.OK(s.Create(t.Context(), v))
			all = append(all, v)
		}
	}
	byDay := func(opts ...entity.QueryOption) entity.Query[slotted] { return s.Query(slotted{Box: "x"}, opts...) }
	ranges(t, b, byDay, all, &f.Day, func(v slotted) time.Time { return v.Day }, time.Time.Compare, day(0), day(2), day(1).Add(1))
	bySlot := func(opts ...entity.QueryOption) entity.Query[slotted] {
		return s.Query(slotted{Box: "x", Day: day(1)}, opts...)
	}
	ranges(t, b, bySlot, all[2:4], &f.Slot, func(v slotted) int { return v.Slot }, cmp.Compare[int], 0, 1)
	index := func(name string) func(opts ...entity.QueryOption) entity.Query[slotted] {
		return func(opts ...entity.QueryOption) entity.Query[slotted] {
			return entity.Must(s.Index(name)).Query(slotted{Box: "x"}, opts...)
		}
	}
	ranges(t, b, index("byHeat"), all, &f.Heat, func(v slotted) float64 { return v.Heat }, cmp.Compare[float64], 0.5, 1.25, 2)
	byWord, err := index("byWord")().Collect(t.Context()) // in what order equal keys come is up to the database
	require.NoError(t, err)
	require.ElementsMatch(t, all, byWord)
	ranges(t, b, index("byWord"), byWord, &f.Word, func(v slotted) string { return v.Word }, cmp.Compare[string], "", "aa", "b")

	require.Contains(t, index("byHeat")(entity.Ge(&f.Heat, 0.5), entity.Lt(&f.Heat, 2)).String(), "keep   heat >= 0.5")
	for name, opts := range map[string][]entity.QueryOption{
		"two lower ends":        {entity.Gt(&f.Day, day(0)), entity.Ge(&f.Day, day(0))},
		"two upper ends":        {entity.Lt(&f.Day, day(0)), entity.Le(&f.Day, day(0))},
		"three ends":            {entity.Gt(&f.Day, day(0)), entity.Le(&f.Day, day(2)), entity.Lt(&f.Day, day(2))},
		"Between and an end":    {entity.Between(&f.Day, day(0), day(1)), entity.Lt(&f.Day, day(2))},
		"an end and Between":    {entity.Gt(&f.Day, day(0)), entity.Between(&f.Day, day(0), day(1))},
		"ends of other parts":   {entity.Gt(&f.Day, day(0)), entity.Lt(&f.Slot, 1)},
		"equality after an end": {entity.Gt(&f.Day, day(0)), entity.Eq(&f.Day, day(1))},
	} {
		_, err := s.Query(slotted{Box: "x"}, opts...).Collect(t.Context())
		require.Equal(t, "EDD-9004", dbtest.InputCode(err), name)
	}
}

func TestTimes_TooFineNameTheRemedy(t *testing.T) {
	t.Parallel()
	b := standing(t)
	s, f := declare[slotted](b), entity.Fields[slotted]()
	fine := now.Add(1)
	_, err := s.Create(t.Context(), slotted{Box: "x", Day: fine})
	dbtest.RequireInput(t, err, "EDD-9102", "Day", "format s", "t.Truncate(time.Second)")
	_, err = s.Get(t.Context(), slotted{Box: "x", Day: fine})
	dbtest.RequireInput(t, err, "EDD-9102", "Day", "t.Truncate(time.Second)")
	_, err = s.Scan(entity.Filter(entity.Eq(&f.Day, fine))).Collect(t.Context())
	dbtest.RequireInput(t, err, "EDD-9102", "Day", "t.Truncate(time.Second)")
	require.Empty(t, b.Sent())
}
