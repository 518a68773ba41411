package main

import (
	"context"
	"fmt"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/versioned"
)

// alice is the first part: one record through all of its states.
func (s *story) alice() []chapter {
	who := []string{"emp-alice"}
	return []chapter{
		{"Create", who, s.create, []string{
			"emp-alice: current 1", "emp-alice: snapshot 1", "emp-alice: sentinel alice@acme.com",
		}},
		{"Update", who, s.update, []string{
			"emp-alice: current 2", "emp-alice: snapshot 1 expires", "emp-alice: sentinel alice@acme.com",
		}},
		{"Delete: softly, because the struct says so", who, s.delete, []string{
			"emp-alice: snapshot 1 expires", "emp-alice: snapshot 2 expires", "emp-alice: snapshot 3 deleted expires",
			"emp-alice: deleted copy 3 expires",
		}},
		{"Restore", who, s.restore, []string{
			"emp-alice: current 4", "emp-alice: snapshot 1 expires", "emp-alice: snapshot 2 expires", "emp-alice: snapshot 3 deleted expires",
			"emp-alice: sentinel alice@acme.com",
		}},
		{"Version history", who, s.history, []string{
			"emp-alice: current 4", "emp-alice: snapshot 1 expires", "emp-alice: snapshot 2 expires", "emp-alice: snapshot 3 deleted expires",
			"emp-alice: sentinel alice@acme.com",
		}},
		{"Expect: a write by a client that has read an old version", who, s.expect, []string{
			"emp-alice: current 5", "emp-alice: snapshot 1 expires", "emp-alice: snapshot 2 expires", "emp-alice: snapshot 3 deleted expires",
			"emp-alice: snapshot 4 expires", "emp-alice: sentinel alice@acme.com",
		}},
		{"Revert to version 2", who, s.revert, []string{
			"emp-alice: current 6", "emp-alice: snapshot 1 expires", "emp-alice: snapshot 2 expires", "emp-alice: snapshot 3 deleted expires",
			"emp-alice: snapshot 4 expires", "emp-alice: snapshot 5 expires", "emp-alice: sentinel alice@acme.com",
		}},
	}
}

func (s *story) create(ctx context.Context) error {
	op := s.Employees.Op().Create(Employee{
		EmployeeID: "emp-alice", TenantID: "t-acme", Email: "alice@acme.com", DisplayName: "Alice", Department: "Engineering",
	})
	s.report.plan(op)
	if err := s.db.Transact(ctx, op); err != nil { // a lone operation is sent as employees.Create sends it
		return err
	}
	created := op.Result()
	s.done("Create of Alice", "version %d", created.Version)
	s.equal("version", created.Version, 1)
	s.must(created.CreatedAt.Equal(s.clock.at), "created at %s", created.CreatedAt)
	return nil
}

func (s *story) update(ctx context.Context) error {
	updated, err := s.Employees.Update(ctx, alice, entity.Set(&field.DisplayName, "Alice Baker"))
	if err != nil {
		return err
	}
	s.done("Update of displayName", "now %s, version %d", updated.DisplayName, updated.Version)
	s.equal("version", updated.Version, 2)
	s.equal("name", updated.DisplayName, "Alice Baker")
	_, err = s.Employees.Update(ctx, alice, entity.Set(&field.TenantID, "t-other"))
	s.refused("Update of tenantId, which is immutable", err, entity.ErrConditionFailed)
	return nil
}

func (s *story) delete(ctx context.Context) error {
	if err := s.Employees.Delete(ctx, alice); err != nil {
		return err
	}
	s.done("Delete", "a deleted copy is kept")
	_, err := s.Employees.Get(ctx, alice, entity.Consistent())
	s.refused("Get", err, entity.ErrNotFound)
	_, err = s.Employees.Update(ctx, alice, entity.Set(&field.DisplayName, "Nobody"))
	s.refused("Update", err, entity.ErrNotFound, entity.ErrDeleted)
	here, err := s.ByTenant.Query(Employee{TenantID: "t-acme"}).Collect(ctx)
	if err != nil {
		return err
	}
	s.report.line("employees of t-acme in the index: %v", names(here))
	s.equal("employees", names(here), []string{})

	found, err := s.Deleted.Get(ctx, alice)
	if err != nil {
		return err
	}
	s.report.line("deleted copy: %s, deleted %s, kept until %s", found.Item.DisplayName, instant(found.DeletedAt), instant(found.ExpiresAt))
	s.equal("version of the deleted copy", found.Item.Version, 3)
	s.must(found.DeletedAt.Equal(s.clock.at), "deleted at %s", found.DeletedAt)
	s.must(found.ExpiresAt.Equal(s.clock.at.AddDate(0, 0, 30)), "expires at %s", found.ExpiresAt)
	n, err := s.Deleted.List(alice).Count(ctx)
	s.equal("deleted copies", n, 1)
	return err
}

func (s *story) restore(ctx context.Context) error {
	restored, err := s.Deleted.Restore(ctx, alice)
	if err != nil {
		return err
	}
	s.done("Restore", "version %d", restored.Version)
	s.equal("version", restored.Version, 4)
	s.equal("name", restored.DisplayName, "Alice Baker")
	here, err := s.ByTenant.Query(Employee{TenantID: "t-acme"}).Collect(ctx)
	if err != nil {
		return err
	}
	s.report.line("employees of t-acme in the index: %v", names(here))
	s.equal("employees", names(here), []string{"Alice Baker"})
	_, err = s.Deleted.Restore(ctx, alice)
	s.refused("Restore once more", err, entity.ErrNotDeleted)
	_, err = s.Deleted.Restore(ctx, Employee{EmployeeID: "emp-nobody"})
	s.refused("Restore of an employee who never existed", err, entity.ErrNotFound)
	return nil
}

// history reads the states, the newest first, compares two of them, and returns to an instant.
func (s *story) history(ctx context.Context) error {
	states, err := s.Past.List(alice, versioned.WithCurrent(), entity.Desc()).Collect(ctx)
	if err != nil {
		return err
	}
	var numbers []int64
	for _, v := range states {
		what := ""
		if v.Deleted {
			what = ", deleted"
		}
		s.report.line("version %d since %s: %s%s", v.Number, instant(v.ValidFrom), v.Item.DisplayName, what)
		numbers = append(numbers, v.Number)
		s.must(v.Deleted == (v.Number == 3), "version %d: deleted %t", v.Number, v.Deleted)
	}
	s.equal("versions", numbers, []int64{4, 3, 2, 1})

	diff, err := s.Past.Diff(ctx, alice, 1, 2)
	if err != nil {
		return err
	}
	var changed []string
	for _, d := range diff { // Before and After have the types of the fields
		s.report.line("from version 1 to 2: %s was %v, became %v", d.Attribute, d.Before, d.After)
		changed = append(changed, d.Attribute)
	}
	s.equal("changed attributes", changed, []string{"displayName", "version", "updatedAt"})

	created, err := s.Past.Get(ctx, alice, 1)
	if err != nil {
		return err
	}
	moment := created.ValidFrom.Add(30 * time.Minute)
	then, err := s.Past.At(ctx, alice, moment)
	if err != nil {
		return err
	}
	s.report.line("at %s she was %s, version %d", instant(moment), then.Item.DisplayName, then.Number)
	s.equal("then", fmt.Sprint(then.Number, " ", then.Item.DisplayName), "1 Alice")
	_, err = s.Past.At(ctx, alice, created.ValidFrom.Add(-time.Second))
	s.refused("At before the creation", err, entity.ErrNotFound)
	return nil
}

func (s *story) expect(ctx context.Context) error {
	move := entity.Set(&field.Department, "Research")
	_, err := s.Employees.Update(ctx, alice, move, versioned.Expect(3))
	if conflict := as[*versioned.ConflictError](s, "Update that expects version 3", err); conflict != nil {
		s.equal("actual version", conflict.Actual, 4)
	}
	updated, err := s.Employees.Update(ctx, alice, move, versioned.Expect(4))
	if err != nil {
		return err
	}
	s.done("Update that expects version 4", "department %s, version %d", updated.Department, updated.Version)
	s.equal("version", updated.Version, 5)
	return nil
}

func (s *story) revert(ctx context.Context) error {
	reverted, err := s.Past.Revert(ctx, alice, 2, versioned.Expect(5))
	if err != nil {
		return err
	}
	s.done("Revert", "department %s again, version %d", reverted.Department, reverted.Version)
	s.equal("reverted", fmt.Sprint(reverted.Version, reverted.Department, reverted.DisplayName), fmt.Sprint(6, "Engineering", "Alice Baker"))
	return nil
}
