package storm_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/dynastrata/dynastrata/entity"
)

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
// is purged and another life begins and is deleted, lies beside the copy of that other life.
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
