package schema_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// order has a sort key of three parts.
type order struct {
	_      entity.Key `name:"Order" pk:"$#{shop}" sk:"$#{year}#{month}#{id}"`
	Shop   string     `dynamodbav:"shop"`
	Year   int        `dynamodbav:"year"`
	Month  int        `dynamodbav:"month"`
	ID     string     `dynamodbav:"id"`
	Amount int        `dynamodbav:"amount"`
}

// requireBadQuery runs q, which must fail before any request: the database has no client.
func requireBadQuery(t *testing.T, code, field string, q entity.Query[order]) {
	t.Helper()
	_, err := q.Collect(t.Context())
	var bad *entity.InputError
	require.True(t, errors.As(err, &bad), "%v", err)
	require.Equal(t, code, bad.Code)
	require.Equal(t, "schema_test.order", bad.Type)
	require.Equal(t, field, bad.Field)
}

// requireGoodQuery checks that nothing but the missing client stops q.
func requireGoodQuery(t *testing.T, q entity.Query[order]) {
	t.Helper()
	_, err := q.Collect(t.Context())
	require.ErrorIs(t, err, entity.ErrNoClient)
}

func TestQuery_SortKeyPartsAreFixedFromTheLeft(t *testing.T) {
	t.Parallel()
	store := entity.Must(entity.New[order](open(t)))
	o := entity.Fields[order]()

	requireBadQuery(t, "EDD-9004", "Month", store.Query(order{Shop: "s", Month: 5}))
	requireBadQuery(t, "EDD-9004", "Month", store.Query(order{Shop: "s"}, entity.Gt(&o.Month, 5)))
	requireBadQuery(t, "EDD-9004", "Month", store.Query(order{Shop: "s"}, entity.Gt(&o.Year, 2024), entity.Gt(&o.Month, 5)))
	requireBadQuery(t, "EDD-9004", "Year", store.Query(order{Shop: "s", Year: 2024}, entity.Gt(&o.Year, 2023)))

	requireGoodQuery(t, store.Query(order{Shop: "s", Year: 2024, Month: 5}))
	requireGoodQuery(t, store.Query(order{Shop: "s", Year: 2024}, entity.Gt(&o.Month, 5)))
	requireGoodQuery(t, store.Query(order{Shop: "s"}, entity.Eq(&o.Year, 2024), entity.Gt(&o.Month, 5)))
}

func TestQuery_ConditionOutsideTheKeyBelongsInFilter(t *testing.T) {
	t.Parallel()
	store := entity.Must(entity.New[order](open(t)))
	o := entity.Fields[order]()

	requireBadQuery(t, "EDD-9006", "Amount", store.Query(order{Shop: "s"}, entity.Gt(&o.Amount, 5)))
	requireBadQuery(t, "EDD-9006", "Amount", store.Query(order{Shop: "s", Amount: 5}))
	requireBadQuery(t, "EDD-9006", "Shop", store.Query(order{Shop: "s"}, entity.Eq(&o.Shop, "s")))
	requireBadQuery(t, "EDD-9006", "", store.Query(order{Shop: "s"}, entity.Exists(&o.Year)))

	requireGoodQuery(t, store.Query(order{Shop: "s"}, entity.Filter(entity.Gt(&o.Amount, 5))))
}
