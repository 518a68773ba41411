package proof_test

import (
	"context"
	crand "crypto/rand"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/localdb"
)

// How many histories of each game are played, usually and under DYNASTRATA_LONG=1. DYNASTRATA_HISTORIES sets another number.
const (
	usualHistories = 40
	longHistories  = 800
	players        = 4 // histories at the same time
)

// long reports whether the full counts are wanted.
func long() bool { return os.Getenv("DYNASTRATA_LONG") == "1" }

// numberFrom is a variable's number, or otherwise.
func numberFrom(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, variable)
	return n
}

// calm makes retries of a handle's database wait for their turn at the gate instead of for time to pass.
func calm(h core.Holder) {
	core.Of(h).Runner.Pause = func(ctx context.Context, _ int) error { return ctx.Err() }
}

func TestHistories(t *testing.T) {
	t.Parallel()
	t.Run("series, late events dropped", histories(seriesGame("series, late events dropped", false, func(v *Dropping) *Reading { return &v.Reading })))
	t.Run("series, late events recorded", histories(seriesGame("series, late events recorded", true, func(v *Recording) *Reading { return &v.Reading })))
	t.Run("record, states kept", histories(recordGame("record, states kept", recordVerbs, func(v *Kept) *Record { return &v.Record })))
	t.Run("record, states passing", histories(recordGame("record, states passing", recordVerbs, func(v *Passing) *Record { return &v.Record })))
	t.Run("record, single requests", histories(singleGame("record, single requests", func(v *Locked) *Record { return &v.Record })))
	t.Run("claims, hard delete", histories(claimGame("claims, hard delete", claimRules{}, func(v *Plain) *Member { return &v.Member })))
	t.Run("claims, freed by delete", histories(claimGame("claims, freed by delete", claimRules{soft: true}, func(v *Freed) *Member { return &v.Member })))
	t.Run("claims, kept by delete", histories(claimGame("claims, kept by delete", claimRules{soft: true, reserve: true}, func(v *Reserved) *Member { return &v.Member })))
}

// What is printed with an illegal history repeats it.
func TestHistories_ASeedGivesTheSameHistoryAgain(t *testing.T) {
	t.Parallel()
	g := claimGame("claims, freed by delete", claimRules{soft: true}, func(v *Freed) *Member { return &v.Member })
	var texts []string
	for range 2 {
		client, table := localdb.Test(t)
		db, err := entity.Open(client, entity.Config{Table: table})
		require.NoError(t, err)
		_, err = g.open(db, "")
		require.NoError(t, err)
		require.NoError(t, db.CreateTables(t.Context()))
		way := newCourier(client.Options().HTTPClient)
		defer way.close()
		text := ""
		for seed := range uint64(5) {
			text += g.text(g.play(t, seed, client, table, way, crand.Text()[:8]))
		}
		texts = append(texts, text)
	}
	require.Equal(t, texts[0], texts[1])
}

// histories plays a game under many seeds.
func histories[S comparable, I fmt.Stringer, O comparable](g game[S, I, O]) func(t *testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		seed := numberFrom(t, "DYNASTRATA_TEST_SEED", rand.Uint64N(1<<53))
		count := uint64(usualHistories)
		if long() {
			count = longHistories
		}
		count = numberFrom(t, "DYNASTRATA_HISTORIES", count)
		t.Logf("seeds %d to %d (DYNASTRATA_TEST_SEED, DYNASTRATA_HISTORIES)", seed, seed+count-1)
		client, table := localdb.Test(t)
		db, err := entity.Open(client, entity.Config{Table: table})
		require.NoError(t, err)
		_, err = g.open(db, "")
		require.NoError(t, err)
		require.NoError(t, db.CreateTables(t.Context()))
		run := crand.Text()[:8] // begins every write id and token, so that DynamoDB takes none for that of an earlier run under the same seed
		var next atomic.Uint64
		t.Run("play", func(t *testing.T) {
			for range min(players, count) {
				t.Run("", func(t *testing.T) {
					t.Parallel()
					way := newCourier(client.Options().HTTPClient)
					defer way.close()
					for i := next.Add(1) - 1; i < count; i = next.Add(1) - 1 {
						all := g.play(t, seed+i, client, table, way, run)
						result := g.check(t, seed+i, all)
						historiesTally.add(g.name, len(all), result != porcupine.Ok)
					}
				})
			}
		})
	}
}
