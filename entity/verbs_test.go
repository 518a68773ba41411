package entity_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

var aliceKey = keys("pk", "$app#v1#employee#emp-alice", "sk", "$app#v1#employee")

// rename is a change that any employee can have.
func rename(to string) entity.UpdateOption {
	return entity.Set(&entity.Fields[Employee]().DisplayName, to)
}

// An item of three write units and one read unit, which no index copies: each verb is charged for one write of it.
func TestVerbTable_WriteAndReadUnitsOfEachVerb(t *testing.T) {
	t.Parallel()
	type Billed struct {
		_  entity.Key `name:"Billed" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
		Facts
	}
	var reports []entity.Report
	l, s := open[Billed](t, func(c *entity.Config) {
		c.Tracer = dbtest.Observer(func(r entity.Report) { reports = append(reports, r) })
	})
	f, key := entity.Fields[Billed](), Billed{ID: "a"}
	whole := Billed{ID: "a", Facts: Facts{Title: "t", Note: strings.Repeat("n", 2500)}}
	for _, c := range []struct {
		verb        string
		run         func() error
		requests    int
		write, read float64
	}{
		{"Create", func() error { return dbtest.ErrorOf(s.Create(t.Context(), whole)) }, 1, 3, 0},
		{"Put", func() error { return dbtest.ErrorOf(s.Put(t.Context(), whole)) }, 1, 3, 0},
		{"Upsert", func() error { return dbtest.ErrorOf(s.Upsert(t.Context(), whole)) }, 1, 3, 0},
		{"Update", func() error { return dbtest.ErrorOf(s.Update(t.Context(), key, entity.Set(&f.Title, "u"))) }, 1, 3, 0},
		{"Modify", func() error {
			return dbtest.ErrorOf(s.Modify(t.Context(), key, func(v *Billed) error { v.Count++; return nil }))
		}, 2, 3, 1},
		{"Touch", func() error { return dbtest.ErrorOf(s.Touch(t.Context(), key, &f.SeenAt, time.Hour)) }, 1, 3, 0},
		{"Get", func() error { return dbtest.ErrorOf(s.Get(t.Context(), key)) }, 1, 0, 0.5},
		{"Get", func() error { return dbtest.ErrorOf(s.Get(t.Context(), key, entity.Consistent())) }, 1, 0, 1},
		{"GetMany", func() error { return dbtest.ErrorOf(s.GetMany(t.Context(), []Billed{key})) }, 1, 0, 0.5},
		{"Query", func() error { return dbtest.ErrorOf(s.Query(key).Collect(t.Context())) }, 1, 0, 0.5},
		{"Query", func() error { return dbtest.ErrorOf(s.Query(key).Count(t.Context())) }, 1, 0, 0.5},
		{"TransactGet", func() error { v := key; return l.DB.TransactGet(t.Context(), s.Op().GetInto(&v)) }, 1, 0, 2},
		{"Transact", func() error {
			return l.DB.Transact(t.Context(), s.Op().Update(key, entity.Set(&f.Title, "v")), s.Op().Create(Billed{ID: "b"}))
		}, 1, 2*3 + 2*1, 0},
		{"Transact", func() error { return l.DB.Transact(t.Context(), s.Op().Delete(Billed{ID: "b"})) }, 1, 1, 0},
		{"Update", func() error {
			return dbtest.ErrorOf(s.Update(t.Context(), key, entity.Add(&f.Count, 1), entity.Idempotent()))
		}, 2, 6, 1},
		{"Delete", func() error { return s.Delete(t.Context(), key) }, 1, 3, 0},
	} {
		l.Sent()
		reports = nil
		require.NoError(t, c.run(), c.verb)
		require.Len(t, reports, 1, "one report for each verb")
		r := reports[0]
		require.Len(t, l.Operations(), r.Requests, "the report counts the requests that were sent")
		name := "Billed"
		if strings.HasPrefix(c.verb, "Transact") {
			name = "" // of several entities
		}
		require.Equal(t, []string{c.verb, name}, []string{r.Verb, r.Entity})
		require.Equal(t, []float64{float64(c.requests), c.write, c.read}, []float64{float64(r.Requests), r.WriteUnits, r.ReadUnits}, c.verb)
		require.NoError(t, r.Err)
	}
}

func TestVerbTable_AClosedContextSendsNothing(t *testing.T) {
	t.Parallel()
	atEach(t, everyCell, func(t *testing.T, st *stage, c cell, _ bool, _ error) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		before, err := st.everything(), c.alone(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.False(t, entity.IsAmbiguous(err))
		if c.op != nil {
			require.ErrorIs(t, st.DB.Transact(ctx, c.op(), st.neighbour()), context.Canceled)
		}
		require.Empty(t, st.Sent())
		require.Equal(t, before, st.everything())
	})
}

func TestVerbTable_WithoutAClientEveryVerbIsErrNoClient(t *testing.T) {
	t.Parallel()
	for name, shape := range shapes() {
		st := shape.on(paper(t))
		for _, c := range st.cells {
			require.ErrorIs(t, c.alone(t.Context()), entity.ErrNoClient, "%s %s", name, c.verb)
		}
	}
	db := paper(t)
	s := dbtest.Declare[Profile](t, db)
	require.ErrorIs(t, dbtest.ErrorOf(s.Query(Profile{ID: "a"}).Collect(t.Context())), entity.ErrNoClient)
	require.ErrorIs(t, dbtest.ErrorOf(s.Query(Profile{ID: "a"}).First(t.Context())), entity.ErrNoClient)
	require.ErrorIs(t, db.Transact(t.Context(), s.Op().Create(Profile{ID: "a"}), s.Op().CheckExists(Profile{ID: "b"})), entity.ErrNoClient)
	require.ErrorIs(t, tables.Create(t.Context(), db), entity.ErrNoClient)
	require.ErrorIs(t, tables.Verify(t.Context(), db), entity.ErrNoClient)
}

// A condition of either kind decides on every route, in addition to what the verb itself demands.
func TestVerbTable_IfOnEveryVerbAndRoute(t *testing.T) {
	t.Parallel()
	takesConditions := func(c cell) bool { return c.conds }
	atEach(t, takesConditions, func(t *testing.T, st *stage, c cell, live bool, want error) {
		f := st.facts
		yes, no, where := entity.Eq(&f.Count, 3), entity.Eq(&f.Count, 999), func(longest int) entity.Cond {
			return entity.Where(expression.Name("title").Size().LessThanEqual(expression.Value(longest)))
		}
		holds := [][]entity.Cond{{entity.Or(no, yes)}, {yes, where(3)}}
		fails := [][]entity.Cond{{entity.Or(no, entity.NotExists(&f.Title))}, {yes, no}, {yes, where(2)}}
		switch {
		case !live:
			holds, fails = [][]entity.Cond{{entity.Or(no, entity.NotExists(&f.Title))}}, [][]entity.Cond{{entity.Exists(&f.Title)}, {where(99)}}
			if want != nil {
				fails = nil // that it is absent comes first
			}
		case want != nil:
			fails = nil
		}
		routes := map[string]func(...entity.Cond) error{"alone": func(conds ...entity.Cond) error { return c.alone(t.Context(), conds...) }}
		if c.op != nil {
			routes["in a transaction"] = func(conds ...entity.Cond) error { return st.DB.Transact(t.Context(), c.op(conds...), st.neighbour()) }
		}
		before := st.everything()
		for name, run := range routes {
			for _, conds := range fails {
				err := run(conds...)
				st.requireOnly(t, err, entity.ErrConditionFailed, c.verb)
				require.LessOrEqual(t, len(st.Operations()), 2, "%s: it is not tried again", name)
				held, ok := st.held(err)
				require.Equal(t, live, ok, "%s: the error carries the item that refused the condition", name)
				require.Equal(t, live, held.Count == 3)
			}
			require.Equal(t, before, st.everything(), name)
			for _, conds := range holds {
				st.requireOnly(t, run(conds...), want, c.verb)
				if want == nil {
					st.set(live)
					before = st.everything()
				}
			}
		}
	})
}

// requireOnDisk checks that the item is exactly what the verb's row says: its facts, its version, the times, what is set
// once, the index keys, and an attribute that the model does not know. before is nil when there was none.
func requireOnDisk(t *testing.T, st *stage, c cell, before raw) {
	t.Helper()
	now, got := st.Clock.Now(), st.stored(st.at)
	var want *Facts
	var image raw
	switch {
	case before == nil:
		if want = c.after(nil, now); want != nil {
			image = st.image(*want, "1", now, now, c.first)
		}
	case c.keeps:
		want = c.after(&firstFacts, now)
		image = st.image(*want, "1", st.born, st.born, "f1")
	default:
		if want = c.after(&firstFacts, now); want != nil {
			image = st.image(*want, "2", st.born, now, "f1")
		}
	}
	if want == nil {
		require.Nil(t, got)
		return
	}
	if before != nil {
		image["legacy"] = text(legacy)
	}
	require.Equal(t, image, without(got, "_w"))
	if !st.hidden {
		require.NotContains(t, got, "_w")
		return
	}
	prefix, _, _ := strings.Cut(st.Config.NewID(), "-")
	require.Contains(t, got["_w"], prefix, "the write id comes from Config.NewID")
	if before != nil && c.writes {
		require.NotEqual(t, before["_w"], got["_w"], "each write has an id of its own")
	} else if before != nil {
		require.Equal(t, before["_w"], got["_w"], "nothing was written")
	}
}

// A value that immutable forbids is ErrConditionFailed naming the attribute, for each verb that can give one, on both routes.
func TestVerbTable_ImmutableIsNamedByEveryVerbOnBothRoutes(t *testing.T) {
	t.Parallel()
	l, s := opened(t, alice())
	e, before, moved := entity.Fields[Employee](), l.everything(), alice()
	moved.TenantID = "t-other"
	unknown := moved
	unknown.Department = "" // an upsert knows only a part of the index key: it reads first
	for name, make := range map[string]func() entity.Op{
		"Put":                func() entity.Op { return s.Op().Put(moved) },
		"Upsert":             func() entity.Op { return s.Op().Upsert(moved) },
		"Upsert, read first": func() entity.Op { return s.Op().Upsert(unknown) },
		"Update":             func() entity.Op { return s.Op().Update(employeeKey("emp-alice"), entity.Set(&e.TenantID, "t-other")) },
		"Update, read first": func() entity.Op {
			return s.Op().Update(employeeKey("emp-alice"), entity.Set(&e.TenantID, "t-other"), entity.Remove(&e.Department))
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, neighbour := range [][]entity.Op{nil, {s.Op().Create(Employee{EmployeeID: "x", TenantID: "t", DisplayName: "X"})}} {
				op := make()
				err := l.DB.Transact(t.Context(), append(neighbour, op)...)
				mine := entity.FailureOf(err, op)
				require.ErrorIs(t, mine, entity.ErrConditionFailed)
				require.Equal(t, "tenantId", dbtest.As[*entity.ConditionError](t, mine).Attr)
			}
			require.Equal(t, before, l.everything())
		})
	}
}

// What the caller gave stays as it was, down to what pointers, maps and slices lead to, and the result shares nothing
// with it.
func TestVerbTable_NoVerbWritesToTheCallersValue(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	lat, alias, active := Geo{Lat: 1}, "al", true
	v := Profile{
		ID: "a", Team: "t", Rank: 1, Home: Address{City: "c", Geo: &lat}, Work: &Address{City: "w"},
		Labels: map[string]string{"k": "v"}, Scores: map[string]int{"k": 1}, Lines: []Line{{SKU: "s", Qty: 1}},
		Log: []string{"x"}, Tags: []string{"b", "a"}, Numbers: []int{2, 1}, Alias: &alias, Active: &active,
	}
	before := entity.Must(json.Marshal(v))
	spoil := func(got Profile) {
		t.Helper()
		got.Home.Geo.Lat, got.Work.City, *got.Alias, *got.Active = 99, "spoilt", "spoilt", false
		got.Labels["k"], got.Scores["k"], got.Lines[0].Qty, got.Log[0], got.Tags[0], got.Numbers[0] = "spoilt", 99, 99, "spoilt", "spoilt", 99
		after := entity.Must(json.Marshal(v))
		require.JSONEq(t, string(before), string(after))
	}
	got := entity.Must(s.Create(t.Context(), v))
	spoil(got)
	got = entity.Must(s.Put(t.Context(), v))
	spoil(got)
	got, _, err := s.Upsert(t.Context(), v)
	require.NoError(t, err)
	spoil(got)
	got = entity.Must(s.Get(t.Context(), v))
	spoil(got)
	put, upsert := s.Op().Put(v), s.Op().Upsert(v)
	require.NoError(t, l.DB.Transact(t.Context(), put))
	spoil(put.Result())
	require.NoError(t, l.DB.Transact(t.Context(), upsert, s.Op().Create(Profile{ID: "b"})))
	spoil(upsert.Result())
	first := put.Result()
	require.Equal(t, "spoilt", *first.Alias, "a result is one value, the caller's to change")

	// A value that is changed after the op was made does not change the op, however often it is planned.
	later := s.Op().Put(v)
	got = entity.Must(s.Get(t.Context(), v))
	v.Labels["k"], v.Tags[0], *v.Alias = "later", "later", "later"
	require.NoError(t, l.DB.Transact(t.Context(), later))
	require.Equal(t, got, entity.Must(s.Get(t.Context(), v, entity.Consistent())), "the op holds what it was given")
}
