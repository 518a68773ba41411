package expiry_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

func passOf(r row) Pass { return Pass{ID: r.ID, Code: r.Code, Note: r.Note, Ends: r.Ends} }

func rowOf(p Pass) row {
	return row{ID: p.ID, Code: p.Code, Note: p.Note, Ends: p.Ends, version: p.Version}
}

// program is one of the programs that write a table, with a clock of its own.
type program struct {
	*entity.Store[Pass]
	db    *entity.DB
	codes *unique.Lookup[Pass]
	past  *versioned.History[Pass]
	now   func() seconds
}

// storm is a random sequence of calls by two programs, one of which has a clock that is behind, while DynamoDB removes what
// has expired in any order. After each call the table must be as the model says, and sound.
type storm struct {
	*lab[Pass]
	m          *model
	behind     time.Duration
	fast, slow *program
	op         string // the last call, for messages
	answerLost bool   // of its first transaction
}

func (s *storm) program(behind func() time.Duration) *program {
	clock := func() time.Time { return s.Clock.Now().Add(-behind()) }
	db := s.Open(s.Client, func(c *entity.Config) { c.Clock = clock })
	store := dbtest.Declare[Pass](s.T, db)
	return &program{store, db, entity.Must(unique.Of(store, "code")), entity.Must(versioned.Of(store)), func() seconds { return clock().Unix() }}
}

func TestStorm_OfValuesAndVersions(t *testing.T) {
	t.Parallel()
	s := &storm{lab: open[Pass](t), m: newModel()}
	s.fast = s.program(func() time.Duration { return 0 })
	s.slow = s.program(func() time.Duration { return s.behind })
	testsize.Check(t, testsize.Pick(3, 10)*int(testsize.Number(t, "DYNASTRATA_ROUNDS", 1)), func(rt *rapid.T) {
		s.m = newModel()
		for _, it := range s.Items() {
			s.RemoveItem(it)
		}
		s.Clock.Set(dawn, 0)
		s.behind = time.Duration(rapid.SampledFrom([]int{0, 1, 3}).Draw(rt, "seconds behind")) * time.Second
		for range rapid.IntRange(5, 40).Draw(rt, "calls") {
			s.step(rt)
			require.Equal(rt, s.m.lines(), describe(s.Items()), "after %s", s.op)
			require.Empty(rt, s.m.problems(s.fast.now()), "after %s", s.op)
			s.reads(rt)
		}
		s.Clock.Move(1000 * day)
		for _, name := range slices.Sorted(maps.Keys(s.m.expired(s.fast.now()))) {
			s.m.expired(s.fast.now())[name]()
		}
		require.Empty(rt, s.m.problems(s.fast.now()), "when everything that expires is gone")
	})
}

var ids, codes = []string{"a", "b", "c"}, []string{"", "K1", "K2"}

// step makes one call, moves the clock, or removes what has expired.
func (s *storm) step(rt *rapid.T) {
	switch kind := rapid.IntRange(0, 9).Draw(rt, "kind"); {
	case kind < 2:
		d := rapid.SampledFrom([]time.Duration{time.Second, 2 * time.Second, time.Minute, hour - time.Second, hour, 3 * hour, day + time.Second}).Draw(rt, "move")
		s.Clock.Move(d)
		s.op = "a move of the clock"
	case kind == 2:
		s.removeExpired(rt)
	default:
		p := rapid.SampledFrom([]*program{s.fast, s.fast, s.slow}).Draw(rt, "program")
		fault := rapid.SampledFrom([]faults.Fault{faults.None, faults.None, faults.None, faults.Lost, faults.Twice, faults.Conflict, faults.InternalApplied}).Draw(rt, "fault")
		s.Wire.Inject(faults.Nth(1, fault, "TransactWriteItems"))
		s.answerLost = fault == faults.Lost || fault == faults.InternalApplied
		s.call(rt, p)
		s.Wire.Inject(nil)
		s.op += " under " + fault.String()
	}
}

// removeExpired removes one thing that has expired, as DynamoDB does.
func (s *storm) removeExpired(rt *rapid.T) {
	all := s.m.expired(s.fast.now())
	if len(all) == 0 {
		return
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(all))).Draw(rt, "removed")
	for _, it := range s.Items() {
		if strings.HasPrefix(describe([]dbtest.Item{it})[0], name+" ") {
			s.RemoveItem(it)
		}
	}
	all[name]()
	s.op = "the removal of " + name
}

// ends draws an end for an item: one that a caller chooses, or 0 for none.
func (s *storm) drawEnd(rt *rapid.T) seconds {
	d := rapid.SampledFrom([]time.Duration{0, -time.Second, time.Second, time.Minute, 2 * hour, 30 * hour}).Draw(rt, "end")
	if d == 0 {
		return 0
	}
	return s.Clock.Now().Add(d).Unix()
}

// call makes one call of p and requires what the model says.
func (s *storm) call(rt *rapid.T, p *program) {
	ctx, now := s.Ctx, p.now()
	given := row{ID: rapid.SampledFrom(ids).Draw(rt, "id"), Code: rapid.SampledFrom(codes).Draw(rt, "code"), Note: rapid.SampledFrom([]string{"", "x", "y"}).Draw(rt, "note")}
	given.Ends = s.drawEnd(rt)
	verb := rapid.SampledFrom([]string{"Create", "Put", "Upsert", "note", "code", "end", "all", "Modify", "Delete", "Purge", "two"}).Draw(rt, "verb")
	s.op = fmt.Sprintf("%s of %+v at %d, behind %t", verb, given, now, p == s.slow)
	was, live := s.m.live(given.ID, now)
	key := passOf(row{ID: given.ID})
	fresh := given // as a new item, or one that is put
	if fresh.Ends == 0 {
		fresh.Ends = now + seconds(hour/time.Second)
	}
	is := was
	// done returns the error of a write. The value of an item may have been taken over while a clock that is behind still
	// sees the item. If then the answer that says so is lost, the write is not planned again: its caller has to.
	done := func(write func() error) error {
		err := write()
		if c, taken := s.m.claims[was.Code]; s.answerLost && live && taken && c.id != was.ID && entity.IsAmbiguous(err) && !errors.As(err, new(*unique.ViolationError)) {
			require.ErrorIs(rt, err, entity.ErrConflict, s.op)
			s.answerLost = false
			err = write()
		}
		return err
	}
	update := func(changes ...entity.UpdateOption) error {
		return done(func() error { return dbtest.ErrorOf(p.Update(ctx, key, changes...)) })
	}
	setCode, setEnd := entity.UpdateOption(entity.Set(&s.f.Code, given.Code)), entity.UpdateOption(entity.Set(&s.f.Ends, given.Ends))
	switch verb {
	case "Create":
		err := dbtest.ErrorOf(p.Create(ctx, passOf(given)))
		if live {
			require.ErrorIs(rt, err, entity.ErrExists, s.op)
			return
		}
		s.violates(rt, err, s.m.create(fresh, now))
	case "Put", "Upsert":
		write := func() error { return dbtest.ErrorOf(p.Put(ctx, passOf(given))) }
		is = fresh
		if verb == "Upsert" {
			write = func() error { return dbtest.ErrorOf(p.Upsert(ctx, passOf(given))) }
			is = merged(was, given, fresh.Ends)
		}
		err := done(write)
		if !live {
			s.violates(rt, err, s.m.create(fresh, now))
			return
		}
		s.violates(rt, err, s.m.update(is, now))
	case "note":
		is.Note = given.Note + "!"
		s.changed(rt, update(entity.Set(&s.f.Note, is.Note)), is, live, now)
	case "code":
		is.Code = given.Code
		s.changed(rt, update(setCode), is, live, now)
	case "end":
		is.Ends = given.Ends
		s.changed(rt, update(setEnd), is, live, now)
	case "all":
		is = given
		s.changed(rt, update(setCode, setEnd, entity.Set(&s.f.Note, is.Note)), is, live, now)
	case "Modify":
		is = given
		is.Note = was.Note + "."
		s.changed(rt, done(func() error {
			return dbtest.ErrorOf(p.Modify(ctx, key, func(v *Pass) error {
				v.Code, v.Note, v.Ends = is.Code, is.Note, is.Ends
				return nil
			}))
		}), is, live, now)
	case "Delete":
		err := done(func() error { return p.Delete(ctx, key) })
		if !live {
			require.ErrorIs(rt, err, entity.ErrNotFound, s.op)
			return
		}
		require.NoError(rt, err, s.op)
		s.m.remove(given.ID, now)
	case "Purge":
		require.NoError(rt, p.Purge(ctx, key), s.op)
		s.m.purge(given.ID)
	case "two":
		s.two(rt, p, given, fresh, setEnd)
	}
}

// two creates an item and moves the end of another, in one transaction.
func (s *storm) two(rt *rapid.T, p *program, given, fresh row, setEnd entity.UpdateOption) {
	now, next := p.now(), ids[(slices.Index(ids, given.ID)+1)%len(ids)]
	_, exists := s.m.live(given.ID, now)
	is, live := s.m.live(next, now)
	if given.Code != "" && is.Code == given.Code {
		return // both would write one sentinel
	}
	was := is
	is.Ends = given.Ends
	err := p.db.Transact(s.Ctx, p.Op().Create(passOf(given)), p.Op().Update(passOf(row{ID: next}), setEnd))
	held := s.m.free(given.Code, given.ID, now) && (is.Ends == was.Ends || s.m.free(is.Code, is.ID, now))
	switch {
	case exists || !live:
		require.Error(rt, err, s.op)
	case !held:
		s.violates(rt, err, false)
	default:
		require.NoError(rt, err, s.op)
		require.True(rt, s.m.create(fresh, now) && s.m.update(is, now), s.op)
	}
}

// merged returns the item after an upsert.
func merged(was, given row, end seconds) row {
	is := was
	is.Code, is.Note = or(given.Code, was.Code), or(given.Note, was.Note)
	switch {
	case given.Ends != 0:
		is.Ends = given.Ends
	case was.Ends == 0:
		is.Ends = end
	}
	return is
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// changed requires the result of a change of an item that must be live.
func (s *storm) changed(rt *rapid.T, err error, is row, live bool, now seconds) {
	if !live {
		require.ErrorIs(rt, err, entity.ErrNotFound, s.op)
		return
	}
	s.violates(rt, err, s.m.update(is, now))
}

// violates requires success, or, if it was not to be, the violation of another item's value.
func (s *storm) violates(rt *rapid.T, err error, ok bool) {
	if ok {
		require.NoError(rt, err, s.op)
		return
	}
	require.True(rt, errors.As(err, new(*unique.ViolationError)), "%s: %v", s.op, err)
}

// reads compares what both programs read with the model.
func (s *storm) reads(rt *rapid.T) {
	for _, p := range []*program{s.fast, s.slow} {
		id, code, now := rapid.SampledFrom(ids).Draw(rt, "read"), rapid.SampledFrom(codes[1:]).Draw(rt, "found"), p.now()
		want, live := s.m.live(id, now)
		got, err := p.Get(s.Ctx, passOf(row{ID: id}), entity.Consistent())
		require.Equal(rt, live, err == nil, "Get after %s: %v", s.op, err)
		if live {
			require.Equal(rt, want, rowOf(got), "Get after %s", s.op)
		}
		c, claimed := s.m.claims[code]
		owner, held := s.m.live(c.id, now)
		found, err := p.codes.Find(s.Ctx, passOf(row{Code: code}))
		if claimed && !gone(c.ends, now) && held && owner.Code == code {
			require.NoError(rt, err, "Find after %s", s.op)
			require.Equal(rt, owner, rowOf(found), "Find after %s", s.op)
		} else {
			require.ErrorIs(rt, err, entity.ErrNotFound, "Find after %s", s.op)
		}
		states := map[int64]row{}
		for n, x := range s.m.states[id] {
			if !gone(x.until, now) {
				states[n] = x.row
			}
		}
		if live {
			states[want.version] = want
		}
		list := map[int64]row{}
		for _, v := range entity.Must(p.past.List(passOf(row{ID: id}), versioned.WithCurrent()).Collect(s.Ctx)) {
			list[v.Number] = rowOf(v.Item)
		}
		require.Equal(rt, states, list, "List after %s", s.op)
		for n := range states {
			one, err := p.past.Get(s.Ctx, passOf(row{ID: id}), n)
			require.NoError(rt, err, "version %d after %s", n, s.op)
			require.Equal(rt, states[n], rowOf(one.Item), "version %d after %s", n, s.op)
		}
	}
}
