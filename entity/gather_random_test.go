package entity_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
)

// Whatever is gathered, each slice is what its query gives alone, for one query's requests.
func TestGather_IsWhatEachQueryGivesAlone(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("data of seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	o := newOffice(t)
	tenants := []string{"a", "b", "ab"}
	for i, tenant := range tenants {
		o.staff(t, r, tenant, []int{0, 4, 40}[i], 10)
	}
	filled := 0
	check(t, func(rt *rapid.T) {
		tenant := rapid.SampledFrom(tenants).Draw(rt, "tenant")
		common := []entity.QueryOption{}
		if rapid.Bool().Draw(rt, "descending") {
			common = append(common, entity.Desc())
		}
		groups := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) group { return o.randomGroup(rt, tenant, common) }), 1, 5).Draw(rt, "groups")
		var parts []entity.CollectionPart
		for _, g := range groups {
			parts = append(parts, g.part)
		}
		o.sent()
		require.NoError(t, o.db.GetCollection(t.Context(), parts...))
		require.LessOrEqual(t, len(o.sent()), 2, "the partition is one page, and a limit may cut it once")
		for _, g := range groups {
			g.compare(t, t.Context())
			filled += g.length()
		}
	})
	require.NotZero(t, filled, "nothing was ever found")
}

func (o *office) randomGroup(rt *rapid.T, tenant string, common []entity.QueryOption) group {
	opts := append([]entity.QueryOption{}, common...)
	if n := rapid.IntRange(0, 4).Draw(rt, "limit"); n > 0 {
		opts = append(opts, entity.Limit(n*n))
	}
	if rapid.Bool().Draw(rt, "expired") {
		opts = append(opts, entity.IncludeExpired())
	}
	score := rapid.IntRange(0, 4).Draw(rt, "score")
	switch rapid.IntRange(0, 3).Draw(rt, "entity") {
	case 0:
		f, key := entity.Fields[Member](), Member{Tenant: tenant}
		opts = append(opts, drawn(rt, &f.Team, []string{"red", "re", "blue", "green"})...)
		opts = append(opts, filters(rt, &f.Score, score, entity.NotExists(&f.Bulk))...)
		return groupOf(o.members.Query(key, opts...))
	case 1:
		f, key := entity.Fields[Voucher](), Voucher{Tenant: tenant}
		opts = append(opts, drawn(rt, &f.Priority, []int{0, 1, 2})...)
		opts = append(opts, filters(rt, &f.Score, score, entity.Or(entity.Contains(&f.Tags, "y"), entity.Ne(f.Open, true)))...)
		return groupOf(o.tickets.Query(key, opts...))
	case 2:
		type small struct {
			Title string `dynamodbav:"title"`
		}
		f := entity.Fields[Notice]()
		opts = append(opts, drawn(rt, &f.Title, []string{"$", "$app#v1#", "z", "a1"})...)
		opts = append(opts, filters(rt, &f.Score, score, entity.BeginsWith(&f.ID, "b"))...)
		return groupOf(entity.Project[small](o.notices.Query(Notice{Tenant: tenant}, opts...)))
	}
	return groupOf(o.notices.Query(Notice{Tenant: tenant}, opts...))
}

// drawn is a bound on the first part of the sort key, or none.
func drawn[V int | string](rt *rapid.T, field *V, values []V) []entity.QueryOption {
	a, b := rapid.SampledFrom(values).Draw(rt, "a"), rapid.SampledFrom(values).Draw(rt, "b")
	if a > b && rapid.Bool().Draw(rt, "in order") {
		a, b = b, a
	}
	bounds := []entity.QueryOption{entity.Eq(field, a), entity.Ge(field, a), entity.Gt(field, a), entity.Le(field, a), entity.Lt(field, a), entity.Between(field, a, b)}
	if s, ok := any(field).(*string); ok {
		bounds = append(bounds, entity.BeginsWith(s, fmt.Sprint(a)))
	}
	n := rapid.IntRange(-3, len(bounds)-1).Draw(rt, "bound")
	if n < 0 {
		return nil
	}
	return bounds[n : n+1]
}

// filters are none, one, or two.
func filters(rt *rapid.T, field *int, score int, other entity.Cond) []entity.QueryOption {
	all := []entity.QueryOption{entity.Filter(entity.Ge(field, score)), entity.Filter(other)}
	return all[:rapid.IntRange(0, 2).Draw(rt, "filters")]
}
