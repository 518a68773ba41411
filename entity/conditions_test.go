package entity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/testsize"
)

var seen = time.Date(2024, 5, 6, 7, 8, 9, 123000000, time.UTC)

// furnished is a profile with something in nearly every attribute; work is absent.
func furnished() Profile {
	alias, off := "al", false
	return Profile{
		ID: "a", Team: "red", Rank: 1, Home: Address{City: "Rome", Geo: &Geo{Lat: 1.5, Lon: 2}},
		Labels: map[string]string{"a.b": "x", "l[0]": "y", "size": "z"}, Scores: map[string]int{"n": 3},
		Lines: []Line{{"s1", 2}, {"s2", 5}}, Log: []string{"one", "two"}, Tags: []string{"t1", "t2"}, Numbers: []int{1, 2},
		Note: "note", Alias: &alias, Active: &off, Count: 5, Total: 1.5, SeenAt: seen, Order: "o",
	}
}

type trial struct {
	cond  entity.Cond
	holds bool
}

func trials() map[string]trial {
	p, f := entity.Fields[Profile](), furnished()
	return map[string]trial{
		"Eq":                     {entity.Eq(&p.Note, "note"), true},
		"Eq other":               {entity.Eq(&p.Note, "not"), false},
		"Eq empty text":          {entity.Eq(&p.Plain, ""), true},
		"Eq of absent":           {entity.Eq(&p.Work.City, "Rome"), false},
		"Ne":                     {entity.Ne(&p.Note, "x"), true},
		"Ne same":                {entity.Ne(&p.Note, "note"), false},
		"Ne of absent":           {entity.Ne(&p.Work.City, "Rome"), true},
		"Lt":                     {entity.Lt(&p.Count, 6), true},
		"Lt same":                {entity.Lt(&p.Count, 5), false},
		"Le same":                {entity.Le(&p.Count, 5), true},
		"Le":                     {entity.Le(&p.Count, 4), false},
		"Gt":                     {entity.Gt(&p.Count, 4), true},
		"Gt same":                {entity.Gt(&p.Count, 5), false},
		"Ge same":                {entity.Ge(&p.Count, 5), true},
		"Ge":                     {entity.Ge(&p.Count, 6), false},
		"numbers, not texts":     {entity.Lt(&p.Count, 10), true},
		"Between":                {entity.Between(&p.Count, 5, 5), true},
		"Between above":          {entity.Between(&p.Count, 6, 9), false},
		"Between reversed":       {entity.Between(&p.Count, 9, 1), false},
		"In":                     {entity.In(&p.Note, "x", "note"), true},
		"In others":              {entity.In(&p.Note, "x", "y"), false},
		"BeginsWith":             {entity.BeginsWith(&p.Note, "no"), true},
		"BeginsWith other":       {entity.BeginsWith(&p.Note, "ot"), false},
		"Contains list":          {entity.Contains(&p.Log, "two"), true},
		"Contains list no":       {entity.Contains(&p.Log, "tw"), false},
		"Contains set":           {entity.Contains(&p.Tags, "t1"), true},
		"Contains set no":        {entity.Contains(&p.Tags, "t"), false},
		"Contains number":        {entity.Contains(&p.Numbers, 2), true},
		"Contains struct":        {entity.Contains(&p.Lines, Line{"s2", 5}), true},
		"Contains struct no":     {entity.Contains(&p.Lines, Line{"s2", 6}), false},
		"Exists":                 {entity.Exists(&p.Note), true},
		"Exists of absent":       {entity.Exists(&p.Work), false},
		"Exists nested":          {entity.Exists(&p.Home.Geo.Lat), true},
		"NotExists":              {entity.NotExists(&p.Work.Geo.Lat), true},
		"NotExists no":           {entity.NotExists(&p.Active), false},
		"nested":                 {entity.Eq(&p.Home.City, "Rome"), true},
		"nested pointer":         {entity.Gt(&p.Home.Geo.Lat, 1.0), true},
		"pointee":                {entity.Eq(p.Alias, "al"), true},
		"pointer":                {entity.Eq(&p.Alias, f.Alias), true},
		"false is a value":       {entity.Eq(p.Active, false), true},
		"false is a value no":    {entity.Eq(p.Active, true), false},
		"whole struct":           {entity.Eq(&p.Home, f.Home), true},
		"whole struct no":        {entity.Eq(&p.Home, Address{City: "Rome"}), false},
		"whole map":              {entity.Eq(&p.Labels, f.Labels), true},
		"whole list":             {entity.Eq(&p.Log, []string{"two", "one"}), false},
		"whole set":              {entity.Eq(&p.Tags, []string{"t2", "t1"}), true},
		"entry with a dot":       {entity.MapEntry(&p.Labels, "a.b").Eq("x"), true},
		"entry with a dot no":    {entity.MapEntry(&p.Labels, "a.b").Eq("y"), false},
		"entry with a bracket":   {entity.MapEntry(&p.Labels, "l[0]").Eq("y"), true},
		"entry that is reserved": {entity.MapEntry(&p.Labels, "size").Exists(), true},
		"entry absent":           {entity.MapEntry(&p.Labels, "b").NotExists(), true},
		"entry of absent map":    {entity.MapEntry(&p.Scores, "m").Exists(), false},
		"entry of number":        {entity.MapEntry(&p.Scores, "n").Eq(3), true},
		"path into a list":       {entity.Attr[int]("lines[1].qty").Eq(5), true},
		"path into a list no":    {entity.Attr[int]("lines[0].qty").Eq(5), false},
		"path past the end":      {entity.Attr[int]("lines[2].qty").NotExists(), true},
		"path into a struct":     {entity.Attr[float64]("home.geo.lat").Eq(1.5), true},
		"reserved word":          {entity.Eq(&p.Order, "o"), true},
		"And":                    {entity.And(entity.Eq(&p.Note, "note"), entity.Eq(&p.Count, 5)), true},
		"And no":                 {entity.And(entity.Eq(&p.Note, "note"), entity.Eq(&p.Count, 6)), false},
		"And of one":             {entity.And(entity.Eq(&p.Count, 6)), false},
		"Or":                     {entity.Or(entity.Eq(&p.Note, "x"), entity.Eq(&p.Count, 5)), true},
		"Or no":                  {entity.Or(entity.Eq(&p.Note, "x"), entity.Eq(&p.Count, 6)), false},
		"Or inside And":          {entity.And(entity.Eq(&p.Note, "x"), entity.Or(entity.Eq(&p.Count, 5), entity.Eq(&p.Count, 6))), false},
		"And inside Or":          {entity.Or(entity.And(entity.Eq(&p.Note, "x"), entity.Eq(&p.Count, 6)), entity.Eq(&p.Rank, 1)), true},
		"Or left in Or":          {entity.Or(entity.Or(entity.Eq(&p.Note, "x"), entity.Eq(&p.Rank, 1)), entity.Eq(&p.Count, 6)), true},
		"Not of Or":              {entity.Not(entity.Or(entity.Eq(&p.Note, "x"), entity.Eq(&p.Count, 5))), false},
		"Not of And":             {entity.Not(entity.And(entity.Eq(&p.Note, "x"), entity.Eq(&p.Count, 5))), true},
		"Not of Not":             {entity.Not(entity.Not(entity.Eq(&p.Count, 5))), true},
		"Not of absent":          {entity.Not(entity.Eq(&p.Work.City, "Rome")), true},
		"time":                   {entity.Eq(&p.SeenAt, seen.In(time.FixedZone("", 3600))), true},
		"time Lt finer":          {entity.Lt(&p.SeenAt, seen.Add(1)), true},
		"time Le finer":          {entity.Le(&p.SeenAt, seen.Add(1)), true},
		"time Le finer below":    {entity.Le(&p.SeenAt, seen.Add(-1)), false},
		"time Gt finer":          {entity.Gt(&p.SeenAt, seen.Add(1)), false},
		"time Gt finer below":    {entity.Gt(&p.SeenAt, seen.Add(-1)), true},
		"time Ge finer":          {entity.Ge(&p.SeenAt, seen.Add(1)), false},
		"time Ge finer below":    {entity.Ge(&p.SeenAt, seen.Add(-1)), true},
		"time Between finer":     {entity.Between(&p.SeenAt, seen.Add(-1), seen.Add(1)), true},
		"time Between nothing":   {entity.Between(&p.SeenAt, seen.Add(1), seen.Add(2)), false},
	}
}

// A condition means the same on a write in place, on one that reads first, in a check, and as a filter.
func TestCondition_MeansTheSameEverywhere(t *testing.T) {
	t.Parallel()
	l, s := opened(t, furnished())
	p := entity.Fields[Profile]()
	key := Profile{ID: "a"}
	for name, c := range trials() {
		t.Run(name, func(t *testing.T) {
			outcome := func(where string, err error) {
				t.Helper()
				if c.holds {
					require.NoError(t, err, where)
				} else {
					require.ErrorIs(t, err, entity.ErrConditionFailed, where)
				}
			}
			_, err := s.Update(t.Context(), key, entity.Set(&p.Plain, ""), entity.If(c.cond))
			outcome("in place", err)
			_, err = s.Update(t.Context(), key, entity.Set(&p.Rank, 1), entity.If(c.cond))
			outcome("after a read", err)
			outcome("check", l.DB.Transact(t.Context(), s.Op().CheckExists(key, c.cond)))
			count := func(c entity.Cond) int {
				n := entity.Must(s.Query(key, entity.Filter(c), entity.Consistent()).Count(t.Context()))
				return n
			}
			want := map[bool]int{true: 1, false: 0}
			require.Equal(t, want[c.holds], count(c.cond), "filter")
			if testsize.Long() {
				require.Equal(t, want[!c.holds], count(entity.Not(c.cond)), "negated")
			}
		})
	}
}

func TestCondition_TimeThatNoStoredOneCanEqualIsAnError(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p := entity.Fields[Profile]()
	for _, c := range []entity.Cond{entity.Eq(&p.SeenAt, seen.Add(1)), entity.In(&p.SeenAt, seen, seen.Add(1))} {
		_, err := s.Query(Profile{ID: "a"}, entity.Filter(c)).Count(t.Context())
		l.requireRefused(t, err, "EDD-9102", "SeenAt")
	}
}

func TestCondition_InTakesUpToAHundredValues(t *testing.T) {
	t.Parallel()
	l, s := opened(t, furnished())
	p := entity.Fields[Profile]()
	values := make([]int, 100)
	values[99] = 5
	l.OK(s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&p.Plain, ""), entity.If(entity.In(&p.Count, values...))))
}

// Two stores that use the prototype of one struct name the same attributes.
func TestCondition_PrototypeIsOneForTheProgram(t *testing.T) {
	t.Parallel()
	require.Same(t, entity.Fields[Profile](), entity.Fields[Profile]())
	p := entity.Fields[Profile]()
	require.NotNil(t, p.Work.Geo, "pointer fields can be followed")
	require.NotNil(t, p.Alias)
}

// many is a condition that holds, with n operators as DynamoDB counts them: comparisons and the ORs between them.
func many(n int) entity.Cond {
	g := entity.Fields[Gadget]()
	conds := []entity.Cond{}
	for range (n + 1) / 2 {
		conds = append(conds, entity.Eq(&g.HardwareID, gadgetID))
	}
	return entity.Or(conds...)
}

func TestCondition_MoreOperatorsThanAGuardLeavesRoomForAreRefused(t *testing.T) {
	t.Parallel()
	l, s := opened(t, gadget())
	g := entity.Fields[Gadget]()
	_, err := s.Update(t.Context(), gadget(), entity.Set(&g.Name, "n"), entity.If(many(269)))
	require.NoError(t, err, "as many as fit in addition to a guard")
	l.Sent()
	_, err = s.Update(t.Context(), gadget(), entity.Set(&g.Name, "n"), entity.If(many(273)))
	l.requireRefused(t, err, "EDD-9111", "")
	_, err = s.Modify(t.Context(), gadget(), func(g *Gadget) error { g.Name = "m"; return nil }, entity.If(many(269)))
	require.NoError(t, err, "also with the guard of a whole image of this size")
}

// Wide has more attributes than a guard of its whole content leaves room for in addition to a long condition.
type Wide struct {
	_ entity.Key `name:"Wide" pk:"id"`

	ID                                     string `dynamodbav:"id"`
	A, B, C, D, E, F, G, H, I, J           int
	K, L, M, N, O, P, Q, R, S, T           int
	AA, BB, CC, DD, EE, FF, GG, HH, II, JJ int
}

func TestCondition_TooLongWithItsGuardIsRefused(t *testing.T) {
	t.Parallel()
	l, s := opened(t, Wide{ID: "w"})
	w := entity.Fields[Wide]()
	conds := []entity.Cond{}
	for range 135 {
		conds = append(conds, entity.Eq(&w.A, 0))
	}
	l.Sent()
	_, err := s.Modify(t.Context(), Wide{ID: "w"}, func(w *Wide) error { w.B++; return nil }, entity.If(entity.Or(conds...)))
	dbtest.RequireInput(t, err, "EDD-9111", "")
	for _, r := range l.Operations() {
		require.Equal(t, "GetItem", r, "it is found when the guard is known, and nothing is sent")
	}
}

// Attributes with the names of reserved words are attributes like any other, keys included.
func TestNames_ReservedWordsAndDotsAreOrdinary(t *testing.T) {
	t.Parallel()
	type reserved struct {
		_       entity.Key `name:"Reserved" pk:"hash" sk:"range"`
		_       entity.GSI `name:"byStatus" index:"gsi1" pk:"status" sk:"timestamp"`
		Hash    string     `dynamodbav:"hash"`
		Range   string     `dynamodbav:"range"`
		Name    string     `dynamodbav:"name,omitempty"`
		Status  string     `dynamodbav:"status,omitempty"`
		Time    int        `dynamodbav:"timestamp,omitempty"`
		Size    int        `dynamodbav:"size"`
		Dotted  string     `dynamodbav:"a.b c,omitempty"`
		Version int        `dynamodbav:"version" entity:"version"`
	}
	l, s := open[reserved](t)
	f, key := entity.Fields[reserved](), reserved{Hash: "A", Range: "B"}
	l.OK(s.Upsert(t.Context(), reserved{Hash: "A", Range: "B", Name: "v0", Status: "s", Time: 1}))
	got, err := s.Update(t.Context(), key, entity.Set(&f.Name, "v1"), entity.Set(&f.Dotted, "x"), entity.Add(&f.Size, 1), entity.If(entity.Eq(&f.Version, 1), entity.Eq(&f.Name, "v0"), entity.NotExists(&f.Dotted)))
	require.NoError(t, err)
	require.Equal(t, reserved{Hash: "A", Range: "B", Name: "v1", Status: "s", Time: 1, Size: 1, Dotted: "x", Version: 2}, got)
	one := entity.Must(entity.Must(s.Index("byStatus")).Query(reserved{Status: "s"}, entity.Gt(&f.Time, 0), entity.Filter(entity.Eq(&f.Name, "v1"), entity.Gt(&f.Size, 0))).One(t.Context()))
	require.Equal(t, got, one)
	require.Equal(t, `S"x"`, l.stored(keys("hash", "A", "range", "B"))["a.b c"])
	got, err = s.Modify(t.Context(), key, func(v *reserved) error { v.Size++; return nil })
	require.NoError(t, err, "guarded by its content, reserved names and all")
	require.Equal(t, []int{2, 3}, []int{got.Size, got.Version})
}
