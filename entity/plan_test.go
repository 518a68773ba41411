package entity_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

var update = flag.Bool("update", false, "write testdata/plans.txt again")

// golden compares each section of text with that of a file.
func golden(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	old, made := strings.Split(string(want), "\n\n"), strings.Split(text, "\n\n")
	for i := range min(len(old), len(made)) {
		require.Equal(t, old[i], made[i], "go test ./entity -run TestPlan -update writes %s again; look at the difference", path)
	}
	require.Len(t, made, len(old), path)
}

// What a write or query of special keys, indexes and attributes is compiled to, byte for byte. There is no client, so nothing
// can have been sent. tests/plans has the plans of every verb for every feature.
func TestPlan_OfSpecialKeysIndexesAndAttributes(t *testing.T) {
	t.Parallel()
	db := paper(t)
	employees, profiles, tasks := dbtest.Declare[Employee](t, db).Op(), dbtest.Declare[Profile](t, db).Op(), dbtest.Declare[Task](t, db)
	visits, payloads := dbtest.Declare[Visit](t, db).Op(), dbtest.Declare[Payload](t, db).Op()
	cfg := paperConfig()
	cfg.Table = "batches"
	own := entity.Must(entity.Open(nil, cfg))
	batches := dbtest.Declare[Batch](t, own)
	cfg.Table = "orders"
	native := entity.Must(entity.Open(nil, cfg))
	orders := dbtest.Declare[Order](t, native)
	byOwner := entity.Must(tasks.Index("byOwner"))
	devices := entity.Must(batches.Index("devices"))
	byStatus := entity.Must(orders.Index("byStatus"))
	accounts := dbtest.Declare[Account](t, db)
	byToken := entity.Must(accounts.Index("byToken"))

	e, p, f, o := entity.Fields[Employee](), entity.Fields[Profile](), entity.Fields[Task](), entity.Fields[Order]()
	key, a := employeeKey("emp-alice"), Profile{ID: "a"}
	batch := Batch{DeviceID: "d", Timestamp: 5, BatchID: "b", LastSeenAt: dawn.Truncate(time.Millisecond)}
	plans := map[string]fmt.Stringer{
		"create-verbatim":  batches.Op().Create(batch),
		"create-native":    orders.Op().Create(Order{Customer: "c", Number: 1, Amount: 5}),
		"create-payload":   payloads.Create(Payload{ID: "a"}),
		"create-nested":    profiles.Create(furnished()),
		"update-if":        employees.Update(key, entity.Add(&e.Salary, 5), entity.If(entity.Between(&e.Salary, 1, 10), entity.Not(entity.In(&e.DisplayName, "x", "y")))),
		"update-index-key": employees.Update(key, entity.Set(&e.Department, "Sales")),
		"update-clocked":   visits.Update(Visit{ID: "a"}, entity.Set(&entity.Fields[Visit]().Note, "x")),
		"update-kinds": profiles.Update(a, entity.Set(&p.Note, "n"), entity.SetIfNotExists(&p.Order, "o"), entity.Remove(&p.Alias), entity.Add(&p.Count, 1),
			entity.ListAppend(&p.Log, "l"), entity.AddToSet(&p.Tags, "t2", "t1"), entity.DeleteFromSet(&p.Numbers, 1)),
		"update-nested": profiles.Update(a, entity.Set(&p.Home.City, "Rome"), entity.MapEntry(&p.Labels, "a.b").Set("x"), entity.Attr[int]("lines[0].qty").Set(2), entity.Remove(&p.Work.Geo)),
		"upsert-copy":   batches.Op().Upsert(batch),
		"upsert-read":   profiles.Upsert(Profile{ID: "a", Rank: 2}),
		"mistake":       employees.Create(Employee{TenantID: "t"}),

		"query":           tasks.Query(Task{Project: "p"}),
		"query-lead":      tasks.Query(Task{Project: "p#1", Status: "open"}, entity.Desc(), entity.Limit(3)),
		"query-range":     tasks.Query(Task{Project: "p", Status: "open"}, entity.Gt(&f.Priority, 3), entity.Filter(entity.Or(entity.Eq(&f.Title, "x"), entity.Exists(&f.Owner)))),
		"query-less":      tasks.Query(Task{Project: "p"}, entity.Lt(&f.Status, "open")),
		"query-prefix":    tasks.Query(Task{Project: "p"}, entity.BeginsWith(&f.Status, "op")),
		"query-one":       tasks.Query(Task{Project: "p", Status: "open", Priority: 1, TaskID: "t"}),
		"query-nothing":   tasks.Query(Task{Project: "p"}, entity.Between(&f.Status, "b", "a")),
		"query-mistake":   tasks.Query(Task{Project: "p"}, entity.Eq(&f.Title, "x")),
		"query-index":     byOwner.Query(Task{Owner: "o"}, entity.Between(&f.Due, dawn, dawn.Add(time.Hour))),
		"query-verbatim":  batches.Query(Batch{DeviceID: "d", Timestamp: 5}),
		"query-constant":  devices.Query(Batch{}, entity.Desc()),
		"query-native":    byStatus.Query(Order{Status: "open"}, entity.Ge(&o.Placed, 5)),
		"query-bad-point": tasks.Query(Task{}),

		"secret-create": accounts.Op().Create(secretive()),
		"secret-query":  byToken.Query(Account{Token: hush}, entity.Between(&entity.Fields[Account]().Pin, 1, hushPin)),
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(plans)) {
		plan := plans[name].String()
		require.Equal(t, plan, plans[name].String(), "a plan prints the same each time")
		fmt.Fprintf(&text, "== %s\n%s\n\n", name, plan)
	}
	golden(t, filepath.Join("testdata", "plans.txt"), text.String())
}

// Labelled has texts of its caller in names: keys of a map, and the name of an attribute.
type Labelled struct {
	_ entity.Key `name:"Labelled" pk:"$#{id}" sk:"$"`

	ID     string         `dynamodbav:"id"`
	Labels map[string]int `dynamodbav:"labels"`
	Odd    string         `dynamodbav:"odd\u202ename"`
}

// Whatever names and values hold, no plan and no error can drive a terminal.
func TestPlan_PrintsForeignTextQuoted(t *testing.T) {
	t.Parallel()
	labelled := dbtest.Declare[Labelled](t, paper(t))
	odd := "\x1b]0;title\x07 \u009b31m \u202e\u2066\r\n"
	v, f := Labelled{ID: odd, Labels: map[string]int{odd: 1}, Odd: odd}, entity.Fields[Labelled]()
	for name, plan := range map[string]fmt.Stringer{
		"put":    labelled.Op().Put(v),
		"update": labelled.Op().Update(Labelled{ID: odd}, entity.Set(&f.Odd, odd)),
		"path":   labelled.Op().Update(Labelled{ID: odd}, entity.MapEntry(&f.Labels, odd).Set(1)),
		"query":  labelled.Query(Labelled{ID: odd}, entity.Filter(entity.Eq(&f.Odd, odd))),
	} {
		text := plan.String()
		require.Contains(t, text, `\x1b]0;title\a`, name)
		for line := range strings.SplitSeq(text, "\n") {
			require.Equal(t, -1, strings.IndexFunc(line, func(r rune) bool { return !strconv.IsPrint(r) }), "%s: %q", name, line)
		}
	}
}
