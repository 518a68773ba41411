package entity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

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
