package plan

import (
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Snapshotter is a feature that keeps the past states of items: package versioned.
type Snapshotter interface {
	// Snapshots returns the puts of the state that m replaces and, if m creates or deletes the item, of the new state.
	Snapshots(m *Mutation) ([]Action, error)
}

// SoftDeleter is a feature that turns a deleted item into a deleted copy: package lifecycle.
type SoftDeleter interface {
	// SoftDelete sets the deleted state and the deleted copy of m, and returns the put of the copy and the mark on the copy
	// that was the newest before.
	SoftDelete(m *Mutation) ([]Action, error)
	// Reserves reports whether a deleted copy keeps the unique values of its item.
	Reserves() bool
}

// UniqueConstraint is a feature that keeps values of an entity unique: package unique.
type UniqueConstraint interface {
	// Guard returns the actions that claim the new values of m and give up the old ones.
	Guard(m *Mutation) ([]Action, error)
	// GiveUp returns the action that releases the value under a sentinel's key for the item of m, or leaves it to another item.
	GiveUp(m *Mutation, k item.Item) Action
	// Names reports whether a is one of the constraint's fields.
	Names(a *schema.Attr) bool
	// Sentinels returns the keys of the sentinels for the values of a stored item.
	Sentinels(it item.Item) ([]item.Item, error)

	// The methods below are for the verification of sentinels: package migrate.

	Name() string
	Fields() []*schema.Attr
	// EntityName and SortKey return what all sentinels of the constraint have in common.
	EntityName() string
	SortKey() string
	// Limited reports whether claims end before their items do.
	Limited() bool
	// ClaimsNothing reports whether a field of the constraint is absent or empty in an item.
	ClaimsNothing(it item.Item) bool
	// ClaimEnd returns when a claim that the item owner makes now ends; nil for never.
	ClaimEnd(owner item.Item, now time.Time) types.AttributeValue
	// Put and Release return the actions that put and delete the sentinel under a key, without a condition.
	Put(in *Input, table string, k, owner item.Item, ttl types.AttributeValue) Action
	Release(table string, k item.Item) Action
}

// UniqueConstraints returns the unique constraints of s in declaration order.
func UniqueConstraints(s *schema.Schema) []UniqueConstraint {
	var all []UniqueConstraint
	for _, f := range s.Features {
		if g, ok := f.(UniqueConstraint); ok {
			all = append(all, g)
		}
	}
	return all
}

// sharesExpiry reports whether other items have the expiry of an item: sentinels and snapshots, which a write that moves it writes too.
func sharesExpiry(s *schema.Schema) bool {
	return s.Expires && (s.KeepsHistory || s.HasUnique)
}

// Marked reports whether one of the entities writes items with an entity marker to the table or, if x is not nil, to its index x.
func Marked(entities []*schema.Schema, x *schema.Index) bool {
	for _, s := range entities {
		dollar, claims := s.Templated, len(UniqueConstraints(s)) > 0
		if x == nil || x.Project.All {
			if dollar || claims {
				return true
			}
			continue
		}
		shared := dollar && slices.ContainsFunc(s.Indexes, func(y *schema.Index) bool { return y.Index == x.Index })
		have := append(s.PK.Attributes(), s.SK.Attributes()...) // which every item has
		lacks := func(name string) bool { return !slices.Contains(have, name) }
		if shared || (dollar || claims) && !slices.ContainsFunc(append(x.PK.Attributes(), x.SK.Attributes()...), lacks) {
			return true
		}
	}
	return false
}
