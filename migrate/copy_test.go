package migrate_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/versioned"
)

// Items are copied with the version and times that the function gives them. What it refuses or leaves out is counted.
func TestCopy_RunCopiesWhatIsThere(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	for i := range 30 {
		s.OK(s.tickets.Put(s.Ctx, ticket{ID: fmt.Sprint("t", i), Owner: fmt.Sprint("o", i%3), Code: fmt.Sprint("c", i), Uses: i}))
	}
	s.put(ticket{ID: "t0", Owner: "o1", Code: "c0", Uses: 7})
	s.put(ticket{ID: "out", Owner: "nobody"})
	s.put(ticket{ID: "bad", Owner: "spoilt"})

	dry := s.run(migrate.DryRun())
	assert.Equal(t, []int{32, 30, 1, 1}, []int{dry.Items, dry.Rewritten, dry.Omitted, dry.Skipped()})
	state, err := s.copy.State(s.Ctx)
	require.NoError(t, err)
	assert.Equal(t, migrate.NotBegun, state)
	s.Wire.Reset()

	done := s.run()
	assert.Equal(t, "30 of 32 items copied (30 missing), 1 skipped (1 function returned an error)", done.String())
	assert.Equal(t, []int{dry.Items, dry.Rewritten, dry.Omitted, dry.Skipped()}, []int{done.Items, done.Rewritten, done.Omitted, done.Skipped()})
	assert.Less(t, s.Wire.Count("TransactWriteItems"), 30, "several new copies are written at once")
	found := ""
	for _, x := range done.Examples {
		if x.Problem == migrate.NotConverted {
			found = x.Key
			assert.ErrorIs(t, x.Err, errSpoilt)
		}
	}
	assert.Equal(t, `pk="$app#v1#ticket#bad" sk="$app#v1#ticket"`, found)
	s.requireEqual()
	is, err := s.passes.Get(s.Ctx, pass{Owner: "o1", ID: "t0"})
	require.NoError(t, err)
	assert.EqualValues(t, 2, is.Version)
	states, err := entity.Must(versioned.Of(s.passes)).List(pass{Owner: "o1", ID: "t0"}).Collect(s.Ctx)
	require.NoError(t, err)
	assert.Empty(t, states, "a copy leaves no snapshot")

	s.Wire.Reset()
	again := s.run()
	assert.Equal(t, []int{30, 32}, []int{again.Rewritten, again.Items})
	assert.Equal(t, []string{"GetItem"}, s.Operations()[:1])
	assert.Zero(t, s.run(migrate.Restart()).Rewritten)
	_, err = s.copy.Run(s.Ctx, migrate.Restart(), migrate.Strict())
	var bad *migrate.ItemError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, migrate.NotConverted, bad.Problem)

	// The new program goes on with the history of the copy.
	next, err := s.passes.Update(s.Ctx, pass{Owner: "o1", ID: "t0"}, entity.Add(&entity.Fields[pass]().Rides, 1))
	require.NoError(t, err)
	assert.Equal(t, []int64{3, 8}, []int64{next.Version, int64(next.Rides)})
}

// Changes bring copies up to date: whatever their order, however often, and wherever an item moves.
func TestCopy_FollowsChanges(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	a := s.put(ticket{ID: "a", Owner: "ann", Code: "1"})
	assert.Equal(t, 1, s.apply(a).Rewritten)
	s.Wire.Reset()
	assert.Zero(t, s.apply(a).Rewritten, "what was copied already is not written again")
	assert.Equal(t, []string{"GetItem", "GetItem", "GetItem"}, s.Operations())
	s.requireEqual()

	b := s.put(ticket{ID: "b", Owner: "bob", Code: "2"})
	moved := s.put(ticket{ID: "a", Owner: "cid", Code: "1", Uses: 1})
	used := s.put(ticket{ID: "a", Owner: "cid", Code: "3", Uses: 2})
	left := s.put(ticket{ID: "b", Owner: "nobody"})
	s.apply(used, left, moved, b, moved)
	s.requireEqual()
	back := s.put(ticket{ID: "b", Owner: "bob", Code: "1"})
	gone := s.remove("a")
	s.apply(gone, back)
	s.requireEqual()
	s.apply(s.put(ticket{ID: "a", Owner: "ann", Code: "3"}), gone, used, a)
	s.requireEqual()
	r := s.apply(s.put(ticket{ID: "a", Owner: "spoilt"}))
	assert.Equal(t, map[migrate.Problem]int{migrate.NotConverted: 1}, r.Problems)
	s.apply(s.remove("a"))
	assert.NotNil(t, s.Item("$app#v1#pass#ann", "$app#v1#pass#a"), "where the copy was is known from the state before the spoilt one")
	report, err := s.copy.CutOver(s.Ctx)
	require.NoError(t, err)
	assert.True(t, report.Clean())
	s.requireEqual()
}

// An older state never replaces a newer one, whatever happened between its read and its write.
func TestCopy_ALateWriteIsPlannedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		copied    bool // before
		meanwhile func(*station)
	}{
		"update":        {true, func(s *station) { s.quickly(s.put(ticket{ID: "a", Owner: "ann", Uses: 9})) }},
		"first copy":    {false, func(s *station) { s.quickly(s.put(ticket{ID: "a", Owner: "ann", Uses: 9})) }},
		"removal":       {true, func(s *station) { s.quickly(s.remove("a")) }},
		"uncopied":      {false, func(s *station) { s.quickly(s.remove("a")) }},
		"came and went": {false, func(s *station) { s.quickly(s.put(ticket{ID: "a", Owner: "ann", Uses: 9})); s.quickly(s.remove("a")) }},
		"move":          {true, func(s *station) { s.quickly(s.put(ticket{ID: "a", Owner: "bob"})) }},
		"left out":      {false, func(s *station) { s.quickly(s.put(ticket{ID: "a", Owner: "nobody"})) }},
		"back as it was": {true, func(s *station) {
			was := s.stored("a")
			s.PutItem(s.first)
			s.ChangeItem("$app#v1#ticket#a", "$app#v1#ticket", dbtest.Item{"_w": dbtest.S("another")})
			s.quickly(s.between("a", was, s.stored("a")))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStation(t)
			s.apply(s.put(ticket{ID: "b", Owner: "bob"})) // the state is there
			created := s.put(ticket{ID: "a", Owner: "ann"})
			s.first = s.stored("a")
			if c.copied {
				s.apply(created)
			}
			change := s.put(ticket{ID: "a", Owner: "ann", Uses: 1})
			require.NoError(t, s.Overtake(dbtest.First(dbtest.Is("TransactWriteItems")), func() error {
				_, err := s.copy.Apply(s.Ctx, change)
				return err
			}, func() { c.meanwhile(s) }))
			s.requireEqual()
		})
	}
}

// A removal that is late does not take away what was copied since.
func TestCopy_ALateRemovalIsPlannedAgain(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	s.apply(s.put(ticket{ID: "a", Owner: "ann"}))
	gone := s.remove("a")
	require.NoError(t, s.Overtake(dbtest.First(dbtest.Is("TransactWriteItems")), func() error {
		_, err := s.copy.Apply(s.Ctx, gone)
		return err
	}, func() { s.quickly(s.put(ticket{ID: "a", Owner: "ann"})) }))
	s.requireEqual()
}

// closing matches the request that cuts over.
func (*station) closing(r faults.Request) bool {
	return strings.Contains(string(r.Body), string(migrate.CutOver))
}

// held is a program whose transactions wait until it is let go.
func (s *station) held() (c *migrate.Copier[ticket, pass], waits <-chan struct{}, letGo func()) {
	wire := faults.New(s.Raw.Options().HTTPClient)
	gate, waiting := make(chan struct{}), make(chan struct{})
	var once sync.Once
	wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "TransactWriteItems" {
			once.Do(func() { close(waiting) })
			<-gate
		}
		return faults.None
	})
	return s.copier(s.Open(s.Through(wire))), waiting, sync.OnceFunc(func() { close(gate) })
}

// A copy is written after another program has seen no copy to remove, and before that has counted it.
func TestCopy_ACopyThatComesBeforeItsRemovalIsRemoved(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	s.apply(s.put(ticket{ID: "b", Owner: "bob"})) // the state is there
	created := s.put(ticket{ID: "a", Owner: "ann"})
	remover, waits, letGo := s.held()
	defer letGo()
	removed := make(chan error, 1)
	require.NoError(t, s.Overtake(dbtest.First(dbtest.Is("TransactWriteItems")), func() error {
		_, err := s.copy.Apply(s.Ctx, created)
		return err
	}, func() {
		gone := s.remove("a")
		go func() { removed <- remover.Handle(s.Ctx, gone) }()
		<-waits
	}))
	letGo()
	require.NoError(t, <-removed)
	s.requireEqual()
}

// A unique value moves from one copy to another, and two copies exchange theirs, in whatever order the changes come.
func TestCopy_UniqueValuesMove(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	s.apply(s.put(ticket{ID: "a", Owner: "ann", Code: "x"}), s.put(ticket{ID: "b", Owner: "bob", Code: "y"}))
	changes := []stream.Change[ticket]{s.put(ticket{ID: "a", Owner: "ann", Code: "tmp"}), s.put(ticket{ID: "b", Owner: "bob", Code: "x"}), s.put(ticket{ID: "a", Owner: "ann", Code: "y"})}
	s.apply(changes[1])
	s.requireEqual()
	s.apply(changes...)
	s.requireEqual()

	// Two items of the old side have one value: the second stays as it is, until the first gives it up.
	both := s.put(ticket{ID: "b", Owner: "bob", Code: "y"})
	r := s.apply(both)
	assert.Equal(t, map[migrate.Problem]int{migrate.ValueTaken: 1}, r.Problems)
	_, err := s.copy.CutOver(s.Ctx)
	var unsettled *migrate.UnsettledError
	require.ErrorAs(t, err, &unsettled)
	require.ErrorIs(t, err, migrate.ErrUnsettled)
	assert.Equal(t, 1, unsettled.Report.Skipped())
	for _, x := range unsettled.Report.Examples {
		assert.NotContains(t, x.Key, "y")
	}
	s.apply(s.put(ticket{ID: "a", Owner: "ann", Code: "z"}))
	_, err = s.copy.CutOver(s.Ctx)
	require.NoError(t, err)
	s.requireEqual()
}

// What another program has written stays, and two items do not share a copy.
func TestCopy_LeavesWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	foreign, err := s.passes.Create(s.Ctx, pass{Owner: "ann", ID: "a", Rides: 99})
	require.NoError(t, err)
	s.put(ticket{ID: "a", Owner: "ann"})
	assert.Equal(t, map[migrate.Problem]int{migrate.Foreign: 1}, s.run().Problems)
	assert.Equal(t, map[migrate.Problem]int{migrate.Foreign: 1}, s.apply(s.put(ticket{ID: "a", Owner: "ann", Uses: 1})).Problems)
	s.apply(s.remove("a"))
	is, err := s.passes.Get(s.Ctx, pass{Owner: "ann", ID: "a"})
	require.NoError(t, err)
	assert.Equal(t, foreign, is)

	one, err := migrate.Copy("one", s.tickets, s.passes, func(ticket) (pass, error) { return pass{ID: "one", Owner: "all"}, nil })
	require.NoError(t, err)
	s.put(ticket{ID: "x", Owner: "ann"})
	s.put(ticket{ID: "y", Owner: "ann"})
	r, err := one.Run(s.Ctx)
	require.NoError(t, err)
	assert.Equal(t, map[migrate.Problem]int{migrate.KeyTaken: 1}, r.Problems)
	assert.Equal(t, 1, r.Rewritten)
}

// After the cut over nothing is copied any more: not by a consumer, not by a run, and not by one that was held up before.
func TestCopy_CutOverEndsAllCopies(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	require.ErrorIs(t, s.copy.Freeze(s.Ctx), migrate.ErrNotBegun)
	_, err := s.copy.CutOver(s.Ctx)
	require.ErrorIs(t, err, migrate.ErrNotBegun)
	created := s.put(ticket{ID: "a", Owner: "ann"})
	change := s.put(ticket{ID: "a", Owner: "ann", Uses: 1})
	s.apply(s.put(ticket{ID: "b", Owner: "bob"}))
	slow := s.Overtake(dbtest.First(dbtest.Is("TransactWriteItems")), func() error {
		_, err := s.copy.Apply(s.Ctx, created, change)
		return err
	}, func() {
		quick := s.quick()
		require.NoError(t, quick.Freeze(s.Ctx))
		state, err := quick.State(s.Ctx)
		require.NoError(t, err)
		assert.Equal(t, migrate.Freezing, state)
		require.NoError(t, quick.Thaw(s.Ctx))
		s.OK(quick.CutOver(s.Ctx, entity.Segments(2), entity.Budget(1e6, 1e6), migrate.OnProgress(func(migrate.Progress) {})))
		s.requireEqual()
		require.NoError(t, s.passes.Delete(s.Ctx, pass{Owner: "ann", ID: "a"})) // the new program
	})
	require.ErrorIs(t, slow, migrate.ErrCutOver)
	s.OK(s.copy.CutOver(s.Ctx))
	state, err := s.copy.State(s.Ctx)
	require.NoError(t, err)
	assert.Equal(t, migrate.CutOver, state)
	require.ErrorIs(t, s.copy.Handle(s.Ctx, s.put(ticket{ID: "c", Owner: "cid"})), migrate.ErrCutOver)
	for _, call := range []func() error{
		func() error { _, err := s.copy.Run(s.Ctx); return err },
		func() error { _, err := s.quick().Run(s.Ctx, migrate.Restart()); return err },
		func() error { return s.copy.Freeze(s.Ctx) },
		func() error { return s.copy.Thaw(s.Ctx) },
	} {
		require.ErrorIs(t, call(), migrate.ErrCutOver)
	}
	left, err := s.passes.Scan(entity.Consistent()).Collect(s.Ctx)
	require.NoError(t, err)
	require.Len(t, left, 1)
	late, err := s.copy.Verify(s.Ctx)
	require.NoError(t, err)
	assert.Equal(t, map[migrate.Reason]int{migrate.Missing: 2}, late.Reasons, "a, which the new program deleted, and c")
}

// A removal that was planned before the cut over is refused after it, although the copy is as it was read.
func TestCopy_CutOverRefusesALateRemoval(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	s.apply(s.put(ticket{ID: "a", Owner: "ann"}))
	first, gone := s.stored("a"), s.remove("a")
	require.ErrorIs(t, s.Overtake(dbtest.First(dbtest.Is("TransactWriteItems")), func() error {
		return s.copy.Handle(s.Ctx, gone)
	}, func() {
		s.PutItem(first)
		s.OK(s.quick().CutOver(s.Ctx))
	}), migrate.ErrCutOver)
	s.requireEqual()
}

// A copy that was planned after the last pass, of an item that the old program has written too late, is refused.
func TestCopy_CutOverRefusesWhatWasPlannedDuringIt(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	s.apply(s.put(ticket{ID: "a", Owner: "ann"}))
	late, waits, letGo := s.held()
	defer letGo()
	done := make(chan error, 1)
	require.NoError(t, s.Overtake(s.closing, func() error {
		_, err := s.copy.CutOver(s.Ctx)
		return err
	}, func() {
		created := s.put(ticket{ID: "late", Owner: "bob"})
		go func() { done <- late.Handle(s.Ctx, created) }()
		<-waits
	}))
	letGo()
	require.ErrorIs(t, <-done, migrate.ErrCutOver)
	_, err := s.passes.Get(s.Ctx, pass{Owner: "bob", ID: "late"})
	require.ErrorIs(t, err, entity.ErrNotFound)
}

// A write that was planned before the last pass does not come between that pass and the cut over.
func TestCopy_CutOverSealsWhatItHasCompared(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	s.apply(s.put(ticket{ID: "a", Owner: "ann"}))
	first := s.stored("a")
	change := s.put(ticket{ID: "a", Owner: "ann", Uses: 1})
	late, waits, letGo := s.held()
	defer letGo()
	done := make(chan error, 1)
	go func() { done <- late.Handle(s.Ctx, change) }()
	<-waits
	s.PutItem(first)
	require.NoError(t, s.Overtake(s.closing, func() error {
		_, err := s.copy.CutOver(s.Ctx)
		return err
	}, func() {
		letGo()
		require.NoError(t, <-done)
	}))
	s.requireEqual()
}

// A cut over whose last request is on its way while the copy is thawed does not succeed: the old program has written since, also
// if the copy has been frozen again.
func TestCopy_AThawStopsACutOver(t *testing.T) {
	t.Parallel()
	for _, state := range []migrate.State{migrate.Copying, migrate.Freezing} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			s := newStation(t)
			s.apply(s.put(ticket{ID: "a", Owner: "ann"}))
			err := s.Overtake(s.closing, func() error {
				_, err := s.copy.CutOver(s.Ctx)
				return err
			}, func() {
				quick := s.quick()
				require.NoError(t, quick.Thaw(s.Ctx))
				s.put(ticket{ID: "late", Owner: "bob"})
				if state == migrate.Freezing {
					require.NoError(t, quick.Freeze(s.Ctx))
				}
			})
			var unsettled *migrate.UnsettledError
			require.ErrorAs(t, err, &unsettled)
			assert.True(t, unsettled.Thawed)
			is, err := s.copy.State(s.Ctx)
			require.NoError(t, err)
			assert.Equal(t, state, is)
			s.OK(s.copy.CutOver(s.Ctx))
			s.requireEqual()
		})
	}
}

// Verify finds what is missing, differs and is left over.
func TestCopy_VerifyComparesBothSides(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	for _, id := range []string{"a", "b", "c", "d"} {
		s.put(ticket{ID: id, Owner: "ann"})
	}
	s.run()
	verify := func() migrate.Report {
		r, err := s.copy.Verify(s.Ctx, entity.Segments(2))
		require.NoError(t, err)
		return r
	}
	clean := verify()
	assert.True(t, clean.Clean())
	s.put(ticket{ID: "a", Owner: "ann", Uses: 1})
	s.put(ticket{ID: "b", Owner: "bob"})
	s.remove("c")
	s.put(ticket{ID: "e", Owner: "ann"})
	was := s.ItemsByKey()
	r := verify()
	assert.False(t, r.Clean())
	assert.Equal(t, map[migrate.Reason]int{migrate.Missing: 2, migrate.Differing: 1, migrate.Extra: 2}, r.Reasons)
	assert.Equal(t, "5 of 4 items differ (1 differing, 2 extra, 2 missing)", r.String())
	assert.Equal(t, was, s.ItemsByKey())
	s.OK(s.copy.CutOver(s.Ctx))
	s.requireEqual()
	clean = verify()
	assert.True(t, clean.Clean())
	check, err := migrate.Check(s.Ctx, s.passes, func(f migrate.Finding) error { return fmt.Errorf("%v", f) })
	require.NoError(t, err, "a check knows the state of a copy")
	assert.Empty(t, check.Findings)
}

// Whatever happens to one request of a step, the step can be repeated, and both sides are equal afterwards.
func TestCopy_FaultsAtEachRequest(t *testing.T) {
	t.Parallel()
	for i, round := range testsize.Rounds(faults.Lost, faults.Throttle, faults.Internal, faults.Twice, faults.InternalApplied, faults.Drop, faults.Conflict) {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			s := newStation(t)
			for n := 1 + i%testsize.Pick(1, 4); ; n += testsize.Pick(17, 4) { // the rounds share the requests
				fault := round.At(n)
				c, err := migrate.Copy(fmt.Sprint("c", n), dbtest.Declare[ticket](t, s.Open(s.Client)), dbtest.Declare[pass](t, s.Open(s.Client)), toPass)
				require.NoError(t, err)
				for _, it := range s.Items() {
					s.RemoveItem(it)
				}
				s.put(ticket{ID: "a", Owner: "ann", Code: "1"})
				s.put(ticket{ID: "b", Owner: "bob", Code: "2"})
				steps := []func() error{
					func() error { _, err := c.Run(s.Ctx); return err },
					func() error { _, err := c.CutOver(s.Ctx); return err },
				}
				s.Wire.Reset()
				s.Wire.Inject(faults.Nth(n, fault))
				try := func(step func() error) {
					t.Helper()
					for range 3 {
						if err = step(); err == nil {
							return
						}
						s.Wire.Inject(nil)
						s.Clock.Move(31 * time.Second)
					}
					require.NoError(t, err, "%v at request %d", fault, n)
				}
				try(steps[0])
				moved, gone := s.put(ticket{ID: "a", Owner: "cid", Code: "2"}), s.remove("b")
				s.put(ticket{ID: "d", Owner: "ann"})
				try(func() error { _, err := c.Apply(s.Ctx, moved, gone); return err })
				try(steps[1])
				s.Wire.Inject(nil)
				s.requireEqual("%v at request %d", fault, n)
				if len(s.Wire.Requests()) < n {
					require.Greater(t, n, 20)
					return
				}
			}
		})
	}
}

func TestCopy_RefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	tickets, passes := dbtest.Declare[ticket](t, s.DB), dbtest.Declare[pass](t, s.DB)
	code := func(_ any, err error) string { return dbtest.InputCode(err) }
	same := func(t ticket) (ticket, error) { return t, nil }
	type plain struct {
		_  entity.Key `name:"Plain" pk:"pk" sk:"sk" kind:"type=plain"`
		PK string     `dynamodbav:"pk"`
		SK string     `dynamodbav:"sk"`
	}
	assert.Equal(t, bind.CodeCopy, code(migrate.Copy("no name", tickets, passes, toPass)))
	assert.Equal(t, bind.CodeCopy, code(migrate.Copy[ticket, pass]("passes", tickets, passes, nil)))
	assert.Equal(t, bind.CodeCopy, code(migrate.Copy("same", tickets, tickets, same)))
	assert.Equal(t, bind.CodeUnopened, code(migrate.Copy("none", tickets, (*entity.Store[pass])(nil), toPass)))
	assert.Equal(t, bind.CodeCopyTarget, code(migrate.Copy("plain", tickets, dbtest.Declare[plain](t, s.DB), func(ticket) (plain, error) { return plain{}, nil })))
	assert.Equal(t, bind.CodeCopyChange, code(s.copy.Apply(s.Ctx, stream.Change[ticket]{})))
	assert.Equal(t, bind.CodeCopyChange, code(s.copy.Apply(s.Ctx, stream.Change[ticket]{Kind: stream.Created})))
	var image *stream.ImageError
	require.ErrorAs(t, s.copy.Handle(s.Ctx, stream.Change[ticket]{Kind: stream.Deleted}), &image)
	assert.Equal(t, "OldImage", image.Needs)
	assert.Equal(t, bind.CodeOption, code(s.copy.Run(s.Ctx, migrate.DryRun(), migrate.Restart())))
	assert.Equal(t, bind.CodeOption, code(s.copy.Run(s.Ctx, entity.Segments(0))))
	assert.Equal(t, bind.CodeOption, code(s.copy.Verify(s.Ctx, nil)))
	assert.Equal(t, bind.CodeOption, code(s.copy.CutOver(s.Ctx, migrate.OnProgress(nil))))
	var none context.Context
	assert.Equal(t, bind.CodeContext, code(s.copy.Verify(none)))
	assert.Equal(t, bind.CodeUnopened, code(new(migrate.Copier[ticket, pass]).CutOver(s.Ctx)))
	assert.Empty(t, s.Sent())

	s.apply(s.put(ticket{ID: "a", Owner: "ann"}))
	type other struct {
		_  entity.Key `name:"Other" pk:"$#{id}" sk:"$"`
		ID string     `dynamodbav:"id"`
	}
	another, err := migrate.Copy("passes", dbtest.Declare[other](t, s.DB), passes, func(other) (pass, error) { return pass{}, nil })
	require.NoError(t, err)
	_, err = another.Run(s.Ctx)
	require.ErrorIs(t, err, migrate.ErrOtherWork)
}

// A reader of the stream brings the changes of the old items, while Run copies those that are there.
func TestCopy_FollowsTheStreamByAReader(t *testing.T) {
	t.Parallel()
	s := newStation(t)
	_, err := dbtest.OpenStream(s.Ctx, s.Raw, s.Table, types.StreamViewTypeNewAndOldImages)
	require.NoError(t, err)
	for n := range 5 {
		s.put(ticket{ID: fmt.Sprint("a", n), Owner: "ann", Code: fmt.Sprint("c", n)})
	}
	o := s.Raw.Options()
	streams := dynamodbstreams.New(dynamodbstreams.Options{Region: o.Region, BaseEndpoint: o.BaseEndpoint, Credentials: o.Credentials, HTTPClient: o.HTTPClient})
	reader := stream.NewReader(streams, s.DB, stream.ReaderOptions{Name: "passes", Poll: time.Millisecond, OnLost: func(context.Context, *stream.LostError) error { return nil }})
	ctx, stop := context.WithCancel(s.Ctx)
	done := make(chan error, 1)
	aside := stream.OnUndecodable(func(context.Context, stream.Record, error) error { return nil }) // DynamoDB Local leaves out which kind an empty map is
	go func() { done <- reader.Run(ctx, aside, stream.On(s.tickets, s.copy.Handle)) }()
	s.run()
	for n := range 5 {
		s.put(ticket{ID: fmt.Sprint("a", n), Owner: "bob", Code: fmt.Sprint("d", n)})
		s.put(ticket{ID: fmt.Sprint("b", n), Owner: "ann", Code: fmt.Sprint("e", n)})
	}
	s.remove("a1")
	for deadline := time.Now().Add(2 * time.Minute); ; {
		r, err := s.quick().Verify(s.Ctx)
		require.NoError(t, err)
		if r.Rewritten == 0 {
			break
		}
		select {
		case err := <-done:
			require.FailNow(t, "the reader has ended", "%v", err)
		default:
			require.True(t, time.Now().Before(deadline), "%+v", r)
		}
	}
	stop()
	require.NoError(t, <-done)
	s.requireEqual("by the reader")
}
