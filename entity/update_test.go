package entity_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// without returns it less the named attributes.
func without(it raw, names ...string) raw {
	out := raw{}
	for name, v := range it {
		out[name] = v
	}
	for _, name := range names {
		delete(out, name)
	}
	return out
}

func TestUpdate_AdvancesUpdatedAtAndVersionAndKeepsEverythingElse(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	before := l.stored(t, aliceKey)
	for n := 2; n <= 4; n++ {
		at := l.clock.move(time.Minute)
		got, err := s.Update(t.Context(), employeeKey("emp-alice"), rename("Alice B"))
		require.NoError(t, err)
		require.EqualValues(t, n, got.Version)
		require.Equal(t, dawn, got.CreatedAt)
		require.Equal(t, at, got.UpdatedAt)
		require.Equal(t, "Alice B", got.DisplayName)
		require.Equal(t, "Engineering", got.Department, "the whole item comes back")
		again, err := s.Get(t.Context(), employeeKey("emp-alice"))
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
	after := l.stored(t, aliceKey)
	require.NotEqual(t, before["_w"], after["_w"], "each write has an id of its own")
	require.Equal(t, "N4", after["version"])
	changed := []string{"_w", "version", "updatedAt", "displayName"}
	require.Equal(t, without(before, changed...), without(after, changed...))
}

func TestUpdate_CostsOneRequest(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	e := entity.Fields[Employee]()
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	l.sent()
	for name, changes := range map[string][]entity.UpdateOption{
		"an attribute outside all indexes": {entity.Set(&e.Salary, 1)},
		"an atomic change":                 {entity.Add(&e.Salary, 1), entity.SetIfNotExists(&e.HiredBy, "x")},
		"all parts of an index half":       {entity.Set(&e.Department, "Sales")}, // employeeId, the other one, is in the key
		"a condition":                      {entity.Remove(&e.Nickname), entity.If(entity.Exists(&e.Salary))},
	} {
		_, err := s.Update(t.Context(), employeeKey("emp-alice"), changes...)
		require.NoError(t, err, name)
		require.Equal(t, []string{"UpdateItem"}, l.sent(), name)
	}
}

// An update of nothing makes nothing.
func TestUpdate_OfAMissingKeyCreatesNoPhantom(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	e := entity.Fields[Employee]()
	for name, changes := range map[string][]entity.UpdateOption{
		"blind":             {rename("x")},
		"add":               {entity.Add(&e.Salary, 1)},
		"read first":        {entity.Remove(&e.Department)},
		"immutable":         {entity.Set(&e.TenantID, "t-acme")},
		"with a condition":  {rename("x"), entity.If(entity.NotExists(&e.Salary))},
		"true Or condition": {rename("x"), entity.If(entity.Or(entity.NotExists(&e.Salary), entity.NotExists(&e.Version)))},
	} {
		_, err := s.Update(t.Context(), employeeKey("emp-alice"), changes...)
		require.ErrorIs(t, err, entity.ErrNotFound, name)
		require.NotErrorIs(t, err, entity.ErrConditionFailed, name)
	}
	require.Empty(t, l.everything(t))
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err, "the key is free")
}

func TestUpdate_OwnedAttributesAreNotTheCallersToChange(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	e := entity.Fields[Employee]()
	for field, changes := range map[string][]entity.UpdateOption{
		"Version":    {entity.Set(&e.Version, 9), entity.Add(&e.Version, 1), entity.Remove(&e.Version), entity.SetIfNotExists(&e.Version, 1)},
		"CreatedAt":  {entity.Set(&e.CreatedAt, dawn), entity.SetIfNotExists(&e.CreatedAt, dawn), entity.Remove(&e.CreatedAt)},
		"UpdatedAt":  {entity.Set(&e.UpdatedAt, dawn), entity.Attr[time.Time]("updatedAt").Set(dawn)},
		"EmployeeID": {entity.Set(&e.EmployeeID, "emp-alice"), entity.Remove(&e.EmployeeID)},
	} {
		for _, c := range changes {
			_, err := s.Update(t.Context(), employeeKey("emp-alice"), c)
			l.requireRefused(t, err, "EDD-9104", field)
		}
	}
}

// A plan that has read the item never lets its time go back.
func TestUpdate_AfterAReadUpdatedAtIsLaterThanTheStoredOne(t *testing.T) {
	t.Parallel()
	for precision, unit := range map[time.Duration]time.Duration{0: 1, time.Millisecond: time.Millisecond} {
		l, s := open[Employee](t, func(c *entity.Config) { c.TimePrecision = precision })
		e := entity.Fields[Employee]()
		made, err := s.Create(t.Context(), alice())
		require.NoError(t, err)
		l.clock.move(-time.Hour)
		got, err := s.Update(t.Context(), employeeKey("emp-alice"), entity.Remove(&e.Department))
		require.NoError(t, err)
		require.Equal(t, made.UpdatedAt.Add(unit), got.UpdatedAt)
		require.Equal(t, made.CreatedAt, got.CreatedAt)
	}
}

func TestUpdate_KeepsAttributesThatTheModelDoesNotKnow(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	e := entity.Fields[Employee]()
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	l.patch(t, aliceKey, "legacy", &types.AttributeValueMemberM{Value: keys("a.b", "c")})
	for _, c := range []entity.UpdateOption{rename("x"), entity.Remove(&e.Department)} {
		_, err = s.Update(t.Context(), employeeKey("emp-alice"), c)
		require.NoError(t, err)
		require.Equal(t, `M{a.b=S"c"}`, l.stored(t, aliceKey)["legacy"])
	}
	_, _, err = s.Upsert(t.Context(), alice())
	require.NoError(t, err)
	require.Equal(t, `M{a.b=S"c"}`, l.stored(t, aliceKey)["legacy"])
}

// Numbers are decimals on every route.
func TestUpdate_AfterAReadBigNumbersKeepEveryDigit(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	at := keys("pk", "$app#v1#profile#a", "sk", "$app#v1#profile")
	_, err := s.Create(t.Context(), Profile{ID: "a", Team: "t", Rank: 1})
	require.NoError(t, err)
	const big = "123456789012345678901234567890"
	l.patch(t, at, "unknown", num(big))
	l.patch(t, at, "deep", &types.AttributeValueMemberL{Value: []types.AttributeValue{num("0." + big)}})
	l.patch(t, at, "total", num(big+".25"))
	_, err = s.Update(t.Context(), key, entity.Set(&p.Team, "u"), entity.Add(&p.Total, 0.5))
	require.NoError(t, err)
	require.Equal(t, []string{"GetItem", "PutItem"}, l.sent()[1:])
	it := l.stored(t, at)
	require.Equal(t, "N"+big, it["unknown"])
	require.Equal(t, "L[N0."+big+"]", it["deep"])
	require.Equal(t, "N"+big+".75", it["total"])
}

func TestUpdate_StoredItemThatDoesNotFitIsADecodeError(t *testing.T) {
	t.Parallel()
	l, s := open[Team](t)
	at := keys("pk", "$app#v1#team#a", "sk", "$app#v1#team")
	_, err := s.Create(t.Context(), Team{ID: "a"})
	require.NoError(t, err)
	l.patch(t, at, "size", str("many"))
	_, err = s.Get(t.Context(), Team{ID: "a"})
	var misfit *entity.DecodeError
	require.ErrorAs(t, err, &misfit)
	require.Equal(t, "Team", misfit.Entity)
	_, err = s.Query(Team{ID: "a"}).Collect(t.Context())
	require.ErrorAs(t, err, &misfit)
}
