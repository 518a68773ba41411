package schema

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"github.com/dynastrata/dynastrata/internal/item"
)

// Upgrade is a step that converts payloads of one version to the next.
type Upgrade struct {
	From      int
	Old, New  reflect.Type
	Apply     func(any) (any, error) // from a value of Old to one of New
	Codec     item.Codec             // of Old
	Clock     *Attr                  // of Old: the state clock of today's struct, if it has another name or format there; else nil
	Attrs     []*Attr                // of Old
	Unique    []any                  // the unique constraints that Old declares
	Indexes   []*Index               // those that Old declares
	deletedAt *Attr                  // of Old
}

// Compile compiles the struct of the earlier version of s: its attributes, its indexes, and its unique constraints, whose sentinels have
// the keys of s. It ignores other declarations.
func (u *Upgrade) Compile(s *Schema) error {
	b, err := shapeOf(u.Old, s.Options)
	if err != nil {
		return err
	}
	old := b.s
	u.Codec, u.Attrs, u.deletedAt = old.Codec, old.Attrs, old.DeletedAt
	old.Name, old.Prefix, old.PK, old.SK, old.Templated = s.Name, s.Prefix, s.PK, s.SK, s.Templated
	for _, p := range b.decls {
		switch p.value.(type) {
		case interface{ Unique() }, interface{ Index() }:
			b.read(p, p.value)
		}
	}
	u.Unique, u.Indexes = old.Features, old.Indexes
	return b.err()
}

// Keeper returns the attribute of Old that has the role of a, which the library keeps, or else its name; nil if Old has neither.
func (u *Upgrade) Keeper(a *Attr) (named *Attr) {
	for _, old := range u.Attrs {
		for _, r := range ownedRoles {
			if old.Role.Has(r) && a.Role.Has(r) {
				return old
			}
		}
		if old.Name == a.Name {
			named = old
		}
	}
	return named
}

// Upgrades are steps in the order of From. Together they convert payloads to the current version.
type Upgrades []Upgrade

// Starting returns the steps for payloads of a version; empty if no step reads it.
func (us Upgrades) Starting(version int) Upgrades {
	for i, u := range us {
		if u.From == version {
			return us[i:]
		}
	}
	return nil
}

// Apply converts a value of the first step's Old. With an error it returns the version whose step failed.
func (us Upgrades) Apply(v any) (to any, failed int, err error) {
	for _, u := range us {
		if v, err = u.Apply(v); err != nil {
			return nil, u.From, err
		}
	}
	return v, 0, nil
}

// Mistakes returns what is wrong with steps that must lead to payload version current, which has type t.
func (us Upgrades) Mistakes(current int, t reflect.Type) (problems []string) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	for i, u := range us {
		next, want := current, t
		if i+1 < len(us) {
			next, want = us[i+1].From, us[i+1].Old
		}
		switch {
		case u.From < 1:
			bad("payload versions start at 1, not %d", u.From)
		case u.From >= current:
			bad(`there is an upgrade from payload version %d, but the current version is %d: raise payload:"…" in entity.Key`, u.From, current)
		case next == u.From:
			bad("there are two upgrades from payload version %d", u.From)
		case next != u.From+1:
			bad("the upgrade from payload version %d is missing", u.From+1)
		case u.New != want:
			bad("the upgrade from payload version %d gives a %s, the next one needs a %s", u.From, u.New, want)
		}
	}
	return problems
}

// SetUpgrades compiles the steps by which items of earlier payload versions are read. It returns the mistakes.
func (s *Schema) SetUpgrades(steps Upgrades) (problems []string) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if !s.HasMetadata {
		bad("its items do not record their payload version; upgrades need a $ key, and a table that is not shared with effect-dynamodb")
	}
	for _, x := range s.Indexes {
		if !x.Project.All {
			bad(`the index %s does not carry whole items, so they cannot be upgraded when they are read from it; give it project:"all"`, x.Name)
		}
	}
	problems = append(problems, steps.Mistakes(s.Payload, s.Type)...)
	for i, u := range steps {
		if err := steps[i].Compile(s); err != nil {
			bad("payload version %d: %v", u.From, err)
		}
		for _, old := range steps[i].Indexes {
			at := slices.IndexFunc(s.Indexes, func(x *Index) bool { return x.Index == old.Index })
			if at < 0 || old.PK.shape() != s.Indexes[at].PK.shape() || old.SK.shape() != s.Indexes[at].SK.shape() {
				bad("payload version %d has the index %s with a key that today's struct does not write, so programs of that version would not find today's items in it; declare the same key, or leave the index out of the old struct if no such program runs any more", u.From, old.Index)
			}
		}
		if old, is := steps[i].deletedAt, s.DeletedAt; old != nil && s.SoftDeletes {
			switch {
			case is == nil:
				bad("payload version %d has a field with the role deleted_at, which today's struct lacks", u.From)
			case is.Format != old.Format:
				bad("payload version %d has deleted_at in the format %s, not %s, so the keys of its deleted copies are others", u.From, old.Format, is.Format)
			}
		}
		if clock := cmp.Or(s.UpdatedAt, s.CreatedAt); clock != nil {
			if old := steps[i].Keeper(clock); old != nil && old.Owned() && (old.Name != clock.Name || old.Format != clock.Format) {
				steps[i].Clock = old
			}
		}
	}
	if problems == nil {
		s.Upgrades = steps
	}
	return problems
}
