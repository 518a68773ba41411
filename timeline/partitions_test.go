package timeline_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeline"
)

// over returns a change of a projection: its rows in n partitions.
func over[S any](n int) func(*timeline.Projection[string, S]) {
	return func(f *timeline.Projection[string, S]) { f.Partitions = n }
}

// spread returns how many rows of a view each partition of the table has.
func (l *lab) spread(view string) map[string]int {
	l.T.Helper()
	n := map[string]int{}
	for _, it := range l.Items() {
		if dbtest.Text(it["__edd_e__"]) == "Timeline-"+view {
			n[dbtest.Text(it["pk"])]++
		}
	}
	return n
}

// scatter appends events of random groups, some of which need escapes, and returns the number of groups.
func (l *lab) scatter(n int) int {
	l.T.Helper()
	seed := uint64(time.Now().UnixNano())
	l.T.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	alphabet := []string{"a", "b", "\x00", "\x01", "\x02", " ", "#", "$", "%", "~", "é", "00"}
	var all []reading
	groups := map[string]bool{}
	for i := range n {
		var b strings.Builder
		for range 1 + random.IntN(4) {
			b.WriteString(alphabet[random.IntN(len(alphabet))])
		}
		groups[b.String()] = true
		all = append(all, reading{Device: fmt.Sprint("d-", i%7), Site: b.String(), At: at(float64(i)), Value: i})
	}
	l.load(all)
	return len(groups)
}

// columns loads an event of each of n sites, s-00 first.
func (l *lab) columns(n int) {
	l.T.Helper()
	var evs []reading
	for i := range n {
		evs = append(evs, reading{Device: "d-1", Site: fmt.Sprintf("s-%02d", i), At: at(float64(i)), Value: i})
	}
	l.load(evs)
}

func TestPartitions_ReadsEqualThoseOfOne(t *testing.T) {
	t.Parallel()
	counts, sizes, events := []int{2, 11}, []int{25}, 50
	if testsize.Long() {
		counts, sizes, events = []int{2, 7, 100}, []int{8, 60}, 150
	}
	for _, n := range counts {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			groups := l.scatter(events)
			l.Clock.Move(time.Hour)
			l.Clock.Set(l.Clock.Now(), 0)
			one := view(l, l.sites(func(f *timeline.Projection[string, totals]) { f.Name = "one" }))
			many := view(l, l.sites(over[totals](n)))
			same := func() {
				t.Helper()
				want := rows(l, one)
				require.Equal(t, want, rows(l, many))
				require.Len(t, want, groups)
				for _, size := range sizes {
					require.Equal(t, pageWalk(l, one, size), pageWalk(l, many, size))
					require.Equal(t, cursorWalk(l, one, size), cursorWalk(l, many, size))
				}
				for key, row := range want {
					if row.Events < 2 {
						continue
					}
					got, _, err := many.Get(l.Ctx, key)
					require.NoError(t, err)
					require.Equal(t, row, got)
				}
				_, _, err := many.Get(l.Ctx, "none")
				require.ErrorIs(t, err, entity.ErrNotFound)
			}
			want, meta := rebuild(l, one), rebuild(l, many)
			assert.Equal(t, want.Counters, meta.Counters)
			assert.Equal(t, want.Rows, meta.Rows)
			assert.LessOrEqual(t, len(l.spread("sites")), n)
			assert.Greater(t, len(l.spread("sites")), n/2)
			same()
			l.Clock.Move(time.Minute)
			l.append("d-1", "a", 500, 0.5) // a late one too
			l.append("d-2", "another", 500)
			groups = len(rows(l, one, timeline.AsOf(at(1000))))
			assert.Equal(t, catchUp(l, one).Rows, catchUp(l, many).Rows)
			same()
			assert.Equal(t, rows(l, many, timeline.AsOf(at(1000))), rows(l, many))
		})
	}
}

// TestPartitions_CostOneReadOfEach counts requests.
func TestPartitions_CostOneReadOfEach(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.columns(40)
	v := view(l, l.sites(over[totals](4)))
	rebuild(l, v)
	cost := func(f func()) map[string]int {
		l.Wire.Reset()
		f()
		n := map[string]int{}
		for _, op := range l.Operations() {
			n[op]++
		}
		return n
	}
	assert.Equal(t, map[string]int{"GetItem": 2}, cost(func() {
		_, _, err := v.Get(l.Ctx, "s-07")
		require.NoError(t, err)
	}))
	assert.Equal(t, map[string]int{"GetItem": 2, "Query": 4}, cost(func() { rows(l, v) }))
	assert.Equal(t, map[string]int{"GetItem": 1, "Query": 5}, cost(func() { // one more, of the partition with the first two rows
		p, err := v.After(l.Ctx, "", 1)
		require.NoError(t, err)
		require.Len(t, p.Rows, 1)
	}))
	assert.Equal(t, map[string]int{"GetItem": 2, "Query": 5}, cost(func() {
		p, err := v.Page(l.Ctx, 1, 1)
		require.NoError(t, err)
		require.Len(t, p.Rows, 1)
	}))
	e := entity.Must(v.Explain(l.Ctx))
	assert.Equal(t, 4, e.Partitions)
	assert.EqualValues(t, 4000, e.RowWriteUnits())
	assert.EqualValues(t, 12000, e.RowReadUnits())
	assert.Contains(t, e.String(), "rows: 4 partitions, for about 4000 write units and 12000 read units a second; a page or listing reads 4 partitions, one row 1")
	e = entity.Must(view(l.connect(), l.sites()).Explain(l.Ctx))
	assert.Equal(t, 1, e.Partitions)
	assert.Contains(t, e.String(), "rows: 1 partition, for about 1000 write units and 3000 read units a second; a page or listing reads 1 partition, one row 1")
}

// A new number of partitions counts from the next rebuild. Until then, and after it for those who list the old rows, the
// number with which rows were built counts.
func TestPartitions_ReadersUseTheNumberThatRowsWereBuiltWith(t *testing.T) {
	t.Parallel()
	for _, change := range [][2]int{{0, 3}, {3, 1}} {
		t.Run(fmt.Sprint(change), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.columns(20)
			before := view(l, l.sites(over[totals](change[0])))
			rebuild(l, before)
			want := rows(l, before)
			v := view(l.connect(), l.sites(over[totals](change[1])))
			assert.Equal(t, before.Fingerprint(), v.Fingerprint())
			assert.Equal(t, want, rows(l, v))
			assert.Len(t, l.spread("sites"), max(change[0], 1))
			l.append("d-1", "s-07", 100)
			catchUp(l, v)
			assert.Equal(t, 2, rows(l, v)["s-07"].State.Count)
			assert.Len(t, l.spread("sites"), max(change[0], 1))
			first, err := v.After(l.Ctx, "", 5)
			require.NoError(t, err)
			old := metaOf(l, v).Generation
			rebuild(l, v)
			assert.Len(t, l.spread("sites"), max(change[0], 1)+change[1])
			second, err := v.After(l.Ctx, first.Next, 5)
			require.NoError(t, err)
			assert.Equal(t, "s-05", second.Rows[0].Key)
			assert.Equal(t, old, second.Meta.Generation, "a listing stays with its rows")
			assert.Equal(t, 2, rows(l, before)["s-07"].State.Count)
			l.Clock.Move(time.Hour)
			require.NoError(t, v.Sweep(l.Ctx))
			assert.Len(t, l.spread("sites"), change[1], "no row of the earlier generation is left")
			assert.Equal(t, "s-07", entity.Must(v.After(l.Ctx, "", 8)).Rows[7].Key)
		})
	}
}

// A program that does not know partitions must not look for rows where there are none.
func TestPartitions_RaiseTheFormatOfTheManifest(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	format := func() (n string) {
		for _, it := range l.Items() {
			if text := dbtest.Text(it["format"]); text != "" {
				n = text
			}
		}
		return n
	}
	plain := view(l, l.sites())
	rebuild(l, plain)
	assert.Equal(t, "1", format())
	spread := view(l.connect(), l.sites(over[totals](2)))
	rebuild(l, spread)
	assert.Equal(t, "2", format())
	rebuild(l, plain)
	assert.Equal(t, "2", format(), "the replaced rows are still listed")
	l.Clock.Move(time.Hour)
	require.NoError(t, plain.Sweep(l.Ctx))
	assert.Equal(t, "1", format())
}

// TestPartitions_AreAsDocumented computes where rows are from docs/timelines.md.
func TestPartitions_AreAsDocumented(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.columns(30)
	v := view(l, l.sites(over[totals](12)))
	id := rebuild(l, v).Generation
	require.True(t, strings.HasSuffix(id, "~p12"), id)
	for _, it := range l.Items() {
		if dbtest.Text(it["__edd_e__"]) != "Timeline-sites" {
			continue
		}
		sum := sha256.Sum256([]byte(dbtest.Text(it["group"])))
		partition := fmt.Sprintf("%s~%02d", id, binary.BigEndian.Uint64(sum[:8])%12)
		assert.Equal(t, partition, dbtest.Text(it["generation"]))
		assert.Equal(t, "$app#v1#timeline-sites#"+partition, dbtest.Text(it["pk"]))
	}
}

// An id of the program that looks like one of several partitions is not taken for one.
func TestPartitions_AnyIDWorks(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	n := 0
	l.connect(func(c *entity.Config) {
		c.NewID = func() string { n++; return fmt.Sprintf("%s-%d~p7", l.Table[len(l.Table)-8:], n) }
	})
	for i := range 8 {
		l.append("d-1", fmt.Sprint("s-", i), float64(i))
	}
	v := view(l, l.sites())
	rebuild(l, v)
	assert.Len(t, rows(l, v), 8)
	assert.Len(t, l.spread("sites"), 1)
}

func TestNew_ChecksPartitions(t *testing.T) {
	t.Parallel()
	l := offline(t)
	for _, n := range []int{-1, 101} {
		assert.Equal(t, []string{"EDD-9098"}, mistakes(l, l.sites(over[totals](n))))
	}
	for _, n := range []int{0, 1, 100} {
		assert.Empty(t, mistakes(l, l.sites(over[totals](n))))
	}
}
