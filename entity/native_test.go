package entity_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// Block has a binary partition key and a number as sort key, a local index on a binary, and an index with four
// attributes a side, of all types that a key can have.
type Block struct {
	_ entity.Key `name:"Block" pk:"hash" sk:"height"`
	_ entity.LSI `name:"byRoot" index:"root-index" sk:"root"`
	_ entity.GSI `name:"wide" index:"wide-index" pk:"a+b+c+d" sk:"w+x+y+z"`
	_ entity.GSI `name:"byPrice" index:"price-index" pk:"c" sk:"price"`

	Hash   []byte  `dynamodbav:"hash"`
	Height uint64  `dynamodbav:"height" entity:"zero"`
	Root   []byte  `dynamodbav:"root,omitempty"`
	A      string  `dynamodbav:"a,omitempty"`
	B      int     `dynamodbav:"b,omitempty"`
	C      []byte  `dynamodbav:"c,omitempty"`
	D      string  `dynamodbav:"d,omitempty"`
	W      int     `dynamodbav:"w,omitempty"`
	X      string  `dynamodbav:"x,omitempty"`
	Y      []byte  `dynamodbav:"y,omitempty"`
	Z      int     `dynamodbav:"z,omitempty"`
	Price  float64 `dynamodbav:"price,omitempty"`
	Note   string  `dynamodbav:"note,omitempty"`
}

func heights(blocks []Block) (out []int) {
	for _, b := range blocks {
		out = append(out, int(b.Height))
	}
	return out
}

func blocks(t *testing.T) (*lab, *entity.Store[Block]) {
	t.Helper()
	l, s := open[Block](t)
	hash := []byte{0, 255, '#'}
	for i := range 6 {
		v := Block{Hash: hash, Height: uint64(i), Root: []byte{byte(255 - i)}, A: "a", B: 1, C: []byte{0, 1}, D: "d", W: 1 + i/3, X: "x", Y: []byte{byte(i % 3)}, Z: i + 1, Price: float64(i) / 8}
		if i == 5 {
			v.Y = nil
		}
		_, err := s.Create(t.Context(), v)
		require.NoError(t, err)
	}
	l.sent()
	return l, s
}

// Keys that are numbers and bytes themselves work in every verb.
func TestNativeKeys_NumbersAndBytesInEveryVerb(t *testing.T) {
	t.Parallel()
	l, s := blocks(t)
	f := entity.Fields[Block]()
	key := Block{Hash: []byte{0, 255, '#'}, Height: 3}
	_, err := s.Create(t.Context(), key)
	require.ErrorIs(t, err, entity.ErrExists)
	got, err := s.Update(t.Context(), key, entity.Set(&f.Note, "x"))
	require.NoError(t, err)
	require.Equal(t, key.Hash, got.Hash)
	_, err = s.Modify(t.Context(), key, func(v *Block) error { v.Note += "y"; return nil })
	require.NoError(t, err)
	_, err = s.Put(t.Context(), key)
	require.NoError(t, err)
	big := Block{Hash: key.Hash, Height: 1<<64 - 1, Note: "big"}
	_, created, err := s.Upsert(t.Context(), big)
	require.NoError(t, err)
	require.True(t, created)
	many, err := s.GetMany(t.Context(), []Block{big, {Hash: key.Hash}, {Hash: []byte{1}, Height: 1}, big}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, "big", many[0].Note)
	require.NotNil(t, many[1], "height 0 is a height: the field says so")
	require.Nil(t, many[2])
	require.Same(t, many[0], many[3])
	load := big
	load.Note = ""
	require.NoError(t, l.db.TransactGet(t.Context(), s.Op().GetInto(&load)))
	require.Equal(t, "big", load.Note)
	require.NoError(t, l.db.Transact(t.Context(), s.Op().Delete(big), s.Op().CheckExists(key), s.Op().CheckNotExists(Block{Hash: []byte{9}, Height: 1})))
	got, err = s.Query(Block{Hash: key.Hash}, entity.Desc()).First(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 5, got.Height)
	_, err = s.Get(t.Context(), Block{Hash: []byte{}, Height: 1})
	requireInput(t, err, "EDD-9101", "Hash")
	attributes := map[string]types.ScalarAttributeType{}
	for _, a := range l.described(t, l.table).AttributeDefinitions {
		attributes[*a.AttributeName] = a.AttributeType
	}
	require.Equal(t, []types.ScalarAttributeType{"B", "N", "B", "N", "B"}, []types.ScalarAttributeType{attributes["hash"], attributes["height"], attributes["root"], attributes["price"], attributes["c"]})
}

// A local index in both directions, under each condition, consistently.
func TestLSI_IsQueriedInBothDirectionsAndConsistently(t *testing.T) {
	t.Parallel()
	l, s := blocks(t)
	f := entity.Fields[Block]()
	byRoot := entity.Must(s.Index("byRoot"))
	key := Block{Hash: []byte{0, 255, '#'}}
	for name, c := range map[string]struct {
		opts []entity.QueryOption
		want []int
	}{
		"all":     {nil, []int{5, 4, 3, 2, 1, 0}},
		"Gt":      {[]entity.QueryOption{entity.Gt(&f.Root, []byte{252})}, []int{2, 1, 0}},
		"Le":      {[]entity.QueryOption{entity.Le(&f.Root, []byte{251})}, []int{5, 4}},
		"Between": {[]entity.QueryOption{entity.Between(&f.Root, []byte{251}, []byte{253})}, []int{4, 3, 2}},
		"Eq":      {[]entity.QueryOption{entity.Eq(&f.Root, []byte{253})}, []int{2}},
		"filter":  {[]entity.QueryOption{entity.Filter(entity.Ge(&f.Height, 2), entity.Eq(&f.W, 1))}, []int{2}},
	} {
		for _, consistent := range []bool{false, true} {
			up := append([]entity.QueryOption{}, c.opts...)
			if consistent {
				up = append(up, entity.Consistent())
			}
			l.sent()
			got, err := byRoot.Query(key, up...).Collect(t.Context())
			require.NoError(t, err, name)
			require.Equal(t, c.want, heights(got), name)
			down, err := byRoot.Query(key, append(up, entity.Desc())...).Collect(t.Context())
			require.NoError(t, err, name)
			slices.Reverse(down)
			require.Equal(t, c.want, heights(down), name)
			require.Equal(t, []string{"Query", "Query"}, l.sent())
			var paged []int
			for cursor := ""; ; {
				page, err := byRoot.Query(key, append(up, entity.Desc(), entity.Limit(2))...).Page(t.Context(), cursor)
				require.NoError(t, err)
				paged = append(paged, heights(page.Items)...)
				if cursor = page.Next; cursor == "" {
					break
				}
			}
			slices.Reverse(paged)
			require.Equal(t, c.want, paged, name)
		}
	}
	_, err := s.Update(t.Context(), Block{Hash: key.Hash, Height: 2}, entity.Remove(&f.Root))
	require.NoError(t, err)
	n, err := byRoot.Query(key, entity.Consistent()).Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 5, n, "an item without the attribute is not in the index")
}

// An index with four attributes a side: equal from the left, a range on the next, in both directions, by pages.
func TestMultiAttributeIndex_FourAttributesASide(t *testing.T) {
	t.Parallel()
	l, s := blocks(t)
	f := entity.Fields[Block]()
	wide := entity.Must(s.Index("wide"))
	key := Block{A: "a", B: 1, C: []byte{0, 1}, D: "d"}
	with := func(w int, x string, y []byte, z int) Block {
		v := key
		v.W, v.X, v.Y, v.Z = w, x, y, z
		return v
	}
	for name, c := range map[string]struct {
		key  Block
		opts []entity.QueryOption
		want []int
	}{
		"partition":           {key, nil, []int{0, 1, 2, 3, 4}},
		"first filled in":     {with(2, "", nil, 0), nil, []int{3, 4}},
		"range on the first":  {key, []entity.QueryOption{entity.Le(&f.W, 1)}, []int{0, 1, 2}},
		"range on the third":  {with(1, "x", nil, 0), []entity.QueryOption{entity.Gt(&f.Y, []byte{0})}, []int{1, 2}},
		"range on the fourth": {with(1, "x", []byte{1}, 0), []entity.QueryOption{entity.Between(&f.Z, 1, 9)}, []int{1}},
		"prefix":              {with(1, "", nil, 0), []entity.QueryOption{entity.BeginsWith(&f.X, "x")}, []int{0, 1, 2}},
		"all eight":           {with(2, "x", []byte{1}, 5), nil, []int{4}},
		"with a filter":       {key, []entity.QueryOption{entity.Filter(entity.Gt(&f.Price, 0.25))}, []int{3, 4}},
	} {
		got, err := wide.Query(c.key, c.opts...).Collect(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, c.want, heights(got), name)
		down, err := wide.Query(c.key, append(c.opts, entity.Desc())...).Collect(t.Context())
		require.NoError(t, err, name)
		slices.Reverse(down)
		require.Equal(t, c.want, heights(down), name)
		var paged []int
		for cursor := ""; ; {
			page, err := wide.Query(c.key, append(c.opts, entity.Limit(1))...).Page(t.Context(), cursor)
			require.NoError(t, err, name)
			paged = append(paged, heights(page.Items)...)
			if cursor = page.Next; cursor == "" {
				break
			}
		}
		require.Equal(t, c.want, paged, name)
	}
	l.sent()
	for field, q := range map[string]entity.Query[Block]{
		"D": wide.Query(Block{A: "a", B: 1, C: []byte{0, 1}}), "Y": wide.Query(with(1, "", []byte{1}, 0)), "Z": wide.Query(with(1, "x", nil, 0), entity.Gt(&f.Z, 1)),
	} {
		_, err := q.Collect(t.Context())
		var in *entity.InputError
		require.ErrorAs(t, err, &in, field)
		require.Equal(t, field, in.Field)
	}
	require.Empty(t, l.sent())
}

// A float can be a native key: what is stored, queried and paged is the number.
func TestNativeKeys_FractionsAreOrderedAndPaged(t *testing.T) {
	t.Parallel()
	_, s := blocks(t)
	f := entity.Fields[Block]()
	byPrice := entity.Must(s.Index("byPrice"))
	got, err := byPrice.Query(Block{C: []byte{0, 1}}, entity.Gt(&f.Price, 0.125)).Collect(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int{2, 3, 4, 5}, heights(got), fmt.Sprint(got))
	page, err := byPrice.Query(Block{C: []byte{0, 1}}, entity.Limit(2)).Page(t.Context(), "")
	require.NoError(t, err)
	rest, err := byPrice.Query(Block{C: []byte{0, 1}}, entity.Limit(9)).Page(t.Context(), page.Next)
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3, 4, 5}, heights(append(page.Items, rest.Items...)), "price 0 is omitempty, and absent")
}

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
