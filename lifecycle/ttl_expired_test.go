package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// Token lives for an hour.
type Token struct {
	_       entity.Key    `name:"Token" pk:"$#{user}" sk:"$#{id}"`
	_       entity.GSI    `name:"byScope" index:"gsi1" pk:"$#{scope}" sk:"$#{id}" project:"id"`
	_       lifecycle.TTL `attr:"ends" after:"1h"`
	User    string        `dynamodbav:"user"`
	ID      string        `dynamodbav:"id"`
	Scope   string        `dynamodbav:"scope,omitempty"`
	Uses    int           `dynamodbav:"uses"`
	Version int64         `dynamodbav:"version" entity:"version"`
}

var token = Token{User: "u", ID: "t"}

// lapsed has one token, at the second in which it ends, and another one that lives.
func lapsed(t *testing.T) (*lab, *entity.Store[Token]) {
	t.Helper()
	h, s := open[Token](t)
	entity.Must(s.Create(t.Context(), Token{User: "u", ID: "t", Scope: "all", Uses: 7}))
	h.Clock.Move(time.Hour)
	entity.Must(s.Create(t.Context(), Token{User: "u", ID: "live", Scope: "all"}))
	h.Operations()
	return h, s
}

func TestTTL_AnExpiredItemIsGoneForEveryRead(t *testing.T) {
	t.Parallel()
	h, s := lapsed(t)
	_, err := s.Get(t.Context(), token)
	require.ErrorIs(t, err, entity.ErrNotFound)
	got := entity.Must(s.Get(t.Context(), token, entity.IncludeExpired()))
	require.Equal(t, 7, got.Uses)
	many := entity.Must(s.GetMany(t.Context(), []Token{token, {User: "u", ID: "live"}}))
	require.Nil(t, many[0])
	require.NotNil(t, many[1])
	many = entity.Must(s.GetMany(t.Context(), []Token{token}, entity.IncludeExpired()))
	require.NotNil(t, many[0])
	into := token
	load := s.Op().GetInto(&into)
	require.ErrorIs(t, h.DB.TransactGet(t.Context(), load), entity.ErrNotFound)

	byScope := entity.Must(s.Index("byScope"))
	for name, queries := range map[string][2]entity.Query[Token]{
		"Query":       {s.Query(Token{User: "u"}), s.Query(Token{User: "u"}, entity.IncludeExpired())},
		"Scan":        {s.Scan(), s.Scan(entity.IncludeExpired())},
		"Index.Query": {byScope.Query(Token{Scope: "all"}), byScope.Query(Token{Scope: "all"}, entity.IncludeExpired())},
		"Index.Scan":  {byScope.Scan(), byScope.Scan(entity.IncludeExpired())},
	} {
		one, err := queries[0].One(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, "live", one.ID, name)
		n, err := queries[1].Count(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, 2, n, name)
	}
	h.Clock.Move(-time.Second)
	_, err = s.Get(t.Context(), token)
	require.NoError(t, err, "a second before its end it lives")
}

func TestTTL_AnExpiredItemIsGoneForEveryWrite(t *testing.T) {
	t.Parallel()
	f := entity.Fields[Token]()
	for name, c := range map[string]struct {
		write    func(*testing.T, *lab, *entity.Store[Token]) error
		err      error // nil: a new life began
		requests int
	}{
		"Update": {func(t *testing.T, _ *lab, s *entity.Store[Token]) error {
			_, err := s.Update(t.Context(), token, entity.Add(&f.Uses, 1))
			return err
		}, entity.ErrNotFound, 1},
		"Modify": {func(t *testing.T, _ *lab, s *entity.Store[Token]) error {
			_, err := s.Modify(t.Context(), token, func(k *Token) error { k.Uses++; return nil })
			return err
		}, entity.ErrNotFound, 1},
		"Delete": {func(t *testing.T, _ *lab, s *entity.Store[Token]) error { return s.Delete(t.Context(), token) }, entity.ErrNotFound, 1},
		"CheckExists": {func(t *testing.T, h *lab, s *entity.Store[Token]) error {
			return h.DB.Transact(t.Context(), s.Op().CheckExists(token))
		}, entity.ErrNotFound, 1},
		"Create": {func(t *testing.T, _ *lab, s *entity.Store[Token]) error {
			_, err := s.Create(t.Context(), Token{User: "u", ID: "t", Uses: 1})
			return err
		}, nil, 1},
		"Put": {func(t *testing.T, _ *lab, s *entity.Store[Token]) error {
			_, err := s.Put(t.Context(), Token{User: "u", ID: "t", Uses: 1})
			return err
		}, nil, 2},
		"Upsert": {func(t *testing.T, _ *lab, s *entity.Store[Token]) error {
			_, created, err := s.Upsert(t.Context(), Token{User: "u", ID: "t", Uses: 1})
			require.True(t, created || err != nil)
			return err
		}, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, s := lapsed(t)
			before := h.Items()
			err := c.write(t, h, s)
			require.Len(t, h.Operations(), c.requests)
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
				require.Equal(t, before, h.Items(), "nothing was written")
				return
			}
			require.NoError(t, err)
			got := entity.Must(s.Get(t.Context(), token))
			require.Equal(t, Token{User: "u", ID: "t", Uses: 1, Version: 1}, got, "a new life keeps nothing of the old one")
		})
	}
}

// A Put that found an expired item and was about to replace it meets an item that another program has created meanwhile: it
// replaces that one, as a Put over a live item does.
func TestTTL_APutOverARenewedItemReplacesTheNewOne(t *testing.T) {
	t.Parallel()
	h, s := lapsed(t)
	require.NoError(t, h.Overtake(dbtest.Is("PutItem"), func() error {
		_, err := s.Put(t.Context(), Token{User: "u", ID: "t", Uses: 1})
		return err
	}, func() {
		entity.Must(dbtest.Declare[Token](t, h.Open(h.Raw)).Create(t.Context(), Token{User: "u", ID: "t", Uses: 2}))
	}))
	got := entity.Must(s.Get(t.Context(), token, entity.Consistent()))
	require.Equal(t, 1, got.Uses)
	require.EqualValues(t, 2, got.Version, "it is the second write of the new life")
}
