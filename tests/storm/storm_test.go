package storm_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/unique"
)

// Sizes of the storm. In the long run there are ten seeds, and the first one has 10,000 operations on the four kinds together.
// DYNASTRATA_STORM_OPS sets another number of operations on each kind for every seed: with 10000 it takes minutes.
const (
	stormSeeds   = 10
	longStorm    = 2500
	stormOps     = 64
	stormWorkers = 32
	stormKeys    = 20
	stormEmails  = 10
	purgedKeys   = 4 // only these are purged, so that the others keep all of their history
)

// TestStorm_OfWritersOverABadLineBreaksNoPromise lets many goroutines write few items and fewer e-mail addresses while
// requests fail and answers are lost, and then compares the table with their results.
func TestStorm_OfWritersOverABadLineBreaksNoPromise(t *testing.T) {
	t.Parallel()
	seed := testsize.Seed(t)
	for i := range uint64(testsize.Pick(1, stormSeeds)) {
		usual := stormOps
		if i == 0 {
			usual = testsize.Pick(stormOps, longStorm)
		}
		ops := int(testsize.Number(t, "DYNASTRATA_STORM_OPS", uint64(usual)))
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Run("retain, free", func(t *testing.T) { t.Parallel(); rage[Free](t, seed+i, ops) })
			t.Run("lock", func(t *testing.T) { t.Parallel(); rage[Locked](t, seed+i, ops) })
			if testsize.Long() {
				t.Run("retain, reserve", func(t *testing.T) { t.Parallel(); rage[Reserve](t, seed+i, ops) })
				t.Run("plain", func(t *testing.T) { t.Parallel(); rage[Plain](t, seed+i, ops) })
			}
		})
	}
}

// storm is a world in which many write, and the results that they got.
type storm[T any] struct {
	*world[T]
	lives    [stormKeys]sync.RWMutex // see begun
	mu       sync.Mutex
	ticks    int // order of beginnings and ends
	acks     []*ack
	outcomes map[string]int
	errs     []error
}

// ack is a write that succeeded, or may have.
type ack struct {
	verb         string
	id           string
	began, ended int
	unsure       bool    // the error said that the write may have been applied
	state        written // what it says it wrote; of a delete or purge, nothing
	email, name  bool    // which fields it changed; with neither, it may have changed all
}

func rage[T any](t *testing.T, seed uint64, ops int) {
	s := &storm[T]{world: open[T](t, dbtest.Attempts(60)), outcomes: map[string]int{}}
	s.Wire.Inject(faults.Random(seed, 0.05, faults.Conflict, faults.Throttle, faults.Lost))
	var workers sync.WaitGroup
	for worker := range stormWorkers {
		workers.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(worker)))
			for i := worker; i < ops; i += stormWorkers {
				s.act(rng, i)
			}
		})
	}
	workers.Wait()
	s.Wire.Inject(nil)
	t.Logf("seed %d: %d requests, %v", seed, len(s.Wire.Requests()), s.outcomes)
	require.Empty(t, s.errs)
	d := s.sound()
	require.Empty(t, s.denied(d))
	require.Positive(t, len(s.acks))
}

// begin opens an entry for a write.
func (s *storm[T]) begin(verb, id string) *ack {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ticks++
	return &ack{verb: verb, id: id, began: s.ticks}
}

// expected are the errors that a storm of correct writers meets.
func expected(err error) string {
	var taken *unique.ViolationError
	for _, class := range []struct {
		name string
		err  error
	}{
		{"deleted", entity.ErrDeleted}, {"not found", entity.ErrNotFound}, {"not deleted", entity.ErrNotDeleted}, {"exists", entity.ErrExists},
		{"condition", entity.ErrConditionFailed},
	} {
		if errors.Is(err, class.err) {
			return class.name
		}
	}
	if errors.As(err, &taken) {
		return "taken"
	}
	return ""
}

// end closes an entry with the result of the call.
func (s *storm[T]) end(a *ack, v T, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ticks++
	a.ended = s.ticks
	outcome := "ok"
	switch {
	case entity.IsAmbiguous(err):
		a.unsure, outcome = true, "unsure"
	case err != nil:
		if outcome = expected(err); outcome == "" {
			s.errs = append(s.errs, fmt.Errorf("%s %s: %w", a.verb, a.id, err))
		}
	default:
		a.state = written{*s.at(&v), s.version(v)}
	}
	s.outcomes[a.verb+": "+outcome]++
	if outcome == "ok" || a.unsure {
		s.acks = append(s.acks, a)
	}
}

// act does one random thing.
func (s *storm[T]) act(rng *rand.Rand, i int) {
	n := rng.IntN(stormKeys)
	id := fmt.Sprintf("k%d", n)
	email := fmt.Sprintf("e%d@x", rng.IntN(stormEmails))
	mark := fmt.Sprintf("op%d", i)
	whole := Person{ID: id, Email: email, Name: mark, Root: mark}
	if rng.IntN(4) == 0 {
		whole.Email = "" // an item without the value claims nothing
	}
	if !s.retain {
		whole.Log = []string{mark}
	}
	verb := rng.IntN(100)
	if i < stormKeys { // the first ones make something for the others to work on
		verb, n = 0, i
		id = fmt.Sprintf("k%d", n)
		whole.ID = id
	}
	switch {
	case verb < 14:
		s.begun(n, func() { s.save("create", id, func() (T, error) { return s.Create(s.Ctx, s.make(whole)) }) })
	case verb < 22:
		s.begun(n, func() { s.save("put", id, func() (T, error) { return s.Put(s.Ctx, s.make(whole)) }) })
	case verb < 30:
		s.begun(n, func() {
			s.save("upsert", id, func() (T, error) { v, _, err := s.Upsert(s.Ctx, s.make(whole)); return v, err })
		})
	case verb < 42:
		s.change("update email", id, true, false, func() (T, error) { return s.Update(s.Ctx, s.key(id), s.logged(mark, s.email(email))...) })
	case verb < 54:
		s.change("update name", id, false, true, func() (T, error) { return s.Update(s.Ctx, s.key(id), s.logged(mark, s.name(mark))...) })
	case verb < 60:
		s.change("update both", id, true, true, func() (T, error) {
			return s.Update(s.Ctx, s.key(id), s.logged(mark, s.email(email), s.name(mark))...)
		})
	case verb < 66:
		s.change("modify", id, false, true, func() (T, error) {
			return s.Modify(s.Ctx, s.key(id), func(v *T) error {
				p := s.at(v)
				p.Name = mark
				if !s.retain {
					p.Log = append(p.Log, mark)
				}
				return nil
			})
		})
	case verb < 76:
		a := s.begin("delete", id)
		s.end(a, *new(T), s.Delete(s.Ctx, s.key(id)))
	case verb < 86:
		s.swap(rng, id, mark)
	case verb < 88:
		n = rng.IntN(purgedKeys)
		id = fmt.Sprintf("k%d", n)
		s.lives[n].Lock()
		defer s.lives[n].Unlock()
		a := s.begin("purge", id)
		s.end(a, *new(T), s.Purge(s.Ctx, s.key(id)))
	default:
		s.back(rng, id)
	}
}

// begun runs what may begin a new life. It keeps purges of the item out: a life that is planned from a history, while that
// is purged and another life begins and is deleted, is stored together with the copy of that other life.
func (s *storm[T]) begun(n int, write func()) {
	s.lives[n].RLock()
	defer s.lives[n].RUnlock()
	write()
}

// logged adds the mark to the log of an item without history.
func (s *storm[T]) logged(mark string, changes ...entity.UpdateOption) []entity.UpdateOption {
	if s.retain {
		return changes
	}
	return append(changes, entity.AddToSet(&s.f.Log, mark))
}

func (s *storm[T]) save(verb, id string, write func() (T, error)) {
	a := s.begin(verb, id)
	v, err := write()
	s.end(a, v, err)
}

func (s *storm[T]) change(verb, id string, email, name bool, write func() (T, error)) {
	a := s.begin(verb, id)
	a.email, a.name = email, name
	v, err := write()
	s.end(a, v, err)
}

// back brings an earlier state back.
func (s *storm[T]) back(rng *rand.Rand, id string) {
	if !s.retain {
		return
	}
	switch rng.IntN(4) {
	case 0:
		s.save("revert", id, func() (T, error) { return s.past.Revert(s.Ctx, s.key(id), 1+rng.Int64N(6)) })
	case 1:
		c, err := s.bin.Get(s.Ctx, s.key(id))
		if err == nil {
			s.save("restore copy", id, func() (T, error) { return s.bin.RestoreCopy(s.Ctx, c) })
		}
	default:
		s.save("restore", id, func() (T, error) { return s.bin.Restore(s.Ctx, s.key(id)) })
	}
}

// swap exchanges the e-mail addresses of two items, or deletes one while the other takes its address.
func (s *storm[T]) swap(rng *rand.Rand, id, mark string) {
	other := fmt.Sprintf("k%d", rng.IntN(stormKeys))
	if other == id {
		return
	}
	x, err := s.look.Get(s.Ctx, s.key(id), entity.Consistent())
	if err != nil {
		return
	}
	y, err := s.look.Get(s.Ctx, s.key(other), entity.Consistent())
	if err != nil {
		return
	}
	if s.at(&x).Email == s.at(&y).Email {
		return // it moved from x to y between the two reads, and a transaction that gives it to both is a mistake
	}
	one, two := s.begin("swap", id), s.begin("swap", other)
	one.email, two.email = true, true
	first := s.Op().Update(s.key(id), s.logged(mark, s.email(s.at(&y).Email))...)
	if !s.reserve && rng.IntN(3) == 0 {
		two.verb = "delete"
		err = s.db.Transact(s.Ctx, first, s.Op().Delete(s.key(other)))
		s.end(one, first.Result(), err)
		s.end(two, *new(T), err)
		return
	}
	second := s.Op().Update(s.key(other), s.logged(mark, s.email(s.at(&x).Email))...)
	err = s.db.Transact(s.Ctx, first, second)
	s.end(one, first.Result(), err)
	s.end(two, second.Result(), err)
}

// denied are the ways in which a table contradicts what writers got as results.
func (s *storm[T]) denied(d dump) (problems []string) {
	prefix := "$app#v1#"
	for at := range d.beings {
		prefix = at.pk[:strings.LastIndexByte(at.pk, '#')+1]
	}
	byID := map[string][]*ack{}
	for _, a := range s.acks {
		byID[a.id] = append(byID[a.id], a)
	}
	for n := range stormKeys {
		id := fmt.Sprintf("k%d", n)
		b := d.beings[address{prefix + id, strings.TrimSuffix(prefix, "#")}]
		if b == nil {
			b = &being{}
		}
		for _, p := range denials(s.traits, b, byID[id]) {
			problems = append(problems, id+": "+p)
		}
	}
	return problems
}

func denials(k traits, b *being, acks []*ack) []string {
	if k.retain {
		return contradictions(b, acks)
	}
	return lost(b, acks)
}

// contradictions compares a history with the writes of one item: every state that a write returned is stored as it was
// returned, follows from the one before it, and was made by a write.
func contradictions(b *being, acks []*ack) (all []string) {
	purged, unsure, deletes, seen := 0, 0, 0, map[int64]bool{}
	for _, a := range acks {
		switch {
		case a.verb == "purge":
			purged = max(purged, a.ended)
		case a.unsure:
			unsure++
		case a.verb == "delete":
			deletes++
		}
	}
	for _, a := range acks {
		if a.unsure || a.verb == "delete" || a.verb == "purge" || purged > a.began {
			continue // a purge that ended later may have removed it
		}
		all = append(all, contradiction(b, a)...)
		if seen[a.state.version] {
			all = append(all, fmt.Sprintf("version %d was given twice", a.state.version))
		}
		seen[a.state.version] = true
	}
	highest, deleted := int64(0), 0
	for n := int64(1); b.state(n) != nil; n++ {
		highest = n
		if text(b.state(n), "deletedAt") != "" {
			deleted++
		}
	}
	if purged == 0 {
		if n := int(highest) - len(seen) - deletes; n < 0 || n > unsure {
			all = append(all, fmt.Sprintf("%d versions, but %d writes and %d deletes succeeded and %d may have", highest, len(seen), deletes, unsure))
		}
		if n := deleted - deletes; n < 0 || n > unsure {
			all = append(all, fmt.Sprintf("%d deleted states, but %d deletes", deleted, deletes))
		}
	}
	return all
}

// contradiction compares one write with the state that it says it wrote, and with the one before.
func contradiction(b *being, a *ack) (all []string) {
	it, before := b.state(a.state.version), b.state(a.state.version-1)
	is := func(it item, p Person) bool { return text(it, "email") == p.Email && text(it, "name") == p.Name }
	what := fmt.Sprintf("%s to version %d", a.verb, a.state.version)
	switch {
	case it == nil:
		return []string{what + " is lost"}
	case !is(it, a.state.Person) || text(it, "updatedAt") != a.state.UpdatedAt.Format(fixed) || text(it, "createdAt") != a.state.CreatedAt.Format(fixed):
		return []string{what + " is stored as something else"}
	case a.email || a.name:
		if before == nil || text(before, "deletedAt") != "" {
			all = append(all, what+" follows no live state")
		} else if !a.email && text(before, "email") != a.state.Email || !a.name && text(before, "name") != a.state.Name {
			all = append(all, what+" took back what the version before it had")
		}
	case strings.HasPrefix(a.verb, "restore"):
		if before == nil || text(before, "deletedAt") == "" || !is(before, a.state.Person) {
			all = append(all, what+" does not bring back the deleted state")
		}
	case a.verb == "create":
		if before != nil {
			all = append(all, what+" follows another state")
		}
	}
	return all
}

// lost compares the current item with the writes of the same life: whatever has been added to its log since it was
// stored whole is still there, and no version was given twice.
func lost(b *being, acks []*ack) (all []string) {
	type life struct {
		created string
		version int64
	}
	given := map[life]string{}
	top := map[string]int64{}
	count, unsure := map[string]int64{}, int64(0)
	for _, a := range acks {
		if a.unsure {
			unsure++
			continue
		}
		if a.verb == "delete" || a.verb == "purge" {
			continue
		}
		created := a.state.CreatedAt.Format(fixed)
		if n := a.state.version; n > 0 {
			if other, again := given[life{created, n}]; again {
				all = append(all, fmt.Sprintf("%s and %s were both given version %d", other, a.verb, n))
			}
			given[life{created, n}] = a.verb
			top[created] = max(top[created], n)
			count[created]++
		}
		if b.current == nil || text(b.current, "createdAt") != created {
			continue
		}
		if text(b.current, "root") == a.state.Root {
			for _, mark := range a.state.Log {
				if !slices.Contains(log(b.current), mark) {
					all = append(all, fmt.Sprintf("%s saw %s, which is lost", a.verb, mark))
				}
			}
		}
	}
	if n := number(b.current, "version"); n > 0 {
		top[text(b.current, "createdAt")] = n
	}
	missing := int64(0)
	for created, n := range top {
		missing += max(n-count[created], 0)
		if count[created] > n {
			all = append(all, fmt.Sprintf("version %d after %d writes", n, count[created]))
		}
	}
	if missing > unsure {
		all = append(all, fmt.Sprintf("%d versions that no writer got, %d unsure writes", missing, unsure))
	}
	return all
}

func log(it item) []string {
	set, _ := it["log"].(*types.AttributeValueMemberSS)
	if set == nil {
		return nil
	}
	return set.Value
}
