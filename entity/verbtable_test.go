package entity_test

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// Facts are what an item of every shape stores in addition to its key and its roles.
type Facts struct {
	Title  string    `dynamodbav:"title"`
	Note   string    `dynamodbav:"note,omitempty"`
	Count  int       `dynamodbav:"count,omitempty"`
	SeenAt time.Time `dynamodbav:"seenAt,omitempty" entity:"time=s"`
}

// The shapes of entities for which the verb table holds. ShapeRoles has every role of an ordinary entity; ShapeHalf an
// index key of which an update and an upsert know a part only; ShapeVerbatim carries nothing hidden.
type (
	ShapeRoles struct {
		_  entity.Key `name:"ShapeRoles" pk:"$#{id}" sk:"$#{area}"`
		_  entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{title}"`
		ID string     `dynamodbav:"id"`
		Facts
		Area      int       `dynamodbav:"area"`
		Tenant    string    `dynamodbav:"tenant" entity:"immutable"`
		First     string    `dynamodbav:"first,omitempty" entity:"set_once"`
		Version   int64     `dynamodbav:"version" entity:"version"`
		CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
		UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
	}
	ShapeHalf struct {
		_  entity.Key `name:"ShapeHalf" pk:"$#{id}" sk:"$"`
		_  entity.GSI `name:"byTitle" index:"gsi1" pk:"$#{title}#{note}" sk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		Facts
	}
	ShapeVerbatim struct {
		_    entity.Key `name:"ShapeVerbatim" pk:"owner=O#{id}" sk:"place={area:03}"`
		_    entity.GSI `name:"seen" index:"gsi1" pk:"gsi1pk=rows" sk:"gsi1sk={seenAt}"`
		ID   string     `dynamodbav:"id"`
		Area int        `dynamodbav:"area"`
		Facts
	}
)

// shape is what the tests of the verb table must know of T.
type shape[T any] struct {
	layout
	key, other T                        // two keys
	facts      func(*T) *Facts          // of a value, and of the prototype
	given      func(v *T, first string) // fills in the fields with roles, with wrong values where the library owns them
}

// layout is the stored form of a shape.
type layout struct {
	entity  string
	at      map[string]types.AttributeValue // of key
	otherAt map[string]types.AttributeValue
	fixed   raw             // attributes that no write changes
	halves  func(Facts) raw // index keys
	hidden  bool            // it carries a write id
	roles   bool            // it has version, created_at, updated_at, set_once
	reads   bool            // Update and Upsert must read first
}

// anyShape is a shape of any type: its verb table on a table of its own, or on a given database.
type anyShape interface {
	open(*testing.T) *stage
	on(*entity.DB) *stage
}

// shapes are those for which the verb table holds.
func shapes() map[string]anyShape {
	half := shape[ShapeHalf]{
		key: ShapeHalf{ID: "a"}, other: ShapeHalf{ID: "b"}, facts: func(v *ShapeHalf) *Facts { return &v.Facts },
		layout: layout{
			entity: "ShapeHalf",
			at:     keys("pk", "$app#v1#shapehalf#a", "sk", "$app#v1#shapehalf"), otherAt: keys("pk", "$app#v1#shapehalf#b", "sk", "$app#v1#shapehalf"),
			hidden: true, reads: true,
			fixed: raw{
				"pk": `S"$app#v1#shapehalf#a"`, "sk": `S"$app#v1#shapehalf"`, "__edd_e__": `S"ShapeHalf"`, "id": `S"a"`,
				"gsi1sk": `S"$app#v1#shapehalf#a"`,
			},
			halves: func(f Facts) raw {
				if f.Note == "" {
					return nil
				}
				return raw{"gsi1pk": `S"$app#v1#shapehalf#` + f.Title + "#" + f.Note + `"`}
			},
		},
	}
	verbatim := shape[ShapeVerbatim]{
		key: ShapeVerbatim{ID: "a", Area: 7}, other: ShapeVerbatim{ID: "b", Area: 7}, facts: func(v *ShapeVerbatim) *Facts { return &v.Facts },
		layout: layout{
			entity: "ShapeVerbatim",
			at:     keys("owner", "O#a", "place", "007"), otherAt: keys("owner", "O#b", "place", "007"),
			fixed: raw{"owner": `S"O#a"`, "place": `S"007"`, "id": `S"a"`, "area": "N7", "gsi1pk": `S"rows"`},
			halves: func(f Facts) raw {
				if f.SeenAt.IsZero() {
					return nil
				}
				return raw{"gsi1sk": `S"` + f.SeenAt.Format("2006-01-02T15:04:05Z") + `"`}
			},
		},
	}
	return map[string]anyShape{"roles": rolesShape(), "partly known half": half, "verbatim": verbatim}
}

func rolesShape() shape[ShapeRoles] {
	return shape[ShapeRoles]{
		key: ShapeRoles{ID: "a", Area: 7}, other: ShapeRoles{ID: "b", Area: 7, Tenant: "t"}, facts: func(v *ShapeRoles) *Facts { return &v.Facts },
		given: func(v *ShapeRoles, first string) {
			v.Tenant, v.First = "t", first
			v.Version, v.CreatedAt, v.UpdatedAt = 77, dawn.AddDate(-9, 0, 0), dawn.AddDate(9, 0, 0)
		},
		layout: layout{
			entity:  "ShapeRoles",
			at:      keys("pk", "$app#v1#shaperoles#a", "sk", "$app#v1#shaperoles#0000000000000000007"),
			otherAt: keys("pk", "$app#v1#shaperoles#b", "sk", "$app#v1#shaperoles#0000000000000000007"),
			hidden:  true, roles: true,
			fixed: raw{
				"pk": `S"$app#v1#shaperoles#a"`, "sk": `S"$app#v1#shaperoles#0000000000000000007"`, "__edd_e__": `S"ShapeRoles"`,
				"id": `S"a"`, "area": "N7", "tenant": `S"t"`, "gsi1pk": `S"$app#v1#shaperoles#t"`,
			},
			halves: func(f Facts) raw { return raw{"gsi1sk": `S"$app#v1#shaperoles#` + f.Title + `"`} },
		},
	}
}

// image is the item that the shape stores, without its write id.
func (st *layout) image(f Facts, version string, created, updated time.Time, first string) raw {
	it := maps.Clone(st.fixed)
	maps.Copy(it, st.halves(f))
	it["title"] = `S"` + f.Title + `"`
	if f.Note != "" {
		it["note"] = `S"` + f.Note + `"`
	}
	if f.Count != 0 {
		it["count"] = "N3"
	}
	if !f.SeenAt.IsZero() {
		it["seenAt"] = `S"` + f.SeenAt.Format("2006-01-02T15:04:05Z") + `"`
	}
	if st.roles {
		const nine = "2006-01-02T15:04:05.000000000Z"
		it["version"], it["first"] = "N"+version, `S"`+first+`"`
		it["createdAt"], it["updatedAt"] = `S"`+created.Format(nine)+`"`, `S"`+updated.Format(nine)+`"`
	}
	return it
}

// stage is a shape on a table of its own, with T erased.
type stage struct {
	*lab
	layout
	cells     []cell
	seed      func()                    // makes the item live
	neighbour func() entity.Op          // a write that always succeeds, of another item
	held      func(error) (Facts, bool) // the stored item that an error carries
	facts     *Facts                    // of the prototype
	born      time.Time                 // when the live item was made
	created   bool                      // what the last Upsert said
}

// cell is a row of the verb table. Its error is nil for success.
type cell struct {
	verb         string
	alone        func(context.Context, ...entity.Cond) error // under conditions, if the verb takes any
	op           func(...entity.Cond) entity.Op              // nil: the verb does not exist as a value
	absent, live error                                       // on an item that is not there, and on one that is
	request      string                                      // what is sent
	conds        bool                                        // it takes conditions
	reads        bool                                        // after a read, which is all that is sent when it finds nothing and absent says so
	after        func(before *Facts, now time.Time) *Facts   // what the item is then; nil for none
	first        string                                      // what it gives for the attribute that is set once
	keeps        bool                                        // version and updated_at stay
	writes       bool
}

// The values that the verbs are tried with: first is created, second written over it.
var (
	firstFacts  = Facts{Title: "one", Note: "n", Count: 3, SeenAt: dawn.Truncate(time.Second)}
	secondFacts = Facts{Title: "two"}
)

// onlyIf are options with an If for each of the conditions.
func onlyIf[O any](conds []entity.Cond, opts ...O) []O {
	for _, c := range conds {
		opts = append(opts, any(entity.If(c)).(O))
	}
	return opts
}

// open makes a table for the shape and the rows of its verb table.
func (sh shape[T]) open(t *testing.T) *stage {
	t.Helper()
	l := newLab(t)
	st := sh.on(l.DB)
	st.lab = l
	l.CreateTables()
	return st
}

// on returns the shape with its verb table on a database.
func (sh shape[T]) on(db *entity.DB) *stage {
	s, p := entity.Must(entity.New[T](db)), entity.Fields[T]()
	value := func(f Facts, first string) T {
		v := sh.key
		*sh.facts(&v) = f
		if sh.given != nil {
			sh.given(&v, first)
		}
		return v
	}
	st := &stage{layout: sh.layout, facts: sh.facts(p), neighbour: func() entity.Op { return s.Op().Put(sh.other) }}
	st.seed = func() { st.T.Helper(); st.OK(s.Create(st.Ctx, value(firstFacts, "f1"))) }
	st.held = func(err error) (Facts, bool) { v, ok := entity.StoredItem[T](err); return *sh.facts(&v), ok }
	setTitle := func(conds []entity.Cond) []entity.UpdateOption {
		return onlyIf[entity.UpdateOption](conds, entity.Set(&st.facts.Title, secondFacts.Title))
	}
	retitled := func(before *Facts, _ time.Time) *Facts {
		f := *before
		f.Title = secondFacts.Title
		return &f
	}
	st.cells = []cell{
		{
			verb: "Create", live: entity.ErrExists, request: "PutItem", writes: true, conds: true, first: "f1",
			alone: func(ctx context.Context, conds ...entity.Cond) error {
				return dbtest.ErrorOf(s.Create(ctx, value(firstFacts, "f1"), onlyIf[entity.CreateOption](conds)...))
			},
			op: func(conds ...entity.Cond) entity.Op {
				return s.Op().Create(value(firstFacts, "f1"), onlyIf[entity.CreateOption](conds)...)
			},
			after: func(*Facts, time.Time) *Facts { return &firstFacts },
		}, {
			verb: "Put", request: "UpdateItem", writes: true, conds: true, first: "f2",
			alone: func(ctx context.Context, conds ...entity.Cond) error {
				return dbtest.ErrorOf(s.Put(ctx, value(secondFacts, "f2"), onlyIf[entity.WriteOption](conds)...))
			},
			op: func(conds ...entity.Cond) entity.Op {
				return s.Op().Put(value(secondFacts, "f2"), onlyIf[entity.WriteOption](conds)...)
			},
			after: func(*Facts, time.Time) *Facts { return &secondFacts },
		}, {
			verb: "Upsert", request: "UpdateItem", writes: true, conds: true, first: "f2", reads: sh.reads,
			alone: func(ctx context.Context, conds ...entity.Cond) (err error) {
				_, st.created, err = s.Upsert(ctx, value(secondFacts, "f2"), onlyIf[entity.UpdateOption](conds)...)
				return err
			},
			op: func(conds ...entity.Cond) entity.Op {
				return s.Op().Upsert(value(secondFacts, "f2"), onlyIf[entity.UpdateOption](conds)...)
			},
			after: func(before *Facts, now time.Time) *Facts {
				if before == nil {
					return &secondFacts
				}
				return retitled(before, now)
			},
		}, {
			verb: "Update", absent: entity.ErrNotFound, request: "UpdateItem", writes: true, conds: true, reads: sh.reads, after: retitled,
			alone: func(ctx context.Context, conds ...entity.Cond) error {
				return dbtest.ErrorOf(s.Update(ctx, sh.key, setTitle(conds)...))
			},
			op: func(conds ...entity.Cond) entity.Op { return s.Op().Update(sh.key, setTitle(conds)...) },
		}, {
			verb: "Modify", absent: entity.ErrNotFound, request: "PutItem", writes: true, conds: true, reads: true, after: retitled,
			alone: func(ctx context.Context, conds ...entity.Cond) error {
				retitle := func(v *T) error { sh.facts(v).Title = secondFacts.Title; return nil }
				return dbtest.ErrorOf(s.Modify(ctx, sh.key, retitle, onlyIf[entity.WriteOption](conds)...))
			},
		}, {
			verb: "Delete", absent: entity.ErrNotFound, request: "DeleteItem", writes: true, conds: true,
			alone: func(ctx context.Context, conds ...entity.Cond) error {
				return s.Delete(ctx, sh.key, onlyIf[entity.DeleteOption](conds)...)
			},
			op: func(conds ...entity.Cond) entity.Op {
				return s.Op().Delete(sh.key, onlyIf[entity.DeleteOption](conds)...)
			},
			after: func(*Facts, time.Time) *Facts { return nil },
		}, {
			verb: "Touch", absent: entity.ErrNotFound, request: "UpdateItem", writes: true, keeps: true,
			alone: func(ctx context.Context, _ ...entity.Cond) error {
				return dbtest.ErrorOf(s.Touch(ctx, sh.key, &st.facts.SeenAt, time.Minute))
			},
			after: func(before *Facts, now time.Time) *Facts {
				f := *before
				f.SeenAt = now.Truncate(time.Second)
				return &f
			},
		}, {
			verb: "Get", absent: entity.ErrNotFound, request: "GetItem", keeps: true, after: same,
			alone: func(ctx context.Context, _ ...entity.Cond) error { return dbtest.ErrorOf(s.Get(ctx, sh.key)) },
		}, {
			verb: "GetMany", request: "BatchGetItem", keeps: true, after: same,
			alone: func(ctx context.Context, _ ...entity.Cond) error { return dbtest.ErrorOf(s.GetMany(ctx, []T{sh.key})) },
		}, {
			verb: "GetInto", absent: entity.ErrNotFound, request: "TransactGetItems", keeps: true, after: same,
			alone: func(ctx context.Context, _ ...entity.Cond) error {
				v := sh.key
				return db.TransactGet(ctx, s.Op().GetInto(&v))
			},
		}, {
			verb: "CheckExists", absent: entity.ErrNotFound, request: "TransactWriteItems", conds: true, keeps: true, after: same,
			alone: func(ctx context.Context, conds ...entity.Cond) error {
				return db.Transact(ctx, s.Op().CheckExists(sh.key, conds...))
			},
			op: func(conds ...entity.Cond) entity.Op { return s.Op().CheckExists(sh.key, conds...) },
		}, {
			verb: "CheckNotExists", live: entity.ErrExists, request: "TransactWriteItems", keeps: true, after: same,
			alone: func(ctx context.Context, _ ...entity.Cond) error {
				return db.Transact(ctx, s.Op().CheckNotExists(sh.key))
			},
			op: func(...entity.Cond) entity.Op { return s.Op().CheckNotExists(sh.key) },
		},
	}
	return st
}

func same(before *Facts, _ time.Time) *Facts { return before }

// set makes the item live or absent, an hour ago, and forgets the requests.
func (st *stage) set(live bool) {
	st.T.Helper()
	st.drop(st.at, st.otherAt)
	if live {
		st.seed()
		st.patch(st.at, "legacy", legacy)
	}
	st.born, st.created = st.Clock.Now(), false
	st.Clock.Move(time.Hour)
	st.Sent()
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
	if st.roles {
		require.Equal(t, `pk="$app#v1#shaperoles#a" sk="$app#v1#shaperoles#0000000000000000007"`, e.Key)
	}
}

// costs are the requests of the cell: the read that its plan needs, and what it sends unless the read has decided.
func (c cell) costs(want error) []string {
	switch {
	case c.reads && want != nil:
		return []string{"GetItem"}
	case c.reads && c.request == "UpdateItem":
		return []string{"GetItem", "PutItem"} // the item that was read is put back whole
	case c.reads:
		return []string{"GetItem", c.request}
	}
	return []string{c.request}
}

// atEach runs f for every cell of the verb table that pick chooses: each shape, each verb, on an absent and a live item.
// The live one has an attribute that the model does not know, and is an hour old.
func atEach(t *testing.T, pick func(cell) bool, f func(t *testing.T, st *stage, c cell, live bool, want error)) {
	for name, shape := range shapes() {
		t.Run(name, func(t *testing.T) {
			st := shape.open(t)
			for _, c := range st.cells {
				if !pick(c) {
					continue
				}
				for state, want := range map[string]error{"absent": c.absent, "live": c.live} {
					t.Run(c.verb+"/"+state, func(t *testing.T) { st.set(state == "live"); f(t, st, c, state == "live", want) })
				}
			}
		})
	}
}

// legacy holds numbers that no float holds.
var legacy = document(map[string]av{
	"n": num("12345678901234567890123456789012345678"), "l": &types.AttributeValueMemberL{Value: []av{num("-0.00012345678901234567890123456789012345678")}},
	"ns": &types.AttributeValueMemberNS{Value: []string{"123456789012345678901234567890", "0.1234567890123456789012345678901"}},
})

func everyCell(cell) bool { return true }
func asValue(c cell) bool { return c.op != nil }

// Cell by cell: the class of the error, the requests that the outcome cost, and what is on disk then, to the byte.
func TestVerbTable_EveryCellAlone(t *testing.T) {
	t.Parallel()
	atEach(t, everyCell, func(t *testing.T, st *stage, c cell, live bool, want error) {
		before, item, err := st.everything(), st.stored(st.at), c.alone(t.Context())
		st.requireOnly(t, err, want, c.verb)
		require.Equal(t, c.costs(want), st.Operations())
		if want == nil {
			requireOnDisk(t, st, c, item)
			require.Equal(t, c.verb == "Upsert" && !live, st.created)
			return
		}
		require.Equal(t, before, st.everything(), "a refused write leaves no trace")
		if c.writes && !c.reads {
			dbtest.As[*types.ConditionalCheckFailedException](t, err, "the SDK's error stays reachable")
		}
	})
}

// The same fact has the same class on the other route, and no other op is blamed for it. What a verb leaves is the same, too.
func TestVerbTable_EveryCellInATransaction(t *testing.T) {
	t.Parallel()
	atEach(t, asValue, func(t *testing.T, st *stage, c cell, _ bool, want error) {
		before, item := st.everything(), st.stored(st.at)
		op, neighbour := c.op(), st.neighbour()
		err, cost := st.DB.Transact(t.Context(), neighbour, op), []string{"TransactWriteItems"}
		if c.reads {
			cost = []string{"GetItem", "TransactWriteItems"}
		}
		if c.reads && want != nil {
			cost = []string{"GetItem"} // the read has decided
		}
		require.Equal(t, cost, st.Operations())
		st.requireOnly(t, err, want, c.verb)
		if want == nil {
			require.NotNil(t, st.stored(st.otherAt))
			requireOnDisk(t, st, c, item)
			return
		}
		require.Equal(t, before, st.everything(), "all or nothing")
		failed := dbtest.As[*entity.TransactError](t, err)
		require.Len(t, failed.Failed, 1)
		require.Equal(t, 1, failed.Failed[0].Index)
		require.Same(t, op, failed.Failed[0].Op)
		st.requireOnly(t, entity.FailureOf(err, op), want, c.verb)
		require.NoError(t, entity.FailureOf(err, neighbour))
		if !c.reads {
			dbtest.As[*types.TransactionCanceledException](t, err)
		}
	})
}
