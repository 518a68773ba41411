package expiry_test

import (
	"errors"
	"fmt"
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
	"github.com/dynastrata/dynastrata/versioned"
)

// limited is a random sequence of writes under random conditions, by programs whose clocks differ, while clocks move past ends
// and DynamoDB removes what has expired or does not. After each write the table, the class of the error and the item in it
// must be those of a model in which an expired item is absent.
type limited[T any] struct {
	*quotas[T]
	programs []*limitedProgram[T]
	model    map[string]Quota // what is stored, expired or not
}

type limitedProgram[T any] struct {
	db    *entity.DB
	store *entity.Store[T]
	now   func() seconds
}

func TestStorm_OfConditions(t *testing.T) {
	t.Parallel()
	for _, codec := range []entity.Codec{entity.OwnCodec, entity.SDKCodec} {
		t.Run(fmt.Sprintf("Plain under codec %v", codec), func(t *testing.T) { t.Parallel(); stormOfConditions[PlainQuota](t, codec) })
		t.Run(fmt.Sprintf("Bare under codec %v", codec), func(t *testing.T) { t.Parallel(); stormOfConditions[BareQuota](t, codec) })
		t.Run(fmt.Sprintf("Locked under codec %v", codec), func(t *testing.T) { t.Parallel(); stormOfConditions[LockedQuota](t, codec) })
		t.Run(fmt.Sprintf("Whole under codec %v", codec), func(t *testing.T) { t.Parallel(); stormOfConditions[WholeQuota](t, codec) })
	}
}

func stormOfConditions[T any](t *testing.T, codec entity.Codec) {
	s := &limited[T]{quotas: openQuotas[T](t, func(c *entity.Config) { c.Codec = codec })}
	behind := time.Duration(0)
	for _, slow := range []bool{false, false, true} {
		clock := func() time.Time {
			if slow {
				return s.Clock.Now().Add(-behind)
			}
			return s.Clock.Now()
		}
		db := s.Open(s.Client, func(c *entity.Config) { c.Clock = clock })
		s.programs = append(s.programs, &limitedProgram[T]{db, dbtest.Declare[T](t, db), func() seconds { return clock().Unix() }})
	}
	testsize.Check(t, testsize.Pick(3, 40)*int(testsize.Number(t, "DYNASTRATA_ROUNDS", 1)), func(rt *rapid.T) {
		for _, it := range s.Items() {
			s.RemoveItem(it)
		}
		s.model = map[string]Quota{}
		s.Clock.Set(dawn, 0)
		behind = time.Duration(rapid.SampledFrom([]int{0, 1, 3}).Draw(rt, "seconds behind")) * time.Second
		for range rapid.IntRange(5, 25).Draw(rt, "calls") {
			s.step(rt)
		}
	})
}

func (s *limited[T]) step(rt *rapid.T) {
	kind := rapid.IntRange(0, 9).Draw(rt, "kind")
	switch id := rapid.SampledFrom(ids).Draw(rt, "id"); {
	case kind < 2:
		s.Clock.Move(rapid.SampledFrom([]time.Duration{time.Second, 2 * time.Second, time.Minute, hour - time.Second, hour, 3 * hour}).Draw(rt, "move"))
	case kind == 2 && gone(s.model[id].Ends, s.Clock.Now().Unix()):
		delete(s.model, id)
		s.RemoveItem(s.Current(id))
	case kind == 3:
		s.two(rt, rapid.SampledFrom(s.programs).Draw(rt, "program"))
	case kind > 3:
		s.one(rt, rapid.SampledFrom(s.programs).Draw(rt, "program"), id)
	}
}

// live returns an item if a clock that shows now sees it.
func (s *limited[T]) live(id string, now seconds) *Quota {
	if q, there := s.model[id]; there && !gone(q.Ends, now) {
		return &q
	}
	return nil
}

// intent is a write with what it must do: the item after it, and the class of its error.
type intent[T any] struct {
	id      string
	text    string
	op      entity.Op
	run     func() error
	after   *Quota // nil: no item
	err     error  // nil: it is applied
	code    string // instead of err
	refuser *Quota // the item in the error
}

// draw draws a write of the item with an id.
func (s *limited[T]) draw(rt *rapid.T, p *limitedProgram[T], id string) intent[T] {
	now, f, l := p.now(), s.fields(), drawLimit(rt, 3)
	live := s.live(id, now)
	given := Quota{ID: id, Code: id, Owner: rapid.SampledFrom([]string{"", "ann", "bob"}).Draw(rt, "owner"), Hits: rapid.IntRange(0, 4).Draw(rt, "hits")}
	given.Tags = rapid.SampledFrom([][]string{nil, {"x"}, {"x", "y"}}).Draw(rt, "tags")
	if d := rapid.SampledFrom([]time.Duration{0, 0, time.Second, time.Minute, 2 * hour}).Draw(rt, "end"); d > 0 {
		given.Ends = s.Clock.Now().Add(d).Unix()
	}
	fresh := given
	if fresh.Ends == 0 {
		fresh.Ends = now + seconds(hour/time.Second)
	}
	cond, key, ctx := entity.If(l.on(f)), of[T](Quota{ID: id}), s.Ctx
	verb := rapid.SampledFrom([]string{"Create", "Put", "Upsert", "count", "Update", "Modify", "Delete"}).Draw(rt, "verb")
	x := intent[T]{id: id, text: fmt.Sprintf("%s of %+v if %s at %d over %+v (live %t)", verb, given, l.text, now, s.model[id], live != nil)}
	var creates bool
	is := given
	if live != nil {
		is = *live
	}
	switch v := of[T](given); verb {
	case "Create":
		x.op, x.run, creates, is = p.store.Op().Create(v, cond), func() error { return dbtest.ErrorOf(p.store.Create(ctx, v, cond)) }, true, fresh
	case "Put":
		opts := []entity.WriteOption{cond}
		if len(dbtest.Declarations[versioned.Lock, T]()) > 0 {
			opts = append(opts, versioned.AnyVersion())
		}
		x.op, x.run, creates, is = p.store.Op().Put(v, opts...), func() error { return dbtest.ErrorOf(p.store.Put(ctx, v, opts...)) }, true, fresh
	case "Upsert":
		x.op, x.run, creates = p.store.Op().Upsert(v, cond), func() error { return dbtest.ErrorOf(p.store.Upsert(ctx, v, cond)) }, true
		is.Hits, is.Owner = given.Hits, or(given.Owner, is.Owner)
		if given.Tags != nil {
			is.Tags = given.Tags
		}
		if given.Ends != 0 || live == nil {
			is.Ends = fresh.Ends
		}
	case "count":
		v = of[T](Quota{ID: id, Code: id})
		add := entity.Add(&f.Hits, 1)
		x.op, x.run, creates = p.store.Op().Upsert(v, add, cond), func() error { return dbtest.ErrorOf(p.store.Upsert(ctx, v, add, cond)) }, true
		if live == nil {
			is = Quota{ID: id, Code: id, Ends: now + seconds(hour/time.Second)}
		}
		is.Hits++
	case "Update":
		set := entity.Set(&f.Hits, given.Hits)
		x.op, x.run = p.store.Op().Update(key, set, cond), func() error { return dbtest.ErrorOf(p.store.Update(ctx, key, set, cond)) }
		is.Hits = given.Hits
	case "Modify":
		change := func(v *T) error { dbtest.Embedded[Quota](v).Owner = given.Owner; return nil }
		x.run = func() error { return dbtest.ErrorOf(p.store.Modify(ctx, key, change, cond)) }
		is.Owner = given.Owner
	case "Delete":
		x.op, x.run = p.store.Op().Delete(key, cond), func() error { return p.store.Delete(ctx, key, cond) }
	}
	if x.after = &is; verb == "Delete" {
		x.after = nil
	}
	switch {
	case creates && l.blind:
		x.code = "EDD-9140"
	case live == nil && !creates:
		x.err = entity.ErrNotFound
	case live != nil && verb == "Create":
		x.err, x.refuser = entity.ErrExists, live
	case !l.holds(live):
		x.err, x.refuser = entity.ErrConditionFailed, live
	}
	return x
}

// requires requires the error of a write that was not applied.
func (x intent[T]) requires(rt *rapid.T, err error) {
	if x.code != "" {
		require.Equal(rt, x.code, dbtest.InputCode(err), "%s: %v", x.text, err)
		return
	}
	require.ErrorIs(rt, err, x.err, x.text)
	require.Equal(rt, x.refuser != nil, stored[T](err) != nil, "%s: the item in %v", x.text, err)
	if x.refuser != nil {
		require.Equal(rt, x.refuser, stored[T](err), x.text)
	}
}

// settle requires that the table is as one of two models says, and keeps that one.
func (s *limited[T]) settle(rt *rapid.T, x string, possible ...map[string]Quota) {
	found := map[string]Quota{}
	for _, id := range ids {
		if q := s.quota(id); q != nil {
			found[id] = *q
		}
	}
	for _, m := range possible {
		if fmt.Sprint(m) == fmt.Sprint(found) {
			s.model = m
			return
		}
	}
	require.Equal(rt, possible[0], found, x)
}

// after returns the model after writes.
func (s *limited[T]) after(all ...intent[T]) map[string]Quota {
	m := map[string]Quota{}
	for id, q := range s.model {
		m[id] = q
	}
	for _, x := range all {
		if delete(m, x.id); x.after != nil {
			m[x.id] = *x.after
		}
	}
	return m
}

var writeFaults = []faults.Fault{faults.None, faults.None, faults.None, faults.None, faults.Throttle, faults.Conflict, faults.Drop, faults.Lost, faults.Twice, faults.InternalApplied}

// under runs a write whose nth write request meets a fault. once says that the request must not arrive twice: it leaves no write
// id, so it would look like one that was refused, or it counts.
func (s *limited[T]) under(rt *rapid.T, once bool, write func() error) error {
	fault, nth := rapid.SampledFrom(writeFaults).Draw(rt, "fault"), rapid.IntRange(1, 2).Draw(rt, "request")
	if fault == faults.Twice && once {
		fault = faults.None
	}
	s.Wire.Inject(faults.Nth(nth, fault, "PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"))
	defer s.Wire.Inject(nil)
	return write()
}

func (s *limited[T]) one(rt *rapid.T, p *limitedProgram[T], id string) {
	x := s.draw(rt, p, id)
	run := x.run
	if x.op != nil && rapid.IntRange(0, 3).Draw(rt, "joined") == 0 {
		run = func() error {
			err := p.db.Transact(s.Ctx, x.op)
			if one := entity.FailureOf(err, x.op); one != nil && !entity.IsAmbiguous(err) {
				return one
			}
			return err
		}
	}
	_, bare := any(s.f).(*BareQuota)
	err := s.under(rt, bare || x.after == nil || strings.HasPrefix(x.text, "count"), run)
	switch refused := x.err != nil || x.code != ""; {
	case entity.IsAmbiguous(err) || errors.Is(err, entity.ErrReadBack):
		s.settle(rt, x.text, s.model, s.after(x))
	case refused:
		x.requires(rt, err)
		s.settle(rt, x.text, s.model)
	default:
		require.NoError(rt, err, x.text)
		s.settle(rt, x.text, s.after(x))
	}
}

// two makes writes of two items in one transaction.
func (s *limited[T]) two(rt *rapid.T, p *limitedProgram[T]) {
	a, b := s.draw(rt, p, ids[0]), s.draw(rt, p, ids[1])
	if a.op == nil || b.op == nil {
		return // a Modify is no operation
	}
	err := s.under(rt, false, func() error { return p.db.Transact(s.Ctx, a.op, b.op) })
	text := a.text + " and " + b.text
	bad := slices.DeleteFunc([]intent[T]{a, b}, func(x intent[T]) bool { return x.err == nil && x.code == "" })
	switch {
	case entity.IsAmbiguous(err):
		s.settle(rt, text, s.model, s.after(a, b))
	case len(bad) == 0:
		require.NoError(rt, err, text)
		s.settle(rt, text, s.after(a, b))
	default:
		require.Error(rt, err, text)
		named := 0
		for _, x := range bad {
			if one := entity.FailureOf(err, x.op); one != nil { // what is known before others are sent need not be all
				x.requires(rt, one)
				named++
			}
		}
		require.NotZero(rt, named, "%s: %v", text, err)
		s.settle(rt, text, s.model)
	}
}
