package entity_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// aliceIs is how errors name alice.
const aliceIs = `pk="$app#v1#employee#emp-alice" sk="$app#v1#employee"`

var aliceKey = keys("pk", "$app#v1#employee#emp-alice", "sk", "$app#v1#employee")

// rename is a change that any employee can have.
func rename(to string) entity.UpdateOption {
	return entity.Set(&entity.Fields[Employee]().DisplayName, to)
}

// verb is a row of the verb table: what the verb does to an absent item and to a live one. nil is success.
type verb struct {
	name         string
	alone        func(context.Context, *entity.Store[Employee]) error // nil: the verb exists in transactions only
	op           func(entity.Ops[Employee]) entity.Op                 // nil: the verb is a read
	request      string                                               // of the verb alone
	absent, live error
}

func verbTable() []verb {
	return []verb{
		{
			name: "Create", request: "PutItem", live: entity.ErrExists,
			alone: func(ctx context.Context, s *entity.Store[Employee]) error {
				_, err := s.Create(ctx, alice())
				return err
			},
			op: func(o entity.Ops[Employee]) entity.Op { return o.Create(alice()) },
		}, {
			name: "Update", request: "UpdateItem", absent: entity.ErrNotFound,
			alone: func(ctx context.Context, s *entity.Store[Employee]) error {
				_, err := s.Update(ctx, employeeKey("emp-alice"), rename("Alice B"))
				return err
			},
			op: func(o entity.Ops[Employee]) entity.Op { return o.Update(employeeKey("emp-alice"), rename("Alice B")) },
		}, {
			name: "Upsert", request: "UpdateItem",
			alone: func(ctx context.Context, s *entity.Store[Employee]) error {
				_, _, err := s.Upsert(ctx, alice())
				return err
			},
			op: func(o entity.Ops[Employee]) entity.Op { return o.Upsert(alice()) },
		}, {
			name: "Delete", request: "DeleteItem", absent: entity.ErrNotFound,
			alone: func(ctx context.Context, s *entity.Store[Employee]) error {
				return s.Delete(ctx, employeeKey("emp-alice"))
			},
			op: func(o entity.Ops[Employee]) entity.Op { return o.Delete(employeeKey("emp-alice")) },
		}, {
			name: "Get", request: "GetItem", absent: entity.ErrNotFound,
			alone: func(ctx context.Context, s *entity.Store[Employee]) error {
				_, err := s.Get(ctx, employeeKey("emp-alice"))
				return err
			},
		}, {
			name: "CheckExists", absent: entity.ErrNotFound,
			op: func(o entity.Ops[Employee]) entity.Op { return o.CheckExists(employeeKey("emp-alice")) },
		},
	}
}

// atStates runs f for each of the verbs on an absent and on a live item.
func atStates(t *testing.T, verbs []verb, f func(t *testing.T, l *lab, s *entity.Store[Employee], v verb, want error)) {
	l := newLab(t)
	s := declare[Employee](t, l.db)
	declare[Team](t, l.db)
	l.create(t)
	for _, v := range verbs {
		for state, want := range map[string]error{"absent": v.absent, "live": v.live} {
			t.Run(v.name+"/"+state, func(t *testing.T) {
				l.drop(t, aliceKey, keys("pk", "$app#v1#team#beside", "sk", "$app#v1#team"))
				require.Empty(t, l.everything(t))
				if state == "live" {
					_, err := s.Create(t.Context(), alice())
					require.NoError(t, err)
				}
				l.clock.move(time.Minute)
				l.wire.Reset()
				f(t, l, s, v, want)
			})
		}
	}
}

// requireClass checks that err is exactly the class want among those of the verb table, and says what failed on what.
func requireClass(t *testing.T, err, want error, verb string) {
	t.Helper()
	if want == nil {
		require.NoError(t, err)
		return
	}
	for _, class := range []error{entity.ErrExists, entity.ErrNotFound, entity.ErrConflict, entity.ErrConditionFailed} {
		if class == want {
			require.ErrorIs(t, err, class)
		} else {
			require.NotErrorIs(t, err, class)
		}
	}
	require.False(t, entity.IsAmbiguous(err), "a refused write was certainly not applied")
	var e *entity.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, verb, e.Verb)
	require.Equal(t, "Employee", e.Entity)
	require.Equal(t, aliceIs, e.Key)
}

func TestVerbTable_Alone(t *testing.T) {
	t.Parallel()
	verbs := slices.DeleteFunc(verbTable(), func(v verb) bool { return v.alone == nil })
	atStates(t, verbs, func(t *testing.T, l *lab, s *entity.Store[Employee], v verb, want error) {
		before := l.everything(t)
		err := v.alone(t.Context(), s)
		requireClass(t, err, want, v.name)
		require.Equal(t, []string{v.request}, l.sent(), "one request, whatever the outcome")
		if want == nil {
			return
		}
		require.Equal(t, before, l.everything(t), "a refused write leaves no trace")
		if v.op != nil {
			var sdk *types.ConditionalCheckFailedException
			require.ErrorAs(t, err, &sdk, "the SDK's error stays reachable")
		}
	})
}

func TestVerbTable_InTransaction(t *testing.T) {
	t.Parallel()
	verbs := slices.DeleteFunc(verbTable(), func(v verb) bool { return v.op == nil })
	atStates(t, verbs, func(t *testing.T, l *lab, s *entity.Store[Employee], v verb, want error) {
		before := l.everything(t)
		beside := declare[Team](t, l.db).Op().Create(Team{ID: "beside"})
		op := v.op(s.Op())
		err := l.db.Transact(t.Context(), beside, op)
		require.Equal(t, []string{"TransactWriteItems"}, l.sent())
		requireClass(t, err, want, v.name)
		requireClass(t, entity.FailureOf(err, op), want, v.name)
		require.NoError(t, entity.FailureOf(err, beside), "only the op that failed is blamed")
		if want == nil {
			require.Contains(t, l.everything(t), `S"$app#v1#team#beside" S"$app#v1#team"`)
			return
		}
		require.Equal(t, before, l.everything(t), "all or nothing")
		var sdk *types.TransactionCanceledException
		require.ErrorAs(t, err, &sdk)
		var failed *entity.TransactError
		require.ErrorAs(t, err, &failed)
		require.Len(t, failed.Failed, 1)
		require.Equal(t, 1, failed.Failed[0].Index)
		require.Same(t, op, failed.Failed[0].Op)
	})
}

func TestVerbTable_OneOpGivenToTransactGoesOutAsThePlainCall(t *testing.T) {
	t.Parallel()
	verbs := slices.DeleteFunc(verbTable(), func(v verb) bool { return v.op == nil })
	atStates(t, verbs, func(t *testing.T, l *lab, s *entity.Store[Employee], v verb, want error) {
		op := v.op(s.Op())
		err := l.db.Transact(t.Context(), op)
		requireClass(t, entity.FailureOf(err, op), want, v.name)
		if want == nil {
			require.NoError(t, err)
		}
		request := v.request
		if v.name == "CheckExists" {
			request = "TransactWriteItems" // a check has no plain call
		}
		require.Equal(t, []string{request}, l.sent())
	})
}

// bill opens ShapePlain on a table whose reports are kept.
func bill(t *testing.T) (*lab, *entity.Store[ShapePlain], func() entity.Report) {
	t.Helper()
	var reports []entity.Report
	l, s := open[ShapePlain](t, func(c *entity.Config) {
		c.Observe = func(_ context.Context, r entity.Report) { reports = append(reports, r) }
	})
	return l, s, func() entity.Report {
		t.Helper()
		require.Len(t, reports, 1, "one report for each verb")
		r := reports[0]
		reports = nil
		require.Len(t, l.sent(), r.Requests, "the report counts the requests that were sent")
		return r
	}
}

// An item of three write units and one read unit, which no index copies: each verb is charged for one write of it.
func TestVerbTable_WriteAndReadUnitsOfEachVerb(t *testing.T) {
	t.Parallel()
	l, s, last := bill(t)
	f := entity.Fields[ShapePlain]()
	key := ShapePlain{ID: "a"}
	whole := ShapePlain{ID: "a", Facts: Facts{Title: "t", Note: strings.Repeat("n", 2500)}}
	for _, c := range []struct {
		verb        string
		run         func() error
		requests    int
		write, read float64
	}{
		{"Create", func() error { _, err := s.Create(t.Context(), whole); return err }, 1, 3, 0},
		{"Put", func() error { _, err := s.Put(t.Context(), whole); return err }, 1, 3, 0},
		{"Upsert", func() error { _, _, err := s.Upsert(t.Context(), whole); return err }, 1, 3, 0},
		{"Update", func() error { _, err := s.Update(t.Context(), key, entity.Set(&f.Title, "u")); return err }, 1, 3, 0},
		{"Modify", func() error {
			_, err := s.Modify(t.Context(), key, func(v *ShapePlain) error { v.Count++; return nil })
			return err
		}, 2, 3, 1},
		{"Touch", func() error { _, err := s.Touch(t.Context(), key, &f.SeenAt, time.Hour); return err }, 1, 3, 0},
		{"Get", func() error { _, err := s.Get(t.Context(), key); return err }, 1, 0, 0.5},
		{"Get", func() error { _, err := s.Get(t.Context(), key, entity.Consistent()); return err }, 1, 0, 1},
		{"GetMany", func() error { _, err := s.GetMany(t.Context(), []ShapePlain{key}); return err }, 1, 0, 0.5},
		{"Query", func() error { _, err := s.Query(key).Collect(t.Context()); return err }, 1, 0, 0.5},
		{"Query", func() error { _, err := s.Query(key).Count(t.Context()); return err }, 1, 0, 0.5},
		{"TransactGet", func() error { v := key; return l.db.TransactGet(t.Context(), s.Op().GetInto(&v)) }, 1, 0, 2},
		{"Transact", func() error {
			return l.db.Transact(t.Context(), s.Op().Update(key, entity.Set(&f.Title, "v")), s.Op().Create(ShapePlain{ID: "b"}))
		}, 1, 2*3 + 2*1, 0},
		{"Transact", func() error { return l.db.Transact(t.Context(), s.Op().Delete(ShapePlain{ID: "b"})) }, 1, 1, 0},
		{"Update", func() error {
			_, err := s.Update(t.Context(), key, entity.Add(&f.Count, 1), entity.Idempotent())
			return err
		}, 2, 6, 1},
		{"Delete", func() error { return s.Delete(t.Context(), key) }, 1, 3, 0},
	} {
		l.wire.Reset()
		require.NoError(t, c.run(), c.verb)
		r := last()
		require.Equal(t, c.verb, r.Verb)
		require.Equal(t, []float64{float64(c.requests), c.write, c.read}, []float64{float64(r.Requests), r.WriteUnits, r.ReadUnits}, c.verb)
		require.NoError(t, r.Err)
	}
}

// What cannot be done costs at most the one request that finds it out, once a refusal has shown that the client does not
// hide items, and a mistake in the arguments costs none.
func TestVerbTable_FailuresCostOneRequestAndMistakesNone(t *testing.T) {
	t.Parallel()
	l, s, last := bill(t)
	f := entity.Fields[ShapePlain]()
	gone, none := ShapePlain{ID: "gone"}, ShapePlain{}
	for _, want := range []error{nil, entity.ErrExists} {
		_, err := s.Create(t.Context(), ShapePlain{ID: "there"})
		require.ErrorIs(t, err, want)
		last()
	}
	for verb, run := range map[string]func(key ShapePlain) error{
		"Update": func(k ShapePlain) error { _, err := s.Update(t.Context(), k, entity.Set(&f.Title, "u")); return err },
		"Modify": func(k ShapePlain) error {
			_, err := s.Modify(t.Context(), k, func(*ShapePlain) error { return nil })
			return err
		},
		"Delete": func(k ShapePlain) error { return s.Delete(t.Context(), k) },
		"Touch":  func(k ShapePlain) error { _, err := s.Touch(t.Context(), k, &f.SeenAt, 0); return err },
		"Get":    func(k ShapePlain) error { _, err := s.Get(t.Context(), k); return err },
	} {
		require.ErrorIs(t, run(gone), entity.ErrNotFound, verb)
		r := last()
		require.Equal(t, []any{verb, 1}, []any{r.Verb, r.Requests})
		require.ErrorIs(t, r.Err, entity.ErrNotFound)
		requireInput(t, run(none), "EDD-9101", "ID")
		r = last()
		require.Equal(t, []any{verb, 0}, []any{r.Verb, r.Requests})
		requireInput(t, r.Err, "EDD-9101", "ID")
	}
	_, err := s.GetMany(t.Context(), []ShapePlain{gone, none})
	requireInput(t, err, "EDD-9101", "ID")
	r := last()
	require.Equal(t, []any{"GetMany", 0, err}, []any{r.Verb, r.Requests, r.Err})
	err = l.db.TransactGet(t.Context(), s.Op().GetInto(&none))
	requireInput(t, err, "EDD-9101", "ID")
	r = last()
	require.Equal(t, []any{"TransactGet", 0, err}, []any{r.Verb, r.Requests, r.Err})
}

// A Touch that is not due learns that from the request that would have written, and leaves the item unchanged.
func TestVerbTable_TouchThatIsNotDueCostsOneRequest(t *testing.T) {
	t.Parallel()
	for name, open := range stages() {
		t.Run(name, func(t *testing.T) {
			st := open(t)
			st.seed(t)
			touch := st.cell("Touch")
			require.NoError(t, touch.alone(t.Context()))
			before := st.everything(t)
			st.wire.Reset()
			st.clock.move(30 * time.Second) // of the minute that the row asks for
			require.NoError(t, touch.alone(t.Context()))
			require.Equal(t, []string{"UpdateItem"}, st.sent())
			require.Equal(t, before, st.everything(t))
		})
	}
}

// requireOnDisk checks that the item is exactly what the verb's row says: its facts, its version, the times, what is set
// once, the index keys, and an attribute that the model does not know. before is nil when there was none.
func requireOnDisk(t *testing.T, st *stage, c cell, before raw) {
	t.Helper()
	now, got := st.clock.now(), st.stored(t, st.at)
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
		image["legacy"] = "N" + legacy
	}
	require.Equal(t, image, without(got, "_w"))
	if !st.hidden {
		require.NotContains(t, got, "_w")
		return
	}
	id := got["_w"]
	require.True(t, st.ids.has(id[2:len(id)-1]), "the write id comes from Config.NewID")
	if before != nil && c.writes {
		require.NotEqual(t, before["_w"], id, "each write has an id of its own")
	} else if before != nil {
		require.Equal(t, before["_w"], id, "nothing was written")
	}
}

func TestVerbTable_OnDiskAfterEachVerbAlone(t *testing.T) {
	t.Parallel()
	atEach(t, everyCell, func(t *testing.T, st *stage, c cell, live bool, want error) {
		if want != nil {
			return // nothing changes: see TestVerbTable_EveryCellAlone
		}
		before := st.stored(t, st.at)
		require.Equal(t, live, before != nil)
		require.NoError(t, c.alone(t.Context()))
		requireOnDisk(t, st, c, before)
	})
}

// The other route leaves the same bytes.
func TestVerbTable_OnDiskAfterEachVerbInATransaction(t *testing.T) {
	t.Parallel()
	atEach(t, asValue, func(t *testing.T, st *stage, c cell, live bool, want error) {
		if want != nil {
			return
		}
		before := st.stored(t, st.at)
		require.Equal(t, live, before != nil)
		require.NoError(t, st.db.Transact(t.Context(), c.op(), st.beside()))
		requireOnDisk(t, st, c, before)
	})
}

// Result gives what the plan determines: what was given, and the key; the whole item where it was read or made.
func TestVerbTable_ResultAfterATransactionIsWhatThePlanDetermines(t *testing.T) {
	t.Parallel()
	returns := func(c cell) bool { return c.result != nil }
	atEach(t, returns, func(t *testing.T, st *stage, c cell, live bool, want error) {
		op := c.op()
		require.Zero(t, c.result(op), "there is no result yet")
		err := st.db.Transact(t.Context(), op, st.beside())
		if want != nil {
			requireOnly(t, err, want, c.verb)
			require.Zero(t, c.result(op), "nor after a failure")
			return
		}
		require.NoError(t, err)
		got := c.result(op)
		switch {
		case c.verb == "Create":
			require.Equal(t, firstFacts, got)
		case c.reads && live:
			require.Equal(t, *c.after(&firstFacts, st.clock.now()), got, "the plan has read the item")
		default:
			require.Equal(t, secondFacts, got, "what is kept as stored is not known, and zero")
		}
	})
}

// What the library owns cannot be changed, on either route, and that is found before any request.
func TestVerbTable_ChangesOfOwnedFieldsAreRefusedOnBothRoutes(t *testing.T) {
	t.Parallel()
	st := rolesShape().open(t)
	st.seed(t)
	st.wire.Reset()
	require.NotEmpty(t, st.owned)
	for _, make := range st.owned {
		for _, ops := range [][]entity.Op{{make()}, {st.beside(), make()}} {
			err := st.db.Transact(t.Context(), ops...)
			bad := entity.FailureOf(err, ops[len(ops)-1])
			var in *entity.InputError
			require.ErrorAs(t, bad, &in)
			require.Equal(t, "EDD-9104", in.Code)
			require.Empty(t, st.sent())
		}
	}
}

// A value that immutable forbids is ErrConditionFailed naming the attribute, for each verb that can give one, on both routes.
func TestVerbTable_ImmutableIsNamedByEveryVerbOnBothRoutes(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	e := entity.Fields[Employee]()
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	before := l.everything(t)
	moved := alice()
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
			for _, beside := range [][]entity.Op{nil, {s.Op().Create(Employee{EmployeeID: "x", TenantID: "t", DisplayName: "X"})}} {
				op := make()
				err := l.db.Transact(t.Context(), append(beside, op)...)
				mine := entity.FailureOf(err, op)
				require.ErrorIs(t, mine, entity.ErrConditionFailed)
				var named *entity.ConditionError
				require.ErrorAs(t, mine, &named)
				require.Equal(t, "tenantId", named.Attr)
			}
			require.Equal(t, before, l.everything(t))
		})
	}
}

// What the caller gave stays as it was, down to what pointers, maps and slices lead to, and the result shares nothing
// with it.
func TestVerbTable_NoVerbWritesToTheCallersValue(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	lat := Geo{Lat: 1}
	alias, active := "al", true
	v := Profile{
		ID: "a", Team: "t", Rank: 1, Home: Address{City: "c", Geo: &lat}, Work: &Address{City: "w"},
		Labels: map[string]string{"k": "v"}, Scores: map[string]int{"k": 1}, Lines: []Line{{SKU: "s", Qty: 1}},
		Log: []string{"x"}, Tags: []string{"b", "a"}, Numbers: []int{2, 1}, Alias: &alias, Active: &active,
	}
	before, err := json.Marshal(v)
	require.NoError(t, err)
	spoil := func(got Profile) {
		t.Helper()
		got.Home.Geo.Lat, got.Work.City, *got.Alias, *got.Active = 99, "spoilt", "spoilt", false
		got.Labels["k"], got.Scores["k"], got.Lines[0].Qty, got.Log[0], got.Tags[0], got.Numbers[0] = "spoilt", 99, 99, "spoilt", "spoilt", 99
		after, err := json.Marshal(v)
		require.NoError(t, err)
		require.JSONEq(t, string(before), string(after))
	}
	got, err := s.Create(t.Context(), v)
	require.NoError(t, err)
	spoil(got)
	got, err = s.Put(t.Context(), v)
	require.NoError(t, err)
	spoil(got)
	got, _, err = s.Upsert(t.Context(), v)
	require.NoError(t, err)
	spoil(got)
	got, err = s.Get(t.Context(), v)
	require.NoError(t, err)
	spoil(got)
	put, upsert := s.Op().Put(v), s.Op().Upsert(v)
	require.NoError(t, l.db.Transact(t.Context(), put))
	spoil(put.Result())
	require.NoError(t, l.db.Transact(t.Context(), upsert))
	spoil(upsert.Result())
	require.NoError(t, l.db.Transact(t.Context(), put, s.Op().Create(Profile{ID: "b"})))
	spoil(put.Result())
	first := put.Result()
	require.Equal(t, "spoilt", *first.Alias, "a result is one value, the caller's to change")

	// A value that is changed after the op was made does not change the op.
	later := s.Op().Put(v)
	v.Labels["k"], v.Tags[0], *v.Alias = "later", "later", "later"
	got = entity.Must(s.Get(t.Context(), v))
	require.NoError(t, l.db.Transact(t.Context(), later))
	require.Equal(t, got, entity.Must(s.Get(t.Context(), v, entity.Consistent())), "the op holds what it was given")
}
