package main

import (
	"context"
	"slices"

	"github.com/dynastrata/dynastrata/entity"
)

// ending is the last part: two writes at once, and the end for good.
func (s *story) ending() []chapter {
	return []chapter{
		{"Transact: Alice hands her address to Bob, in one transaction", []string{"emp-alice", "emp-bob"}, s.handOver, []string{
			"emp-alice: current 9", "emp-alice: snapshot 1 expires", "emp-alice: snapshot 2 expires", "emp-alice: snapshot 3 deleted expires",
			"emp-alice: snapshot 4 expires", "emp-alice: snapshot 5 expires", "emp-alice: snapshot 6 expires",
			"emp-alice: snapshot 7 deleted expires", "emp-alice: snapshot 8 expires", "emp-alice: sentinel alice.baker@acme.com",
			"emp-bob: current 2", "emp-bob: snapshot 1 expires", "emp-bob: sentinel alice@acme.com",
		}},
		{"Purge: everything of Alice, for good", []string{"emp-alice"}, s.purge, nil},
		{"Purge of a deleted record frees what it reserved", []string{"con-dora", "con-erin"}, s.purgeReserved, []string{
			"con-erin: current 2", "con-erin: snapshot 1", "con-erin: sentinel dora@agency.com",
		}},
	}
}

// handOver moves an address from one record to another. One write gives the sentinel up and the other claims it, in a single
// action: at every moment exactly one record has the address.
func (s *story) handOver(ctx context.Context) error {
	gives := s.Employees.Op().Update(alice, entity.Set(&field.Email, "alice.baker@acme.com"))
	takes := s.Employees.Op().Update(bob, entity.Set(&field.Email, "alice@acme.com"))
	s.report.plan(gives)
	s.report.plan(takes)
	if err := s.db.Transact(ctx, gives, takes); err != nil {
		return err
	}
	s.done("Transact", "Alice has version %d, Bob version %d", gives.Result().Version, takes.Result().Version)
	s.equal("versions", []int64{gives.Result().Version, takes.Result().Version}, []int64{9, 2})
	if err := s.find(ctx, "alice@acme.com", "emp-bob"); err != nil {
		return err
	}
	_, err := s.ByEmail.Find(ctx, Employee{Email: "bob@acme.com"})
	s.refused("Find bob@acme.com", err, entity.ErrNotFound)
	return nil
}

func (s *story) purge(ctx context.Context) error {
	var progress []int // the calls come one after the other
	err := s.Employees.Purge(ctx, alice, entity.OnProgress(func(deleted int) { progress = append(progress, deleted) }))
	if err != nil {
		return err
	}
	s.done("Purge of Alice", "%d items removed; its progress was %v", progress[len(progress)-1], progress)
	s.must(slices.IsSorted(progress), "the progress goes back: %v", progress)
	s.equal("removed in the end", progress[len(progress)-1:], []int{9}) // the current item and 8 snapshots
	_, err = s.Employees.Get(ctx, alice, entity.Consistent())
	s.refused("Get", err, entity.ErrNotFound)
	_, err = s.Deleted.Restore(ctx, alice)
	s.refused("Restore", err, entity.ErrNotFound)
	_, err = s.Past.Get(ctx, alice, 1)
	s.refused("version 1", err, entity.ErrNotFound)
	return nil
}

func (s *story) purgeReserved(ctx context.Context) error {
	if err := s.Contractors.Delete(ctx, dora); err != nil {
		return err
	}
	if err := s.Leftovers.Purge(ctx, dora); err != nil {
		return err
	}
	s.done("Delete and Purge of Dora", "nothing of her is left")
	c := entity.Fields[Contractor]()
	updated, err := s.Contractors.Update(ctx, erin, entity.Set(&c.Email, "dora@agency.com"))
	if err != nil {
		return err
	}
	s.done("Update of Erin", "now %s", updated.Email)
	s.equal("address", updated.Email, "dora@agency.com")
	return nil
}
