package entity_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

var update = flag.Bool("update", false, "write the plans in testdata/plans again")

// golden compares text with the file of that name.
func golden(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join("testdata", "plans", name+".txt")
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text+"\n"), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text+"\n", "go test ./entity -run TestPlan -update writes the plans again; look at the difference")
}

// What a write or query is compiled to, byte for byte. No network is needed, so none of this can have been sent.
func TestPlan_IsWhatTheDocumentationShows(t *testing.T) {
	t.Parallel()
	db := paper(t)
	employees, profiles, tasks := declare[Employee](t, db).Op(), declare[Profile](t, db).Op(), declare[Task](t, db)
	visits, payloads := declare[Visit](t, db).Op(), declare[Payload](t, db).Op()
	cfg := paperConfig()
	cfg.Table = "batches"
	own, err := entity.Open(nil, cfg)
	require.NoError(t, err)
	batches := declare[Batch](t, own)
	cfg.Table = "orders"
	native, err := entity.Open(nil, cfg)
	require.NoError(t, err)
	orders := declare[Order](t, native)
	byOwner, err := tasks.Index("byOwner")
	require.NoError(t, err)
	devices, err := batches.Index("devices")
	require.NoError(t, err)
	byStatus, err := orders.Index("byStatus")
	require.NoError(t, err)

	e, p, f, o := entity.Fields[Employee](), entity.Fields[Profile](), entity.Fields[Task](), entity.Fields[Order]()
	key, a := employeeKey("emp-alice"), Profile{ID: "a"}
	batch := Batch{DeviceID: "d", Timestamp: 5, BatchID: "b", LastSeenAt: dawn.Truncate(time.Millisecond)}
	for name, plan := range map[string]fmt.Stringer{
		"create":           employees.Create(alice()),
		"create-if":        employees.Create(alice(), entity.If(entity.NotExists(&e.HiredBy), entity.Or(entity.NotExists(&e.Salary), entity.Lt(&e.Salary, 5)))),
		"create-verbatim":  batches.Op().Create(batch),
		"create-native":    orders.Op().Create(Order{Customer: "c", Number: 1, Amount: 5}),
		"create-payload":   payloads.Create(Payload{ID: "a"}),
		"create-nested":    profiles.Create(furnished()),
		"update":           employees.Update(key, rename("Alice B"), entity.Remove(&e.Nickname)),
		"update-if":        employees.Update(key, entity.Add(&e.Salary, 5), entity.If(entity.Between(&e.Salary, 1, 10), entity.Not(entity.In(&e.DisplayName, "x", "y")))),
		"update-immutable": employees.Update(key, entity.Set(&e.TenantID, "t-acme"), entity.Set(&e.HiredBy, "bob")),
		"update-half":      employees.Update(key, entity.Set(&e.Department, "Sales")),
		"update-read":      profiles.Update(a, entity.Set(&p.Team, "blue"), entity.If(entity.Exists(&p.Note))),
		"update-clocked":   visits.Update(Visit{ID: "a"}, entity.Set(&entity.Fields[Visit]().Note, "x")),
		"update-kinds": profiles.Update(a, entity.Set(&p.Note, "n"), entity.SetIfNotExists(&p.Order, "o"), entity.Remove(&p.Alias), entity.Add(&p.Count, 1),
			entity.ListAppend(&p.Log, "l"), entity.AddToSet(&p.Tags, "t2", "t1"), entity.DeleteFromSet(&p.Numbers, 1)),
		"update-nested": profiles.Update(a, entity.Set(&p.Home.City, "Rome"), entity.MapEntry(&p.Labels, "a.b").Set("x"), entity.Attr[int]("lines[0].qty").Set(2), entity.Remove(&p.Work.Geo)),
		"upsert":        employees.Upsert(alice()),
		"upsert-if":     employees.Upsert(alice(), entity.If(entity.Eq(&e.Salary, 1))),
		"upsert-copy":   batches.Op().Upsert(batch),
		"upsert-read":   profiles.Upsert(Profile{ID: "a", Rank: 2}),
		"delete":        employees.Delete(key),
		"delete-if":     employees.Delete(key, entity.If(entity.Eq(&e.Salary, 1))),
		"require":       employees.CheckExists(key),
		"require-cond":  employees.CheckExists(key, entity.Gt(&e.Salary, 1), entity.Exists(&e.SeenAt)),
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
	} {
		t.Run(name, func(t *testing.T) {
			text := plan.String()
			golden(t, name, text)
			require.Equal(t, text, plan.String(), "a plan prints the same each time")
		})
	}
}

// A plan is what is sent: the clock and the ids are read when it is run, not when it is made.
func TestPlan_IsMadeAnewForEachRun(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	op := s.Op().Update(employeeKey("emp-alice"), rename("B"))
	first := op.String()
	l.clock.move(time.Second)
	require.NotEqual(t, first, op.String())
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	at := l.clock.move(time.Second)
	require.NoError(t, l.db.Transact(t.Context(), op))
	require.Equal(t, at, op.Result().UpdatedAt)
}

func TestPlan_TakesACopyOfItsArguments(t *testing.T) {
	t.Parallel()
	v := furnished()
	op := declare[Profile](t, paper(t)).Op().Create(v)
	v.Labels["a.b"], v.Log[0] = "changed", "changed"
	*v.Alias = "changed"
	require.NotContains(t, op.String(), "changed")
}
