package proof_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// deed is one write, of items whose keys and values contain an id, prepared for it.
type deed struct {
	name   string
	before func(b *bench) error
	do     func(b *bench) error // through b.db, by the disturbed client
	after  func(b *bench) string
	// pieces says that it is no single write or transaction: after an error, each item is as before or as after it.
	pieces bool
	// counts says that a single request counts, or removes, without a guard: no client stands its arriving twice.
	counts bool
	// reports says that it reports in its result what it wrote before an error, ambiguous or not.
	reports bool
}

// faultsOfCases are given to each request of each deed.
var faultsOfCases = []faults.Fault{
	faults.Throttle, faults.Conflict, faults.Internal, faults.InternalApplied, faults.Drop, faults.Unsent, faults.Lost, faults.Twice, faults.Late, faults.Cut,
}

// mode is what happens around the fault.
type mode struct {
	name     string
	attempts int
	on       bool // the fault stays
	cancel   bool // the context ends with it
}

var modes = []mode{
	{name: "once, repeated", attempts: 10},
	{name: "once, not repeated", attempts: 1},
	{name: "from then on", attempts: 2, on: true},
	{name: "as the context ends", attempts: 10, cancel: true},
}

// bench is where a deed is done: db is disturbed, look is not.
type bench struct {
	*dbtest.Bench
	id       string
	db, look *entity.DB
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{Bench: dbtest.Open(t)}
	b.Clock.Set(epoch, 0)
	b.look = b.open(t, b.Raw, 10)
	b.try(t, 10)
	require.NoError(t, tables.Create(b.Ctx, b.look))
	return b
}

func (b *bench) open(t *testing.T, client entity.Client, attempts int) *entity.DB {
	t.Helper()
	db := b.Open(client, dbtest.Attempts(attempts))
	for _, declare := range declarations {
		require.NoError(t, declare(db))
	}
	return db
}

// try limits how often the disturbed database sends a request.
func (b *bench) try(t *testing.T, attempts int) {
	t.Helper()
	b.db = b.open(t, b.Client, attempts)
}

// clear empties the table: a local database does not bear a table for each of thousands of cases.
func (b *bench) clear(t *testing.T) {
	t.Helper()
	for items := range slices.Chunk(b.Items(), 25) {
		var writes []types.WriteRequest
		for _, it := range items {
			writes = append(writes, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: b.Key(b.KeyOf(it))}})
		}
		_, err := b.Raw.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{b.Table: writes}})
		require.NoError(t, err)
	}
}

// use prepares an item set of its own for a deed. Every case begins at the same moment.
func (b *bench) use(t *testing.T, d deed, id string) {
	t.Helper()
	b.id = id
	b.Clock.Set(epoch, 0)
	b.Wire.Inject(nil)
	require.NoError(t, d.before(b))
	b.Clock.Set(epoch.Add(time.Hour), 0)
	b.Wire.Reset()
}

// state is what is stored under the id: the texts of items by their keys. What differs from run to run is left out.
func (b *bench) state(t *testing.T, d deed) map[string]string {
	t.Helper()
	if d.after != nil {
		return map[string]string{"": d.after(b)}
	}
	found := map[string]string{}
	for key, it := range b.ItemsByKey() {
		if !strings.Contains(dbtest.Text(it["pk"]), b.id) {
			continue
		}
		delete(it, "_w")
		text, err := json.Marshal(it)
		require.NoError(t, err)
		found[strings.ReplaceAll(key, b.id, "ID")] = strings.ReplaceAll(string(text), b.id, "ID")
	}
	return found
}

// reference is what an undisturbed run stores and says: before, after the first run, and after the second.
type reference struct {
	states [3]map[string]string
	errs   [2]error
	calls  int
}

func (b *bench) reference(t *testing.T, d deed) (ref reference) {
	t.Helper()
	b.use(t, d, "ref000")
	ref.states[0] = b.state(t, d)
	for i := range 2 {
		ref.errs[i] = d.do(b)
		if i == 0 {
			ref.calls = len(b.Wire.Requests())
		}
		ref.states[i+1] = b.state(t, d)
	}
	require.NoError(t, ref.errs[0], "undisturbed")
	b.clear(t)
	return ref
}

// between reports that each item is as in one of the states.
func between(got map[string]string, of ...map[string]string) bool {
	for _, state := range append(of, got) {
		for key := range state {
			if !slices.ContainsFunc(of, func(s map[string]string) bool { return s[key] == got[key] }) {
				return false
			}
		}
	}
	return true
}

func same(a, b map[string]string) bool { return between(a, b) }

// TestFaults gives every fault to every request of every deed, and compares what the call says with what is stored.
func TestFaults(t *testing.T) {
	t.Parallel()
	for i, d := range deeds() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			ref := b.reference(t, d)
			for j := range len(modes) * len(faultsOfCases) {
				m, f := modes[j/len(faultsOfCases)], faultsOfCases[j%len(faultsOfCases)]
				if d.counts && f == faults.Twice || !long() && (i+j)%20 != 0 {
					continue
				}
				t.Run(f.String()+" "+m.name, func(t *testing.T) { b.eachRequest(t, d, ref, f, m, j) })
			}
		})
	}
}

// The single removal of a purge has no token: its second arrival finds nothing, which does not say who took it away.
func TestFaults_ARemovalThatArrivesTwiceLeavesAPurgeInDoubt(t *testing.T) {
	t.Parallel()
	for _, d := range binned.deeds() {
		if d.name == "Purge, soft delete" {
			b := newBench(t)
			b.eachRequest(t, d, b.reference(t, d), faults.Twice, modes[1], 0)
		}
	}
}

// eachRequest gives the fault to the first, the second, … request until the deed ends before it is met.
func (b *bench) eachRequest(t *testing.T, d deed, ref reference, f faults.Fault, m mode, combination int) {
	b.try(t, m.attempts)
	for n := 1; ; n++ {
		require.Less(t, n, 60, "it never ends")
		b.Ctx = t.Context()
		b.use(t, d, fmt.Sprintf("%02d-%03d", combination, n))
		require.True(t, same(ref.states[0], b.state(t, d)), "prepared otherwise than before")
		ctx, cancel := context.WithCancel(t.Context())
		b.Ctx = ctx
		b.Wire.Inject(func(r faults.Request) faults.Fault {
			if r.Index+1 == n || m.on && r.Index+1 > n {
				if m.cancel {
					cancel()
				}
				return f
			}
			return faults.None
		})
		err := d.do(b)
		b.Wire.Inject(nil)
		sent := b.Wire.Requests()
		_, lateErr := b.Wire.Deliver()
		require.NoError(t, lateErr)
		cancel()
		b.Ctx = t.Context()
		if n > len(sent) {
			require.NoError(t, err)
			b.clear(t)
			return
		}
		why := b.judge(t, d, f, m, ref, err, sent[n-1:])
		unsure := 0
		if entity.IsAmbiguous(err) {
			unsure = 1
		}
		casesTally.add(f.String(), unsure, why != "")
		if why != "" {
			t.Errorf("request %d of %v: %s\nerror: %v", n, dbtest.Operations(sent), why, err)
		}
		b.clear(t)
	}
}

// judge compares what a call said with what is stored, and calls once more. It returns what is wrong.
func (b *bench) judge(t *testing.T, d deed, f faults.Fault, m mode, ref reference, err error, disturbed []faults.Request) string {
	got := b.state(t, d)
	before, after := same(got, ref.states[0]), same(got, ref.states[1])
	unsure := entity.IsAmbiguous(err)
	switch {
	case err == nil && !after:
		return "success, but it is not written: " + difference(got, ref.states[1])
	case err == nil:
	case errors.Is(err, entity.ErrReadBack) && !d.reports:
		if !after {
			return "the outcome is in the result, but it is not written: " + difference(got, ref.states[1])
		}
	case !unsure && !before && !d.reports:
		return "a definite error, but something is written: " + difference(got, ref.states[0])
	case !before && !after && !(d.pieces && between(got, ref.states[0], ref.states[1])):
		return "neither as before nor as after it: " + difference(got, ref.states[1])
	}
	if !m.on {
		disturbed = disturbed[:1]
	}
	midway := d.pieces && !before // some of it is written
	if unsure && !midway && !slices.ContainsFunc(disturbed, func(r faults.Request) bool { return isWrite(r) && open(f, m) }) {
		return "ambiguous, but no write was in doubt"
	}
	harmless := !isWrite(disturbed[0]) || disturbed[0].Operation == "TransactWriteItems" || !open(f, m)
	// The answer to a second delivery may not say what was there before the first.
	unread := f == faults.Twice && !unsure && after && errors.Is(err, entity.ErrReadBack)
	if err != nil && harmless && !unread && !m.on && !m.cancel && m.attempts > 1 {
		return "repeating it would have been harmless"
	}
	return b.again(t, d, ref, err, before, after)
}

// again calls once more, undisturbed: what was not written is now, and what was written is met.
func (b *bench) again(t *testing.T, d deed, ref reference, first error, before, after bool) string {
	if d.after != nil {
		b.Clock.Move(time.Hour) // leases of a builder that was cut off end
	}
	err := d.do(b)
	want, says := ref.states[1], error(nil)
	if after && !(before && first != nil) {
		want, says = ref.states[2], ref.errs[1]
	}
	got := b.state(t, d)
	switch {
	case !same(got, want) && !(before && after && same(got, ref.states[2])):
		return "called again: " + difference(got, want)
	case d.pieces && err == nil:
	case outcomeOf(err).class != outcomeOf(says).class:
		return fmt.Sprintf("called again: %v instead of %v", err, says)
	}
	return ""
}

// open reports that a fault leaves a write in doubt. After Drop, nothing shows that the request was not written.
func open(f faults.Fault, m mode) bool {
	switch f {
	case faults.Internal, faults.InternalApplied, faults.Drop, faults.Lost, faults.Late, faults.Cut:
		return true
	}
	return m.cancel
}

var isWrite = dbtest.Is("PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem")

// difference is the first item that is not as wanted.
func difference(got, want map[string]string) string {
	var keys []string
	for key := range want {
		keys = append(keys, key)
	}
	for key := range got {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if got[key] != want[key] {
			return fmt.Sprintf("%s is\n  %s\ninstead of\n  %s", key, got[key], want[key])
		}
	}
	return "no difference"
}

// A touch makes no item, and writes nothing before its time has come.
func TestTouch_OfAnItemThatIsAbsentOrNotDue(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.id = "touched"
	s, key := bare.store(b.look), bare.make("touched", "")
	_, err := s.Touch(b.Ctx, key, &bare.fields().Seen, time.Hour)
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.Empty(t, b.state(t, deed{}))

	require.NoError(t, bare.living(b))
	due, err := s.Touch(b.Ctx, key, &bare.fields().Seen, time.Hour)
	require.NoError(t, err)
	require.True(t, due)
	b.Clock.Move(time.Minute)
	due, err = s.Touch(b.Ctx, key, &bare.fields().Seen, time.Hour)
	require.NoError(t, err)
	require.False(t, due)
}

// The state that follows another is never before it, whatever the clock of its writer says.
func TestUpdate_ByAClockThatIsBehindComesAfterWhatItReplaces(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.id = "late"
	require.NoError(t, chronicled.living(b))
	before, err := chronicled.store(b.look).Get(b.Ctx, chronicled.make("late", ""), entity.Consistent())
	require.NoError(t, err)
	b.Clock.Set(epoch.Add(-time.Hour), 0)
	after, err := chronicled.store(b.look).Update(b.Ctx, chronicled.make("late", ""), entity.Set(&chronicled.fields().Text, "three"))
	require.NoError(t, err)
	require.True(t, after.UpdatedAt.After(before.UpdatedAt))
}
