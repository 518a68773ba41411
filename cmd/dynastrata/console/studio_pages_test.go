package console

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
)

// jobsStudio returns the studio of a table with n jobs of a state, and some of another.
func jobsStudio(t *testing.T, n int, o StudioOptions) *guest {
	t.Helper()
	client, table := localdb.Test(t)
	db := entity.Must(entity.Open(client, entity.Config{Table: table}))
	jobs := entity.Must(entity.New[Job](db))
	require.NoError(t, tables.Create(t.Context(), db))
	for i := range n + 20 {
		state := "on"
		if i >= n {
			state = "off"
		}
		entity.Must(jobs.Create(t.Context(), Job{ID: fmt.Sprintf("j-%03d", i), State: state, Rank: i * 7 % n / 2})) // each rank twice
	}
	o.Token = studioToken
	h, err := Studio(t.Context(), App{Client: client, Open: func(context.Context, Connection) (Program, error) {
		return Program{DB: db, Handles: &struct{ Jobs *entity.Store[Job] }{jobs}}, nil
	}}, o)
	require.NoError(t, err)
	return visiting(t, h)
}

var jobLinks = regexp.MustCompile(`id=(j-\d+)</bdi>`)

// walked follows the pages to the last, and returns them.
func (g *guest) walked(page seen) (all []seen) {
	for {
		all = append(all, page)
		if !strings.Contains(page.text, ">Next page<") {
			return all
		}
		require.Less(g.t, len(all), 60)
		page = g.follow(page, "^Next page$")
		require.Equal(g.t, 200, page.status, page.text)
	}
}

// A page that is merged from the shards of an index goes on in the order of the sort key, back too, in either direction, with a filter, and within its budget.
func TestStudio_PagesOfShards(t *testing.T) {
	t.Parallel()
	const n = 130
	g := jobsStudio(t, n, StudioOptions{})
	for _, path := range []string{"/browse?entity=Job&index=byState&p.state=on", "/browse?entity=Job&index=byState&p.state=on&desc=1", "/browse?entity=Job&index=verbatim&p.state=on"} {
		pages := g.walked(g.open(path))
		require.Len(t, pages, (n+24)/25, path)
		require.Regexp(t, "where [^\n]+#0&?[^\n]*(\n  from the end)?\n  and the same in [0-9]+ other partitions?, merged", pages[0].text)
		var ids []string
		var ranks []int
		for _, p := range pages {
			for _, m := range jobLinks.FindAllStringSubmatch(p.text, -1) {
				var i int
				_, err := fmt.Sscanf(m[1], "j-%d", &i)
				require.NoError(t, err)
				ids, ranks = append(ids, m[1]), append(ranks, i*7%n/2)
			}
		}
		if strings.Contains(path, "desc") {
			slices.Reverse(ranks)
		}
		require.True(t, slices.IsSorted(ranks), path)
		slices.Sort(ids)
		require.Len(t, slices.Compact(ids), n, path)
		back := pages[len(pages)-1]
		for i := len(pages) - 2; i >= 0; i-- {
			back = g.follow(back, "^Previous page$")
			require.Equal(t, strip(pages[i].text), strip(back.text), "%s, page %d", path, i)
		}
		require.Equal(t, strip(pages[0].text), strip(g.follow(pages[3], "^First page$").text))
	}

	found := 0
	for _, p := range g.walked(g.open("/browse?entity=Job&index=byState&p.state=on&f=rank&fop=lt&fv=3")) {
		found += len(jobLinks.FindAllString(p.text, -1))
	}
	require.Equal(t, 6, found)

	poor := jobsStudio(t, n, StudioOptions{PageUnits: 1})
	all := map[string]bool{}
	for _, p := range poor.walked(poor.open("/browse?entity=Job&index=byState&p.state=on")) {
		require.Regexp(t, `^[0-3]?$`, p.requests)
		for _, m := range jobLinks.FindAllStringSubmatch(p.text, -1) {
			all[m[1]] = true
		}
	}
	require.Contains(t, poor.open("/browse?entity=Job&index=byState&p.state=on").text, "What follows is left out")
}

// rowsStudio returns the studio of a view with a row for each of n devices, in several partitions, and what builds it again.
func rowsStudio(t *testing.T, n, partitions int) (*guest, func()) {
	t.Helper()
	client, table := localdb.Test(t)
	db := entity.Must(entity.Open(client, entity.Config{Table: table, Clock: func() time.Time { return late }}))
	readings := entity.Must(timeseries.New[Reading](db))
	view := entity.Must(timeline.New(db, timeline.Projection[string, Visits]{
		Name: "visits", Version: 1, Retention: 24 * time.Hour, Source: timeline.Series(readings), Start: func() Visits { return Visits{} }, Partitions: partitions,
		Handlers: []timeline.Handler[string, Visits]{timeline.On("reading.appended", func(x Reading) string { return x.Sensor }, func(v *Visits, _ timeline.Event[Reading]) error { v.Reports++; return nil })},
	}))
	require.NoError(t, tables.Create(t.Context(), db))
	var all []Reading
	for i := range n {
		all = append(all, Reading{Sensor: fmt.Sprintf("s-%02d", i), At: late})
	}
	_, err := readings.AppendAll(t.Context(), all)
	require.NoError(t, err)
	h, err := Studio(t.Context(), App{Client: client, Clock: func() time.Time { return late }, Open: func(context.Context, Connection) (Program, error) {
		return Program{DB: db}, nil
	}}, StudioOptions{Token: studioToken})
	require.NoError(t, err)
	return visiting(t, h), func() { entity.Must(view.Rebuild(t.Context())) }
}

var rowNames = regexp.MustCompile(`group=(s-\d+)</bdi>`)

// The rows that a read model serves have pages, partition by partition, until they are built again.
func TestStudio_PagesOfRows(t *testing.T) {
	t.Parallel()
	for _, partitions := range []int{1, 3} {
		g, rebuild := rowsStudio(t, 60, partitions)
		require.Contains(t, g.open("/browse?entity=Timeline-visits&all=1").text, "the view visits is not built")
		rebuild()
		pages := g.walked(g.open("/browse?entity=Timeline-visits&all=1"))
		require.Len(t, pages, 3)
		var names []string
		for _, p := range pages {
			for _, m := range rowNames.FindAllStringSubmatch(p.text, -1) {
				names = append(names, m[1])
			}
		}
		require.Equal(t, partitions == 1, slices.IsSorted(names), names)
		slices.Sort(names)
		require.Len(t, slices.Compact(names), 60)
		require.Equal(t, strip(pages[1].text), strip(g.follow(pages[2], "^Previous page$").text))
		require.Len(t, rowNames.FindAllString(g.open("/browse?entity=Timeline-visits&op=begins&lo=s-1").text, -1), 10)
		rebuild()
		late := g.follow(pages[0], "^Next page$")
		require.Equal(t, 400, late.status)
		require.Contains(t, late.text, "the rows were built again since the first page")
	}
}

// The search takes several values, of which an item has each, as find does.
func TestStudio_FindsBySeveralValues(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	g := l.studio(StudioOptions{})
	find := func(text string) seen { return g.send(g.open("/"), "find", map[string][]string{"text": {text}}) }
	for _, text := range []string{`c-1 d-7`, `deviceId=d-7 channel=c-1`, `d-7 "c-1"`} {
		require.Contains(t, find(text).text, "dock 3", text)
	}
	require.Contains(t, find("t-1 Sales").text, "Alice Baker")
	none := find("c-1 d-8")
	require.Contains(t, none.text, "each of these 2 values")
	require.Equal(t, 400, find("a b c d e").status)
	all := g.finished(g.fill(find(`"Alice Baker" nobody`), "start"))
	require.Contains(t, all.text, "No item has or had this value")
	all = g.finished(g.fill(find(`"Alice Baker" "R&D"`), "start"))
	require.Contains(t, all.text, "employeeId=e-1", "a version has both")
}
