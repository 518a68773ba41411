package main

import (
	"context"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/unique"
)

// emails is the second part: which employee has which address.
func (s *story) emails() []chapter {
	return []chapter{
		{"Unique: an address that is taken", []string{"emp-bob"}, s.taken, []string{
			"emp-bob: current 1", "emp-bob: snapshot 1", "emp-bob: sentinel bob@acme.com",
		}},
		{"Policy free: Alice is deleted, and Carol takes her address", []string{"emp-alice", "emp-carol"}, s.free, []string{
			"emp-alice: snapshot 1 expires", "emp-alice: snapshot 2 expires", "emp-alice: snapshot 3 deleted expires",
			"emp-alice: snapshot 4 expires", "emp-alice: snapshot 5 expires", "emp-alice: snapshot 6 expires",
			"emp-alice: snapshot 7 deleted expires", "emp-alice: deleted copy 7 expires",
			"emp-carol: current 1", "emp-carol: snapshot 1", "emp-carol: sentinel alice@acme.com",
		}},
		{"Restore, once the address is free again", []string{"emp-alice", "emp-carol"}, s.freed, []string{
			"emp-alice: current 8", "emp-alice: snapshot 1 expires", "emp-alice: snapshot 2 expires", "emp-alice: snapshot 3 deleted expires",
			"emp-alice: snapshot 4 expires", "emp-alice: snapshot 5 expires", "emp-alice: snapshot 6 expires",
			"emp-alice: snapshot 7 deleted expires", "emp-alice: sentinel alice@acme.com",
			"emp-carol: current 2", "emp-carol: snapshot 1 expires", "emp-carol: sentinel carol@acme.com",
		}},
		{"Policy reserve: Dora is deleted, and keeps her address", []string{"con-dora", "con-erin"}, s.reserve, []string{
			"con-dora: snapshot 1", "con-dora: snapshot 2 deleted", "con-dora: deleted copy 2 expires",
			"con-dora: sentinel dora@agency.com expires",
		}},
		{"Restore under reserve: nobody can have taken it", []string{"con-dora", "con-erin"}, s.reserved, []string{
			"con-dora: current 3", "con-dora: snapshot 1", "con-dora: snapshot 2 deleted", "con-dora: sentinel dora@agency.com",
			"con-erin: current 1", "con-erin: snapshot 1", "con-erin: sentinel erin@agency.com",
		}},
	}
}

// violated prints the error of a write of an address that is taken.
func (s *story) violated(call string, err error, owner string) {
	if v := as[*unique.ViolationError](s, call, err); v != nil {
		s.equal("constraint", v.Constraint, "email")
		s.equal("owner", row{PK: v.Owner.PK}.owner(), owner)
	}
}

func (s *story) taken(ctx context.Context) error {
	hired := Employee{EmployeeID: "emp-bob", TenantID: "t-acme", Email: "alice@acme.com", DisplayName: "Bob", Department: "Sales"}
	_, err := s.Employees.Create(ctx, hired)
	s.violated("Create with the address of Alice", err, "emp-alice")
	hired.Email = "bob@acme.com"
	if _, err = s.Employees.Create(ctx, hired); err != nil {
		return err
	}
	s.done("Create of Bob with an address of his own", "%s", hired.Email)
	return s.find(ctx, "alice@acme.com", "emp-alice")
}

// find looks up an address: two consistent reads, without an index.
func (s *story) find(ctx context.Context, email, owner string) error {
	found, err := s.ByEmail.Find(ctx, Employee{Email: email})
	if err != nil {
		return err
	}
	s.report.line("Find %s: %s, %s", email, found.EmployeeID, found.DisplayName)
	s.equal("owner of "+email, found.EmployeeID, owner)
	return nil
}

func (s *story) free(ctx context.Context) error {
	if err := s.Employees.Delete(ctx, alice); err != nil {
		return err
	}
	s.done("Delete of Alice", "her address is free")
	_, err := s.ByEmail.Find(ctx, Employee{Email: "alice@acme.com"})
	s.refused("Find of her address", err, entity.ErrNotFound)
	_, err = s.Employees.Create(ctx, Employee{
		EmployeeID: "emp-carol", TenantID: "t-acme", Email: "alice@acme.com", DisplayName: "Carol", Department: "Engineering",
	})
	if err != nil {
		return err
	}
	s.done("Create of Carol", "with alice@acme.com")
	_, err = s.Deleted.Restore(ctx, alice)
	s.violated("Restore of Alice", err, "emp-carol")
	return nil
}

func (s *story) freed(ctx context.Context) error {
	if _, err := s.Employees.Update(ctx, carol, entity.Set(&field.Email, "carol@acme.com")); err != nil {
		return err
	}
	s.done("Update of Carol", "now carol@acme.com")
	restored, err := s.Deleted.Restore(ctx, alice)
	if err != nil {
		return err
	}
	s.done("Restore of Alice", "version %d", restored.Version)
	s.equal("version", restored.Version, 8)
	return s.find(ctx, "alice@acme.com", "emp-alice")
}

func (s *story) reserve(ctx context.Context) error {
	if _, err := s.Contractors.Create(ctx, Contractor{ContractorID: "con-dora", Email: "dora@agency.com", DisplayName: "Dora"}); err != nil {
		return err
	}
	if err := s.Contractors.Delete(ctx, dora); err != nil {
		return err
	}
	s.done("Create and Delete of Dora", "her address stays reserved")
	_, err := s.Contractors.Create(ctx, Contractor{ContractorID: "con-erin", Email: "dora@agency.com", DisplayName: "Erin"})
	s.violated("Create with the address of Dora, who is deleted", err, "con-dora")
	_, err = s.Contractors.Create(ctx, Contractor{ContractorID: "con-dora", Email: "dora@agency.com", DisplayName: "Another Dora"})
	s.refused("Create of Dora, who can be restored", err, entity.ErrExists, entity.ErrDeleted)
	return nil
}

func (s *story) reserved(ctx context.Context) error {
	restored, err := s.Leftovers.Restore(ctx, dora)
	if err != nil {
		return err
	}
	s.done("Restore of Dora", "version %d", restored.Version)
	s.equal("version", restored.Version, 3)
	_, err = s.Contractors.Create(ctx, Contractor{ContractorID: erin.ContractorID, Email: "erin@agency.com", DisplayName: "Erin"})
	if err != nil {
		return err
	}
	s.done("Create of Erin", "with erin@agency.com")
	return nil
}
