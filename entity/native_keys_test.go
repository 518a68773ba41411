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
		"filter beside it":    {key, []entity.QueryOption{entity.Filter(entity.Gt(&f.Price, 0.25))}, []int{3, 4}},
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
