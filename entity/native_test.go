package entity_test

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
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
		l.OK(s.Create(t.Context(), v))
	}
	l.Sent()
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
	l.OK(s.Modify(t.Context(), key, func(v *Block) error { v.Note += "y"; return nil }))
	l.OK(s.Put(t.Context(), key))
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
	require.NoError(t, l.DB.TransactGet(t.Context(), s.Op().GetInto(&load)))
	require.Equal(t, "big", load.Note)
	require.NoError(t, l.DB.Transact(t.Context(), s.Op().Delete(big), s.Op().CheckExists(key), s.Op().CheckNotExists(Block{Hash: []byte{9}, Height: 1})))
	got = entity.Must(s.Query(Block{Hash: key.Hash}, entity.Desc()).First(t.Context()))
	require.EqualValues(t, 5, got.Height)
	_, err = s.Get(t.Context(), Block{Hash: []byte{}, Height: 1})
	dbtest.RequireInput(t, err, "EDD-9101", "Hash")
	attributes := map[string]types.ScalarAttributeType{}
	for _, a := range l.Described(l.Table).AttributeDefinitions {
		attributes[*a.AttributeName] = a.AttributeType
	}
	require.Equal(t, []types.ScalarAttributeType{"B", "N", "B", "N", "B"}, []types.ScalarAttributeType{attributes["hash"], attributes["height"], attributes["root"], attributes["price"], attributes["c"]})
}

// requireHeights checks what a query of an index gives in both directions and by pages.
func requireHeights(t *testing.T, index *entity.Index[Block], key Block, opts []entity.QueryOption, want []int, name string) {
	t.Helper()
	got, err := index.Query(key, opts...).Collect(t.Context())
	require.NoError(t, err, name)
	require.Equal(t, want, heights(got), name)
	down, err := index.Query(key, append(opts, entity.Desc())...).Collect(t.Context())
	require.NoError(t, err, name)
	slices.Reverse(down)
	require.Equal(t, want, heights(down), name)
	paged := slices.Concat(dbtest.Pages(t, index.Query(key, append(opts, entity.Limit(2))...))...)
	require.Equal(t, want, heights(paged), name)
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
		requireHeights(t, wide, c.key, c.opts, c.want, name)
	}
	l.Sent()
	for field, c := range map[string]struct {
		query entity.Query[Block]
		code  string
	}{
		"D": {wide.Query(Block{A: "a", B: 1, C: []byte{0, 1}}), "EDD-9101"}, "Y": {wide.Query(with(1, "", []byte{1}, 0)), "EDD-9004"},
		"Z": {wide.Query(with(1, "x", nil, 0), entity.Gt(&f.Z, 1)), "EDD-9004"},
	} {
		_, err := c.query.Collect(t.Context())
		dbtest.RequireInput(t, err, c.code, field)
	}
	require.Empty(t, l.Operations())
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
		l.OK(s.Create(t.Context(), Order{Customer: "c", Number: n, Status: "open", Placed: int64(n * 5), Amount: 50 - i*10, Note: "n"}))
	}
	l.OK(s.Create(t.Context(), Order{Customer: "d", Number: 4, Status: "opened", Placed: 4}))
	l.Sent()
	return l, s
}

// DynamoDB does not filter by the key that it queries; the answer must say so before a request does.
func TestQuery_FilterOnANativeKeyAttributeNamesTheField(t *testing.T) {
	t.Parallel()
	l, s := orders(t)
	f := entity.Fields[Order]()
	byStatus := entity.Must(s.Index("byStatus"))
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

// Parcel has native keys of strings, Crate a verbatim sort key.
type (
	Parcel struct {
		_     entity.Key `name:"Parcel" pk:"depot" sk:"code"`
		Depot string     `dynamodbav:"depot"`
		Code  string     `dynamodbav:"code"`
	}
	Crate struct {
		_     entity.Key `name:"Crate" pk:"depot" sk:"sk={code}"`
		Depot string     `dynamodbav:"depot"`
		Code  string     `dynamodbav:"code"`
	}
)

func TestQuery_TextsAreOrderedAsBytes(t *testing.T) {
	t.Parallel()
	t.Run("native", func(t *testing.T) {
		textRanges(t, &entity.Fields[Parcel]().Code, func(code string) Parcel { return Parcel{Depot: "d", Code: code} }, func(p Parcel) string { return p.Code })
	})
	t.Run("verbatim", func(t *testing.T) {
		textRanges(t, &entity.Fields[Crate]().Code, func(code string) Crate { return Crate{Depot: "d", Code: code} }, func(c Crate) string { return c.Code })
	})
}

func textRanges[T any](t *testing.T, field *string, item func(string) T, code func(T) string) {
	_, s := opened(t, item("a"), item("a#"), item("ab"), item("b"))
	for name, c := range map[string]struct {
		cond entity.Cond
		want []string
	}{
		"BeginsWith empty": {entity.BeginsWith(field, ""), []string{"a", "a#", "ab", "b"}},
		"Le":               {entity.Le(field, "a#"), []string{"a", "a#"}},
		"Gt empty":         {entity.Gt(field, ""), []string{"a", "a#", "ab", "b"}},
		"Lt empty":         {entity.Lt(field, ""), nil},
	} {
		got, err := s.Query(item(""), c.cond).Collect(t.Context())
		require.NoError(t, err, name)
		var codes []string
		for _, v := range got {
			codes = append(codes, code(v))
		}
		require.Equal(t, c.want, codes, name)
	}
}
