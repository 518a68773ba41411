package entity_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// cell is a row of the verb table: a verb, and its error on an item that is absent and on one that is live, nil for success. What each
// sends is in tests/plans.
type cell struct {
	verb         string
	absent, live error
	alone        func(context.Context, ...entity.Cond) error
	op           func(...entity.Cond) entity.Op // nil: the verb does not exist as a value
	conds        bool                           // it takes conditions
}

// stage is a table with the verbs of one item.
type stage struct {
	*lab
	entity    string
	cells     []cell
	seed      func() error         // makes the item live
	clear     func()               // makes it absent
	neighbour func() entity.Op     // a write that always succeeds, of another item
	held      func(error) bool     // whether an error carries the stored item
	yes       map[bool]entity.Cond // holds for a live item, and for one that is absent
	no        entity.Cond
}

// onlyIf are options with an If for each of the conditions.
func onlyIf[O any](conds []entity.Cond, opts ...O) []O {
	for _, c := range conds {
		opts = append(opts, any(entity.If(c)).(O))
	}
	return opts
}

// subject is what the verb table must know of T: two items, a time to touch, a number that v has, and a change.
type subject[T any] struct {
	entity   string
	v, other T
	seen     *time.Time
	count    *int
	change   entity.UpdateOption
	modify   func(*T)
}

// on returns the verb table of v on a database.
func (x subject[T]) on(db *entity.DB) *stage {
	s := entity.Must(entity.New[T](db))
	st := &stage{
		entity: x.entity, seed: func() error { return dbtest.ErrorOf(s.Create(context.Background(), x.v)) },
		clear: func() { _ = s.Delete(context.Background(), x.v) }, neighbour: func() entity.Op { return s.Op().Put(x.other) },
		held: func(err error) bool { _, ok := entity.StoredItem[T](err); return ok },
		yes:  map[bool]entity.Cond{true: entity.Eq(x.count, 3), false: entity.NotExists(x.count)}, no: entity.Eq(x.count, 999),
	}
	modify := func(v *T) error { x.modify(v); return nil }
	st.cells = []cell{
		{"Create", nil, entity.ErrExists, func(ctx context.Context, conds ...entity.Cond) error {
			return dbtest.ErrorOf(s.Create(ctx, x.v, onlyIf[entity.CreateOption](conds)...))
		}, func(conds ...entity.Cond) entity.Op { return s.Op().Create(x.v, onlyIf[entity.CreateOption](conds)...) }, true},
		{"Put", nil, nil, func(ctx context.Context, conds ...entity.Cond) error {
			return dbtest.ErrorOf(s.Put(ctx, x.v, onlyIf[entity.WriteOption](conds)...))
		}, func(conds ...entity.Cond) entity.Op { return s.Op().Put(x.v, onlyIf[entity.WriteOption](conds)...) }, true},
		{"Upsert", nil, nil, func(ctx context.Context, conds ...entity.Cond) error {
			return dbtest.ErrorOf(s.Upsert(ctx, x.v, onlyIf[entity.UpdateOption](conds)...))
		}, func(conds ...entity.Cond) entity.Op { return s.Op().Upsert(x.v, onlyIf[entity.UpdateOption](conds)...) }, true},
		{"Update", entity.ErrNotFound, nil, func(ctx context.Context, conds ...entity.Cond) error {
			return dbtest.ErrorOf(s.Update(ctx, x.v, onlyIf(conds, x.change)...))
		}, func(conds ...entity.Cond) entity.Op { return s.Op().Update(x.v, onlyIf(conds, x.change)...) }, true},
		{"Modify", entity.ErrNotFound, nil, func(ctx context.Context, conds ...entity.Cond) error {
			return dbtest.ErrorOf(s.Modify(ctx, x.v, modify, onlyIf[entity.WriteOption](conds)...))
		}, nil, true},
		{"Delete", entity.ErrNotFound, nil, func(ctx context.Context, conds ...entity.Cond) error {
			return s.Delete(ctx, x.v, onlyIf[entity.DeleteOption](conds)...)
		}, func(conds ...entity.Cond) entity.Op { return s.Op().Delete(x.v, onlyIf[entity.DeleteOption](conds)...) }, true},
		{"Touch", entity.ErrNotFound, nil, func(ctx context.Context, _ ...entity.Cond) error {
			return dbtest.ErrorOf(s.Touch(ctx, x.v, x.seen, time.Minute))
		}, nil, false},
		{"Get", entity.ErrNotFound, nil, func(ctx context.Context, _ ...entity.Cond) error { return dbtest.ErrorOf(s.Get(ctx, x.v)) }, nil, false},
		{"GetMany", nil, nil, func(ctx context.Context, _ ...entity.Cond) error { return dbtest.ErrorOf(s.GetMany(ctx, []T{x.v})) }, nil, false},
		{"GetInto", entity.ErrNotFound, nil, func(ctx context.Context, _ ...entity.Cond) error {
			v := x.v
			return db.TransactGet(ctx, s.Op().GetInto(&v))
		}, nil, false},
		{"CheckExists", entity.ErrNotFound, nil, func(ctx context.Context, conds ...entity.Cond) error {
			return db.Transact(ctx, s.Op().CheckExists(x.v, conds...))
		}, func(conds ...entity.Cond) entity.Op { return s.Op().CheckExists(x.v, conds...) }, true},
		{"CheckNotExists", nil, entity.ErrExists, func(ctx context.Context, _ ...entity.Cond) error {
			return db.Transact(ctx, s.Op().CheckNotExists(x.v))
		}, func(...entity.Cond) entity.Op { return s.Op().CheckNotExists(x.v) }, false},
	}
	return st
}

// subjects are items whose updates are sent without a read, such whose updates read first, and such without a write id.
func subjects() map[string]interface{ on(*entity.DB) *stage } {
	e, p, b := entity.Fields[Employee](), entity.Fields[Profile](), entity.Fields[Pallet]()
	first, other := alice(), alice()
	first.Salary, other.EmployeeID = 3, "other"
	return map[string]interface{ on(*entity.DB) *stage }{
		"direct": subject[Employee]{"Employee", first, other, &e.SeenAt, &e.Salary, rename("x"), func(v *Employee) { v.DisplayName = "y" }},
		"reading": subject[Profile]{"Profile", Profile{ID: "a", Rank: 1, Count: 3}, Profile{ID: "b"}, &p.SeenAt, &p.Count,
			entity.Set(&p.Rank, 2), func(v *Profile) { v.Rank++ }},
		"verbatim": subject[Pallet]{"Pallet", Pallet{ID: "a", Row: 3}, Pallet{ID: "b"}, &b.SeenAt, &b.Row,
			entity.Set(&b.Note, "x"), func(v *Pallet) { v.Note += "y" }},
	}
}

// classes are the errors that the verb table distinguishes.
var classes = []error{entity.ErrExists, entity.ErrNotFound, entity.ErrConflict, entity.ErrConditionFailed, entity.ErrMultipleItems, entity.ErrTooLarge, entity.ErrReadBack}

// requireOnly checks that err is of the class want and of no other, and says what failed on what; nil is success.
func (st *stage) requireOnly(t *testing.T, err, want error, verb string) {
	t.Helper()
	if want == nil {
		require.NoError(t, err)
		return
	}
	for _, class := range classes {
		if class == want {
			require.ErrorIs(t, err, class)
		} else {
			require.NotErrorIs(t, err, class)
		}
	}
	require.False(t, entity.IsAmbiguous(err), "what was refused was certainly not applied")
	e := dbtest.As[*entity.Error](t, err)
	require.Equal(t, []string{verb, st.entity}, []string{e.Verb, e.Entity})
}

// requireUnchanged checks that a call that does not write has left the table as it was.
func (st *stage) requireUnchanged(t *testing.T, call func()) {
	t.Helper()
	before := st.everything()
	call()
	require.Equal(t, before, st.everything())
}

// Cell by cell: the class of the error, alone and in a transaction, where no other operation is blamed for it; and what a condition
// decides in addition.
func TestVerbTable_EveryCell(t *testing.T) {
	t.Parallel()
	for name, subject := range subjects() {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			st := subject.on(l.DB)
			st.lab = l
			l.CreateTables()
			for _, c := range st.cells {
				for live, want := range map[bool]error{false: c.absent, true: c.live} {
					t.Run(map[bool]string{false: c.verb + " absent", true: c.verb + " live"}[live], func(t *testing.T) { st.check(t, c, live, want) })
				}
			}
		})
	}
}

func (st *stage) check(t *testing.T, c cell, live bool, want error) {
	reset := func() {
		st.clear()
		if live {
			require.NoError(t, st.seed())
		}
		st.Clock.Move(time.Hour)
		st.Sent()
	}
	reset()
	if want != nil {
		st.requireUnchanged(t, func() { st.requireOnly(t, c.alone(t.Context()), want, c.verb) })
	} else {
		st.requireOnly(t, c.alone(t.Context()), nil, c.verb)
	}
	reset()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	st.requireUnchanged(t, func() {
		err := c.alone(ended)
		require.ErrorIs(t, err, context.Canceled)
		require.False(t, entity.IsAmbiguous(err))
		require.Empty(t, st.Sent())
	})
	routes := []func(...entity.Cond) error{func(conds ...entity.Cond) error { return c.alone(t.Context(), conds...) }}
	if c.op != nil {
		routes = append(routes, func(conds ...entity.Cond) error {
			op, neighbour := c.op(conds...), st.neighbour()
			err := st.DB.Transact(t.Context(), neighbour, op)
			if err != nil {
				failed := dbtest.As[*entity.TransactError](t, err)
				require.Len(t, failed.Failed, 1)
				require.Equal(t, 1, failed.Failed[0].Index)
				require.Same(t, op, failed.Failed[0].Op)
				require.NoError(t, entity.FailureOf(err, neighbour))
				return entity.FailureOf(err, op)
			}
			return nil
		})
	}
	for i, run := range routes {
		if i > 0 {
			reset()
			st.requireOnly(t, run(), want, c.verb)
		}
		if !c.conds {
			continue
		}
		reset()
		if want == nil {
			for _, conds := range [][]entity.Cond{{st.no}, {st.yes[live], st.no}} {
				st.requireUnchanged(t, func() {
					err := run(conds...)
					st.requireOnly(t, err, entity.ErrConditionFailed, c.verb)
					require.LessOrEqual(t, len(st.Operations()), 2, "it is not tried again")
					require.Equal(t, live, st.held(err), "the error carries the item that refused the condition")
				})
			}
		}
		st.requireOnly(t, run(st.yes[live]), want, c.verb)
	}
}

func TestVerbTable_WithoutAClientEveryVerbIsErrNoClient(t *testing.T) {
	t.Parallel()
	for name, subject := range subjects() {
		for _, c := range subject.on(paper(t)).cells {
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

// staff is a lab with a store of staff, and what its last call cost.
type staff struct {
	*lab
	*entity.Store[Employee]
	cost *entity.Report
}

func newStaff(t *testing.T) staff {
	cost := new(entity.Report)
	l, s := open[Employee](t, func(c *entity.Config) { c.Tracer = dbtest.Observer(func(r entity.Report) { *cost = r }) })
	return staff{l, s, cost}
}

// Calls without options share their settings.
func TestModify_ANilFunctionIsTheMistakeOfThatCallAlone(t *testing.T) {
	l, ctx := newStaff(t), t.Context()
	l.OK(l.Create(ctx, Employee{EmployeeID: "a", DisplayName: "t"}))
	dbtest.As[*entity.InputError](t, dbtest.ErrorOf(l.Modify(ctx, employeeKey("a"), nil)))
	dbtest.As[*entity.InputError](t, l.DB.TransactFunc(ctx, nil))
	require.NoError(t, l.Delete(ctx, employeeKey("a")))
}

func TestModify_WithoutAChangeWritesNothing(t *testing.T) {
	l, ctx, f := newStaff(t), t.Context(), entity.Fields[Employee]()
	before := entity.Must(l.Create(ctx, Employee{EmployeeID: "a", DisplayName: "t"}))
	require.Equal(t, before, entity.Must(l.Modify(ctx, employeeKey("a"), func(*Employee) error { return nil })))
	require.Equal(t, 1, l.cost.Requests)
	_, err := l.Modify(ctx, employeeKey("a"), func(*Employee) error { return nil }, entity.If(entity.Eq(&f.DisplayName, "other")))
	require.ErrorIs(t, err, entity.ErrConditionFailed, "a condition is checked all the same")
	l.OK(l.Modify(ctx, employeeKey("a"), func(*Employee) error { return nil }, entity.If(entity.Eq(&f.DisplayName, "t"))))
}

func TestModify_RefusesWhatItMayNotChange(t *testing.T) {
	l, ctx := newStaff(t), t.Context()
	before := entity.Must(l.Create(ctx, Employee{EmployeeID: "a", DisplayName: "t", TenantID: "x", HiredBy: "f"}))
	for field, change := range map[string]func(*Employee){
		"EmployeeID":  func(v *Employee) { v.EmployeeID = "b" },
		"Version":     func(v *Employee) { v.Version = 9 },
		"CreatedAt":   func(v *Employee) { v.CreatedAt = time.Now() },
		"HiredBy":     func(v *Employee) { v.HiredBy = "g" },
		"DisplayName": func(v *Employee) { v.DisplayName = "" },
	} {
		_, err := l.Modify(ctx, employeeKey("a"), func(v *Employee) error { change(v); return nil })
		require.Equal(t, field, dbtest.As[*entity.InputError](t, err, field).Field)
	}
	_, err := l.Modify(ctx, employeeKey("a"), func(v *Employee) error { v.TenantID = "y"; return nil })
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	mine := errors.New("mine")
	require.ErrorIs(t, dbtest.ErrorOf(l.Modify(ctx, employeeKey("a"), func(v *Employee) error { v.Salary = 1; return mine })), mine)
	require.ErrorIs(t, dbtest.ErrorOf(l.Modify(ctx, employeeKey("none"), func(v *Employee) error { return nil })), entity.ErrNotFound)
	require.Equal(t, before, entity.Must(l.Get(ctx, employeeKey("a"), entity.Consistent())))
}

func TestTouch_WritesAtMostOncePerInterval(t *testing.T) {
	l, ctx, f := newStaff(t), t.Context(), entity.Fields[Employee]()
	before := entity.Must(l.Create(ctx, Employee{EmployeeID: "a", DisplayName: "t"}))
	touch := func(after time.Duration) bool {
		l.Clock.Move(after)
		due := entity.Must(l.Touch(ctx, employeeKey("a"), &f.SeenAt, time.Minute))
		require.Equal(t, 1, l.cost.Requests)
		return due
	}
	require.True(t, touch(time.Hour), "it was never touched")
	require.False(t, touch(time.Minute-1))
	require.True(t, touch(1))
	got := entity.Must(l.Get(ctx, employeeKey("a"), entity.Consistent()))
	require.Equal(t, l.Clock.Now(), got.SeenAt)
	require.Equal(t, before.Version, got.Version)
	require.Equal(t, before.UpdatedAt, got.UpdatedAt)
	_, err := l.Touch(ctx, employeeKey("none"), &f.SeenAt, 0)
	require.ErrorIs(t, err, entity.ErrNotFound)
	for _, field := range []*time.Time{&f.UpdatedAt, &f.CreatedAt, nil, new(time.Time)} {
		_, err = l.Touch(ctx, employeeKey("a"), field, 0)
		dbtest.As[*entity.InputError](t, err)
	}
	dbtest.As[*entity.InputError](t, dbtest.ErrorOf(l.Touch(ctx, employeeKey("a"), &f.SeenAt, -1)))
}

func TestKeepImage_SavesTheReadOfAWriteThatIsPlannedFromTheItem(t *testing.T) {
	l, s := opened(t, Profile{ID: "a", Team: "red", Rank: 1})
	at := keys("pk", "$app#v1#profile#a", "sk", "$app#v1#profile")
	l.patch(at, "unknown", &types.AttributeValueMemberS{Value: "stays"})
	l.Sent()

	var h entity.Image
	l.OK(s.Get(t.Context(), Profile{ID: "a"}, entity.KeepImage(&h), entity.Consistent()))
	f := entity.Fields[Profile]()
	got := entity.Must(s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&f.Rank, 2), entity.FromImage(&h)))
	require.Equal(t, 2, got.Rank)
	require.Equal(t, []string{"GetItem", "PutItem"}, l.Operations(), "the Get was the caller's")
	require.Equal(t, `S"stays"`, l.stored(at)["unknown"], "the handle has what the struct does not know")

	got = entity.Must(s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&f.Rank, 3), entity.FromImage(&h)))
	require.Equal(t, 3, got.Rank)
	require.Equal(t, []string{"PutItem", "GetItem", "PutItem"}, l.Operations(), "a stale handle is as none")

	l.OK(s.Modify(t.Context(), Profile{ID: "a"}, func(p *Profile) error { p.Note += "!"; return nil }, entity.FromImage(&h)))
	stored := entity.Must(s.Get(t.Context(), Profile{ID: "a"}, entity.Consistent()))
	require.Equal(t, 3, stored.Rank, "what came after the handle was filled is kept")

	l.OK(s.Get(t.Context(), Profile{ID: "a"}, entity.KeepImage(&h)))
	l.Sent()
	require.NoError(t, l.DB.Transact(t.Context(), s.Op().Update(Profile{ID: "a"}, entity.Set(&f.Rank, 4), entity.FromImage(&h)), s.Op().CheckNotExists(Profile{ID: "b"})))
	require.Equal(t, []string{"TransactWriteItems"}, l.Operations())
	require.NoError(t, l.DB.Transact(t.Context(), s.Op().Update(Profile{ID: "a"}, entity.Set(&f.Rank, 5), entity.FromImage(&h)), s.Op().CheckNotExists(Profile{ID: "b"})))
	require.Equal(t, []string{"TransactWriteItems", "GetItem", "TransactWriteItems"}, l.Operations())
}

func TestKeepImage_UnusableImagesAreRefusedBeforeAnyRequest(t *testing.T) {
	l, s := opened(t, Profile{ID: "a"})
	var h, empty entity.Image
	l.OK(s.Get(t.Context(), Profile{ID: "a"}, entity.KeepImage(&h)))
	l.Sent()
	set := func(p *Profile) error { p.Rank++; return nil }
	dbtest.RequireInput(t, dbtest.ErrorOf(s.Modify(t.Context(), Profile{ID: "a"}, set, entity.FromImage(&empty))), "EDD-9108", "")
	dbtest.RequireInput(t, dbtest.ErrorOf(s.Modify(t.Context(), Profile{ID: "b"}, set, entity.FromImage(&h))), "EDD-9108", "")
	dbtest.RequireInput(t, dbtest.ErrorOf(s.Modify(t.Context(), Profile{ID: "a"}, set, entity.FromImage((*entity.Image)(nil)))), "EDD-9108", "")
	dbtest.RequireInput(t, dbtest.ErrorOf(s.Get(t.Context(), Profile{ID: "a"}, entity.KeepImage(nil))), "EDD-9108", "")
	require.Empty(t, l.Operations())

	require.ErrorIs(t, dbtest.ErrorOf(s.Get(t.Context(), Profile{ID: "none"}, entity.KeepImage(&h))), entity.ErrNotFound)
	dbtest.RequireInput(t, dbtest.ErrorOf(s.Modify(t.Context(), Profile{ID: "a"}, set, entity.FromImage(&h))), "EDD-9108", "")
}

func TestKeepImage_StaleImageIsReadAgain(t *testing.T) {
	l, s := opened(t, Profile{ID: "a", Team: "red", Rank: 1})
	f := entity.Fields[Profile]()
	var h entity.Image
	l.OK(s.Get(t.Context(), Profile{ID: "a"}, entity.KeepImage(&h)))
	l.OK(s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&f.Note, "theirs")))
	same := func(p *Profile) error { p.Note = ""; return nil } // as the handle has it: nothing to write
	require.Empty(t, entity.Must(s.Modify(t.Context(), Profile{ID: "a"}, same, entity.FromImage(&h))).Note)
	stored := entity.Must(s.Get(t.Context(), Profile{ID: "a"}, entity.Consistent()))
	require.Empty(t, stored.Note, "what another program has written since is changed, too")
}
