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
