package entity_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// Staff is an entity of a table that is shared with effect-dynamodb.
type Staff struct {
	_ entity.Key `name:"Staff" pk:"$#tenant_{tenant}" sk:"$#id_{id}"`
	_ entity.GSI `name:"byTeam" index:"gsi1" pk:"$#team_{team}" sk:"$#grade_{grade}#id_{id}"`
	_ entity.GSI `name:"byCity" index:"gsi2" pk:"$#city_{city}" sk:"$"`

	Tenant    string    `dynamodbav:"tenant"`
	ID        string    `dynamodbav:"id"`
	Team      string    `dynamodbav:"team,omitempty"`
	Grade     int       `dynamodbav:"grade,omitempty" entity:"zero"`
	City      string    `dynamodbav:"city"`
	Name      string    `dynamodbav:"name,omitempty"`
	Seen      time.Time `dynamodbav:"seen,omitempty"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

func staffKey(id string) map[string]types.AttributeValue {
	return keys("pk", "$app#v1#staff#tenant_t", "sk", "$app#v1#staff#id_"+id)
}

// sibling gives an item as effect-dynamodb stores it: sk replaces its sort key.
func (l *lab) sibling(t *testing.T, id, sk string, change func(map[string]types.AttributeValue)) {
	t.Helper()
	it := map[string]types.AttributeValue{
		"pk": str("$app#v1#staff#tenant_t"), "sk": str("$app#v1#staff" + sk), "__edd_e__": str("Staff"),
		"tenant": str("T"), "id": str(id), "city": str(""), "version": num("1"),
		"createdAt": str("2024-01-01T00:00:00.000Z"), "updatedAt": str("2024-01-01T00:00:00.000Z"),
	}
	if change != nil {
		change(it)
	}
	l.PutItem(it)
}

func TestInterop_NoWriteLeavesAHiddenAttribute(t *testing.T) {
	t.Parallel()
	l, s := open[Staff](t, shared)
	f, key := entity.Fields[Staff](), Staff{Tenant: "T", ID: "A"}
	only := func(what string) {
		it := l.stored(staffKey("a"))
		require.NotNil(t, it, what)
		for _, hidden := range []string{"_w", "_k", "_at", "_pv", "_op"} {
			require.NotContains(t, it, hidden, what)
		}
		require.Equal(t, `S"Staff"`, it["__edd_e__"], what)
	}
	l.OK(s.Create(t.Context(), Staff{Tenant: "T", ID: "A", Team: "x", Grade: 1, City: "c"}))
	only("create")
	l.OK(s.Put(t.Context(), Staff{Tenant: "T", ID: "A", Team: "x", Grade: 2, City: "c"}))
	only("put")
	l.OK(s.Upsert(t.Context(), Staff{Tenant: "T", ID: "A", Team: "y", City: "c"}))
	only("upsert that reads")
	l.OK(s.Update(t.Context(), key, entity.Set(&f.Name, "n")))
	only("update")
	l.OK(s.Update(t.Context(), key, entity.Set(&f.Grade, 3)))
	only("update that reads")
	l.OK(s.Modify(t.Context(), key, func(v *Staff) error { v.Name = "m"; return nil }))
	only("modify")
	l.OK(s.Touch(t.Context(), key, &f.Seen, 0))
	only("touch")
	got := entity.Must(s.Get(t.Context(), key))
	require.EqualValues(t, 6, got.Version, "a put over an item counts on")
	l.OK(s.Create(t.Context(), Staff{Tenant: "T", ID: "B", City: "c"}, entity.Idempotent()))
	require.NotContains(t, l.stored(staffKey("b")), "_w")
}

func TestInterop_ValuesThatNeedEscapingAreRefused(t *testing.T) {
	t.Parallel()
	l, s := open[Staff](t, shared)
	f := entity.Fields[Staff]()
	byTeam := entity.Must(s.Index("byTeam"))
	for _, bad := range []string{"a b", "a#b", "50%", "$", "!", `"`, "a\n", "Ü", "日本", "a\x7fé"} {
		_, err := s.Create(t.Context(), Staff{Tenant: "T", ID: bad})
		dbtest.RequireInput(t, err, "EDD-9102", "ID")
		_, err = s.Put(t.Context(), Staff{Tenant: bad, ID: "a"})
		dbtest.RequireInput(t, err, "EDD-9102", "Tenant")
		_, err = s.Get(t.Context(), Staff{Tenant: "T", ID: bad})
		dbtest.RequireInput(t, err, "EDD-9102", "ID")
		_, err = s.Create(t.Context(), Staff{Tenant: "T", ID: "a", Team: bad, Grade: 1})
		dbtest.RequireInput(t, err, "EDD-9102", "Team")
		_, err = s.Update(t.Context(), Staff{Tenant: "T", ID: "a"}, entity.Set(&f.City, bad))
		dbtest.RequireInput(t, err, "EDD-9102", "City")
		_, err = byTeam.Query(Staff{Team: bad}).Collect(t.Context())
		dbtest.RequireInput(t, err, "EDD-9102", "Team")
	}
	for _, grade := range []int{-1, 10_000_000_000_000_000} {
		_, err := s.Create(t.Context(), Staff{Tenant: "T", ID: "a", Team: "x", Grade: grade})
		dbtest.RequireInput(t, err, "EDD-9102", "Grade")
	}
	require.Empty(t, l.Operations())
	require.Empty(t, l.everything())
	l.OK(s.Create(t.Context(), Staff{Tenant: "T", ID: "&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~", Team: "x", Grade: 9_999_999_999_999_999, Name: "free text ü#$%"}))
}

func TestInterop_QueriesExcludeRelatedItemsOfEffectDynamoDB(t *testing.T) {
	t.Parallel()
	l, s := open[Staff](t, shared)
	f := entity.Fields[Staff]()
	for i := range 20 {
		id := fmt.Sprintf("i-%02d", i)
		l.sibling(t, id, "#id_"+id, nil)
		l.sibling(t, id, fmt.Sprintf("#v#%07d", i), nil)
		l.sibling(t, id, fmt.Sprintf("#deleted#2024-01-01T00:00:00.%03dZ", i), func(it map[string]types.AttributeValue) { it["deletedAt"] = str("x") })
		l.sibling(t, id, "#id_"+id+"#e#2024-01-01t00:00:00.000z", nil)
	}
	l.sibling(t, "O#1 Ü", "#id_o#1 ü", nil) // refused here as a key, and shown all the same
	l.sibling(t, "x", "#id_x", func(it map[string]types.AttributeValue) { it["__edd_e__"] = str("Staff._unique.email") })
	l.sibling(t, "y", "#id_y", func(it map[string]types.AttributeValue) { delete(it, "id") })

	partition := s.Query(Staff{Tenant: "t"})
	all := entity.Must(partition.Collect(t.Context()))
	require.Len(t, all, 21)
	require.Equal(t, "i-00", all[0].ID)
	require.Equal(t, "O#1 Ü", all[20].ID)
	for name, q := range map[string]entity.Query[Staff]{
		"query": partition, "scan": s.Scan(), "segments": s.Scan(entity.Segments(3)),
		"filter": s.Query(Staff{Tenant: "t"}, entity.Filter(entity.Eq(&f.Version, 1))),
	} {
		n, err := q.Count(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, 21, n, name)
	}
	n := entity.Must(s.Query(Staff{Tenant: "t"}, entity.Limit(7)).Count(t.Context()))
	require.Equal(t, 7, n)
	n = entity.Must(s.Query(Staff{Tenant: "t"}, entity.Between(&f.ID, "i-05", "i-08")).Count(t.Context()))
	require.Equal(t, 4, n)

	pages := dbtest.Pages(t, s.Query(Staff{Tenant: "t"}, entity.Limit(6)))
	require.Len(t, pages, 4)
	require.Equal(t, all, slices.Concat(pages...))
	type name struct {
		Version int64 `dynamodbav:"version"`
	}
	few := entity.Must(entity.Project[name](partition).Collect(t.Context()))
	require.Len(t, few, 21)
	one := entity.Must(s.Query(Staff{Tenant: "t"}, entity.Eq(&f.ID, "I-03")).One(t.Context()))
	require.Equal(t, "i-03", one.ID)
}

// team is what an item has of its index keys.
func (l *lab) team(t *testing.T, id string) [3]string {
	t.Helper()
	it := l.stored(staffKey(id))
	return [3]string{it["gsi1pk"], it["gsi1sk"], it["gsi2pk"] + it["gsi2sk"]}
}

func TestInterop_IndexKeyIsStoredWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	l, s := open[Staff](t, shared)
	f, key, ctx := entity.Fields[Staff](), Staff{Tenant: "T", ID: "a"}, t.Context()
	team := func(name string, grade string) [3]string {
		return [3]string{`S"$app#v1#staff#team_` + name + `"`, `S"$app#v1#staff#grade_000000000000000` + grade + `#id_a"`, ""}
	}
	none := [3]string{}
	for name, write := range map[string]func(Staff) error{
		"create": func(v Staff) error { return dbtest.ErrorOf(s.Create(ctx, v)) },
		"put":    func(v Staff) error { return dbtest.ErrorOf(s.Put(ctx, v)) },
		"upsert": func(v Staff) error { return dbtest.ErrorOf(s.Upsert(ctx, v)) },
	} {
		l.drop(staffKey("a"))
		require.NoError(t, write(Staff{Tenant: "T", ID: "a", Team: "Blue"}), name)
		require.Equal(t, none, l.team(t, "a"), "%s: the grade is absent, and an empty city counts as absent", name)
		l.drop(staffKey("a"))
		require.NoError(t, write(Staff{Tenant: "T", ID: "a", Team: "Blue", Grade: 1}), name)
		require.Equal(t, team("blue", "1"), l.team(t, "a"), name)
	}

	l.OK(s.Put(ctx, Staff{Tenant: "T", ID: "a", Grade: 1}))
	require.Equal(t, none, l.team(t, "a"), "the team is gone")
	l.Sent()
	l.OK(s.Update(ctx, key, entity.Set(&f.Team, "Red")))
	require.Equal(t, team("red", "1"), l.team(t, "a"), "the half that the update does not name is composed from the item")
	require.Equal(t, []string{"GetItem", "PutItem"}, l.Operations())
	l.OK(s.Update(ctx, key, entity.Set(&f.Team, "Green"), entity.Set(&f.Grade, 2)))
	require.Equal(t, team("green", "2"), l.team(t, "a"))
	require.Equal(t, []string{"UpdateItem"}, l.Operations(), "everything is known")
	l.OK(s.Update(ctx, key, entity.Remove(&f.Grade)))
	require.Equal(t, none, l.team(t, "a"))
	l.Sent()
	l.OK(s.Update(ctx, key, entity.Set(&f.City, "Ulm"), entity.Set(&f.Name, "n")))
	require.Equal(t, [3]string{"", "", `S"$app#v1#staff#city_ulm"S"$app#v1#staff"`}, l.team(t, "a"))
	l.OK(s.Update(ctx, key, entity.Set(&f.City, "")))
	require.Equal(t, none, l.team(t, "a"))
	require.Equal(t, []string{"UpdateItem", "UpdateItem"}, l.Operations())
	l.OK(s.Modify(ctx, key, func(v *Staff) error { v.Grade = 4; return nil }))
	require.Equal(t, team("green", "4"), l.team(t, "a"))
	l.OK(s.Upsert(ctx, Staff{Tenant: "T", ID: "a", Team: "Black"}))
	require.Equal(t, team("black", "4"), l.team(t, "a"), "an absent field of an upsert stays")
}

func TestInterop_AnIndexWithRefusedValuesStaysUntilItsPartsChange(t *testing.T) {
	t.Parallel()
	l, s := open[Staff](t, shared)
	f, key := entity.Fields[Staff](), Staff{Tenant: "T", ID: "a"}
	l.sibling(t, "a", "#id_a", func(it map[string]types.AttributeValue) {
		it["team"], it["grade"] = str("DC 1"), num("2")
		it["gsi1pk"], it["gsi1sk"] = str("$app#v1#staff#team_dc 1"), str("$app#v1#staff#grade_0000000000000002#id_a")
	})
	was := l.team(t, "a")
	l.OK(s.Modify(t.Context(), key, func(v *Staff) error { v.Name = "n"; return nil }))
	require.Equal(t, was, l.team(t, "a"))
	_, err := s.Update(t.Context(), key, entity.Set(&f.Grade, 3))
	dbtest.RequireInput(t, err, "EDD-9102", "Team")
	require.Equal(t, was, l.team(t, "a"))
	l.OK(s.Update(t.Context(), key, entity.Set(&f.Grade, 3), entity.Set(&f.Team, "DC-1")))
	require.Equal(t, `S"$app#v1#staff#team_dc-1"`, l.team(t, "a")[0])
}

// A put of effect-dynamodb begins the version again, so the same version does not mean the same item.
func TestInterop_AWriteFromAReadIsGuardedByTheImage(t *testing.T) {
	t.Parallel()
	l, s := open[Staff](t, shared)
	l.sibling(t, "a", "#id_a", nil)
	runs := 0
	got, err := s.Modify(t.Context(), Staff{Tenant: "T", ID: "a"}, func(v *Staff) error {
		if runs++; runs == 1 {
			l.sibling(t, "a", "#id_a", func(it map[string]types.AttributeValue) { it["name"], it["note"] = str("theirs"), str("kept") })
		}
		v.City = "Ulm"
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, runs)
	require.Equal(t, "theirs", got.Name)
	require.EqualValues(t, 2, got.Version)
	require.Equal(t, `S"kept"`, l.stored(staffKey("a"))["note"])
}

func TestInterop_ALostAnswerCannotBeTracedWithoutAToken(t *testing.T) {
	t.Parallel()
	l, s := open[Staff](t, shared)
	l.Wire.Inject(faults.Nth(1, faults.Lost, "PutItem"))
	_, err := s.Create(t.Context(), Staff{Tenant: "T", ID: "a"})
	require.True(t, entity.IsAmbiguous(err), "%v", err)
	require.Equal(t, []string{"PutItem"}, l.Operations())
	l.Wire.Inject(faults.Nth(1, faults.Lost, "TransactWriteItems"))
	l.OK(s.Create(t.Context(), Staff{Tenant: "T", ID: "b"}, entity.Idempotent()))
	require.Equal(t, []string{"TransactWriteItems", "TransactWriteItems"}, l.Operations())
}
