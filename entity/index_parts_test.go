package entity_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// Probe has index parts that are pointers, stored as NULL when they are nil, and parts inside an embedded struct.
type Probe struct {
	_ entity.Key `name:"Probe" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"bySite" index:"gsi1" pk:"$#{site}" sk:"$#{zone}"`
	_ entity.GSI `name:"byRoom" index:"gsi2" pk:"room"`
	_ entity.GSI `name:"byMaker" index:"gsi3" pk:"gsi3pk={maker}"`

	ID   string  `dynamodbav:"id"`
	Site *string `dynamodbav:"site"`
	Zone *int    `dynamodbav:"zone,omitempty"`
	Room *string `dynamodbav:"room"`
	Origin
}

// Origin carries attributes and roles into the structs that embed it.
type Origin struct {
	Maker     string    `dynamodbav:"maker,omitempty"`
	Revision  int       `dynamodbav:"revision" entity:"version"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at,time=s"`
}

var probeKey = keys("pk", "$app#v1#probe#a", "sk", "$app#v1#probe")

func TestIndexHalf_NilAndNullPartsAreAbsent(t *testing.T) {
	t.Parallel()
	l, s := open[Probe](t)
	f, key := entity.Fields[Probe](), Probe{ID: "a"}
	_, err := s.Create(t.Context(), key)
	require.NoError(t, err)
	it := l.stored(t, probeKey)
	require.Equal(t, "NULL", it["site"], "a nil pointer that is not omitempty is NULL")
	require.NotContains(t, it, "room", "but never in an index's own attribute, where it would fail the write")
	halves := func() []string {
		it := l.stored(t, probeKey)
		return []string{it["gsi1pk"], it["gsi1sk"], it["room"], it["gsi3pk"]}
	}
	require.Equal(t, []string{"", "", "", ""}, halves())

	site, zone, room := "s", 0, "r"
	_, err = s.Update(t.Context(), key, entity.Set(&f.Site, &site), entity.Set(&f.Zone, &zone), entity.Set(&f.Room, &room), entity.Set(&f.Maker, "m"))
	require.NoError(t, err)
	require.Equal(t, []string{`S"$app#v1#probe#s"`, `S"$app#v1#probe#0000000000000000000"`, `S"r"`, `S"m"`}, halves(), "a pointer to zero is a value")
	_, err = s.Update(t.Context(), key, entity.Set(f.Site, "t"), entity.Set(f.Zone, 7), entity.Set(f.Room, "q"))
	require.NoError(t, err)
	require.Equal(t, []string{`S"$app#v1#probe#t"`, `S"$app#v1#probe#0000000000000000007"`, `S"q"`, `S"m"`}, halves(), "what the pointer leads to names the same attribute")
	_, err = s.Update(t.Context(), key, entity.Set(&f.Site, nil), entity.Set(&f.Zone, nil), entity.Set(&f.Room, nil), entity.Set(&f.Maker, ""))
	require.NoError(t, err)
	require.Equal(t, []string{"", "", "", ""}, halves())
	_, err = s.Update(t.Context(), key, entity.Set(f.Site, ""), entity.Set(f.Room, ""))
	require.NoError(t, err)
	require.Equal(t, []string{"", "", "", ""}, halves(), "an empty text is no part")

	_, _, err = s.Upsert(t.Context(), Probe{ID: "a", Site: &site, Room: &room})
	require.NoError(t, err)
	require.Equal(t, []string{`S"$app#v1#probe#s"`, "", `S"r"`, ""}, halves())
	_, _, err = s.Upsert(t.Context(), Probe{ID: "a"})
	require.NoError(t, err)
	require.Equal(t, []string{"", "", "", ""}, halves(), "site and room are given, as NULL")
}

func TestEmbedded_StructsCarryAttributesAndRoles(t *testing.T) {
	t.Parallel()
	l, s := open[Probe](t)
	f := entity.Fields[Probe]()
	got, err := s.Create(t.Context(), Probe{ID: "a", Origin: Origin{Maker: "m", Revision: 9}})
	require.NoError(t, err)
	require.Equal(t, 1, got.Revision)
	require.Equal(t, dawn.Truncate(time.Second), got.CreatedAt)
	got, err = s.Update(t.Context(), Probe{ID: "a"}, entity.Set(&f.Origin.Maker, "n"), entity.If(entity.Eq(&f.Maker, "m")))
	require.NoError(t, err)
	require.Equal(t, 2, got.Revision)
	require.Equal(t, `S"n"`, l.stored(t, probeKey)["gsi3pk"])
	l.sent()
	_, err = s.Update(t.Context(), Probe{ID: "a"}, entity.Set(&f.Revision, 5))
	l.requireRefused(t, err, "EDD-9104", "Origin.Revision")
}

// Without a write id the guard of a read-modify-put is the whole image, and DynamoDB takes only so long a condition.
func TestIndexHalf_VerbatimItemThatIsTooWideToGuardIsRefused(t *testing.T) {
	t.Parallel()
	wide := func(n int) map[string]types.AttributeValue {
		it := keys("id", "a", "hall", "north")
		it["row"] = num("1")
		for i := range n {
			it["extra"+strconv.Itoa(i)] = num("1")
		}
		return it
	}
	l, s := open[Pallet](t)
	p := entity.Fields[Pallet]()
	l.put(t, wide(100))
	_, err := s.Update(t.Context(), Pallet{ID: "a"}, entity.Set(&p.Row, 2))
	require.NoError(t, err, "DynamoDB takes 300 operators")
	require.Equal(t, `S"north/2"`, l.stored(t, keys("id", "a"))["gsi1pk"])
	require.Equal(t, "N1", l.stored(t, keys("id", "a"))["extra99"])

	l.put(t, wide(200))
	before := l.everything(t)
	_, err = s.Update(t.Context(), Pallet{ID: "a"}, entity.Set(&p.Row, 2))
	var bad *entity.InputError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, "EDD-9111", bad.Code)
	require.Equal(t, before, l.everything(t))
}

func TestIndexHalf_ItemThatGrowsTooLargeAfterAReadIsRefused(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p := entity.Fields[Profile]()
	_, err := s.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1, Log: []string{strings.Repeat("x", 300*1024)}})
	require.NoError(t, err)
	before := l.everything(t)
	l.sent()
	_, err = s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&p.Rank, 2), entity.ListAppend(&p.Log, strings.Repeat("y", 110*1024)))
	require.ErrorIs(t, err, entity.ErrTooLarge)
	require.Equal(t, []string{"GetItem"}, l.sent())
	require.Equal(t, before, l.everything(t))
}
