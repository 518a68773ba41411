package entity_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// consistent tells, for each request since the last look, whether it asked for a strongly consistent read.
func (l *lab) consistent(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, r := range l.wire.Requests() {
		var body struct{ ConsistentRead bool }
		require.NoError(t, json.Unmarshal(r.Body, &body))
		out[r.Operation] = body.ConsistentRead
	}
	l.wire.Reset()
	return out
}

func TestGet_NeedsTheKeyPartsOnly(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	made, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	l.sent()
	got, err := s.Get(t.Context(), employeeKey("emp-alice"))
	require.NoError(t, err)
	require.Equal(t, made, got)
	other := alice()
	other.DisplayName, other.TenantID = "not looked at", ""
	got, err = s.Get(t.Context(), other)
	require.NoError(t, err)
	require.Equal(t, made, got)
	require.Equal(t, []string{"GetItem", "GetItem"}, l.sent())
}

func TestReads_AreEventualUnlessAsked(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	key := Profile{ID: "a"}
	_, err := s.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
	require.NoError(t, err)
	l.sent()
	_, err = s.Get(t.Context(), key)
	require.NoError(t, err)
	_, err = s.Query(key).Collect(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"GetItem": false, "Query": false}, l.consistent(t))
	_, err = s.Get(t.Context(), key, entity.Consistent())
	require.NoError(t, err)
	_, err = s.Query(key, entity.Consistent()).Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"GetItem": true, "Query": true}, l.consistent(t))
}

func TestReads_InsidePlansAreConsistent(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	_, err := s.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
	require.NoError(t, err)
	l.sent()
	_, err = s.Update(t.Context(), key, entity.Set(&p.Rank, 2))
	require.NoError(t, err)
	require.True(t, l.consistent(t)["GetItem"])
	_, _, err = s.Upsert(t.Context(), Profile{ID: "a", Rank: 3})
	require.NoError(t, err)
	require.True(t, l.consistent(t)["GetItem"])
	require.NoError(t, l.db.Transact(t.Context(), s.Op().Update(key, entity.Set(&p.Rank, 4)), s.Op().Create(Profile{ID: "b"})))
	require.True(t, l.consistent(t)["GetItem"])
}

// A stored attribute that the struct does not have is nobody's business.
func TestGet_IgnoresUnknownAttributesAndReadsAnyRFC3339(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	l.patch(t, aliceKey, "legacy", num("1"))
	l.patch(t, aliceKey, "createdAt", str("2024-05-06T09:08:09.5+02:00")) // as an older program wrote it
	got, err := s.Get(t.Context(), employeeKey("emp-alice"))
	require.NoError(t, err)
	require.Equal(t, "2024-05-06T07:08:09.5Z", got.CreatedAt.Format("2006-01-02T15:04:05.999Z"))
}
