package entity_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// Facts are what an item of every shape stores in addition to its key and its roles.
type Facts struct {
	Title  string    `dynamodbav:"title"`
	Note   string    `dynamodbav:"note,omitempty"`
	Count  int       `dynamodbav:"count,omitempty"`
	SeenAt time.Time `dynamodbav:"seenAt,omitempty" entity:"time=s"`
}

// The shapes of entities for which the verb table holds. ShapeRoles has every role of an ordinary entity; ShapeHalf an
// index key of which an update and an upsert know a part only; ShapeVerbatim and ShapeNative carry nothing hidden.
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
	ShapePlain struct {
		_  entity.Key `name:"ShapePlain" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
		Facts
	}
	ShapePartition struct {
		_  entity.Key `name:"ShapePartition" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		Facts
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
	ShapeNative struct {
		_    entity.Key `name:"ShapeNative" pk:"id" sk:"area"`
		ID   string     `dynamodbav:"id"`
		Area int        `dynamodbav:"area"`
		Facts
	}
)

// shape is what the tests of the verb table must know of T.
type shape[T any] struct {
	layout
	key, other T                              // two keys
	facts      func(*T) *Facts                // of a value, and of the prototype
	given      func(v *T, first string)       // fills in the fields with roles, with wrong values where the library owns them
	owned      func(*T) []entity.UpdateOption // changes of what the library owns
}

// layout is the stored form of a shape.
type layout struct {
	at      map[string]types.AttributeValue // of key
	otherAt map[string]types.AttributeValue
	fixed   raw             // attributes that no write changes
	halves  func(Facts) raw // index keys
	hidden  bool            // it carries a write id
	roles   bool            // it has version, created_at, updated_at, set_once
	reads   bool            // Update and Upsert must read first
}

// stages open every shape.
func stages() map[string]func(*testing.T) *stage {
	none := func(Facts) raw { return nil }
	plain := shape[ShapePlain]{
		key: ShapePlain{ID: "a"}, other: ShapePlain{ID: "b"}, facts: func(v *ShapePlain) *Facts { return &v.Facts },
		layout: layout{
			at: keys("pk", "$app#v1#shapeplain#a", "sk", "$app#v1#shapeplain"), otherAt: keys("pk", "$app#v1#shapeplain#b", "sk", "$app#v1#shapeplain"),
			hidden: true, halves: none,
			fixed: raw{"pk": `S"$app#v1#shapeplain#a"`, "sk": `S"$app#v1#shapeplain"`, "__edd_e__": `S"ShapePlain"`, "id": `S"a"`},
		},
	}
	partition := shape[ShapePartition]{
		key: ShapePartition{ID: "a"}, other: ShapePartition{ID: "b"}, facts: func(v *ShapePartition) *Facts { return &v.Facts },
		layout: layout{
			at: keys("pk", "$app#v1#shapepartition#a"), otherAt: keys("pk", "$app#v1#shapepartition#b"), hidden: true, halves: none,
			fixed: raw{"pk": `S"$app#v1#shapepartition#a"`, "__edd_e__": `S"ShapePartition"`, "id": `S"a"`},
		},
	}
	half := shape[ShapeHalf]{
		key: ShapeHalf{ID: "a"}, other: ShapeHalf{ID: "b"}, facts: func(v *ShapeHalf) *Facts { return &v.Facts },
		layout: layout{
			at: keys("pk", "$app#v1#shapehalf#a", "sk", "$app#v1#shapehalf"), otherAt: keys("pk", "$app#v1#shapehalf#b", "sk", "$app#v1#shapehalf"),
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
			at: keys("owner", "O#a", "place", "007"), otherAt: keys("owner", "O#b", "place", "007"),
			fixed: raw{"owner": `S"O#a"`, "place": `S"007"`, "id": `S"a"`, "area": "N7", "gsi1pk": `S"rows"`},
			halves: func(f Facts) raw {
				if f.SeenAt.IsZero() {
					return nil
				}
				return raw{"gsi1sk": `S"` + f.SeenAt.Format("2006-01-02T15:04:05Z") + `"`}
			},
		},
	}
	native := shape[ShapeNative]{
		key: ShapeNative{ID: "a", Area: 7}, other: ShapeNative{ID: "b", Area: 7}, facts: func(v *ShapeNative) *Facts { return &v.Facts },
		layout: layout{
			at: map[string]types.AttributeValue{"id": str("a"), "area": num("7")}, otherAt: map[string]types.AttributeValue{"id": str("b"), "area": num("7")},
			fixed: raw{"id": `S"a"`, "area": "N7"}, halves: none,
		},
	}
	return map[string]func(*testing.T) *stage{
		"roles": rolesShape().open, "plain": plain.open, "partition key only": partition.open,
		"partly known half": half.open, "verbatim": verbatim.open, "native": native.open,
	}
}

func rolesShape() shape[ShapeRoles] {
	return shape[ShapeRoles]{
		key: ShapeRoles{ID: "a", Area: 7}, other: ShapeRoles{ID: "b", Area: 7, Tenant: "t"}, facts: func(v *ShapeRoles) *Facts { return &v.Facts },
		given: func(v *ShapeRoles, first string) {
			v.Tenant, v.First = "t", first
			v.Version, v.CreatedAt, v.UpdatedAt = 77, dawn.AddDate(-9, 0, 0), dawn.AddDate(9, 0, 0)
		},
		owned: func(p *ShapeRoles) []entity.UpdateOption {
			return []entity.UpdateOption{entity.Set(&p.Version, 9), entity.Set(&p.CreatedAt, dawn), entity.Remove(&p.UpdatedAt), entity.Add(&p.Version, 1)}
		},
		layout: layout{
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
	cells  []cell
	seed   func(*testing.T)   // makes the item live
	beside func() entity.Op   // a write that always succeeds, of another item
	owned  []func() entity.Op // updates of what the library owns
	born   time.Time          // when the live item was made
}

// cell is a row of the verb table. Its error is nil for success.
type cell struct {
	verb         string
	alone        func(context.Context) error
	op           func() entity.Op                          // nil: the verb does not exist as a value
	result       func(entity.Op) Facts                     // of op after its transaction
	absent, live error                                     // on an item that is not there, and on one that is
	request      string                                    // what is sent
	reads        bool                                      // after a read, which is all that is sent when it finds nothing and absent says so
	after        func(before *Facts, now time.Time) *Facts // what the item is then; nil for none
	first        string                                    // what it gives for the attribute that is set once
	keeps        bool                                      // version and updated_at stay
	writes       bool
}

// The values that the verbs are tried with: first is created, second written over it.
var (
	firstFacts  = Facts{Title: "one", Note: "n", Count: 3}
	secondFacts = Facts{Title: "two"}
)

// open makes a table for the shape and the rows of its verb table.
func (sh shape[T]) open(t *testing.T) *stage {
	t.Helper()
	l, s := open[T](t)
	p := entity.Fields[T]()
	value := func(f Facts, first string) T {
		v := sh.key
		*sh.facts(&v) = f
		if sh.given != nil {
			sh.given(&v, first)
		}
		return v
	}
	st := &stage{lab: l, layout: sh.layout, beside: func() entity.Op { return s.Op().Put(sh.other) }}
	st.seed = func(t *testing.T) {
		t.Helper()
		_, err := s.Create(t.Context(), value(firstFacts, "f1"))
		require.NoError(t, err)
	}
	if sh.owned != nil {
		for _, c := range sh.owned(p) {
			st.owned = append(st.owned, func() entity.Op { return s.Op().Update(sh.key, c) })
		}
	}
	setTitle := func() entity.UpdateOption { return entity.Set(&sh.facts(p).Title, secondFacts.Title) }
	result := func(op entity.Op) Facts {
		v := op.(entity.Write[T]).Result()
		return *sh.facts(&v)
	}
	retitled := func(before *Facts, _ time.Time) *Facts {
		f := *before
		f.Title = secondFacts.Title
		return &f
	}
	st.cells = []cell{
		{
			verb: "Create", live: entity.ErrExists, request: "PutItem", writes: true, first: "f1", result: result,
			alone: func(ctx context.Context) error { _, err := s.Create(ctx, value(firstFacts, "f1")); return err },
			op:    func() entity.Op { return s.Op().Create(value(firstFacts, "f1")) },
			after: func(*Facts, time.Time) *Facts { return &firstFacts },
		}, {
			verb: "Put", request: "UpdateItem", writes: true, first: "f2", result: result,
			alone: func(ctx context.Context) error { _, err := s.Put(ctx, value(secondFacts, "f2")); return err },
			op:    func() entity.Op { return s.Op().Put(value(secondFacts, "f2")) },
			after: func(*Facts, time.Time) *Facts { return &secondFacts },
		}, {
			verb: "Upsert", request: "UpdateItem", writes: true, first: "f2", reads: sh.reads, result: result,
			alone: func(ctx context.Context) error { _, _, err := s.Upsert(ctx, value(secondFacts, "f2")); return err },
			op:    func() entity.Op { return s.Op().Upsert(value(secondFacts, "f2")) },
			after: func(before *Facts, now time.Time) *Facts {
				if before == nil {
					return &secondFacts
				}
				return retitled(before, now)
			},
		}, {
			verb: "Update", absent: entity.ErrNotFound, request: "UpdateItem", writes: true, reads: sh.reads, result: result, after: retitled,
			alone: func(ctx context.Context) error { _, err := s.Update(ctx, sh.key, setTitle()); return err },
			op:    func() entity.Op { return s.Op().Update(sh.key, setTitle()) },
		}, {
			verb: "Modify", absent: entity.ErrNotFound, request: "PutItem", writes: true, reads: true, after: retitled,
			alone: func(ctx context.Context) error {
				_, err := s.Modify(ctx, sh.key, func(v *T) error { sh.facts(v).Title = secondFacts.Title; return nil })
				return err
			},
		}, {
			verb: "Delete", absent: entity.ErrNotFound, request: "DeleteItem", writes: true,
			alone: func(ctx context.Context) error { return s.Delete(ctx, sh.key) },
			op:    func() entity.Op { return s.Op().Delete(sh.key) },
			after: func(*Facts, time.Time) *Facts { return nil },
		}, {
			verb: "Touch", absent: entity.ErrNotFound, request: "UpdateItem", writes: true, keeps: true,
			alone: func(ctx context.Context) error {
				_, err := s.Touch(ctx, sh.key, &sh.facts(p).SeenAt, time.Minute)
				return err
			},
			after: func(before *Facts, now time.Time) *Facts {
				f := *before
				f.SeenAt = now.Truncate(time.Second)
				return &f
			},
		}, {
			verb: "Get", absent: entity.ErrNotFound, request: "GetItem", keeps: true, after: same,
			alone: func(ctx context.Context) error { _, err := s.Get(ctx, sh.key); return err },
		}, {
			verb: "GetMany", request: "BatchGetItem", keeps: true, after: same,
			alone: func(ctx context.Context) error { _, err := s.GetMany(ctx, []T{sh.key}); return err },
		}, {
			verb: "GetInto", absent: entity.ErrNotFound, request: "TransactGetItems", keeps: true, after: same,
			alone: func(ctx context.Context) error { v := sh.key; return l.db.TransactGet(ctx, s.Op().GetInto(&v)) },
		}, {
			verb: "CheckExists", absent: entity.ErrNotFound, request: "TransactWriteItems", keeps: true, after: same,
			alone: func(ctx context.Context) error { return l.db.Transact(ctx, s.Op().CheckExists(sh.key)) },
			op:    func() entity.Op { return s.Op().CheckExists(sh.key) },
		}, {
			verb: "CheckNotExists", live: entity.ErrExists, request: "TransactWriteItems", keeps: true, after: same,
			alone: func(ctx context.Context) error { return l.db.Transact(ctx, s.Op().CheckNotExists(sh.key)) },
			op:    func() entity.Op { return s.Op().CheckNotExists(sh.key) },
		},
	}
	return st
}

func same(before *Facts, _ time.Time) *Facts { return before }

// cell is the verb's row.
func (st *stage) cell(verb string) cell {
	for _, c := range st.cells {
		if c.verb == verb {
			return c
		}
	}
	panic("no such verb: " + verb)
}

// classes are the errors that the verb table distinguishes.
var classes = []error{entity.ErrExists, entity.ErrNotFound, entity.ErrConflict, entity.ErrConditionFailed, entity.ErrMultipleItems, entity.ErrTooLarge, entity.ErrReadBack}

// requireOnly checks that err is of the class want and of no other; nil is success.
func requireOnly(t *testing.T, err, want error, verb string) {
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
	var e *entity.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, verb, e.Verb)
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
	all := stages()
	if !testsize.Long() { // shapes that together have every trait
		all = map[string]func(*testing.T) *stage{"roles": all["roles"], "verbatim": all["verbatim"], "partly known half": all["partly known half"]}
	}
	for name, open := range all {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := open(t)
			for _, c := range st.cells {
				if !pick(c) {
					continue
				}
				for state, want := range map[string]error{"absent": c.absent, "live": c.live} {
					t.Run(c.verb+"/"+state, func(t *testing.T) {
						st.drop(t, st.at, st.otherAt)
						if state == "live" {
							st.seed(t)
							st.patch(t, st.at, "legacy", num(legacy))
						}
						st.born = st.clock.now()
						st.clock.move(time.Hour)
						st.wire.Reset()
						f(t, st, c, state == "live", want)
					})
				}
			}
		})
	}
}

// legacy is a number that no float holds.
const legacy = "12345678901234567890123456789012345678"

func everyCell(cell) bool { return true }
func asValue(c cell) bool { return c.op != nil }

// Cell by cell: the class of the error, and the requests that the outcome cost.
func TestVerbTable_EveryCellAlone(t *testing.T) {
	t.Parallel()
	atEach(t, everyCell, func(t *testing.T, st *stage, c cell, _ bool, want error) {
		before := st.everything(t)
		requireOnly(t, c.alone(t.Context()), want, c.verb)
		require.Equal(t, c.costs(want), st.sent())
		if want != nil {
			require.Equal(t, before, st.everything(t), "a refused write leaves no trace")
		}
	})
}

// The same fact has the same class on the other route, and no other op is blamed for it.
func TestVerbTable_EveryCellInATransaction(t *testing.T) {
	t.Parallel()
	atEach(t, asValue, func(t *testing.T, st *stage, c cell, _ bool, want error) {
		before := st.everything(t)
		op, beside := c.op(), st.beside()
		err := st.db.Transact(t.Context(), beside, op)
		cost := []string{"TransactWriteItems"}
		if c.reads {
			cost = []string{"GetItem", "TransactWriteItems"}
		}
		if c.reads && want != nil {
			cost = []string{"GetItem"} // the read has decided
		}
		require.Equal(t, cost, st.sent())
		requireOnly(t, err, want, c.verb)
		if want == nil {
			return
		}
		require.Equal(t, before, st.everything(t), "all or nothing")
		var failed *entity.TransactError
		require.ErrorAs(t, err, &failed)
		require.Len(t, failed.Failed, 1)
		require.Equal(t, 1, failed.Failed[0].Index)
		require.Same(t, op, failed.Failed[0].Op)
		requireOnly(t, entity.FailureOf(err, op), want, c.verb)
		require.NoError(t, entity.FailureOf(err, beside))
	})
}

// One op given to Transact is the plain call, and costs what it costs.
func TestVerbTable_OneOpInATransactionCostsWhatItCostsAlone(t *testing.T) {
	t.Parallel()
	atEach(t, asValue, func(t *testing.T, st *stage, c cell, _ bool, want error) {
		op := c.op()
		err := st.db.Transact(t.Context(), op)
		requireOnly(t, err, want, c.verb)
		requireOnly(t, entity.FailureOf(err, op), want, c.verb)
		require.Equal(t, c.costs(want), st.sent())
	})
}

// An outcome that the first request does not decide costs one more request, and not a retryer's three.
func TestVerbTable_EveryCellUnderOneThrottledRequestCostsOneMore(t *testing.T) {
	t.Parallel()
	pick := everyCell
	if !testsize.Long() { // a plain write, one that may read, and a read
		pick = func(c cell) bool { return slices.Contains([]string{"Create", "Update", "Get"}, c.verb) }
	}
	atEach(t, pick, func(t *testing.T, st *stage, c cell, _ bool, want error) {
		st.wire.Inject(faults.Nth(1, faults.Throttle))
		defer st.wire.Inject(nil)
		requireOnly(t, c.alone(t.Context()), want, c.verb)
		cost := c.costs(want)
		require.Equal(t, append([]string{cost[0]}, cost...), st.sent())
	})
}
