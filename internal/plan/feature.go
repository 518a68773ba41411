package plan

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Historian is a feature that keeps the states which an item leaves behind it: package versioned.
type Historian interface {
	// Snapshots returns the puts of the states that m ends or brings about.
	Snapshots(m *Mutation) ([]Part, error)
	// Infix stands between the sort key of an item and the version in the sort key of a snapshot.
	Infix() string
}

// Locker is a feature whose entities can be written under an expected version.
type Locker interface{ AdmitsExpect() }

// GivenLocker is a Locker whose entities are written under the version that the given struct holds.
type GivenLocker interface {
	Locker
	// ExpectsGiven makes a write of a struct expect the version in it, unless that is 0.
	ExpectsGiven()
}

// Mover is a feature that turns a delete into a move: package lifecycle.
type Mover interface {
	// Bury completes m to the move of m.Old into a deleted copy, m.Copy, and returns the copy's put.
	Bury(m *Mutation) (Part, error)
	// Infix stands between the sort key of an item and the time in the sort key of a deleted copy.
	Infix() string
	// Reserves reports that a deleted copy keeps the unique values of its item.
	Reserves() bool
}

// Guardian is a feature that keeps values of an entity unique: package unique.
type Guardian interface {
	// Guard returns the actions that claim the values which m brings and release those that it ends.
	Guard(m *Mutation) ([]Part, error)
	// Names reports that a value which is kept unique is made of a.
	Names(a *schema.Attr) bool
	// Sentinels are the keys under which the values of an item are claimed.
	Sentinels(it item.Item) ([]item.Item, error)
}

// Stamper is a feature that sets an attribute of current items which follows from another, or from the clock when an item
// comes into being: package lifecycle, for the end of an item.
type Stamper interface {
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

func historian(s *schema.Schema) Historian {
	h, _ := schema.Feature[Historian](s)
	return h
}

func mover(s *schema.Schema) Mover {
	m, _ := schema.Feature[Mover](s)
	return m
}

func stamper(s *schema.Schema) Stamper {
	x, _ := schema.Feature[Stamper](s)
	return x
}

// Guardians returns the guardians of s in the order of their declarations.
func Guardians(s *schema.Schema) []Guardian {
	var all []Guardian
	for _, f := range s.Features {
		if g, ok := f.(Guardian); ok {
			all = append(all, g)
		}
	}
	return all
}

// guarded reports that a guardian of s keeps a value unique which a is part of.
func guarded(s *schema.Schema, a *schema.Attr) bool {
	for _, g := range Guardians(s) {
		if g.Names(a) {
			return true
		}
	}
	return false
}

// reserves reports that deleted copies keep their unique values.
func reserves(s *schema.Schema) bool {
	m := mover(s)
	return m != nil && m.Reserves()
}

// looksBack reports that a new life of an item depends on earlier ones.
func looksBack(s *schema.Schema) bool { return historian(s) != nil || reserves(s) }
