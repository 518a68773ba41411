package entity_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// mortal stands for any feature whose current items can expire.
type mortal struct{}

func (mortal) Declare(d *schema.Decl) { d.Schema.Expires, d.Schema.UsesTTL = true, true }

// Token is an entity that expires.
type Token struct {
	_ entity.Key `name:"Token" pk:"$#{user}" sk:"$#{id}"`
	_ entity.GSI `name:"byScope" index:"gsi1" pk:"$#{scope}" sk:"$#{id}" project:"id"`
	_ mortal

	User  string `dynamodbav:"user"`
	ID    string `dynamodbav:"id"`
	Scope string `dynamodbav:"scope,omitempty"`
	Uses  int    `dynamodbav:"uses"`
}

var tokenKey = keys("pk", "$app#v1#token#u", "sk", "$app#v1#token#t")

// lapsed is a lab with one token whose time ends at the given distance from the clock.
func lapsed(t *testing.T, after time.Duration) (*lab, *entity.Store[Token]) {
	t.Helper()
	l, s := open[Token](t)
	now := l.clock.move(100 * 365 * 24 * time.Hour) // far ahead, or the database would remove the item itself
	_, err := s.Create(t.Context(), Token{User: "u", ID: "t", Scope: "all", Uses: 7})
	require.NoError(t, err)
	l.patch(t, tokenKey, "_ttl", num(strconv.FormatInt(now.Add(after).Unix(), 10)))
	l.sent()
	return l, s
}

// DynamoDB removes an expired item in its own time; for every verb it is gone at once.
func TestExpiry_AnExpiredItemIsGoneForReadsAndWrites(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after time.Duration
		live  bool
	}{"ended": {-time.Hour, false}, "ends now": {0, false}, "ends in a second": {time.Second, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := lapsed(t, c.after)
			f, key := entity.Fields[Token](), Token{User: "u", ID: "t"}
			class := func(err, absent, live error) {
				t.Helper()
				want := absent
				if c.live {
					want = live
				}
				if want == nil {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, want)
				}
			}
			_, err := s.Get(t.Context(), key)
			class(err, entity.ErrNotFound, nil)
			got, err := s.Get(t.Context(), key, entity.IncludeExpired())
			require.NoError(t, err)
			require.Equal(t, 7, got.Uses)

			before := l.everything(t)
			if !c.live {
				_, err = s.Update(t.Context(), key, entity.Add(&f.Uses, 1))
				class(err, entity.ErrNotFound, nil)
				_, err = s.Update(t.Context(), key, entity.Add(&f.Uses, 1), entity.If(entity.Or(entity.Exists(&f.Uses), entity.Exists(&f.Scope))))
				class(err, entity.ErrNotFound, nil)
				class(s.Delete(t.Context(), key), entity.ErrNotFound, nil)
				require.Equal(t, before, l.everything(t))
			}
			class(l.db.Transact(t.Context(), s.Op().CheckExists(key)), entity.ErrNotFound, nil)
			_, err = s.Create(t.Context(), Token{User: "u", ID: "t", Uses: 1})
			class(err, nil, entity.ErrExists)
			if !c.live {
				require.Equal(t, raw{
					"pk": `S"$app#v1#token#u"`, "sk": `S"$app#v1#token#t"`, "__edd_e__": `S"Token"`, "user": `S"u"`, "id": `S"t"`, "uses": "N1",
					"gsi1sk": `S"$app#v1#token#t"`,
				}, without(l.stored(t, tokenKey), "_w"), "a new life keeps nothing of the old one")
			}
		})
	}
}

func TestExpiry_QueriesHideExpiredItemsUnlessAsked(t *testing.T) {
	t.Parallel()
	l, s := lapsed(t, -time.Minute)
	_, err := s.Create(t.Context(), Token{User: "u", ID: "u", Scope: "all"})
	require.NoError(t, err)
	f := entity.Fields[Token]()
	byScope, err := s.Index("byScope")
	require.NoError(t, err)
	l.sent()
	for name, query := range map[string]func(...entity.QueryOption) entity.Query[Token]{
		"table": func(o ...entity.QueryOption) entity.Query[Token] { return s.Query(Token{User: "u"}, o...) },
		"index": func(o ...entity.QueryOption) entity.Query[Token] { return byScope.Query(Token{Scope: "all"}, o...) },
	} {
		one, err := query().One(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, "u", one.ID, name)
		n, err := query(entity.IncludeExpired()).Count(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, 2, n, name)
		n, err = query(entity.Filter(entity.Or(entity.Exists(&f.ID), entity.NotExists(&f.ID)))).Count(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, 1, n, name)
	}
	l.clock.move(-time.Hour)
	n, err := s.Query(Token{User: "u"}).Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, n, "the clock of the DB decides")
}
