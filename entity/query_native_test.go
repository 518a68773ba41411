package entity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func numbers(orders []Order) (out []int) {
	for _, o := range orders {
		out = append(out, o.Number)
	}
	return out
}

func orders(t *testing.T) (*lab, *entity.Store[Order]) {
	t.Helper()
	l, s := open[Order](t)
	for i, n := range []int{-10, -2, 3, 20, 100} {
		_, err := s.Create(t.Context(), Order{Customer: "c", Number: n, Status: "open", Placed: int64(n * 5), Amount: 50 - i*10, Note: "n"})
		require.NoError(t, err)
	}
	_, err := s.Create(t.Context(), Order{Customer: "d", Number: 4, Status: "opened", Placed: 4})
	require.NoError(t, err)
	l.sent()
	return l, s
}

// A native number is ordered as a number.
func TestQuery_NativeNumbersAreOrderedAsNumbers(t *testing.T) {
	t.Parallel()
	l, s := orders(t)
	f := entity.Fields[Order]()
	for name, c := range map[string]struct {
		cond []entity.QueryOption
		want []int
	}{
		"all":     {nil, []int{-10, -2, 3, 20, 100}},
		"Gt":      {[]entity.QueryOption{entity.Gt(&f.Number, -10)}, []int{-2, 3, 20, 100}},
		"Ge":      {[]entity.QueryOption{entity.Ge(&f.Number, 3)}, []int{3, 20, 100}},
		"Lt":      {[]entity.QueryOption{entity.Lt(&f.Number, 20)}, []int{-10, -2, 3}},
		"Le":      {[]entity.QueryOption{entity.Le(&f.Number, -2), entity.Desc()}, []int{-2, -10}},
		"Eq":      {[]entity.QueryOption{entity.Eq(&f.Number, 3)}, []int{3}},
		"Between": {[]entity.QueryOption{entity.Between(&f.Number, -5, 20)}, []int{-2, 3, 20}},
	} {
		got, err := s.Query(Order{Customer: "c"}, c.cond...).Collect(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, c.want, numbers(got), name)
		require.Equal(t, []string{"Query"}, l.sent(), name)
	}
	got, err := s.Query(Order{Customer: "c"}, entity.Between(&f.Number, 5, 1)).Collect(t.Context())
	require.NoError(t, err)
	require.Empty(t, got)
	require.Empty(t, l.sent(), "a reversed range needs no request")
}

func TestQuery_NativeIndexes(t *testing.T) {
	t.Parallel()
	l, s := orders(t)
	f := entity.Fields[Order]()
	byStatus, err := s.Index("byStatus")
	require.NoError(t, err)
	byAmount, err := s.Index("byAmount")
	require.NoError(t, err)

	got, err := byStatus.Query(Order{Status: "open"}, entity.Ge(&f.Placed, 0)).Collect(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{3, 20, 100}, numbers(got))
	require.Equal(t, "n", got[0].Note)
	_, err = byStatus.Query(Order{Status: "open"}, entity.Consistent()).Collect(t.Context())
	requireInput(t, err, "EDD-9108", "")

	l.sent()
	got, err = byAmount.Query(Order{Customer: "c"}, entity.Between(&f.Amount, 20, 40), entity.Consistent()).Collect(t.Context())
	require.NoError(t, err, "a local index has consistent reads")
	require.Equal(t, []int{20, 3, -2}, numbers(got))
	var cursor string
	var paged []int
	for {
		page, err := byAmount.Query(Order{Customer: "c"}, entity.Limit(2)).Page(t.Context(), cursor)
		require.NoError(t, err)
		paged = append(paged, numbers(page.Items)...)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	require.Equal(t, []int{100, 20, 3, -2, -10}, paged)
}

// DynamoDB does not filter by the key that it queries; the answer must say so before a request does.
func TestQuery_FilterOnANativeKeyAttributeNamesTheField(t *testing.T) {
	t.Parallel()
	l, s := orders(t)
	f := entity.Fields[Order]()
	byStatus, err := s.Index("byStatus")
	require.NoError(t, err)
	for field, q := range map[string]entity.Query[Order]{
		"Number":   s.Query(Order{Customer: "c"}, entity.Filter(entity.Gt(&f.Number, 1))),
		"Customer": s.Query(Order{Customer: "c"}, entity.Filter(entity.Or(entity.Eq(&f.Note, "n"), entity.Not(entity.Eq(&f.Customer, "c"))))),
		"Placed":   byStatus.Query(Order{Status: "open"}, entity.Filter(entity.Gt(&f.Placed, 1))),
		"Status":   byStatus.Query(Order{Status: "open"}, entity.Filter(entity.And(entity.Eq(&f.Status, "open"), entity.Eq(&f.Note, "n")))),
	} {
		_, err := q.Collect(t.Context())
		l.requireRefused(t, err, "EDD-9112", field)
	}
	got, err := s.Query(Order{Customer: "c"}, entity.Filter(entity.Eq(&f.Amount, 50))).Collect(t.Context())
	require.NoError(t, err, "the key of an index that is not queried is filtered like any attribute")
	require.Equal(t, []int{-10}, numbers(got))
	got, err = byStatus.Query(Order{Status: "open"}, entity.Filter(entity.Eq(&f.Number, 3))).Collect(t.Context())
	require.NoError(t, err, "and so is the table's key in a query of an index")
	require.Equal(t, []int{3}, numbers(got))
}

// Parcel has native keys of strings, and an index key of several attributes a side.
type Parcel struct {
	_ entity.Key `name:"Parcel" pk:"depot" sk:"code"`
	_ entity.GSI `name:"byRoute" index:"route-index" pk:"country+zone" sk:"day+weight"`

	Depot   string `dynamodbav:"depot"`
	Code    string `dynamodbav:"code"`
	Country string `dynamodbav:"country,omitempty"`
	Zone    int    `dynamodbav:"zone,omitempty"`
	Day     string `dynamodbav:"day,omitempty"`
	Weight  int    `dynamodbav:"weight,omitempty"`
}

func TestQuery_NativeStrings(t *testing.T) {
	t.Parallel()
	l, s := open[Parcel](t)
	f := entity.Fields[Parcel]()
	for _, code := range []string{"a", "a#", "ab", "b"} {
		_, err := s.Create(t.Context(), Parcel{Depot: "d", Code: code})
		require.NoError(t, err)
	}
	l.sent()
	for name, c := range map[string]struct {
		cond entity.Cond
		want []string
	}{
		"BeginsWith":       {entity.BeginsWith(&f.Code, "a"), []string{"a", "a#", "ab"}},
		"BeginsWith empty": {entity.BeginsWith(&f.Code, ""), []string{"a", "a#", "ab", "b"}},
		"Gt":               {entity.Gt(&f.Code, "a"), []string{"a#", "ab", "b"}},
		"Gt empty":         {entity.Gt(&f.Code, ""), []string{"a", "a#", "ab", "b"}},
		"Lt":               {entity.Lt(&f.Code, "ab"), []string{"a", "a#"}},
		"Lt empty":         {entity.Lt(&f.Code, ""), nil},
		"Between":          {entity.Between(&f.Code, "a#", "ab"), []string{"a#", "ab"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.Query(Parcel{Depot: "d"}, c.cond).Collect(t.Context())
			require.NoError(t, err)
			var codes []string
			for _, p := range got {
				codes = append(codes, p.Code)
			}
			require.Equal(t, c.want, codes)
		})
	}
}

func TestQuery_MultiAttributeIndexKey(t *testing.T) {
	t.Parallel()
	l, s := open[Parcel](t)
	f := entity.Fields[Parcel]()
	for i, p := range []Parcel{{Country: "no", Zone: 1, Day: "mon", Weight: 5}, {Country: "no", Zone: 1, Day: "mon", Weight: 20}, {Country: "no", Zone: 1, Day: "tue", Weight: 7}, {Country: "no", Zone: 2, Day: "mon", Weight: 1}, {Country: "no", Zone: 1, Day: "mon"}} {
		p.Depot, p.Code = "d", string(rune('a'+i))
		_, err := s.Create(t.Context(), p)
		require.NoError(t, err)
	}
	byRoute, err := s.Index("byRoute")
	require.NoError(t, err)
	l.sent()
	weights := func(opts ...entity.QueryOption) []int {
		t.Helper()
		got, err := byRoute.Query(Parcel{Country: "no", Zone: 1}, opts...).Collect(t.Context())
		require.NoError(t, err)
		var out []int
		for _, p := range got {
			out = append(out, p.Weight)
		}
		return out
	}
	require.Equal(t, []int{5, 20, 7}, weights(), "an item that lacks a part is not in the index")
	require.Equal(t, []int{5, 20}, weights(entity.Eq(&f.Day, "mon")))
	require.Equal(t, []int{20}, weights(entity.Eq(&f.Day, "mon"), entity.Gt(&f.Weight, 5)))
	require.Equal(t, []int{7}, weights(entity.Gt(&f.Day, "mon")))
	_, err = byRoute.Query(Parcel{Country: "no"}).Collect(t.Context())
	l.wire.Reset()
	requireInput(t, err, "EDD-9101", "Zone")
	_, err = byRoute.Query(Parcel{Country: "no", Zone: 1}, entity.Gt(&f.Weight, 5)).Collect(t.Context())
	l.requireRefused(t, err, "EDD-9004", "Weight")
	page, err := byRoute.Query(Parcel{Country: "no", Zone: 1}, entity.Limit(2)).Page(t.Context(), "")
	require.NoError(t, err)
	page, err = byRoute.Query(Parcel{Country: "no", Zone: 1}, entity.Limit(2)).Page(t.Context(), page.Next)
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	require.Equal(t, 7, page.Items[0].Weight)
}
