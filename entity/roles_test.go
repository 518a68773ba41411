package entity_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

func TestRequired_RejectsAbsentNullAndEmpty(t *testing.T) {
	t.Parallel()
	l, s := open[Mandatory](t)
	f := entity.Fields[Mandatory]()
	good := Mandatory{ID: "a", Name: "n", List: []string{"x"}, Map: map[string]int{"a": 0}, Maybe: new(string)}
	*good.Maybe = "m"
	for field, spoil := range map[string]func(*Mandatory){
		"Name": func(m *Mandatory) { m.Name = "" }, "List": func(m *Mandatory) { m.List = []string{} },
		"Map": func(m *Mandatory) { m.Map = nil }, "Maybe": func(m *Mandatory) { m.Maybe = nil },
	} {
		bad := good
		spoil(&bad)
		_, err := s.Create(t.Context(), bad)
		l.requireRefused(t, err, "EDD-9103", field)
		_, _, err = s.Upsert(t.Context(), bad)
		l.requireRefused(t, err, "EDD-9103", field)
	}
	_, err := s.Create(t.Context(), good)
	require.NoError(t, err, "zero numbers and false pass")
	l.sent()
	for field, change := range map[string]entity.UpdateOption{
		"Name": entity.Set(&f.Name, ""), "List": entity.Set(&f.List, nil), "Map": entity.Remove(&f.Map), "Maybe": entity.Set(&f.Maybe, nil),
		"Number": entity.Remove(&f.Number), "Flag": entity.Attr[bool]("flag").Remove(),
	} {
		_, err := s.Update(t.Context(), Mandatory{ID: "a"}, change)
		l.requireRefused(t, err, "EDD-9103", field)
	}
	_, err = s.Update(t.Context(), Mandatory{ID: "a"}, entity.Set(&f.Number, 0), entity.Set(&f.Flag, false), entity.Set(&f.Name, "x"))
	require.NoError(t, err)
}

// Mandatory has required attributes of every shape.
type Mandatory struct {
	_ entity.Key `name:"Mandatory" pk:"$#{id}"`

	ID     string         `dynamodbav:"id"`
	Name   string         `dynamodbav:"name" entity:"required"`
	List   []string       `dynamodbav:"list" entity:"required"`
	Map    map[string]int `dynamodbav:"map,omitempty" entity:"required"`
	Maybe  *string        `dynamodbav:"maybe,omitempty" entity:"required"`
	Number int            `dynamodbav:"number" entity:"required"`
	Flag   bool           `dynamodbav:"flag" entity:"required"`
}

func TestImmutable_EqualValuePassesAnotherFails(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	e := entity.Fields[Employee]()
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	before := l.stored(t, aliceKey)
	requireNamed := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, entity.ErrConditionFailed)
		var named *entity.ConditionError
		require.ErrorAs(t, err, &named)
		require.Equal(t, "tenantId", named.Attr)
	}
	_, err = s.Update(t.Context(), employeeKey("emp-alice"), entity.Set(&e.TenantID, "t-other"))
	requireNamed(err)
	_, err = s.Update(t.Context(), employeeKey("emp-alice"), entity.Set(&e.TenantID, "t-other"), entity.Remove(&e.Department))
	requireNamed(err) // on the route that reads first, too
	moved := alice()
	moved.TenantID = "t-other"
	_, _, err = s.Upsert(t.Context(), moved)
	requireNamed(err)
	require.Equal(t, before, l.stored(t, aliceKey))

	_, err = s.Update(t.Context(), employeeKey("emp-alice"), entity.Set(&e.TenantID, "t-acme"))
	require.NoError(t, err)
	l.sent()
	for _, c := range []entity.UpdateOption{entity.Remove(&e.TenantID), entity.SetIfNotExists(&e.TenantID, "t-acme"), entity.Attr[string]("tenantId").Remove()} {
		_, err = s.Update(t.Context(), employeeKey("emp-alice"), c)
		l.requireRefused(t, err, "EDD-9104", "TenantID")
	}
}

func TestSetOnce_TheFirstValueStays(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	e := entity.Fields[Employee]()
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	got, err := s.Update(t.Context(), employeeKey("emp-alice"), entity.Set(&e.HiredBy, "bob"))
	require.NoError(t, err)
	require.Equal(t, "bob", got.HiredBy)
	got, err = s.Update(t.Context(), employeeKey("emp-alice"), entity.Set(&e.HiredBy, "carol"))
	require.NoError(t, err)
	require.Equal(t, "bob", got.HiredBy)
	got, err = s.Update(t.Context(), employeeKey("emp-alice"), entity.Set(&e.HiredBy, "carol"), entity.Remove(&e.Department))
	require.NoError(t, err)
	require.Equal(t, "bob", got.HiredBy, "on the route that reads first, too")
	v := alice()
	v.HiredBy = "dave"
	got, _, err = s.Upsert(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, "bob", got.HiredBy)
	require.Equal(t, `S"bob"`, l.stored(t, aliceKey)["hiredBy"])
	l.sent()
	_, err = s.Update(t.Context(), employeeKey("emp-alice"), entity.Remove(&e.HiredBy))
	l.requireRefused(t, err, "EDD-9104", "HiredBy")
}

func TestSetOnce_AsAChangeOfAnyField(t *testing.T) {
	t.Parallel()
	_, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	_, err := s.Create(t.Context(), key)
	require.NoError(t, err)
	for _, v := range []string{"first", "second"} {
		got, err := s.Update(t.Context(), key, entity.SetIfNotExists(&p.Note, v))
		require.NoError(t, err)
		require.Equal(t, "first", got.Note)
		got, err = s.Update(t.Context(), key, entity.SetIfNotExists(&p.Order, v), entity.Set(&p.Rank, 3))
		require.NoError(t, err)
		require.Equal(t, "first", got.Order)
	}
}

// Claim has an index key that copies a field which is written once, and one that is such a field.
type Claim struct {
	_     entity.Key `name:"Claim" pk:"$#{id}" sk:"$"`
	_     entity.GSI `name:"byOwner" index:"gsi1" pk:"gsi1pk={owner}" sk:"$#{id}"`
	_     entity.GSI `name:"byCode" index:"gsi2" pk:"team" sk:"code"`
	ID    string     `dynamodbav:"id"`
	Owner string     `dynamodbav:"owner" entity:"set_once"`
	Code  string     `dynamodbav:"code" entity:"set_once"`
	Team  string     `dynamodbav:"team"`
	Note  *string    `dynamodbav:"note" entity:"set_once"`
	Seal  *string    `dynamodbav:"seal" entity:"immutable"`
}

func TestSetOnce_EmptyValueIsAbsentForEveryVerb(t *testing.T) {
	for name, write := range map[string]func(*entity.Store[Claim]) error{
		"create": func(s *entity.Store[Claim]) error { _, err := s.Create(t.Context(), Claim{ID: "1"}); return err },
		"put":    func(s *entity.Store[Claim]) error { _, err := s.Put(t.Context(), Claim{ID: "1"}); return err },
		"upsert": func(s *entity.Store[Claim]) error { _, _, err := s.Upsert(t.Context(), Claim{ID: "1"}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			_, s := open[Claim](t)
			require.NoError(t, write(s), "an empty index key would fail the whole write")
			x := "x"
			got, _, err := s.Upsert(t.Context(), Claim{ID: "1", Owner: "o", Code: "c", Team: "t", Note: &x, Seal: &x})
			require.NoError(t, err)
			require.Equal(t, Claim{ID: "1", Owner: "o", Code: "c", Team: "t", Note: &x, Seal: &x}, got, "what was empty can still be set once")
			for _, index := range []string{"byOwner", "byCode"} {
				found, err := entity.Must(s.Index(index)).Query(Claim{Owner: map[string]string{"byOwner": "o"}[index], Team: map[string]string{"byCode": "t"}[index]}).One(t.Context())
				require.NoError(t, err, index)
				require.Equal(t, got, found)
			}
			y := "y"
			again, err := s.Put(t.Context(), Claim{ID: "1", Owner: "p", Code: "d", Team: "u", Note: &y})
			require.NoError(t, err)
			require.Equal(t, Claim{ID: "1", Owner: "o", Code: "c", Team: "u", Note: &x, Seal: &x}, again)
		})
	}
}

// Lead can hold an empty owner, which its index key copies.
type Lead struct {
	_     entity.Key `name:"Lead" pk:"$#{id}" sk:"$"`
	_     entity.GSI `name:"byOwner" index:"gsi1" pk:"gsi1pk={owner}" sk:"$#{id}"`
	ID    string     `dynamodbav:"id"`
	Owner string     `dynamodbav:"owner"`
}

func TestSetOnce_OverAStoredEmptyTextKeepsItAndTheIndexKeyAbsent(t *testing.T) {
	_, s := open[Lead](t)
	_, err := s.Create(t.Context(), Lead{ID: "1"})
	require.NoError(t, err)
	got, err := s.Update(t.Context(), Lead{ID: "1"}, entity.SetIfNotExists(&entity.Fields[Lead]().Owner, "x"))
	require.NoError(t, err)
	require.Empty(t, got.Owner, "the attribute is there")
}

func TestIndexKeys_AreMeasuredBeforeAnyRequest(t *testing.T) {
	l, s := open[Claim](t)
	sent := len(l.wire.Requests())
	long := strings.Repeat("x", 3000)
	for name, v := range map[string]Claim{"copied": {ID: "1", Owner: long}, "native partition": {ID: "1", Team: long}, "native sort": {ID: "1", Code: long[:1025]}} {
		_, err := s.Create(t.Context(), v)
		require.ErrorIs(t, err, entity.ErrTooLarge, name)
		_, _, err = s.Upsert(t.Context(), v)
		require.ErrorIs(t, err, entity.ErrTooLarge, name)
	}
	_, err := s.Update(t.Context(), Claim{ID: "1"}, entity.Set(&entity.Fields[Claim]().Team, long))
	require.ErrorIs(t, err, entity.ErrTooLarge)
	require.Len(t, l.wire.Requests(), sent)
}

func TestQuery_AnEmptyNativeKeyMatchesNothingWithoutARequest(t *testing.T) {
	l, s := open[Claim](t)
	sent := len(l.wire.Requests())
	q := entity.Must(s.Index("byCode")).Query(Claim{Team: "t"}, entity.Eq(&entity.Fields[Claim]().Code, ""))
	got, err := q.Collect(t.Context())
	require.NoError(t, err)
	require.Empty(t, got)
	_, err = q.Page(t.Context(), "e30")
	require.ErrorIs(t, err, entity.ErrInvalidCursor, "a query that reads nothing gave no cursor")
	require.Len(t, l.wire.Requests(), sent)
}

func TestLostAnswer_AnUpsertThatMayHaveCreatedIsAmbiguous(t *testing.T) {
	l, s := open[Lead](t)
	_, err := s.Create(t.Context(), Lead{ID: "1"})
	require.NoError(t, err)
	l.wire.Inject(faults.Nth(1, faults.Lost, "UpdateItem"))
	_, _, err = s.Upsert(t.Context(), Lead{ID: "1", Owner: "x"})
	require.True(t, entity.IsAmbiguous(err), "an item with the same attributes is no proof")
	_, created, err := s.Upsert(t.Context(), Lead{ID: "1", Owner: "y"}, entity.Idempotent())
	require.NoError(t, err)
	require.False(t, created)
}

// Slip is verbatim and has no version: a rewrite of it is guarded by its content.
type Slip struct {
	_  entity.Key `name:"Slip" pk:"id" sk:"sk={k}"`
	_  entity.GSI `name:"byAB" index:"gsi1" pk:"gsi1pk={a}-{b}" sk:"id"`
	ID string     `dynamodbav:"id"`
	K  string     `dynamodbav:"k"`
	A  string     `dynamodbav:"a"`
	B  string     `dynamodbav:"b"`
}

func TestLostAnswer_ARewriteGuardedByContentIsNotRepeated(t *testing.T) {
	l, s := open[Slip](t)
	f, key := entity.Fields[Slip](), Slip{ID: "1", K: "k"}
	_, err := s.Create(t.Context(), Slip{ID: "1", K: "k", A: "a", B: "b"})
	require.NoError(t, err)
	side := declare[Slip](t, l.aside(t))
	var once sync.Once
	lost := faults.Nth(1, faults.Lost, "PutItem")
	l.wire.Inject(func(r faults.Request) faults.Fault {
		fault := lost(r)
		if r.Operation == "PutItem" && fault == faults.None {
			once.Do(func() { // the old content comes back, so a repeated put would pass
				_, err := side.Update(t.Context(), key, entity.Set(&f.A, "a"))
				require.NoError(t, err)
			})
		}
		return fault
	})
	_, err = s.Update(t.Context(), key, entity.Set(&f.A, "x"))
	require.True(t, entity.IsAmbiguous(err), "%v", err)
}

func TestInput_ConditionsBeyondDynamoDBsLimitAndPathsThatDisagree(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "t"}))
	s, f := entity.Must(entity.New[Lead](db)), entity.Fields[Lead]()
	var many []entity.Cond
	for range 400 {
		many = append(many, entity.Ne(&f.Owner, "x"))
	}
	var input *entity.InputError
	_, err := s.Update(t.Context(), Lead{ID: "1"}, entity.Set(&f.Owner, "y"), entity.If(many...))
	require.ErrorAs(t, err, &input)
	require.Equal(t, "EDD-9111", input.Code)
	_, err = s.Query(Lead{ID: "1"}, entity.Filter(many...)).Collect(t.Context())
	require.ErrorAs(t, err, &input)
	_, err = s.Update(t.Context(), Lead{ID: "1"}, entity.Attr[int]("owner.a.b").Set(1), entity.Attr[int]("owner[0]").Set(1))
	require.ErrorAs(t, err, &input)
	require.Equal(t, "EDD-9107", input.Code)
}

func TestOp_OneValueRunByManyAtOnce(t *testing.T) {
	l, s := open[Lead](t)
	f := entity.Fields[Lead]()
	_, err := s.Create(t.Context(), Lead{ID: "1"})
	require.NoError(t, err)
	op := s.Op().Update(Lead{ID: "1"}, entity.Set(&f.Owner, "x"))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			_ = op.String()
			require.NoError(t, l.db.Transact(t.Context(), op))
			require.Equal(t, "x", op.Result().Owner)
		})
	}
	wg.Wait()
}
