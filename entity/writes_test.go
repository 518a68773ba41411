package entity_test

import (
	"context"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// The SDK's error stays reachable with its request id, and the stored item with it.
func TestErrors_WrapTheSDKErrorAndTheStoredItem(t *testing.T) {
	t.Parallel()
	l, s := opened(t, alice())
	lone := dbtest.ErrorOf(s.Create(t.Context(), alice()))
	joined := l.DB.Transact(t.Context(), s.Op().Create(alice()), s.Op().Put(Employee{EmployeeID: "x", TenantID: "t", DisplayName: "X"}))
	for name, err := range map[string]error{"alone": lone, "in a transaction": joined} {
		var response *awshttp.ResponseError
		require.ErrorAs(t, err, &response, name)
		require.NotEmpty(t, response.ServiceRequestID(), name)
		held, ok := entity.StoredItem[Employee](err)
		require.True(t, ok, name)
		require.Equal(t, "Alice", held.DisplayName)
		_, ok = entity.StoredItem[Team](err)
		require.False(t, ok, "it fits its own type only")
	}
	require.NoError(t, entity.FailureOf(lone, s.Op().Create(alice())), "the error of a lone verb is no transaction's")
	_, ok := entity.StoredItem[Employee](nil)
	require.False(t, ok)
	require.NoError(t, entity.FailureOf(nil, nil))
	require.False(t, entity.IsAmbiguous(nil))
	for _, err := range []error{dbtest.ErrorOf(entity.New[*Profile](l.DB)), dbtest.ErrorOf(entity.New[any](l.DB)), dbtest.ErrorOf(entity.New[func()](l.DB))} {
		var bad *entity.SchemaError
		require.ErrorAs(t, err, &bad, "what is no struct")
	}
}

func TestWrites_ReturnTheStoredItem(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	check := func(got Employee, err error) {
		t.Helper()
		require.NoError(t, err)
		require.Equal(t, entity.Must(s.Get(t.Context(), employeeKey("emp-alice"), entity.Consistent())), got)
		require.False(t, got.CreatedAt.IsZero())
		require.False(t, got.UpdatedAt.IsZero())
		l.Clock.Move(time.Minute)
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

// A page replaces everything that its struct has: no attribute of it depends on what is stored.
type page struct {
	_ entity.Key `name:"Page" pk:"$#{site}" sk:"$#{path|lower}"`
	_ entity.GSI `name:"open" index:"gsi1" pk:"$#{site}" sk:"$#{rank}" when:"state=open"`
	_ entity.GSI `name:"byOwner" index:"gsi2" pk:"$#{owner}"`

	Site  string              `dynamodbav:"site"`
	Path  string              `dynamodbav:"path"`
	State string              `dynamodbav:"state,omitempty" entity:"default=open"`
	Rank  *int                `dynamodbav:"rank"`
	Owner string              `dynamodbav:"owner,omitempty"`
	Tags  []string            `dynamodbav:"tags,stringset,omitempty"`
	Parts map[string]pagePart `dynamodbav:"parts"`
	*PageMeta
	Share   float64   `dynamodbav:"share"`
	Changed time.Time `dynamodbav:"changed" entity:"updated_at"`
	By      string    `dynamodbav:"by,omitempty" entity:"context=actor"`
	Local   string    `dynamodbav:"-"`
}

type (
	pagePart struct {
		Text string    `dynamodbav:"text,omitempty"`
		At   time.Time `dynamodbav:"at"`
	}
	PageMeta struct {
		Lang string `dynamodbav:"lang"`
	}
)

// A Put that decides every attribute does not ask for the item, and returns what is stored. Otherwise it asks.
func TestPut_ReturnsWhatIsStored(t *testing.T) {
	t.Parallel()
	actor := ""
	l, s := open[page](t, func(c *entity.Config) {
		c.FromContext = func(context.Context, string) (string, bool) { return actor, actor != "" }
	})
	rank := 3
	whole := page{
		Site: "S", Path: "/A", State: "shut", Rank: &rank, Owner: "o", Tags: []string{"a", "b"}, Share: 0.1, Local: "x",
		Parts: map[string]pagePart{"p": {At: dawn}, "q": {Text: "q"}}, PageMeta: &PageMeta{"de"},
	}
	for i, v := range []page{whole, {Site: "S", Path: "/A"}, {Site: "S", Path: "/A", Share: 1e20, Tags: []string{}}, whole} {
		actor = []string{"", "ann"}[i%2]
		l.Sent()
		got, err := s.Put(t.Context(), v)
		require.NoError(t, err)
		require.Contains(t, string(l.Sent()[0].Body), `"ReturnValues":"NONE"`)
		require.Equal(t, entity.Must(s.Get(t.Context(), v, entity.Consistent())), got)
		require.Equal(t, actor, got.By)
		l.Clock.Move(time.Second)
	}
	l.Wire.Inject(faults.Nth(1, faults.Lost, "UpdateItem"))
	got, err := s.Put(t.Context(), page{Site: "S", Path: "/A", State: "lost"})
	require.NoError(t, err, "its write id proves it")
	require.Equal(t, entity.Must(s.Get(t.Context(), got, entity.Consistent())), got)

	kept, employees := opened(t, alice())
	_, err = employees.Put(t.Context(), alice())
	require.NoError(t, err)
	require.Contains(t, string(kept.Sent()[0].Body), `"ReturnValues":"ALL_NEW"`, "created_at is kept")
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
	require.NoError(t, l.DB.Transact(t.Context(), s.Op().Upsert(key), s.Op().Create(versionOf[V]{ID: "b"})))
	require.EqualValues(t, 5, entity.Must(s.Get(t.Context(), key, entity.Consistent())).Version)
	require.NoError(t, s.Delete(t.Context(), key, entity.If(entity.Eq(&f.Version, 5))))
}

func TestConfig_TimePrecisionIsTheDefaultFormat(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t, func(c *entity.Config) { c.TimePrecision = time.Millisecond })
	got, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	require.Equal(t, `S"2024-05-06T07:08:09.123Z"`, l.stored(aliceKey)["createdAt"])
	require.Equal(t, dawn.Truncate(time.Millisecond), got.CreatedAt)
}

// A plan that has read the item never lets its time go back.
func TestUpdate_AfterAReadUpdatedAtIsLaterThanTheStoredOne(t *testing.T) {
	t.Parallel()
	for precision, unit := range map[time.Duration]time.Duration{0: 1, time.Millisecond: time.Millisecond} {
		l, s := open[Employee](t, func(c *entity.Config) { c.TimePrecision = precision })
		e := entity.Fields[Employee]()
		made, err := s.Create(t.Context(), alice())
		require.NoError(t, err)
		l.Clock.Move(-time.Hour)
		got, err := s.Update(t.Context(), employeeKey("emp-alice"), entity.Remove(&e.Department))
		require.NoError(t, err)
		require.Equal(t, made.UpdatedAt.Add(unit), got.UpdatedAt)
		require.Equal(t, made.CreatedAt, got.CreatedAt)
	}
}

func TestUpsert_ValuesThatAreGivenReplaceStoredOnesEvenWhenZero(t *testing.T) {
	t.Parallel()
	_, s := opened(t, Team{ID: "a", Name: "A", Size: 3, Quota: 4})
	got, _, err := s.Upsert(t.Context(), Team{ID: "a"})
	require.NoError(t, err)
	require.Equal(t, Team{ID: "a", Name: "A", Size: 3, Quota: 0}, got, "quota is not omitempty: its zero is a value")
}

func TestUpsert_AfterAReadKeepsWhatCameInBetween(t *testing.T) {
	t.Parallel()
	for name, before := range map[string][]Profile{"over live": {{ID: "a", Team: "red", Rank: 1}}, "over nothing": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := opened(t, before...)
			other, created := dbtest.Declare[Profile](t, l.Open(l.Raw)), true
			require.NoError(t, l.Overtake(dbtest.First(dbtest.Is("PutItem")), func() (err error) {
				_, created, err = s.Upsert(t.Context(), Profile{ID: "a", Rank: 9})
				return err
			}, func() {
				l.OK(other.Upsert(t.Context(), Profile{ID: "a", Team: "blue", Rank: 2, Note: "between"}))
			}))
			require.False(t, created)
			it := l.stored(profileKey)
			require.Equal(t, `S"between"`, it["note"])
			require.Equal(t, profileHalf("blue", "9"), it["gsi1pk"])
		})
	}
}
