package exec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestCondition_TheErrorNamesWhatDidNotHoldAndNoValue(t *testing.T) {
	s := newShop(t, nil)
	ctx, f, k := t.Context(), s.f, entity.Fields[Kept]()
	s.create(Order{ID: "o", Status: "open", Note: "private"})
	_, err := s.others.kept.Create(ctx, Kept{ID: "k", Name: "private"})
	require.NoError(t, err)
	wrong := entity.If(entity.Eq(&f.Status, "paid"), entity.Eq(&f.Note, "private"), entity.Gt(&f.Count, 7))
	check := func(err error, text string) {
		t.Helper()
		require.ErrorIs(t, err, entity.ErrConditionFailed)
		require.ErrorContains(t, err, "condition failed: "+text)
		require.NotContains(t, err.Error(), "private")
		require.NotContains(t, err.Error(), "paid")
	}
	_, err = s.orders.Update(ctx, Order{ID: "o"}, entity.Set(&f.Count, 1), wrong)
	check(err, "status = ? AND count > ?")
	_, err = s.orders.Modify(ctx, Order{ID: "o"}, func(o *Order) error { o.Count++; return nil }, wrong)
	check(err, "status = ? AND count > ?")
	check(s.orders.Delete(ctx, Order{ID: "o"}, entity.If(entity.Or(entity.Eq(&f.Status, "paid"), entity.NotExists(&f.Note)))), "status = ? OR attribute_not_exists(note)")
	_, err = s.kept.Update(ctx, Kept{ID: "k"}, entity.Set(&k.Name, "2"), entity.If(entity.BeginsWith(&k.Name, "paid")))
	check(err, "begins_with(name, ?)")
	require.NoError(t, s.others.orders.Delete(ctx, Order{ID: "o"}))
	_, _, err = s.orders.Upsert(ctx, Order{ID: "o"}, wrong)
	check(err, "status = ? AND note = ? AND count > ?")
	err = s.db.Transact(ctx, s.orders.Op().Create(Order{ID: "p"}), s.kept.Op().CheckExists(Kept{ID: "k"}, entity.Eq(&k.Name, "paid")))
	check(err, "name = ?")
}

// Sealed has a secret whose places may be data, too.
type Sealed struct {
	_      entity.Key        `name:"Sealed" pk:"$#{id}" sk:"$"`
	ID     string            `dynamodbav:"id"`
	Secret map[string]string `dynamodbav:"secret" entity:"secret"`
}

func TestCondition_OfASecretHidesWhatIsInside(t *testing.T) {
	s := newShop(t, nil)
	sealed, f := entity.Must(entity.New[Sealed](s.db)), entity.Fields[Sealed]()
	_, err := sealed.Create(t.Context(), Sealed{ID: "s", Secret: map[string]string{"alice": "1"}})
	require.NoError(t, err)
	_, err = sealed.Put(t.Context(), Sealed{ID: "s", Secret: map[string]string{}}, entity.If(entity.MapEntry(&f.Secret, "alice").Eq("2")))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	require.ErrorContains(t, err, "condition failed: secret.<hidden> = ?")
	require.NotContains(t, err.Error(), "alice")
}
