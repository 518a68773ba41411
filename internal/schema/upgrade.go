package schema

import (
	"fmt"
	"reflect"

	"github.com/dynastrata/dynastrata/internal/item"
)

// Upgrade is a step that converts payloads of one version to the next.
type Upgrade struct {
	From     int
	Old, New reflect.Type
	Apply    func(any) (any, error) // from a value of Old to one of New
	Codec    item.Codec             // of Old
}

// SetUpgrades compiles the steps by which items of earlier payload versions are read. It returns the mistakes.
func (s *Schema) SetUpgrades(steps []Upgrade) (problems []string) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if !s.HasMetadata {
		bad("its items do not record their payload version; upgrades need a $ key, and a table that is not shared with effect-dynamodb")
	}
	for _, x := range s.Indexes {
		if !x.Project.All {
			bad(`the index %s does not carry whole items, so they cannot be upgraded when they are read from it; give it project:"all"`, x.Name)
		}
	}
	for i, u := range steps {
		next, want := s.Payload, s.Type
		if i+1 < len(steps) {
			next, want = steps[i+1].From, steps[i+1].Old
		}
		switch {
		case u.From < 1:
			bad("payload versions start at 1, not %d", u.From)
		case u.From >= s.Payload:
			bad(`there is an upgrade from payload version %d, but the current version is %d: raise payload:"…" in entity.Key`, u.From, s.Payload)
		case next == u.From:
			bad("there are two upgrades from payload version %d", u.From)
		case next != u.From+1:
			bad("the upgrade from payload version %d is missing", u.From+1)
		case u.New != want:
			bad("the upgrade from payload version %d gives a %s, the next one needs a %s", u.From, u.New, want)
		}
		codec, err := CodecOf(u.Old, s.Options)
		if err != nil {
			bad("payload version %d: %v", u.From, err)
		}
		steps[i].Codec = codec
	}
	if problems == nil {
		s.Upgrades = steps
	}
	return problems
}
