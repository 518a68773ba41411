package entity_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// Pair has two free texts in each half of its key.
type Pair struct {
	_ entity.Key `name:"Pair" pk:"$#{a}#{b}" sk:"$#{c}#{d}"`

	A string `dynamodbav:"a"`
	B string `dynamodbav:"b"`
	C string `dynamodbav:"c"`
	D string `dynamodbav:"d"`
	N int    `dynamodbav:"n,omitempty"`
}

// No value imitates a separator, and letters keep their case.
func TestKeys_DifferentValuesNeverMeet(t *testing.T) {
	t.Parallel()
	l, s := open[Pair](t)
	texts := []string{"x", "X", "x#y", "x%23y", "x#", "#x", "%", "%25", "$", "x$", " ", "x ", "#", "##", "é", "e\u0301", "\u0001", "İ", "i"}
	want := map[Pair]int{}
	for i, a := range texts {
		for j, c := range []string{"x", a, "#" + a, a + "#"} {
			v := Pair{A: a, B: texts[len(texts)-1-i], C: c, D: "d"}
			if want[v] != 0 {
				continue // the texts made the same pair twice
			}
			want[v] = 4*i + j + 1
			v.N = want[v]
			_, err := s.Create(t.Context(), v)
			require.NoError(t, err, "%+v meets another", v)
		}
	}
	require.Len(t, l.everything(t), len(want))
	for key, n := range want {
		got, err := s.Get(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, n, got.N)
	}
	for _, twins := range [][2]Pair{{{A: "a#b", B: "c"}, {A: "a", B: "b#c"}}, {{A: "a", B: "#"}, {A: "a#", B: "x"}}, {{A: "a%23", B: "b"}, {A: "a#", B: "b"}}} {
		for i, v := range twins {
			v.C, v.D = "c", "d"
			_, err := s.Create(t.Context(), v)
			require.NoError(t, err, "%d %+v", i, v)
		}
	}
}

func TestKeys_ExactText(t *testing.T) {
	t.Parallel()
	l, s := open[Pair](t)
	_, err := s.Create(t.Context(), Pair{A: "a#b", B: "100% $", C: "\x00\x1f!\"", D: "&'~é"})
	require.NoError(t, err)
	require.Contains(t, l.everything(t), `S"$app#v1#pair#a%23b#100%25%20%24" S"$app#v1#pair#%00%1F%21%22#&'~é"`)
}

// Moment is keyed by a time, Tally by an integer.
type Moment struct {
	_ entity.Key `name:"Moment" pk:"$#{sensor}" sk:"$#{at}"`

	Sensor string    `dynamodbav:"sensor"`
	At     time.Time `dynamodbav:"at"`
	Note   string    `dynamodbav:"note,omitempty"`
}

type Tally struct {
	_ entity.Key `name:"Tally" pk:"$#{sensor}" sk:"$#{n}#{u:03}"`

	Sensor string `dynamodbav:"sensor"`
	N      int64  `dynamodbav:"n"`
	U      uint8  `dynamodbav:"u"`
}

// The struct that wrote an item finds it, in whatever zone its time is told.
func TestKeys_TimesAreOneInstantInEveryZone(t *testing.T) {
	t.Parallel()
	l, s := open[Moment](t)
	f := entity.Fields[Moment]()
	kathmandu := time.FixedZone("", 5*3600+45*60)
	at := time.Date(2024, 3, 31, 2, 30, 0, 1, kathmandu)
	made, err := s.Create(t.Context(), Moment{Sensor: "s", At: at})
	require.NoError(t, err)
	require.Contains(t, l.everything(t), `S"$app#v1#moment#s" S"$app#v1#moment#2024-03-30T20:45:00.000000001Z"`)
	for _, same := range []time.Time{at, at.UTC(), at.In(time.FixedZone("", -11*3600)), made.At, time.Unix(0, at.UnixNano())} {
		_, err := s.Create(t.Context(), Moment{Sensor: "s", At: same})
		require.ErrorIs(t, err, entity.ErrExists)
		got, err := s.Get(t.Context(), Moment{Sensor: "s", At: same})
		require.NoError(t, err)
		require.True(t, got.At.Equal(at))
		_, err = s.Update(t.Context(), Moment{Sensor: "s", At: same}, entity.Set(&f.Note, "x"))
		require.NoError(t, err)
		one, err := s.Query(Moment{Sensor: "s"}, entity.Between(&f.At, same, same)).One(t.Context())
		require.NoError(t, err)
		require.True(t, one.At.Equal(at))
	}
	require.NoError(t, s.Delete(t.Context(), made))
	require.Empty(t, l.everything(t))

	now := time.Now() // with a monotonic reading
	_, err = s.Create(t.Context(), Moment{Sensor: "s", At: now})
	require.NoError(t, err)
	_, err = s.Get(t.Context(), Moment{Sensor: "s", At: now})
	require.NoError(t, err)
}

// Fixed width: .1s is not after .12s, nor before .0s.
func TestKeys_TimesAreInTheirOrder(t *testing.T) {
	t.Parallel()
	_, s := open[Moment](t)
	f := entity.Fields[Moment]()
	var want []time.Time
	for _, d := range []time.Duration{0, 1, 100, 10 * time.Millisecond, 100 * time.Millisecond, 120 * time.Millisecond, time.Second, time.Hour} {
		want = append(want, dawn.Truncate(time.Second).Add(d))
	}
	for _, at := range slices.Backward(want) {
		_, err := s.Create(t.Context(), Moment{Sensor: "s", At: at})
		require.NoError(t, err)
	}
	times := func(opts ...entity.QueryOption) (out []time.Time) {
		got, err := s.Query(Moment{Sensor: "s"}, opts...).Collect(t.Context())
		require.NoError(t, err)
		for _, m := range got {
			out = append(out, m.At)
		}
		return out
	}
	require.Equal(t, want, times())
	require.Equal(t, want[2:6], times(entity.Between(&f.At, want[2], want[5].In(time.FixedZone("", 3600)))))
	require.Equal(t, want[5:], times(entity.Gt(&f.At, want[4])))
}

// Texts of integers are ordered as the integers are.
func TestKeys_IntegersAreInTheirOrder(t *testing.T) {
	t.Parallel()
	_, s := open[Tally](t)
	f := entity.Fields[Tally]()
	want := []int64{1, 2, 9, 10, 11, 99, 100, 1000, 1<<31 - 1, 1 << 31, 1 << 53, 1<<53 + 1, 1 << 62, 1<<63 - 1}
	for _, i := range []int{7, 2, 13, 0, 9, 4, 11, 1, 6, 12, 3, 10, 5, 8} {
		_, err := s.Create(t.Context(), Tally{Sensor: "s", N: want[i], U: 7})
		require.NoError(t, err)
	}
	got := func(opts ...entity.QueryOption) (out []int64) {
		for v, err := range s.Query(Tally{Sensor: "s"}, opts...).All(t.Context()) {
			require.NoError(t, err)
			out = append(out, v.N)
		}
		return out
	}
	require.Equal(t, want, got())
	for i, n := range want {
		require.Equal(t, want[i:], got(entity.Ge(&f.N, n)))
		require.Equal(t, want[:i+1], got(entity.Le(&f.N, n)))
	}
}

func TestKeys_WidthsAreChecked(t *testing.T) {
	t.Parallel()
	l, s := open[Tally](t)
	_, err := s.Create(t.Context(), Tally{Sensor: "s", N: 1<<63 - 1, U: 255})
	require.NoError(t, err)
	require.Contains(t, l.everything(t), `S"$app#v1#tally#s" S"$app#v1#tally#9223372036854775807#255"`)
	l.sent()
	_, err = s.Create(t.Context(), Tally{Sensor: "s", N: -1, U: 1})
	l.requireRefused(t, err, "EDD-9102", "N")

	b, batches := open[Batch](t)
	_, err = batches.Create(t.Context(), Batch{DeviceID: "d", Timestamp: 1e13, BatchID: "b"})
	b.requireRefused(t, err, "EDD-9102", "Timestamp")
}

// A verbatim template writes values as they are; one that could be read in two ways is refused.
func TestKeys_VerbatimValueMayNotHoldWhatFollowsIt(t *testing.T) {
	t.Parallel()
	l, s := open[Pallet](t)
	_, err := s.Create(t.Context(), Pallet{ID: "a#/b", Hall: "north/west", Row: 1})
	l.requireRefused(t, err, "EDD-9102", "Hall")
	_, err = s.Update(t.Context(), Pallet{ID: "a"}, entity.Set(&entity.Fields[Pallet]().Hall, "a/b"), entity.Set(&entity.Fields[Pallet]().Row, 2))
	l.requireRefused(t, err, "EDD-9102", "Hall")
	_, err = s.Create(t.Context(), Pallet{ID: "a#/b", Hall: "north west", Row: 1})
	require.NoError(t, err)
}

// Folded keys fold the case of their values, and of nothing else.
type Folded struct {
	_ entity.Key `name:"Folded" pk:"$#{host|lower}" sk:"$"`

	Host string `dynamodbav:"host"`
}

func TestKeys_LowerFoldsTheKeyAndKeepsTheAttribute(t *testing.T) {
	t.Parallel()
	l, s := open[Folded](t)
	_, err := s.Create(t.Context(), Folded{Host: "Web#1"})
	require.NoError(t, err)
	require.Equal(t, `S"Web#1"`, l.stored(t, keys("pk", "$app#v1#folded#web%231", "sk", "$app#v1#folded"))["host"])
	_, err = s.Create(t.Context(), Folded{Host: "WEB#1"})
	require.ErrorIs(t, err, entity.ErrExists)
}
