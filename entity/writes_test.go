package entity_test

import (
	"fmt"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// Elsewhere create replaces an item in silence, and an upsert ignores its conditions.
func TestWrites_CreateNeverReplacesAndUpsertKeepsItsConditions(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	e := entity.Fields[Employee]()
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	before := l.everything(t)
	l.clock.move(time.Hour)
	_, err = s.Create(t.Context(), alice())
	require.ErrorIs(t, err, entity.ErrExists)
	_, _, err = s.Upsert(t.Context(), alice(), entity.If(entity.NotExists(&e.EmployeeID)))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	_, err = s.Put(t.Context(), alice(), entity.If(entity.NotExists(&e.EmployeeID)))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	require.Equal(t, before, l.everything(t))
}

// Other libraries report any failed condition of a create as "exists already", and the SDK's error is dropped with its request
// id and the stored item.
func TestErrors_ClassFollowsTheFactAndTheSDKErrorIsWrapped(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	e := entity.Fields[Employee]()
	_, err := s.Create(t.Context(), alice(), entity.If(entity.Eq(&e.Salary, 1)))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	require.NotErrorIs(t, err, entity.ErrExists)
	_, ok := entity.StoredItem[Employee](err)
	require.False(t, ok, "there is no stored item")
	_, err = s.Create(t.Context(), alice())
	require.NoError(t, err)
	_, alone := s.Create(t.Context(), alice())
	joined := l.db.Transact(t.Context(), s.Op().Create(alice()), s.Op().Put(Employee{EmployeeID: "x", TenantID: "t", DisplayName: "X"}))
	for name, err := range map[string]error{"alone": alone, "in a transaction": joined} {
		require.ErrorIs(t, err, entity.ErrExists, name)
		var response *awshttp.ResponseError
		require.ErrorAs(t, err, &response, name)
		require.NotEmpty(t, response.ServiceRequestID(), name)
		held, ok := entity.StoredItem[Employee](err)
		require.True(t, ok, name)
		require.Equal(t, "Alice", held.DisplayName)
	}
	var plain *types.ConditionalCheckFailedException
	require.ErrorAs(t, alone, &plain)
	var cancelled *types.TransactionCanceledException
	require.ErrorAs(t, joined, &cancelled)
}

// Elsewhere an or-condition becomes an and in one of two calls.
func TestCondition_OrMeansOrInEveryCall(t *testing.T) {
	t.Parallel()
	l, s := open[Team](t)
	f, key := entity.Fields[Team](), Team{ID: "a"}
	holds := entity.If(entity.Or(entity.Eq(&f.Size, 1), entity.Eq(&f.Size, 99)))
	fails := entity.If(entity.Or(entity.Eq(&f.Size, 98), entity.Eq(&f.Size, 99)))
	op := func(name string, o entity.WriteOption) entity.Op {
		switch name {
		case "Update":
			return s.Op().Update(key, entity.Set(&f.Quota, 2), o)
		case "Put":
			return s.Op().Put(Team{ID: "a", Size: 1}, o)
		case "Upsert":
			return s.Op().Upsert(Team{ID: "a", Size: 1}, o)
		}
		return s.Op().Delete(key, o)
	}
	for _, verb := range []string{"Update", "Put", "Upsert", "Delete"} {
		for _, beside := range [][]entity.Op{nil, {s.Op().Put(Team{ID: "b"})}} {
			_, err := s.Put(t.Context(), Team{ID: "a", Size: 1})
			require.NoError(t, err)
			require.ErrorIs(t, l.db.Transact(t.Context(), append(beside, op(verb, fails))...), entity.ErrConditionFailed, verb)
			require.NoError(t, l.db.Transact(t.Context(), append(beside, op(verb, holds))...), verb)
		}
	}
}

// Elsewhere the item that an update returns has no times, and the struct that was given is not what is stored.
func TestWrites_ReturnTheStoredItem(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	check := func(got Employee, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, entity.Must(s.Get(t.Context(), employeeKey("emp-alice"), entity.Consistent())), got)
		require.False(t, got.CreatedAt.IsZero())
		require.False(t, got.UpdatedAt.IsZero())
		l.clock.move(time.Minute)
	}
	check(s.Create(t.Context(), alice()))
	check(s.Update(t.Context(), employeeKey("emp-alice"), rename("B")))
	check(s.Update(t.Context(), employeeKey("emp-alice"), rename("C"), entity.Remove(&entity.Fields[Employee]().Department)))
	check(s.Update(t.Context(), employeeKey("emp-alice"), rename("D"), entity.Idempotent()))
	check(s.Put(t.Context(), alice()))
	got, _, err := s.Upsert(t.Context(), alice())
	check(got, err)
	check(s.Modify(t.Context(), employeeKey("emp-alice"), func(v *Employee) error { v.Salary++; return nil }))
	check(s.Modify(t.Context(), employeeKey("emp-alice"), func(*Employee) error { return nil }))
}

// Elsewhere an update of a key that is not there makes a ghost item.
func TestUpdate_NoChangeCreatesAnItem(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "ghost"}
	for i, c := range []entity.UpdateOption{
		entity.Set(&p.Note, "x"), entity.Remove(&p.Note), entity.Add(&p.Count, 1), entity.ListAppend(&p.Log, "x"), entity.AddToSet(&p.Tags, "x"),
		entity.DeleteFromSet(&p.Tags, "x"), entity.SetIfNotExists(&p.Note, "x"), entity.MapEntry(&p.Labels, "k").Set("x"), entity.Set(&p.Team, "x"),
	} {
		op := func() entity.Op { return s.Op().Update(key, c) }
		_, alone := s.Update(t.Context(), key, c)
		_, exactly := s.Update(t.Context(), key, c, entity.Idempotent())
		for _, err := range []error{alone, exactly, l.db.Transact(t.Context(), op(), s.Op().Put(Profile{ID: "b"}))} {
			require.ErrorIs(t, err, entity.ErrNotFound, fmt.Sprint(i))
		}
	}
	due, err := s.Touch(t.Context(), key, &p.SeenAt, 0)
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.False(t, due)
	require.Empty(t, l.everything(t))
}

// Versions of every integer type.
type (
	versionNumber    uint32
	versionOf[V any] struct {
		_       entity.Key `name:"VersionOf" pk:"$#{id}" sk:"$"`
		ID      string     `dynamodbav:"id"`
		Name    string     `dynamodbav:"name,omitempty"`
		Version V          `dynamodbav:"version" entity:"version"`
	}
)

// Elsewhere a version that is not signed panics.
func TestVersion_CanBeAnyIntegerThatIsWideEnough(t *testing.T) {
	t.Parallel()
	t.Run("int", versionsOf[int])
	t.Run("int32", versionsOf[int32])
	t.Run("int64", versionsOf[int64])
	t.Run("uint", versionsOf[uint])
	t.Run("uint32", versionsOf[uint32])
	t.Run("uint64", versionsOf[uint64])
	t.Run("named", versionsOf[versionNumber])
}

func versionsOf[V int | int32 | int64 | uint | uint32 | uint64 | versionNumber](t *testing.T) {
	l, s := open[versionOf[V]](t)
	f, key := entity.Fields[versionOf[V]](), versionOf[V]{ID: "a", Version: 99}
	got, err := s.Create(t.Context(), key)
	require.NoError(t, err)
	require.EqualValues(t, 1, got.Version)
	got, err = s.Update(t.Context(), key, entity.Set(&f.Name, "x"), entity.If(entity.Eq(&f.Version, 1)))
	require.NoError(t, err)
	require.EqualValues(t, 2, got.Version)
	got, err = s.Put(t.Context(), key)
	require.NoError(t, err)
	require.EqualValues(t, 3, got.Version)
	got, err = s.Modify(t.Context(), key, func(v *versionOf[V]) error { v.Name = "y"; return nil })
	require.NoError(t, err)
	require.EqualValues(t, 4, got.Version)
	require.NoError(t, l.db.Transact(t.Context(), s.Op().Upsert(key), s.Op().Create(versionOf[V]{ID: "b"})))
	require.EqualValues(t, 5, entity.Must(s.Get(t.Context(), key, entity.Consistent())).Version)
	require.NoError(t, s.Delete(t.Context(), key, entity.If(entity.Eq(&f.Version, 5))))
}

// Elsewhere nil values, nil pointers and nil functions panic.
func TestWrites_NothingThatIsNilPanics(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	_, err := s.Create(t.Context(), key)
	require.NoError(t, err)
	l.sent()
	var in *entity.InputError
	var bad *entity.SchemaError
	_, err = entity.New[*Profile](l.db)
	require.ErrorAs(t, err, &bad)
	_, err = entity.New[any](l.db)
	require.ErrorAs(t, err, &bad)
	_, err = entity.New[func()](l.db)
	require.ErrorAs(t, err, &bad)
	_, err = s.Update(t.Context(), key, entity.Set[string](nil, "x"))
	require.ErrorAs(t, err, &in)
	_, err = s.Update(t.Context(), key, entity.Attr[string]("").Set("x"))
	require.ErrorAs(t, err, &in)
	_, err = s.Update(t.Context(), key, entity.Path[string]{}.Set("x"))
	require.ErrorAs(t, err, &in)
	_, err = s.Update(t.Context(), key, entity.Set(&p.Note, "x"), entity.If(entity.Cond{}))
	require.ErrorAs(t, err, &in)
	_, err = s.Update(t.Context(), key, entity.Set(&p.Note, "x"), entity.If(entity.Not(entity.Cond{})))
	require.ErrorAs(t, err, &in)
	_, err = s.Query(key, entity.Filter(entity.And())).Collect(t.Context())
	require.ErrorAs(t, err, &in)
	_, err = s.Touch(t.Context(), key, nil, 0)
	require.ErrorAs(t, err, &in)
	_, err = s.Modify(t.Context(), key, nil)
	require.ErrorAs(t, err, &in)
	require.ErrorAs(t, l.db.Transact(t.Context(), nil, s.Op().Put(key)), &in)
	require.ErrorAs(t, l.db.TransactGet(t.Context(), nil), &in)
	require.ErrorAs(t, l.db.TransactGet(t.Context(), s.Op().GetInto(nil)), &in)
	require.ErrorAs(t, l.db.TransactWithToken(t.Context(), entity.Token{}, s.Op().Put(key)), &in)
	require.NoError(t, l.db.Transact(t.Context()))
	require.NoError(t, entity.FailureOf(nil, nil))
	require.False(t, entity.IsAmbiguous(nil))
	_, ok := entity.StoredItem[Profile](nil)
	require.False(t, ok)
	require.Empty(t, l.sent())
	many, err := s.GetMany(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, many)

	// Fields that are nil are values.
	_, err = s.Update(t.Context(), key, entity.Set(&p.Work, nil), entity.Set(&p.Labels, nil), entity.Set(&p.Lines, nil), entity.Set(&p.Alias, nil), entity.Set(&p.Active, nil))
	require.NoError(t, err)
	_, err = s.Put(t.Context(), Profile{ID: "a"})
	require.NoError(t, err)
}

func TestDelete_RemovesTheItemAndNothingElse(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	bob := alice()
	bob.EmployeeID = "emp-bob"
	_, err = s.Create(t.Context(), bob)
	require.NoError(t, err)
	l.sent()
	require.NoError(t, s.Delete(t.Context(), employeeKey("emp-alice")))
	require.Equal(t, []string{"DeleteItem"}, l.sent())
	require.Len(t, l.everything(t), 1)
	_, err = s.Get(t.Context(), employeeKey("emp-alice"))
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.ErrorIs(t, s.Delete(t.Context(), employeeKey("emp-alice")), entity.ErrNotFound)
	got, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	require.EqualValues(t, 1, got.Version, "a new life begins at 1")
}

func TestDelete_ErrorsCarryTheItemThatRefused(t *testing.T) {
	t.Parallel()
	_, s := open[Employee](t)
	e := entity.Fields[Employee]()
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	err = s.Delete(t.Context(), employeeKey("emp-alice"), entity.If(entity.Eq(&e.DisplayName, "Bob")))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	held, ok := entity.StoredItem[Employee](err)
	require.True(t, ok)
	require.Equal(t, "Alice", held.DisplayName)
	err = s.Delete(t.Context(), employeeKey("emp-nobody"))
	_, ok = entity.StoredItem[Employee](err)
	require.False(t, ok, "there is no item to carry")
}

// Every condition counts, wherever it is.
func TestDelete_AllConditionsMustHold(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	e := entity.Fields[Employee]()
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	yes, no := entity.Eq(&e.Salary, 100), entity.Eq(&e.Salary, 1)
	for _, opts := range [][]entity.WriteOption{{entity.If(yes, no)}, {entity.If(yes), entity.If(no)}, {entity.If(no), entity.If(yes)}, {entity.If(entity.Or(yes, no), no)}} {
		require.ErrorIs(t, s.Delete(t.Context(), employeeKey("emp-alice"), opts...), entity.ErrConditionFailed)
	}
	require.Len(t, l.everything(t), 1)
	require.NoError(t, s.Delete(t.Context(), employeeKey("emp-alice"), entity.If(yes), entity.If(entity.Or(no, yes))))
}

// A condition that holds for nothing as well does not let an absent item pass.
func TestDelete_OrConditionDoesNotReplaceTheGuard(t *testing.T) {
	t.Parallel()
	_, s := open[Employee](t)
	e := entity.Fields[Employee]()
	err := s.Delete(t.Context(), employeeKey("emp-nobody"), entity.If(entity.Or(entity.NotExists(&e.Salary), entity.NotExists(&e.Version))))
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.NotErrorIs(t, err, entity.ErrConditionFailed)
}
