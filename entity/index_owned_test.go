package entity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// Visit's index halves are composed of what the library keeps itself, and of what is set once.
type Visit struct {
	_ entity.Key `name:"Visit" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"recent" index:"gsi1" pk:"$#{place}" sk:"$#{updatedAt}"`
	_ entity.GSI `name:"oldest" index:"gsi2" pk:"$#{place}#{createdAt}" sk:"gsi2sk={host}"`
	_ entity.GSI `name:"copies" index:"gsi3" pk:"gsi3pk={place}" sk:"gsi3sk={updatedAt}"`

	ID        string    `dynamodbav:"id"`
	Place     string    `dynamodbav:"place,omitempty"`
	Host      string    `dynamodbav:"host,omitempty" entity:"set_once"`
	Note      string    `dynamodbav:"note,omitempty"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at,time=s"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at,time=ms"`
}

// Halves of what the library itself writes follow it just as well.
func TestIndexHalf_OfLibraryOwnedAndSetOncePartsIsKeptInStep(t *testing.T) {
	t.Parallel()
	l, s := open[Visit](t)
	v := entity.Fields[Visit]()
	for name, write := range map[string]func(*testing.T, *entity.Store[Visit]){
		"create": func(t *testing.T, s *entity.Store[Visit]) {},
		"update": func(t *testing.T, s *entity.Store[Visit]) {
			_, err := s.Update(t.Context(), Visit{ID: "a"}, entity.Set(&v.Note, "x"))
			require.NoError(t, err)
		},
		"update of a part": func(t *testing.T, s *entity.Store[Visit]) {
			_, err := s.Update(t.Context(), Visit{ID: "a"}, entity.Set(&v.Place, "yard"))
			require.NoError(t, err)
		},
		"set once": func(t *testing.T, s *entity.Store[Visit]) {
			_, err := s.Update(t.Context(), Visit{ID: "a"}, entity.Set(&v.Host, "eve"))
			require.NoError(t, err)
		},
		"removal": func(t *testing.T, s *entity.Store[Visit]) {
			_, err := s.Update(t.Context(), Visit{ID: "a"}, entity.Remove(&v.Place))
			require.NoError(t, err)
		},
		"upsert over live": func(t *testing.T, s *entity.Store[Visit]) {
			_, created, err := s.Upsert(t.Context(), Visit{ID: "a", Note: "y", Host: "eve"})
			require.NoError(t, err)
			require.False(t, created)
		},
		"upsert of a part": func(t *testing.T, s *entity.Store[Visit]) {
			_, _, err := s.Upsert(t.Context(), Visit{ID: "a", Place: "yard"})
			require.NoError(t, err)
		},
		"upsert of a new item": func(t *testing.T, s *entity.Store[Visit]) {
			require.NoError(t, s.Delete(t.Context(), Visit{ID: "a"}))
			_, created, err := s.Upsert(t.Context(), Visit{ID: "a", Place: "yard", Host: "eve"})
			require.NoError(t, err)
			require.True(t, created)
		},
	} {
		t.Run(name, func(t *testing.T) {
			l.drop(t, keys("pk", "$app#v1#visit#a", "sk", "$app#v1#visit"))
			_, err := s.Create(t.Context(), Visit{ID: "a", Place: "hall"})
			require.NoError(t, err)
			l.clock.move(time.Minute)
			write(t, s)
			it := l.stored(t, keys("pk", "$app#v1#visit#a", "sk", "$app#v1#visit"))
			now, err := s.Get(t.Context(), Visit{ID: "a"})
			require.NoError(t, err)
			place := now.Place
			want := raw{}
			if place != "" {
				want["gsi1pk"] = `S"$app#v1#visit#` + place + `"`
				want["gsi2pk"] = `S"$app#v1#visit#` + place + "#" + now.CreatedAt.Format("2006-01-02T15:04:05Z") + `"`
				want["gsi3pk"] = `S"` + place + `"`
			}
			want["gsi1sk"] = `S"$app#v1#visit#` + now.UpdatedAt.Format("2006-01-02T15:04:05.000Z") + `"`
			want["gsi3sk"] = `S"` + now.UpdatedAt.Format("2006-01-02T15:04:05.000Z") + `"`
			if now.Host != "" {
				want["gsi2sk"] = `S"` + now.Host + `"`
			}
			got := raw{}
			for _, name := range []string{"gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk", "gsi3pk", "gsi3sk"} {
				if v, ok := it[name]; ok {
					got[name] = v
				}
			}
			require.Equal(t, want, got)
		})
	}
}

// Pulse has halves of the update clock and of the version, and nothing that makes an upsert read.
type Pulse struct {
	_ entity.Key `name:"Pulse" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"recent" index:"gsi1" pk:"$#{place}" sk:"$#{updatedAt}"`
	_ entity.GSI `name:"busiest" index:"gsi2" pk:"gsi2pk=pulses" sk:"$#{version}"`

	ID        string    `dynamodbav:"id"`
	Place     string    `dynamodbav:"place"`
	Note      string    `dynamodbav:"note,omitempty"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at,time=s"`
	Version   int       `dynamodbav:"version" entity:"version"`
}

func TestIndexHalf_OfUpdatedAtAndVersionMovesWithEveryWrite(t *testing.T) {
	t.Parallel()
	l, s := open[Pulse](t)
	v := Pulse{ID: "a", Place: "hall"}
	check := func(second, version string) {
		t.Helper()
		it := l.stored(t, keys("pk", "$app#v1#pulse#a", "sk", "$app#v1#pulse"))
		require.Equal(t, "N"+version, it["version"])
		require.Equal(t, `S"$app#v1#pulse#2024-05-06T07:08:`+second+`Z"`, it["gsi1sk"])
		require.Equal(t, `S"$app#v1#pulse#000000000000000000`+version+`"`, it["gsi2sk"])
	}
	_, created, err := s.Upsert(t.Context(), v)
	require.NoError(t, err)
	require.True(t, created)
	check("09", "1")
	l.clock.move(time.Second)
	_, _, err = s.Upsert(t.Context(), v)
	require.NoError(t, err)
	check("10", "2")
	l.clock.move(time.Second)
	_, err = s.Update(t.Context(), v, entity.Set(&entity.Fields[Pulse]().Note, "x"))
	require.NoError(t, err)
	check("11", "3")
}
