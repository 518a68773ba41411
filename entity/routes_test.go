package entity_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// No route of no verb puts a number through a float: 38 digits come out as they went in.
func TestRoutes_NumbersKeepEveryDigit(t *testing.T) {
	t.Parallel()
	const big, small = "12345678901234567890123456789012345678", "-0.00012345678901234567890123456789012345678"
	l, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	at := keys("pk", "$app#v1#profile#a", "sk", "$app#v1#profile")
	other := func() entity.Op { return s.Op().Put(Profile{ID: "b"}) }
	for name, write := range map[string]func() error{
		"Update":                      func() error { _, err := s.Update(t.Context(), key, entity.Set(&p.Note, "x")); return err },
		"Update, read first":          func() error { _, err := s.Update(t.Context(), key, entity.Set(&p.Team, "x")); return err },
		"Update in a transaction":     func() error { return l.db.Transact(t.Context(), s.Op().Update(key, entity.Set(&p.Note, "x")), other()) },
		"read first in a transaction": func() error { return l.db.Transact(t.Context(), s.Op().Update(key, entity.Set(&p.Team, "x")), other()) },
		"Update, exactly": func() error {
			_, err := s.Update(t.Context(), key, entity.Set(&p.Team, "x"), entity.Idempotent())
			return err
		},
		"Modify": func() error {
			_, err := s.Modify(t.Context(), key, func(v *Profile) error { v.Note = "x"; return nil })
			return err
		},
		"Upsert":             func() error { _, _, err := s.Upsert(t.Context(), Profile{ID: "a", Team: "x", Rank: 1}); return err },
		"Upsert, read first": func() error { _, _, err := s.Upsert(t.Context(), Profile{ID: "a", Team: "x"}); return err },
		"Put":                func() error { _, err := s.Put(t.Context(), Profile{ID: "a", Team: "x", Rank: 1}); return err },
		"Put, exactly":       func() error { _, err := s.Put(t.Context(), Profile{ID: "a"}, entity.Idempotent()); return err },
	} {
		t.Run(name, func(t *testing.T) {
			l.drop(t, at)
			_, err := s.Create(t.Context(), Profile{ID: "a", Team: "t", Rank: 1})
			require.NoError(t, err)
			l.patch(t, at, "n", num(big))
			l.patch(t, at, "m", &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"l": &types.AttributeValueMemberL{Value: []types.AttributeValue{num(small)}}}})
			l.patch(t, at, "ns", &types.AttributeValueMemberNS{Value: []string{big, small}})
			before := l.stored(t, at)
			require.NoError(t, write())
			after := l.stored(t, at)
			for _, attr := range []string{"n", "m", "ns"} {
				require.Equal(t, before[attr], after[attr])
			}
			require.Contains(t, after["n"], big)
		})
	}
}

// A change of a path inside an attribute is applied on every route, and never passed over in silence.
func TestRoutes_PathChangesAreApplied(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	at := keys("pk", "$app#v1#profile#a", "sk", "$app#v1#profile")
	changes := []entity.UpdateOption{
		entity.MapEntry(&p.Labels, "new").Set("n"), entity.MapEntry(&p.Labels, "old").Remove(), entity.Set(&p.Home.City, "moved"),
		entity.Attr[int]("lines[0].qty").Set(7), entity.ListAppend(&p.Log, "y"), entity.AddToSet(&p.Tags, "c"), entity.Add(&p.Count, 2),
	}
	readFirst := append([]entity.UpdateOption{entity.Set(&p.Team, "u")}, changes...) // of an index half's two parts
	routes := map[string]struct {
		changes []entity.UpdateOption
		send    func([]entity.UpdateOption) error
	}{}
	for name, c := range map[string][]entity.UpdateOption{"blind": changes, "read first": readFirst} {
		routes[name+", alone"] = struct {
			changes []entity.UpdateOption
			send    func([]entity.UpdateOption) error
		}{c, func(c []entity.UpdateOption) error { _, err := s.Update(t.Context(), key, c...); return err }}
		routes[name+", in a transaction"] = struct {
			changes []entity.UpdateOption
			send    func([]entity.UpdateOption) error
		}{c, func(c []entity.UpdateOption) error {
			return l.db.Transact(t.Context(), s.Op().Update(key, c...), s.Op().Put(Profile{ID: "b"}))
		}}
		routes[name+", exactly"] = struct {
			changes []entity.UpdateOption
			send    func([]entity.UpdateOption) error
		}{append(c[:len(c):len(c)], entity.Idempotent()), func(c []entity.UpdateOption) error { _, err := s.Update(t.Context(), key, c...); return err }}
	}
	for name, r := range routes {
		t.Run(name, func(t *testing.T) {
			l.drop(t, at)
			_, err := s.Create(t.Context(), Profile{
				ID: "a", Team: "t", Rank: 1, Home: Address{City: "home"}, Labels: map[string]string{"old": "o", "kept": "k"},
				Lines: []Line{{SKU: "s", Qty: 1}}, Log: []string{"x"}, Tags: []string{"a"}, Count: 1,
			})
			require.NoError(t, err)
			require.NoError(t, r.send(r.changes))
			it := l.stored(t, at)
			require.Equal(t, []string{`M{kept=S"k" new=S"n"}`, `M{city=S"moved"}`, `L[M{qty=N7 sku=S"s"}]`, `L[S"x" S"y"]`, "SS[a c]", "N3"},
				[]string{it["labels"], it["home"], it["lines"], it["log"], it["tags"], it["count"]})
		})
	}
	t.Run("a path that leads nowhere fails on every route", func(t *testing.T) {
		before := l.stored(t, at)
		for name, r := range routes {
			bad := append(r.changes[:len(r.changes):len(r.changes)], entity.MapEntry(&p.Scores, "x").Set(1))
			require.ErrorIs(t, r.send(bad), entity.ErrConditionFailed, name)
			require.Equal(t, before, l.stored(t, at), name)
		}
	})
}
