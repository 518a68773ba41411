package timeline_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/versioned"
)

// Each case costs some hundred requests; -rapid.checks on the command line overrides this.
func init() {
	if err := flag.Set("rapid.checks", "8"); err != nil {
		panic(err)
	}
}

// apart connects with a namespace of its own, so that cases share a table and nothing else.
func (l *lab) apart(n *int) {
	*n++
	l.clock.forward(time.Hour)
	l.connect(func(c *entity.Config) { c.Namespace = entity.Namespace{Name: fmt.Sprint("case", *n), Version: 1} })
}

// modelled are the rows that events give, by a fold in memory.
func modelled(events []event, descending bool) map[string][]int {
	events = slices.Clone(events)
	slices.SortFunc(events, func(a, b event) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Key, b.Key)) })
	if descending {
		slices.Reverse(events)
	}
	want := map[string][]int{}
	for _, e := range events {
		want[e.Payload.Site] = append(want[e.Payload.Site], e.Payload.Value)
	}
	return want
}

// TestRows_AreThoseOfAnyOrderOfDelivery builds rows of the first events, and catches up with the others bit by bit, each bit
// in any order and with events given more than once.
func TestRows_AreThoseOfAnyOrderOfDelivery(t *testing.T) {
	t.Parallel()
	l, cases := newLab(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		l.apart(&cases)
		began := l.clock.Now()
		var known, given []event
		fold := fromFeed("feed", fed(&given))
		fold.Descending = rapid.Bool().Draw(rt, "descending")
		fold.Memory = 1
		v := view(l, fold)
		deliver := func() {
			for range rapid.IntRange(0, 8).Draw(rt, "events") {
				key := fmt.Sprintf("%03d", len(known))
				minute := time.Duration(rapid.IntRange(-5, 5).Draw(rt, "minute")) * time.Minute // ties, and late ones
				known = append(known, event{
					Name: "taken", Key: key, At: began.Add(minute), AcceptedAt: l.clock.Now(),
					Payload: reading{Site: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "site"), Value: len(known)},
				})
			}
			given = slices.Clone(known)
			for _, i := range rapid.SliceOfN(rapid.IntRange(0, max(len(known)-1, 0)), 0, min(len(known), 3)).Draw(rt, "again") {
				given = append(given, known[i])
			}
			given = rapid.Permutation(given).Draw(rt, "order")
		}
		deliver()
		rebuild(l, v)
		for range rapid.IntRange(0, 3).Draw(rt, "bits") {
			l.clock.forward(time.Duration(rapid.IntRange(0, 20).Draw(rt, "minutes")) * time.Minute)
			deliver()
			meta, err := v.CatchUp(l.ctx)
			require.NoError(rt, err)
			got := rows(l, v)
			orders := map[string][]int{}
			for k, r := range got {
				orders[k] = r.State.Order
			}
			require.Equal(rt, modelled(known, fold.Descending), orders)
			require.EqualValues(rt, len(got), meta.Rows)
			require.Equal(rt, rows(l, v, timeline.AsOf(began.Add(time.Hour))), got)
		}
		caughtUp := rows(l, v)
		rebuild(l, v)
		require.Equal(rt, caughtUp, rows(l, v))
	})
}

// life is what a model in memory knows about an item.
type life struct {
	lines   []string
	version int64
	text    string
	alive   bool
	gone    time.Time // when it was deleted; zero: never
}

// TestVersions_FoldToTheStatesOfAModel lets items live at random and compares rows with a model, now and as of earlier moments.
func TestVersions_FoldToTheStatesOfAModel(t *testing.T) {
	t.Parallel()
	l, cases := newLab(t), 0
	rapid.Check(t, func(rt *rapid.T) {
		l.apart(&cases)
		store, err := entity.New[draft](l.db)
		require.NoError(rt, err)
		bin, err := lifecycle.Of(store)
		require.NoError(rt, err)
		past, err := versioned.Of(store)
		require.NoError(rt, err)
		fold := timeline.Projection[string, journal]{Name: "drafts", Version: 1, Source: timeline.Versions(past, timeline.PartitionKey(func(id string) draft { return draft{ID: id} }))}
		for _, what := range []string{"created", "updated", "deleted", "restored", "baseline"} {
			fold.Handlers = append(fold.Handlers, timeline.On("draft."+what, func(d draft) string { return d.ID }, func(j *journal, e timeline.Event[draft]) error {
				j.Lines = append(j.Lines, fmt.Sprint(strings.TrimPrefix(e.Name, "draft."), e.Version, e.Payload.Text))
				return nil
			}))
		}
		v := view(l, fold)
		lives := map[string]*life{}
		type moment struct {
			at   time.Time
			want map[string][]string
		}
		var moments []moment
		text := entity.Fields[draft]()
		for i := range rapid.IntRange(1, 14).Draw(rt, "steps") {
			id := rapid.SampledFrom([]string{"a", "ab", "b"}).Draw(rt, "id")
			key, x := draft{ID: id}, lives[id]
			if x == nil {
				x = &life{}
				lives[id] = x
			}
			became := ""
			switch verb := rapid.SampledFrom([]string{"create", "update", "delete", "restore", "wait", "purge"}).Draw(rt, "verb"); verb {
			case "create":
				if x.alive || !x.gone.IsZero() && l.clock.Now().Before(x.gone.Add(time.Hour)) {
					continue
				}
				x.text = fmt.Sprint("t", i)
				_, err = store.Create(l.ctx, draft{ID: id, Text: x.text})
				became, x.alive = "created", true
			case "update":
				if !x.alive {
					continue
				}
				x.text = fmt.Sprint("t", i)
				_, err = store.Update(l.ctx, key, entity.Set(&text.Text, x.text))
				became = "updated"
			case "delete":
				if !x.alive {
					continue
				}
				err = store.Delete(l.ctx, key)
				became, x.alive, x.gone = "deleted", false, l.clock.Now()
			case "restore":
				if x.alive || x.gone.IsZero() || !l.clock.Now().Before(x.gone.Add(50*time.Minute)) {
					continue
				}
				_, err = bin.Restore(l.ctx, key)
				became, x.alive = "restored", true
			case "wait":
				l.clock.forward(2 * time.Hour)
			case "purge":
				err = bin.Purge(l.ctx, key)
				delete(lives, id)
				for _, m := range moments {
					delete(m.want, id)
				}
			}
			require.NoError(rt, err)
			if became != "" {
				x.version++
				x.lines = append(x.lines, fmt.Sprint(became, x.version, x.text))
			}
			m := moment{l.clock.Now(), map[string][]string{}}
			for id, x := range lives {
				if len(x.lines) > 0 {
					m.want[id] = slices.Clone(x.lines)
				}
			}
			moments = append(moments, m)
			if rapid.Bool().Draw(rt, "build") && i%4 == 3 {
				rebuild(l, v)
			}
		}
		if len(moments) == 0 {
			return
		}
		got := func(opts ...timeline.RowsOption) map[string][]string {
			lines := map[string][]string{}
			for id, r := range rows(l, v, opts...) {
				lines[id] = r.State.Lines
			}
			return lines
		}
		rebuild(l, v)
		last := moments[len(moments)-1]
		require.Equal(rt, last.want, got())
		for range 3 {
			m := rapid.SampledFrom(moments).Draw(rt, "moment")
			require.Equal(rt, m.want, got(timeline.AsOf(m.at)))
			for _, id := range slices.Sorted(maps.Keys(m.want)) {
				r, _, err := v.Get(l.ctx, id, timeline.FullReplay(), timeline.AsOf(m.at))
				require.NoError(rt, err)
				require.Equal(rt, m.want[id], r.State.Lines)
			}
		}
	})
}
