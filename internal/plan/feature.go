package plan

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Snapshotter is a feature that keeps the states which an item leaves behind it: package versioned.
type Snapshotter interface {
	// Snapshots returns the puts of the states that m ends or brings about.
	Snapshots(m *Mutation) ([]Part, error)
}

// OptimisticLock is a feature whose entities can be written under an expected version.
type OptimisticLock interface{ AdmitsExpect() }

// GivenVersionLock is a OptimisticLock whose entities are written under the version that the given struct holds.
type GivenVersionLock interface {
	OptimisticLock
	// ExpectsGiven makes a write of a struct expect the version in it, unless that is 0.
	ExpectsGiven()
}

// SoftDeleter is a feature that turns a delete into a move: package lifecycle.
type SoftDeleter interface {
	// SoftDelete completes m to the move of m.Old into a deleted copy, m.Copy, and returns the copy's put.
	SoftDelete(m *Mutation) (Part, error)
	// Reserves reports that a deleted copy keeps the unique values of its item.
	Reserves() bool
}

// UniqueConstraint is a feature that keeps values of an entity unique: package unique.
type UniqueConstraint interface {
	// Guard returns the actions that claim the values which m brings and release those that it ends.
	Guard(m *Mutation) ([]Part, error)
	// Names reports that a value which is kept unique is made of a.
	Names(a *schema.Attr) bool
	// Sentinels are the keys under which the values of an item are claimed.
	Sentinels(it item.Item) ([]item.Item, error)
}

// ExpirySetter is a feature that sets an attribute of current items which follows from another, or from the clock when an item
// comes into being: package lifecycle, for the end of an item.
type ExpirySetter interface {
	// Stamps is the name of the attribute.
	Stamps() string
	// Derives reports that items get stamps without their callers.
	Derives() bool
	// From is the attribute that the stamp follows from; nil for the clock.
	From() *schema.Attr
	// Stamp is the stamp of an item whose From is from, or of one that comes into being now; nil for none.
	Stamp(from types.AttributeValue, now time.Time) (types.AttributeValue, error)
	// Chosen reports that av is a stamp that a caller chose: neither absent nor zero.
	Chosen(av types.AttributeValue) bool
}

func snapshotter(s *schema.Schema) Snapshotter {
	h, _ := schema.Feature[Snapshotter](s)
	return h
}

func softDeleter(s *schema.Schema) SoftDeleter {
	m, _ := schema.Feature[SoftDeleter](s)
	return m
}

func expirySetter(s *schema.Schema) ExpirySetter {
	x, _ := schema.Feature[ExpirySetter](s)
	return x
}

// UniqueConstraints returns the unique constraints of s in the order of their declarations.
func UniqueConstraints(s *schema.Schema) []UniqueConstraint {
	var all []UniqueConstraint
	for _, f := range s.Features {
		if g, ok := f.(UniqueConstraint); ok {
			all = append(all, g)
		}
	}
	return all
}

// isUnique reports that a is part of a unique constraint of s.
func isUnique(s *schema.Schema, a *schema.Attr) bool {
	for _, g := range UniqueConstraints(s) {
		if g.Names(a) {
			return true
		}
	}
	return false
}

// reserves reports that deleted copies keep their unique values.
func reserves(s *schema.Schema) bool {
	m := softDeleter(s)
	return m != nil && m.Reserves()
}

// looksBack reports that a new life of an item depends on earlier ones.
func looksBack(s *schema.Schema) bool { return snapshotter(s) != nil || reserves(s) }
