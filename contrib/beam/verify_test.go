package beamx_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/stretchr/testify/require"

	beamx "github.com/dynastrata/dynastrata/contrib/beam"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/unique"
)

// person has a unique value.
type person struct {
	_ entity.Key        `name:"Person" pk:"$#{id}" sk:"$"`
	_ unique.Constraint `name:"email" fields:"email"`

	ID    string `dynamodbav:"id"`
	Email string `dynamodbav:"email,omitempty"`
}

// say prints what findings say, sorted.
func say(list []migrate.UniqueFinding) (lines []string) {
	for _, f := range list {
		lines = append(lines, fmt.Sprint(f.Kind, " of ", f.Owners, " claimed by ", f.ClaimedBy))
	}
	slices.Sort(lines)
	return lines
}

func TestVerifyUnique_FindsWhatVerifyFinds(t *testing.T) {
	people := testsize.Pick(200, 2000)
	b, store := dbtest.OpenStore[person](t, dbtest.Attempts(2))
	var puts []person
	for i := range people {
		puts = append(puts, person{ID: fmt.Sprintf("p%04d", i), Email: fmt.Sprintf("e%04d", i)})
	}
	for part := range slices.Chunk(puts, 20) {
		var ops []entity.Op
		for _, p := range part {
			ops = append(ops, store.Op().Create(p))
		}
		require.NoError(t, b.DB.Transact(b.Ctx, ops...))
	}
	damaged := 0
	for _, it := range b.Items() {
		id, sentinel := dbtest.Text(it["id"]), strings.Contains(dbtest.Text(it["__edd_e__"]), "._unique.")
		switch {
		case sentinel && damaged < 10, id > "p0150" && id < "p0155": // orphans of both kinds
			b.RemoveItem(it)
			damaged++
		case id > "p0160" && id < "p0175": // conflicts of many
			it["email"] = dbtest.S("e0180")
			b.PutItem(it)
		}
	}
	lookup, err := unique.Of(store, "email")
	require.NoError(t, err)
	want, err := migrate.VerifyUnique(b.Ctx, lookup)
	require.NoError(t, err)
	require.Greater(t, len(want.Findings), 20)

	emails := beamx.Register(t.Name(), func(context.Context) (*unique.Lookup[person], error) {
		store, err := entity.New[person](b.Open(b.Client))
		if err != nil {
			return nil, err
		}
		return unique.Of(store, "email")
	})
	for _, segments := range []int{1, 6} {
		name := fmt.Sprint(t.Name(), segments)
		failed := untilDone(b, []int{1, 4}, func() error {
			p, s := beam.NewPipelineWithRoot()
			findings, counts := beamx.VerifyUnique(s, emails, beamx.VerifyOptions{Segments: segments, Budget: beamx.Budget{ReadUnits: 1e6}})
			beam.ParDo0(s, &keepFinding{name}, findings)
			beam.ParDo0(s, &keepCounts{name + " counts"}, counts)
			taken[migrate.UniqueFinding](t, name)
			taken[migrate.UniqueReport](t, name+" counts")
			return run(b.Ctx, p)
		})
		require.Equal(t, 2, failed)
		require.Equal(t, say(want.Findings), say(taken[migrate.UniqueFinding](t, name)))
		counts := taken[migrate.UniqueReport](t, name+" counts")
		require.Equal(t, []migrate.UniqueReport{{Items: want.Items, Sentinels: want.Sentinels}}, counts)
	}
}

func TestVerifyUnique_AnOpenerThatFailsFailsThePipeline(t *testing.T) {
	broken := beamx.Register(t.Name(), func(context.Context) (*unique.Lookup[person], error) { return nil, fmt.Errorf("no region") })
	p, s := beam.NewPipelineWithRoot()
	beamx.VerifyUnique(s, broken, beamx.VerifyOptions{Segments: 2})
	require.ErrorContains(t, run(t.Context(), p), "no region")
}
