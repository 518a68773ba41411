package proof_test

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/lease"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
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
func calm(h engine.Holder) {
	engine.Of(h).Runner.Pause = func(ctx context.Context, _ int) error { return ctx.Err() }
}

func TestHistories(t *testing.T) {
	t.Parallel()
	t.Run("series, late events dropped", histories(seriesGame("series, late events dropped", dropsLate, seriesVerbs, fields[Dropping]{reading: func(v *Dropping) *Reading { return &v.Reading }})))
	t.Run("series, late events recorded", histories(seriesGame("series, late events recorded", recordsLate, seriesVerbs, fields[Recording]{reading: func(v *Recording) *Reading { return &v.Reading }})))
	t.Run("series, three partitions", histories(seriesGame("series, three partitions", recordsLate, spreadVerbs, fields[Spread]{reading: func(v *Spread) *Reading { return &v.Reading }})))
	t.Run("series, no current item", histories(seriesGame("series, no current item", knowsNone, aloneVerbs, fields[Alone]{reading: func(v *Alone) *Reading { return &v.Reading }})))
	t.Run("series, events with ids", histories(seriesGame("series, events with ids", dropsLate, seriesVerbs, fields[Identified]{
		reading: func(v *Identified) *Reading { return &v.Reading }, event: func(v *Identified) *string { return &v.Event },
	})))
	t.Run("series, removals", histories(seriesGame("series, removals", recordsLate, removeVerbs, fields[Recording]{reading: func(v *Recording) *Reading { return &v.Reading }})))
	t.Run("series, removals and enrichment", histories(seriesGame("series, removals and enrichment", recordsLate, enrichVerbs, fields[Enriched]{
		reading: func(v *Enriched) *Reading { return &v.Reading }, more: func(v *Enriched) *string { return &v.C },
	})))
	t.Run("series, removals in three partitions", histories(seriesGame("series, removals in three partitions", recordsLate, []string{"append", "append", "remove", "remove", "get"}, fields[Spread]{
		reading: func(v *Spread) *Reading { return &v.Reading },
	})))
	logGame := seriesGame("series, removals without a current item", knowsNone, []string{"append", "append", "remove", "history"}, fields[Alone]{reading: func(v *Alone) *Reading { return &v.Reading }})
	logGame.paired = true // a put alone has no token: see docs/production.md
	t.Run("series, removals without a current item", histories(logGame))
	t.Run("series, removals with ids", histories(seriesGame("series, removals with ids", dropsLate, removeVerbs, fields[Identified]{
		reading: func(v *Identified) *Reading { return &v.Reading }, event: func(v *Identified) *string { return &v.Event },
	})))
	t.Run("series, ids in three partitions", histories(seriesGame("series, ids in three partitions", recordsLate, spreadVerbs, fields[Several]{
		reading: func(v *Several) *Reading { return &v.Reading }, event: func(v *Several) *string { return &v.Event },
	})))
	t.Run("record, states kept", histories(recordGame("record, states kept", recordVerbs, func(v *Kept) *Record { return &v.Record })))
	t.Run("record, states passing", histories(recordGame("record, states passing", recordVerbs, func(v *Passing) *Record { return &v.Record })))
	t.Run("record, single requests", histories(singleGame("record, single requests", func(v *Locked) *Record { return &v.Record })))
	t.Run("claims, hard delete", histories(claimGame("claims, hard delete", claimRules{}, func(v *Plain) *Member { return &v.Member })))
	t.Run("claims, freed by delete", histories(claimGame("claims, freed by delete", claimRules{soft: true}, func(v *Freed) *Member { return &v.Member })))
	t.Run("decisions, gapless numbers", histories(numberGame("decisions, gapless numbers")))
	t.Run("decisions, at most two", histories(seatGame("decisions, at most two")))
	t.Run("lease", histories(leaseGame("lease")))
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
		require.NoError(t, tables.Create(t.Context(), db))
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
		require.NoError(t, tables.Create(t.Context(), db))
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

// outcome is what a call said, besides its result.
type outcome struct {
	class  string // the classes of the error, joined; "" for success
	either string // another that is as true, of an expectation; then owner is its
	unsure bool   // the write may have been applied
	idle   bool   // a failure that no state explains, and that wrote nothing: throttled, conflict, connection or context
	text   string // of the error, for people
	actual int64  // the version that a *versioned.ConflictError names
	owner  string // the partition key that a *unique.ViolationError names
}

// classes are the errors that a state can explain.
var classes = []struct {
	name string
	err  error
}{
	{"NotFound", entity.ErrNotFound}, {"Exists", entity.ErrExists}, {"Deleted", entity.ErrDeleted}, {"NotDeleted", entity.ErrNotDeleted},
	{"Condition", entity.ErrConditionFailed}, {"Held", lease.ErrTaken}, {"Lost", lease.ErrLost},
}

// outcomeOf sorts an error.
func outcomeOf(err error) outcome {
	if err == nil {
		return outcome{}
	}
	o := outcome{unsure: entity.IsAmbiguous(err), text: err.Error()}
	var names []string
	for _, c := range classes {
		if errors.Is(err, c.err) {
			names = append(names, c.name)
		}
	}
	var version *versioned.ConflictError
	if errors.As(err, &version) {
		names, o.actual = append(names, "Version"), version.Actual
	}
	var taken *unique.ViolationError
	if errors.As(err, &taken) {
		names, o.owner = append(names, "Taken"), taken.Owner.PK
	}
	var skew *lease.SkewError
	if errors.As(err, &skew) {
		names = append(names, "Skew")
	}
	if errors.Is(err, entity.ErrReadBack) {
		names = append(names, "FollowUp")
	}
	if len(names) == 0 {
		if o.idle = injected(err); !o.idle {
			names = append(names, fmt.Sprintf("unexpected %T", errors.Unwrap(err)))
		}
	}
	o.class = strings.Join(names, "+")
	return o
}

// injected reports an error that faults explain: conflicts and throttling that did not end, broken connections, contexts.
func injected(err error) bool {
	var internal *types.InternalServerError
	var api smithy.APIError
	if errors.Is(err, entity.ErrConflict) || errors.Is(err, faults.ErrInjected) || errors.Is(err, context.Canceled) || errors.As(err, &internal) {
		return true
	}
	transient := []string{"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) && slices.ContainsFunc(cancelled.CancellationReasons, func(r types.CancellationReason) bool {
		return r.Code != nil && slices.Contains(transient, *r.Code)
	}) {
		return true
	}
	return errors.As(err, &api) && // the first one: that of a read which was to explain a refusal comes before the refusal
		slices.Contains([]string{"ProvisionedThroughputExceededException", "ThrottlingException", "TransactionConflictException"}, api.ErrorCode())
}

func (o outcome) String() string {
	s := o.class
	if o.idle {
		s = "no"
	}
	if s == "" {
		s = "ok"
	}
	if o.unsure {
		s += "?"
	}
	return s
}

// tally counts what was proved, for the table of docs/production.md.
type tally struct {
	title string // the first column
	good  string
	bad   string

	mu   sync.Mutex
	rows map[string]*[3]int
}

var (
	historiesTally = &tally{title: "histories", good: "operations", bad: "illegal or undecided"}
	casesTally     = &tally{title: "fault cases", good: "ambiguous", bad: "wrong"}
)

// add counts one history or case, some of its kind, and whether it was bad.
func (y *tally) add(row string, some int, bad bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.rows == nil {
		y.rows = map[string]*[3]int{}
	}
	r := y.rows[row]
	if r == nil {
		r = &[3]int{}
		y.rows[row] = r
	}
	r[0]++
	r[1] += some
	if bad {
		r[2]++
	}
}

// String is the table; "" when nothing was counted.
func (y *tally) String() string {
	var names []string
	var all [3]int
	for name, r := range y.rows {
		names = append(names, name)
		for i, n := range r {
			all[i] += n
		}
	}
	if names == nil {
		return ""
	}
	slices.Sort(names)
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | | %s | %s |\n| --- | --: | --: | --: |\n", y.title, y.good, y.bad)
	for _, name := range names {
		r := y.rows[name]
		fmt.Fprintf(&b, "| %s | %d | %d | %d |\n", name, r[0], r[1], r[2])
	}
	fmt.Fprintf(&b, "| together | %d | %d | %d |\n", all[0], all[1], all[2])
	return b.String()
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, y := range []*tally{historiesTally, casesTally} {
		if text := y.String(); text != "" {
			fmt.Println("\n" + text)
		}
	}
	os.Exit(code)
}
