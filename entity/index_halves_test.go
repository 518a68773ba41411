package entity_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

var profileKey = keys("pk", "$app#v1#profile#a", "sk", "$app#v1#profile")

// profileHalf is the partition half of Profile's index for the parts.
func profileHalf(team, rank string) string {
	return `S"$app#v1#profile#` + team + "#000000000000000000" + rank + `"`
}

// Whatever changes, and on whichever route, a half is composed of the item as it is.
func TestIndexHalf_OfSeveralPartsFollowsEachOfThem(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p := entity.Fields[Profile]()
	read := []string{"GetItem", "PutItem"}
	for name, c := range map[string]struct {
		changes []entity.UpdateOption
		half    string // "" is absent
		sent    []string
	}{
		"first part":                {[]entity.UpdateOption{entity.Set(&p.Team, "blue")}, profileHalf("blue", "1"), read},
		"last part":                 {[]entity.UpdateOption{entity.Set(&p.Rank, 2)}, profileHalf("red", "2"), read},
		"a part by path":            {[]entity.UpdateOption{entity.Attr[int]("rank").Set(2)}, profileHalf("red", "2"), read},
		"both parts":                {[]entity.UpdateOption{entity.Set(&p.Team, "blue"), entity.Set(&p.Rank, 2)}, profileHalf("blue", "2"), []string{"UpdateItem"}},
		"no part":                   {[]entity.UpdateOption{entity.Set(&p.Note, "x")}, profileHalf("red", "1"), []string{"UpdateItem"}},
		"a part added to":           {[]entity.UpdateOption{entity.Add(&p.Rank, 4)}, profileHalf("red", "5"), read},
		"a part removed":            {[]entity.UpdateOption{entity.Remove(&p.Team)}, "", read},
		"a part emptied":            {[]entity.UpdateOption{entity.Set(&p.Team, "")}, "", read},
		"a part set once":           {[]entity.UpdateOption{entity.SetIfNotExists(&p.Team, "blue")}, profileHalf("red", "1"), read},
		"a part emptied, one set":   {[]entity.UpdateOption{entity.Set(&p.Team, ""), entity.Set(&p.Rank, 2)}, "", read},
		"a part set, unknown guard": {[]entity.UpdateOption{entity.Set(&p.Rank, 2), entity.If(entity.Exists(&p.Team))}, profileHalf("red", "2"), read},
	} {
		t.Run(name, func(t *testing.T) {
			l.drop(t, profileKey)
			_, err := s.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
			require.NoError(t, err)
			require.Equal(t, profileHalf("red", "1"), l.stored(t, profileKey)["gsi1pk"])
			l.sent()
			got, err := s.Update(t.Context(), Profile{ID: "a"}, c.changes...)
			require.NoError(t, err)
			require.Equal(t, c.sent, l.sent())
			it := l.stored(t, profileKey)
			require.Equal(t, c.half, it["gsi1pk"])
			require.Equal(t, `S"$app#v1#profile#a"`, it["gsi1sk"], "a half of key parts alone is always there")
			require.Equal(t, `S"Profile"`, it["__edd_e__"])
			again, err := s.Get(t.Context(), Profile{ID: "a"}, entity.Consistent())
			require.NoError(t, err)
			require.Equal(t, again, got)

			want := 1
			if c.half == "" {
				want = 0
			}
			require.Len(t, l.indexed(t, "gsi1"), want)
		})
	}
}

func TestIndexHalf_ComesBackWhenItsLastPartDoes(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p := entity.Fields[Profile]()
	_, err := s.Create(t.Context(), Profile{ID: "a"})
	require.NoError(t, err)
	require.NotContains(t, l.stored(t, profileKey), "gsi1pk")
	_, err = s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&p.Team, "red"))
	require.NoError(t, err)
	require.NotContains(t, l.stored(t, profileKey), "gsi1pk")
	_, err = s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&p.Rank, 1))
	require.NoError(t, err)
	require.Equal(t, profileHalf("red", "1"), l.stored(t, profileKey)["gsi1pk"])
}

// Every write over every state: the half is what the documented composition of the attributes as they are then gives.
func TestIndexHalf_FollowsEveryWriteOverEveryState(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	updates := map[string][]entity.UpdateOption{
		"add": {entity.Add(&p.Rank, 1)}, "remove": {entity.Remove(&p.Rank)}, "once": {entity.SetIfNotExists(&p.Team, "green")}, "note": {entity.Set(&p.Note, "n")},
	}
	states := []Profile{}
	for _, team := range []string{"", "red", "blue"} {
		updates["team "+team] = []entity.UpdateOption{entity.Set(&p.Team, team)}
		for rank := range 2 {
			states = append(states, Profile{ID: "a", Team: team, Rank: rank})
			updates[fmt.Sprint("rank ", rank)] = []entity.UpdateOption{entity.Set(&p.Rank, rank)}
			updates[fmt.Sprint("both ", team, rank)] = []entity.UpdateOption{entity.Set(&p.Team, team), entity.Set(&p.Rank, rank)}
		}
	}
	check := func(start Profile, write string) {
		t.Helper()
		it := l.stored(t, profileKey)
		want := ""
		if it["team"] != "" && it["rank"] != "" {
			want = profileHalf(it["team"][2:len(it["team"])-1], it["rank"][1:])
		}
		require.Equal(t, want, it["gsi1pk"], "%s over team %q rank %d", write, start.Team, start.Rank)
		require.Equal(t, `S"$app#v1#profile#a"`, it["gsi1sk"])
	}
	for _, start := range states {
		l.drop(t, profileKey)
		_, err := s.Create(t.Context(), start)
		require.NoError(t, err)
		check(start, "create")
		begin := l.values(t, profileKey)
		for name, changes := range updates {
			l.put(t, begin)
			_, err := s.Update(t.Context(), key, changes...)
			require.NoError(t, err)
			check(start, name)
		}
		for _, v := range states {
			l.put(t, begin)
			_, _, err := s.Upsert(t.Context(), v)
			require.NoError(t, err)
			check(start, fmt.Sprint("upsert ", v.Team, v.Rank))
		}
	}
	for _, v := range states {
		l.drop(t, profileKey)
		_, created, err := s.Upsert(t.Context(), v)
		require.NoError(t, err)
		require.True(t, created)
		check(v, "upsert of nothing")
	}
}
