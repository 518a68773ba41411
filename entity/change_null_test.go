package entity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

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
