package migrate_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
)

// suspects returns what the segments of a table suspect, by value, after a way as bytes, and the sum of their counts.
func suspects[T any](t *testing.T, l *unique.Lookup[T], segments int) (map[string][]migrate.Suspect, migrate.UniqueReport) {
	t.Helper()
	of, sum := map[string][]migrate.Suspect{}, migrate.UniqueReport{}
	for i := range segments {
		r, err := migrate.VerifyUniqueSegment(t.Context(), l, i, segments, func(s migrate.Suspect) error {
			sent, err := s.MarshalBinary()
			var came migrate.Suspect
			require.NoError(t, errors.Join(err, came.UnmarshalBinary(sent)))
			require.Equal(t, s, came)
			of[came.Value()] = append(of[came.Value()], came)
			return nil
		})
		require.NoError(t, err)
		sum.Items, sum.Sentinels, sum.Unreadable = sum.Items+r.Items, sum.Sentinels+r.Sentinels, sum.Unreadable+r.Unreadable
	}
	return of, sum
}

// say prints what findings say, sorted.
func say(list []migrate.UniqueFinding) (lines []string) {
	for _, f := range list {
		lines = append(lines, fmt.Sprint(f.Kind, " of ", f.Owners, " claimed by ", f.ClaimedBy))
	}
	slices.Sort(lines)
	return lines
}

func TestVerifySegment_TheSegmentsFindTogetherWhatVerifyFinds(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	s, l := prepare[Person](t, b, "email")
	damaged(t, b, "email", func(id string) error {
		_, err := s.Create(t.Context(), Person{ID: id, Email: "value-" + id})
		return err
	})
	for i := range 5 { // a conflict among many items, so that segments share it
		id := fmt.Sprint("same-", i)
		entity.Must(s.Create(t.Context(), Person{ID: id, Email: "own-" + id}))
		it := b.Current(id)
		it["email"] = dbtest.S("value-f")
		b.PutItem(it)
	}
	want := entity.Must(migrate.VerifyUnique(t.Context(), l))
	shared := false
	for _, n := range []int{1, 6} {
		of, sum := suspects(t, l, n)
		var found []migrate.UniqueFinding
		for _, value := range slices.Sorted(maps.Keys(of)) {
			f, damaged, err := migrate.ExamineUnique(t.Context(), l, of[value]...)
			require.NoError(t, err)
			if damaged {
				found = append(found, f)
			}
			if len(of[value]) == 1 || shared {
				continue
			}
			alone, _, err := migrate.ExamineUnique(t.Context(), l, of[value][0])
			require.NoError(t, err)
			shared = len(alone.Owners) < len(f.Owners)
		}
		require.Equal(t, say(want.Findings), say(found), "%d segments", n)
		sum.Findings = want.Findings
		require.Equal(t, want, sum)
	}
	require.True(t, shared, "a conflict needs the suspects of all segments")
}

func TestExamine_FindsNothingInAValueThatWasRepaired(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	s, l := prepare[Person](t, b, "email")
	entity.Must(s.Create(t.Context(), Person{ID: "a", Email: "value-a"}))
	b.RemoveItem(b.Sentinel("value-a"))
	of, _ := suspects(t, l, 2)
	require.Len(t, of, 1)
	entity.Must(migrate.RepairUnique(t.Context(), l))
	for _, list := range of {
		f, damaged, err := migrate.ExamineUnique(t.Context(), l, list...)
		require.NoError(t, err)
		require.False(t, damaged)
		require.Zero(t, f)
	}
}

func TestExamine_RefusesSuspectsOfSeveralValuesAndOfOtherConstraints(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	s, l := prepare[Person](t, b, "email")
	users, badges := prepare[User](t, b, "badge")
	for _, id := range []string{"a", "b"} {
		entity.Must(s.Create(t.Context(), Person{ID: id, Email: "value-" + id}))
		b.RemoveItem(b.Sentinel("value-" + id))
	}
	entity.Must(users.Create(t.Context(), User{ID: "u", Site: "north", Badge: 7}))
	b.RemoveItem(b.Items()[slices.IndexFunc(b.Items(), dbtest.IsSentinel)])
	var of []migrate.Suspect
	mine, _ := suspects(t, l, 1)
	for _, list := range mine {
		of = append(of, list...)
	}
	require.Len(t, of, 2)
	theirs, _ := suspects(t, badges, 1)
	require.Len(t, theirs, 1)
	b.Wire.Reset()
	bad := [][]migrate.Suspect{nil, {{}}, of, {of[0], {}}}
	for _, list := range theirs {
		bad = append(bad, list)
	}
	for i, list := range bad {
		_, _, err := migrate.ExamineUnique(t.Context(), l, list...)
		var input *entity.InputError
		require.ErrorAs(t, err, &input, "case %d", i)
	}
	require.Error(t, new(migrate.Suspect).UnmarshalBinary([]byte("no suspect")))
	for _, call := range []func() error{
		func() error { return dbtest.ErrorOf(migrate.VerifyUniqueSegment(t.Context(), l, 0, 1, nil)) },
		func() error {
			return dbtest.ErrorOf(migrate.VerifyUniqueSegment(t.Context(), l, 3, 3, func(migrate.Suspect) error { return nil }))
		},
		func() error {
			return dbtest.ErrorOf(migrate.VerifyUniqueSegment(t.Context(), l, 0, 2, func(migrate.Suspect) error { return nil }, entity.Segments(2)))
		},
	} {
		var input *entity.InputError
		require.ErrorAs(t, call(), &input)
	}
	require.Empty(t, b.Wire.Requests(), "nothing was asked")
}

func TestVerifySegment_EndsWithTheErrorOfItsFunction(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	s, l := prepare[Person](t, b, "email")
	entity.Must(s.Create(t.Context(), Person{ID: "a", Email: "value-a"}))
	b.RemoveItem(b.Sentinel("value-a"))
	stop := errors.New("stop")
	_, err := migrate.VerifyUniqueSegment(t.Context(), l, 0, 1, func(migrate.Suspect) error { return stop })
	require.ErrorIs(t, err, stop)
}
