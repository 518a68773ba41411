package entity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/testsize"
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
	l, s := opened(t, furnished())
	p := entity.Fields[Profile]()
	begin := l.values(profileKey)
	for name, a := range alterations() {
		t.Run(name, func(t *testing.T) {
			for route, more := range map[string][]entity.UpdateOption{"UpdateItem": nil, "PutItem": one(entity.Set(&p.Rank, 2))} {
				l.PutItem(begin)
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
				l.Sent()
				got, err := s.Update(t.Context(), Profile{ID: "a"}, append(more, a.changes...)...)
				require.NoError(t, err, route)
				sent := l.Operations()
				require.Equal(t, route, sent[len(sent)-1])
				require.Equal(t, want, without(l.stored(profileKey), "_w"), route)
				if testsize.Long() || len(name)%3 == 0 {
					again := entity.Must(s.Get(t.Context(), Profile{ID: "a"}))
					require.Equal(t, again, got, "%s: the result is the item as stored", route)
				}
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
			l.OK(s.Create(t.Context(), c.whole))
			_ = s.Delete(t.Context(), Profile{ID: "a"})
			l.OK(s.Create(t.Context(), Profile{ID: "a"}))
			l.OK(s.Update(t.Context(), Profile{ID: "a"}, c.change))
			names := []string{"_w", "pk", "id", "gsi1sk"}
			want := without(l.stored(keys("pk", "$app#v1#profile#whole", "sk", "$app#v1#profile")), names...)
			require.Equal(t, want, without(l.stored(profileKey), names...))
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
	l.OK(s.Create(t.Context(), satchel{ID: "a", Set: []string{}}))
	require.Equal(t, []string{"NULL", "NULL"}, []string{l.stored(at)["list"], l.stored(at)["set"]}, "what this test is about")
	l.Sent()
	got, err := s.Update(t.Context(), satchel{ID: "a"}, entity.ListAppend(&f.List, "x"), entity.AddToSet(&f.Set, "y"), entity.Add(f.Count, 2))
	require.NoError(t, err)
	require.Equal(t, []string{"x"}, got.List)
	require.Equal(t, []string{"y"}, got.Set)
	require.Equal(t, 2, *got.Count)
	require.Equal(t, []string{"UpdateItem", "GetItem", "PutItem"}, l.Operations(), "only the first time")
	l.OK(s.Update(t.Context(), satchel{ID: "a"}, entity.ListAppend(&f.List, "z"), entity.DeleteFromSet(&f.Set, "y")))
	require.Equal(t, []string{"UpdateItem"}, l.Operations())

	l.OK(s.Create(t.Context(), satchel{ID: "b"}))
	require.NoError(t, l.DB.Transact(t.Context(), s.Op().Update(satchel{ID: "b"}, entity.DeleteFromSet(&f.Set, "y"), entity.ListAppend(&f.List, "x")), s.Op().CheckNotExists(satchel{ID: "c"})))
	stored := entity.Must(s.Get(t.Context(), satchel{ID: "b"}, entity.Consistent()))
	require.Equal(t, satchel{ID: "b", List: []string{"x"}}, stored)
}

func TestElements_AStoredValueOfAnotherTypeIsNamed(t *testing.T) {
	t.Parallel()
	l, s := opened(t, satchel{ID: "a"})
	f := entity.Fields[satchel]()
	l.patch(keys("pk", "$app#v1#satchel#a", "sk", "$app#v1#satchel"), "list", num("7"))
	_, err := s.Update(t.Context(), satchel{ID: "a"}, entity.ListAppend(&f.List, "x"))
	requireNamed(t, err, "list")
}

func TestChange_OfAbsentAttributesBeginsAtNothing(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p := entity.Fields[Profile]()
	for route, more := range map[string][]entity.UpdateOption{"in place": nil, "after a read": one(entity.Set(&p.Rank, 2))} {
		_ = s.Delete(t.Context(), Profile{ID: "a"})
		l.OK(s.Create(t.Context(), Profile{ID: "a"}))
		_, err := s.Update(t.Context(), Profile{ID: "a"}, append(more, entity.Add(&p.Count, 3), entity.Add(&p.Total, -0.5),
			entity.ListAppend(&p.Log, "one"), entity.AddToSet(&p.Tags, "t"), entity.DeleteFromSet(&p.Numbers, 1))...)
		require.NoError(t, err, route)
		it := l.stored(profileKey)
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
			l.drop(profileKey)
			_, err := s.Update(t.Context(), Profile{ID: "a"}, c.change)
			require.ErrorIs(t, err, entity.ErrNotFound, "of an absent item the parent is not the problem")
			require.NotErrorIs(t, err, entity.ErrConditionFailed)

			l.OK(s.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1, Note: "text"}))
			before := l.everything()
			_, err = s.Update(t.Context(), Profile{ID: "a"}, c.change, entity.Add(&p.Count, 1))
			requireNamed(t, err, c.parent)
			_, err = s.Update(t.Context(), Profile{ID: "a"}, c.change, entity.Set(&p.Rank, 2))
			requireNamed(t, err, c.parent)
			op := s.Op().Update(Profile{ID: "a"}, c.change)
			err = l.DB.Transact(t.Context(), op, s.Op().Create(Profile{ID: "b"}))
			requireNamed(t, entity.FailureOf(err, op), c.parent)
			require.Equal(t, before, l.everything())
		})
	}
}

func TestChange_ParentThatIsThereIsNotBlamedForAFailedCondition(t *testing.T) {
	t.Parallel()
	_, s := opened(t, furnished())
	p := entity.Fields[Profile]()
	_, err := s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&p.Home.City, "x"), entity.If(entity.Eq(&p.Count, 99)))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	var named *entity.ConditionError
	require.NotErrorAs(t, err, &named)
}
