package entity_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

var profileKey = keys("pk", "$app#v1#profile#a", "sk", "$app#v1#profile")

// profileHalf returns the partition key of Profile's index for the parts.
func profileHalf(team, rank string) string {
	return `S"$app#v1#profile#` + team + "#000000000000000000" + rank + `"`
}

// Whatever changes, and on whichever route, an index key is composed of the item as it is.
func TestIndexKey_OfSeveralPartsFollowsEachOfThem(t *testing.T) {
	l, s := open[Profile](t)
	p, read := entity.Fields[Profile](), []string{"GetItem", "PutItem"}
	for name, c := range map[string]struct {
		changes []entity.UpdateOption
		half    string // "" is absent
		sent    []string
	}{
		"first part":                {[]entity.UpdateOption{entity.Set(&p.Team, "blue")}, profileHalf("blue", "1"), read},
		"last part":                 {[]entity.UpdateOption{entity.Set(&p.Rank, 2)}, profileHalf("red", "2"), read},
		"a part by path":            {[]entity.UpdateOption{entity.Attr[int]("rank").Set(2)}, profileHalf("red", "2"), read},
		"both parts":                {[]entity.UpdateOption{entity.Set(&p.Team, "blue"), entity.Set(&p.Rank, 2)}, profileHalf("blue", "2"), []string{"UpdateItem"}},
		"no part":                   {[]entity.UpdateOption{entity.Set(&p.Note, "x")}, profileHalf("red", "1"), []string{"UpdateItem"}},
		"a part added to":           {[]entity.UpdateOption{entity.Add(&p.Rank, 4)}, profileHalf("red", "5"), read},
		"a part removed":            {[]entity.UpdateOption{entity.Remove(&p.Team)}, "", read},
		"a part emptied":            {[]entity.UpdateOption{entity.Set(&p.Team, "")}, "", read},
		"a part set once":           {[]entity.UpdateOption{entity.SetIfNotExists(&p.Team, "blue")}, profileHalf("red", "1"), read},
		"a part emptied, one set":   {[]entity.UpdateOption{entity.Set(&p.Team, ""), entity.Set(&p.Rank, 2)}, "", read},
		"a part set, unknown guard": {[]entity.UpdateOption{entity.Set(&p.Rank, 2), entity.If(entity.Exists(&p.Team))}, profileHalf("red", "2"), read},
	} {
		t.Run(name, func(t *testing.T) {
			l.RemoveItem(profileKey)
			l.OK(s.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1}))
			require.Equal(t, profileHalf("red", "1"), l.stored(profileKey)["gsi1pk"])
			l.Sent()
			got := entity.Must(s.Update(t.Context(), Profile{ID: "a"}, c.changes...))
			require.Equal(t, c.sent, l.Operations())
			it := l.stored(profileKey)
			require.Equal(t, c.half, it["gsi1pk"])
			require.Equal(t, `S"$app#v1#profile#a"`, it["gsi1sk"], "a half of key parts alone is always there")
			require.Equal(t, `S"Profile"`, it["__edd_e__"])
			require.Equal(t, entity.Must(s.Get(t.Context(), Profile{ID: "a"}, entity.Consistent())), got)

			want := 1
			if c.half == "" {
				want = 0
			}
			require.Len(t, l.indexed("gsi1"), want)
		})
	}
}

// Probe has index parts that are pointers, stored as NULL when they are nil, and parts inside an embedded struct.
type Probe struct {
	_    entity.Key `name:"Probe" pk:"$#{id}" sk:"$"`
	_    entity.GSI `name:"bySite" index:"gsi1" pk:"$#{site}" sk:"$#{zone}"`
	_    entity.GSI `name:"byRoom" index:"gsi2" pk:"room"`
	_    entity.GSI `name:"byMaker" index:"gsi3" pk:"gsi3pk={maker}"`
	ID   string     `dynamodbav:"id"`
	Site *string    `dynamodbav:"site"`
	Zone *int       `dynamodbav:"zone,omitempty"`
	Room *string    `dynamodbav:"room"`
	Origin
}

// Origin carries attributes and roles into the structs that embed it.
type Origin struct {
	Maker     string    `dynamodbav:"maker,omitempty"`
	Revision  int       `dynamodbav:"revision" entity:"version"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at,time=s"`
}

var probeKey = keys("pk", "$app#v1#probe#a", "sk", "$app#v1#probe")

func TestIndexKey_NilAndNullPartsAreAbsent(t *testing.T) {
	f, key := entity.Fields[Probe](), Probe{ID: "a"}
	l, s := opened(t, key)
	it := l.stored(probeKey)
	require.Equal(t, "NULL", it["site"], "a nil pointer that is not omitempty is NULL")
	require.NotContains(t, it, "room", "but never in an index's own attribute, where it would fail the write")
	halves := func() []string {
		it := l.stored(probeKey)
		return []string{it["gsi1pk"], it["gsi1sk"], it["room"], it["gsi3pk"]}
	}
	require.Equal(t, []string{"", "", "", ""}, halves())

	site, zone, room := "s", 0, "r"
	l.OK(s.Update(t.Context(), key, entity.Set(&f.Site, &site), entity.Set(&f.Zone, &zone), entity.Set(&f.Room, &room), entity.Set(&f.Maker, "m")))
	require.Equal(t, []string{`S"$app#v1#probe#s"`, `S"$app#v1#probe#0000000000000000000"`, `S"r"`, `S"m"`}, halves(), "a pointer to zero is a value")
	l.OK(s.Update(t.Context(), key, entity.Set(f.Site, "t"), entity.Set(f.Zone, 7), entity.Set(f.Room, "q")))
	require.Equal(t, []string{`S"$app#v1#probe#t"`, `S"$app#v1#probe#0000000000000000007"`, `S"q"`, `S"m"`}, halves(), "what the pointer leads to names the same attribute")
	l.OK(s.Update(t.Context(), key, entity.Set(&f.Site, nil), entity.Set(&f.Zone, nil), entity.Set(&f.Room, nil), entity.Set(&f.Maker, "")))
	require.Equal(t, []string{"", "", "", ""}, halves())
	l.OK(s.Update(t.Context(), key, entity.Set(f.Site, ""), entity.Set(f.Room, "")))
	require.Equal(t, []string{"", "", "", ""}, halves(), "an empty text is no part")

	l.OK(s.Upsert(t.Context(), Probe{ID: "a", Site: &site, Room: &room}))
	require.Equal(t, []string{`S"$app#v1#probe#s"`, "", `S"r"`, ""}, halves())
	l.OK(s.Upsert(t.Context(), Probe{ID: "a"}))
	require.Equal(t, []string{"", "", "", ""}, halves(), "site and room are given, as NULL")
}

// widePallet is a stored pallet with n attributes that the struct does not know.
func widePallet(n int) map[string]types.AttributeValue {
	it := keys("id", "a", "hall", "north")
	it["row"] = dbtest.N("1")
	for i := range n {
		it["extra"+strconv.Itoa(i)] = dbtest.N("1")
	}
	return it
}

// Without a write id the guard of a read-modify-put is the whole image, and DynamoDB takes only so long a condition.
func TestIndexKey_VerbatimItemThatIsTooWideToGuardIsRefused(t *testing.T) {
	l, s := open[Pallet](t)
	p := entity.Fields[Pallet]()
	l.PutItem(widePallet(100))
	require.NoError(t, dbtest.ErrorOf(s.Update(t.Context(), Pallet{ID: "a"}, entity.Set(&p.Row, 2))), "DynamoDB takes 300 operators")
	require.Equal(t, `S"north/2"`, l.stored(keys("id", "a"))["gsi1pk"])
	require.Equal(t, "N1", l.stored(keys("id", "a"))["extra99"])

	l.PutItem(widePallet(200))
	before := l.everything()
	require.Equal(t, "EDD-9111", dbtest.InputCode(dbtest.ErrorOf(s.Update(t.Context(), Pallet{ID: "a"}, entity.Set(&p.Row, 2)))))
	require.Equal(t, before, l.everything())
}

func TestIndexKey_EmptiedNativeIndexAttributeIsAbsent(t *testing.T) {
	l, s := open[Order](t)
	o, key := entity.Fields[Order](), Order{Customer: "c", Number: 1}
	l.OK(s.Create(t.Context(), Order{Customer: "c", Number: 1, Placed: 3, Amount: 4})) // status is the empty string
	at := "c 1"
	require.Equal(t, raw{"customer": `S"c"`, "number": "N1", "placed": "N3", "amount": "N4"}, l.everything()[at])
	l.OK(s.Update(t.Context(), key, entity.Set(&o.Status, "open")))
	require.Len(t, l.indexed("status-index"), 1)
	l.Sent()
	l.OK(s.Update(t.Context(), key, entity.Set(&o.Status, "")))
	require.Empty(t, l.indexed("status-index"))
	require.Equal(t, []string{"UpdateItem"}, l.Operations())

	l.OK(s.Update(t.Context(), key, entity.Set(&o.Status, "open")))
	l.OK(s.Upsert(t.Context(), Order{Customer: "c", Number: 1, Amount: 9})) // status is given, and empty
	require.Equal(t, raw{"customer": `S"c"`, "number": "N1", "placed": "N3", "amount": "N9"}, l.everything()[at])
	_, created, err := s.Upsert(t.Context(), Order{Customer: "c", Number: 2})
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, raw{"customer": `S"c"`, "number": "N2"}, l.everything()["c 2"])
}

// Visit's index keys are composed of attributes that the library sets, and of one that is set once.
type Visit struct {
	_         entity.Key `name:"Visit" pk:"$#{id}" sk:"$"`
	_         entity.GSI `name:"recent" index:"gsi1" pk:"$#{place}" sk:"$#{updatedAt}"`
	_         entity.GSI `name:"oldest" index:"gsi2" pk:"$#{place}#{createdAt}" sk:"gsi2sk={host}"`
	_         entity.GSI `name:"copies" index:"gsi3" pk:"gsi3pk={place}" sk:"gsi3sk={updatedAt}"`
	ID        string     `dynamodbav:"id"`
	Place     string     `dynamodbav:"place,omitempty"`
	Host      string     `dynamodbav:"host,omitempty" entity:"set_once"`
	Note      string     `dynamodbav:"note,omitempty"`
	CreatedAt time.Time  `dynamodbav:"createdAt" entity:"created_at,time=s"`
	UpdatedAt time.Time  `dynamodbav:"updatedAt" entity:"updated_at,time=ms"`
}

// Halves of what the library itself writes follow it just as well.
func TestIndexKey_OfLibraryOwnedAndSetOncePartsFollowsEveryWrite(t *testing.T) {
	l, s := open[Visit](t)
	v, key := entity.Fields[Visit](), Visit{ID: "a"}
	for name, write := range map[string]func(){
		"create":           func() {},
		"update":           func() { l.OK(s.Update(t.Context(), key, entity.Set(&v.Note, "x"))) },
		"update of a part": func() { l.OK(s.Update(t.Context(), key, entity.Set(&v.Place, "yard"))) },
		"set once":         func() { l.OK(s.Update(t.Context(), key, entity.Set(&v.Host, "eve"))) },
		"removal":          func() { l.OK(s.Update(t.Context(), key, entity.Remove(&v.Place))) },
		"upsert over live": func() { l.OK(s.Upsert(t.Context(), Visit{ID: "a", Note: "y", Host: "eve"})) },
		"upsert of a part": func() { l.OK(s.Upsert(t.Context(), Visit{ID: "a", Place: "yard"})) },
		"upsert of a new item": func() {
			l.OK(s.Delete(t.Context(), key))
			l.OK(s.Upsert(t.Context(), Visit{ID: "a", Place: "yard", Host: "eve"}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			l.RemoveItem(keys("pk", "$app#v1#visit#a", "sk", "$app#v1#visit"))
			l.OK(s.Create(t.Context(), Visit{ID: "a", Place: "hall"}))
			l.Clock.Move(time.Minute)
			write()
			it := l.stored(keys("pk", "$app#v1#visit#a", "sk", "$app#v1#visit"))
			now := entity.Must(s.Get(t.Context(), Visit{ID: "a"}))
			place, want := now.Place, raw{}
			if place != "" {
				want["gsi1pk"] = `S"$app#v1#visit#` + place + `"`
				want["gsi2pk"] = `S"$app#v1#visit#` + place + "#" + now.CreatedAt.Format("2006-01-02T15:04:05Z") + `"`
				want["gsi3pk"] = `S"` + place + `"`
			}
			want["gsi1sk"] = `S"$app#v1#visit#` + now.UpdatedAt.Format("2006-01-02T15:04:05.000Z") + `"`
			want["gsi3sk"] = `S"` + now.UpdatedAt.Format("2006-01-02T15:04:05.000Z") + `"`
			if now.Host != "" {
				want["gsi2sk"] = `S"` + now.Host + `"`
			}
			got := raw{}
			for _, name := range []string{"gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk", "gsi3pk", "gsi3sk"} {
				if v, ok := it[name]; ok {
					got[name] = v
				}
			}
			require.Equal(t, want, got)
		})
	}
}

// A Put that removes one part of an index key leaves another as stored, which it need not know.
func TestIndexKey_GoesWithAPartThatAPutRemoves(t *testing.T) {
	l, s := opened(t, Visit{ID: "a", Place: "hall", Host: "eve"})
	require.Len(t, l.indexed("gsi2"), 1)
	got := entity.Must(s.Put(t.Context(), Visit{ID: "a"}))
	require.Equal(t, []any{"", "eve"}, []any{got.Place, got.Host})
	require.Equal(t, []string{"UpdateItem"}, l.Operations())
	require.Empty(t, l.indexed("gsi2"))
}

func TestConcurrent_NewReturnsOneStore(t *testing.T) {
	t.Parallel()
	db, stores := paper(t), make([]*entity.Store[Employee], 8)
	var all sync.WaitGroup
	for i := range stores {
		all.Go(func() {
			stores[i] = entity.Must(entity.New[Employee](db))
			_ = stores[i].Op().Update(employeeKey("a"), rename("x")).String()
			_ = stores[i].Query(employeeKey("a")).String()
		})
	}
	all.Wait()
	for _, s := range stores {
		require.Same(t, stores[0], s)
	}
}

// Pallet is verbatim: nothing hidden is in its items. Its index key has two parts.
type Pallet struct {
	_      entity.Key `name:"Pallet" pk:"id"`
	_      entity.GSI `name:"byPlace" index:"gsi1" pk:"gsi1pk={hall}/{row:01}"`
	ID     string     `dynamodbav:"id"`
	Hall   string     `dynamodbav:"hall,omitempty"`
	Row    int        `dynamodbav:"row,omitempty"`
	Note   string     `dynamodbav:"note,omitempty"`
	SeenAt time.Time  `dynamodbav:"seenAt,omitempty"`
}
