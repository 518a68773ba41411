package plan

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Snapshotter is a feature that keeps the past states of items: package versioned.
type Snapshotter interface {
	// Snapshots returns the puts of the state that m replaces and, if m makes a new item or deletes one, of the state that
	// it makes.
	Snapshots(m *Mutation) ([]Part, error)
}

// OptimisticLock is a feature whose entities can be written under an expected version: package versioned.
type OptimisticLock interface{ AdmitsExpect() }

// GivenVersionLock is an OptimisticLock whose entities are written under the version in the given struct.
type GivenVersionLock interface {
	OptimisticLock
	// ExpectsGiven makes a write of a struct expect the version in it, unless that is 0.
	ExpectsGiven()
}

// SoftDeleter is a feature that turns a deleted item into a deleted copy: package lifecycle.
type SoftDeleter interface {
	// SoftDelete sets the deleted state and the deleted copy of m, and returns the put of the copy.
	SoftDelete(m *Mutation) (Part, error)
	// Reserves reports whether a deleted copy keeps the unique values of its item.
	Reserves() bool
}

// UniqueConstraint is a feature that keeps values of an entity unique: package unique.
type UniqueConstraint interface {
	// Guard returns the actions that claim the new values of m and release the old ones.
	Guard(m *Mutation) ([]Part, error)
	// Names reports whether a is one of the constraint's fields.
	Names(a *schema.Attr) bool
	// Sentinels returns the keys of the sentinels that claim the values of a stored item.
	Sentinels(it item.Item) ([]item.Item, error)
}

// ExpirySetter is a feature that sets when current items expire: package lifecycle, and timeline for its rows.
type ExpirySetter interface {
	// Stamps returns the name of the attribute that items expire by.
	Stamps() string
	// Derives reports whether items get an expiry that their caller did not set.
	Derives() bool
	// From returns the attribute that the expiry is counted from; nil for the clock.
	From() *schema.Attr
	// Stamp returns the expiry of an item whose From is from, or of one that is created now; nil for none.
	Stamp(from types.AttributeValue, now time.Time) (types.AttributeValue, error)
	// Chosen reports whether av is an expiry that a caller has set: neither absent nor zero.
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
