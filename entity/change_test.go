package entity_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// alteration is what changes do to the furnished profile: want holds the attributes that are different, "" for gone.
type alteration struct {
	changes []entity.UpdateOption
	want    raw
}

func one(c ...entity.UpdateOption) []entity.UpdateOption { return c }

func alterations() map[string]alteration {
	p := entity.Fields[Profile]()
	bare, empty := "bare", ""
	all := map[string]alteration{
		"set":                        {one(entity.Set(&p.Note, "new")), raw{"note": `S"new"`}},
		"set reserved word":          {one(entity.Set(&p.Order, "x")), raw{"order": `S"x"`}},
		"set empty, omitempty":       {one(entity.Set(&p.Note, "")), raw{"note": ""}},
		"set empty, not omitempty":   {one(entity.Set(&p.Plain, "")), raw{"plain": `S""`}},
		"set zero, omitempty":        {one(entity.Set(&p.Count, 0)), raw{"count": ""}},
		"set pointer":                {one(entity.Set(&p.Alias, &bare)), raw{"alias": `S"bare"`}},
		"set nil pointer":            {one(entity.Set(&p.Alias, nil)), raw{"alias": ""}},
		"set pointer to empty":       {one(entity.Set(&p.Alias, &empty)), raw{"alias": `S""`}},
		"set pointee":                {one(entity.Set(p.Alias, "x")), raw{"alias": `S"x"`}},
		"set pointee to zero":        {one(entity.Set(p.Active, false)), raw{"active": "false"}},
		"set pointee to empty":       {one(entity.Set(p.Alias, "")), raw{"alias": `S""`}},
		"set time":                   {one(entity.Set(&p.SeenAt, seen.Add(time.Millisecond+1))), raw{"seenAt": `S"2024-05-06T07:08:09.124Z"`}},
		"set zero time":              {one(entity.Set(&p.SeenAt, time.Time{})), raw{"seenAt": ""}},
		"set struct":                 {one(entity.Set(&p.Home, Address{City: "Oslo", Since: seen})), raw{"home": `M{city=S"Oslo" since=S"2024-05-06T07:08:09.123000000Z"}`}},
		"set absent struct":          {one(entity.Set(&p.Work, &Address{City: "Oslo"})), raw{"work": `M{city=S"Oslo"}`}},
		"set map":                    {one(entity.Set(&p.Scores, map[string]int{"a.b": 0})), raw{"scores": "M{a.b=N0}"}},
		"set nil map":                {one(entity.Set(&p.Scores, nil)), raw{"scores": ""}},
		"set set":                    {one(entity.Set(&p.Numbers, []int{3})), raw{"numbers": "NS[3]"}},
		"set empty set":              {one(entity.Set(&p.Tags, nil)), raw{"tags": ""}},
		"set list of structs":        {one(entity.Set(&p.Lines, []Line{{"z", 0}})), raw{"lines": `L[M{qty=N0 sku=S"z"}]`}},
		"set nested":                 {one(entity.Set(&p.Home.City, "Oslo")), raw{"home": `M{city=S"Oslo" geo=M{lat=N1.5 lon=N2}}`}},
		"set nested, was absent":     {one(entity.Set(&p.Home.Zip, "0150")), raw{"home": `M{city=S"Rome" geo=M{lat=N1.5 lon=N2} zip=S"0150"}`}},
		"set nested time":            {one(entity.Set(&p.Home.Since, seen)), raw{"home": `M{city=S"Rome" geo=M{lat=N1.5 lon=N2} since=S"2024-05-06T07:08:09.123000000Z"}`}},
		"set nested in pointer":      {one(entity.Set(&p.Home.Geo.Lat, -2)), raw{"home": `M{city=S"Rome" geo=M{lat=N-2 lon=N2}}`}},
		"set nested empty":           {one(entity.Set(&p.Home.Geo.Lon, 0)), raw{"home": `M{city=S"Rome" geo=M{lat=N1.5}}`}},
		"set nested nil":             {one(entity.Set(&p.Home.Geo, nil)), raw{"home": `M{city=S"Rome"}`}},
		"set nested zero":            {one(entity.Set(&p.Home.City, "")), raw{"home": `M{city=S"" geo=M{lat=N1.5 lon=N2}}`}},
		"two nested":                 {one(entity.Set(&p.Home.City, "A"), entity.Remove(&p.Home.Geo.Lon)), raw{"home": `M{city=S"A" geo=M{lat=N1.5}}`}},
		"set once, there":            {one(entity.SetIfNotExists(&p.Note, "new")), raw{}},
		"set once, absent":           {one(entity.SetIfNotExists(&p.Work, &Address{City: "B"})), raw{"work": `M{city=S"B"}`}},
		"set once nested":            {one(entity.SetIfNotExists(&p.Home.Zip, "1"), entity.SetIfNotExists(&p.Home.City, "no")), raw{"home": `M{city=S"Rome" geo=M{lat=N1.5 lon=N2} zip=S"1"}`}},
		"remove":                     {one(entity.Remove(&p.Note)), raw{"note": ""}},
		"remove absent":              {one(entity.Remove(&p.Work)), raw{}},
		"remove nested":              {one(entity.Remove(&p.Home.Geo)), raw{"home": `M{city=S"Rome"}`}},
		"remove nested absent":       {one(entity.Remove(&p.Home.Zip)), raw{}},
		"remove not omitempty":       {one(entity.Remove(&p.Plain)), raw{"plain": ""}},
		"add":                        {one(entity.Add(&p.Count, 2)), raw{"count": "N7"}},
		"add negative":               {one(entity.Add(&p.Count, -6)), raw{"count": "N-1"}},
		"add to zero":                {one(entity.Add(&p.Count, -5)), raw{"count": "N0"}},
		"add nothing":                {one(entity.Add(&p.Count, 0)), raw{"count": "N5"}},
		"add decimal":                {one(entity.Add(&p.Total, 0.1)), raw{"total": "N1.6"}},
		"add nested":                 {one(entity.Add(&p.Home.Geo.Lat, 1)), raw{"home": `M{city=S"Rome" geo=M{lat=N2.5 lon=N2}}`}},
		"append":                     {one(entity.ListAppend(&p.Log, "three", "four")), raw{"log": `L[S"one" S"two" S"three" S"four"]`}},
		"append structs":             {one(entity.ListAppend(&p.Lines, Line{"s3", 0})), raw{"lines": `L[M{qty=N2 sku=S"s1"} M{qty=N5 sku=S"s2"} M{qty=N0 sku=S"s3"}]`}},
		"add to set":                 {one(entity.AddToSet(&p.Tags, "t2", "t3")), raw{"tags": "SS[t1 t2 t3]"}},
		"add to number set":          {one(entity.AddToSet(&p.Numbers, 2, 3)), raw{"numbers": "NS[1 2 3]"}},
		"delete from set":            {one(entity.DeleteFromSet(&p.Tags, "t1", "none")), raw{"tags": "SS[t2]"}},
		"delete all of a set":        {one(entity.DeleteFromSet(&p.Numbers, 1, 2)), raw{"numbers": ""}},
		"entry":                      {one(entity.MapEntry(&p.Labels, "new").Set("n")), raw{"labels": `M{a.b=S"x" l[0]=S"y" new=S"n" size=S"z"}`}},
		"entry with a dot":           {one(entity.MapEntry(&p.Labels, "a.b").Set("n")), raw{"labels": `M{a.b=S"n" l[0]=S"y" size=S"z"}`}},
		"entry with a bracket":       {one(entity.MapEntry(&p.Labels, "l[0]").Remove()), raw{"labels": `M{a.b=S"x" size=S"z"}`}},
		"entry that is reserved":     {one(entity.MapEntry(&p.Labels, "size").Set("")), raw{"labels": `M{a.b=S"x" l[0]=S"y" size=S""}`}},
		"entry with odd characters":  {one(entity.MapEntry(&p.Scores, "#n :v é").Set(0)), raw{"scores": `M{#n :v é=N0 n=N3}`}},
		"two entries":                {one(entity.MapEntry(&p.Labels, "a").Set("1"), entity.MapEntry(&p.Labels, "a.b").Remove()), raw{"labels": `M{a=S"1" l[0]=S"y" size=S"z"}`}},
		"path into a list":           {one(entity.Attr[int]("lines[1].qty").Set(9)), raw{"lines": `L[M{qty=N2 sku=S"s1"} M{qty=N9 sku=S"s2"}]`}},
		"path to an element":         {one(entity.Attr[string]("log[0]").Set("x")), raw{"log": `L[S"x" S"two"]`}},
		"path past the end":          {one(entity.Attr[string]("log[9]").Set("x")), raw{"log": `L[S"one" S"two" S"x"]`}},
		"element removed":            {one(entity.Attr[any]("lines[0]").Remove()), raw{"lines": `L[M{qty=N5 sku=S"s2"}]`}},
		"two elements removed":       {one(entity.Attr[any]("log[0]").Remove(), entity.Attr[any]("log[1]").Remove()), raw{"log": "L[]"}},
		"element past the end gone":  {one(entity.Attr[any]("log[7]").Remove()), raw{}},
		"element set, one removed":   {one(entity.Attr[string]("log[1]").Set("x"), entity.Attr[any]("log[0]").Remove()), raw{"log": `L[S"x"]`}},
		"path into a struct":         {one(entity.Attr[float64]("home.geo.lat").Set(4)), raw{"home": `M{city=S"Rome" geo=M{lat=N4 lon=N2}}`}},
		"path that the model has no": {one(entity.Attr[[]any]("home.extra").Set([]any{1, "a", nil})), raw{"home": `M{city=S"Rome" extra=L[N1 S"a" NULL] geo=M{lat=N1.5 lon=N2}}`}},
		"path to an attribute":       {one(entity.Attr[int]("count").Set(8)), raw{"count": "N8"}},
		"many at once": {one(entity.Set(&p.Note, "n"), entity.Remove(&p.Alias), entity.Add(&p.Count, 1), entity.AddToSet(&p.Tags, "t9"),
			entity.DeleteFromSet(&p.Numbers, 1), entity.ListAppend(&p.Log, "x")),
			raw{"note": `S"n"`, "alias": "", "count": "N6", "tags": "SS[t1 t2 t9]", "numbers": "NS[2]", "log": `L[S"one" S"two" S"x"]`}},
	}
	return all
}

// Each change does the same in one UpdateItem and when the plan reads the item and puts it. A change of one part of
// an index key selects the second route.
func TestChange_DoesTheSameInPlaceAndAfterARead(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p := entity.Fields[Profile]()
	_, err := s.Create(t.Context(), furnished())
	require.NoError(t, err)
	begin := l.values(t, profileKey)
	for name, a := range alterations() {
		t.Run(name, func(t *testing.T) {
			for route, more := range map[string][]entity.UpdateOption{"UpdateItem": nil, "PutItem": one(entity.Set(&p.Rank, 2))} {
				l.put(t, begin)
				want := without(rawOf(begin), "_w")
				for attr, v := range a.want {
					want[attr] = v
					if v == "" {
						delete(want, attr)
					}
				}
				if more != nil {
					want["rank"], want["gsi1pk"] = "N2", profileHalf("red", "2")
				}
				l.sent()
				got, err := s.Update(t.Context(), Profile{ID: "a"}, append(more, a.changes...)...)
				require.NoError(t, err, route)
				sent := l.sent()
				require.Equal(t, route, sent[len(sent)-1])
				require.Equal(t, want, without(l.stored(t, profileKey), "_w"), route)
				again, err := s.Get(t.Context(), Profile{ID: "a"})
				require.NoError(t, err)
				require.Equal(t, again, got, "%s: the result is the item as stored", route)
			}
		})
	}
}

// What Set leaves out is what a whole value leaves out.
func TestChange_SetStoresWhatAWholeValueStores(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p := entity.Fields[Profile]()
	yes, no, empty := true, false, ""
	for name, c := range map[string]struct {
		whole  Profile
		change entity.UpdateOption
	}{
		"empty list":       {Profile{Log: []string{}}, entity.Set(&p.Log, []string{})},
		"empty map":        {Profile{Labels: map[string]string{}}, entity.Set(&p.Labels, map[string]string{})},
		"empty set":        {Profile{Tags: []string{}}, entity.Set(&p.Tags, []string{})},
		"nil list":         {Profile{}, entity.Set(&p.Log, nil)},
		"pointer to true":  {Profile{Active: &yes}, entity.Set(p.Active, true)},
		"pointer to false": {Profile{Active: &no}, entity.Set(p.Active, false)},
		"pointer to empty": {Profile{Alias: &empty}, entity.Set(p.Alias, "")},
		"empty struct":     {Profile{Work: &Address{}}, entity.Set(p.Work, Address{})},
		"zero struct":      {Profile{}, entity.Set(&p.Home, Address{})},
		"list of zeros":    {Profile{Lines: []Line{{}}}, entity.Set(&p.Lines, []Line{{}})},
	} {
		t.Run(name, func(t *testing.T) {
			c.whole.ID = "whole"
			_ = s.Delete(t.Context(), c.whole)
			_, err := s.Create(t.Context(), c.whole)
			require.NoError(t, err)
			_ = s.Delete(t.Context(), Profile{ID: "a"})
			_, err = s.Create(t.Context(), Profile{ID: "a"})
			require.NoError(t, err)
			_, err = s.Update(t.Context(), Profile{ID: "a"}, c.change)
			require.NoError(t, err)
			names := []string{"_w", "pk", "id", "gsi1sk"}
			want := without(l.stored(t, keys("pk", "$app#v1#profile#whole", "sk", "$app#v1#profile")), names...)
			require.Equal(t, want, without(l.stored(t, profileKey), names...))
		})
	}
}

type satchel struct {
	_     entity.Key `name:"Satchel" pk:"$#{id}" sk:"$"`
	ID    string     `dynamodbav:"id"`
	List  []string   `dynamodbav:"list"`
	Set   []string   `dynamodbav:"set,stringset"`
	Count *int       `dynamodbav:"count"`
	Name  string     `dynamodbav:"name"`
}

func TestElements_ANilFieldThatIsStoredAsNULLCountsAsAbsent(t *testing.T) {
	t.Parallel()
	l, s := open[satchel](t)
	f := entity.Fields[satchel]()
	at := keys("pk", "$app#v1#satchel#a", "sk", "$app#v1#satchel")
	_, err := s.Create(t.Context(), satchel{ID: "a"})
	require.NoError(t, err)
	require.Equal(t, "NULL", l.stored(t, at)["list"], "what this test is about")
	l.sent()
	got, err := s.Update(t.Context(), satchel{ID: "a"}, entity.ListAppend(&f.List, "x"), entity.AddToSet(&f.Set, "y"), entity.Add(f.Count, 2))
	require.NoError(t, err)
	require.Equal(t, []string{"x"}, got.List)
	require.Equal(t, []string{"y"}, got.Set)
	require.Equal(t, 2, *got.Count)
	require.Equal(t, []string{"UpdateItem", "GetItem", "PutItem"}, l.sent(), "only the first time")
	_, err = s.Update(t.Context(), satchel{ID: "a"}, entity.ListAppend(&f.List, "z"), entity.DeleteFromSet(&f.Set, "y"))
	require.NoError(t, err)
	require.Equal(t, []string{"UpdateItem"}, l.sent())

	_, err = s.Create(t.Context(), satchel{ID: "b"})
	require.NoError(t, err)
	require.NoError(t, l.db.Transact(t.Context(), s.Op().Update(satchel{ID: "b"}, entity.DeleteFromSet(&f.Set, "y"), entity.ListAppend(&f.List, "x")), s.Op().CheckNotExists(satchel{ID: "c"})))
	stored, err := s.Get(t.Context(), satchel{ID: "b"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, satchel{ID: "b", List: []string{"x"}}, stored)
}

func TestElements_AStoredValueOfAnotherTypeIsNamed(t *testing.T) {
	t.Parallel()
	l, s := open[satchel](t)
	f := entity.Fields[satchel]()
	_, err := s.Create(t.Context(), satchel{ID: "a"})
	require.NoError(t, err)
	l.patch(t, keys("pk", "$app#v1#satchel#a", "sk", "$app#v1#satchel"), "list", num("7"))
	for _, change := range []entity.UpdateOption{entity.ListAppend(&f.List, "x")} {
		_, err = s.Update(t.Context(), satchel{ID: "a"}, change)
		var named *entity.ConditionError
		require.ErrorAs(t, err, &named)
		require.Equal(t, "list", named.Attr)
		require.ErrorIs(t, err, entity.ErrConditionFailed)
	}
}

func TestChange_OfAbsentAttributesBeginsAtNothing(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p := entity.Fields[Profile]()
	for route, more := range map[string][]entity.UpdateOption{"in place": nil, "after a read": one(entity.Set(&p.Rank, 2))} {
		_ = s.Delete(t.Context(), Profile{ID: "a"})
		_, err := s.Create(t.Context(), Profile{ID: "a"})
		require.NoError(t, err)
		_, err = s.Update(t.Context(), Profile{ID: "a"}, append(more, entity.Add(&p.Count, 3), entity.Add(&p.Total, -0.5),
			entity.ListAppend(&p.Log, "one"), entity.AddToSet(&p.Tags, "t"), entity.DeleteFromSet(&p.Numbers, 1))...)
		require.NoError(t, err, route)
		it := l.stored(t, profileKey)
		require.Equal(t, []string{"N3", "N-0.5", `L[S"one"]`, "SS[t]", ""}, []string{it["count"], it["total"], it["log"], it["tags"], it["numbers"]}, route)
	}
}

func TestChange_NestedWithoutItsParentNamesTheParent(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p := entity.Fields[Profile]()
	for name, c := range map[string]struct {
		change entity.UpdateOption
		parent string
	}{
		"struct pointer":         {entity.Set(&p.Work.City, "x"), "work"},
		"deeper":                 {entity.Set(&p.Home.Geo.Lat, 1), "home.geo"},
		"deeper still":           {entity.Set(&p.Work.Geo.Lat, 1), "work.geo"},
		"map entry":              {entity.MapEntry(&p.Labels, "a.b").Set("x"), "labels"},
		"list element":           {entity.Attr[string]("log[0]").Set("x"), "log"},
		"inside an element":      {entity.Attr[int]("lines[3].qty").Set(1), "lines[3]"},
		"removal":                {entity.Remove(&p.Work.Zip), "work"},
		"entry removal":          {entity.MapEntry(&p.Labels, "a").Remove(), "labels"},
		"set once":               {entity.SetIfNotExists(&p.Work.Zip, "1"), "work"},
		"addition":               {entity.Add(&p.Home.Geo.Lat, 1), "home.geo"},
		"parent of another type": {entity.Attr[int]("note.x").Set(1), "note"},
		"list, not map":          {entity.Attr[int]("home[0]").Set(1), "home"},
	} {
		t.Run(name, func(t *testing.T) {
			l.drop(t, profileKey)
			requireParent := func(err error) {
				t.Helper()
				require.ErrorIs(t, err, entity.ErrConditionFailed)
				var missing *entity.ConditionError
				require.ErrorAs(t, err, &missing)
				require.Equal(t, c.parent, missing.Attr)
			}
			_, err := s.Update(t.Context(), Profile{ID: "a"}, c.change)
			require.ErrorIs(t, err, entity.ErrNotFound, "of an absent item the parent is not the problem")
			require.NotErrorIs(t, err, entity.ErrConditionFailed)

			_, err = s.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1, Note: "text"})
			require.NoError(t, err)
			before := l.everything(t)
			_, err = s.Update(t.Context(), Profile{ID: "a"}, c.change, entity.Add(&p.Count, 1))
			requireParent(err)
			_, err = s.Update(t.Context(), Profile{ID: "a"}, c.change, entity.Set(&p.Rank, 2))
			requireParent(err)
			op := s.Op().Update(Profile{ID: "a"}, c.change)
			err = l.db.Transact(t.Context(), op, s.Op().Create(Profile{ID: "b"}))
			requireParent(entity.FailureOf(err, op))
			require.Equal(t, before, l.everything(t))
		})
	}
}

func TestChange_ParentThatIsThereIsNotBlamedForAFailedCondition(t *testing.T) {
	t.Parallel()
	_, s := open[Profile](t)
	p := entity.Fields[Profile]()
	_, err := s.Create(t.Context(), furnished())
	require.NoError(t, err)
	_, err = s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&p.Home.City, "x"), entity.If(entity.Eq(&p.Count, 99)))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	var named *entity.ConditionError
	require.NotErrorAs(t, err, &named)
}

// Bag has a set of each kind in every place that a tag can name: at the top, in structs, and in structs inside lists and
// maps.
type Bag struct {
	_ entity.Key `name:"Bag" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byOwner" index:"gsi1" pk:"$#{owner}#{shelf}"`

	ID    string `dynamodbav:"id"`
	Owner string `dynamodbav:"owner,omitempty"`
	Shelf int    `dynamodbav:"shelf,omitempty"`
	Pouch
	In   Pouch            `dynamodbav:"in"`
	Ptr  *Pouch           `dynamodbav:"ptr,omitempty"`
	List []Pouch          `dynamodbav:"list,omitempty"`
	Map  map[string]Pouch `dynamodbav:"map,omitempty"`
}

type Pouch struct {
	S []string `dynamodbav:"s,stringset,omitempty"`
	N []int    `dynamodbav:"n,numberset,omitempty"`
	B [][]byte `dynamodbav:"b,binaryset,omitempty"`
}

func pouch(s string, n int) Pouch {
	return Pouch{[]string{s, "z"}, []int{n, 99}, [][]byte{{byte(n)}, {255}}}
}

func bag(s string, n int) Bag {
	p := pouch(s, n)
	return Bag{ID: "x", Owner: "o", Shelf: 1, Pouch: p, In: p, Ptr: &p, List: []Pouch{p}, Map: map[string]Pouch{"k": p}}
}

// contents is a pouch as it is stored.
func contents(s string, n int) string {
	return fmt.Sprintf("M{b=BS[%02x ff] n=NS[%d 99] s=SS[%s z]}", n, n, s)
}

// requireBag looks at what is stored, with a client that knows nothing of structs: sets of the right kind, everywhere.
func (l *lab) requireBag(t *testing.T, s string, n int, step string) {
	t.Helper()
	it := l.values(t, keys("pk", "$app#v1#bag#x", "sk", "$app#v1#bag"))
	require.NotNil(t, it, step)
	want := contents(s, n)
	require.Equal(t, want, text(document(map[string]av{"b": it["b"], "n": it["n"], "s": it["s"]})), step)
	require.Equal(t, []string{want, want, "L[" + want + "]", "M{k=" + want + "}"}, []string{text(it["in"]), text(it["ptr"]), text(it["list"]), text(it["map"])}, step)
}

func setBag(b Bag) []entity.UpdateOption {
	f := entity.Fields[Bag]()
	return []entity.UpdateOption{
		entity.Set(&f.S, b.S), entity.Set(&f.N, b.N), entity.Set(&f.B, b.B), entity.Set(&f.In, b.In),
		entity.Set(&f.Ptr.S, b.Ptr.S), entity.Set(&f.Ptr.N, b.Ptr.N), entity.Set(&f.Ptr.B, b.Ptr.B),
		entity.Set(&f.List, b.List), entity.MapEntry(&f.Map, "k").Set(b.Map["k"]),
	}
}

func TestSets_StaySetsOnEveryPath(t *testing.T) {
	t.Parallel()
	l, s := open[Bag](t)
	f, ctx := entity.Fields[Bag](), t.Context()
	n := 0
	next := func(step string, write func(Bag) error) {
		n++
		name := fmt.Sprintf("s%d", n)
		require.NoError(t, write(bag(name, n)), step)
		l.requireBag(t, name, n, step)
		got, err := s.Get(ctx, Bag{ID: "x"}, entity.Consistent())
		require.NoError(t, err, step)
		require.ElementsMatch(t, []string{name, "z"}, got.Map["k"].S, step)
		require.ElementsMatch(t, []int{n, 99}, got.List[0].N, step)
		require.ElementsMatch(t, [][]byte{{byte(n)}, {255}}, got.Ptr.B, step)
	}
	next("create", func(b Bag) error { _, err := s.Create(ctx, b); return err })
	next("put", func(b Bag) error { _, err := s.Put(ctx, b); return err })
	next("upsert", func(b Bag) error { _, _, err := s.Upsert(ctx, b); return err })
	next("set", func(b Bag) error { _, err := s.Update(ctx, b, setBag(b)...); return err })
	next("set after a read", func(b Bag) error {
		_, err := s.Update(ctx, b, append(setBag(b), entity.Set(&f.Shelf, 2))...)
		return err
	})
	next("modify", func(b Bag) error { _, err := s.Modify(ctx, b, func(v *Bag) error { *v = b; return nil }); return err })
	next("exactly", func(b Bag) error { _, err := s.Update(ctx, b, append(setBag(b), entity.Idempotent())...); return err })
	next("transaction", func(b Bag) error { return l.db.Transact(ctx, s.Op().Update(b, setBag(b)...)) })
	next("transaction with put", func(b Bag) error { return l.db.Transact(ctx, s.Op().Put(b)) })
	require.NoError(t, s.Delete(ctx, Bag{ID: "x"}))
	next("transaction with create", func(b Bag) error { return l.db.Transact(ctx, s.Op().Create(b)) })
}

func TestSets_ElementsAreAddedAndTakenOut(t *testing.T) {
	t.Parallel()
	l, s := open[Bag](t)
	f, ctx := entity.Fields[Bag](), t.Context()
	b := bag("s", 1)
	for name, more := range map[string][]entity.UpdateOption{"blind": nil, "after a read": {entity.Set(&f.Shelf, 3)}} {
		_, err := s.Put(ctx, b)
		require.NoError(t, err)
		swap := func(add bool, s string, n int) []entity.UpdateOption {
			if add {
				return append([]entity.UpdateOption{
					entity.AddToSet(&f.S, s), entity.AddToSet(&f.N, n), entity.AddToSet(&f.B, []byte{byte(n)}),
					entity.AddToSet(&f.In.S, s), entity.AddToSet(&f.In.N, n), entity.AddToSet(&f.In.B, []byte{byte(n)}),
					entity.AddToSet(&f.Ptr.S, s), entity.AddToSet(&f.Ptr.N, n), entity.AddToSet(&f.Ptr.B, []byte{byte(n)}),
				}, more...)
			}
			return append([]entity.UpdateOption{
				entity.DeleteFromSet(&f.S, s), entity.DeleteFromSet(&f.N, n), entity.DeleteFromSet(&f.B, []byte{byte(n)}),
				entity.DeleteFromSet(&f.In.S, s), entity.DeleteFromSet(&f.In.N, n), entity.DeleteFromSet(&f.In.B, []byte{byte(n)}),
				entity.DeleteFromSet(&f.Ptr.S, s), entity.DeleteFromSet(&f.Ptr.N, n), entity.DeleteFromSet(&f.Ptr.B, []byte{byte(n)}),
			}, more...)
		}
		_, err = s.Update(ctx, b, swap(true, "new", 2)...)
		require.NoError(t, err, name)
		require.NoError(t, l.db.Transact(ctx, s.Op().Update(b, swap(false, "s", 1)...)), name)
		it := l.values(t, keys("pk", "$app#v1#bag#x", "sk", "$app#v1#bag"))
		require.Equal(t, "M{b=BS[02 ff] n=NS[2 99] s=SS[new z]}", text(it["in"]), name)
		require.Equal(t, text(it["in"]), text(it["ptr"]), name)
		require.Equal(t, text(it["in"]), text(document(map[string]av{"b": it["b"], "n": it["n"], "s": it["s"]})), name)

		_, err = s.Update(ctx, b, append(more, entity.DeleteFromSet(&f.S, "new", "z"), entity.Remove(&f.N), entity.Set(&f.B, nil))...)
		require.NoError(t, err, name)
		it = l.values(t, keys("pk", "$app#v1#bag#x", "sk", "$app#v1#bag"))
		require.Equal(t, []av{nil, nil, nil}, []av{it["s"], it["n"], it["b"]}, "%s: an empty set is no attribute", name)
	}
}

// A set in a condition is a set: it equals the stored one whatever the order, and a list never does.
func TestSets_InConditionsAreSets(t *testing.T) {
	t.Parallel()
	_, s := open[Bag](t)
	f, ctx := entity.Fields[Bag](), t.Context()
	b := bag("s", 1)
	_, err := s.Create(ctx, b)
	require.NoError(t, err)
	p := Pouch{[]string{"z", "s"}, []int{99, 1}, [][]byte{{255}, {1}}}
	for name, c := range map[string]entity.Cond{
		"string": entity.Eq(&f.S, p.S), "number": entity.Eq(&f.N, p.N), "binary": entity.Eq(&f.B, p.B), "one of": entity.In(&f.S, []string{"q"}, p.S),
		"nested": entity.And(entity.Eq(&f.In.S, p.S), entity.Eq(&f.In.N, p.N), entity.Eq(&f.In.B, p.B)), "struct": entity.Eq(&f.In, p), "pointer": entity.Eq(&f.Ptr, &p),
		"list": entity.Eq(&f.List, []Pouch{p}), "map": entity.Eq(&f.Map, map[string]Pouch{"k": p}), "entry": entity.MapEntry(&f.Map, "k").Eq(p),
		"element": entity.And(entity.Contains(&f.S, "z"), entity.Contains(&f.N, 99), entity.Contains(&f.B, []byte{1}), entity.Contains(&f.Ptr.N, 1)),
		"other":   entity.Not(entity.Or(entity.Contains(&f.S, "q"), entity.Eq(&f.N, []int{1}), entity.Ne(&f.B, p.B))),
	} {
		_, err := s.Update(ctx, b, entity.Set(&f.Owner, "p"), entity.If(c))
		require.NoError(t, err, name)
		n, err := s.Query(Bag{ID: "x"}, entity.Filter(c)).Count(ctx)
		require.NoError(t, err, name)
		require.Equal(t, 1, n, name)
	}
}

// No route of no verb puts a number through a float: 38 digits come out as they went in.
func TestRoutes_NumbersKeepEveryDigit(t *testing.T) {
	t.Parallel()
	const big, small = "12345678901234567890123456789012345678", "-0.00012345678901234567890123456789012345678"
	l, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	at := keys("pk", "$app#v1#profile#a", "sk", "$app#v1#profile")
	other := func() entity.Op { return s.Op().Put(Profile{ID: "b"}) }
	for name, write := range map[string]func() error{
		"Update":                      func() error { _, err := s.Update(t.Context(), key, entity.Set(&p.Note, "x")); return err },
		"Update, read first":          func() error { _, err := s.Update(t.Context(), key, entity.Set(&p.Team, "x")); return err },
		"Update in a transaction":     func() error { return l.db.Transact(t.Context(), s.Op().Update(key, entity.Set(&p.Note, "x")), other()) },
		"read first in a transaction": func() error { return l.db.Transact(t.Context(), s.Op().Update(key, entity.Set(&p.Team, "x")), other()) },
		"Update, exactly": func() error {
			_, err := s.Update(t.Context(), key, entity.Set(&p.Team, "x"), entity.Idempotent())
			return err
		},
		"Modify": func() error {
			_, err := s.Modify(t.Context(), key, func(v *Profile) error { v.Note = "x"; return nil })
			return err
		},
		"Upsert":             func() error { _, _, err := s.Upsert(t.Context(), Profile{ID: "a", Team: "x", Rank: 1}); return err },
		"Upsert, read first": func() error { _, _, err := s.Upsert(t.Context(), Profile{ID: "a", Team: "x"}); return err },
		"Put":                func() error { _, err := s.Put(t.Context(), Profile{ID: "a", Team: "x", Rank: 1}); return err },
		"Put, exactly":       func() error { _, err := s.Put(t.Context(), Profile{ID: "a"}, entity.Idempotent()); return err },
	} {
		t.Run(name, func(t *testing.T) {
			l.drop(t, at)
			_, err := s.Create(t.Context(), Profile{ID: "a", Team: "t", Rank: 1})
			require.NoError(t, err)
			l.patch(t, at, "n", num(big))
			l.patch(t, at, "m", &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{num(small)}}}})
			l.patch(t, at, "ns", &types.AttributeValueMemberNS{Value: []string{big, small}})
			before := l.stored(t, at)
			require.NoError(t, write())
			after := l.stored(t, at)
			for _, attr := range []string{"n", "m", "ns"} {
				require.Equal(t, before[attr], after[attr])
			}
			require.Contains(t, after["n"], big)
		})
	}
}

// A change of a path inside an attribute is applied on every route, and never passed over in silence.
func TestRoutes_PathChangesAreApplied(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	at := keys("pk", "$app#v1#profile#a", "sk", "$app#v1#profile")
	changes := []entity.UpdateOption{
		entity.MapEntry(&p.Labels, "new").Set("n"), entity.MapEntry(&p.Labels, "old").Remove(), entity.Set(&p.Home.City, "moved"),
		entity.Attr[int]("lines[0].qty").Set(7), entity.ListAppend(&p.Log, "y"), entity.AddToSet(&p.Tags, "c"), entity.Add(&p.Count, 2),
	}
	readFirst := append([]entity.UpdateOption{entity.Set(&p.Team, "u")}, changes...) // of the two parts of an index key
	routes := map[string]struct {
		changes []entity.UpdateOption
		send    func([]entity.UpdateOption) error
	}{}
	for name, c := range map[string][]entity.UpdateOption{"blind": changes, "read first": readFirst} {
		routes[name+", alone"] = struct {
			changes []entity.UpdateOption
			send    func([]entity.UpdateOption) error
		}{c, func(c []entity.UpdateOption) error { _, err := s.Update(t.Context(), key, c...); return err }}
		routes[name+", in a transaction"] = struct {
			changes []entity.UpdateOption
			send    func([]entity.UpdateOption) error
		}{c, func(c []entity.UpdateOption) error {
			return l.db.Transact(t.Context(), s.Op().Update(key, c...), s.Op().Put(Profile{ID: "b"}))
		}}
		routes[name+", exactly"] = struct {
			changes []entity.UpdateOption
			send    func([]entity.UpdateOption) error
		}{append(c[:len(c):len(c)], entity.Idempotent()), func(c []entity.UpdateOption) error { _, err := s.Update(t.Context(), key, c...); return err }}
	}
	for name, r := range routes {
		t.Run(name, func(t *testing.T) {
			l.drop(t, at)
			_, err := s.Create(t.Context(), Profile{
				ID: "a", Team: "t", Rank: 1, Home: Address{City: "home"}, Labels: map[string]string{"old": "o", "kept": "k"},
				Lines: []Line{{SKU: "s", Qty: 1}}, Log: []string{"x"}, Tags: []string{"a"}, Count: 1,
			})
			require.NoError(t, err)
			require.NoError(t, r.send(r.changes))
			it := l.stored(t, at)
			require.Equal(t, []string{`M{kept=S"k" new=S"n"}`, `M{city=S"moved"}`, `L[M{qty=N7 sku=S"s"}]`, `L[S"x" S"y"]`, "SS[a c]", "N3"},
				[]string{it["labels"], it["home"], it["lines"], it["log"], it["tags"], it["count"]})
		})
	}
	t.Run("a path that leads nowhere fails on every route", func(t *testing.T) {
		before := l.stored(t, at)
		for name, r := range routes {
			bad := append(r.changes[:len(r.changes):len(r.changes)], entity.MapEntry(&p.Scores, "x").Set(1))
			require.ErrorIs(t, r.send(bad), entity.ErrConditionFailed, name)
			require.Equal(t, before, l.stored(t, at), name)
		}
	})
}
